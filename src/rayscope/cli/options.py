"""Options that several commands have in common, and the settings that result from them."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.console import fail, say
from rayscope.cli.printing import Format
from rayscope.client.server_url import server_token
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.settings import Settings
    from rayscope.warehouse.client import Warehouse

Form = Annotated[
    Format, typer.Option("--format", help="Output format: a table, or all fields as JSON or CSV.")
]
Limit = Annotated[int, typer.Option("--limit", min=0, help="Max rows (0 = no limit).")]
Sort = Annotated[
    str | None,
    typer.Option("--sort", metavar="FIELD", help="Sort by a field; -FIELD sorts in descending order."),
]
State = Annotated[str | None, typer.Option("--state", help="Filter by state (comma-separated).")]
Job = Annotated[str | None, typer.Option("--job", help="Filter by job.")]
Node = Annotated[str | None, typer.Option("--node", help="Filter by node (name or ID).")]
Function = Annotated[str | None, typer.Option("--function", help="Filter by function.")]
ClassName = Annotated[
    str | None, typer.Option("--class", metavar="TEXT", help="Filter by a part of the actor class.")
]
Name = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="Filter by a part of the name.")]
Internal = Annotated[
    bool,
    typer.Option("--internal", help="Include Ray internals, such as the JobSupervisor of a submitted job."),
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Show whole IDs and all columns, however wide the table gets.")
]
Seek = Annotated[
    str | None, typer.Option("-q", "--query", metavar="TEXT", help="Filter by name, address, or ID prefix.")
]
#: Options for the times that limit a list. See time_ns.
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only what ended after TIME: 10m or 2h ago, 2026-01-31T12:00:00, or ns since the epoch.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Only what started before TIME (same format as --since)."),
]
#: The help panel for the options that select server and session. It comes after the command's own options.
_SERVER = "Server and session"
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Directory for recorded sessions (RAYSCOPE_DATA_DIR; default: ~/.rayscope).",
        rich_help_panel=_SERVER,
    ),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Address to bind (RAYSCOPE_HOST; default: 127.0.0.1). Any other address requires a token.",
        rich_help_panel=_SERVER,
    ),
]
Port = Annotated[
    int | None,
    typer.Option("--port", help="Port to bind (RAYSCOPE_PORT; default: 8700).", rich_help_panel=_SERVER),
]
RootPath = Annotated[
    str | None,
    typer.Option(
        "--root-path",
        metavar="PATH",
        help="Path below which a proxy serves Rayscope (RAYSCOPE_ROOT_PATH), such as /rayscope.",
        show_default=False,
        rich_help_panel=_SERVER,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="@FILE",
        help="API token, read from a file (RAYSCOPE_TOKEN_FILE; RAYSCOPE_TOKEN holds the token itself). "
        "Without @, everyone who can list processes on this machine sees the token.",
        show_default=False,
        rich_help_panel=_SERVER,
    ),
]
Operator = Annotated[
    str | None,
    typer.Option(
        "--operator",
        envvar="RAYSCOPE_OPERATOR",
        help="Operator token, if the server does not use this data directory.",
        show_default=False,
    ),
]
GenerateToken = Annotated[
    bool,
    typer.Option(
        "--generate-token",
        help="Generate a token, print it, and require it from clients.",
        rich_help_panel=_SERVER,
    ),
]
Debugger = Annotated[
    bool,
    typer.Option(
        "--debugger",
        help="Let operators attach debuggers to tasks that wait for one (RAYSCOPE_DEBUGGER).",
        rich_help_panel=_SERVER,
    ),
]
NoTrace = Annotated[
    bool,
    typer.Option(
        "--no-trace",
        help="Disable the tracer, which records objects, their sizes, and what waits for what.",
    ),
]
NoPeakMemory = Annotated[
    bool,
    typer.Option(
        "--no-peak-memory",
        help="Do not measure the peak memory of attempts, which resets VmHWM of Ray's workers.",
    ),
]
Samples = Annotated[
    float | None,
    typer.Option(
        "--samples",
        metavar="HZ",
        min=0,
        max=20,
        help="Samples per second of the stacks of each process that runs tasks (0 = none, default: 1).",
        show_default=False,
    ),
]
NoExitWatch = Annotated[
    bool,
    typer.Option("--no-exit-watch", help="Do not watch how the processes of Ray's nodes end."),
]
NoGpuWatch = Annotated[
    bool,
    typer.Option("--no-gpu-watch", help="Do not measure how busy the GPUs of Ray's nodes are."),
]
NoProfile = Annotated[
    bool, typer.Option("--no-profile", help="Do not record spans of ray.get, ray.put, and ray.wait.")
]
NoFastLane = Annotated[
    bool,
    typer.Option(
        "--no-fast-lane",
        help="Let Ray's agents send events as JSON, as they do without Rayscope installed.",
    ),
]
NoServeEvents = Annotated[
    bool,
    typer.Option("--no-serve-events", help="Do not record tasks of Ray Serve's actors (Serve's default)."),
]
NoTrainState = Annotated[
    bool,
    typer.Option(
        "--no-train-state", help="Do not let Ray Train keep the state of its runs (Train's default)."
    ),
]
ServerUrl = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="URL of the server, or its ingest URL as printed by `rayscope env` on the server's machine.",
        rich_help_panel=_SERVER,
    ),
]

ArchiveUrl = Annotated[
    str | None,
    typer.Option(
        "--archive",
        metavar="URL",
        help="Archive (RAYSCOPE_ARCHIVE): s3://bucket/prefix, gs://, abfss://, or file:///folder.",
        show_default=False,
        rich_help_panel=_SERVER,
    ),
]
WarehouseUrl = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        metavar="URL",
        help="Warehouse (RAYSCOPE_WAREHOUSE, which keeps its password out of the list of processes): "
        "clickhouse://user:password@host:8123/database, clickhouses:// for TLS, or chdb:///folder.",
        show_default=False,
        rich_help_panel=_SERVER,
    ),
]
Sessions = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SESSION]...", help="Session IDs (default: all).", show_default=False),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session",
        help="Session by its name, ID, or a prefix of the ID (default: the newest).",
        rich_help_panel=_SERVER,
    ),
]
SkipFirst = Annotated[
    int,
    typer.Option(
        "--skip-first",
        metavar="N",
        min=0,
        max=20,
        help="Leave out the first N runs of each side, as warm-up.",
    ),
]


def settings_from(
    data_dir: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    token: str | None = None,
    generate_token: bool = False,
    **others: str | bool | None,
) -> Settings:
    """Return the settings from the environment, overridden by the given options.

    If they are invalid, print the error and exit.
    """
    from pydantic import ValidationError

    from rayscope.settings import Settings, new_token

    try:
        token = server_token(token)
    except RayscopeError as error:
        fail(error.message, error.remedy)
    values: dict[str, Any] = {"data_dir": data_dir, "host": host, "port": port, "token": token, **others}
    values = {name: value for name, value in values.items() if value is not None}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "setting"
        fail(
            f"Invalid {name} {first['input']!r}: {first['msg'].removeprefix('Value error, ')}.",
            f"Change --{name.replace('_', '-')} or RAYSCOPE_{name.upper()}.",
        )
    if generate_token:
        if settings.token:
            fail("A token is already set.", "Use either --token or --generate-token.")
        settings = settings.model_copy(update={"token": new_token()})
        say(f"token {settings.token}")
    return settings


def recorded_folder(settings: Settings, code: int) -> Path:
    """Return the data directory, to read it without a server. Exits with ``code`` if it does not exist."""
    if not settings.folder.is_dir():
        fail(
            f"Data directory not found: {settings.folder}.",
            "Record something with rayscope run, or choose the directory with --data-dir.",
            code,
        )
    return settings.folder


@contextlib.contextmanager
def open_warehouse(
    url: str | None, *, create: bool = False, cluster: str | None = None, timeout_s: float | None = None
) -> Iterator[Warehouse]:
    """Open the configured warehouse. If that fails, print the error and exit."""
    from rayscope.warehouse.client import TIMEOUT_S, connect

    url = url or settings_from().warehouse
    if not url:
        fail("No warehouse given.", "Give its URL with --warehouse, or set RAYSCOPE_WAREHOUSE.")
    try:
        with connect(url, create=create, cluster=cluster, timeout_s=timeout_s or TIMEOUT_S) as warehouse:
            yield warehouse
    except RayscopeError as error:
        fail(error.message, error.remedy, 1)


_AGO = re.compile(r"(\d+(?:\.\d+)?)\s?([smhd])")
#: Length of each unit of relative times, in seconds.
UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def time_ns(option: str, text: str | None) -> int | None:
    """Parse a time, and return it as ns since the epoch.

    ``10m`` is ten minutes ago. A time without a time zone is local.
    """
    if text is None:
        return None
    try:
        if text.isascii() and text.isdigit():
            found_ns = int(text)
        elif ago := _AGO.fullmatch(text):
            found_ns = time.time_ns() - round(float(ago[1]) * UNIT_S[ago[2]] * 1e9)
        else:
            found_ns = int(datetime.fromisoformat(text).timestamp() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        found_ns = -1
    if not 0 <= found_ns < 1 << 63:
        fail(
            f"Invalid {option}: {text!r}.",
            "Use 10m, 2h or 3d for a time ago, 2026-01-31T12:00:00, or ns since the epoch.",
        )
    return found_ns


def between(since: str | None, until: str | None) -> dict[str, Any]:
    """Return the filters for a time range, without those that are None."""
    times = {"since_ns": time_ns("--since", since), "until_ns": time_ns("--until", until)}
    return {name: value for name, value in times.items() if value is not None}
