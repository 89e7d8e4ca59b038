"""Warm answers beside the floor, in both eras and at 1, 10 and 64 clients; peers at 10 clients."""

import functools
import subprocess

from . import machine, requests
from .machine import PROGRAMS, Skipped, say
from .server import Failed, Server, floor, ours, paired, running

KIB = 1024
SHAPES = [f"1x3x{200 * KIB}", f"1x1x{20 * KIB}", "10x100x0"]
CLIENTS = (1, 10, 64)
# CPU per request over the floor's, at 10 clients.
BARS = {"ranking-3": 1.15, "ranking-1": 1.3, "tools-list": 1.6}
TITLES = {
    "ranking-3": "ranking 1-3, 3 × 200 KiB",
    "ranking-1": "ranking 1-1, 20 KiB",
    "tools-list": "tools/list",
    "search": "search_poems, 1,004 poems",
    "picture": "GET /pictures, 200 KiB",
}


def cases():
    """Returns (name, era, request, check of the answer)."""
    for era in requests.ERAS:
        yield from peer_cases(era)
        yield "search", era, requests.search(era, "紅葉踏み分け"), lambda answer, _: requests.check_search(answer, True)
    yield "picture", "", requests.picture("第1回", 1), check_picture


def peer_cases(era):
    """Returns the cases that peers answer too."""
    yield ("ranking-3", era, requests.ranking(era, "第1回", "1-3"),
           lambda answer, folder: requests.check_ranking(answer, folder, "第1回", [1, 2, 3]))
    yield ("ranking-1", era, requests.ranking(era, "第2回", "1"),
           lambda answer, folder: requests.check_ranking(answer, folder, "第2回", [1]))
    yield "tools-list", era, requests.tools_list(era), lambda answer, _: requests.check_tools(answer, 1)


def check_picture(answer, folder):
    assert answer == next((folder / "第1回").glob("1-*/Picture1.webp")).read_bytes(), "another picture"


def run(options):
    machine.need_load_generator()
    archive, folder = options.work / "warm.wakashu", options.work / "warm"
    machine.run(PROGRAMS / "shapes", archive, *SHAPES)
    # Peers read pictures for every entry, so only the rounds that have some.
    machine.run(PROGRAMS / "shapes", "--folder", folder, *SHAPES[:2])
    rows, bars = [], []
    with ours(archive) as server:
        for name, era, request, check in cases():
            _, _, answer = server.ask(request)
            check(answer, folder)
            for clients in (10,) if options.quick else CLIENTS:
                row = measure(server, request, len(answer), clients, options)
                rows.append({"case": name, "era": era, "clients": clients, "answer_bytes": len(answer)} | row)
                say(f"  {TITLES[name]:28} {era:7} {clients:3} clients  {row['ours']['cpu_us']:8.1f} us CPU, "
                    f"{row['ours']['ratio']:.2f} x floor, {row['ours']['requests_per_second']:9,.0f} req/s")
                if clients == 10 and name in BARS:
                    bars.append({"what": f"{TITLES[name]}, {era}: CPU per request", "value": row["ours"]["ratio"],
                                 "bar": BARS[name], "unit": "× floor"})
    peers, notes = measure_peers(folder, options)
    return {"rows": rows, "peers": peers, "notes": notes, "bars": bars}


def measure(server, request, answer_bytes, clients, options):
    main = clients == 10
    slices = 1 if options.quick else 9 if main else 3
    servers = {"floor": floor(answer_bytes)}
    # Parsing matters where there is something to parse; once per case is enough.
    if main and request.bodies:
        servers["floor_parsing"] = floor(answer_bytes, parse=True)
    with running(**servers):
        servers["ours"] = server
        loads = {name: functools.partial(one.load, request, clients, 1) for name, one in servers.items()}
        for load in loads.values():
            load()
        measured = paired(loads.pop("floor"), loads, slices)
    measured["floor"] = measured.pop("base")
    errors = sum(one["errors"] for one in measured.values())
    assert errors == 0, f"{errors} failed requests"
    return measured


def start_node(folder):
    script = machine.install_node_peer("node-original")
    return Server("node", script, folder, settings={"NODE_ENV": "production"})


def start_rmcp(folder):
    return Server(machine.build_peer("rmcp-memory"), folder)


PEERS = {
    # Name, how to start it, and how long it takes to compile itself.
    "node-original": (start_node, 6),
    "rmcp-memory": (start_rmcp, 1),
}


def measure_peers(folder, options):
    """Measures every peer that can be; says why one cannot."""
    rows, notes = [], []
    for peer, (start, warm_up) in PEERS.items():
        try:
            with start(folder) as server:
                rows += list(measure_peer(peer, server, folder, 1 if options.quick else warm_up, options))
        except (Skipped, Failed, AssertionError, subprocess.CalledProcessError) as reason:
            notes.append(f"{peer} was left out: {reason}")
            say(f"  {notes[-1]}")
    return rows, notes


def measure_peer(peer, server, folder, warm_up, options):
    for name, era, request, check in peer_cases("legacy"):
        _, _, answer = server.ask(request)
        check(answer, folder)
        server.load(request, 10, warm_up)
        with floor(len(answer)) as base:
            loads = [functools.partial(one.load, request, 10, 1) for one in (base, server)]
            loads[0]()
            measured = paired(loads[0], {"peer": loads[1]}, 1 if options.quick else 3)
        figures = measured["peer"]
        assert figures["errors"] == 0, f"{figures['errors']} failed requests"
        say(f"  {peer:16} {TITLES[name]:28} {figures['cpu_us']:8.1f} us CPU, {figures['ratio']:.1f} x floor")
        yield {"peer": peer, "case": name, "era": era, "clients": 10, "answer_bytes": len(answer),
               "floor": measured["base"], "ours": figures}
