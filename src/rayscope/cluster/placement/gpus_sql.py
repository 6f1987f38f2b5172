"""Queries which GPUs tasks and actors hold, and what share of each."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

import duckdb
import msgspec

from rayscope.cluster.placement.reservations import reservation
from rayscope.cluster.placement.schemas import GpuShare
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.sql.execution import hex_id
from rayscope.storage.sql.gpu_use import GPUS_OF_SPAN, REPORTED_GPUS, holds_gpus

#: The tracer's report takes precedence, because the GCS does not know a node's CUDA_VISIBLE_DEVICES.
_OF_ACTORS = f"""
SELECT r.id, r.required_resources, coalesce(g.reported, json_extract_string(r.doc, '$[3].gpus'))
FROM actor_rows r LEFT JOIN (
    SELECT a.actor_id, arg_max({GPUS_OF_SPAN}, s.begin_ns) AS reported
    FROM attempts a
    JOIN span_rows s ON s.task_hi = a.task_hi AND s.task_lo = a.task_lo AND s.attempt = a.attempt
    WHERE a.type = 'ACTOR_CREATION_TASK' AND list_contains($ids, a.actor_id) AND {REPORTED_GPUS}
    GROUP BY a.actor_id
) g ON g.actor_id = r.id
WHERE list_contains($ids, r.id)
"""


def gpus_of_actors(
    reader: duckdb.DuckDBPyConnection, ids: Collection[str | None]
) -> dict[str, list[GpuShare]]:
    """The GPUs of each actor that requested some: ``index`` (None if unknown) and ``share``."""
    asked = reader.execute(
        f"SELECT id FROM actor_rows r WHERE list_contains($ids, id) AND {holds_gpus('r')}",
        {"ids": [one for one in ids if one]},
    ).fetchall()
    if not asked:  # usually the case; avoids a scan of all spans
        return {}
    found = reader.execute(_OF_ACTORS, {"ids": [one for (one,) in asked]}).fetchall()
    return {actor_id: _shares(resources, reported) for actor_id, resources, reported in found}


def gpus_of_attempts(
    reader: duckdb.DuckDBPyConnection, attempts: str, values: dict[str, Any] | None = None
) -> dict[tuple[str, int], list[GpuShare]]:
    """The GPUs of attempts that requested some, by task and attempt. ``attempts``: SQL that selects them."""
    asking = f"FROM ({attempts}) a WHERE a.type != 'ACTOR_TASK' AND {holds_gpus('a')}"
    if reader.execute(f"SELECT 1 {asking} LIMIT 1", values).fetchone() is None:
        return {}
    found = reader.execute(
        f"SELECT {hex_id('a.task')}, a.attempt, a.required_resources, {GPUS_OF_SPAN} "
        f"FROM (SELECT a.* {asking}) a "
        "LEFT JOIN span_rows s ON s.task_hi = a.task_hi AND s.task_lo = a.task_lo AND s.attempt = a.attempt "
        f"AND {REPORTED_GPUS}",
        values,
    ).fetchall()
    return {
        (task_id, attempt): _shares(resources, reported) for task_id, attempt, resources, reported in found
    }


def _shares(resources: str | None, shares_json: str | None) -> list[GpuShare]:
    shares: dict[str, float] = {}
    with contextlib.suppress(*DECODE_ERRORS):  # a user's span may look like the tracer's
        shares = msgspec.json.decode(shares_json or "{}", type=dict[str, float])
    if shares:
        return [{"index": index, "share": round(share, 4)} for index, share in sorted(shares.items())]
    asked = reservation(resources).resources.get("GPU", 0.0)
    return [{"index": None, "share": asked}] if asked else []
