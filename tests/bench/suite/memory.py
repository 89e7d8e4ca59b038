"""Memory of the server with an archive of 1 GB: after answers from everywhere in it, and after the first search."""

import struct

from . import machine, requests
from .machine import PROGRAMS, say
from .server import ours

# What a server may take besides what it is told to keep: the cache, and from the first search on the column.
BESIDES_MB = 16.0
CACHE_BYTES = 64 << 20

TRAILER_BYTES, ROW_BYTES = 64, 56


def run(options):
    machine.need_load_generator()
    # Three renditions of 64 KiB, a third more in base64: 262 KB for an entry.
    rounds, entries = (4, 100) if options.quick else (41, 100)
    archive = options.work / "memory.wakashu"
    machine.run(PROGRAMS / "shapes", archive, f"{rounds}x{entries}x{64 * 1024}")
    column = column_bytes(archive, b"text")
    with ours(archive) as server:
        fresh = server.memory_kib()
        # Until every part of it has been sent several times over.
        loaded = server.load(requests.random_rounds(rounds, entries), 64, 3 if options.quick else 20)
        assert loaded["errors"] == 0, "failed requests"
        after = server.memory_kib()
        requests.check_search(server.ask(requests.search("legacy", "月見れば"))[2], True)
        searched = server.memory_kib()
    size = archive.stat().st_size
    archive.unlink()
    bars = [bar("after load", after, CACHE_BYTES, size), bar("after the first search", searched, CACHE_BYTES + column, size)]
    say(f"  {size / 1e9:.2f} GB: {bars[0]['value']} MB anonymous after {loaded['requests']:,} answers, "
        f"{bars[1]['value']} after a search of {column / 1e6:.1f} MB")
    return {"archive_bytes": size, "entries": rounds * entries, "column_bytes": column, "fresh_kib": fresh, "after_kib": after,
            "searched_kib": searched, "load": loaded, "bars": bars}


def bar(when, memory, kept_bytes, size):
    return {"what": f"anonymous memory, archive of {size / 1e9:.2f} GB, {when}", "unit": "MB",
            "value": round(memory["anonymous"] * 1024 / 1e6, 1), "bar": round(kept_bytes / 1e6 + BESIDES_MB, 1)}


def column_bytes(archive, kind):
    """Reads a column's length from the section table, which lies before the trailer (archive/FORMAT.md)."""
    with archive.open("rb") as file:
        file.seek(-TRAILER_BYTES, 2)
        _, table_bytes = struct.unpack_from("<QI", file.read(TRAILER_BYTES))
        file.seek(-TRAILER_BYTES - table_bytes, 2)
        table = file.read(table_bytes)
    rows = (struct.unpack_from("<4sIQQ", table, at) for at in range(0, table_bytes, ROW_BYTES))
    return next(length for found, _, _, length in rows if found == kind)
