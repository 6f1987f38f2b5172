"""Schemas for the state of ingestion."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class Snapshots(TypedDict):
    """The state of reading snapshots from the GCS. ``tasks_from``: the service in which tasks were found."""

    ok: bool
    error: str | None
    remedy: str | None
    tasks: bool
    tasks_from: Literal["gcs", "dashboard"] | None
    cost_s: float
    interval_s: float | None
    last_ns: int | None
    last_tasks_ns: int | None
