"""The exported folder: writing it, writing it again with nothing changed, and copying the same files for comparison."""

import statistics

from . import machine
from .indexer import made_up
from .machine import PROGRAMS, say

EXPORT_BAR, AGAIN_BAR_PERCENT = 3.0, 20.0


def run(options):
    entries, times = (200, 1) if options.quick else (10_000, 3)
    work = options.work / "export"
    work.mkdir()
    # As in the builds: edge and quality make JPEGs of about 20 KiB.
    made_up(work / "small", entries, 440, 72)
    archive = work / "small.wakashu"
    machine.run(PROGRAMS / "wakashu-indexer", "build", work / "small", "--quiet", "--no-progress", "--no-cache", "--output", archive)
    taken = {"export": [], "copy": [], "again": []}
    for turn in range(times):
        # In turns, so that whatever else the machine does meets all of them. Nothing is removed in between: for a while
        # ext4 passes over the places of files that are gone, one by one, and that would be most of what is measured.
        site, copy = work / f"site-{turn}", work / f"copy-{turn}"
        export = [PROGRAMS / "wakashu-indexer", "export", archive, "--output", site, "--quiet", "--no-progress"]
        taken["export"].append(machine.timed(*export))
        taken["copy"].append(machine.timed("sh", "-c", f"cp -r '{site}' '{copy}' && sync -f '{copy}'"))
        taken["again"].append(machine.timed(*export))
    files = [file for file in site.rglob("*") if file.is_file()]
    middle = {what: {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
              for what, rows in taken.items()}
    for what, row in middle.items():
        say(f"  {what:8} {row['seconds']:8.2f} s, {row['cpu_seconds']:8.2f} CPU s, {row['peak_mib']:6.0f} MiB")
    ratio = {key: middle["export"][key] / middle["copy"][key] for key in ("seconds", "cpu_seconds")}
    again = 100 * middle["again"]["cpu_seconds"] / middle["copy"]["cpu_seconds"]
    size = sum(file.stat().st_size for file in files)
    return {"entries": entries, "files": len(files), "bytes": size, "rows": middle, "bars": [
        {"what": f"export of {entries:,} entries ÷ copying the folder, CPU", "value": round(ratio["cpu_seconds"], 2),
         "bar": EXPORT_BAR, "unit": "×"},
        {"what": f"export of {entries:,} entries ÷ copying the folder, time", "value": round(ratio["seconds"], 2),
         "bar": EXPORT_BAR, "unit": "×"},
        {"what": "export again with nothing changed, of copying the folder, CPU", "value": round(again, 1),
         "bar": AGAIN_BAR_PERCENT, "unit": "%"}]}
