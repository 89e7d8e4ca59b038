"""Deployment packages of the function: `bootstrap`, and an archive beside it where one is asked for.

    infra/dist/function.py                              for every Linux platform, among the packed files
    infra/dist/function.py TARGET FOLDER [ARCHIVE]      one, as a folder and as FOLDER.zip beside it
"""

import shutil
import sys
from pathlib import Path

from platforms import BY_TARGET
from release import EARLIEST, VERSION, Member, shipped, write, zipped

# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html, checked 2026-11-16.
MOST_UNPACKED = 262_144_000


def members(programs, archive=None):
    yield Member("bootstrap", programs["wakashu-function"], 0o755)
    if archive:
        yield Member("collection.wakashu", Path(archive).read_bytes())


def package(files):
    # Archives are pictures for the most part. The same contents give the same zip on every commit, and so no
    # deployment where nothing changed.
    return zipped(files, stored=["collection.wakashu"], time=EARLIEST)


def main(target=None, folder=None, archive=None):
    for platform, programs in shipped(["wakashu-function"]):
        if folder is None and platform.image:
            write(f"wakashu-{VERSION}-lambda-{platform.image}.zip", package(members(programs)))
        elif platform.target == target:
            lay_out(Path(folder), list(members(programs, archive)))
    if target and not (BY_TARGET.get(target) and Path(folder).is_dir()):
        raise SystemExit(f"no program for {target}: infra/dist/build {target} makes it")


def lay_out(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for each in files:
        path = folder / each.name
        path.write_bytes(each.data)
        path.chmod(each.mode)
    packed, unpacked = package(files), sum(len(each.data) for each in files)
    Path(f"{folder}.zip").write_bytes(packed)
    print(f"{folder}.zip: {len(packed)} bytes, {unpacked} unpacked")
    if unpacked > MOST_UNPACKED:
        raise SystemExit(f"error: a package may have {MOST_UNPACKED} bytes unpacked; serve this archive from the bucket")


if __name__ == "__main__":
    main(*sys.argv[1:])
