#!/usr/bin/env python3
"""Attacks on a running server: each against the real program, with what it came to before and what it comes to now.

Prints one row for each and fails if any succeeds. `FUNCTION` and `INDEXER` name other programs than target/debug's.
"""

import concurrent.futures
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from table import row

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = os.environ.get("FUNCTION", str(ROOT / "target/debug/wakashu-function"))
INDEXER = os.environ.get("INDEXER", str(ROOT / "target/debug/wakashu-indexer"))

PLACES = 1_024
JSON = {"Content-Type": "application/json"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "hardening", "version": "1"},
}


def environment(settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WAKASHU_", "AWS_"))}
    return {**kept, **settings}


def write_collection(folder):
    """Twenty entries with pictures, and twenty whose texts are as long as they may be."""
    picture = (ROOT / "fixtures/wakashu_dir/第1回").glob("*/Picture*")
    picture = sorted(picture, key=lambda path: -path.stat().st_size)[0]
    for title, length in (("第1回", 100), ("第2回", 90_000)):
        for rank in range(1, 21):
            entry = pathlib.Path(folder) / title / f"{rank}-Attack"
            entry.mkdir(parents=True)
            text = {"AccountName": "@a", "HonkadoriWaka": "歌" + "あ" * length, "Honka": [], "Prompt": "p" * length}
            (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
            if title == "第1回":
                (entry / f"Picture{rank}{picture.suffix}").write_bytes(picture.read_bytes())


def rpc(method, params=None, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def tool(name, arguments, number=1):
    return rpc("tools/call", {"name": name, "arguments": arguments}, number)


def line(message):
    return (json.dumps(message) + "\n").encode()


class Server:
    """The program as it serves; its log is read unless told otherwise."""

    def __init__(self, archive, settings=None, log=subprocess.DEVNULL):
        self.child = subprocess.Popen(
            [FUNCTION, "serve", archive, "--port", "0"],
            env=environment(settings or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        self.url = self.child.stdout.readline().decode().strip()
        self.host, port = self.url.removeprefix("http://").removesuffix("/mcp").rsplit(":", 1)
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()

    def open(self, timeout=30, source=None):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout, source_address=source)

    def ask(self, method, path, body=None, headers=None, connection=None, **options):
        connection = connection or self.open(**options)
        body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        connection.request(method, path, body, {**(JSON if body else {}), **(headers or {})})
        answer = connection.getresponse()
        return answer, answer.read()

    def call(self, message, headers=None):
        answer, body = self.ask("POST", "/mcp", message, headers)
        return answer, json.loads(body)

    def raw(self, request):
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(request)
            return connection.recv(4096).decode(errors="replace")

    def health_seconds(self, tries=5):
        """The longest of several looks at health; the time-out where there was no answer."""
        worst = 0
        for _ in range(tries):
            started = time.monotonic()
            try:
                answer, _ = self.ask("GET", "/health", timeout=10)
                good = answer.status == 200
            except OSError:
                good = False
            worst = max(worst, time.monotonic() - started if good else 10)
        return worst


def stdio(archive, settings=None, log=subprocess.DEVNULL):
    return subprocess.Popen(
        [FUNCTION, "stdio", archive],
        env=environment(settings or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )


# Each attack returns what it came to and whether it failed, as it should.


def unread_log_of_serve(archive):
    with Server(archive, log=subprocess.PIPE) as server:
        connection, answered = server.open(timeout=10), 0
        try:
            for _ in range(4_000):
                answer, _ = server.ask("POST", "/mcp", rpc("ping"), connection=connection)
                answered += answer.status == 200
        except OSError:
            pass
        seconds = server.health_seconds()
        return f"{answered:,} of 4,000 requests, health {seconds * 1000:.0f} ms", answered == 4_000 and seconds < 1


def unread_log_of_stdio(archive):
    child = stdio(archive, log=subprocess.PIPE)
    answered = 0
    for _ in range(40):
        child.stdin.write(line(rpc("ping")) * 100)
        child.stdin.flush()
        answered += sum(b'"result"' in child.stdout.readline() for _ in range(100))
    child.kill()
    return f"{answered:,} of 4,000 requests", answered == 4_000


def hogs(archive, addresses, prepare, pause=None):
    """Takes all places and more, from so many addresses; looks at health meanwhile."""
    with Server(archive) as server:
        held = []
        for number in range(PLACES + 76):
            source = (f"127.0.1.{number % addresses + 1}", 0) if addresses > 1 else None
            connection = socket.socket()
            # Little room, so that little of an answer is taken without being read.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            try:
                if source:
                    connection.bind(source)
                connection.connect((server.host, server.port))
                connection.setblocking(False)
                connection.send(prepare)
            except OSError:
                pass
            held.append(connection)
        # Until what they asked for is stuck: before that the machine is busy with it, and that is not what is measured.
        time.sleep(3)
        worst = server.health_seconds()
        if pause:
            for _ in range(3):
                time.sleep(pause)
                for connection in held:
                    try:
                        connection.send(prepare)
                        connection.recv(1 << 16)
                    except OSError:
                        pass
                worst = max(worst, server.health_seconds())
        for connection in held:
            connection.close()
        return f"health {worst * 1000:.0f} ms", worst < 1


def p99(server, source, tries=300):
    """How long one connection waits for its answers, in seconds: all but one of a hundred take no longer."""
    connection, took = server.open(source=source), []
    for _ in range(tries):
        started = time.monotonic()
        server.ask("POST", "/mcp", rpc("ping"), connection=connection)
        took.append(time.monotonic() - started)
    connection.close()
    return sorted(took)[tries * 99 // 100]


def honest_client(archive):
    """One client that behaves beside as many that never read as there are places."""
    with Server(archive) as server:
        quiet = p99(server, ("127.0.0.9", 0))
        held = []
        for number in range(PLACES):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            try:
                connection.bind((f"127.0.1.{number % 8 + 1}", 0))
                connection.connect((server.host, server.port))
                connection.setblocking(False)
                connection.send(LARGE)
            except OSError:
                pass
            held.append(connection)
        time.sleep(3)
        beside = p99(server, ("127.0.0.9", 0))
        for connection in held:
            connection.close()
        return f"p99 {beside / quiet:.1f} × quiet ({beside * 1000:.1f} ms)", beside <= 10 * quiet


def posted(message):
    body = json.dumps(message).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


# Some 800 KB each, more together than sockets hold.
LARGE = posted(tool("get_wakashu_ranking", {"round_title": "1", "rank_range": "1-3"})) * 6
SMALL = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_A_BODY = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"


FORGED, GOOD = "偽の歌", "真の歌"


def twins(folder):
    """Two archives of the same length to the byte: what is served, and what somebody writes over it."""
    paths = []
    for poem in (GOOD, FORGED):
        collection = pathlib.Path(folder) / poem
        for rank in range(1, 41):
            entry = collection / "第1回" / f"{rank}-A"
            entry.mkdir(parents=True)
            text = {"AccountName": "@a", "HonkadoriWaka": poem * 300, "Honka": [], "Prompt": poem}
            (entry / f"TextData{rank}.json").write_text(json.dumps(text, ensure_ascii=False))
        title = {"Title": poem}
        (collection / "和歌集.json").write_text(json.dumps(title, ensure_ascii=False))
        paths.append(pathlib.Path(folder) / f"{poem}.wakashu")
        command = [INDEXER, "build", collection, "-o", paths[-1], "--no-progress", "--no-cache", "-q"]
        subprocess.run(command, check=True, capture_output=True)
    good, forged = (path.read_bytes() for path in paths)
    assert len(good) == len(forged), "the forgery does not fit"
    return paths[0], good, forged


QUESTIONS = [
    tool("index_status", {}),
    tool("list_rounds", {}),
    tool("get_wakashu_ranking", {"round_title": "1", "rank_range": "1-3"}),
    tool("get_wakashu_ranking", {"round_title": "1", "rank_range": "30-40"}),
    tool("get_poem", {"round_title": "1", "rank": 20}),
    tool("search_poems", {"query": "歌"}),
    rpc("resources/read", {"uri": "wakashu://rounds/第1回"}),
    rpc("prompts/get", {"name": "present_round", "arguments": {"round_title": "1"}}),
]


def under_our_feet(change, in_store):
    """Changes what is served where it lies, and asks for everything."""
    with tempfile.TemporaryDirectory() as folder:
        path, good, forged = twins(folder)
        served = path
        if in_store:
            served = pathlib.Path(folder) / "store"
            subprocess.run([INDEXER, "publish", path, served, "--no-progress", "-q"], check=True, capture_output=True)
            path = next((served / "archives").glob("*.wakashu"))
        with Server(served, {"WAKASHU_REFRESH_SECONDS": "1"}) as server:
            server.call(QUESTIONS[2])
            with path.open("r+b") as file:
                if change == "cut":
                    file.truncate(len(good) // 2)
                else:
                    # All but what says which archive it is: whole, it would be the next version, and served as such.
                    file.write(forged[: len(forged) * 3 // 4])
            changed, deaths, wrong, stale = time.monotonic(), 0, 0, None
            while stale is None and time.monotonic() < changed + 30:
                for question in QUESTIONS:
                    try:
                        wrong += FORGED in json.dumps(server.call(question)[1], ensure_ascii=False)
                    except OSError:
                        deaths += 1
                health = json.loads(server.ask("GET", "/")[1])
                stale = time.monotonic() - changed if health["index"]["stale"] else None
            deaths += server.child.poll() is not None
    said = f"{wrong} forged answers, {deaths} deaths, " + ("never stale" if stale is None else f"stale after {stale:.1f} s")
    return said, not wrong and not deaths and stale is not None


class DamagingHost(http.server.BaseHTTPRequestHandler):
    """A web host that damages the first archive it is asked for, and no other."""

    protocol_version = "HTTP/1.1"
    folder, left = None, 0

    def do_GET(self):
        path = self.folder / self.path.lstrip("/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        whole = path.read_bytes()
        first, last = 0, len(whole) - 1
        asked = re.match(r"bytes=(\d*)-(\d*)$", self.headers.get("Range", ""))
        if asked:
            first = int(asked[1]) if asked[1] else len(whole) - int(asked[2])
            last = min(int(asked[2]), last) if asked[1] and asked[2] else last
        part = bytearray(whole[first : last + 1])
        if "archives" in self.path and DamagingHost.left:
            DamagingHost.left -= 1
            part[len(part) // 2] ^= 1
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{len(whole)}"')
        self.send_header("Content-Length", str(len(part)))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(whole)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


def damaged_download(archive):
    """The archive arrives damaged at the start; the host is sound from then on."""
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "store"
        subprocess.run([INDEXER, "publish", archive, store, "--no-progress", "-q"], check=True, capture_output=True)
        DamagingHost.folder, DamagingHost.left = store, 1
        host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), DamagingHost)
        threading.Thread(target=host.serve_forever, daemon=True).start()
        with Server(f"http://127.0.0.1:{host.server_port}", {"WAKASHU_REFRESH_SECONDS": "3600"}) as server:
            started, answered = time.monotonic(), None
            while answered is None and time.monotonic() < started + 30:
                _, answer = server.call(tool("get_poem", {"round_title": "1", "rank": 1}))
                if "result" in answer and not answer["result"].get("isError"):
                    answered = time.monotonic() - started
                time.sleep(0.1)
        host.shutdown()
    met = DamagingHost.left == 0
    said = "never whole" if answered is None else f"answered after {answered:.1f} s"
    return said + ("" if met else ", nothing was damaged"), answered is not None and met


def never_let_go(archive):
    """Reads nothing of its answers, and waits to be closed."""
    with Server(archive) as server:
        connection = socket.create_connection((server.host, server.port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(LARGE * 9)
        started = time.monotonic()
        while time.monotonic() - started < 40:
            time.sleep(1)
            _, body = server.ask("GET", "/metrics")
            if b'wakashu_connections_closed_total{reason="stalled"} 1\n' in body:
                return f"closed after {time.monotonic() - started:.0f} s", True
        return "held for 40 s and longer", False


def token_settings(*more):
    digest = hashlib.sha256(b"reader").hexdigest()
    return {"WAKASHU_TOKENS_SHA256": digest, **dict(more)}


READER = {"Authorization": "Bearer reader"}


def caches(archive):
    with Server(archive, token_settings()) as server:
        picture, _ = server.ask("GET", "/pictures/1/1", headers=READER)
        modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", **READER}
        _, listed = server.call(rpc("tools/list", {"_meta": MODERN}), modern)
        said = (picture.headers["Cache-Control"], picture.headers["Vary"], listed["result"]["cacheScope"])
        good = said[0].startswith("private") and "Authorization" in (said[1] or "") and said[2] == "private"
        return ", ".join(map(str, said)), good


def batches(archive):
    with Server(archive, {"WAKASHU_RATE_PER_CLIENT": "10"}) as server:
        batch = [rpc("ping", number=number) for number in range(20)]
        answered = 0
        for _ in range(8):
            answer, _ = server.ask("POST", "/mcp", batch)
            answered += 20 * (answer.status == 200)
        return f"{answered} of 160 messages in the first second", answered <= 20


def anonymous_flood(archive):
    with Server(archive, token_settings(("WAKASHU_RATE_PER_SECOND", "50"))) as server:
        until = time.monotonic() + 3

        def flood(path):
            while time.monotonic() < until:
                try:
                    server.ask("GET", path)
                except OSError:
                    pass

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for path in ("/v1/tools", "/none", "/tools", "/pictures/1/1") * 2:
                pool.submit(flood, path)
            time.sleep(0.5)
            answered = sum(server.ask("GET", "/v1/tools", headers=READER)[0].status == 200 for _ in range(16))
        return f"{answered} of 16 answers", answered == 16


def budgets(archive):
    with Server(archive) as server:
        bytes_of_raw = characters = 0
        for title in ("第1回", "第2回"):
            body = {
                "name": "get_wakashu_ranking",
                "parameters": {"round_title": title, "rank_range": "1-20"},
                "options": {"raw": True},
            }
            bytes_of_raw = max(bytes_of_raw, len(server.ask("POST", "/v1/tools/call", body)[1]))
        for limit in (10, 50):
            _, found = server.call(tool("search_poems", {"query": "歌", "limit": limit}))
            texts = [block["text"] for block in found["result"]["content"]]
            characters = max(characters, sum(map(len, texts)))
            body = {"name": "search_poems", "parameters": {"query": "歌", "limit": limit}, "options": {"raw": True}}
            bytes_of_raw = max(bytes_of_raw, len(server.ask("POST", "/v1/tools/call", body)[1]))
        said = f"{bytes_of_raw:,} bytes, {characters:,} characters"
        return said, bytes_of_raw <= 1_000_000 and characters <= 100_000


class Gate:
    """Where calls of a program stop until they are let go on; the program is built with drills, as for tests."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.settings = {"WAKASHU_DRILL": "hold:127.0.0.1:%d" % self.listener.getsockname()[1]}

    def next(self):
        self.listener.settimeout(30)
        return self.listener.accept()[0]


def cancellations(archive):
    gate = Gate()
    child = stdio(archive, {**gate.settings, "WAKASHU_CONCURRENCY": "1"})
    child.stdin.write(line(rpc("ping", number=0)))
    child.stdin.flush()
    child.stdout.readline()
    started = time.monotonic()
    for number in range(1, 33):
        child.stdin.write(line(tool("index_status", {}, number)))
    for number in range(1, 41):
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        child.stdin.write(line(cancel))
    child.stdin.write(line(rpc("ping", number="ping")))
    child.stdin.flush()
    first = json.loads(child.stdout.readline())
    took = time.monotonic() - started
    child.kill()
    return f"ping after {took * 1000:.0f} ms", first["id"] == "ping" and took < 1


def terminated(archive):
    gate = Gate()
    child = stdio(archive, gate.settings)
    for number in range(1, 21):
        child.stdin.write(line(tool("get_wakashu_ranking", {"round_title": "1", "rank_range": "1-3"}, number)))
    child.stdin.flush()
    held = [gate.next() for _ in range(20)]
    child.send_signal(signal.SIGTERM)
    for call in held:
        call.close()
    lines = child.stdout.readlines()
    cut = sum(not text.endswith(b"\n") for text in lines)
    return f"{len(lines)} of 20 answers, {cut} cut", len(lines) == 20 and not cut and child.wait(15) == 0


def repeated_names(archive):
    with Server(archive) as server:
        refused = 0
        for more in ('"rank":1', '"rank":2', r'"r\u0061nk":2'):
            arguments = '{"round_title":"1","rank":1,' + more + "}"
            body = json.dumps(tool("get_poem", 0)).replace('"arguments": 0', f'"arguments": {arguments}')
            _, answer = server.ask("POST", "/mcp", body.encode())
            refused += json.loads(answer).get("error", {}).get("code") == -32602
        return f"{refused} of 3 refused", refused == 3


def wrong_capabilities(archive):
    with Server(archive) as server:
        given = ([], "all", 1, True)
        params = [{"protocolVersion": "2025-11-25", "capabilities": each} for each in given]
        refused = sum(server.call(rpc("initialize", each))[1].get("error", {}).get("code") == -32602 for each in params)
        return f"{refused} of {len(given)} refused", refused == len(given)


def other_host(archive):
    with Server(archive) as server:
        body = json.dumps(rpc("ping")).encode()
        head = f"POST http://elsewhere/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        status = server.raw(head.encode() + body).split(" ")[1]
        return f"status {status}", status == "403"


def links(archive):
    seen = []
    for host, settings in (("127.0.0.5", {}), ("0.0.0.0", {"WAKASHU_ALLOWED_HOSTS": "poems.example"})):
        with Server(archive, {"HOST": host, **settings}) as server:
            _, answer = server.call(tool("get_poem", {"round_title": "1", "rank": 1}))
            text = answer["result"]["content"][0]["text"] if "result" in answer else ""
            link = re.search(r"^画像: http://[^/]+(/.*)$", text, re.M)
            seen.append(server.ask("GET", link[1])[0].status if link else 403)
    return f"statuses {seen}", seen == [200, 200]


def terminal(archive):
    """Not an attack: people read the log on a terminal."""
    reader, writer = pty.openpty()
    with Server(archive, log=writer) as server:
        server.call(rpc("ping"))
        time.sleep(0.6)
        text = os.read(reader, 1 << 16).decode(errors="replace")
    good = " method=ping " in text and '"method"' not in text
    return "name=value" if good else "JSON", good


ATTACKS = [
    ("1", "a served file changed in place", "6 of 8 answers forged", lambda _: under_our_feet("changed", False)),
    ("1", "an archive of a folder store changed in place", "the same", lambda _: under_our_feet("changed", True)),
    ("1", "a served file cut short", "dead, 3 of 3", lambda _: under_our_feet("cut", False)),
    ("1", "an archive of a folder store cut short", "the same", lambda _: under_our_feet("cut", True)),
    ("2", "log of serve unread", "dead after 375 requests", unread_log_of_serve),
    ("2", "log of stdio unread", "dead after 361 requests", unread_log_of_stdio),
    ("3", "1,100 that never read, one address", "health unanswered for 10 s", lambda a: hogs(a, 1, LARGE)),
    ("3", "1,100 that never read, 8 addresses", "health unanswered for 10 s", lambda a: hogs(a, 8, LARGE)),
    ("3", "1,100 that ask every 5 s, one address", "health unanswered for 10 s", lambda a: hogs(a, 1, SMALL, 5)),
    ("3", "1,100 that ask every 5 s, 8 addresses", "health unanswered for 10 s", lambda a: hogs(a, 8, SMALL, 5)),
    ("3", "1,100 with half a body, 8 addresses", "not tried", lambda a: hogs(a, 8, HALF_A_BODY)),
    ("3", "1,100 that say nothing, 8 addresses", "not tried", lambda a: hogs(a, 8, b"")),
    ("3", "an honest client beside 1,024 that never read", "no answer", honest_client),
    ("3", "one that never reads", "held for good", never_let_go),
    ("5", "pictures and results with tokens", "public, public", caches),
    ("6", "8 batches of 20 at 10/s", "160 of 160 messages", batches),
    ("6", "a flood without tokens", "0 of 16 answers", anonymous_flood),
    ("7", "raw answers and searches", "1,238,153 bytes, 100,924 characters", budgets),
    ("8", "40 cancellations behind 32 calls", "ping after 10 s", cancellations),
    ("8", "SIGTERM with answers under way", "lost, one cut", terminated),
    ("9", "a name twice in arguments", "accepted", repeated_names),
    ("9", "capabilities of a wrong type", "accepted", wrong_capabilities),
    ("9", "POST http://elsewhere/mcp", "accepted", other_host),
    ("9", "links on 127.0.0.5 and 0.0.0.0", "403", links),
    ("10", "an archive damaged on its way at the start", "until the next version", damaged_download),
    ("–", "the log on a terminal", "JSON", terminal),
]


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        write_collection(f"{folder}/collection")
        archive = f"{folder}/attacks.wakashu"
        subprocess.run(
            [INDEXER, "build", f"{folder}/collection", "-o", archive, "--no-progress", "-q"],
            check=True,
            capture_output=True,
        )
        for point, name, before, attack in ATTACKS:
            if len(sys.argv) > 1 and sys.argv[1] not in name:
                continue
            now, good = attack(archive)
            failed += row(point, name, before, now, good)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
