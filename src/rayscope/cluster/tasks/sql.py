"""Queries task attempts: filters, sorting and keyset pages, and the details of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from rayscope.cluster.placement import gpu_use_sql
from rayscope.cluster.placement.gpus_sql import gpus_of_actors, gpus_of_attempts
from rayscope.cluster.tasks import flow_sql, schemas
from rayscope.cluster.tasks.lost import add_lost_with
from rayscope.model import PHASES, STATES
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.rows import join_id
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import CUT_ERROR, ERROR_SUMMARY
from rayscope.storage.sql.execution import (
    BLOCKED_ON,
    CREATED,
    END,
    FUNCTION,
    START,
    START_LOST,
    still_blocked,
    times,
)
from rayscope.storage.sql.filters import (
    MESSAGE_CHARS,
    TaskFilters,
    attempt_filters,
    is_task,
)
from rayscope.storage.sql.pages import (
    Page,
    Row,
    Where,
    check_limit,
    count_and_edge,
    decode_cursor,
    direction_of,
    encode_cursor,
    rows_of,
)
from rayscope.storage.sql.samples import ABOUT_SAMPLES

_ITEM = (
    f"task_hi, task_lo, attempt, {SHOWN_NAME} AS name, {FUNCTION} AS func_name, type, "
    "coalesce(state, 'NIL') AS state, "
    "coalesce(reported_state, 'NIL') AS reported_state, end_known_by, job_id, actor_id, "
    "parent_hi, parent_lo, named_parent, node_id, worker_id, worker_pid, placement_group_id, error_type, "
    f"left(error_message, {MESSAGE_CHARS}) AS error_message, {ERROR_SUMMARY}, "
    f"{CREATED} AS created_ns, {START} AS start_ns, "
    f"{END} AS end_ns, cpu_ns, peak_memory, start_memory, memory_scope"
)
_TIMES = ("duration", "waiting", "total")
#: SQL for each sort key, which is never NULL. ``$last``: when the session was last heard from.
_SORTS: Mapping[str, str] = {
    "created_ns": f"coalesce({CREATED}, 0)",
    "start_ns": f"coalesce({START}, 0)",
    "end_ns": f"coalesce({END}, 0)",
    **{f"{name}_ns": f"coalesce({times('$last')[name]}, -1)" for name in _TIMES},
    "peak_memory": "coalesce(peak_memory, -1)",
    "name": f"coalesce({SHOWN_NAME}, '')",
    "state": "coalesce(state, '')",
}
_TEXT_SORTS = frozenset({"name", "state"})


#: Maximum number of candidates that an error names if the beginning of an ID is ambiguous.
_MAX_CANDIDATES = 5


def find_task(reader: duckdb.DuckDBPyConnection, task_id: str) -> tuple[int, str]:
    """The two parts of the ID of the recorded task whose ID is or begins with ``task_id``.

    Raises NotFound, or BadQuery if ``task_id`` is ambiguous or not an ID.
    """
    matches, values = is_task("task", task_id)
    found = reader.execute(
        f"SELECT task_hi, task_lo, any_value({SHOWN_NAME}), count(*) OVER () FROM attempts WHERE {matches} "
        f"GROUP BY task_hi, task_lo ORDER BY task_hi, task_lo LIMIT {_MAX_CANDIDATES}",
        values,
    ).fetchall()
    if not found:
        raise NotFound(
            f"Task {task_id[:80]!r} not found in this session.",
            "GET /api/v1/tasks lists the tasks.",
            what="task",
            id=task_id[:80],
        )
    if len(found) > 1:
        candidates = ", ".join(f"{join_id(high, low)} ({name or '?'})" for high, low, name, _ in found)
        more = f" and {found[0][3] - len(found)} more" if found[0][3] > len(found) else ""
        raise BadQuery(
            f"{found[0][3]} tasks have an ID that starts with {task_id[:80]!r}.",
            f"Use more of the ID: {candidates}{more}.",
            what="task_prefix",
            number=int(found[0][3]),
            text=task_id[:80],
        )
    return found[0][0], found[0][1]


def _columns(last_ns: int) -> str:
    """SQL for an attempt's columns in lists. ``last_ns``: the end that is assumed for running attempts."""
    of_attempt = times(int(last_ns))
    return f"{_ITEM}, " + ", ".join(f"{of_attempt[name]} AS {name}_ns" for name in _TIMES)


def _item(row: Row) -> None:
    """Turn the columns of an attempt into the fields of an item."""
    row["task_id"] = join_id(row.pop("task_hi"), row.pop("task_lo"))
    row["caller_task_id"] = join_id(row.pop("parent_hi"), row.pop("parent_lo"))
    named = row.pop("named_parent")
    row["parent_task_id"] = row["caller_task_id"] if named is None else named or None


def list_attempts(
    file: SessionFile,
    filters: TaskFilters,
    *,
    sort: str = "-created_ns",
    limit: int = 100,
    cursor: str | None = None,
    last_ns: int,
) -> Page[schemas.TaskItem]:
    """A page of task attempts. ``last_ns``: the end that is assumed for running attempts. Raises BadQuery."""
    check_limit(limit)
    name, descending = direction_of(sort, tuple(_SORTS))
    key = _SORTS[name].replace("$last", str(int(last_ns)))
    where = attempt_filters(filters)
    order = "DESC" if descending else "ASC"
    with file.reader() as reader:
        after = Where([], [])
        if cursor:
            # Use the durations as of the first page. Otherwise, running attempts would move between pages.
            _, value, high, low, attempt, last_ns = decode_cursor(
                cursor, sort, [str if name in _TEXT_SORTS else int, int, str, int, int]
            )
            if not (-1 <= last_ns < 2**63 and high >= 0 and 0 <= attempt < 2**31):
                raise BadQuery("Invalid cursor.", "Use `next` of the previous page, unchanged.")
            key = _SORTS[name].replace("$last", str(int(last_ns)))
            after.add(
                f"({key}, task_hi, task_lo, attempt) {'<' if descending else '>'} "
                "(?, ?::UBIGINT, ?, ?::INTEGER)",
                value,
                high,
                low,
                attempt,
            )
        total = count_and_edge(reader, "attempts", where, after, key, descending=descending, limit=limit)
        found = rows_of(
            reader.execute(
                # First select the rows with the few columns that this needs, then fetch all of their columns.
                f"SELECT {_columns(last_ns)}, required_resources, sort_key "
                f"FROM (SELECT rowid AS row_number, {key} AS sort_key FROM attempts{where.sql} "
                f"ORDER BY sort_key {order}, task_hi {order}, task_lo {order}, attempt {order} "
                f"LIMIT {limit + 1}) JOIN attempts ON attempts.rowid = row_number "
                f"ORDER BY sort_key {order}, task_hi {order}, task_lo {order}, attempt {order}",
                where.values,
            )
        )
        _name_restarts(reader, found)
        gpu_use_sql.add_to_attempts(reader, found, last_ns)
    following = None
    if len(found) > limit:
        found.pop()
        last = found[-1]
        following = encode_cursor(
            [sort, *(last[column] for column in ("sort_key", "task_hi", "task_lo", "attempt")), last_ns]
        )
    for row in found:
        del row["sort_key"], row["required_resources"]
        _item(row)
    return Page(found, following, total)


def _name_restarts(reader: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    """Name the attempts by which Ray restarts an actor. They have no function, but the actor has a class."""
    nameless = [r for r in rows if r["name"] is None and r["type"] == "ACTOR_CREATION_TASK"]
    if not nameless:
        return
    actors = dict(
        reader.execute(
            "SELECT id, class_name FROM actor_rows WHERE list_contains(?, id)",
            [[row["actor_id"] for row in nameless]],
        ).fetchall()
    )
    for row in nameless:
        class_name = actors.get(row["actor_id"])
        if class_name is not None:
            row["name"] = row["func_name"] = f"{class_name}.__init__"


_DETAIL_EXTRA = (
    "required_resources, label_selector, runtime_env, call_site, language, actor_repr_name, path_id, "
    "stdout_file, stderr_file, stdout_start, stdout_end, stderr_start, stderr_end, "
    f"error_message AS whole_error, {CUT_ERROR} AS error_is_cut, "
    f"coalesce({START_LOST}, false) AS start_is_lost"
)


def get_task(file: SessionFile, task_id: str, *, last_ns: int) -> schemas.TaskDetail:
    """All fields of a task, given its ID or the beginning of its ID. Raises NotFound or BadQuery."""
    states = ", ".join(f"{state.lower()}_ns" for state in STATES)
    phases = ", ".join(f"{phase}_{edge}_ns" for phase in PHASES for edge in ("begin", "end"))
    of_task = "WHERE task_hi = ? AND task_lo = ?"
    with file.reader() as reader:
        high, low = find_task(reader, task_id)
        task_id = join_id(high, low) or ""
        found = rows_of(
            reader.execute(
                f"SELECT {_columns(last_ns)}, {_DETAIL_EXTRA}, {states}, {phases} FROM attempts {of_task} "
                "ORDER BY attempt",
                [high, low],
            )
        )
        path = _call_path(reader, next((row["path_id"] for row in found if row["path_id"] is not None), None))
        parent: schemas.Parent | None = None
        if found[0]["parent_hi"] is not None:
            parent_key = [found[0]["parent_hi"], found[0]["parent_lo"]]
            name, state = reader.execute(
                f"SELECT {SHOWN_NAME}, coalesce(state, 'NIL') FROM attempts {of_task} "
                "ORDER BY attempt DESC LIMIT 1",
                parent_key,
            ).fetchone() or (None, None)
            parent_id = join_id(*parent_key) or ""
            if name is None and parent_id.startswith(DRIVER_PREFIX):
                name = "driver"
            parent = {"task_id": parent_id, "name": name, "state": state}
        spans: list[schemas.SpanItem] = rows_of(
            reader.execute(
                f"SELECT name, attempt, begin_ns, end_ns, extra, {BLOCKED_ON} AS blocked_on FROM span_rows "
                f"{of_task} AND NOT {ABOUT_SAMPLES} "
                "UNION ALL SELECT name, attempt, begin_ns, end_ns, extra, blocked_on "
                f"FROM ({still_blocked('b.task_hi = ? AND b.task_lo = ?')}) "
                "ORDER BY begin_ns, end_ns, name LIMIT 1000",
                [high, low, high, low],
            )
        )
        counted = reader.execute(
            f"SELECT count(*) FROM span_rows {of_task} AND NOT {ABOUT_SAMPLES}", [high, low]
        ).fetchone()
        flow = flow_sql.of_task(reader, high, low, last_ns)
        _add_gpus(reader, found, (high, low))
        gpu_use_sql.add_to_attempts(reader, found, last_ns)
        add_lost_with(reader, found)
    children = list_attempts(
        file, TaskFilters(caller_task_id=task_id), sort="created_ns", limit=100, last_ns=last_ns
    )
    return {
        "task_id": task_id,
        "attempts": [_detail(row) for row in found],
        "parent": parent,
        "call_path": path,
        "children": children.items,
        "children_total": children.total,
        "spans": spans,
        "spans_total": counted[0] if counted else 0,
        "data_in": flow.data_in.rows,
        "data_in_total": flow.data_in.total,
        "data_in_bytes": flow.data_in.bytes,
        "data_out": flow.data_out.rows,
        "data_out_total": flow.data_out.total,
        "data_out_bytes": flow.data_out.bytes,
        "annotations": flow.annotations,
        "waits_for": flow.waits_for,
        "scheduling": flow.scheduling,
    }


def _add_gpus(
    reader: duckdb.DuckDBPyConnection, rows: list[schemas.AttemptDetail], key: tuple[int, str]
) -> None:
    """Add the GPUs of attempts. A method's GPUs are those of its actor."""
    actor_id = rows[0]["actor_id"]
    if rows[0]["type"] == "ACTOR_TASK" and actor_id:
        gpus = gpus_of_actors(reader, [actor_id]).get(actor_id, [])
        found: dict[int, list[Any]] = {row["attempt"]: gpus for row in rows}
    else:
        of_task = "SELECT * FROM attempts WHERE task_hi = $high AND task_lo = $low"
        own = gpus_of_attempts(reader, of_task, {"high": key[0], "low": key[1]})
        found = {attempt: gpus for (_, attempt), gpus in own.items()}
    for row in rows:
        row["gpus"] = found.get(row["attempt"], [])


def _detail(row: Any) -> schemas.AttemptDetail:
    detail: schemas.AttemptDetail = row
    times: list[schemas.StateTime] = [
        {"state": state, "time_ns": row.pop(f"{state.lower()}_ns")} for state in STATES
    ]
    detail["states"] = sorted((t for t in times if t["time_ns"] is not None), key=lambda t: t["time_ns"])
    phases: list[schemas.Phase] = [
        {"name": phase, "begin_ns": row.pop(f"{phase}_begin_ns"), "end_ns": row.pop(f"{phase}_end_ns")}
        for phase in PHASES
    ]
    detail["phases"] = [phase for phase in phases if phase["begin_ns"] is not None]
    message = row.pop("whole_error")
    is_cut = bool(row.pop("error_is_cut"))
    error_type = detail["error_type"]
    detail["error"] = (
        None if error_type is None else {"type": error_type, "message": message, "is_cut": is_cut}
    )
    del row["path_id"]
    _item(row)
    return detail


def _call_path(reader: duckdb.DuckDBPyConnection, path_id: int | None) -> list[str]:
    """The function names of a call path, from the driver down. This takes one query per level of the path."""
    names: list[str] = []
    while path_id:
        row = reader.execute("SELECT parent_path_id, name FROM paths WHERE path_id = ?", [path_id]).fetchone()
        if row is None:
            break
        names.append(row[1])
        path_id = row[0]
    return names[::-1]
