"""Names functions during a flush: see docs/explanation/decisions/0016-function-names.md.

The table ``function_names`` has one row per function, with its shortest unique name. ``placed_functions``
contains the functions that the tracer distinguished by their place in the source, by Ray's hash. The
functions of this module are steps of :class:`rayscope.storage.attempts.AttemptFlush` and use its temporary
tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rayscope.storage.sql.execution import full_name

#: Name of the span in which the tracer describes a function whose name in Ray is ambiguous.
DEFINITION = "definition"
_PLACED_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("function_hash", "full_name", "long_name", "short_name")]
)
_MAX_NAME = 500


class PlacedFunction(NamedTuple):
    """A function's names: a unique one and two shorter ones."""

    full_name: str
    long_name: str
    short_name: str


class _Values(msgspec.Struct, gc=False):
    code: str
    name: str
    module: str = ""
    place: str = ""
    column: str = ""
    wrapper: str = ""


_decode = msgspec.json.Decoder(_Values).decode


def definitions(spans: pa.Table) -> dict[str, PlacedFunction]:
    """Ray's hash -> names of each function that rows of ``span_rows`` describe. Invalid descriptions are
    skipped.
    """
    found = {}
    rows = spans.filter(pc.equal(spans.column("name"), DEFINITION))
    for extra in rows.column("extra").to_pylist():
        try:
            values = _decode(extra or "")
        except msgspec.DecodeError:
            continue
        if values.code:
            found[values.code] = _names(values)
    return found


def _names(values: _Values) -> PlacedFunction:
    module = f"{values.module}." if values.module else ""
    if values.place:
        long = f"{values.name} ({values.place})"
        full = f"{long[:-1]}:{values.column})"
        if values.module != values.place.partition(".")[0]:
            full = module + full
    else:
        long = full = module + values.name
    if values.wrapper:
        full = f"{full} ({values.wrapper})"
    return PlacedFunction(*(name[:_MAX_NAME] for name in (full, long, values.name)))


def place(connection: duckdb.DuckDBPyConnection, placed: Mapping[str, PlacedFunction]) -> None:
    """Create ``fresh_places`` with the functions of ``placed`` that the record lacks, and add them to the
    record.
    """
    rows = [(code, *names) for code, names in placed.items()]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(_PLACED_SCHEMA)
    connection.register("reported_places", pa.table(columns, schema=_PLACED_SCHEMA))
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE fresh_places AS SELECT * FROM reported_places "
        "ANTI JOIN placed_functions USING (function_hash)"
    )
    connection.unregister("reported_places")
    if placed:
        connection.execute("INSERT INTO placed_functions BY NAME FROM fresh_places")


def is_late(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether stored attempts call a function of ``fresh_places``, so that their names and paths must be
    corrected.
    """
    return _has(connection, "SELECT 1 FROM attempts SEMI JOIN fresh_places USING (function_hash)")


def rename(connection: duckdb.DuckDBPyConnection, *, is_late: bool) -> None:
    """Name the new functions of ``calls``, and rename functions that share a name with them.

    ``is_late``: result of :func:`is_late`.
    """
    if is_late:
        _forget_unused(connection)
    connection.execute(
        """
INSERT INTO function_names BY NAME
SELECT DISTINCT ON (full_name) called AS full_name, coalesce(p.long_name, called) AS long_name,
    coalesce(p.short_name, rays_name) AS short_name, rays_name AS func_name
FROM (FROM calls ANTI JOIN function_names ON full_name = called) c
LEFT JOIN placed_functions p ON p.function_hash = c.code
WHERE rays_name IS NOT NULL"""
    )
    if not _has(connection, "SELECT 1 FROM function_names WHERE name IS NULL") and not is_late:
        return
    # The GCS's task table lacks modules. An attempt whose module is not known yet is no second function.
    connection.execute(
        """
CREATE OR REPLACE TEMP TABLE renamed AS SELECT * FROM (
    SELECT full_name, name AS old_name, CASE
        WHEN full_name = short_name OR count(*) FILTER (full_name != short_name)
            OVER (PARTITION BY short_name) = 1 THEN short_name
        WHEN count(*) OVER (PARTITION BY long_name) = 1 THEN long_name ELSE full_name END AS name,
        func_name
    FROM function_names) WHERE name IS DISTINCT FROM old_name"""
    )
    for table in ("function_names", "paths"):
        connection.execute(
            f"UPDATE {table} SET name = r.name FROM renamed r WHERE {table}.full_name = r.full_name"
        )
    if is_late or _has(connection, "SELECT 1 FROM renamed WHERE old_name IS NOT NULL"):
        # A second function with the same name has appeared. This is rare, so searching all attempts is
        # acceptable.
        connection.execute(
            f"""
UPDATE attempts SET distinct_name = c.name FROM (
    SELECT a.rowid AS row, nullif(r.name, a.func_name) AS name
    FROM attempts a JOIN function_names r ON r.full_name = {full_name("a")}
    WHERE a.func_name IN (SELECT func_name FROM renamed)) c
WHERE attempts.rowid = c.row AND attempts.distinct_name IS DISTINCT FROM c.name"""
        )


def _forget_unused(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete names that functions had before they were distinguished, unless other functions use them."""
    connection.execute(
        f"""
DELETE FROM function_names WHERE full_name IN (
        SELECT {full_name("a", is_placed=False)} FROM attempts a
        SEMI JOIN fresh_places USING (function_hash))
    AND full_name NOT IN (
        SELECT {full_name("a")} FROM attempts a
        WHERE func_name IN (SELECT func_name FROM attempts SEMI JOIN fresh_places USING (function_hash)))
    AND full_name NOT IN (SELECT called FROM calls WHERE called IS NOT NULL)"""
    )


def _has(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    return bool(connection.execute(f"{query} LIMIT 1").fetchall())
