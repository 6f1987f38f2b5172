"""Reading a session: lists with filters, sort and keyset pages, a task's detail, the summary.

Nothing of a request becomes SQL text: columns and orders are looked up in tables of constants, values are
parameters.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import msgspec

from rayscope.model import PHASES, STATES, Kind
from rayscope.store.errors import BadQuery, NotFound
from rayscope.store.paths import DRIVER_PREFIX
from rayscope.store.rows import join_id
from rayscope.store.schema import (
    CREATED,
    END,
    ENTITY_COLUMNS,
    ENTITY_VIEWS,
    NOT_DRIVER,
    SHOWN_JOB,
    SHOWN_NAME,
    SPAN_LOSSES,
    START,
)
from rayscope.store.session_file import SessionFile

Row = dict[str, Any]
MAX_LIMIT = 1000
_TASK_ID = re.compile(r"[0-9a-fA-F]{48}")
_MESSAGE_CHARS = 500


class Page(msgspec.Struct):
    """One page of a list: ``total`` counts what the filters left, ``next`` is the following page's cursor."""

    items: list[Row]
    next: str | None
    total: int


@dataclass(frozen=True)
class _Where:
    clauses: list[str]
    values: list[Any]

    @property
    def sql(self) -> str:
        return f" WHERE {' AND '.join(self.clauses)}" if self.clauses else ""

    def add(self, clause: str, *values: Any) -> None:
        self.clauses.append(clause)
        self.values.extend(values)


#: The line of an error that says most: the last one, which in a traceback is the exception.
_SUMMARY = (
    "left(list_last(list_filter(string_split(error_message, chr(10)), lambda line: trim(line) != '')), 300) "
    "AS error_summary"
)
_ITEM = (
    f"task_hi, task_lo, attempt, {SHOWN_NAME} AS name, func_name, type, coalesce(state, 'NIL') AS state, "
    "job_id, actor_id, parent_hi, parent_lo, node_id, worker_id, worker_pid, placement_group_id, error_type, "
    f"left(error_message, {_MESSAGE_CHARS}) AS error_message, {_SUMMARY}, "
    f"{CREATED} AS created_ns, {START} AS start_ns, "
    f"{END} AS end_ns"
)
#: Sort key -> (SQL expression without NULLs, whether it takes the session's last sign of life).
_SORTS: Mapping[str, str] = {
    "created_ns": f"coalesce({CREATED}, 0)",
    "start_ns": f"coalesce({START}, 0)",
    "end_ns": f"coalesce({END}, 0)",
    "duration_ns": f"coalesce({END} - {START}, $last - {START}, -1)",
    "name": f"coalesce({SHOWN_NAME}, '')",
    "state": "coalesce(state, '')",
}
_TEXT_SORTS = frozenset({"name", "state"})
_EQUALS = (
    "job_id",
    "type",
    "node_id",
    "worker_id",
    "actor_id",
    "placement_group_id",
    "error_type",
)


def _encode_cursor(values: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(list(values))).decode().rstrip("=")


def _decode_cursor(cursor: str, sort: str, *types: list[type]) -> list[Any]:
    try:
        values = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise BadQuery("This cursor cannot be read.", "Take `next` of the page before, unchanged.") from error
    if (
        not isinstance(values, list)
        or not values
        or values[0] != sort
        or [type(value) for value in values[1:]] not in types
        or any(isinstance(value, int) and abs(value) >= 2**64 for value in values)
    ):
        raise BadQuery("This cursor belongs to another list or sort.", "Take `next` of the page before.")
    return values


def _direction(sort: str, allowed: Sequence[str]) -> tuple[str, bool]:
    descending = sort.startswith("-")
    name = sort.removeprefix("-")
    if name not in allowed:
        raise BadQuery(f"Cannot sort by {name[:80]!r}.", f"Sort by one of: {', '.join(allowed)}.")
    return name, descending


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MAX_LIMIT:
        raise BadQuery(f"limit must be 1 to {MAX_LIMIT}.")
    return limit


def _split(task_id: str) -> tuple[int, str]:
    if not _TASK_ID.fullmatch(task_id):
        raise BadQuery(f"{task_id[:80]!r} is no task id.", "A task id has 48 hex digits.")
    return int(task_id[:16], 16), task_id[16:].lower()


def _like(text: str) -> str:
    """A text as a part of an ILIKE pattern, its wildcards taken literally."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _restart_of(condition: str) -> str:
    """SQL for the nameless restarts of actors, by the name that :func:`_name_restarts` gives them."""
    return (
        "(name IS NULL AND type = 'ACTOR_CREATION_TASK' AND actor_id IN "
        f"(SELECT id FROM actor_rows WHERE class_name || '.__init__' {condition}))"
    )


_LIKE = "ILIKE ? ESCAPE '\\'"
_NAME_LIKE = f"({SHOWN_NAME} {_LIKE} OR {_restart_of(_LIKE)})"


def _attempt_filters(filters: Mapping[str, Any]) -> _Where:
    where = _Where([], [])
    if filters.get("type") != "DRIVER_TASK":
        # A driver is a job, not a task; Ray's own list leaves it out too.
        where.add(NOT_DRIVER)
    for name in _EQUALS:
        if filters.get(name):
            where.add(f"{name} = ?", filters[name])
    if filters.get("func_name"):
        where.add(f"(func_name = ? OR {_restart_of('= ?')})", *[filters["func_name"]] * 2)
    if filters.get("state"):
        states = [state for state in str(filters["state"]).split(",") if state]
        where.add("list_contains(?, coalesce(state, 'NIL'))", states)
    if filters.get("name"):
        where.add(_NAME_LIKE, *[_like(filters["name"])] * 2)
    if filters.get("parent_task_id"):
        where.add("parent_hi = ? AND parent_lo = ?", *_split(filters["parent_task_id"]))
    if filters.get("q"):
        _search(where, str(filters["q"]).strip())
    if filters.get("since_ns") is not None:
        where.add(f"coalesce({END}, {2**62}) >= ?", filters["since_ns"])
    if filters.get("until_ns") is not None:
        where.add(f"{CREATED} <= ?", filters["until_ns"])
    return where


def _search(where: _Where, text: str) -> None:
    digits = text.lower()
    if len(digits) < 4 or any(char not in "0123456789abcdef" for char in digits) or len(digits) > 48:
        where.add(_NAME_LIKE, *[_like(text)] * 2)
        return
    low = int(digits[:16].ljust(16, "0"), 16)
    high = int(digits[:16].ljust(16, "f"), 16)
    where.add(
        f"({_NAME_LIKE} OR (task_hi BETWEEN ? AND ? AND starts_with(task_lo, ?)))",
        *[_like(text)] * 2,
        low,
        high,
        digits[16:],
    )


def _item(row: Row, last_ns: int) -> Row:
    row["task_id"] = join_id(row.pop("task_hi"), row.pop("task_lo"))
    row["parent_task_id"] = join_id(row.pop("parent_hi"), row.pop("parent_lo"))
    start, end = row["start_ns"], row["end_ns"]
    row["duration_ns"] = None if start is None else max(0, (last_ns if end is None else end) - start)
    return row


def _rows(cursor: duckdb.DuckDBPyConnection) -> list[Row]:
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def list_attempts(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    sort: str = "-created_ns",
    limit: int = 100,
    cursor: str | None = None,
    last_ns: int,
) -> Page:
    """A page of task attempts. ``last_ns``: until when a running attempt has run. Raises BadQuery."""
    _check_limit(limit)
    name, descending = _direction(sort, tuple(_SORTS))
    key = _SORTS[name].replace("$last", str(int(last_ns)))
    where = _attempt_filters(filters)
    order = "DESC" if descending else "ASC"
    with file.reader() as reader:
        counted = reader.execute(f"SELECT count(*) FROM attempts{where.sql}", where.values).fetchone()
        total = counted[0] if counted else 0
        if cursor:
            # A running attempt's duration is that of the first page, or rows would move between pages.
            _, value, high, low, attempt, last_ns = _decode_cursor(
                cursor, sort, [str if name in _TEXT_SORTS else int, int, str, int, int]
            )
            if not (-1 <= last_ns < 2**63 and high >= 0 and 0 <= attempt < 2**31):
                raise BadQuery("This cursor cannot be read.", "Take `next` of the page before, unchanged.")
            key = _SORTS[name].replace("$last", str(int(last_ns)))
            where.add(
                f"({key}, task_hi, task_lo, attempt) {'<' if descending else '>'} "
                "(?, ?::UBIGINT, ?, ?::INTEGER)",
                value,
                high,
                low,
                attempt,
            )
        found = _rows(
            reader.execute(
                f"SELECT {_ITEM}, {key} AS sort_key FROM attempts{where.sql} ORDER BY sort_key {order}, "
                f"task_hi {order}, task_lo {order}, attempt {order} LIMIT {limit + 1}",
                where.values,
            )
        )
        _name_restarts(reader, found)
    following = None
    if len(found) > limit:
        found.pop()
        last = found[-1]
        following = _encode_cursor(
            [sort, *(last[column] for column in ("sort_key", "task_hi", "task_lo", "attempt")), last_ns]
        )
    for row in found:
        del row["sort_key"]
        _item(row, last_ns)
    return Page(found, following, total)


def _name_restarts(reader: duckdb.DuckDBPyConnection, found: list[Row]) -> None:
    """Name the attempts by which Ray restarts an actor: nobody defines those, but the actor has a class."""
    nameless = [r for r in found if r["name"] is None and r["type"] == "ACTOR_CREATION_TASK"]
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
    "error_message AS whole_error"
)


def get_task(file: SessionFile, task_id: str, *, last_ns: int) -> Row:
    """All that is known of one task. Raises NotFound or BadQuery."""
    high, low = _split(task_id)
    states = ", ".join(f"{state.lower()}_ns" for state in STATES)
    phases = ", ".join(f"{phase}_{edge}_ns" for phase in PHASES for edge in ("begin", "end"))
    of_task = "WHERE task_hi = ? AND task_lo = ?"
    with file.reader() as reader:
        found = _rows(
            reader.execute(
                f"SELECT {_ITEM}, {_DETAIL_EXTRA}, {states}, {phases} FROM attempts {of_task} "
                "ORDER BY attempt",
                [high, low],
            )
        )
        if not found:
            raise NotFound(f"No task {task_id[:80]!r} in this session.", "GET /api/tasks lists the tasks.")
        path = _call_path(reader, next((row["path_id"] for row in found if row["path_id"] is not None), None))
        parent = None
        if found[0]["parent_hi"] is not None:
            parents = _rows(
                reader.execute(
                    f"SELECT {SHOWN_NAME} AS name, coalesce(state, 'NIL') AS state FROM attempts {of_task} "
                    "ORDER BY attempt DESC LIMIT 1",
                    [found[0]["parent_hi"], found[0]["parent_lo"]],
                )
            )
            parent_id = join_id(found[0]["parent_hi"], found[0]["parent_lo"]) or ""
            parent = {
                "task_id": parent_id,
                **(parents[0] if parents else {"name": None, "state": None}),
            }
            if parent["name"] is None and parent_id.startswith(DRIVER_PREFIX):
                parent["name"] = "driver"
        spans = _rows(
            reader.execute(
                f"SELECT name, attempt, begin_ns, end_ns, extra FROM span_rows {of_task} "
                "ORDER BY begin_ns, end_ns, name LIMIT 1000",
                [high, low],
            )
        )
        counted = reader.execute(f"SELECT count(*) FROM span_rows {of_task}", [high, low]).fetchone()
    children = list_attempts(file, {"parent_task_id": task_id}, sort="created_ns", limit=100, last_ns=last_ns)
    return {
        "task_id": task_id.lower(),
        "attempts": [_detail(row, last_ns) for row in found],
        "parent": parent,
        "call_path": path,
        "children": children.items,
        "children_total": children.total,
        "spans": spans,
        "spans_total": counted[0] if counted else 0,
    }


def _detail(row: Row, last_ns: int) -> Row:
    times = [{"state": state, "time_ns": row.pop(f"{state.lower()}_ns")} for state in STATES]
    row["states"] = sorted((t for t in times if t["time_ns"] is not None), key=lambda t: t["time_ns"])
    intervals = [
        {"name": phase, "begin_ns": row.pop(f"{phase}_begin_ns"), "end_ns": row.pop(f"{phase}_end_ns")}
        for phase in PHASES
    ]
    row["phases"] = [interval for interval in intervals if interval["begin_ns"] is not None]
    message = row.pop("whole_error")
    row["error"] = None if row["error_type"] is None else {"type": row["error_type"], "message": message}
    del row["path_id"]
    return _item(row, last_ns)


def _call_path(reader: duckdb.DuckDBPyConnection, path_id: int | None) -> list[str]:
    """Function names from the driver down, by look-ups (a path is as long as the call tree is deep)."""
    names: list[str] = []
    while path_id:
        row = reader.execute("SELECT parent_path_id, name FROM paths WHERE path_id = ?", [path_id]).fetchone()
        if row is None:
            break
        names.append(row[1])
        path_id = row[0]
    return names[::-1]


#: Filters that an entity list knows, where its table has the column.
_ENTITY_FILTERS = ("state", "job_id", "node_id", "name", "class_name", "worker_id", "type", "actor_id")


def list_entities(
    file: SessionFile,
    kind: Kind,
    filters: Mapping[str, Any],
    *,
    sort: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """A page of actors, nodes, workers, jobs or placement groups. Raises BadQuery."""
    _check_limit(limit)
    _, id_column = ENTITY_VIEWS[kind]
    columns = dict(ENTITY_COLUMNS[kind])
    default = "-created_ns" if kind == "placement_group" else "-start_ns"
    sort = sort or default
    sortable = [id_column, *columns]
    name, descending = _direction(sort, sortable)
    numeric = columns.get(name) in ("BIGINT", "BOOLEAN")
    key = (
        "id"
        if name == id_column
        else (f"coalesce({name}::BIGINT, -1)" if numeric else f"coalesce({name}, '')")
    )
    order = "DESC" if descending else "ASC"
    where = _Where([], [])
    if kind == "job":
        where.add(SHOWN_JOB)
    for filter_name in _ENTITY_FILTERS:
        value = filters.get(filter_name)
        if not value:
            continue
        column = "id" if filter_name == id_column else filter_name
        if column != "id" and column not in columns:
            raise BadQuery(f"{ENTITY_VIEWS[kind][0]} cannot be filtered by {filter_name}.")
        if filter_name in ("name", "class_name"):
            where.add(f"{column} ILIKE ? ESCAPE '\\'", _like(value))
        else:
            where.add(f"list_contains(?, {column})", [part for part in str(value).split(",") if part])
    if filters.get("q"):
        text = [c for c in ("name", "class_name", "node_ip", "hostname", "entrypoint") if c in columns]
        clauses = ["starts_with(id, ?)", *(f"{column} ILIKE ? ESCAPE '\\'" for column in text)]
        pattern = _like(str(filters["q"]))
        where.add(f"({' OR '.join(clauses)})", str(filters["q"]).lower(), *([pattern] * len(text)))
    with file.reader() as reader:
        counted = reader.execute(f"SELECT count(*) FROM {kind}_rows{where.sql}", where.values).fetchone()
        if cursor:
            _, value, last_id = _decode_cursor(cursor, sort, [int if numeric else str, str])
            where.add(f"({key}, id) {'<' if descending else '>'} (?, ?)", value, last_id)
        selected = ", ".join(column for column in columns if column != id_column)
        found = _rows(
            reader.execute(
                f"SELECT id AS {id_column}, {selected}, {key} AS sort_key FROM {kind}_rows{where.sql} "
                f"ORDER BY sort_key {order}, id {order} LIMIT {limit + 1}",
                where.values,
            )
        )
    following = None
    if len(found) > limit:
        found.pop()
        following = _encode_cursor([sort, found[-1]["sort_key"], found[-1][id_column]])
    for row in found:
        del row["sort_key"]
    return Page(found, following, counted[0] if counted else 0)


def get_entity(file: SessionFile, kind: Kind, entity_id: str) -> Row:
    """One actor, node, worker, job or placement group. Raises NotFound."""
    _, id_column = ENTITY_VIEWS[kind]
    columns = ", ".join(name for name, _ in ENTITY_COLUMNS[kind] if name != id_column)
    with file.reader() as reader:
        found = _rows(
            reader.execute(f"SELECT id AS {id_column}, {columns} FROM {kind}_rows WHERE id = ?", [entity_id])
        )
    if not found:
        raise NotFound(f"No {kind.replace('_', ' ')} {entity_id[:80]!r} in this session.")
    return found[0]


def functions(file: SessionFile, limit: int = 50) -> list[Row]:
    """Functions by total running time. Times in ns."""
    with file.reader() as reader:
        return _rows(
            reader.execute(
                f"""
                SELECT func_name, any_value(type) AS type, count(*) AS attempts,
                    count(*) FILTER (state = 'FINISHED') AS finished,
                    count(*) FILTER (state = 'FAILED') AS failed,
                    count(*) FILTER (state LIKE 'RUNNING%') AS running,
                    quantile_cont(took, 0.5)::BIGINT AS p50_ns, quantile_cont(took, 0.95)::BIGINT AS p95_ns,
                    max(took) AS max_ns, coalesce(sum(took), 0)::BIGINT AS total_ns
                FROM (SELECT func_name, type, state, {END} - {START} AS took FROM attempts
                    WHERE func_name IS NOT NULL AND type != 'DRIVER_TASK')
                GROUP BY func_name ORDER BY total_ns DESC, func_name LIMIT {int(limit)}
                """
            )
        )


def failures(file: SessionFile, limit: int = 20) -> list[Row]:
    """The newest failed attempts."""
    with file.reader() as reader:
        found = _rows(
            reader.execute(
                f"SELECT task_hi, task_lo, attempt, {SHOWN_NAME} AS name, error_type, "
                f"left(error_message, {_MESSAGE_CHARS}) AS error_message, {_SUMMARY}, {END} AS end_ns "
                f"FROM attempts WHERE state = 'FAILED' AND {NOT_DRIVER} ORDER BY failed_ns DESC "
                f"LIMIT {int(limit)}"
            )
        )
    for row in found:
        row["task_id"] = join_id(row.pop("task_hi"), row.pop("task_lo"))
    return found


def counts(file: SessionFile) -> dict[str, dict[str, int]]:
    """Attempts and entities by state, and ``span`` (first and last time seen) in ns."""
    result: dict[str, dict[str, int]] = {}
    with file.reader() as reader:
        result["tasks"] = dict(
            reader.execute(
                f"SELECT coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} "
                "GROUP BY 1 ORDER BY 1"
            ).fetchall()
        )
        for view, _ in ENTITY_VIEWS.values():
            result[view] = dict(
                reader.execute(
                    f"SELECT coalesce(state, 'UNKNOWN'), count(*) FROM {view} GROUP BY 1 ORDER BY 1"
                ).fetchall()
            )
    return result


def time_range(file: SessionFile) -> tuple[int | None, int | None]:
    """The first and the last time that any attempt tells (ns)."""
    with file.reader() as reader:
        row = reader.execute(f"SELECT min({CREATED}), max(coalesce({END}, {START}, {CREATED})) FROM attempts")
        found = row.fetchone()
    return (found[0], found[1]) if found else (None, None)


def resources_total(file: SessionFile) -> dict[str, float]:
    """The sum of the resources of the nodes that are alive."""
    total: dict[str, float] = {}
    with file.reader() as reader:
        found = reader.execute("SELECT resources_total FROM node_rows WHERE state = 'ALIVE'").fetchall()
    for (text,) in found:
        for name, amount in (msgspec.json.decode(text) if text else {}).items():
            if not name.startswith("node:"):
                total[name] = total.get(name, 0.0) + amount
    return total


#: The GCS declares failed what ran on a worker 1 s after its death, and what is left of a job 15 s after its
#: end (``gcs_mark_task_failed_on_worker_dead_delay_ms``, ``..._on_job_done_delay_ms``).
_ORPHAN_NS = 20 * 10**9


def orphans(file: SessionFile) -> int:
    """How many attempts have not ended although their worker or job has, so long ago that Ray's GCS has
    declared them failed: no event says that.
    """
    before_ns = time.time_ns() - _ORPHAN_NS
    with file.reader() as reader:
        counted = reader.execute(
            f"SELECT count(*) FROM attempts WHERE finished_ns IS NULL AND failed_ns IS NULL AND {NOT_DRIVER} "
            "AND (worker_id IN (SELECT id FROM worker_rows WHERE state = 'DEAD' AND end_ns < $1) "
            "OR job_id IN (SELECT id FROM job_rows WHERE state NOT IN ('PENDING', 'RUNNING') "
            "AND end_ns < $1))",
            [before_ns],
        ).fetchone()
    return counted[0] if counted else 0


def dropped(file: SessionFile) -> Row:
    """What is missing from the record: what Ray counted as lost, and attempts whose definition is missing."""
    with file.reader() as reader:
        by = _rows(reader.execute("SELECT source, reason, count FROM drops WHERE count > 0 ORDER BY 1, 2"))
        counted = reader.execute(
            "SELECT count(*) FROM attempts WHERE name IS NULL AND type IS NULL"
        ).fetchone()
    return {
        "total": sum(row["count"] for row in by if row["reason"] not in SPAN_LOSSES),
        "spans": sum(row["count"] for row in by if row["reason"] in SPAN_LOSSES),
        "by": by,
        "unresolved_attempts": counted[0] if counted else 0,
    }
