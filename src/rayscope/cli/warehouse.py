"""``rayscope warehouse``: sessions of all clusters in shared tables of ClickHouse."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.console import say, shown, warn
from rayscope.cli.lists import took
from rayscope.cli.options import (
    DataDir,
    Form,
    Sessions,
    WarehouseUrl,
    Wide,
    open_warehouse,
    recorded_folder,
    settings_from,
)
from rayscope.cli.printing import Column, Format, print_rows, text, when
from rayscope.storage.errors import StoreError
from rayscope.units import duration

if TYPE_CHECKING:
    from rayscope.warehouse.schema import Layout

app = typer.Typer(help="Load sessions into ClickHouse, to query all of them at once.", no_args_is_help=True)

#: Exit status if something could not be loaded.
_ERROR = 1
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="ClickHouse's name of a cluster: replicated tables, sharded by session (default: one node).",
        show_default=False,
    ),
]
_COLUMNS = (
    Column("name", lambda row: shown(row["name"] or "-"), long=True),
    text("session"),
    text("cluster"),
    when("first_ns", "started"),
    took("first_ns", "last_ns"),
    Column("attempts", lambda row: f"{row['attempts']:,}", right=True),
    Column("failed", lambda row: f"{row['failed']:,}", right=True),
    when("loaded_ns", "loaded"),
)

_SERVERS = (
    text("server"),
    text("url"),
    text("state"),
    Column("heard_s", lambda row: f"{duration(row['heard_s'] * 1e9)} ago", right=True),
    Column("sessions", lambda row: f"{row['sessions']:,}", right=True),
)


@app.command("init")
def init(cluster: Cluster = None, warehouse: WarehouseUrl = None) -> None:
    """Create the tables of a warehouse, or migrate those of an older Rayscope. It may be repeated."""
    from rayscope.warehouse import migrate

    with open_warehouse(warehouse, create=True, cluster=cluster) as opened:
        before, now = migrate.init(opened, _layout(cluster))
        if not before:
            say(f"made the warehouse at {opened.url} (version {now})")
        elif before < now:
            say(f"migrated the warehouse at {opened.url} from version {before} to {now}")
        else:
            say(f"the warehouse at {opened.url} is of version {now}")


@app.command("load")
def load(
    sessions: Sessions = None,
    again: Annotated[
        bool, typer.Option("--again", help="Load sessions that the warehouse has as they are here, too.")
    ] = False,
    data_dir: DataDir = None,
    warehouse: WarehouseUrl = None,
) -> None:
    """Load sessions of the data directory, which is only read, into the warehouse.

    It may be repeated, and run on several machines at once: duplicates are merged. A live session is loaded
    as far as it has been recorded, and loaded again by the next load.
    """
    from rayscope.storage.catalog import Catalog
    from rayscope.warehouse import migrate
    from rayscope.warehouse.load import load as load_session
    from rayscope.warehouse.servers import publishing

    catalog = Catalog(recorded_folder(settings_from(data_dir), _ERROR), read_only=True)
    oldest_ns = _oldest_ns()
    failed = 0
    server, url = f"load-{socket.gethostname()}-{os.getpid()}", warehouse or settings_from().warehouse or ""
    with open_warehouse(warehouse) as opened, ExitStack() as stack:
        migrate.check(opened)
        publisher = stack.enter_context(publishing(server, url))
        for name in sessions or reversed(catalog.names()):
            title = name
            try:
                about = catalog.about(name)
                title = shown(about.name or name)
                if not catalog.path(name).exists():
                    warn(f"{title}: not loaded, its record is not on this disk")
                    failed += bool(sessions)
                    continue
                if about.first_ns < oldest_ns:
                    say(f"{title}: not loaded, older than RAYSCOPE_WAREHOUSE_MAX_AGE_DAYS")
                    continue
                made = load_session(opened, publisher, catalog.path(name), about, again=again)
            except StoreError as error:
                # A damaged record affects only its session. A full or unreachable warehouse affects all
                # sessions.
                if error.code not in ("not_found", "corrupt", "newer", "older", "unusable"):
                    raise
                warn(f"{title}: not loaded. {error}")
                failed += 1
                continue
            if made is None:
                say(f"{title}: already loaded")
            else:
                took = duration(made.seconds * 1e9)
                say(f"{title}: loaded {made.attempts:,} attempts, {made.rows:,} rows, {took}")
    if failed:
        raise typer.Exit(_ERROR)


@app.command("list")
def list_(warehouse: WarehouseUrl = None, form: Form = Format.table, wide: Wide = False) -> None:
    """List the sessions of the warehouse, newest first."""
    from rayscope.warehouse import migrate

    with open_warehouse(warehouse) as opened:
        migrate.check(opened)
        found = opened.query("SELECT * EXCEPT (day, stamp) FROM sessions ORDER BY first_ns DESC, session")
        rows: list[dict[str, Any]] = [
            dict(zip(found.column_names, row, strict=True)) for row in found.result_rows
        ]
        if not rows:
            say(f"nothing is loaded in {opened.url}")
    print_rows(form, rows, _COLUMNS, wide)


@app.command("servers")
def servers(warehouse: WarehouseUrl = None, form: Form = Format.table, wide: Wide = False) -> None:
    """List the servers that share the warehouse, those that have been running longest first."""
    from rayscope.warehouse import migrate
    from rayscope.warehouse.servers import read_members

    with open_warehouse(warehouse) as opened:
        migrate.check(opened)
        rows: list[dict[str, Any]] = [
            {
                "server": member.server,
                "url": member.url,
                "state": "alive" if member.is_alive else "gone",
                "heard_s": round(member.age_s, 1),
                "sessions": len(member.watches),
            }
            for member in read_members(opened)
            if member.url
        ]
        if not rows:
            say(f"no server has used {opened.url} within a day")
    print_rows(form, rows, _SERVERS, wide)


@app.command("ddl")
def ddl(cluster: Cluster = None) -> None:
    """Print the statements that create a warehouse, to review them or to run them with other tools.

    RAYSCOPE_WAREHOUSE_MAX_AGE_DAYS determines the rule that deletes old sessions.
    """
    from rayscope.warehouse import migrate

    for statement in migrate.create_statements(_layout(cluster)):
        print(f"{statement};\n")


def _oldest_ns() -> int:
    """Return the earliest start time of a session to load. Older ones would be deleted immediately."""
    days = settings_from().warehouse_max_age_days
    return 0 if days is None else time.time_ns() - days * 86400 * 10**9


def _layout(cluster: str | None) -> Layout:
    from rayscope.warehouse.schema import Layout

    return Layout(cluster or None, settings_from().warehouse_max_age_days)
