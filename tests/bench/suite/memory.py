"""Memory of the server with an archive of 1 GB, after answers from everywhere in it."""

from . import machine, requests
from .machine import RELEASE, say
from .server import ours

BAR_MB = 40.0


def run(options):
    machine.need_load_generator()
    # Three renditions of 64 KiB, a third more in base64: 262 KB for an entry.
    rounds, entries = (4, 100) if options.quick else (41, 100)
    archive = options.work / "memory.wakashu"
    machine.run(RELEASE / "shapes", archive, f"{rounds}x{entries}x{64 * 1024}")
    with ours(archive) as server:
        fresh = server.memory_kib()
        # Until every part of it has been sent several times over.
        loaded = server.load(requests.random_rounds(rounds, entries), 64, 3 if options.quick else 20)
        assert loaded["errors"] == 0, "failed requests"
        after = server.memory_kib()
    megabytes = round(after["anonymous"] * 1024 / 1e6, 1)
    size = archive.stat().st_size
    archive.unlink()
    say(f"  {size / 1e9:.2f} GB: {megabytes} MB anonymous after {loaded['requests']:,} answers")
    return {"archive_bytes": size, "entries": rounds * entries, "fresh_kib": fresh, "after_kib": after, "load": loaded,
            "bars": [{"what": f"anonymous memory, archive of {size / 1e9:.2f} GB, after load", "value": megabytes,
                      "bar": BAR_MB, "unit": "MB"}]}
