"""The part of a simulation's engine that its other parts use."""

from __future__ import annotations

from typing import Protocol


class Engine(Protocol):
    """The clock, the state of the runs, and the methods that start them.

    ``has_room``: whether resources or workers became free since the last dispatch.
    """

    now: int
    has_room: bool
    ended_ns: list[int]
    waiting_for: list[int]

    def mark_room(self, run: int) -> None:
        """Note that ``run`` freed resources or a worker."""

    def begin(self, run: int, loading_ns: int = 0) -> None:
        """Start a run that has everything it needs."""

    def start_worker_after(self, duration_ns: int, lease: int) -> None:
        """Let the worker of a lease finish starting after ``duration_ns``."""
