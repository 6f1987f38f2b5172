"""Schemas of the data that is missing from a record."""

from __future__ import annotations

from typing_extensions import TypedDict


class DroppedBy(TypedDict):
    """Data that was lost, as counted by ``source``."""

    source: str
    reason: str
    event_type: str
    count: int
    first_ns: int | None
    last_ns: int | None


class Dropped(TypedDict):
    """The data that is missing from a record."""

    total: int
    spans: int
    by: list[DroppedBy]
    unresolved_attempts: int
    starts_lost: int
    repaired_total: int
    repaired_ns: int | None
    repaired_partly: bool
