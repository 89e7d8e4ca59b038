"""What is asked of the servers, in both eras of the protocol, and whether the answers are right."""

import base64
import dataclasses
import json
import urllib.parse

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = {"legacy": LEGACY, "modern": MODERN}


@dataclasses.dataclass
class Request:
    """A request as wrk, and this program, send it. `bodies` are sent in turn."""

    method: str = "POST"
    path: str | None = None
    headers: dict = dataclasses.field(default_factory=dict)
    bodies: list = dataclasses.field(default_factory=list)
    # Lua that takes the place of fixed bodies: a function `request`.
    script: str = ""

    def url(self, endpoint):
        return endpoint if self.path is None else endpoint.removesuffix("/mcp") + self.path

    def body_bytes(self):
        return self.bodies[0].encode() if self.bodies else None

    def lua(self):
        lines = [f"wrk.method = '{self.method}'"]
        lines += [f"wrk.headers['{name}'] = '{value}'" for name, value in self.headers.items()]
        if self.script:
            return "\n".join([*lines, self.script])
        if len(self.bodies) == 1:
            lines.append(f"wrk.body = [==[{self.bodies[0]}]==]")
        elif self.bodies:
            lines.append("local prepared, turn = {}, 0")
            lines.append("init = function()")
            lines += [f"  prepared[#prepared + 1] = wrk.format(nil, nil, nil, [==[{body}]==])" for body in self.bodies]
            lines.append("end")
            lines.append("request = function() turn = turn % #prepared + 1; return prepared[turn] end")
        return "\n".join(lines)


def headers(era, method=None, name=None):
    """Returns what a conforming client of an era sends."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": ERAS[era]}
    if era == "modern":
        sent |= {"Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
    return sent


def body(era, method, params=None):
    params = dict(params or {})
    if era == "modern":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "wakashu-bench", "version": "1"},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def call(era, tool, **arguments):
    """Returns a tool call."""
    return Request(headers=headers(era, "tools/call", tool),
                   bodies=[body(era, "tools/call", {"name": tool, "arguments": arguments})])


def ranking(era, round_title, rank_range):
    return call(era, "get_wakashu_ranking", round_title=round_title, rank_range=rank_range)


def tools_list(era):
    return Request(headers=headers(era, "tools/list"), bodies=[body(era, "tools/list")])


def search(era, query):
    return call(era, "search_poems", query=query)


def picture(round_title, rank):
    return Request("GET", f"/pictures/{urllib.parse.quote(round_title)}/{rank}")


def mixed(requests):
    """Returns one request that is all of these in turn; their headers must agree, so they are of the legacy era."""
    first = requests[0]
    assert all(request.headers == first.headers for request in requests)
    return Request(headers=first.headers, bodies=[request.bodies[0] for request in requests])


def random_rounds(rounds, entries):
    """Returns a ranking of three ranks somewhere in a collection, another one each time."""
    template = ranking("legacy", "第@回", "#-$")
    text = template.bodies[0]
    before, rest = text.split("@")
    between, rest = rest.split("#")
    middle, after = rest.split("$")
    template.script = f"""
math.randomseed(7)
request = function()
  local first = math.random(1, {max(1, entries - 2)})
  return wrk.format(nil, nil, nil, [==[{before}]==] .. math.random(1, {rounds}) .. [==[{between}]==] .. first
    .. [==[{middle}]==] .. (first + 2) .. [==[{after}]==])
end"""
    template.bodies = [text.replace("@", "1").replace("#", "1").replace("$", "3")]
    return template


def result_of(answer):
    """Returns the result of a JSON-RPC answer, or stops."""
    message = json.loads(answer)
    if "result" not in message or message["result"].get("isError"):
        raise AssertionError(f"no result: {answer[:300]!r}")
    return message["result"]


def check_ranking(answer, collection, round_title, ranks):
    """Checks that an answer has the right blocks in the right order, with the very bytes of the pictures."""
    blocks = result_of(answer)["content"]
    kinds = [block["type"] for block in blocks]
    assert kinds == ["text", "image"] * len(ranks), f"blocks {kinds}"
    for rank, text, image in zip(ranks, blocks[::2], blocks[1::2], strict=True):
        (folder,) = (collection / round_title).glob(f"{rank}-*")
        data = json.loads((folder / f"TextData{rank}.json").read_text())
        assert text["text"].startswith(f"{rank}位：{data['AccountName']}\n{data['HonkadoriWaka']}\n"), text["text"]
        assert data["Prompt"] in text["text"]
        assert image["mimeType"] == "image/webp", image["mimeType"]
        wanted = (folder / f"Picture{rank}.webp").read_bytes()
        assert base64.b64decode(image["data"], validate=True) == wanted, f"other bytes for rank {rank}"


def check_tools(answer, least):
    names = [tool["name"] for tool in result_of(answer)["tools"]]
    assert "get_wakashu_ranking" in names and len(names) >= least, f"tools {names}"


def check_search(answer, found):
    hits = result_of(answer)["structuredContent"]["hits"]
    assert bool(hits) == found, f"{len(hits)} hits"
