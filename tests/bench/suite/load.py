"""Load over a minute: no error, the distribution of latency, memory that stays flat."""

import threading
import time

from . import machine, requests
from .machine import PROGRAMS, say
from .server import floor, ours

# The service level, for 10 clients on one core: each percentile at most this many times the floor's under the same load.
SERVICE_LEVEL = {"p50_us": 1.5, "p99_us": 2.0}
# Anonymous memory at the end over a quarter into the minute; the allocator settles before.
FLAT = 1.1


def run(options):
    machine.need_load_generator()
    archive = options.work / "load.wakashu"
    machine.run(PROGRAMS / "shapes", archive, f"1x3x{200 * 1024}", f"1x1x{20 * 1024}", "10x100x0")
    asked = [requests.ranking("legacy", "第2回", "1"), requests.tools_list("legacy"),
             requests.search("legacy", "紅葉踏み分け"), requests.ranking("legacy", "第1回", "1-3")]
    request = requests.mixed(asked)
    seconds = 4 if options.quick else 60
    rows, bars = [], []
    with ours(archive) as server:
        sizes = [len(server.ask(one)[2]) for one in asked]
        for clients in (10, 100):
            with floor(*sizes) as base:
                base.load(request, clients, 1)
                before = base.load(request, clients, max(2, seconds // 6))
                measured, memory = watched(server, request, clients, seconds)
                after = base.load(request, clients, max(2, seconds // 6))
            beside = {name: (before[name] + after[name]) / 2 for name in before}
            settled = [kib for at, kib in memory if at >= seconds / 4]
            growth = settled[-1] / settled[0]
            rows.append({"clients": clients, "seconds": seconds, "ours": measured, "floor": beside,
                         "memory_kib": memory, "memory_growth": round(growth, 3)})
            say(f"  {clients:3} clients: {measured['requests']:,} answers, {measured['errors']} errors, "
                f"p50 {measured['p50_us'] / 1e3:.2f} ms, p99 {measured['p99_us'] / 1e3:.2f} ms, memory x {growth:.2f}")
            bars.append({"what": f"failed requests, {clients} clients for {seconds} s", "value": measured["errors"],
                         "bar": 0, "unit": ""})
            bars.append({"what": f"anonymous memory, {clients} clients, end over first quarter",
                         "value": round(growth, 3), "bar": FLAT, "unit": "×"})
            if clients == 10:
                bars += [{"what": f"service level: {name.removesuffix('_us')} of 10 clients",
                          "value": round(measured[name] / beside[name], 2), "bar": most, "unit": "× floor"}
                         for name, most in SERVICE_LEVEL.items()]
    return {"rows": rows, "answer_bytes": sizes, "bars": bars}


def watched(server, request, clients, seconds):
    """Loads a server and looks at its memory every half second."""
    memory, over = [], threading.Event()
    started = time.monotonic()

    def look():
        while not over.wait(0.5):
            memory.append((round(time.monotonic() - started, 1), server.memory_kib()["anonymous"]))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        measured = server.load(request, clients, seconds)
    finally:
        over.set()
        watcher.join()
    return measured, memory
