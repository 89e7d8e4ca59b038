"""From starting the program to its first ranking answer, beside a server that does nothing."""

import http.client
import statistics
import subprocess
import time
import urllib.parse

from . import machine, requests
from .machine import PROGRAMS, say

BAR = 3.0
# 10,000 entries with pictures of 2 KiB.
SHAPE = "100x100x2048"


def start_to_answer(command, request, environment=None):
    """Starts a program, asks it once, and returns the seconds from the start to the last byte of the answer."""
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=environment)
    try:
        address = urllib.parse.urlsplit(process.stdout.readline().decode().strip())
        connection = http.client.HTTPConnection(address.netloc)
        connection.request(request.method, address.path, request.body_bytes(), request.headers)
        answer = connection.getresponse()
        answer.read()
        taken = time.perf_counter() - started
        assert answer.status == 200, f"status {answer.status}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return taken


def run(options):
    archive = options.work / "start.wakashu"
    machine.run(PROGRAMS / "shapes", archive, SHAPE)
    request = requests.ranking("legacy", "第50回", "1-3")
    commands = {
        "hello-world": [PROGRAMS / "floor", "12"],
        "ours": [PROGRAMS / "wakashu-function", "serve", "--port", "0", archive],
    }
    taken = {name: [] for name in commands}
    for _ in range(5 if options.quick else 40):
        for name, command in commands.items():
            taken[name].append(start_to_answer(command, request) * 1e3)
    # What starting any process at all costs, as this program sees it.
    nothing = min(spawn_nothing() for _ in range(20)) * 1e3
    rows = {name: {"minimum_ms": round(min(times), 3), "median_ms": round(statistics.median(times), 3)}
            for name, times in taken.items()}
    ratio = rows["ours"]["median_ms"] / rows["hello-world"]["median_ms"]
    say(f"  hello-world {rows['hello-world']['median_ms']:.2f} ms, ours {rows['ours']['median_ms']:.2f} ms, "
        f"{ratio:.2f} x")
    return {"rows": rows, "entries": 10_000, "archive_bytes": archive.stat().st_size, "starts": len(taken["ours"]),
            "process_alone_ms": round(nothing, 3),
            "bars": [{"what": "start to first ranking answer, 10,000 entries, median", "value": round(ratio, 2),
                      "bar": BAR, "unit": "× hello-world"}]}


def spawn_nothing():
    started = time.perf_counter()
    subprocess.run(["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
