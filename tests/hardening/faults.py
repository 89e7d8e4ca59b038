#!/usr/bin/env python3
"""Storage that lies, disks that are full or cannot be written, too few files, clocks that jump, programs killed at every step:
one row each, and an exit status of 1 if anything is lost, half or does not work afterwards.

    tests/hardening/faults.py [--programs target/release] [--only WORD] [--no-tests]

What tests show already is run from there (`cargo test`); the rest is tried here on the real programs. Killing needs `strace`,
clocks need `faketime`, disks need root; a row whose tool is missing says so and counts as missing, not as held.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import exported
from table import row, skipped

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What is shown by tests: the fault, the test's file, its name.
TESTS = [
    ("a web host: 200 for a range, HTML, short and long bodies, wrong Content-Range, compression, redirects", "stores",
     "web::hosts_that_falsify_parts_are_refused_with_the_reason"),
    ("a web host: 200 for a range of a small object", "stores", "web::a_host_without_ranges_gives_small_objects_whole_and_once"),
    ("a web host: 503, 429, broken connections", "stores", "web::passing_faults_are_survived_and_lasting_ones_given_up_soon"),
    ("a web host that hangs, before and in its answer", "stores", "web::a_host_that_hangs_is_given_up_within_the_deadline"),
    ("a pointer that is HTML, compressed, too large, of another host", "stores", "web::pointers_that_are_none_are_refused_with_the_reason"),
    ("a bucket: 503, 500, cut and lost answers", "stores", "faults::passing_faults_are_survived"),
    ("a bucket: the same without end", "stores", "faults::lasting_faults_end_in_a_clear_error_soon"),
    ("a bucket that hangs", "stores", "faults::a_server_that_never_answers_is_given_up_soon"),
    ("keys: expired, unknown, denied; another region", "stores", "faults::what_the_service_refuses_is_said_in_a_sentence_with_a_hint"),
    ("a server whose bucket turns bad half-way: 503, expired keys, HTML, the whole for a part, too much, cut, flipped, hanging", "e2e",
     "storage::outage::whatever_a_bucket_answers_half_way_the_good_archive_is_kept"),
    ("a server whose bucket has another valid archive under the name", "e2e",
     "storage::outage::another_archive_under_the_name_of_the_served_one_is_not_taken"),
    ("a server whose host lies about the archive, another valid one under its name included", "e2e",
     "storage::web::an_archive_that_lies_is_not_taken"),
    ("a server whose host lies about the pointer", "e2e", "storage::web::a_pointer_that_lies_changes_nothing"),
    ("an archive damaged on its way at the start", "e2e",
     "storage::outage::an_archive_damaged_on_its_way_at_the_start_is_asked_for_again"),
    ("a served file changed in place", "e2e", "storage::local::a_file_changed_in_place_forges_no_answer"),
    ("a served file cut short", "e2e", "storage::local::a_file_cut_short_in_place_ends_nobody"),
    ("another valid archive in a served file's place", "e2e",
     "storage::local::a_file_replaced_by_another_archive_is_served_whole_or_not_at_all"),
    ("a publisher that dies before every request to a bucket", "stores", "killed::a_publisher_dies_before_every_request"),
    ("a publisher that dies before every answer of a bucket", "stores", "killed::a_publisher_dies_before_every_answer"),
    ("a publisher to a folder killed at twenty moments", "stores", "killed::a_publisher_to_a_folder_is_killed_twenty_times"),
    ("a publisher to a bucket killed at every request", "stores", "killed::a_publisher_to_a_bucket_is_killed_at_every_request"),
    ("a rollback of a bucket killed at every request", "stores", "killed::a_rollback_of_a_bucket_is_killed_at_every_request"),
    ("a publish stopped by SIGINT, SIGTERM, SIGKILL", "cli",
     "publish::a_publish_that_is_stopped_leaves_nothing_behind_and_the_next_one_works"),
    ("a file that changes while it is published", "stores", "publishing::a_file_that_changes_while_it_is_published_is_taken_back"),
]

# What changes something: a program may die before each of these.
STEPS = ["openat", "mkdir", "mkdirat", "write", "writev", "pwrite64", "copy_file_range", "sendfile", "ftruncate", "fsync", "flock",
         "rename", "renameat2", "linkat", "unlink", "unlinkat", "rmdir"]


class Failed(Exception):
    """What is not as it should be."""


class Missing(Exception):
    """What a row needs and is not here."""


def must(holds, what):
    if not holds:
        raise Failed(what)


def need(tool):
    if not shutil.which(tool):
        raise Missing(f"`{tool}` is not installed")


class Place:
    """A folder with two collections, a store and a temporary folder; and the programs."""

    def __init__(self, folder, programs):
        self.folder = pathlib.Path(folder)
        self.indexer, self.function = programs / "wakashu-indexer", programs / "wakashu-function"
        for version in (1, 2, 3):
            for rank in (1, 2):
                entry = self.folder / f"v{version}" / "第1回" / f"{rank}-a"
                entry.mkdir(parents=True)
                text = {"AccountName": "@a", "HonkadoriWaka": f"第{version}版の歌{rank}", "Honka": [], "Prompt": "p" * 3000}
                (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
            (self.folder / f"v{version}" / "和歌集.json").write_text(json.dumps({"Title": f"第{version}版"}, ensure_ascii=False))
        self.store, self.scratch = self.folder / "store", self.folder / "tmp"
        self.scratch.mkdir()

    def run(self, *arguments, before=(), **options):
        environment = {**os.environ, "TMPDIR": str(self.scratch), "HOME": str(self.folder), **options.pop("env", {})}
        command = [*before, self.indexer, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment, **options)

    def publish(self, version, **options):
        return self.run("publish", f"v{version}", "store", "--no-cache", "--no-progress", **options)

    def served(self):
        """Returns the title of what the pointer names, having checked every byte of it; nothing without a pointer."""
        pointer = self.store / "current.json"
        if not pointer.exists():
            return None
        archive = self.store / "archives" / (json.loads(pointer.read_text())["digest"] + ".wakashu")
        checked = self.run("check", archive)
        must(checked.returncode == 0, f"what is served is not whole: {checked.stderr}")
        return json.loads(self.run("show", archive, "--json").stdout)["archive"]["title"]

    def check_tidy(self):
        must(not list(self.scratch.iterdir()), f"left in the temporary folder: {list(self.scratch.iterdir())}")


def ignore_file_size():
    """Makes a write over the limit an error instead of the program's end."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))


class Serving:
    """A server on the store."""

    def __init__(self, place, env=None, before=(), **options):
        environment = {**os.environ, "WAKASHU_REFRESH_SECONDS": "1", **(env or {})}
        command = [*before, place.function, "serve", place.store, "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
                                        **options)
        self.url = self.process.stdout.readline().strip().removesuffix("/mcp")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def health(self):
        must(self.process.poll() is None, "the server is dead")
        with urllib.request.urlopen(self.url + "/", timeout=10) as answer:
            return json.load(answer)

    def wait_for(self, title):
        deadline = time.monotonic() + 30
        while title not in self.health()["message"]:
            must(time.monotonic() < deadline, f"{title} is not served: {self.health()}")
            time.sleep(0.1)
        must(self.health()["index"]["stale"] is False, "stale")


def killed_at_every_step(place, arguments, look):
    """Runs a verb again and again, killed before its first step, its second, and so on, until it gets through.

    Says how often each step was met: one that never was may have become another one.
    """
    need("strace")
    kills = dict.fromkeys(STEPS, 0)
    for step in STEPS:
        for number in range(1, 500):
            strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={step}",
                      "-e", f"inject={step}:signal=SIGKILL:when={number}"]
            done = place.run(*arguments, before=strace)
            if done.returncode == 0:
                look(True)
                break
            must(done.returncode in (-9, 137), f"{step} {number}: {done.returncode} {done.stderr}")
            kills[step] += 1
            look(False)
        else:
            raise Failed(f"{step}: no end")
    met = ", ".join(f"{step} {count}" for step, count in kills.items() if count)
    never = ", ".join(step for step, count in kills.items() if not count)
    return f"{sum(kills.values())} kills ({met}; never met: {never or 'none'})"


def kill_build(place):
    out = place.folder / "out"
    out.mkdir()

    def look(through):
        for archive in out.glob("*.wakashu"):
            must(place.run("check", archive).returncode == 0, f"half an archive: {archive}")
        if through:
            must(len(list(out.glob("*.wakashu"))) == 1 and not list(out.glob(".*")), f"litter: {list(out.iterdir())}")
            shutil.rmtree(out)
            out.mkdir()

    return killed_at_every_step(place, ["build", "v1", "-o", "out", "--no-cache", "--no-progress"], look)


def kill_publish(place):
    must(place.publish(1).returncode == 0, "the first publish")

    def look(through):
        place.check_tidy()
        title = place.served()
        must(title == "第2版" if through else title in ("第1版", "第2版"), f"{title} is served")
        if title == "第2版":
            # Back to the beginning, for the next step to be met.
            must(place.run("rollback", "store").returncode == 0, "rollback")
            for archive in (place.store / "archives").glob("*.wakashu"):
                if json.loads((place.store / "current.json").read_text())["digest"] != archive.stem:
                    archive.unlink()
        litter = list(place.store.rglob(".wakashu-*"))
        must(len(litter) <= 1, f"litter grows: {litter}")

    return killed_at_every_step(place, ["publish", "v2", "store", "--no-cache", "--no-progress"], look)


def kill_rollback(place):
    for version in (1, 2):
        must(place.publish(version).returncode == 0, "publish")

    def look(through):
        title = place.served()
        must(title == "第1版" if through else title in ("第1版", "第2版"), f"{title} is served")
        if title == "第2版":
            must(place.run("rollback", "store").returncode == 0 and place.served() == "第1版", "the next rollback")
        must(place.publish(2).returncode == 0 and place.served() == "第2版", "the next publish")

    return killed_at_every_step(place, ["rollback", "store"], look)


def contents(folder):
    """Returns the bytes of every poem and picture of a collection, wherever they are."""
    return sorted(file.read_bytes() for file in folder.rglob("*")
                  if file.is_file() and file.name != ".wakashu-add.json" and not file.name.endswith(".tmp"))


def kill_add(place):
    """With ranks to move: three entries, and a new one before them."""
    collection, pristine, picture = place.folder / "c", place.folder / "pristine", place.folder / "a.gif"
    picture.write_bytes((ROOT / "fixtures/pictures/gif-palette.gif").read_bytes())
    (pristine / "第1回").mkdir(parents=True)
    (pristine / "和歌集.json").write_text('{"Title": "x"}')
    for rank in (1, 2, 3):
        entry = pristine / "第1回" / f"{rank}-a"
        entry.mkdir()
        text = {"AccountName": f"@{rank}", "HonkadoriWaka": f"歌{rank}", "Honka": [], "Prompt": ""}
        (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
        (entry / f"Picture{rank}.gif").write_bytes(picture.read_bytes() + bytes([rank]))
    shutil.copytree(pristine, collection)
    before = contents(pristine)
    ended = {"begun": 0, "as before": 0}

    def look(through):
        left = contents(collection)
        must(all(content in left for content in before), f"lost: {list(collection.rglob('*'))}")
        checked = place.run("check", "c", "--json")
        codes = [problem["code"] for problem in json.loads(checked.stdout)["problems"]]
        must(set(codes) <= {"ADD_BEGUN", "ADD_LEFT"}, f"{codes}")
        fixed = place.run("check", "c", "--fix", "--strict")
        must(fixed.returncode == 0, f"not finished: {fixed.stderr}")
        must(not codes or "earlier `add`" in fixed.stderr, f"does not say so: {fixed.stderr}")
        ranks = sorted(path.name for path in (collection / "第1回").iterdir() if not path.name.endswith(".tmp"))
        whole = ["1-b", "2-a", "3-a", "4-a"]
        must(ranks in ([whole] if through else [whole, ["1-a", "2-a", "3-a"]]), f"{ranks}")
        ended["begun" if codes else "as before"] += 1
        shutil.rmtree(collection)
        shutil.copytree(pristine, collection)

    kills = killed_at_every_step(
        place, ["add", "c", "1", "--rank", "1", "--account", "@b", "--poem", "新", "--picture", "a.gif"], look)
    return f"{kills}, {ended['begun']} with something begun"


def kill_new(place):
    made = place.folder / "made"

    def look(through):
        if not through:
            done = place.run("new", "made")
            must(done.returncode == 0 or "is not empty" in done.stderr, done.stderr)
        checked = place.run("check", "made/wakashu_dir", "--strict")
        must(checked.returncode == 0, f"{checked.stderr}")
        names = sorted(path.name for path in made.iterdir())
        must(names == [".gitattributes", ".gitignore", ".pre-commit-config.yaml", ".vscode", ".wakashu", "README.md",
                       "wakashu_dir"], f"{names}")
        shutil.rmtree(made)

    return killed_at_every_step(place, ["new", "made"], look)


def kill_fix(place):
    collection, pristine = place.folder / "c", place.folder / "pristine"
    entry = pristine / "第1回" / "０２-b"
    entry.mkdir(parents=True)
    (pristine / "和歌集.json").write_text('{"Title": "x"}')
    (entry / "TextData2.json.txt").write_bytes('{"AccountName":"@b","HonkadoriWaka":"あい","Honka":[],"Prompt":"",}'.encode("cp932"))
    (entry / "picture2.GIF").write_bytes((ROOT / "fixtures/pictures/gif-palette.gif").read_bytes())
    shutil.copytree(pristine, collection)
    before = contents(pristine)

    def look(_):
        left = contents(collection)
        must(all(content in left for content in before), f"lost: {list(collection.rglob('*'))}")
        must(place.run("check", "c", "--fix", "--strict").returncode == 0, "not finished")
        kept = [file.read_bytes() for file in collection.rglob("*.before-*")]
        must(len(kept) == len(set(kept)), "the same is kept twice")
        shutil.rmtree(collection)
        shutil.copytree(pristine, collection)

    return killed_at_every_step(place, ["check", "c", "--fix"], look)


def full_disk(place):
    must(place.publish(1).returncode == 0, "the first publish")
    for arguments in (["build", "v2", "-o", "out/", "--no-cache"], ["publish", "v2", "store", "--no-cache"]):
        done = place.run(*arguments, preexec_fn=ignore_file_size)
        must(done.returncode == 2 and "File too large" in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
        place.check_tidy()
    must(not list((place.folder / "out").glob("*")), "something is left of the build")
    must(place.served() == "第1版", "what was served is lost")
    must(place.publish(2).returncode == 0 and place.served() == "第2版", "the next publish")
    return "every write over 4,096 bytes fails"


def mounted(place, options):
    if os.geteuid() != 0:
        raise Missing("needs root to mount")
    where = place.folder / "disk"
    where.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", where], check=True)
    return where


def really_full_disk(place):
    disk = mounted(place, "size=64k")
    try:
        place.store = disk / "store"
        shutil.copytree(place.folder / "v1", place.folder / "large")
        big = json.dumps({"AccountName": "@a", "HonkadoriWaka": "歌", "Honka": [], "Prompt": "長" * 60_000}, ensure_ascii=False)
        (place.folder / "large" / "第1回" / "1-a" / "TextData1.json").write_text(big)
        must(place.run("publish", "v1", place.store, "--no-cache").returncode == 0, "the first publish")
        done = place.run("publish", "large", place.store, "--no-cache")
        must(done.returncode == 2 and "No space left" in done.stderr, f"{done.returncode} {done.stderr}")
        must(not list(place.store.rglob(".wakashu-*")), "half a file is left")
        must(place.served() == "第1版", "what was served is lost")
        must(place.run("publish", "v2", place.store, "--no-cache").returncode == 0 and place.served() == "第2版", "the next publish")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    return "a disk of 64 KiB"


def read_only_disk(place):
    disk = mounted(place, "size=8m")
    try:
        place.store = disk / "store"
        must(place.run("publish", "v1", place.store, "--no-cache").returncode == 0, "the first publish")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for arguments in (["publish", "v2", place.store, "--no-cache"], ["build", "v2", "-o", disk, "--no-cache"]):
            done = place.run(*arguments)
            must(done.returncode == 2 and "Read-only file system" in done.stderr, f"{done.returncode} {done.stderr}")
        with Serving(place) as server:
            server.wait_for("第1版")
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            must(place.run("publish", "v2", place.store, "--no-cache").returncode == 0, "the next publish")
            server.wait_for("第2版")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    return "served from, not written to"


def too_few_files(place):
    must(place.publish(1).returncode == 0, "the first publish")
    for arguments in (["build", "v2", "-o", "out/", "--no-cache"], ["publish", "v2", "store", "--no-cache"]):
        done = place.run(*arguments, preexec_fn=few_files)
        must(done.returncode in (0, 1, 2), f"{arguments}: {done.returncode} {done.stderr}")
        must(place.served() in ("第1版", "第2版"), "what was served is lost")
        place.check_tidy()
    must(place.publish(2).returncode in (0, 1) and place.served() == "第2版", "the next publish")

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    with Serving(place, preexec_fn=limit) as server:
        import socket
        address = server.url.removeprefix("http://").split(":")
        crowd = [socket.create_connection((address[0], int(address[1]))) for _ in range(60)]
        must(place.publish(3).returncode == 0, "publish")
        time.sleep(2.5)
        must(server.process.poll() is None, "the server is dead")
        for one in crowd:
            one.close()
        server.wait_for("第3版")
    return "10 files for the indexer, 24 for a server with 60 clients"


def clock_jumps(place):
    need("faketime")
    library = next(pathlib.Path("/usr/lib").rglob("libfaketime.so.1"), None)
    if library is None:
        raise Missing("libfaketime.so.1 is not found")
    clock = place.folder / "clock"
    clock.write_text("+0")
    fake = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    must(place.publish(1).returncode == 0, "the first publish")
    with Serving(place, env=fake) as server:
        server.wait_for("第1版")
        for jump, version in (("+3650d", 2), ("-3650d", 3), ("+0", 1)):
            clock.write_text(jump)
            must(place.publish(version, env=fake).returncode == 0, f"publish at {jump}")
            server.wait_for(f"第{version}版")
            must(place.served() == f"第{version}版", "what was published is not what is there")
    named = json.loads((place.store / "current.json").read_text())["history"]
    for version in named:
        must((place.store / "archives" / (version["digest"] + ".wakashu")).exists(), "a version of the history is lost")
    must(place.run("rollback", "store").returncode == 0 and place.served() == "第3版", "rollback goes by place, not by time")
    return "ten years ahead, ten back, and again"


def export(place, version, folder, **options):
    return place.run("export", f"v{version}", "-o", folder, "--no-cache", "--no-progress", **options)


def check_site(folder, *versions):
    """Whatever can be reached is there, and is of one of these versions."""
    if not (folder / "index.html").exists():
        must(0 in versions, "the front page is lost")
        return None
    titles, dead = exported.look(folder)
    must(not dead, f"led to nothing: {dead[:3]}")
    must(titles <= {f"第{version}版" for version in versions}, f"pages of {titles}")
    digest = exported.served(folder)
    must(digest is not None or 0 in versions, "the pointer is lost")
    return titles


def kill_export(place):
    folder = place.folder / "site"

    def look(through):
        check_site(folder, *((2,) if through else (0, 2)))
        must(export(place, 2, folder).returncode == 0 and check_site(folder, 2) == {"第2版"}, "the next run")
        must(not list((folder / ".wakashu-site" / "new").iterdir()), "litter")
        shutil.rmtree(folder)

    return killed_at_every_step(place, ["export", "v2", "-o", "site", "--no-cache", "--no-progress"], look)


def kill_export_again(place):
    # Another title for every page, a round more, and a rank less.
    folder = place.folder / "site"
    shutil.copytree(place.folder / "v2" / "第1回", place.folder / "v2" / "第2回")
    shutil.rmtree(place.folder / "v2" / "第1回" / "2-a")
    must(export(place, 1, folder).returncode == 0, "the first export")
    shutil.copytree(folder, place.folder / "before")

    def look(through):
        check_site(folder, *((2,) if through else (1, 2)))
        must(export(place, 2, folder).returncode == 0 and check_site(folder, 2) == {"第2版"}, "the next run")
        must(not (folder / "rounds/第1回/2").exists(), "a stale page")
        shutil.rmtree(folder)
        shutil.copytree(place.folder / "before", folder)

    return killed_at_every_step(place, ["export", "v2", "-o", "site", "--no-cache", "--no-progress"], look)


def fill(disk, left):
    """Fills a disk but for so many bytes; returns the file that does it."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass
    os.truncate(filler, max(filler.stat().st_size - left, 0))
    return filler


def export_full_and_read_only(place):
    failed_midway = 0
    # A disk that is full at the first write, and others at a later one, up to where everything fits.
    for left in range(0, 400, 8):
        disk = mounted(place, "size=400k")
        try:
            folder = disk / "site"
            must(export(place, 1, folder).returncode == 0, "the first export")
            before = used(folder)
            filler = fill(disk, left * 1024)
            done = export(place, 2, folder)
            if done.returncode == 0:
                must(check_site(folder, 2) == {"第2版"}, "an export that fits")
            else:
                must(done.returncode == 2 and "No space left" in done.stderr, f"{done.returncode} {done.stderr}")
                check_site(folder, 1, 2)
                failed_midway += used(folder) != before
            filler.unlink()
            must(export(place, 2, folder).returncode == 0 and check_site(folder, 2) == {"第2版"}, "the next export")
            if done.returncode == 0:
                must(left > 0 and failed_midway > 0, "no run failed in the middle")
                subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
                done = export(place, 3, folder)
                must(done.returncode == 2 and "Read-only file system" in done.stderr, f"{done.returncode} {done.stderr}")
                must(check_site(folder, 2) == {"第2版"}, "what was there")
                return f"400 KiB, {left // 8} times full, {failed_midway} of them in the middle; then read-only"
        finally:
            subprocess.run(["umount", "-l", disk], check=True)
    raise Failed("no export fitted")


def used(folder):
    """What is in a folder: names, lengths and times."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {(path, path.stat().st_size, path.stat().st_mtime_ns) for path in files}


SCENES = [
    ("kill -9 before every step of `export` to a new folder", kill_export),
    ("kill -9 before every step of `export` over an earlier one", kill_export_again),
    ("disk full, then read-only: export", export_full_and_read_only),
    ("kill -9 before every step of `build`", kill_build),
    ("kill -9 before every step of `publish` to a folder", kill_publish),
    ("kill -9 before every step of `rollback`", kill_rollback),
    ("kill -9 before every step of `add`, with ranks to move", kill_add),
    ("kill -9 before every step of `new`", kill_new),
    ("kill -9 before every step of `check --fix`", kill_fix),
    ("writes fail: build, publish", full_disk),
    ("disk full: publish", really_full_disk),
    ("disk read-only: publish, build, serve", read_only_disk),
    ("too few files: build, publish, serve", too_few_files),
    ("clock jumps: publish, serve, history", clock_jumps),
]


def run_tests():
    """Runs the named tests and returns which were ok."""
    files = sorted({file for _, file, _ in TESTS})
    names = [name for _, _, name in TESTS]
    command = ["cargo", "test", "--workspace", *(part for file in files for part in ("--test", file)), "--", "--exact", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith("test ") and line.endswith("... ok")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "target/debug")
    parser.add_argument("--only", default="")
    parser.add_argument("--no-tests", action="store_true")
    options = parser.parse_args()
    bad = 0
    if not options.no_tests:
        held = run_tests()
        for what, _, name in TESTS:
            if options.only in what:
                ok = name in held
                bad += not ok
                row("–", what, "", f"`{name.rpartition('::')[2]}`", ok)
    for what, scene in SCENES:
        if options.only not in what:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                bad += row("–", what, "", scene(Place(folder, options.programs.resolve())), True)
            except Missing as missing:
                bad += skipped("–", what, "", missing)
            except Failed as failed:
                bad += row("–", what, "", str(failed).replace("\n", " "), False)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
