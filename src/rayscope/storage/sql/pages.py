"""Code that all lists share: conditions, sort orders, keyset cursors and pages."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import duckdb
import msgspec

from rayscope.storage.errors import BadQuery

T = TypeVar("T")
Row = dict[str, Any]
MAX_LIMIT = 1000


class Page(msgspec.Struct, Generic[T]):
    """A page of a list. ``total``: number of matching rows; ``next``: cursor of the next page."""

    items: list[T]
    next: str | None
    total: int


@dataclass(frozen=True)
class Where:
    """Conditions joined by AND, with the values of their parameters."""

    clauses: list[str]
    values: list[Any]

    @property
    def sql(self) -> str:
        """`` WHERE ...``, or "" without conditions."""
        return f" WHERE {' AND '.join(self.clauses)}" if self.clauses else ""

    def named(self) -> tuple[str, dict[str, Any]]:
        """All conditions joined into one, with named parameters ($p0, ...) instead of question marks, and the
        parameters' values.
        """
        parts = " AND ".join(self.clauses).split("?")
        named = {f"p{number}": value for number, value in enumerate(self.values)}
        text = parts[0] + "".join(f"$p{number}{part}" for number, part in enumerate(parts[1:]))
        return f"({text or 'true'})", named

    def add(self, clause: str, *values: Any) -> None:
        """Add a condition."""
        self.clauses.append(clause)
        self.values.extend(values)


#: Length of the IDs in these columns. Shorter values are prefixes.
_ID_LENGTHS = {"node_id": 56, "worker_id": 56, "actor_id": 32, "placement_group_id": 36, "job_id": 8}
#: Minimum length of a prefix that stands for an ID. The UI and the command line abbreviate IDs to prefixes.
MIN_PREFIX = 4


def equals(field: str, value: str, column: str | None = None) -> str:
    """SQL with one parameter that tests whether a field equals it, or is an ID that begins with it.

    ``column``: the column with the field, if it does not have the field's name.
    """
    is_prefix = MIN_PREFIX <= len(value) < _ID_LENGTHS.get(field, 0)
    return f"starts_with({column or field}, ?)" if is_prefix else f"{column or field} = ?"


def choices(field: str, text: str, known: Sequence[str]) -> list[str]:
    """The comma-separated values of a filter, in upper case. Raises BadQuery for an unknown value."""
    values = [value.strip().upper() for value in text.split(",") if value.strip()]
    for value in values:
        if value not in known:
            raise BadQuery(f"Unknown {field} {value[:80]!r}.", f"One of: {', '.join(known)}.")
    return values


def encode_cursor(values: Sequence[Any]) -> str:
    """Encode the sort order and the last row's key as an opaque string."""
    return base64.urlsafe_b64encode(msgspec.json.encode(list(values))).decode().rstrip("=")


def decode_cursor(cursor: str, sort: str, *types: list[type]) -> list[Any]:
    """Decode a cursor. After the sort order, its values must match one of the lists of ``types``. Raises
    BadQuery.
    """
    try:
        values = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise BadQuery("Invalid cursor.", "Use `next` of the previous page, unchanged.") from error
    if (
        not isinstance(values, list)
        or not values
        or values[0] != sort
        or [type(value) for value in values[1:]] not in types
        or any(isinstance(value, int) and abs(value) >= 2**64 for value in values)
    ):
        raise BadQuery(
            "This cursor belongs to a different list or sort order.", "Use `next` of the previous page."
        )
    return values


def direction_of(sort: str, allowed: Sequence[str]) -> tuple[str, bool]:
    """The field to sort by, and whether to sort in descending order (``-field``). Raises BadQuery."""
    descending = sort.startswith("-")
    name = sort.removeprefix("-")
    if name not in allowed:
        raise BadQuery(f"Cannot sort by {name[:80]!r}.", f"Sort by one of: {', '.join(allowed)}.")
    return name, descending


def check_limit(limit: int) -> int:
    """Return ``limit`` if a page may have that many rows. Raises BadQuery otherwise."""
    if not 1 <= limit <= MAX_LIMIT:
        raise BadQuery(f"limit must be 1 to {MAX_LIMIT}.")
    return limit


def count_and_edge(
    reader: duckdb.DuckDBPyConnection,
    rows: str,
    where: Where,
    after: Where,
    key: str,
    *,
    descending: bool,
    limit: int,
) -> int:
    """Number of ``rows`` (SQL) that match ``where``. Afterwards, ``where`` selects only the rows of one page.

    ``after``: the cursor's condition. ``key``: the first sort column. The rows that ``where`` then selects
    are the page, and any others with the same key as its last row. This is three times as fast as sorting
    100,000 full rows. It must run in the same transaction as the query for the page, or rows could be missing
    from the page.
    """
    aggregate, operator = ("max", ">=") if descending else ("min", "<=")
    filtered = f" FILTER ({' AND '.join(after.clauses)})" if after.clauses else ""
    total, keys = reader.execute(
        f"SELECT count(*), {aggregate}({key}, {limit + 1}){filtered} FROM {rows}{where.sql}",
        [*after.values, *where.values],
    ).fetchall()[0]
    where.clauses.extend(after.clauses)
    where.values.extend(after.values)
    if keys is not None and len(keys) > limit:
        where.add(f"{key} {operator} ?", keys[-1])
    return int(total)


def like(text: str) -> str:
    """An ILIKE pattern that matches strings which contain ``text``."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def literal(text: str) -> str:
    """``text`` as an SQL literal. Only for constants: use parameters for values from requests."""
    return "'" + text.replace("'", "''") + "'"


def fields_of(row: Mapping[str, Any], schema: Any) -> Row:
    """The columns of a row that are fields of a schema (a TypedDict)."""
    return {name: row[name] for name in schema.__annotations__ if name in row}


def rows_of(cursor: duckdb.DuckDBPyConnection) -> list[Any]:
    """All rows of a result, as dicts. The caller, which selects the columns, declares the type of the
    rows.
    """
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
