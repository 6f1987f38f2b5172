"""``rayscope mcp`` and ``rayscope skill``: Rayscope for assistants."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rayscope.cli.console import fail, say
from rayscope.cli.options import DataDir, GenerateToken, Host, ServerUrl, Token, settings_from
from rayscope.cli.serving import free_port, reading_server
from rayscope.client.server_url import known_server
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.mcp.target import Target, ToolClient
    from rayscope.settings import Settings

_PORT = 8701


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of stdio.")] = False,
    host: Host = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port for --http.")] = _PORT,
    server: ServerUrl = None,
    data_dir: DataDir = None,
    token: Token = None,
    generate_token: GenerateToken = False,
) -> None:
    """Serve read-only tools for assistants (Model Context Protocol)."""
    try:
        from rayscope.mcp.server import PATH, create_server, http_server
        from rayscope.server.runner import listen
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        fail("rayscope mcp needs the SDK of the Model Context Protocol.", "Run pip install 'rayscope[mcp]'.")
    settings = settings_from(data_dir, host, token=token, generate_token=generate_token)
    with _targets(settings, server) as connect:
        served = create_server(connect)
        if not http:
            if sys.stdin.isatty():
                say("waiting for an assistant on stdin; docs/how-to/assistants.md shows how to add one")
            served.run()
            return
        web = http_server(served, settings)
        listener, url = listen(settings.host, free_port(settings.host, port))
        say(f"tools for assistants at {url}{PATH}")
        web.run(sockets=[listener])


@contextlib.contextmanager
def _targets(settings: Settings, server: str | None) -> Iterator[Callable[[], Target]]:
    """Provide a function that returns the server to query: the given one, or that of the data directory.

    Servers of the data directory come and go while an assistant runs. Without one, our own server reads the
    directory.
    """
    from rayscope.mcp.target import Target, ToolClient

    token = settings.token or ""
    lock = threading.Lock()
    targets: dict[str, Target] = {}

    def connect() -> Target:
        with lock:
            # A server that is too busy to answer must not be replaced by one that reads older records.
            known = known_server(settings.folder)
            url = server or os.environ.get("RAYSCOPE_URL") or (known.url if known else "")
            if url not in targets:
                targets[url] = Target(client(url), has_ui=bool(url))
            return targets[url]

    def client(url: str) -> ToolClient:
        if url:
            return stack.enter_context(ToolClient(url, token, folder=settings.folder))
        if not settings.folder.is_dir():
            raise RayscopeError(
                f"Data directory not found: {settings.folder}.",
                "Record a program: rayscope run SCRIPT",
                "no_server",
            )
        try:
            own_url, own_token = stack.enter_context(reading_server(settings))
        except typer.Exit as error:
            raise RayscopeError(
                f"Could not read the data directory {settings.folder}.",
                "Run `rayscope sessions`, which prints the reason.",
                "no_server",
            ) from error
        return stack.enter_context(ToolClient(own_url, own_token, folder=settings.folder))

    with contextlib.ExitStack() as stack:
        yield connect


def skill(
    output: Annotated[
        Path | None, typer.Option("--output", help="Write SKILL.md into this folder instead of stdout.")
    ] = None,
) -> None:
    """Print a skill that teaches assistants to use Rayscope."""
    from rayscope.mcp.skill import text

    if output is None:
        sys.stdout.write(text())
        return
    output.mkdir(parents=True, exist_ok=True)
    (output / "SKILL.md").write_text(text(), encoding="utf-8")
    say(f"wrote {output / 'SKILL.md'}")
