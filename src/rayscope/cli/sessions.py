"""``rayscope sessions`` and ``open``: what is on record, and the UI of it in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from rayscope.cli.api import asking
from rayscope.cli.console import say
from rayscope.cli.lists import Form, Limit, Wide, print_list, took
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.printing import Column, Format, size, state, text, when
from rayscope.cli.summary import session_url

_SESSIONS = (
    text("session"),
    state(),
    Column("tasks", lambda row: f"{row.get('tasks') or 0:,}", right=True),
    Column("failed", lambda row: f"{(row.get('states') or {}).get('FAILED', 0):,}", right=True),
    when("first_ns", "started"),
    took("first_ns", "last_ns"),
    text("jobs", right=True),
    text("nodes", right=True),
    Column("disk", lambda row: size(row.get("disk_bytes")), right=True),
    text("ray_version", "ray"),
)


def sessions(
    limit: Limit = 100,
    form: Form = Format.table,
    wide: Wide = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List the recorded sessions, newest first."""
    with asking(server, data_dir, token) as client:
        print_list(form, client.sessions(limit=limit or None), _SESSIONS, wide)


def open_ui(
    task: Annotated[
        str | None, typer.Option("--task", help="Task to show: its ID, or its first 4 letters or more.")
    ] = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Open a session in the web browser, and print its URL."""
    with asking(server, data_dir, token, session) as client:
        name = client.summary()["session"]
        url = session_url(client.url, name)
        if task is not None:
            url = f"{client.url}/s/{name}?task={client.task(task, session=name)['task_id']}"
    typer.echo(url)
    if not webbrowser.open(url):
        say("no browser here: open the URL yourself")
