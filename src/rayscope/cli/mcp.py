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
from rayscope.cli.options import DataDir, Host, ServerUrl, Token, settings_from
from rayscope.cli.serving import free_port, reading_server, running_server
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
) -> None:
    """Serve read-only tools for assistants (Model Context Protocol)."""
    try:
        from rayscope.mcp.server import PATH, create_server, http_server
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        fail("rayscope mcp needs the SDK of the Model Context Protocol.", "Run pip install 'rayscope[mcp]'.")
    settings = settings_from(data_dir, host, token=token)
    with _targets(settings, server) as connect:
        served = create_server(connect)
        if not http:
            if sys.stdin.isatty():
                say("waiting for an assistant on stdin; docs/how-to/assistants.md shows how to add one")
            served.run()
            return
        port = free_port(settings.host, port)
        web = http_server(served, settings, port)
        say(f"tools for assistants at http://{settings.host}:{port}{PATH}")
        web.run()


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
            found = None if server or os.environ.get("RAYSCOPE_URL") else running_server(settings.folder)
            url = server or os.environ.get("RAYSCOPE_URL") or (found.url if found else "")
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
        own_url, own_token = stack.enter_context(reading_server(settings))
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
