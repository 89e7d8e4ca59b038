"""A host of the Python SDK, 1.x or 2.x, with a program or an address as its server: host.py COMMAND…|URL"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main():
    if sys.argv[1].startswith("http://"):
        connection = streamable_http_client(sys.argv[1])
    else:
        connection = stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:]))
    # Over HTTP one of the SDKs has a third thing there.
    async with connection as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        ranking = await session.call_tool("get_wakashu_ranking", {"round_title": "第1回", "rank_range": "1-3"})
        pictures = [part for part in ranking.content if part.type == "image"]
        print(f"{len(tools)} tools, {len(pictures)} pictures")


asyncio.run(main())
