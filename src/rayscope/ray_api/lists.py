"""Lists and summaries of Ray's state API, computed from a session's record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
from starlette.datastructures import QueryParams

from rayscope.ray_api.fields import ACTORS, RESOURCES, TASKS, Field, Resource, sql_of
from rayscope.ray_api.parameters import parse_boolean, parse_integer
from rayscope.storage.errors import BadQuery
from rayscope.storage.sql.execution import NOT_DRIVER
from rayscope.storage.sql.pages import Where

#: Ray's own default, and its server's maximum.
DEFAULT_LIMIT, LONG_LIMIT = 100, 10_000
#: Maximum number of rows in a list.
MAX_ROWS = 1_000_000
#: Maximum size of a list, in bytes, as estimated from its first rows.
_MAX_BYTES = 1 << 30
#: The remedy for a list that is too long.
_LESS = "Use a lower --limit or a --filter, or `rayscope export --format parquet`."
#: Maximum number of groups, by name and state, in a summary.
_MAX_GROUPS = 20_000
#: Maximum number of filters in a request.
_MAX_FILTERS = 50
#: Number of rows read by one query. DuckDB holds their columns in memory.
_ROWS_PER_QUERY = 50_000
#: Number of rows sent at once.
_ROWS_PER_PIECE = 500
#: The types of tasks, by the name of their total in a summary.
_TOTALS = {
    "total_tasks": "NORMAL_TASK",
    "total_actor_tasks": "ACTOR_TASK",
    "total_actor_scheduled": "ACTOR_CREATION_TASK",
}


@dataclass(frozen=True)
class Warnings:
    """The reasons why an answer may be incomplete: what could not be read, and anything else to note.

    ``truncated``: number of rows that were not read.
    """

    partial: str = ""
    notes: tuple[str, ...] = ()
    truncated: int = 0


@dataclass(frozen=True)
class ListRequest:
    """A request for a list. ``chosen``: conditions on the rows that Ray counts. ``filters``: the others."""

    resource: Resource
    fields: tuple[Field, ...]
    limit: int
    chosen: Where
    filters: Where

    @property
    def both(self) -> Where:
        """All conditions."""
        return Where(self.chosen.clauses + self.filters.clauses, self.chosen.values + self.filters.values)


def parse_list(query: QueryParams, name: str, version: tuple[int, ...]) -> ListRequest:
    """Read a request for a list from its query, as Ray's server does. Raises BadQuery.

    ``version``: that of the session's Ray, () if unknown.
    """
    resource = RESOURCES[name]
    detail = parse_boolean("detail", query.get("detail", "false")) == "true"
    limit = parse_integer("limit", query.get("limit", str(DEFAULT_LIMIT)))
    if limit < 0:
        raise BadQuery("limit must not be negative.", "")
    chosen = Where([resource.where], [])
    if resource is TASKS and parse_boolean("exclude_driver", query.get("exclude_driver", "true")) == "true":
        chosen.add(NOT_DRIVER)
    filters = Where([], [])
    for key, predicate, value in _filters(query):
        field = next((field for field in resource.fields if field.name == key and "F" in field.marks), None)
        if field is None:
            names = ", ".join(field.name for field in resource.fields if "F" in field.marks)
            raise BadQuery(
                f"The given filter column {key[:80]} is not supported.", f"Supported filter columns: {names}."
            )
        (chosen if key in resource.at_source else filters).add(*_condition(field, predicate, value))
    known = [field for field in resource.fields if not version or version >= field.since]
    shown = tuple(field for field in known if detail or "D" not in field.marks)
    return ListRequest(resource, shown, limit, chosen, filters)


def _filters(query: QueryParams) -> Iterator[tuple[str, str, str]]:
    keys, predicates, values = (query.getlist(f"filter_{part}") for part in ("keys", "predicates", "values"))
    if not len(keys) == len(predicates) == len(values) <= _MAX_FILTERS:
        raise BadQuery(
            "Each filter needs a key, a predicate and a value.", f"Use at most {_MAX_FILTERS} filters."
        )
    for key, predicate, value in zip(keys, predicates, values, strict=True):
        if predicate not in ("=", "!="):
            raise BadQuery(
                f"Unsupported filter predicate {predicate[:20]} is given.", "Available predicates: =, !=."
            )
        yield key.lower(), predicate, value


def _condition(field: Field, predicate: str, value: str) -> tuple[str, str]:
    """SQL for a filter, with its value. Ray ignores case. A missing value equals nothing."""
    if field.kind is int:
        value = str(parse_integer(field.name, value))
    elif field.kind is bool:
        value = parse_boolean(field.name, value)
    equal = f"coalesce(lower(({field.sql})::VARCHAR) = ?, false)"
    return (equal if predicate == "=" else f"NOT {equal}"), value.lower()


def read_rows(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> Iterator[bytes]:
    """The rows of a list as JSON, some at a time, separated by commas."""
    columns = ", ".join(f"'{field.name}': {field.sql}" for field in request.fields)
    rows, order, where = request.resource.rows, ", ".join(request.resource.order), request.both
    chosen = f"FROM {rows}{where.sql} ORDER BY {order} LIMIT {min(request.limit, MAX_ROWS)}"
    select = f"SELECT to_json({{{columns}}})::VARCHAR FROM"
    if not rows.isidentifier():
        reader.execute(f"{select} (SELECT * {chosen}) ORDER BY {order}", where.values)
        yield from _fetch(reader)
        return
    # Sort the rows without their other columns, and then read these for some rows at a time. Sorting all
    # columns takes ten times as long, and more memory than there is.
    places = reader.execute(f"SELECT rowid AS place {chosen}", where.values).fetchnumpy()["place"]
    for start in range(0, len(places), _ROWS_PER_QUERY):
        reader.register("page", pa.table({"place": places[start : start + _ROWS_PER_QUERY]}))
        reader.execute(f"{select} {rows} WHERE rowid IN (SELECT place FROM page) ORDER BY {order}")
        yield from _fetch(reader)


def _fetch(reader: duckdb.DuckDBPyConnection) -> Iterator[bytes]:
    while found := reader.fetchmany(_ROWS_PER_PIECE):
        yield ",".join(row for (row,) in found).encode()


def count_rows(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> tuple[int, int]:
    """The number of rows before and after filtering."""
    passed = " AND ".join(request.filters.clauses) or "true"
    total, filtered = reader.execute(
        f"SELECT count(*), count(*) FILTER ({passed}) FROM {request.resource.rows}{request.chosen.sql}",
        [*request.filters.values, *request.chosen.values],
    ).fetchall()[0]
    return int(total), int(filtered)


def read_list(reader: duckdb.DuckDBPyConnection, request: ListRequest, warnings: Warnings) -> Iterator[bytes]:
    """Ray's answer with a list, in pieces. Raises BadQuery before the first piece if it would be too long."""
    total, filtered = count_rows(reader, request)
    rows = min(filtered, request.limit)
    if rows > MAX_ROWS:
        raise BadQuery(f"A list can have at most {MAX_ROWS:,} rows, and {filtered:,} match.", _LESS)
    pieces = read_rows(reader, request)
    first = next(pieces, b"")
    if len(first) * rows > _MAX_BYTES * min(rows, _ROWS_PER_PIECE):
        raise BadQuery(f"The list would have more than {_MAX_BYTES:,} bytes.", _LESS)
    # The rows replace an empty list in the answer.
    head, tail = msgspec.json.encode(envelope(total, filtered, [], warnings)).split(b"[]", 1)
    yield head + b"[" + first
    size = 0
    for piece in pieces:
        yield b"," + piece
        size += len(piece)
        if size > 2 * _MAX_BYTES:  # Later rows are much longer than the first. This cuts the connection.
            raise BadQuery(f"The list is larger than {2 * _MAX_BYTES:,} bytes.", _LESS)
    yield b"]" + tail


def envelope(total: int, filtered: int, result: Any, warnings: Warnings) -> dict[str, Any]:
    """Ray's answer with the rows of a list, or with a summary."""
    return {
        "result": True,
        "msg": "",
        "data": {
            "result": {
                "total": total + warnings.truncated,
                "num_after_truncation": total,
                "num_filtered": filtered,
                "result": result,
                "partial_failure_warning": warnings.partial,
                "warnings": list(warnings.notes) or None,
            }
        },
    }


def _read_groups(
    reader: duckdb.DuckDBPyConnection, request: ListRequest, query: str
) -> list[tuple[Any, ...]]:
    groups = reader.execute(f"{query} LIMIT {_MAX_GROUPS + 1}", request.both.values).fetchall()
    if len(groups) > _MAX_GROUPS:
        raise BadQuery(
            f"A summary can have at most {_MAX_GROUPS:,} groups, by name and state.",
            "Use a list with a --filter, or `rayscope export --format parquet`.",
        )
    return groups


def summarize_tasks(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> dict[str, Any]:
    """Attempts by name and state. Raises BadQuery."""
    found = _read_groups(
        reader,
        request,
        f"SELECT {sql_of(TASKS, 'name')} AS shown, {sql_of(TASKS, 'state')} AS shown_state, type, "
        f"count(*), min((task_hi, task_lo)) AS first FROM attempts{request.both.sql} "
        "GROUP BY ALL ORDER BY first, 1, 2, 3",
    )
    groups: dict[str, dict[str, Any]] = {}
    for name, state, kind, number, _ in found:
        group = groups.setdefault(name, {"func_or_class_name": name, "type": kind, "state_counts": {}})
        group["state_counts"][state] = group["state_counts"].get(state, 0) + number
    return {
        "summary": groups,
        **total_by_type((kind, number) for _, _, kind, number, _ in found),
        "summary_by": "func_name",
    }


def total_by_type(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The number of attempts of each type, by Ray's names for the totals. ``counts``: types and numbers."""
    sums: Counter[str] = Counter()
    for kind, number in counts:
        sums[kind] += number
    return {total: sums[kind] for total, kind in _TOTALS.items()}


def summarize_actors(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> dict[str, Any]:
    """Actors by class and state. Raises BadQuery."""
    found = _read_groups(
        reader,
        request,
        f"SELECT {sql_of(ACTORS, 'class_name')}, state, count(*) FROM actor_rows{request.both.sql} "
        "GROUP BY ALL ORDER BY min(id)",
    )
    groups: dict[str, dict[str, Any]] = {}
    for name, state, number in found:
        groups.setdefault(name, {"class_name": name, "state_counts": {}})["state_counts"][state] = number
    return {
        "summary": groups,
        "total_actors": sum(number for _, _, number in found),
        "summary_by": "class",
    }


def summarize_objects(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> dict[str, Any]:
    """References to objects by call site."""
    rows: list[dict[str, Any]] = msgspec.json.decode(b"[%b]" % b",".join(read_rows(reader, request)))
    by_site: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_site.setdefault(row["call_site"], []).append(row)
    groups = {
        site: {
            "total_objects": len(group),
            "total_size_mb": _megabytes(group),
            "total_num_workers": len({row["pid"] for row in group}),
            "total_num_nodes": len({row["ip"] for row in group}),
            "task_state_counts": Counter(row["task_status"] for row in group),
            "task_attempt_number_counts": Counter(str(row["attempt_number"]) for row in group),
            "ref_type_counts": Counter(row["reference_type"] for row in group),
        }
        for site, group in by_site.items()
    }
    return {
        "summary": groups,
        "total_objects": len(rows),
        "total_size_mb": _megabytes(rows),
        "callsite_enabled": "disabled" not in groups,
        "summary_by": "callsite",
    }


def _megabytes(rows: list[dict[str, Any]]) -> float:
    return float(sum(row["object_size"] / 1024**2 for row in rows if row["object_size"] != -1))
