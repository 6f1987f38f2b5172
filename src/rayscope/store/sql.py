"""Read-only SQL of users over one session, within limits of time, memory and rows.

Four walls, each enough for its kind of harm: the file's connection has no access to other files, no
extensions and frozen settings (:mod:`rayscope.store.session_file`); only one statement of the kind SELECT
or EXPLAIN is accepted; it runs in a read-only transaction; and a timer interrupts it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from rayscope.store.catalog import Catalog
from rayscope.store.errors import BadQuery, NotFound
from rayscope.store.session_file import SessionFile

DEFAULT_LIMIT = 10_000
MAX_LIMIT = 1_000_000
MAX_SQL_CHARS = 100_000
_ALLOWED = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


class SqlError(BadQuery):
    """The query was refused, failed, or ran out of its limits."""


class SqlResult(msgspec.Struct):
    """``columns``: (name, DuckDB type); ``rows`` in JSON's types; ``truncated``: more rows than the limit."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int


def query(file: SessionFile, sql: str, *, limit: int = DEFAULT_LIMIT, timeout_s: float = 30.0) -> SqlResult:
    """Run one SELECT. Raises SqlError."""
    if len(sql) > MAX_SQL_CHARS:
        raise SqlError(f"The query is longer than {MAX_SQL_CHARS} characters.", "Shorten it.")
    if not 1 <= limit <= MAX_LIMIT:
        raise SqlError(f"limit must be 1 to {MAX_LIMIT}.", "Aggregate in SQL rather than fetch more rows.")
    began = time.monotonic_ns()
    with file.reader() as cursor:
        try:
            statements = duckdb.extract_statements(sql)
        except duckdb.Error as error:
            raise SqlError(_short(error), "See docs/sql.md for the views and examples.") from error
        if len(statements) != 1 or statements[0].type not in _ALLOWED:
            raise SqlError(
                "Only a single SELECT is allowed: the record is read-only.", "See docs/sql.md for the views."
            )
        timer = threading.Timer(timeout_s, cursor.interrupt)
        timer.daemon = True
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            timer.start()
            cursor.execute(statements[0])
            columns = [(str(column[0]), str(column[1])) for column in cursor.description or ()]
            rows = cursor.fetchmany(limit + 1)
        except duckdb.InterruptException as error:
            raise SqlError(
                f"The query took longer than {timeout_s:g} s and was stopped.",
                "Narrow it with WHERE, or give more time (RAYSCOPE_SQL_TIMEOUT_S).",
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise SqlError(
                "The query needs more memory than it may have.",
                "Narrow it or aggregate (RAYSCOPE_MEMORY_LIMIT raises the limit).",
            ) from error
        except duckdb.Error as error:
            raise SqlError(_short(error), "See docs/sql.md for the views and examples.") from error
        finally:
            timer.cancel()
    truncated = len(rows) > limit
    values = [[_json_value(value) for value in row] for row in rows[:limit]]
    return SqlResult(columns, values, truncated, time.monotonic_ns() - began)


def _short(error: Exception) -> str:
    return str(error)[:1000]


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no NaN and no infinity
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)


def run_sql(
    data_dir: Path, sql: str, session: str | None = None, limit: int = DEFAULT_LIMIT, timeout_s: float = 30.0
) -> SqlResult:
    """The same over a data directory that no server has open. Raises StoreError (SqlError, NotFound, ...)."""
    catalog = Catalog(data_dir, read_only=True)
    try:
        names = catalog.names()
        if not names:
            raise NotFound(f"No session is recorded in {data_dir}.", "Record one: rayscope run SCRIPT")
        with catalog.reading(session or names[0]) as file:
            return query(file, sql, limit=limit, timeout_s=timeout_s)
    finally:
        catalog.close()
