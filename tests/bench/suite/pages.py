"""Pages beside the floor: a poem, a round of 60 entries, the front, and one that the reader has already."""

import functools
import urllib.parse

from . import machine
from .machine import PROGRAMS, say
from .requests import Request
from .server import floor, ours, paired

ROUND = "/rounds/" + urllib.parse.quote("第1回")
# As Chromium sends it.
ACCEPT = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"}
# CPU per request over the floor's, at 10 clients.
BARS = {"poem": 2.0, "round": 2.5, "known": 1.3}
TITLES = {"poem": "poem page", "round": "round page, 60 entries", "known": "304", "front": "front page", "search": "search page"}


def cases():
    yield "poem", f"{ROUND}/2", "<article class=\"entry"
    yield "round", ROUND, "<article class=\"card"
    yield "front", "/", "<article class=\"shelf"
    yield "search", "/search?q=" + urllib.parse.quote("紅葉"), "<article class=\"hit"


def run(options):
    machine.need_load_generator()
    archive = options.work / "pages.wakashu"
    machine.run(PROGRAMS / "shapes", archive, f"1x60x{20 * 1024}", "10x100x0")
    rows, bars = [], []
    with ours(archive) as server:
        etag = None
        for name, path, expected in cases():
            request = Request("GET", path, ACCEPT)
            _, headers, body = server.ask(request)
            assert expected in body.decode(), f"another page: {body[:300]!r}"
            etag = etag or headers["ETag"]
            rows.append(measure(server, name, request, len(body), options))
        known = Request("GET", f"{ROUND}/2", ACCEPT | {"If-None-Match": etag})
        rows.append(measure(server, "known", known, 0, options))
    for row in rows:
        if row["case"] in BARS:
            bars.append({"what": f"{TITLES[row['case']]}: CPU per request", "value": row["ours"]["ratio"],
                         "bar": BARS[row["case"]], "unit": "× floor"})
    return {"rows": rows, "bars": bars}


def measure(server, name, request, answer_bytes, options):
    with floor(answer_bytes) as base:
        loads = [functools.partial(one.load, request, 10, 1) for one in (base, server)]
        for load in loads:
            load()
        measured = paired(loads[0], {"ours": loads[1]}, 1 if options.quick else 9)
    assert measured["ours"]["errors"] == 0, f"{measured['ours']['errors']} failed requests"
    say(f"  {TITLES[name]:24} {answer_bytes:7} bytes  {measured['ours']['cpu_us']:8.1f} us CPU, {measured['ours']['ratio']:.2f} x floor")
    return {"case": name, "answer_bytes": answer_bytes, "ours": measured["ours"], "floor": measured["base"]}
