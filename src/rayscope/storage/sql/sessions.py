"""A session at a glance: counts, functions, failures, resources, and what is missing."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from typing_extensions import TypedDict

from rayscope.storage.schema import ENTITY_COLUMNS, ENTITY_VIEWS, NOT_TASK_LOSSES, SPAN_LOSSES
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import (
    COUNT_STATES,
    CREATED,
    END,
    NOT_DRIVER,
    START,
    START_LOST,
)
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.pages import Row, rows_of
from rayscope.storage.sql.samples import ABOUT_SAMPLES


def nodes(file: SessionFile) -> list[Row]:
    """All nodes: ``node_id``, ``state``, ``node_ip``, ``hostname``."""
    with file.reader() as reader:
        return rows_of(
            reader.execute("SELECT id AS node_id, state, node_ip, hostname FROM node_rows ORDER BY id")
        )


def span_count(file: SessionFile) -> int:
    """Number of recorded spans that are not phases of a task (``ray.get`` and the like)."""
    with file.reader() as reader:
        found = reader.execute(f"SELECT count(*) FROM span_rows WHERE NOT ({ABOUT_SAMPLES})").fetchone()
    return int(found[0]) if found else 0


def counts(file: SessionFile) -> dict[str, dict[str, int]]:
    """``tasks`` or the view of an entity kind -> state -> number of attempts or entities."""
    result: dict[str, dict[str, int]] = {}
    with file.reader() as reader:
        result["tasks"] = dict(reader.execute(COUNT_STATES).fetchall())
        for kind, (view, _) in ENTITY_VIEWS.items():
            if "state" not in dict(ENTITY_COLUMNS[kind]):
                continue
            where = "WHERE NOT is_internal " if kind in IS_INTERNAL else ""
            result[view] = dict(
                reader.execute(
                    f"SELECT coalesce(state, 'UNKNOWN'), count(*) FROM {view} {where}GROUP BY 1 ORDER BY 1"
                ).fetchall()
            )
    return result


def time_range(file: SessionFile) -> tuple[int | None, int | None]:
    """The first and the last time at which an attempt was submitted, started, or ended (ns)."""
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


#: Time (ns) by which the GCS has declared attempts of a dead worker or an ended job failed. It does so 1 s
#: after a worker's death and 15 s after a job's end (``gcs_mark_task_failed_on_worker_dead_delay_ms``,
#: ``..._on_job_done_delay_ms``).
_ORPHAN_NS = 20 * 10**9


def orphans(file: SessionFile) -> int:
    """Number of attempts without a recorded end whose worker or job ended at least 20 s ago.

    Ray's GCS has declared them failed by then, but sends no event about it.
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


class Losses(TypedDict):
    """The data that is missing from a record. ``by``: one row for each kind of loss that was counted."""

    total: int
    spans: int
    by: list[Any]
    unresolved_attempts: int
    starts_lost: int


def dropped(file: SessionFile) -> Losses:
    """The data that is missing from the record: losses that were counted, and attempts without a definition
    or a start.
    """
    with file.reader() as reader:
        by = rows_of(
            reader.execute(
                "SELECT source, reason, event_type, count, first_ns, last_ns FROM drops WHERE count > 0 "
                "ORDER BY 1, 2, 3"
            )
        )
        unresolved, starts_lost = reader.execute(
            "SELECT count(*) FILTER (name IS NULL AND type IS NULL), "
            f"count(*) FILTER ({START_LOST} AND {NOT_DRIVER}) FROM attempts"
        ).fetchone() or (0, 0)
    return {
        "total": sum(row["count"] for row in by if row["reason"] not in NOT_TASK_LOSSES),
        "spans": sum(row["count"] for row in by if row["reason"] in SPAN_LOSSES),
        "by": by,
        "unresolved_attempts": unresolved,
        "starts_lost": starts_lost,
    }
