"""A bridge from standard input and output to a server: CPU per call, start and memory, beside a byte copier and peers."""

import json
import statistics
import subprocess
import time
from pathlib import Path

from . import machine
from .machine import PROGRAMS, ROOT, say
from .server import ours

TITLES = {
    "copier": "byte copier, standard library alone",
    "wakashu": "`wakashu bridge`",
    "gateway": "`wakashu gateway`, one server",
    "mcp-remote": "mcp-remote 0.15.1 (Node)",
    "mcp-proxy": "mcp-proxy 0.13.0 (Python)",
    "fastmcp": "fastmcp 4.1.2 (Python)",
}
PEERS = ROOT / ".tools/bridges"
# Three renditions of 205 KB, a third more in base64: 820 KB.
SHAPE = f"1x3x{205_000}"
SMALL = ("tools/call", {"name": "index_status", "arguments": {}})
LARGE = ("tools/call", {"name": "get_wakashu_ranking", "arguments": {"round_title": "第1回", "rank_range": "1-3"}})
BARS = {"small": 3.0, "large": 1.6, "start": 10.0, "memory": 12.0}


class Host:
    """A host that speaks lines with a program."""

    def __init__(self, command):
        self.started = time.perf_counter()
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=ROOT)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self.start_ms = (time.perf_counter() - self.started) * 1e3
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.say({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            assert line, f"{self.process.args} ended"
            # Whatever else a bridge says by itself comes without our id.
            if b'"id":1' in line[-64:] or b'"id":1' in line[:64] or b'"id": 1' in line[:64]:
                return line

    def cpu_ns(self):
        return sum(int(task.read_text().split()[0]) for pid in self.tree()
                   for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))

    def memory_mib(self):
        lines = [line for pid in self.tree() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def tree(self):
        found = [self.process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(child) for child in task.read_text().split()]
        return found

    def cpu_us(self, request, count):
        """Returns the CPU time of a call, after some to warm up."""
        for _ in range(max(count // 10, 5)):
            answer = self.ask(*request)
        assert b'"isError":true' not in answer and b'"result"' in answer, answer[:300]
        before = self.cpu_ns()
        for _ in range(count):
            self.ask(*request)
        return (self.cpu_ns() - before) / count / 1e3


def run(options):
    archive = options.work / "bridge.wakashu"
    machine.run(PROGRAMS / "shapes", archive, SHAPE)
    small, large, starts = (100, 20, 3) if options.quick else (3000, 300, 20)
    rows = {}
    with ours(archive) as server:
        commands = {"copier": [PROGRAMS / "copier", server.url], "wakashu": [PROGRAMS / "wakashu", "bridge", "--quiet", server.url]}
        if "gateway" in machine.output_of(PROGRAMS / "wakashu", "help"):
            config = options.work / "gateway.json"
            config.write_text(json.dumps({"mcpServers": {"poems": {"url": server.url}}}))
            commands["gateway"] = [PROGRAMS / "wakashu", "gateway", "--quiet", "--config", config]
        commands |= peers(server.url)
        for name, command in commands.items():
            few = name not in ("copier", "wakashu", "gateway")
            try:
                rows[name] = measure(command, small // 20 if few else small, large // 10 if few else large, 3 if few else starts)
            except (AssertionError, OSError) as error:
                # A peer that cannot run here leaves no figures; ours must.
                if not few:
                    raise
                say(f"  {name}: {error}")
                continue
            say(f"  {name:10} small {rows[name]['small_us']:8.1f} µs, large {rows[name]['large_us']:8.0f} µs, "
                f"start {rows[name]['start_ms']:6.1f} ms, {rows[name]['memory_mib']:5.1f} MiB")
    return {"rows": rows, "bars": bars(rows)}


def measure(command, small, large, starts):
    times = []
    for _ in range(starts):
        with Host(command) as host:
            times.append(host.start_ms)
    with Host(command) as host:
        # The memory as it is in use, after small calls and large ones.
        small_us = host.cpu_us(SMALL, small)
        large_us = host.cpu_us(LARGE, large)
        return {"small_us": round(small_us, 1), "large_us": round(large_us, 1), "calls": [small, large],
                "start_ms": round(statistics.median(times), 2), "memory_mib": round(host.memory_mib(), 1)}


def peers(url):
    if not (PEERS / "installed").exists():
        say("  without peers: `.ci/tools bridges` installs them")
        return {}
    return {
        "mcp-remote": ["node", PEERS / "node_modules/mcp-remote/dist/proxy.js", url],
        "mcp-proxy": [PEERS / "mcp-proxy/bin/mcp-proxy", "--transport", "streamablehttp", url],
        "fastmcp": [PEERS / "fastmcp/bin/fastmcp", "run", "--no-banner", url],
    }


def bars(rows):
    floor, wakashu = rows["copier"], rows["wakashu"]
    found = [
        {"what": "bridge, small call, CPU", "unit": "× copier", "bar": BARS["small"],
         "value": round(wakashu["small_us"] / floor["small_us"], 2)},
        {"what": "bridge, answer of 820 KB, CPU", "unit": "× copier", "bar": BARS["large"],
         "value": round(wakashu["large_us"] / floor["large_us"], 2)},
        {"what": "bridge, start to `initialize` answered", "unit": "ms", "bar": BARS["start"], "value": wakashu["start_ms"]},
        {"what": "bridge, memory", "unit": "MiB", "bar": BARS["memory"], "value": wakashu["memory_mib"]},
    ]
    if "gateway" in rows:
        found += [{"what": f"gateway, {name}, CPU", "unit": "× bridge", "bar": 1.15,
                   "value": round(rows["gateway"][f"{key}_us"] / wakashu[f"{key}_us"], 2)}
                  for key, name in (("small", "small call"), ("large", "answer of 820 KB"))]
    return found
