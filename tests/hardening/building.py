#!/usr/bin/env python3
"""Attacks on the indexer that need no pictures of a special kind: races, names, messages, what killed runs leave.

Prints one row for each and fails if any succeeds. `INDEXER` names another program than target/debug's.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import collection
from collection import FIXTURES, INDEXER, ROOT
from table import row

BUILDS = 120
CANARY = "そとのひみつ"
PICTURE = (FIXTURES / "png-rgb8.png").read_bytes()
OUTSIDE_PICTURE = (FIXTURES / "png-1x1.png").read_bytes()


def entry(folder, rank, round_title="第1回", poem="うちのうた"):
    """Writes an entry without a picture; returns its folder."""
    place = pathlib.Path(folder) / round_title / f"{rank}-A"
    place.mkdir(parents=True)
    text = {"AccountName": "@a", "HonkadoriWaka": poem, "Honka": [], "Prompt": "p"}
    (place / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
    return place


def run(*arguments, **options):
    return subprocess.run([INDEXER, *map(str, arguments)], capture_output=True, text=True, **options)


def swapping(path, swap_once, done):
    """Exchanges a path for a link to one outside, and back, until `done`; returns the thread."""
    chance = random.Random(1)

    def swap():
        # Neither too fast for a build to succeed nor so slow that it is never met.
        while not done.wait(chance.uniform(0, 0.02)):
            swap_once(path, lambda: time.sleep(chance.uniform(0, 0.005)))

    thread = threading.Thread(target=swap)
    thread.start()
    return thread


def file_swap(outside, inside):
    def swap(path, wait):
        new = path.with_name(".new")
        new.symlink_to(outside)
        new.rename(path)
        wait()
        new.write_bytes(inside)
        new.rename(path)

    return swap


def folder_swap(outside):
    def swap(path, wait):
        aside = path.parent.parent.parent / "aside"
        path.rename(aside)
        path.symlink_to(outside, target_is_directory=True)
        wait()
        path.unlink()
        aside.rename(path)

    return swap


def race(folder, kind):
    """Builds again and again while a file, or the folder it lies in, is exchanged; returns in how many archives what lies
    outside is found."""
    folder = pathlib.Path(folder)
    archive = folder / "a.wakashu"
    options = ["-o", archive, "--no-cache", "--no-progress", "-q", "--keep-going"]
    place = entry(folder / "c", 1)
    # What lies outside is an entry of its own.
    outside = entry(folder / "outside", 1, poem=CANARY)
    (place / "Picture1.png").write_bytes(PICTURE)
    (outside / "Picture1.png").write_bytes(OUTSIDE_PICTURE)

    def is_outside():
        shown = run("show", archive, "--round", "第1回", "--rank", "1", "--json").stdout
        by_picture = bool(re.search(r'"width(_px)?": 1\b', shown))
        by_text = CANARY.encode() in archive.read_bytes()
        return {"text": by_text, "picture": by_picture, "folder": by_text or by_picture}[kind]

    # What is looked for is found where it is: in an archive of what lies outside, and not in one of the rest.
    for root, expected in ((folder / "c", False), (folder / "outside", True)):
        run("build", root, *options)
        if not archive.exists() or is_outside() != expected:
            return f"the archive of `{root.name}` is not recognised", False
        archive.unlink()

    path = {"text": place / "TextData1.json", "picture": place / "Picture1.png", "folder": place}[kind]
    target = outside if kind == "folder" else outside / path.name
    swap = folder_swap(target) if kind == "folder" else file_swap(target, path.read_bytes())
    brought_in = built = 0
    done = threading.Event()
    thread = swapping(path, swap, done)
    try:
        for _ in range(BUILDS):
            run("build", folder / "c", *options)
            if not archive.exists():
                continue
            built += 1
            brought_in += is_outside()
            archive.unlink()
    finally:
        done.set()
        thread.join()
    return f"{brought_in} of {BUILDS} archives ({built} were built)", brought_in == 0 and built > 0


def titles(folder):
    """Rounds whose titles look the same."""
    refused = 0
    marks = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"]
    for number, mark in enumerate(marks):
        place = pathlib.Path(folder) / str(number)
        entry(place, 1, "春の歌")
        entry(place, 1, f"春{mark}の歌")
        done = run("build", place, "-o", f"{folder}/{number}.wakashu", "--no-cache", "--no-progress")
        refused += done.returncode == 1 and f"U+{ord(mark):04X}" in done.stderr
    return f"{refused} of {len(marks)} refused, the code point named", refused == len(marks)


# What a developer sees and a curator should not: `Kind { field: …`, `Some(…)`, paths of modules.
DEBUG = re.compile(r"\w \{ \w+:|\b(Some|None|Ok|Err)\(|\w::\w|\bErrorKind\b")


def problems_of(folder, pictures):
    collection.write(f"{folder}/c", pictures)
    shown = run("build", f"{folder}/c", "-o", f"{folder}/c.wakashu", "--keep-going", "--no-cache", "--no-progress", "--json").stdout
    return json.loads(shown)["problems"]


def messages(folder):
    """Every picture that is kept for tests and for fuzzing, sound or not."""
    files = [path for path in sorted(FIXTURES.iterdir()) if path.suffix[1:] in ("png", "jpg", "gif", "webp", "heic")]
    pictures = {path.name: path.read_bytes() for path in files if ".expected." not in path.name}
    for path in sorted((ROOT / "tests/fuzz/corpus/picture").iterdir()):
        head = path.read_bytes()[:12]
        kinds = [(b"\x89PNG", "png"), (b"\xff\xd8", "jpg"), (b"GIF8", "gif"), (b"RIFF", "webp")]
        kind = next((kind for mark, kind in kinds if head.startswith(mark)), "heic")
        pictures[f"{path.name}.{kind}"] = path.read_bytes()
    said = [problem["message"] for problem in problems_of(folder, pictures)]
    raw = [message for message in said if DEBUG.search(message)]
    if raw:
        print("\n".join(raw[:5]), file=sys.stderr)
    return f"{len(raw)} of {len(said)} messages", bool(said) and not raw


def lossless(folder):
    """A lossless JPEG, and what is said of it."""
    picture = (FIXTURES / "jpeg-444.jpg").read_bytes().replace(b"\xff\xc0", b"\xff\xc3", 1)
    said = next(problem["message"] for problem in problems_of(folder, {"lossless.jpg": picture}) if "Picture" in problem["path"])
    return f"“{said.split(': ')[-1]}”", "lossless" in said


def quiet(folder):
    for rank in range(1, 11):
        entry(f"{folder}/c", rank)
    done = run("build", f"{folder}/c", "-o", f"{folder}/a.wakashu", "--no-cache", "--no-progress", "-q")
    lines = [line for line in done.stderr.splitlines() if "Picture" in line or "picture" in line]
    return f"{len(lines)} lines for 10 entries", not lines


def originals(folder):
    place = entry(f"{folder}/c", 1)
    (place / "Picture1.png").write_bytes(PICTURE)
    options = ["-o", f"{folder}/a.wakashu", "--cache-dir", f"{folder}/cache", "--no-progress", "--json"]
    made = []
    for more in ([], ["--originals"], []):
        made.append(json.loads(run("build", f"{folder}/c", *options, *more).stdout)["summary"]["cache_misses"])
    return f"{made[1] + made[2]} of 2 made again", made == [1, 0, 0]


def interrupted(folder):
    """A publish that is killed while it builds and writes, at twenty moments."""
    temporary = pathlib.Path(folder) / "tmp"
    temporary.mkdir()
    for rank in range(1, 41):
        place = entry(f"{folder}/c", rank, poem="歌" * 20_000)
        (place / f"Picture{rank}.png").write_bytes(PICTURE)
    command = [INDEXER, "publish", f"{folder}/c", f"{folder}/store", "--no-cache", "--no-progress", "-q"]
    left = killed = 0
    for moment in range(20):
        child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)},
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 * moment)
        child.kill()
        killed += child.wait() != 0
        left = max(left, sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file()))
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(temporary)}, capture_output=True, text=True)
    litter = list(pathlib.Path(folder, "store").rglob(".wakashu-*"))
    said = f"{left:,} bytes after {killed} kills, {len(litter)} files in the store after the next run"
    return said, not left and killed > 0 and done.returncode == 0 and not litter


def pipe_in_cache(folder):
    place = entry(f"{folder}/c", 1)
    (place / "Picture1.png").write_bytes(PICTURE)
    options = ["-o", f"{folder}/a.wakashu", "--cache-dir", f"{folder}/cache", "--no-progress", "-q"]
    run("build", f"{folder}/c", *options)
    kept = [path for path in pathlib.Path(folder, "cache").rglob("*") if path.is_file()]
    for path in kept:
        path.unlink()
        os.mkfifo(path)
    started = time.monotonic()
    try:
        done = run("build", f"{folder}/c", *options, timeout=60)
    except subprocess.TimeoutExpired:
        return "hangs", False
    return f"built in {(time.monotonic() - started) * 1000:.0f} ms", done.returncode == 0 and bool(kept)


def restless(folder):
    """A collection in which a file changes all the time, and one poem once."""
    place = entry(f"{folder}/c", 1)
    child = subprocess.Popen([INDEXER, "preview", f"{folder}/c", "--port", "0", "--no-cache", "--watch"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    done = threading.Event()

    def write():
        while not done.wait(0.05):
            (place / "TextData1.json").write_text(json.dumps(
                {"AccountName": "@a", "HonkadoriWaka": f"歌 {time.monotonic()}", "Honka": [], "Prompt": "p"}))

    # Once the first build is there.
    for line in child.stderr:
        if "digest" in line:
            break
    thread = threading.Thread(target=write)
    thread.start()
    started = time.monotonic()
    watchdog = threading.Timer(60, child.kill)
    watchdog.start()
    took = None
    for line in child.stderr:
        if "serving the new version" in line:
            took = time.monotonic() - started
            break
    watchdog.cancel()
    done.set()
    thread.join()
    child.kill()
    child.wait()
    return "never" if took is None else f"after {took:.0f} s of changes", took is not None


ATTACKS = [
    ("9", "rounds whose titles differ by marks without width", "accepted", titles),
    ("11", "a text that is swapped for a link", "in 44 of 120 archives", lambda folder: race(folder, "text")),
    ("11", "a picture that is swapped for a link", "in 47 of 120 archives", lambda folder: race(folder, "picture")),
    ("11", "the folder of an entry that is swapped for a link", "", lambda folder: race(folder, "folder")),
    ("17", "debug output in messages", "`ChunkType { type: PLTE, …`", messages),
    ("17", "what is said of a lossless JPEG", "misleading", lossless),
    ("17", "entries without picture, `-q`", "20 lines for 10 entries", quiet),
    ("17", "`--originals` after a build without, and back", "2 of 2 made again", originals),
    ("18", "`publish` killed: left in the temporary folder", "up to a whole archive", interrupted),
    ("18", "a pipe in the picture cache", "hangs", pipe_in_cache),
    ("18", "`preview --watch` while files keep changing", "never rebuilds", restless),
]


def main():
    failed = 0
    for point, name, before, attack in ATTACKS:
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            now, held = attack(folder)
        failed += row(point, name, before, now, held)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
