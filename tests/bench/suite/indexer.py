"""The indexer on made-up collections: throughput, threads, stages of a picture, the rebuild after one new entry."""

import json
import os
import shutil
import subprocess

from . import machine
from .machine import PROGRAMS, say

REBUILD_BAR_PERCENT = 5.0
PEAK_BAR_MIB = 300.0


def run(options):
    small, large, threads = (100, 40, 20) if options.quick else (10_000, 2_000, 200)
    work = options.work / "indexer"
    work.mkdir()
    rows = []

    def measure(what, collection, entries, cache, *flags):
        row = {"what": what, "entries": entries} | build(collection, cache, *flags)
        rows.append(row)
        say(f"  {what:44} {row['seconds']:8.2f} s, {row['mb_per_second']:6.1f} MB/s, {row['peak_mib']:6.0f} MiB")
        return row

    # Edge and quality make JPEGs of about 20 KiB and 300 KB.
    made_up(work / "small", small, 440, 72)
    first = measure(f"{small:,} entries, 20 KiB JPEGs, cold cache", work / "small", small, work / "cache-small")
    measure(f"{small:,} entries, 20 KiB JPEGs, warm cache", work / "small", small, work / "cache-small")
    shutil.rmtree(work / "small")

    made_up(work / "large", large, 1024, 93)
    full = measure(f"{large:,} entries, 1024 px JPEGs, cold cache", work / "large", large, work / "cache-large")
    pictures = sorted((work / "large").glob("*/*/Picture*.jpg"))
    stages = json.loads(machine.run(PROGRAMS / "picture_stages", *pictures[:20], capture_output=True).stdout)
    made_up(work / "large", large + 1, 1024, 93)
    new = measure(f"{large + 1:,} entries, one of them new", work / "large", large + 1, work / "cache-large")

    made_up(work / "threads", threads, 1024, 93)
    cores = os.cpu_count() or 1
    scaling = []
    for count in sorted({1, 2, cores // 2, cores} - {0}):
        if count <= cores:
            row = measure(f"{threads:,} entries, 1024 px JPEGs, {count} threads", work / "threads", threads, None,
                          "--threads", count)
            scaling.append({"threads": count, "seconds": row["seconds"]})
    percent = round(100 * new["seconds"] / full["seconds"], 2)
    return {"rows": rows, "stages": stages, "scaling": scaling,
            "bars": [{"what": f"peak memory of building {small:,} entries", "value": round(first["peak_mib"], 1),
                      "bar": PEAK_BAR_MIB, "unit": "MiB"},
                     {"what": f"rebuild after one new entry of {large:,}, warm cache", "value": percent,
                      "bar": REBUILD_BAR_PERCENT, "unit": "% of the full build"}]}


def made_up(folder, entries, edge_px, quality):
    machine.run(PROGRAMS / "synthetic_collection", folder, entries, edge_px, quality,
                stderr=subprocess.DEVNULL)


def build(collection, cache, *flags):
    """Builds a collection and returns what it took."""
    archive = collection.with_suffix(".wakashu")
    kept = ["--cache-dir", cache] if cache else ["--no-cache"]
    taken = machine.timed(PROGRAMS / "wakashu-indexer", "build", collection, "--quiet", "--no-progress",
                          "--output", archive, *kept, *flags)
    size = sum(file.stat().st_size for file in collection.rglob("*") if file.is_file())
    archive.unlink()
    return taken | {"collection_bytes": size, "mb_per_second": round(size / 1e6 / taken["seconds"], 2)}
