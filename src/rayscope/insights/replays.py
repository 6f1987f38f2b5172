"""Limits the answers made by replaying jobs, and reports the progress of long ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from rayscope.api.provide import provide
from rayscope.insights.gains import Check
from rayscope.storage.slots import Slots

#: Replays for requests at a time. Each takes a core, and 60 MB for 30,000 attempts.
_MAX_REPLAYS = 2
#: Requests that wait for a replay, each with one of the server's 40 threads.
_MAX_WAITING_REPLAYS = 6
#: How long such a request waits, s.
_REPLAY_WAIT_S = 5.0
#: Requests about jobs of more than 100,000 attempts that wait for their turn, and how long, s.
_MAX_WAITING_LONG = 4
_LONG_WAIT_S = 3600.0


class Replays:
    """Limits the replays of jobs. Those of a million attempts take gigabytes and are made one at a time."""

    def __init__(self) -> None:
        #: For an answer made by replaying a job: `GET /api/insights` and `POST /api/whatif`.
        self.slots = Slots(
            _MAX_REPLAYS,
            f"{_MAX_REPLAYS} replays of jobs are already running.",
            waiting=_MAX_WAITING_REPLAYS,
            wait_s=_REPLAY_WAIT_S,
        )
        self._long_slots = Slots(
            1, "Other large jobs are being replayed.", waiting=_MAX_WAITING_LONG, wait_s=_LONG_WAIT_S
        )
        self._shares: dict[tuple[str, str], float] = {}

    def share(self, session: str, job_id: str) -> float | None:
        """How much of a job's answer is done, 0 to 1; None if nobody makes one."""
        return self._shares.get((session, job_id))

    @contextmanager
    def making(self, session: str, job_id: str, replays: int, check: Check) -> Iterator[Check]:
        """Wait for the turn of a job's answer, which takes so many replays at most. Gives what these call.

        Raises what ``check`` raises, and Busy if too many wait.
        """
        key, done = (session, job_id), 0

        def tell(part: float) -> None:
            nonlocal done
            check(part)
            self._shares[key] = min(1.0, (done + part) / replays)
            done += part >= 1

        self._shares[key] = 0.0
        try:
            with self._long_slots.take(lambda: check(0.0)):
                yield tell
        finally:
            self._shares.pop(key, None)


CurrentReplays = Annotated[Replays, provide(Replays)]
