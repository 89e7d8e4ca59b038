"""What the figures were measured on, and the programs they need."""

import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
# A folder of programs to measure instead of those of this tree, such as the ones of an earlier commit.
GIVEN = os.environ.get("WAKASHU_PROGRAMS")
PROGRAMS = Path(GIVEN).absolute() if GIVEN else TARGET / "dist"
PEERS = TARGET / "peers"

# The server has the first core, the load generator the second.
SERVER_CORE, CLIENT_CORE = "0", "1"


class Skipped(Exception):
    """A part, or a piece of one, that cannot run here; the text says why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, **more):
    more.setdefault("cwd", ROOT)
    return subprocess.run([str(part) for part in command], check=True, **more)


def timed(*command):
    """Runs a command and returns what it took: seconds, CPU seconds, peak memory.

    The peak is looked up while it runs: the figure the system gives at the end counts this program's memory too, from
    which the command was forked.
    """
    started, peak_kib = time.monotonic(), 0
    process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stdout=subprocess.DEVNULL)
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak_kib = max([peak_kib, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
        time.sleep(0.01)
    seconds = time.monotonic() - started
    # Waited for already; this only lets the object know.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {"seconds": round(seconds, 3), "cpu_seconds": round(used.ru_utime + used.ru_stime, 3),
            "peak_mib": round(peak_kib / 1024, 1)}


def output_of(*command):
    """Returns what a command prints, or nothing if there is no such command."""
    try:
        return run(*command, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def need(program, package):
    if shutil.which(program) is None:
        raise Skipped(f"{program} is missing: install the package {package}")


def need_load_generator():
    need("wrk", "wrk")
    need("taskset", "util-linux")
    if (os.cpu_count() or 1) < 2:
        raise Skipped("one core only: server and load generator need one each")


def build():
    """Builds everything that is measured, as it ships; nothing is done when it is up to date, or programs are given."""
    if GIVEN:
        return
    # Not the whole workspace: the tests' drills are no part of what ships.
    run("cargo", "build", "--quiet", "--profile", "dist", "--package", "wakashu-function", "--package", "wakashu-indexer",
        "--package", "wakashu", "--package", "wakashu-bench", "--bins")


def build_peer(name):
    run("cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", f"tests/peers/{name}/Cargo.toml",
        "--target-dir", PEERS)
    return PEERS / "release" / name


def install_node_peer(name):
    """Copies a Node peer to where git does not look, and installs exactly what its lock file names."""
    need("node", "nodejs")
    need("npm", "npm")
    source, place = ROOT / "tests/peers" / name, PEERS / name
    place.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json", "server.js"):
        shutil.copy(source / file, place / file)
    wanted, stamp = (place / "package-lock.json").read_text(), place / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=place, stdout=sys.stderr)
        stamp.write_text(wanted)
    return place / "server.js"


def describe():
    """Returns the machine, the versions and the state of the tree the programs are from."""
    tree = output_of("git", "-C", PROGRAMS, "rev-parse", "--show-toplevel") if GIVEN else ROOT
    models = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith(("model name", "Model"))]
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    changed = output_of("git", "-C", tree, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md")
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": output_of("git", "-C", tree, "rev-parse", "--short=12", "HEAD") + (" with changes" if changed else ""),
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory.split()[1]) / 2**20, 1),
        "system": f"{platform.system()} {platform.release()}",
        "rustc": output_of("rustc", "-V"),
        "node": output_of("node", "--version"),
        "wrk": (output_of("dpkg-query", "-W", "-f", "${Version}", "wrk") or "unknown"),
        "load_at_start": round(os.getloadavg()[0], 2),
    }
