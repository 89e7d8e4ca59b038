#!/usr/bin/env python3
"""Collections made to keep a search busy, and whether anyone else has to wait.

Prints a row for each with what the indexer warns of, how long twenty searches at once and a batch of twenty take under a tool
limit of 0.5 s, and how long a health check waits meanwhile. Fails where it is more than a second over that limit, or more than
half a second for the health check: programs are unoptimised here, and others may be at work.
"""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import collection
from table import row

FUNCTION = os.environ.get("FUNCTION", str(collection.ROOT / "target/debug/wakashu-function"))
SEARCHES = 20
# Of a program that is not optimised a step of a scan takes longer.
ANSWER_SECONDS, HEALTH_SECONDS = (1.5, 0.5) if "/debug/" in FUNCTION else (0.6, 0.1)

# Name, poem, number of entries, query, warnings of the build.
CASES = [
    ("12 × 1 MiB of U+FDFA", "\ufdfa" * ((1 << 20) // 3 - 64), 12, "\ufdfa" * 10 + "ん", 12),
    ("12 × 1 MiB of あ", "あ" * ((1 << 20) // 3 - 64), 12, "あ" * 199 + "ん", 12),
    ("400 × 60 KiB of あふ", "あふ" * 10_000, 400, "おう" * 99 + "ん", 0),
    ("400 × 60 KiB of せふ", "せふ" * 10_000, 400, "しょう" * 60 + "ん", 0),
    ("400 × 60 KiB, every query's word in it", "きやうけふうめむま" * 2_200, 400, "きょううめ", 0),
    ("400 × 60 KiB of か with one mark", "か" * 20_000 + "ざ", 400, "がが", 0),
    ("the same, found by another word before", "か" * 20_000 + "ざ", 400, "かかか がが", 0),
    ("1,500 × 1.5 KB of わ", "わ" * 500, 1_500, "わ" * 99 + "ば", 0),
]


def build(folder, poem, count):
    for rank in range(1, count + 1):
        entry = folder / "poems" / "第1回" / f"{rank}-A"
        entry.mkdir(parents=True)
        text = {"AccountName": "@a", "HonkadoriWaka": poem, "Honka": [], "Prompt": ""}
        (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
    archive = folder / "poems.wakashu"
    command = [collection.INDEXER, "build", folder / "poems", "-o", archive, "--no-progress", "--no-cache", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    problems = json.loads(done.stdout)["problems"]
    return archive, sum("search key" in problem["message"] for problem in problems)


def call(host, query, batch=None):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search_poems", "arguments": {"query": query, "limit": 50}}}
    if batch:
        body = [{**body, "id": number} for number in range(batch)]
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection(host)
    started = time.monotonic()
    connection.request("POST", "/mcp", json.dumps(body), headers)
    connection.getresponse().read()
    return time.monotonic() - started


def health(host):
    connection = http.client.HTTPConnection(host)
    started = time.monotonic()
    connection.request("GET", "/health")
    connection.getresponse().read()
    return time.monotonic() - started


def measure(archive, query):
    settings = {**os.environ, "WAKASHU_TOOL_TIMEOUT_MS": "500"}
    command = [FUNCTION, "serve", "--port", "0", archive]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings)
    try:
        host = re.match(r"http://([^/]+)/mcp", server.stdout.readline())[1]
        call(host, "ん")  # Reads and verifies the column.
        took = []
        threads = [threading.Thread(target=lambda: took.append(call(host, query))) for _ in range(SEARCHES)]
        for thread in threads:
            thread.start()
        waits = []
        while any(thread.is_alive() for thread in threads):
            waits.append(health(host))
            time.sleep(0.01)
        return max(took), call(host, query, SEARCHES), max(waits, default=health(host))
    finally:
        server.terminate()
        server.wait()


def main():
    failed = 0
    for name, poem, count, query, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            archive, warnings = build(pathlib.Path(folder), poem, count)
            longest, batch, waited = measure(archive, query)
        held = warnings == expected and max(longest, batch) <= ANSWER_SECONDS and waited <= HEALTH_SECONDS
        now = f"longest of {SEARCHES} {longest:.2f} s, batch {batch:.2f} s, health {waited * 1000:.0f} ms, {warnings} warnings"
        failed += row("4", f"search in {name}", "4.5 s, batch 16 s, health 10 s", now, held)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
