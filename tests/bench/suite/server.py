"""Servers under load: started on their own core, watched through /proc, loaded by wrk from another core."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from .machine import CLIENT_CORE, PROGRAMS, SERVER_CORE

# Reads what wrk measured in a form that needs no guessing.
WRK_REPORT = """
done = function(summary, latency)
  io.write(string.format(
    '\\nREPORT {"requests":%d,"microseconds":%d,"bytes":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"p999_us":%d,"max_us":%d,',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(90),
    latency:percentile(99), latency:percentile(99.9), latency.max))
  local errors = summary.errors
  io.write(string.format('"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\\n',
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
"""


class Failed(Exception):
    """A server that did not start, or answered wrongly."""


class Server:
    """A running server: its first line on stdout is its address; its log goes to a file, as in production."""

    def __init__(self, *command, pinned=True, settings=None):
        # Others' settings in the caller's environment are not what is measured.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("WAKASHU_", "AWS_")) and name not in ("HOST", "PORT")}
        pin = ["taskset", "-c", SERVER_CORE] if pinned else []
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            pin + [str(part) for part in command], env=environment | (settings or {}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        self.url = self.process.stdout.readline().decode().strip()
        if not self.url.startswith("http://"):
            self.stop()
            self.log.seek(0)
            raise Failed(f"{command[0]} does not start: {self.log.read().decode(errors='replace')[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def cpu_seconds(self):
        """Returns the CPU time of the whole process, ended threads included, in nanosecond steps.

        The clock's number is the one of clock_getcpuclockid(3): Python has no name for another process's clock.
        """
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in status if line.startswith("Rss"))
        return {"anonymous": int(fields["RssAnon"].split()[0]), "file": int(fields["RssFile"].split()[0])}

    def read_from_disk_bytes(self):
        lines = Path(f"/proc/{self.process.pid}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["read_bytes"])

    def ask(self, request):
        """Sends a request once and returns status, headers and body."""
        sent = urllib.request.Request(request.url(self.url), data=request.body_bytes(), headers=request.headers,
                                      method=request.method)
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()

    def load(self, request, clients, seconds):
        """Loads the server; returns what wrk saw, and the CPU time and memory the server used for it."""
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(request.lua() + WRK_REPORT)
            script.flush()
            before = self.cpu_seconds()
            wrk = subprocess.run(
                ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s",
                 "--timeout", "10s", "-s", script.name, request.url(self.url)],
                capture_output=True, text=True, check=True)
            used = self.cpu_seconds() - before
        report = next((line for line in wrk.stdout.splitlines() if line.startswith("REPORT ")), None)
        if report is None:
            raise Failed(f"wrk measured nothing: {wrk.stdout}{wrk.stderr}")
        seen = json.loads(report.removeprefix("REPORT "))
        errors = sum(seen["errors"].values())
        if seen["requests"] == 0:
            raise Failed(f"no answer within {seconds} s: {seen['errors']}")
        return {
            "requests": seen["requests"],
            "requests_per_second": round(seen["requests"] * 1e6 / seen["microseconds"], 1),
            "cpu_us": round(used * 1e6 / seen["requests"], 3),
            "cpu_share": round(used * 1e6 / seen["microseconds"], 3),
            **{name: seen[name] for name in ("p50_us", "p90_us", "p99_us", "p999_us", "max_us")},
            "errors": errors,
            "anonymous_kib": self.memory_kib()["anonymous"],
        }


def ours(archive, **more):
    return Server(PROGRAMS / "wakashu-function", "serve", "--port", "0", archive, **more)


def floor(*sizes, parse=False, **more):
    return Server(PROGRAMS / "floor", *(["--parse"] if parse else []), *sizes, **more)


@contextlib.contextmanager
def running(**servers):
    """Runs several servers side by side."""
    with contextlib.ExitStack() as stack:
        for server in servers.values():
            stack.enter_context(server)
        yield servers


def paired(base, others, slices):
    """Measures in turn, the base right before and after each turn of the others; each is a function that loads a server.

    Returns, for every one, the median of each figure, and for the others the ratio of CPU per request to the mean of the
    two neighbouring slices of the base: its median and its extremes.
    """
    taken = {name: [] for name in others}
    ratios = {name: [] for name in others}
    bases = [base()]
    for _ in range(slices):
        turn = {name: other() for name, other in others.items()}
        bases.append(base())
        beside = (bases[-2]["cpu_us"] + bases[-1]["cpu_us"]) / 2
        for name, slice_ in turn.items():
            taken[name].append(slice_)
            ratios[name].append(slice_["cpu_us"] / beside)
    measured = {"base": medians(bases)}
    for name in others:
        measured[name] = medians(taken[name]) | spread(ratios[name])
    return measured


def medians(slices):
    figures = {name: statistics.median(one[name] for one in slices) for name in slices[0] if name != "errors"}
    return figures | {"errors": sum(one["errors"] for one in slices), "slices": len(slices)}


def spread(ratios):
    return {"ratio": round(statistics.median(ratios), 3), "ratio_low": round(min(ratios), 3),
            "ratio_high": round(max(ratios), 3)}
