"""Collections of made-up pictures, and the indexer run on them. Needs `pillow`, `pillow-heif` and `numpy`."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "pictures"
INDEXER = os.environ.get("INDEXER", str(ROOT / "target/debug/wakashu-indexer"))
PICTURE = os.environ.get("PICTURE", str(ROOT / "target/debug/examples/picture"))


def write(directory, pictures):
    """Writes a collection with one entry for each picture, a dictionary of file names and bytes."""
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(directory) / "和歌集.json").write_text('{"Title":"attacks"}')
    for rank, (name, data) in enumerate(pictures.items(), 1):
        entry = pathlib.Path(directory) / "第1回" / f"{rank}-Picture"
        entry.mkdir(parents=True)
        text = {"AccountName": "@a", "HonkadoriWaka": name, "Honka": [], "Prompt": "p"}
        (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
        (entry / f"Picture{rank}.{name.rsplit('.', 1)[1]}").write_bytes(data)


def build(directory, *options):
    """Builds a collection; returns the exit code, what was said, peak memory in bytes and seconds."""
    command = ["/usr/bin/time", "-v", INDEXER, "build", str(directory), "-o", str(directory) + ".wakashu", "--keep-going",
               "--no-cache", "--no-progress", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    said, _, figures = done.stderr.rpartition("\tCommand being timed")
    peak = int(re.search(r"Maximum resident set size \(kbytes\): (\d+)", figures)[1]) * 1024
    clock = re.search(r"Elapsed .*: ([0-9:.]+)\n", figures)[1].split(":")
    seconds = sum(float(part) * 60**power for power, part in enumerate(reversed(clock)))
    return done.returncode, said, peak, seconds
