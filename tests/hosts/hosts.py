"""Runs servers of others behind `wakashu bridge`, and hosts of others before it. Started by tests/hosts/run."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / os.environ.get("HOSTS_TOOLS", ".tools/hosts")
MODULES = TOOLS / "node_modules"
PROGRAMS = Path(sys.argv[1]).absolute()
WAKASHU = PROGRAMS / "wakashu"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "hosts", "version": "1"}}


class Host:
    """A host of either era that speaks lines with `wakashu bridge`."""

    def __init__(self, work, server, modern=False):
        config = work / f"{time.monotonic_ns()}.json"
        config.write_text(json.dumps({"mcpServers": {"server": server}, "options": {"timeout": 120_000}}))
        self.start(work, modern, "bridge", "server", "--config", config)

    def start(self, work, modern, *arguments, **settings):
        self.modern, self.last = modern, 0
        # What stands for secrets of the host's.
        environment = os.environ | {"SECRET_OF_THE_HOST": "do-not-tell"} | settings
        self.log = (work / "log").open("w+")
        self.process = subprocess.Popen([WAKASHU, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, env=environment)
        if modern:
            assert "2026-07-28" in self.ask("server/discover")["supportedVersions"]
        else:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hosts", "version": "1"}}
            self.ask("initialize", hello)
            self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        tree = descendants(self.process.pid)
        self.process.stdin.close()
        assert self.process.wait(15) == 0
        deadline = time.monotonic() + 5
        while left := [pid for pid in tree if alive(pid)]:
            assert time.monotonic() < deadline, f"left behind: {[Path(f'/proc/{pid}/cmdline').read_bytes() for pid in left]}"
            time.sleep(0.05)

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params=None):
        self.last += 1
        params = dict(params or {}) | ({"_meta": META} if self.modern else {})
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return message
        self.log.seek(0)
        raise AssertionError(f"the bridge ended: {self.log.read()[-2000:]}")

    def ask(self, method, params=None):
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def tools(self):
        return {tool["name"] for tool in self.ask("tools/list")["tools"]}

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result["content"])
        return text, bool(result.get("isError"))


class Gateway(Host):
    """The same with `wakashu gateway`, which has all servers of a configuration behind it."""

    def __init__(self, work, config, modern=False, **settings):
        self.start(work, modern, "gateway", "--config", config, **settings)


def descendants(pid):
    found = [pid]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found[1:]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def node(package, *args):
    return {"command": "node", "args": [str(MODULES / package), *map(str, args)]}


def everything(work):
    for modern in (False, True):
        with Host(work, node("@modelcontextprotocol/server-everything/dist/index.js", "stdio"), modern) as host:
            use_everything(host)


def everything_http(work):
    port = free_port()
    server = subprocess.Popen(["node", MODULES / "@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp"],
                              env=os.environ | {"PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        for modern in (False, True):
            with Host(work, {"url": f"http://127.0.0.1:{port}/mcp"}, modern) as host:
                use_everything(host, has_our_environment=False)
    finally:
        server.kill()
        server.wait()


def use_everything(host, has_our_environment=True):
    assert {"echo", "get-env"} <= host.tools()
    assert host.call("echo", message="歌")[0] == "Echo: 歌"
    assert host.ask("prompts/list")["prompts"] and host.ask("resources/list")["resources"]
    picture = host.ask("tools/call", {"name": "get-tiny-image", "arguments": {}})["content"]
    assert any(part["type"] == "image" for part in picture)
    slow = {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 3}}
    assert "completed" in json.dumps(host.ask("tools/call", slow))
    if has_our_environment:
        found = json.loads(host.call("get-env")[0])
        assert "SECRET_OF_THE_HOST" not in found and "do-not-tell" not in json.dumps(found), found


def filesystem(work):
    folder = work / "folder"
    folder.mkdir()
    (folder / "poem.txt").write_text("歌")
    server = node("@modelcontextprotocol/server-filesystem/dist/index.js", folder)
    with Host(work, server | {"deny": ["move_*"]}) as host:
        assert "read_text_file" in host.tools() and "move_file" not in host.tools()
        assert host.call("read_text_file", path=str(folder / "poem.txt"))[0] == "歌"
        assert host.call("write_file", path=str(folder / "new.txt"), content="x") and (folder / "new.txt").exists()
        refused = host.request("tools/call", {"name": "move_file", "arguments": {"source": "a", "destination": "b"}})
        assert refused["error"]["data"]["code"] == "CANNOT_EXECUTE", refused
    # Read-only by the sandbox, whatever the server would do.
    sandbox = {"read": [str(folder), str(ROOT / ".tools"), str(Path(sys.executable).parent)], "network": False}
    with Host(work, server | {"sandbox": sandbox}) as host:
        assert host.call("read_text_file", path=str(folder / "poem.txt"))[0] == "歌"
        text, failed = host.call("write_file", path=str(folder / "forbidden.txt"), content="x")
        assert failed and not (folder / "forbidden.txt").exists(), text


def memory(work):
    server = node("@modelcontextprotocol/server-memory/dist/index.js") | {"env": {"MEMORY_FILE_PATH": str(work / "memory.jsonl")}}
    with Host(work, server) as host:
        host.call("create_entities", entities=[{"name": "春", "entityType": "season", "observations": ["花"]}])
        assert "花" in host.call("search_nodes", query="春")[0]


def python_server(work, module, **more):
    return {"command": str(TOOLS / "servers/bin/python"), "args": ["-m", module, *more.get("args", [])]}


def time_server(work):
    for modern in (False, True):
        with Host(work, python_server(work, "mcp_server_time"), modern) as host:
            assert "Asia/Tokyo" in host.call("get_current_time", timezone="Asia/Tokyo")[0]


def git(work):
    folder = work / "repository"
    for command in (["init", "-q", folder], ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q",
                                             "--allow-empty", "-m", "first poem"]):
        subprocess.run(["git", *map(str, command)], check=True)
    for modern in (False, True):
        with Host(work, python_server(work, "mcp_server_git"), modern) as host:
            assert "first poem" in host.call("git_log", repo_path=str(folder))[0]


def serena(work):
    environment, project = serena_project(work)
    server = {"command": str(TOOLS / "serena/bin/serena"), "env": environment, "deny": ["execute_shell_command"],
              "args": ["start-mcp-server", "--project", str(project), "--context", "agent", "--agent-interface", "tools",
                       "--enable-web-dashboard", "false", "--enable-gui-log-window", "false"]}
    with Host(work, server) as host:
        tools = host.tools()
        assert "find_symbol" in tools and "execute_shell_command" not in tools, sorted(tools)
        found, failed = host.call("find_symbol", name_path_pattern="Poem/read", include_body=True)
        assert not failed and "hana" in found, found
        assert "poem.py" in host.call("list_dir", relative_path=".", recursive=False)[0]
        check_helpers({tool["name"]: tool["inputSchema"] for tool in host.ask("tools/list")["tools"]})


def check_helpers(schemas):
    """The library's typed helpers name tools and parameters that this Serena has."""
    source = (ROOT / "client/src/serena.rs").read_text()
    helpers = re.findall(r'\n    pub async fn \w+\(&self.*?\n    }\n', source, re.S)
    named = [(name[1], set(re.findall(r'"(\w+)": ', helper)))
             for helper in helpers if (name := re.search(r'\.call\("(\w+)"', helper))]
    assert len(named) == 12, named
    for name, given in named:
        schema = schemas[name]
        assert set(schema.get("required", [])) <= given <= set(schema["properties"]), (name, given, schema)


def serena_project(work, project=None):
    """Makes a project with a class, which Serena reads with jedi; returns the environment Serena needs, and the project."""
    project = project or work / "project"
    project.mkdir()
    (project / "poem.py").write_text("class Poem:\n    def read(self):\n        return 'hana'\n\n\ndef use():\n    return Poem().read()\n")
    home = work / "home"
    home.mkdir(exist_ok=True)
    path = f"{TOOLS / 'serena/bin'}:{os.environ['PATH']}"
    environment = {"HOME": str(home), "PATH": path}
    subprocess.run([TOOLS / "serena/bin/serena", "project", "create", project, "--language", "python"], check=True,
                   env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    settings = project / ".serena/project.yml"
    lines = settings.read_text().splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith(("language_servers:", "languages:")))
    end = next((index for index in range(at + 1, len(lines)) if lines[index] and not lines[index].startswith((" ", "-"))), len(lines))
    settings.write_text("\n".join([*lines[:at], "language_servers: [python_jedi]", *lines[end:]]) + "\n")
    return environment, project


def example(work):
    """The example of docs/gateway.md as it stands there, but for where its five servers are."""
    text = (ROOT / "docs/gateway.md").read_text().split("```yaml\n")[1].split("```")[0]
    home = work / "home"
    poems, code = home / "poems", home / "code"
    poems.mkdir(parents=True)
    (poems / "poem.txt").write_text("歌")
    environment, _ = serena_project(work, code)
    with collection(work) as spring, collection(work) as autumn:
        for written, meant in [
            ("https://spring.example.org/mcp", spring), ("https://autumn.example.org/mcp", autumn),
            ("command: wakashu\n", f"command: {WAKASHU}\n"), ("drafts.wakashu", work / "sample.wakashu"),
            ("command: npx\n", "command: node\n"),
            ('-y, "@modelcontextprotocol/server-filesystem"', MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js"),
            ("command: serena\n", f"command: {TOOLS / 'serena/bin/serena'}\n"),
        ]:
            assert text.count(written) == 1, written
            text = text.replace(written, str(meant))
        (work / "spring.token").write_text("a-token")
        config = work / "mcp.config.yaml"
        config.write_text(text)
        for modern in (False, True):
            with Gateway(work, config, modern, **environment) as host:
                use_example(host, poems)


def use_example(host, poems):
    # A list waits five seconds for its servers; Serena may take longer.
    deadline = time.monotonic() + 60
    while "serena__find_symbol" not in (tools := host.tools()):
        assert time.monotonic() < deadline, sorted(tools)
        time.sleep(0.5)
    assert {"get_poem", "get_wakashu_ranking", "files__read_text_file", "serena__list_dir"} <= tools, sorted(tools)
    denied = {"serena__execute_shell_command", "files__write_file", "files__edit_file", "files__move_file", "files__create_directory"}
    assert not denied & tools, sorted(tools)
    for name in ("spring", "autumn", "drafts"):
        assert "1位" in host.call("get_poem", collection=name, round_title="第1回", rank=1)[0]
        assert host.ask("resources/read", {"uri": f"{name}+wakashu://rounds"})["contents"]
    assert host.call("files__read_text_file", path=str(poems / "poem.txt"))[0] == "歌"
    found, failed = host.call("serena__find_symbol", name_path_pattern="Poem/read", include_body=True)
    assert not failed and "hana" in found, found
    # What is denied is denied to those who know its name, too.
    for name, arguments in [("serena__execute_shell_command", {"command": "id"}),
                            ("files__write_file", {"path": str(poems / "new"), "content": ""})]:
        answer = host.request("tools/call", {"name": name, "arguments": arguments})
        assert "error" in answer or answer["result"]["isError"], answer
    assert [file.name for file in poems.iterdir()] == ["poem.txt"]


def websocket(work):
    port = free_port()
    server = subprocess.Popen([TOOLS / "mcp1/bin/python", ROOT / "tests/hosts/websocket_server.py", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        for modern in (False, True):
            with Host(work, {"url": f"ws://127.0.0.1:{port}/ws"}, modern) as host:
                assert host.tools() == {"echo"}
                assert host.call("echo", text="歌")[0] == "歌"
    finally:
        server.kill()
        server.wait()


def typescript(work):
    with collection(work) as url, listening(work, url) as gateway:
        for command in (*ways(work, url), [gateway]):
            for revision in ("2025-11-25", "2026-07-28"):
                host_of_others(["node", ROOT / "tests/hosts/host.mjs", revision, *command], MODULES=str(TOOLS))


def python(work):
    with collection(work) as url, listening(work, url) as gateway:
        for command in (*ways(work, url), [gateway]):
            for folder in ("mcp1", "servers"):
                host_of_others([TOOLS / folder / "bin/python", ROOT / "tests/hosts/host.py", *command])


def ways(work, url):
    """The commands by which a host reaches a server on the web."""
    return [WAKASHU, "bridge", "--quiet", url], [WAKASHU, "gateway", "--quiet", "--config", config_of_one(work, url)]


def config_of_one(work, url):
    config = work / "one.json"
    config.write_text(json.dumps({"servers": {"poems": {"url": url}}}))
    return config


def host_of_others(command, **environment):
    said = subprocess.run(command, check=True, env=os.environ | environment, capture_output=True, text=True, timeout=120).stdout
    assert said.split() == ["5", "tools,", "3", "pictures"], said


class collection:
    """The sample collection, served."""

    def __init__(self, work):
        archive = work / "sample.wakashu"
        if not archive.exists():
            subprocess.run([PROGRAMS / "wakashu-indexer", "build", "--quiet", "--output", archive, ROOT / "fixtures/wakashu_dir"],
                           check=True, stdout=subprocess.DEVNULL)
        self.server = subprocess.Popen([PROGRAMS / "wakashu-function", "serve", "--port", "0", archive], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        return self.server.stdout.readline().strip()

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()


class listening(collection):
    """A gateway over HTTP in front of it."""

    def __init__(self, work, url):
        command = [WAKASHU, "gateway", "--quiet", "--config", config_of_one(work, url), "--listen", "127.0.0.1:0"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def free_port():
    import socket
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    import socket
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < deadline, f"nothing listens on {port}"
            time.sleep(0.1)


ALL = {"everything": everything, "everything-http": everything_http, "filesystem": filesystem, "memory": memory,
       "time": time_server, "git": git, "serena": serena, "example": example, "websocket": websocket,
       "typescript": typescript, "python": python}


def main():
    names = sys.argv[2:] or list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        sys.exit(f"there is no {', '.join(unknown)}, but {', '.join(ALL)}")
    failed = []
    for name in names:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="wakashu-hosts-") as work:
            try:
                ALL[name](Path(work))
                print(f"ok      {name} ({time.monotonic() - started:.1f} s)", flush=True)
            except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                print(f"FAILED  {name}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
                failed.append(name)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
