"""Calls a running server with the client that openapi-python-client made of its description."""

import sys

from wakashu_client import Client
from wakashu_client.api.default import call_tool, get_tool, list_tools, ready, search_tools
from wakashu_client.models import (
    CallGetPoem,
    CallGetPoemName,
    CallGetPoemParameters,
    CallIndexStatus,
    CallIndexStatusName,
    CallOptions,
    CallResult,
    CallSearchPoems,
    CallSearchPoemsName,
    CallSearchPoemsParameters,
    DataGetPoem,
    DataSearchPoems,
    Error,
    McpResult,
    SearchRequest,
)

client = Client(base_url=sys.argv[1])
raw = CallOptions(raw=True)

listed = list_tools.sync(client=client, limit=2, page=1)
assert len(listed.tools) == 2 and listed.pagination.total == 5, listed
shown = get_tool.sync("get_poem", client=client)
assert shown.parameters[0].name == "round_title", shown


def poem(title, options):
    parameters = CallGetPoemParameters(round_title=title, rank=1)
    body = CallGetPoem(name=CallGetPoemName.GET_POEM, parameters=parameters, options=options)
    return call_tool.sync(client=client, body=body)


answer = poem("第1回", raw)
assert isinstance(answer, CallResult) and isinstance(answer.result, DataGetPoem), answer
assert answer.result.rank == 1 and answer.result.picture.rendition == "large", answer.result
answer = poem("第1回", CallOptions())
assert isinstance(answer.result, McpResult) and answer.result.content[1].type_ == "image", answer

body = CallSearchPoems(
    name=CallSearchPoemsName.SEARCH_POEMS, parameters=CallSearchPoemsParameters(query="花"), options=raw
)
answer = call_tool.sync(client=client, body=body)
assert isinstance(answer.result, DataSearchPoems) and answer.result.hits[0].marked.text == "花", answer

body = CallIndexStatus(name=CallIndexStatusName.INDEX_STATUS, options=raw)
assert call_tool.sync(client=client, body=body).result.state == "READY"
found = search_tools.sync(client=client, body=SearchRequest(query="ranking"))
assert found.results[0].name == "get_wakashu_ranking", found
assert ready.sync(client=client).ready is True

missing = poem("第99回", raw)
assert isinstance(missing, Error) and missing.code == "NOT_FOUND", missing
assert missing.details.resource_type == "round", missing
print("openapi-python-client: ok")
