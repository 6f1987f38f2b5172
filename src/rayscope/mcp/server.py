"""The MCP server: the tools, prompts, and the schema, over stdio or HTTP. Only this module needs the SDK."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.responses import Response

from rayscope.api.security import Guard, Receive, Scope, Send
from rayscope.errors import RayscopeError
from rayscope.mcp import skill
from rayscope.mcp.target import Target
from rayscope.mcp.tools import SCHEMA, Tools
from rayscope.server.http_protocol import HttpProtocol
from rayscope.server.runner import check_token
from rayscope.settings import Settings
from rayscope.version import __version__

#: Path of the server over HTTP.
PATH = "/mcp"
#: Maximum number of requests at a time. HttpProtocol limits idle connections in number and time.
_CONCURRENT = 32


def create_server(connect: Callable[[], Target]) -> MCPServer[None]:
    """Return a server whose tools ask the Rayscope server of ``connect``."""
    tools = Tools(connect)
    server: MCPServer[None] = MCPServer(
        "rayscope",
        title="Rayscope",
        version=__version__,
        instructions=skill.INSTRUCTIONS,
        log_level="WARNING",
        subscriptions=False,
    )
    annotations = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in tools.all():
        server.add_tool(_explained(tool, tools), annotations=annotations, structured_output=False)

    @server.resource(SCHEMA, name="schema", description="Tables and columns for the tools sql and rows")
    def schema() -> str:
        try:
            return tools.schema()
        except RayscopeError as error:
            raise ResourceError(tools.explain(error)) from error

    @server.prompt(description="Find out why a Ray job is slow")
    def investigate_slow(session: _SESSION = "") -> str:
        return skill.recipe("slow", session=session)

    @server.prompt(description="Find out why a Ray job, task, or actor failed")
    def investigate_failure(session: _SESSION = "") -> str:
        return skill.recipe("failure", session=session)

    @server.prompt(description="Find out whether, and why, newer runs are slower than older ones")
    def compare_runs(
        b: Annotated[str, Field(description="The newer runs")],
        a: Annotated[str, Field(description="The older runs; default: earlier runs of the same script")] = "",
    ) -> str:
        return skill.recipe("compare", a=a, b=b)

    return server


_SESSION = Annotated[str, Field(description="Session; default: the newest")]


def _explained(tool: Callable[..., str], tools: Tools) -> Callable[..., str]:
    """Return the tool with errors that tell the caller what to do."""

    @functools.wraps(tool)
    def explained(*args: object, **options: object) -> str:
        try:
            return tool(*args, **options)
        except RayscopeError as error:
            raise ToolError(tools.explain(error)) from error

    return explained


def http_server(server: MCPServer[None], settings: Settings) -> uvicorn.Server:
    """Return a server of streamable HTTP, without MCP sessions and open streams.

    Rayscope's own guard checks Host, Origin, the token, and the sizes of bodies. Raises StartError if the
    address requires a token.
    """
    check_token(settings)

    requests = 0

    async def post_only(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal requests
        # A GET would open a stream of messages from the server, which never sends any.
        if scope["type"] == "http" and scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        elif requests >= _CONCURRENT:
            await Response(status_code=503, headers={"Retry-After": "1"})(scope, receive, send)
        else:
            requests += 1
            try:
                await app(scope, receive, send)
            finally:
                requests -= 1

    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    guarded = Guard(post_only, token=settings.token, allowed_hosts=settings.allowed_hosts)
    config = uvicorn.Config(
        guarded,
        http=HttpProtocol,
        ws="none",
        timeout_graceful_shutdown=3,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    return uvicorn.Server(config)
