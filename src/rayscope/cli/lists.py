"""``rayscope tasks``, ``actors``, ``nodes``, ``functions``, and others: lists for people and programs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import shown
from rayscope.cli.options import (
    ClassName,
    DataDir,
    Form,
    Function,
    Internal,
    Job,
    Limit,
    Name,
    Node,
    Seek,
    ServerUrl,
    Session,
    Since,
    Sort,
    State,
    Token,
    Until,
    Wide,
    between,
)
from rayscope.cli.printing import (
    PHASES,
    Column,
    Format,
    Row,
    error_line,
    failed_of,
    identity,
    print_list,
    state,
    text,
    when,
)
from rayscope.model.node_title import node_title
from rayscope.model.writer import writer_title
from rayscope.units import duration, size


def share(value: float | None) -> str:
    """Format a percentage, or ``-`` if it is unknown."""
    return "-" if value is None else f"{value:.0f}%"


def used(name: str) -> Any:
    """Return a function that formats a node's usage of a resource in percent, for a column."""
    return lambda row: share((row.get("usage") or {}).get(name))


def took(begin: str, end: str) -> Column:
    """Return a column for the duration between two time fields. It is empty if either is unknown."""

    def value(row: Row) -> str:
        first, last = row.get(begin), row.get(end)
        return "" if first is None or last is None else duration(last - first)

    return Column("took", value, right=True)


_DURATION = Column("duration", lambda row: duration(row.get("duration_ns")), right=True)
_TASKS = (
    text("name", long=True),
    state(),
    _DURATION,
    identity("task_id"),
    Column("peak memory", lambda row: size(row.get("peak_memory")), right=True),
    when("created_ns", "created"),
    text("error_summary", "error", long=True),
    text("attempt"),
    text("worker_pid", "pid", right=True),
    text("node", long=True),
    identity("node_id")._replace(title="node id"),
    text("job_id"),
)
_ACTORS = (
    text("class_name", "class", long=True),
    text("name", long=True),
    state(),
    identity("actor_id"),
    text("num_restarts", "restarts", right=True),
    text("pid", right=True),
    error_line("death_reason", "death reason"),
    when("start_ns", "started"),
    text("node", long=True),
    identity("node_id")._replace(title="node id"),
    text("job_id"),
)
_NODES = (
    Column("node", lambda row: shown(node_title(row)), long=True),
    state(),
    identity("node_id")._replace(title="node id"),
    Column("cpu", used("cpu_percent"), right=True),
    Column("mem", used("mem_percent"), right=True),
    Column("store", used("object_store_percent"), right=True),
    Column("gpu", used("gpu_percent"), right=True),
    text("workers", right=True),
    text("running", right=True),
    text("node_ip", "ip"),
    text("hostname", long=True),
    error_line("death_message", "death reason"),
    when("start_ns", "started"),
)


def _runs(row: Row) -> str:
    """Describe what a worker runs: its oldest attempt, with duration and waits, and the number of others."""
    if not row["attempts"]:
        return ""
    first = row["attempts"][0]
    since = first["since_ns"] if first["situation"] == "running" else first["situation_ns"]
    parts = [shown(first["name"])]
    if since is not None:
        parts.append(duration(max(0, time.time_ns() - since)))
    if row["running"] > 1:
        parts.append(f"+{row['running'] - 1:,}")
    if first["situation"] == "running" and not first["is_traced"]:
        parts.append("(or blocked: not traced)")
    elif first["situation"] != "running":
        parts.append(f"({PHASES.get(first['situation'], first['situation'])}{_waited(first)})")
    return " ".join(parts)


def _gpus(row: Row) -> str:
    return ", ".join(f"{shown(one['index'] or '?')} ({one['share']:g})" for one in row["gpus"])


def _waited(attempt: Row) -> str:
    names = ", ".join(f"{one['name']} x{one['count']:,}" for one in attempt["blocked_on"])
    return f" on {shown(names)}" if names else ""


_WORKERS = (
    Column("worker", lambda row: shown(writer_title(row, str(row["worker_type"]).lower())), long=True),
    Column("running", _runs, long=True),
    Column("gpus", _gpus),
    text("pid", right=True),
    text("worker_type", "type"),
    state(),
    identity("worker_id"),
    Column("cpu", lambda row: share(row.get("cpu_percent")), right=True),
    Column("memory", lambda row: size(row.get("memory_bytes")), right=True),
    text("exit_type", "exit"),
    error_line("exit_detail", "why"),
    text("node", long=True),
    identity("node_id")._replace(title="node id"),
    text("job_id"),
)


def _events_text(row: Row) -> str:
    what = " ".join(str(row[name]) for name in ("title", "message") if row.get(name))
    return f"{what} ({row['count']} times)" if (row.get("count") or 1) > 1 else what


#: How to show the outcome of a group of failures.
_OUTCOMES = {
    "final": Text("failed", "red"),
    "retrying": Text("retrying", "yellow"),
    "recovered": Text("recovered by retry", "dim"),
}
_FAILURES = (
    Column("outcome", lambda row: _OUTCOMES[row["outcome"]]),
    text("func_name", "function", long=True),
    text("message", long=True),
    Column("line", lambda row: f"{row['file']}:{row['line']}" if row.get("file") else "-"),
    text("attempts", right=True),
    text("tasks", right=True),
    when("first_ns", "first"),
    when("last_ns", "last"),
    text("error_type"),
)


def _count(row: Row, name: str) -> int:
    """Return how many attempts of a function are in the state ``name``."""
    return failed_of(row.get(name), row) if name == "failed" else row.get(name) or 0


_FUNCTIONS = (
    text("func_name", "function", long=True),
    *(
        Column(title, lambda row, name=title: f"{_count(row, name):,}", right=True)  # type: ignore[misc]
        for title in ("attempts", "failed", "running")
    ),
    *(
        Column(title, lambda row, name=name: duration(row.get(name)), right=True)  # type: ignore[misc]
        for title, name in (
            *(("p50", "p50_ns"), ("p95", "p95_ns"), ("max", "max_ns")),
            *(("duration", "duration_ns"), ("executing", "executing_ns"), ("awaiting", "awaiting_ns")),
            *(("CPU", "cpu_ns"), ("waiting", "waiting_ns"), ("total", "total_ns")),
        )
    ),
    Column("peak memory", lambda row: size(row.get("max_memory")), right=True),
    text("type"),
)
#: Fields of a function's row that come from its scheduling.
_SCHEDULING_FIELDS = ("executing_ns", "awaiting_ns", "blocked_ns", "storing_ns", "cpu_ns")
_PLACEMENT_GROUPS = (
    text("name", long=True),
    state(),
    identity("placement_group_id"),
    text("strategy"),
    when("created_ns", "created"),
    text("job_id"),
)
_EVENTS = (
    when("time_ns", "time"),
    state("severity"),
    text("event"),
    Column("what", lambda row: text("what").value({"what": _events_text(row)}), long=True),
    text("node", long=True),
)


def without_none(**filters: str | None) -> dict[str, Any]:
    """Return the filters that are not None."""
    return {name: value for name, value in filters.items() if value is not None}


#: The options of the list commands, by parameter name, as annotations for their parameters.
_OPTIONS: dict[str, Any] = {
    "state": State,
    "severity": Annotated[
        str | None,
        typer.Option("--severity", help="Filter by severity: ERROR, WARNING, INFO (comma-separated)."),
    ],
    "kind": Annotated[
        str | None,
        typer.Option("--kind", help="Filter by type: node, worker, actor, job, placement_group, task, loss."),
    ],
    "type": Annotated[str | None, typer.Option("--type", help="DRIVER or SUBMISSION.")],
    "at_least": Annotated[
        str | None,
        typer.Option("--at-least", help="Min utilization, such as cpu_percent:80,mem_percent:50."),
    ],
    "job": Job,
    "node": Node,
    "worker": Annotated[str | None, typer.Option("--worker", help="Filter by worker.")],
    "actor": Annotated[str | None, typer.Option("--actor", help="Filter by actor.")],
    "function": Function,
    "class_name": ClassName,
    "name": Name,
    "error_type": Annotated[str | None, typer.Option("--error-type", help="Filter by error type.")],
    "query": Seek,
    "internal": Internal,
    "since": Since,
    "until": Until,
    "sort": Sort,
    "limit": Limit,
    "form": Form,
    "wide": Wide,
    "session": Session,
    "data_dir": DataDir,
    "server": ServerUrl,
    "token": Token,
}
_DEFAULTS = {"internal": False, "limit": 100, "form": Format.table, "wide": False}
#: Options that every list has after its own filters.
_SHARED = ("since", "until", "sort", "limit", "form", "wide", "session", "data_dir", "server", "token")
#: Maps options to the client's filters, for options that have a shorter name than the filter.
_FILTERS = {
    "job": "job_id",
    "node": "node_id",
    "worker": "worker_id",
    "actor": "actor_id",
    "function": "func_name",
    "query": "q",
}


def list_command(
    method: str, description: str, columns: Sequence[Column], own: str, *, has_node: bool = True
) -> Callable[..., None]:
    """Return a command that lists what a method of the client returns.

    ``own`` contains the names of the command's own filters, separated by blanks. ``has_node``: a column
    identifies a node by its ID.
    """
    names = [*own.split(), *(name for name in _SHARED if method != "events" or name != "sort")]

    def command(**given: Any) -> None:
        filters = {_FILTERS.get(name, name): given[name] for name in own.split()} | between(
            given["since"], given["until"]
        )
        filters = {name: value for name, value in filters.items() if value is not None}
        with open_client(given["server"], given["data_dir"], given["token"], given["session"]) as client:
            if "sort" in given:
                filters["sort"] = given["sort"]
            rows = getattr(client, method)(limit=given["limit"] or None, **filters)
            print_list(given["form"], rows, columns, given["wide"], client=client if has_node else None)

    command.__name__, command.__doc__ = method, description
    command.__annotations__ = {name: _OPTIONS[name] for name in names}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_DEFAULTS.get(name),
                annotation=_OPTIONS[name],
            )
            for name in names
        ]
    )
    return command


tasks = list_command(
    "tasks",
    "List task attempts, newest first.",
    _TASKS,
    "state job node worker actor function name error_type query",
)
actors = list_command(
    "actors", "List actors, alive and dead.", _ACTORS, "state job node class_name name query internal"
)
nodes = list_command(
    "nodes", "List nodes with their utilization.", _NODES, "state at_least query", has_node=False
)
workers = list_command(
    "workers",
    "List worker processes and drivers, newest first.",
    _WORKERS,
    "state job node class_name query internal",
)
placement_groups = list_command(
    "placement_groups",
    "List placement groups, newest first.",
    _PLACEMENT_GROUPS,
    "state job query",
    has_node=False,
)
events = list_command("events", "List events, newest first.", _EVENTS, "severity kind job node query")


def failures(
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", help="Filter by outcome: final (failed), retrying, or recovered."),
    ] = None,
    job: Job = None,
    function: Function = None,
    query: Seek = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Max groups.")] = 100,
    form: Form = Format.table,
    wide: Wide = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List failures by function, error, and line, unrecovered ones first."""
    filters = without_none(job_id=job, func_name=function, q=query)
    filters |= between(since, until)
    with open_client(server, data_dir, token, session) as client:
        found = client.failures(outcome=outcome, limit=limit, **filters)
    print_list(form, found["items"], _FAILURES, wide, total=found["total"])


def functions(
    job: Job = None,
    name: Name = None,
    query: Seek = None,
    since: Since = None,
    until: Until = None,
    form: Form = Format.table,
    wide: Wide = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List the 50 functions with the longest total duration."""
    with open_client(server, data_dir, token, session) as client:
        found = client.functions(**without_none(job_id=job, name=name, q=query), **between(since, until))
        scheduled: dict[str | None, Row] = {}
        if not (name or query):  # these filters may match only some of a function's attempts
            items = client.scheduling(job_id=job, limit=1000, **between(since, until))["items"]
            scheduled = {one["func_name"]: one for one in items}
    rows = [
        {**row, **{field: scheduled.get(row["func_name"], {}).get(field) for field in _SCHEDULING_FIELDS}}
        for row in found["items"]
    ]
    print_list(form, rows, _FUNCTIONS, wide)
