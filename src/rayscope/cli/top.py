"""``rayscope top``: a live view of the cluster in the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer
from rich.live import Live

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, stdout
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.top_view import SORTS, Look, picture
from rayscope.client import Client, RayscopeError

#: Number of nodes to request, which is more than fits on a screen.
_NODES = 100
#: Number of jobs to request, which is more than fits on a screen.
_JOBS = 50


def top(
    sort: Annotated[str, typer.Option("--sort", help=f"Sort nodes by {', '.join(SORTS)}.")] = "cpu",
    interval_s: Annotated[
        float, typer.Option("--interval", min=0.5, help="Refresh interval in seconds.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Show live nodes, jobs, functions, and alerts. q: quit, s: change sort."""
    if sort not in SORTS:
        fail(f"Cannot sort nodes by {sort!r}.", f"Use one of: {', '.join(SORTS)}.")
    with open_client(server, data_dir, token, session) as client:
        look = take_look(client, sort)
        console = stdout()
        if once or not console.is_terminal:
            height = max(console.height, 24)
            console.print(picture(look, sort, console.width, height, keys=False))
            return
        _live(client, look, sort, interval_s)


def take_look(client: Client, sort: str) -> Look:
    """Return the current state of the client's session (by default, the newest). Raises RayscopeError."""
    sessions = client.sessions(limit=1 if client.session is None else None)
    about = next((one for one in sessions if client.session in (None, one["session"])), None)
    if about is None:
        what = f"Session {client.session!r} not found." if client.session else "No sessions recorded yet."
        raise RayscopeError(what, "Record one: rayscope run SCRIPT, or rayscope attach ADDRESS.", "not_found")
    name = about["session"]
    state = "ALIVE" if about["state"] == "live" else ""
    nodes = client.nodes(session=name, sort=SORTS[sort], limit=_NODES, state=state)
    jobs = client.jobs(session=name, limit=_JOBS)
    return Look(
        about,
        time.time_ns(),
        nodes.to_list(),
        nodes.total or 0,
        jobs.to_list(),
        jobs.total or 0,
        client.summary(name)["functions"],
        client.alerts(name)["items"],
        libraries=client.cluster(name)["libraries"],
    )


def _live(client: Client, look: Look, sort: str, interval_s: float) -> None:
    console = stdout()
    with (
        contextlib.suppress(KeyboardInterrupt),
        _keyboard() as keys,
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while True:
            live.update(picture(look, sort, console.width, console.height, keys=keys), refresh=True)
            key = _key(interval_s, keyboard=keys)
            if key == "q":
                return
            if key == "s":
                names = list(SORTS)
                sort = names[(names.index(sort) + 1) % len(names)]
            try:
                look = take_look(client, sort)
            except RayscopeError as error:
                look = replace(look, problem=f"{error.message} {error.remedy}")


@contextlib.contextmanager
def _keyboard() -> Iterator[bool]:
    """Read single keys without echo during the block. Yields whether stdin is a terminal."""
    if not sys.stdin.isatty():
        yield False
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield True
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key(timeout_s: float, *, keyboard: bool) -> str | None:
    """Return the key that is pressed within ``timeout_s``, or None if there is none."""
    if not keyboard:
        time.sleep(timeout_s)
        return None
    ready, _, _ = select.select([sys.stdin], [], [], timeout_s)
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace").lower() if ready else None
