"""Judges what `wakashu bundle` makes: judge.py PROGRAMS PICTURE_CACHE VALIDATOR"""

import contextlib
import functools
import http.server
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

SAMPLE = "fixtures/wakashu_dir"
MOST_MS = 300
ASK = {"name": "get_wakashu_ranking", "arguments": {"round_title": "第1回", "rank_range": "1-3"}}
# Hosts that people start from a desktop hand on little more.
SURROUNDINGS = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def main() -> None:
    programs, cache, validator = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    wakashu = programs / "wakashu"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        archive = folder / "sample.wakashu"
        run(wakashu, "build", SAMPLE, "-o", archive, "--cache-dir", cache, "-q")
        inside = bundle(wakashu, archive, folder / "歌集.mcpb")
        again = bundle(wakashu, SAMPLE, folder / "again.mcpb", "--cache-dir", cache)
        assert inside.read_bytes() == again.read_bytes(), "two builds are equal, of the archive and of the collection"
        unpacked = unpack(inside, folder / "inside")
        judge_manifest(unpacked, validator)
        answers_at_once(unpacked, "a collection inside")
        another_file(unpacked, archive)
        other_machine(unpacked)

        site = folder / "site"
        run(wakashu, "export", archive, "-o", site, "-q")
        with serving(site) as address:
            outside = bundle(wakashu, address, folder / "address.mcpb")
            small = outside.stat().st_size
            assert small < inside.stat().st_size - 1_000_000, "the collection stays where it is"
            unpacked = unpack(outside, folder / "address")
            judge_manifest(unpacked, validator)
            answers_at_once(unpacked, "the address of an exported site")
        wrong_address(wakashu, folder, unpacked, address)
        every_platform(wakashu, archive, folder, programs, validator)


def run(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bundle(wakashu, source, output, *more) -> pathlib.Path:
    run(wakashu, "bundle", source, "-o", output, *more)
    return output


def unpack(file: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Unpacks with all rights to run lost, as Claude Desktop does on macOS."""
    with zipfile.ZipFile(file) as bundle:
        assert bundle.testzip() is None
        bundle.extractall(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
    return folder


def judge_manifest(folder: pathlib.Path, validator: pathlib.Path) -> None:
    told = subprocess.run([validator, "validate", folder / "manifest.json"], capture_output=True, text=True)
    assert told.returncode == 0 and "validation passes" in told.stdout, told.stdout + told.stderr
    icon = (folder / "icon.png").read_bytes()
    assert icon[:8] == b"\x89PNG\r\n\x1a\n" and icon[16:24] == (512).to_bytes(4) * 2, "a PNG of 512 pixels"
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert [tool["name"] for tool in manifest["tools"]] == tools(folder), "the tools that are there"
    print(f"ok      the official validator: {manifest['display_name']} {manifest['version']}")


def command(folder: pathlib.Path) -> tuple[list[str], dict[str, str]]:
    """Returns what a host starts, and with which settings: one that was left empty stays as its own name."""
    config = json.loads((folder / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    words = [config["command"], *config["args"]]
    words = [word.replace("${__dirname}", str(folder)) for word in words]
    return words, SURROUNDINGS | config["env"]


def start(folder: pathlib.Path, **changed: str) -> subprocess.Popen:
    words, settings = command(folder)
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=settings | changed, cwd="/", stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


def talk(server: subprocess.Popen, *requests: dict) -> list[dict]:
    answers = []
    for number, request in enumerate(requests):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **request}) + "\n")
        server.stdin.flush()
        answers.append(json.loads(server.stdout.readline()))
    server.stdin.close()
    assert server.wait(10) == 0, "it ends when nobody speaks any more"
    return answers


HELLO = {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}}


def ask(folder: pathlib.Path, **changed: str) -> tuple[dict, float]:
    began = time.monotonic()
    server = start(folder, **changed)
    _, answer = talk(server, HELLO, {"method": "tools/call", "params": ASK})
    return answer, (time.monotonic() - began) * 1000


def tools(folder: pathlib.Path) -> list[str]:
    _, answer = talk(start(folder), HELLO, {"method": "tools/list"})
    return [tool["name"] for tool in answer["result"]["tools"]]


def answers_at_once(folder: pathlib.Path, what: str) -> None:
    # The first start gives the right to run back; a host starts a second instance beside it.
    beside = start(folder)
    took = []
    for _ in range(5):
        answer, milliseconds = ask(folder)
        kinds = [block["type"] for block in answer["result"]["content"]]
        assert kinds == ["text", "image"] * 3, kinds
        took.append(milliseconds)
    talk(beside, HELLO)
    assert min(took) <= MOST_MS, f"{what}: {took}"
    print(f"ok      {what}: a ranking with pictures {min(took):.0f} ms after the start")


def another_file(folder: pathlib.Path, archive: pathlib.Path) -> None:
    answer, _ = ask(folder, BUNDLE_ARCHIVE=str(archive))
    assert "isError" not in answer["result"]
    answer, _ = ask(folder, BUNDLE_ARCHIVE=str(archive.with_name("none.wakashu")))
    assert answer["result"]["isError"], "the setting wins over what is inside"
    print("ok      a file that the reader chose")


def other_machine(folder: pathlib.Path) -> None:
    script = folder / "server" / "launch.sh"
    other = folder / "server" / "other.sh"
    other.write_text(script.read_text("utf-8").replace("uname -m", "echo riscv64"), "utf-8")
    told = subprocess.run(["/bin/sh", other], capture_output=True, text=True)
    other.unlink()
    assert told.returncode == 1 and "riscv64" in told.stderr and "動くプログラムが入っていません" in told.stderr, told
    print("ok      a machine without a program is told so")


def wrong_address(wakashu, folder, unpacked, address) -> None:
    """The address was right once: nobody answers there any more, the store is gone, or something else is there."""
    empty, page = folder / "empty", folder / "page"
    empty.mkdir()
    page.mkdir()
    (page / "current.json").write_text("<!doctype html><title>移転しました</title>", "utf-8")
    port = int(address.rsplit(":", 1)[1])
    for what, host, sentence in [
        ("nobody there", contextlib.nullcontext(), "cannot be reached"),
        ("nothing there", serving(empty, port), "nothing has been published to"),
        ("a web page there", serving(page, port), "sends a web page (HTML) instead of the file"),
    ]:
        with host:
            answer, _ = ask(unpacked)
            told = subprocess.run([wakashu, "bundle", address, "-o", folder / "x.mcpb"], capture_output=True, text=True)
        said = answer["result"]["content"][0]["text"]
        assert answer["result"]["isError"] and said.startswith("和歌集の索引を読み込めていないため"), answer
        assert told.returncode == 2 and not (folder / "x.mcpb").exists(), told
        assert sentence in told.stderr, told
        print(f"ok      {what}: a reader is told {said}")
        print(f"ok      {what}: a curator is told {' / '.join(told.stderr.splitlines()[-2:])}")


def every_platform(wakashu, archive, folder, programs, validator) -> None:
    program = programs / "wakashu-function"
    targets = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "universal-apple-darwin", "x86_64-pc-windows-gnu"]
    named = [word for target in targets for word in ("--program", f"{target}={program}")]
    unpacked = unpack(bundle(wakashu, archive, folder / "all.mcpb", *named), folder / "all")
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    assert manifest["compatibility"]["platforms"] == ["linux", "darwin", "win32"]
    windows = manifest["server"]["mcp_config"]["platform_overrides"]["win32"]
    assert windows["command"] == "${__dirname}/server/win32-x64/wakashu-function.exe" and windows["args"][0] == "stdio"
    assert (unpacked / "server/win32-x64/wakashu-function.exe").is_file()
    # All systems offer the setting once one has it; Windows would pass over it without a word.
    assert windows["env"] == {} and "Windows では働きません" in manifest["user_config"]["archive"]["description"]
    cases = (unpacked / "server/launch.sh").read_text("utf-8")
    assert "Darwin-*) target=darwin-universal" in cases and platform.machine() in cases
    told = subprocess.run([validator, "validate", unpacked / "manifest.json"], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
    print("ok      programs for four kinds of machines")


class serving:
    """A web host of a folder that answers ranges, as ordinary ones do."""

    def __init__(self, folder: pathlib.Path, port: int = 0) -> None:
        self.folder = folder
        self.port = port

    def __enter__(self) -> str:
        handler = functools.partial(Ranges, directory=str(self.folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()


class Ranges(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range", "")
        path = pathlib.Path(self.translate_path(self.path))
        if not asked.startswith("bytes=") or not path.is_file():
            super().do_GET()
            return
        body = path.read_bytes()
        first, last = asked.removeprefix("bytes=").split("-")
        start = int(first) if first else len(body) - int(last)
        end = min(int(last) + 1, len(body)) if first and last else len(body)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self.wfile.write(body[start:end])


main()
