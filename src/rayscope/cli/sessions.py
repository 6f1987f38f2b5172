"""``rayscope sessions`` and ``open``: list and edit recorded sessions, and open one in a browser."""

from __future__ import annotations

import contextlib
import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, say, shown, visible
from rayscope.cli.lazy import ListByDefault
from rayscope.cli.lists import took
from rayscope.cli.options import DataDir, Form, Limit, ServerUrl, Session, Token, Wide, settings_from
from rayscope.cli.printing import Column, Format, failed_of, print_list, state, text, when
from rayscope.cli.serving import any_server, serve_until_stopped
from rayscope.cli.session_files import files_server
from rayscope.cli.summary import session_name, session_title, session_url
from rayscope.client import Client
from rayscope.units import size

if TYPE_CHECKING:
    from rayscope.client.types import SessionItem

app = typer.Typer(
    cls=ListByDefault,
    help="List, name, annotate, and delete recorded sessions.\n\nWithout a command, it lists them.",
)

Chosen = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="Session ID, or a prefix of it.", show_default=False),
]

_SESSIONS = (
    Column("name", lambda row: shown(session_name(row)), long=True),
    Column("id", lambda row: shown(str(row["session"]).removeprefix("session_")[:19])),
    took("first_ns", "last_ns"),
    text("host"),
    state(),
    Column("tasks", lambda row: f"{row.get('tasks') or 0:,}", right=True),
    Column("failed", lambda row: f"{failed_of((row.get('states') or {}).get('FAILED'), row):,}", right=True),
    when("first_ns", "started"),
    Column("tags", lambda row: shown(", ".join(row.get("tags") or []))),
    text("note", long=True),
    text("location"),
    text("jobs", right=True),
    text("nodes", right=True),
    Column("disk", lambda row: size(row.get("disk_bytes")), right=True),
    text("ray_version", "ray"),
    text("session"),
)


@app.command("list")
def list_(
    query: Annotated[
        str | None,
        typer.Option("-q", "--query", metavar="TEXT", help="Filter by name, script, host, tag, note, or ID."),
    ] = None,
    limit: Limit = 100,
    form: Form = Format.table,
    wide: Wide = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List recorded sessions, newest first."""
    with open_client(server, data_dir, token) as client:
        print_list(form, client.sessions(limit=limit or None, q=query), _SESSIONS, wide)


@app.command("rename")
def rename(
    session: Chosen,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name to show (empty: use the script's).", show_default=False),
    ],
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Name a session. Requires the operator token."""
    with open_client(server, data_dir, token, needs_server=True) as client:
        row = client.label_session(_find(client, session)["session"], name=name)
    say(shown(session_title(row)))


@app.command("note")
def note(
    session: Chosen,
    words: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="Note (empty removes it). Without TEXT, the note is printed."),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="Tag (repeatable). Replaces the previous tags.")
    ] = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Print or change a session's note and tags. Changes require the operator token."""
    is_change = words is not None or bool(tags)
    with open_client(server, data_dir, token, needs_server=is_change) as client:
        row = _find(client, session)
        if is_change:
            row = client.label_session(row["session"], note=words, tags=tags or None)
    for line in (" ".join(f"#{tag}" for tag in row["tags"]), row["note"]):
        if line:
            typer.echo(visible(line))


@app.command("delete")
def delete(
    session: Chosen,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Delete it even if it is still being recorded.")
    ] = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Delete a session's record, with its metrics and logs. Requires the operator token."""
    with open_client(server, data_dir, token, needs_server=True) as client:
        row = _find(client, session)
        title = shown(session_title(row))
        if not yes and not typer.confirm(f"Delete {title} ({row['session']}) for good?"):
            raise typer.Exit(1)
        client.delete_session(row["session"], force=force)
    say(f"deleted {title}")


def _find(client: Client, session: str) -> SessionItem:
    """Return the session that has this name, or whose ID begins with it."""
    return next(iter(client.sessions(name=session)))


def open_ui(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Session file to open, from `rayscope export --format session`.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Task to show: its ID, or a prefix of at least 4 characters.")
    ] = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Open a session or a session file in the web browser, and print its URL.

    If no server is running, one serves the UI until Ctrl-C. A FILE is always served by one of its own, which
    has only its session and leaves nothing behind.
    """
    if file is not None:
        if session or data_dir or server:
            fail("A file is opened by a server of its own.", "Leave out --session, --data-dir, and --server.")
        _open_file(file, task, token)
        return
    with contextlib.ExitStack() as stack:
        serving = None
        if not (server or os.environ.get("RAYSCOPE_URL")):
            serving = stack.enter_context(any_server(settings_from(data_dir, token=token)))
        client = stack.enter_context(open_client(server, data_dir, token, session, needs_server=True))
        _show(client, task)
        if serving is not None and serving.own:
            serve_until_stopped("serving the UI; press Ctrl-C to stop")


def _show(client: Api, task: str | None) -> None:
    """Print the URL of the client's session, or of a task in it, and open it in the browser."""
    name = client.summary()["session"]
    url = session_url(client.url, name)
    if task is not None:
        url = f"{client.url}/s/{name}?task={client.task(task, session=name)['task_id']}"
    typer.echo(url)
    if not webbrowser.open(url):
        say("no browser here: open the URL yourself")


def _open_file(file: Path, task: str | None, token: str | None) -> None:
    settings = settings_from(token=token)
    if not file.is_file():
        fail(f"File not found: {file}.", "Export one: rayscope export --format session")
    try:
        with (
            files_server(settings, [file]) as (serving, (session,)),
            Api(serving.url, settings.token, session=session) as client,
        ):
            _show(client, task)
            serve_until_stopped("serving the file; press Ctrl-C to stop")
    except RayscopeError as error:
        fail(error.message, error.remedy)
