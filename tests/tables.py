"""Rows of a record that no writer wrote."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from rayscope.model import Attempt
from rayscope.storage import rows, schema
from rayscope.storage.sql.merge import merge


def insert_attempts(connection: duckdb.DuckDBPyConnection, attempts: Sequence[Attempt]) -> None:
    """Insert attempts, each in one or several parts, without call paths."""
    if not attempts:
        return
    connection.register("parts", rows.part_table(attempts))
    merged = f"(SELECT *, NULL::BIGINT AS path_id FROM ({merge(['parts'])}))"
    connection.execute(schema.insert_attempts(merged))
    connection.unregister("parts")
