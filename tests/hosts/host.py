"""A host of the Python SDK, 1.x or 2.x, with a program as its server: host.py COMMAND…"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        ranking = await session.call_tool("get_wakashu_ranking", {"round_title": "第1回", "rank_range": "1-3"})
        pictures = [part for part in ranking.content if part.type == "image"]
        print(f"{len(tools)} tools, {len(pictures)} pictures")


asyncio.run(main())
