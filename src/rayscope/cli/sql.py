"""``rayscope sql``: run a SELECT over a recorded session, or over all sessions of a warehouse."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, warn
from rayscope.cli.options import (
    DataDir,
    ServerUrl,
    Session,
    Token,
    WarehouseUrl,
    open_warehouse,
    recorded_folder,
    settings_from,
)
from rayscope.cli.printing import Format, print_grid
from rayscope.cli.serving import server_url

if TYPE_CHECKING:
    from rayscope.settings import Settings

#: Exit status for a query that was refused or failed.
SQL_ERROR = 1


def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, or - to read it from stdin.")],
    session: Session = None,
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Max rows.")] = 1000,
    over_all: Annotated[
        bool, typer.Option("--all", help="Query all sessions of the warehouse, in ClickHouse's SQL.")
    ] = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
    warehouse: WarehouseUrl = None,
) -> None:
    """Query a session with SQL, or all sessions of the warehouse (--all)."""
    if query == "-":
        query = sys.stdin.read()
    settings = settings_from(data_dir, token=token)
    if over_all:
        if session is not None or server is not None:
            fail("--all asks the warehouse, not a session or a server.", "Use WHERE session = '...' instead.")
        columns, rows, truncated = _from_warehouse(warehouse, query, limit, settings)
    elif warehouse is not None:
        fail("--warehouse is for queries over all sessions.", "Add --all.")
    elif (url := server_url(server, settings.folder)) is not None:
        columns, rows, truncated = _from_server(url, settings.token, query, session, limit)
    else:
        columns, rows, truncated = _from_files(settings, query, session, limit)
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


def _from_warehouse(url: str | None, query: str, limit: int, settings: Settings) -> Rows:
    from rayscope.warehouse import migrate
    from rayscope.warehouse.query import run_sql

    with open_warehouse(url, timeout_s=settings.sql_timeout_s) as warehouse:
        migrate.check(warehouse)
        answer = run_sql(warehouse, query, limit=limit, timeout_s=settings.sql_timeout_s)
    return [name for name, _ in answer.columns], answer.rows, answer.truncated


def _from_files(settings: Settings, query: str, session: str | None, limit: int) -> Rows:
    from rayscope.storage.errors import StoreError
    from rayscope.user_sql.run import run_sql

    folder = recorded_folder(settings, SQL_ERROR)
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
