"""A server of the Python SDK 1.x over a WebSocket; the SDK has dropped it in 2.x."""

import sys

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.websocket import websocket_server
from mcp.types import TextContent, Tool
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

server = Server("echo")


@server.list_tools()
async def list_tools():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return [Tool(name="echo", description="Says it again", inputSchema=schema)]


@server.call_tool()
async def call_tool(_name, arguments):
    return [TextContent(type="text", text=arguments["text"])]


async def serve(websocket):
    async with websocket_server(websocket.scope, websocket.receive, websocket.send) as (read, write):
        await server.run(read, write, server.create_initialization_options())


uvicorn.run(Starlette(routes=[WebSocketRoute("/ws", serve)]), port=int(sys.argv[1]), log_level="error")
