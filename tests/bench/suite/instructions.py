"""Instructions of warm answers: tests/bench/instructions."""

from . import machine
from .machine import ROOT, say

TITLES = {
    "ranking-1": "ranking of 1 entry, 20 KiB",
    "ranking-1-modern": "the same in revision 2026-07-28",
    "ranking-10": "ranking of 10 entries, 20 KiB each",
    "tools-list": "tools/list",
    "ranking-1-guarded": "ranking behind token, rates and origin",
    "picture-304": "picture that the client has",
    "page": "page of a poem",
    "page-304": "page that the client has",
    "resource": "resources/read of an entry",
    "bridge": "small call through wakashu bridge",
    "gateway": "the same through wakashu gateway",
}


def run(_options):
    machine.need("valgrind", "valgrind")
    printed = machine.run(ROOT / "tests/bench/instructions", capture_output=True, text=True).stdout
    counts = dict(line.split("\t") for line in printed.splitlines())
    counts.pop("rustc")
    counts = {name: int(count) for name, count in counts.items()}
    for name, count in counts.items():
        say(f"  {TITLES[name]:36} {count:9,}")
    return {"counts": counts, "bars": []}
