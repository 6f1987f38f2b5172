"""Schemas for the state of ingestion."""

from __future__ import annotations

from typing_extensions import TypedDict


class Snapshots(TypedDict):
    """The state of reading snapshots from the GCS."""

    ok: bool
    error: str | None
    remedy: str | None
    tasks: bool
    cost_s: float
    interval_s: float | None
    last_ns: int | None
    last_tasks_ns: int | None
