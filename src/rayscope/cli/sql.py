"""``rayscope sql``: one SELECT over a recorded session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, warn
from rayscope.cli.options import DataDir, ServerUrl, Session, Token, settings_from
from rayscope.cli.printing import Format, print_grid
from rayscope.cli.serving import running_server

if TYPE_CHECKING:
    from rayscope.server.settings import Settings

#: Exit status for a query that was refused or failed.
SQL_ERROR = 1


def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, or - to read it from stdin.")],
    session: Session = None,
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Max rows.")] = 1000,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Query a session with SQL, through the running server or directly from the data directory."""
    if query == "-":
        query = sys.stdin.read()
    settings = settings_from(data_dir, token=token)
    if server is None:
        found = running_server(settings.folder)
        server = found.url if found is not None else None
    if server is not None:
        columns, rows, truncated = _from_server(server, settings.token, query, session, limit)
    else:
        columns, rows, truncated = _from_files(settings.folder, query, session, limit, settings)
    print_grid(form, columns, rows)
    if truncated:
        warn(f"more than {limit:,} rows: use a larger --limit, or aggregate")


Rows = tuple[list[str], list[list[Any]], bool]


def _from_server(url: str, token: str | None, query: str, session: str | None, limit: int) -> Rows:
    try:
        with Api(url, token) as api:
            answer = api.sql(query, session=session, limit=limit)
    except RayscopeError as error:
        fail(error.message, error.remedy, SQL_ERROR)
    names = [str(name) for name, _ in answer["columns"]]
    return names, answer["rows"], bool(answer["truncated"])


def _from_files(folder: Path, query: str, session: str | None, limit: int, settings: Settings) -> Rows:
    from rayscope.storage.errors import StoreError
    from rayscope.user_sql.run import run_sql

    if not folder.is_dir():
        fail(
            f"Data directory not found: {folder}.",
            "Record something with rayscope run, or choose the directory with --data-dir.",
            SQL_ERROR,
        )
    try:
        result = run_sql(
            folder,
            query,
            session,
            limit,
            timeout_s=settings.sql_timeout_s,
            memory_limit=settings.memory_limit,
        )
    except StoreError as error:
        fail(error.message, error.remedy, SQL_ERROR)
    return [name for name, _ in result.columns], result.rows, result.truncated
