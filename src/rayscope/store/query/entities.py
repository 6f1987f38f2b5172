"""Actors, nodes, workers, jobs and placement groups: lists, and one of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayscope.model import Kind
from rayscope.store.errors import BadQuery, NotFound
from rayscope.store.query.pages import (
    Page,
    Row,
    Where,
    check_limit,
    decode_cursor,
    direction_of,
    encode_cursor,
    like,
    rows_of,
)
from rayscope.store.schema import (
    ENTITY_COLUMNS,
    ENTITY_VIEWS,
    SHOWN_JOB,
)
from rayscope.store.session_file import SessionFile

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
    check_limit(limit)
    _, id_column = ENTITY_VIEWS[kind]
    columns = dict(ENTITY_COLUMNS[kind])
    default = "-created_ns" if kind == "placement_group" else "-start_ns"
    sort = sort or default
    sortable = [id_column, *columns]
    name, descending = direction_of(sort, sortable)
    numeric = columns.get(name) in ("BIGINT", "BOOLEAN")
    key = (
        "id"
        if name == id_column
        else (f"coalesce({name}::BIGINT, -1)" if numeric else f"coalesce({name}, '')")
    )
    order = "DESC" if descending else "ASC"
    where = Where([], [])
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
            where.add(f"{column} ILIKE ? ESCAPE '\\'", like(value))
        else:
            where.add(f"list_contains(?, {column})", [part for part in str(value).split(",") if part])
    if filters.get("q"):
        text = [c for c in ("name", "class_name", "node_ip", "hostname", "entrypoint") if c in columns]
        clauses = ["starts_with(id, ?)", *(f"{column} ILIKE ? ESCAPE '\\'" for column in text)]
        pattern = like(str(filters["q"]))
        where.add(f"({' OR '.join(clauses)})", str(filters["q"]).lower(), *([pattern] * len(text)))
    with file.reader() as reader:
        counted = reader.execute(f"SELECT count(*) FROM {kind}_rows{where.sql}", where.values).fetchone()
        if cursor:
            _, value, last_id = decode_cursor(cursor, sort, [int if numeric else str, str])
            where.add(f"({key}, id) {'<' if descending else '>'} (?, ?)", value, last_id)
        selected = ", ".join(column for column in columns if column != id_column)
        found = rows_of(
            reader.execute(
                f"SELECT id AS {id_column}, {selected}, {key} AS sort_key FROM {kind}_rows{where.sql} "
                f"ORDER BY sort_key {order}, id {order} LIMIT {limit + 1}",
                where.values,
            )
        )
    following = None
    if len(found) > limit:
        found.pop()
        following = encode_cursor([sort, found[-1]["sort_key"], found[-1][id_column]])
    for row in found:
        del row["sort_key"]
    return Page(found, following, counted[0] if counted else 0)


def get_entity(file: SessionFile, kind: Kind, entity_id: str) -> Row:
    """One actor, node, worker, job or placement group. Raises NotFound."""
    _, id_column = ENTITY_VIEWS[kind]
    columns = ", ".join(name for name, _ in ENTITY_COLUMNS[kind] if name != id_column)
    with file.reader() as reader:
        found = rows_of(
            reader.execute(f"SELECT id AS {id_column}, {columns} FROM {kind}_rows WHERE id = ?", [entity_id])
        )
    if not found:
        raise NotFound(f"No {kind.replace('_', ' ')} {entity_id[:80]!r} in this session.")
    return found[0]
