"""What is packed: the version, the commit's time, the programs that infra/dist/build made, and packed files that two runs
write alike."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from platforms import PLATFORMS, check

ROOT = Path(__file__).resolve().parents[2]
# WAKASHU_SHIP is for tests.
SHIP = Path(os.environ.get("WAKASHU_SHIP", ROOT / "target/ship"))
PROGRAMS = SHIP / "programs"
PACKED = SHIP / "packed"

SUMMARY = "Poem collections for people and MCP clients: check, build, publish, look at, serve, connect"

with open(ROOT / "Cargo.toml", "rb") as manifest:
    WORKSPACE = tomllib.load(manifest)["workspace"]["package"]
VERSION, LICENSE = WORKSPACE["version"], WORKSPACE["license"]
REPOSITORY = WORKSPACE.get("repository")


def commit(form):
    found = subprocess.run(["git", "log", "-1", f"--format={form}"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip()


# Where zip's time begins.
EARLIEST = 315_532_800
# The same for every run on a commit.
TIME = max(int(os.environ.get("SOURCE_DATE_EPOCH") or commit("%ct") or 0), EARLIEST)


@dataclass(frozen=True)
class Member:
    """A file of a package."""

    name: str
    data: bytes
    mode: int = 0o644
    is_folder: bool = False


def shipped(names=("wakashu", "wakashu-function")):
    """Yields every platform that was built, with its programs by name."""
    for platform in PLATFORMS:
        folder = PROGRAMS / platform.target
        if folder.is_dir():
            programs = {}
            for name in names:
                data = (folder / f"{name}{platform.ending}").read_bytes()
                check(platform, data, f"{platform.target}/{name}")
                programs[name] = data
            yield platform, programs


def text(name):
    return (ROOT / name).read_bytes()


def third_party():
    """Returns the licences of all that is inside the programs; infra/dist/licences.py writes them."""
    return (SHIP / "THIRD-PARTY.txt").read_bytes()


def write(name, data):
    PACKED.mkdir(parents=True, exist_ok=True)
    (PACKED / name).write_bytes(data)
    print(f"{name}: {len(data)} bytes")


def tar(members, compress=True):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.mode, info.mtime, info.size = member.mode, TIME, len(member.data)
            if member.is_folder:
                info.type = tarfile.DIRTYPE
            archive.addfile(info, io.BytesIO(member.data))
    # The name and the time that gzip would put in are left out.
    return gzip.compress(buffer.getvalue(), 9, mtime=0) if compress else buffer.getvalue()


def zipped(members, stored=(), time=TIME):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for member in members:
            entry = zipfile.ZipInfo(member.name, datetime.fromtimestamp(time, UTC).timetuple()[:6])
            # Made on Unix, whatever the system, so that rights are kept.
            entry.create_system = 3
            entry.external_attr = (0o100000 | member.mode) << 16
            entry.compress_type = zipfile.ZIP_STORED if member.name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, member.data)
    return buffer.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
