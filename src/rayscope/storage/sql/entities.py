"""Lists and details of actors, nodes, workers, jobs and placement groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from rayscope.model import STATES_OF, Kind
from rayscope.model.program import script_name
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.rows import decode_entity
from rayscope.storage.schema import ENTITY_COLUMNS, ENTITY_VIEWS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.node_names import node_name
from rayscope.storage.sql.pages import (
    MIN_PREFIX,
    Page,
    Row,
    Where,
    check_limit,
    choices,
    count_and_edge,
    decode_cursor,
    direction_of,
    encode_cursor,
    equals,
    like,
    rows_of,
)
from rayscope.storage.sql.restarts import restarts
from rayscope.storage.sql.worker_names import JOB_OF_WORKER

_CONTAINS = "{} ILIKE ? ESCAPE '\\'"
#: Columns searched by ``q``, besides the ID and the PID.
_SEARCHED = ("name", "class_name", "node_name", "node_ip", "hostname", "entrypoint", "submission_id")

#: Maximum number of candidates listed in the error for an ambiguous ID or name.
_CANDIDATES = 5
#: Kind -> SQL for when its entities began and ended, if that is not in ``start_ns`` and ``end_ns``. The
#: removal of a placement group is only in its transitions.
_LIVED: Mapping[str, tuple[str, str]] = {
    "placement_group": (
        "created_ns",
        "list_min([(step->>0)::BIGINT FOR step IN CAST(doc->1 AS JSON[]) IF (step->>1) = 'REMOVED'])",
    )
}
#: Columns too large for lists. Single entities have them.
_LARGE = ("versions",)
#: Maximum number of states in an entity's history. The newest are kept.
_HISTORY = 1000


@dataclass(frozen=True)
class EntityFilters:
    """Filters for a list of entities. None or "" means no filter.

    Attributes:
        state: one or several states, joined by commas. Filters by ID accept several values, too.
        name: a part of the name. ``class_name`` is a part of the class (for a worker, of its actor's class).
        at_least: minimum values of measured columns, as NAME:NUMBER,...
        q: a part of a name or an address, a PID, or a prefix of the ID.
        since_ns: only entities that were alive between this and ``until_ns``. An unknown start or end is
            assumed to lie outside this range.
    """

    state: str | None = None
    job_id: str | None = None
    node_id: str | None = None
    worker_id: str | None = None
    actor_id: str | None = None
    name: str | None = None
    class_name: str | None = None
    type: str | None = None
    at_least: str | None = None
    q: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None


class ExtraColumns(NamedTuple):
    """Columns that are not in the record, to be joined as ``u`` to the rows ``r`` of an entity.

    Attributes:
        table: the rows.
        columns: name -> DuckDB type of the columns to return.
        on: SQL for the join condition, made of constants. It must match at most one row per entity.
    """

    table: pa.Table
    columns: dict[str, str]
    on: str


class EntityPage(Page[Any]):
    """A page of entities. ``internal_hidden``: number of matching entities that are hidden because they are
    Ray's own.
    """

    internal_hidden: int = 0


def list_entities(
    file: SessionFile,
    kind: Kind,
    filters: EntityFilters,
    *,
    sort: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    extra: ExtraColumns | None = None,
    internal: bool = False,
) -> EntityPage:
    """A page of actors, nodes, workers, jobs or placement groups. Raises BadQuery.

    ``extra``: further columns. They can be sorted by and filtered with ``at_least``. ``internal``: include
    Ray's own entities.
    """
    check_limit(limit)
    _, id_column = ENTITY_VIEWS[kind]
    columns = dict(ENTITY_COLUMNS[kind])
    measured = extra.columns if extra is not None else {}
    columns |= measured
    begins = next(name for name in ("start_ns", "created_ns", "deployed_ns", "end_ns") if name in columns)
    sort = sort or f"-{begins}"
    if kind in IS_INTERNAL:
        columns["is_internal"] = "BOOLEAN"
    sortable = [id_column, *columns]
    name, descending = direction_of(sort, sortable)
    numeric = columns.get(name) in ("BIGINT", "BOOLEAN")
    real = columns.get(name) == "DOUBLE"
    key = "id" if name == id_column else _sort_key(kind, name, columns.get(name))
    order = "DESC" if descending else "ASC"
    where = Where([], [])
    if kind == "job":
        where.add("alias_of IS NULL")
    _filter(where, kind, filters, columns)
    used = at_least(filters.at_least, measured)
    for name_of, least in used:
        where.add(f"{name_of} >= ?", least)
    rows = counted = f"{kind}_rows r"
    with file.reader() as reader:
        if extra is not None:
            reader.register("extra", extra.table)
            rows += f" LEFT JOIN extra u ON {extra.on}"
            if used or name in measured:
                counted = rows
        hidden = 0
        if kind in IS_INTERNAL and not internal:
            found = reader.execute(
                f"SELECT count(*) FILTER ({IS_INTERNAL[kind]}) FROM {counted}{where.sql}", where.values
            ).fetchone()
            hidden = found[0] if found else 0
            where.add(f"NOT {IS_INTERNAL[kind]}")
        after = Where([], [])
        if cursor:
            kinds: list[list[type]] = [[float, str], [int, str]] if real else [[int if numeric else str, str]]
            _, value, last_id = decode_cursor(cursor, sort, *kinds)
            after.add(f"({key}, id) {'<' if descending else '>'} (?, ?)", value, last_id)
        total = count_and_edge(reader, counted, where, after, key, descending=descending, limit=limit)
        selected = _selected(kind, [name for name in columns if name not in _LARGE])
        items = rows_of(
            reader.execute(
                f"SELECT id AS {id_column}, {selected}, {key} AS sort_key FROM {rows}{where.sql} "
                f"ORDER BY sort_key {order}, id {order} LIMIT {limit + 1}",
                where.values,
            )
        )
    following = None
    if len(items) > limit:
        items.pop()
        following = encode_cursor([sort, items[-1]["sort_key"], items[-1][id_column]])
    for row in items:
        del row["sort_key"]
    return EntityPage(items, following, total, hidden)


def _sort_key(kind: Kind, name: str, sql_type: str | None) -> str:
    """SQL for the values to sort by for a column. They are never NULL."""
    if (kind, name) == ("worker", "job_id"):
        return f"coalesce({JOB_OF_WORKER}, '')"
    if name == "is_internal":
        return f"{IS_INTERNAL[kind]}::BIGINT"
    if sql_type == "DOUBLE":
        return f"coalesce({name}, -1)"
    if sql_type in ("BIGINT", "BOOLEAN"):
        return f"coalesce({name}::BIGINT, -1)"
    return f"coalesce({name}, '')"


def _filter(where: Where, kind: Kind, filters: EntityFilters, columns: Iterable[str]) -> None:
    """Add the filters to ``where``, except ``at_least``. Raises BadQuery."""
    view, id_column = ENTITY_VIEWS[kind]
    for name in ("state", "job_id", "node_id", "worker_id", "actor_id", "type", "name", "class_name"):
        value = getattr(filters, name)
        if not value:
            continue
        column = "id" if name == id_column else name
        if kind == "worker" and name == "job_id":
            column = JOB_OF_WORKER
        if kind == "worker" and name == "class_name":
            where.add(f"id IN (SELECT worker_id FROM actor_rows WHERE {_CONTAINS.format(name)})", like(value))
        elif name != id_column and name not in columns:
            raise BadQuery(f"{view} cannot be filtered by {name}.")
        elif name in ("name", "class_name"):
            where.add(_CONTAINS.format(column), like(value))
        else:
            is_state = name == "state" and kind in STATES_OF
            parts = choices(name, value, STATES_OF[kind]) if is_state else [p for p in value.split(",") if p]
            where.add(f"({' OR '.join(equals(name, part, column) for part in parts) or 'false'})", *parts)
    begin, end = _LIVED.get(kind, ("start_ns", "end_ns"))
    if filters.since_ns is not None:
        where.add(f"coalesce({end} >= ?, true)", filters.since_ns)
    if filters.until_ns is not None:
        where.add(f"coalesce({begin} <= ?, true)", filters.until_ns)
    if filters.q:
        texts = [column for column in _SEARCHED if column in columns]
        pids = [column for column in ("pid", "driver_pid") if column in columns and filters.q.isdecimal()]
        clauses = [
            "starts_with(id, ?)",
            *map(_CONTAINS.format, texts),
            *(f"{pid}::VARCHAR = ?" for pid in pids),
        ]
        values = [filters.q.lower(), *[like(filters.q)] * len(texts), *[filters.q] * len(pids)]
        where.add(f"({' OR '.join(clauses)})", *values)


def _selected(kind: Kind, columns: Iterable[str]) -> str:
    """Columns to SELECT for a kind of entity, without its ID. Kinds that can be internal get
    ``is_internal``.
    """
    names = [name for name in columns if name not in (ENTITY_VIEWS[kind][1], "is_internal")]
    own = [f"{IS_INTERNAL[kind]} AS is_internal"] if kind in IS_INTERNAL else []
    return ", ".join([*names, *own])


def at_least(text: Any, columns: Mapping[str, str]) -> list[tuple[str, float]]:
    """Parse ``NAME:NUMBER,...`` into (column, minimum). Names must be in ``columns``. Raises BadQuery."""
    found = []
    for part in str(text).split(",") if text else []:
        name, _, number = part.partition(":")
        try:
            least = float(number)
        except ValueError:
            least = math.nan
        if name not in columns or not math.isfinite(least):
            known = ", ".join(columns) or "none here"
            raise BadQuery(f"Cannot filter by {part[:80]!r}.", f"Use at_least=NAME:NUMBER; names: {known}.")
        found.append((name, least))
    return found


def jobs_of_driver(file: SessionFile, pid: int, since_ns: int) -> list[str]:
    """Jobs whose driver has this process ID and started at or after ``since_ns``."""
    with file.reader() as reader:
        found = reader.execute(
            "SELECT id FROM job_rows WHERE driver_pid = ? AND coalesce(start_ns, 0) >= ?", [pid, since_ns]
        ).fetchall()
    return [job_id for (job_id,) in found]


def place_of_driver(file: SessionFile, pids: Collection[int], since_ns: int) -> tuple[str, str] | None:
    """The first job whose driver has one of these process IDs and started at or after ``since_ns``, and the
    driver's node (the head node if that is unknown). None if there is no such job.
    """
    with file.reader() as reader:
        found = reader.execute(
            "SELECT id, coalesce(driver_node_id, (SELECT id FROM node_rows ORDER BY is_head IS NOT TRUE, "
            "start_ns NULLS LAST, id LIMIT 1)) AS node FROM job_rows WHERE list_contains(?, driver_pid) "
            "AND coalesce(start_ns, 0) >= ? AND submission_id IS NULL AND node IS NOT NULL "
            "ORDER BY start_ns, id LIMIT 1",
            [list(pids), since_ns],
        ).fetchall()
    return found[0] if found else None


def script_and_host(cursor: duckdb.DuckDBPyConnection) -> tuple[str, str | None]:
    """The script of the first job ('' if no job has reported one), and the host name of the head node."""
    job = cursor.execute(
        "SELECT entrypoint FROM jobs WHERE entrypoint != '' ORDER BY start_ns NULLS LAST, job_id LIMIT 1"
    ).fetchone()
    node = cursor.execute(
        "SELECT coalesce(nullif(hostname, ''), nullif(node_ip, '')) FROM node_rows "
        "ORDER BY is_head IS NOT TRUE, start_ns NULLS LAST, id LIMIT 1"
    ).fetchone()
    return script_name(job[0]) if job else "", node[0] if node else None


def find_id(file: SessionFile, kind: Kind, text: str) -> str:
    """The full ID of the entity whose ID is ``text`` or begins with it, or ``text`` itself if there is none.

    For a node, the name shown in the UI works, too. Raises BadQuery, with some candidates, if several
    entities match.
    """
    is_named = f"OR {node_name('node_rows')} = $1" if kind == "node" else ""
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT id, state FROM {kind}_rows WHERE id = $1 OR (length($1) >= {MIN_PREFIX} AND "
            f"starts_with(id, $1)) {is_named} ORDER BY id != $1, state, id LIMIT {_CANDIDATES + 1}",
            [text],
        ).fetchall()
    return _only(found, kind, text)


def find_nodes(file: SessionFile, text: str) -> str:
    """Replace node names, as shown in the UI, with IDs in a comma-separated filter.

    Prefixes of IDs are kept. Raises BadQuery for a name that several nodes have.
    """
    parts = [part.strip() for part in text.split(",")]
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT id, state, {node_name('node_rows')} AS name FROM node_rows "
            "WHERE list_contains($1, name) AND NOT starts_with(id, name) ORDER BY state, id",
            [parts],
        ).fetchall()
    return ",".join(
        _only([(one, state) for one, state, name in found if name == part], "node", part) for part in parts
    )


def _only(matches: Sequence[tuple[Any, Any]], kind: Kind, text: str) -> str:
    """The ID of the only match, or ``text`` if there is none. ``matches``: (ID, state).

    Raises BadQuery if there are several matches.
    """
    ids = [str(match) for match, _ in matches]
    if len(ids) > 1 and ids[0] != text:
        shown = [f"{match[: max(12, len(text) + 4)]} ({state})" for match, state in matches[:_CANDIDATES]]
        more = ", ..." if len(matches) > _CANDIDATES else ""
        raise BadQuery(
            f"{text[:80]!r} matches several {kind.replace('_', ' ')}s: {', '.join(shown)}{more}.",
            "Use one of these IDs.",
            what="id_prefix",
            text=text[:80],
            ids=", ".join(shown) + more,
        )
    return ids[0] if ids else text


def get_entity(file: SessionFile, kind: Kind, entity_id: str) -> Row:
    """One entity, by its ID or a prefix of it.

    Raises NotFound, or BadQuery for an ambiguous prefix.

    Returns:
        The entity's columns and ``history``: the reported states, oldest first, with ``time_ns``,
        ``state`` and further fields. A restart of an actor has ``ended_worker_id``, its previous worker, and
        a ``message``: why that worker ended. Both are missing if not recorded. If Ray reported no end, the
        inferred one comes last, with ``end_known_by``.
    """
    _, id_column = ENTITY_VIEWS[kind]
    columns = _selected(kind, dict(ENTITY_COLUMNS[kind]))
    entity_id = find_id(file, kind, entity_id)
    with file.reader() as reader:
        found: list[Row] = rows_of(
            reader.execute(
                f"SELECT id AS {id_column}, {columns}, doc AS history FROM {kind}_rows WHERE id = ?",
                [entity_id],
            )
        )
        sql = f"SELECT (step->>0)::BIGINT AS time_ns, ended, message FROM ({restarts('id = ?')})"
        before = (
            {row["time_ns"]: row for row in rows_of(reader.execute(sql, [entity_id]))}
            if kind == "actor"
            else {}
        )
    if not found:
        raise NotFound(
            f"{kind.replace('_', ' ').capitalize()} {entity_id[:80]!r} not found in this session.",
            what=kind,
            id=entity_id[:80],
        )
    transitions = sorted(decode_entity(kind, entity_id, found[0]["history"]).transitions.items())
    history: list[Row] = [
        {"time_ns": time_ns, "state": state, **extra} for (time_ns, state), extra in transitions
    ]
    for step in history:
        if step["state"] == "RESTARTING" and (previous := before.get(step["time_ns"])) is not None:
            known = {"ended_worker_id": previous["ended"], "message": previous["message"]}
            step.update({name: value for name, value in known.items() if value is not None})
    row = found[0]
    if row["end_known_by"] is not None and row.get("end_ns") is not None:
        end = {"time_ns": row["end_ns"], "state": row["state"], "end_known_by": row["end_known_by"]}
        history.append(end)
    row["history"] = history[-_HISTORY:]
    return row
