"""Adds to attempts and actors what they used of their GPUs: the fields of :class:`GpuUse`."""

from __future__ import annotations

from typing import Any

import duckdb

from rayscope.storage.sql import gpu_use
from rayscope.storage.sql.pages import rows_of

_UNUSED = dict.fromkeys(gpu_use.COLUMNS)
_GPU = '"GPU'
_IS_CHOSEN = (
    "(a.task_hi, a.task_lo, a.attempt) IN "
    "(SELECT unnest($high::UBIGINT[]), unnest($low::VARCHAR[]), unnest($attempt::INTEGER[]))"
)


def add_to_attempts(reader: duckdb.DuckDBPyConnection, rows: list[Any], last_ns: int) -> None:
    """Add the fields to ``rows`` of attempts, which have ``required_resources``. ``last_ns``: the end that is
    assumed for running attempts.
    """
    for row in rows:
        row.update(_UNUSED)
    if not _holds_gpus(reader, rows):  # usually the case; avoids a scan of all spans
        return
    columns = {"high": "task_hi", "low": "task_lo", "attempt": "attempt"}
    values = {name: [row[column] for row in rows] for name, column in columns.items()}
    by_key = {(row["task_hi"], row["task_lo"], row["attempt"]): row for row in rows}
    for use in rows_of(reader.execute(gpu_use.of_attempts(int(last_ns), _IS_CHOSEN), values)):
        by_key[use.pop("task_hi"), use.pop("task_lo"), use.pop("attempt")].update(use)


def add_to_actors(reader: duckdb.DuckDBPyConnection, rows: list[Any], last_ns: int) -> None:
    """Add the fields to ``rows`` of actors."""
    by_id = {row["actor_id"]: row for row in rows}
    for row in rows:
        row.update(_UNUSED)
    ids = [actor_id for actor_id, row in by_id.items() if _GPU in (row["required_resources"] or "")]
    if ids:
        chosen = "list_contains($ids, a.actor_id)"
        for use in rows_of(reader.execute(gpu_use.of_actors(int(last_ns), chosen), {"ids": ids})):
            by_id[use.pop("actor_id")].update(use)


def _holds_gpus(reader: duckdb.DuckDBPyConnection, rows: list[Any]) -> bool:
    """Whether one of the attempts, or of the actors that they are methods of, has GPUs."""
    if any(_GPU in (row["required_resources"] or "") for row in rows):
        return True
    actors = [row["actor_id"] for row in rows if row["actor_id"]]
    if not actors:
        return False
    found = reader.execute(
        f"SELECT 1 FROM actor_rows r WHERE list_contains($1, id) AND {gpu_use.holds_gpus('r')} LIMIT 1",
        [actors],
    )
    return found.fetchone() is not None
