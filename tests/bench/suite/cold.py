"""Cold starts: on Lambda, under AWS's runtime emulator (tests/bench/lambda-init), and on a bucket that is far away."""

import contextlib
import json
import os
import statistics
import subprocess
import sys

from . import machine, requests
from .machine import ROOT, PROGRAMS, say
from .server import Failed
from .start import start_to_answer

TITLES = {
    "hello": "hello-world",
    "local": "archive on disk",
    "s3": "archive in S3 on this machine",
    "s3, no preload": "the same, nothing fetched ahead",
}


def run(options):
    figures = options.work / "lambda-init.json"
    # It ends with 1 when a bar is missed; the bars are looked at here.
    ended = subprocess.run(
        [str(ROOT / "tests/bench/lambda-init"), "--starts", "4" if options.quick else "40", "--json", str(figures)],
        env=os.environ | {"WAKASHU_PROGRAMS": str(PROGRAMS)}, stdout=sys.stderr)
    if not figures.exists():
        raise Failed(f"tests/bench/lambda-init ended with {ended.returncode}")
    measured = json.loads(figures.read_text())
    bars = [{"what": f"start on Lambda, {TITLES[row['program']]}, minimum", "value": row["over_hello_ms"],
             "bar": row["bar_ms"], "unit": "ms over hello-world"}
            for row in measured["rows"] if row["bar_ms"] is not None]
    return measured | {"bars": bars}


# A bucket in the same region as a function: what a small read takes, and how fast a large one comes.
LATENCY_MS, BYTES_PER_SECOND = 30, 60_000_000
# What is fetched whole, what may be read besides what is named, and entries of a page at most.
PRELOAD_BYTES, SLACK_BYTES, PAGE_ENTRIES = 8 << 20, 4 << 10, 32
# Name, shape, most reads in sequence. The last is written with tiny pictures: the number of entries is what is looked at.
ARCHIVES = [
    ("2 MB, 30 entries", "1x30x16600", 2),
    ("20 MB, 300 entries", "10x30x16600", 3),
    ("42 MB, 630 entries", "21x30x16600", 3),
    ("1,000,000 entries", "10000x100x48", 4),
]
STORE = "s3://poems/wakashu"
KEYS = {"AWS_ACCESS_KEY_ID": "wakashu-test", "AWS_SECRET_ACCESS_KEY": "a-secret-for-tests-only",
        "AWS_REGION": "eu-central-1"}


def bucket(options):
    """Measures the first ranking of a fresh server, with the settings nobody touched: time, reads and bytes."""
    rows, bars = [], []
    for name, shape, most_in_sequence in ARCHIVES[:2] if options.quick else ARCHIVES:
        row = {"archive": name} | first_ranking(shape, options.work / shape, 3 if options.quick else 20)
        rows.append(row)
        bars.append({"what": f"first ranking from a bucket, {name}: reads in sequence", "value": row["in_sequence"],
                     "bar": most_in_sequence, "unit": ""})
        bars.append({"what": f"first ranking from a bucket, {name}: bytes", "value": row["bytes"],
                     "bar": row["needed_bytes"] + SLACK_BYTES, "unit": "bytes"})
        say(f"  {name:20} {row['reads']} reads, {row['in_sequence']} in sequence, {row['bytes']:,} bytes, "
            f"{row['median_ms']:.1f} ms")
    return {"latency_ms": LATENCY_MS, "bytes_per_second": BYTES_PER_SECOND, "rows": rows, "bars": bars}


def first_ranking(shape, folder, starts):
    folder.mkdir()
    archive = folder / "poems.wakashu"
    machine.run(PROGRAMS / "shapes", archive, shape)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "WAKASHU_"))} | KEYS
    request = requests.ranking("legacy", "第1回", "1-3")
    times, seen = [], []
    with far_bucket(folder) as (direct, proxied, counted):
        machine.run(PROGRAMS / "wakashu-indexer", "publish", "--quiet", "--no-progress", archive, STORE,
                    env=environment | {"AWS_ENDPOINT_URL_S3": direct}, stdout=sys.stderr)
        for _ in range(starts):
            command = [PROGRAMS / "wakashu-function", "serve", "--port", "0", STORE]
            times.append(start_to_answer(command, request, environment | {"AWS_ENDPOINT_URL_S3": proxied}) * 1e3)
            seen.append(counted())
    archive_bytes = archive.stat().st_size
    needed = needed_bytes(archive, shape, (folder / "s3/poems/wakashu/current.json").read_bytes())
    archive.unlink()
    # The most of each: every start reads the same, unless something is retried.
    counts = {name: max(one[name] for one in seen) for name in seen[0]}
    return {"archive_bytes": archive_bytes, "starts": starts, "needed_bytes": needed} | counts | {
        "minimum_ms": round(min(times), 2), "median_ms": round(statistics.median(times), 2)}


def needed_bytes(archive, shape, pointer):
    """Returns what an answer cannot do without: the pointer, then the archive if it is small; else its end, a page, three pictures."""
    if archive.stat().st_size <= PRELOAD_BYTES:
        return len(pointer) + archive.stat().st_size
    shown = json.loads(machine.run(PROGRAMS / "wakashu-indexer", "show", "--json", archive, capture_output=True, text=True).stdout)
    pages = next(section["bytes"] for section in shown["archive"]["sections"] if section["name"] == "pages")
    _, entries, picture_bytes = map(int, shape.split("x"))
    page = pages * min(entries, PAGE_ENTRIES) // shown["archive"]["entries"]
    opening = json.loads(pointer)["opening"]
    # As base64, four bytes for three.
    return len(pointer) + (0 if "inline" in opening else opening["bytes"]) + page + 3 * 4 * -(-picture_bytes // 3)


@contextlib.contextmanager
def far_bucket(folder):
    """Runs a bucket behind a slow line; yields its own address, that of the line, and what counts the line's traffic."""
    server = subprocess.Popen([machine.build_peer("s3-server"), folder / "s3", "poems", str(LATENCY_MS), str(BYTES_PER_SECOND)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def counted():
        server.stdin.write("\n")
        return json.loads(server.stdout.readline())

    try:
        yield server.stdout.readline().strip(), server.stdout.readline().strip(), counted
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()
