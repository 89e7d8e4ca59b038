"""The same answer from collections of 30 to 1,000,000 entries."""

import functools
import os
from pathlib import Path

from . import machine, requests
from .machine import PROGRAMS, say
from .server import ours, paired
from .start import start_to_answer

# Name, rounds, entries in each. Pictures are tiny: the number of entries is what is looked at.
PICTURE_BYTES = 48
SIZES = [
    ("30", 3, 10),
    ("1,000", 10, 100),
    ("100,000", 1000, 100),
    ("1,000,000 as 10,000 × 100", 10_000, 100),
    ("1,000,000 as 10 × 100,000", 10, 100_000),
]
WARM_BAR = 1.2
SEARCH_BAR_MS = 5.0
WRITE_BAR_MIB = 96


def run(options):
    machine.need_load_generator()
    sizes = SIZES[:3] if options.quick else SIZES
    rows, bars = [], []
    smallest = options.work / "scale-30.wakashu"
    for name, rounds, entries in sizes:
        archive = options.work / f"scale-{rounds * entries}-{rounds}.wakashu"
        row = {"entries": name, "rounds": rounds, "entries_per_round": entries} | write(archive, rounds, entries)
        if not smallest.exists():
            archive.rename(smallest)
            archive = smallest
        row |= opening(archive, rounds)
        row |= answers(smallest, archive, rounds, entries, options)
        rows.append(row)
        if archive != smallest:
            archive.unlink()
        say(f"  {name:28} {row['archive_bytes'] / 1e6:8.1f} MB, first answer {row['first_answer_ms']:7.2f} ms, "
            f"warm {row['warm']['ratio']:.2f} x, search {row['search']['rare']['cpu_us'] / 1e3:.3f} ms CPU")
        if rounds * entries == 1_000_000:
            bars.append({"what": f"warm ranking 1-3, {name}: CPU per request", "value": row["warm"]["ratio"],
                         "bar": WARM_BAR, "unit": "× 30 entries"})
            bars.append({"what": f"writing {name}: peak memory", "value": row["write"]["peak_mib"], "bar": WRITE_BAR_MIB,
                         "unit": "MiB"})
        if rounds * entries == 100_000:
            for kind in ("rare", "common"):
                bars.append({"what": f"search_poems over 100,000 poems, a {kind} word, CPU per request",
                             "value": round(row["search"][kind]["cpu_us"] / 1e3, 3), "bar": SEARCH_BAR_MS, "unit": "ms"})
    return {"rows": rows, "read_ahead_kib": read_ahead_kib(options.work), "bars": bars}


def write(archive, rounds, entries):
    """Has the archive written: the writer alone, without a folder to read or pictures to encode."""
    taken = machine.timed(PROGRAMS / "shapes", archive, f"{rounds}x{entries}x{PICTURE_BYTES}")
    return {"archive_bytes": archive.stat().st_size, "write": taken}


def opening(archive, rounds):
    """Measures the start: the time when everything is in memory, and what is read from the disk when nothing is."""
    request = requests.ranking("legacy", f"第{(rounds + 1) // 2}回", "1-3")
    command = [PROGRAMS / "wakashu-function", "serve", "--port", "0", archive]
    times = [start_to_answer(command, request) for _ in range(7)]
    # The program itself is in memory now, so only the archive is counted.
    forget(archive)
    with ours(archive) as server:
        # The address is printed when the archive is open.
        opened = server.read_from_disk_bytes()
        server.ask(request)
        answered = server.read_from_disk_bytes()
    return {"read_on_open_bytes": opened, "read_for_first_answer_bytes": answered - opened,
            "first_answer_ms": round(min(times) * 1e3, 2)}


def read_ahead_kib(folder):
    """Returns how much the system reads at a time from the disk a folder is on, wanted or not."""
    device = os.stat(folder).st_dev
    setting = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    return int(setting.read_text()) if setting.exists() else None


def forget(archive):
    """Drops a file from the page cache."""
    with archive.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def answers(smallest, archive, rounds, entries, options):
    slices = 1 if options.quick else 4
    middle = (rounds + 1) // 2
    request = requests.ranking("legacy", f"第{middle}回", f"{entries // 2}-{entries // 2 + 2}")
    with ours(archive) as server:
        blocks = requests.result_of(server.ask(request)[2])["content"]
        assert [block["type"] for block in blocks] == ["text", "image"] * 3
        with ours(smallest) as base:
            # Each is asked for what it has: three ranks in the middle.
            small = functools.partial(base.load, requests.ranking("legacy", "第2回", "5-7"), 10, 1)
            large = functools.partial(server.load, request, 10, 1)
            small(), large()
            warm = paired(small, {"warm": large}, slices)
        anywhere = requests.random_rounds(rounds, entries)
        server.load(anywhere, 10, 1)
        spread_out = server.load(anywhere, 10, 1 if options.quick else 3)
        assert spread_out["errors"] == 0
        rare, common = requests.search("legacy", "ぬばたまの"), requests.search("legacy", "月見れば")
        requests.check_search(server.ask(rare)[2], False)
        requests.check_search(server.ask(common)[2], True)
        searched = {kind: server.load(query, 1, 1 if options.quick else 2)
                    for kind, query in (("rare", rare), ("common", common))}
    assert warm["warm"]["errors"] == 0
    return {"warm": warm["warm"], "warm_30": warm["base"], "anywhere": spread_out, "search": searched}

