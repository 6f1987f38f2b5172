"""Limits concurrent replays of jobs, and reports the progress of long ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from rayscope.api.provide import provide
from rayscope.insights.gains import Check
from rayscope.storage.slots import Slots

#: Maximum number of concurrent replays for requests. Each takes one core, and 60 MB for 30,000 attempts.
_MAX_REPLAYS = 2
#: Maximum number of requests that wait for a replay to finish. Further ones are rejected, because each
#: occupies one of the server's 40 threads.
_MAX_WAITING_REPLAYS = 6
#: How long a request waits for a replay to finish, in seconds.
_REPLAY_WAIT_S = 5.0
#: Maximum number of requests about jobs of more than 100,000 attempts that wait for their turn. Further ones
#: are rejected.
_MAX_WAITING_LONG = 4
#: How long a request about such a large job waits for its turn, in seconds.
_LONG_WAIT_S = 3600.0


class Replays:
    """Limits concurrent replays. Long ones run one at a time, because a million attempts take gigabytes of
    memory.
    """

    def __init__(self) -> None:
        #: Limits the replays for `GET /api/v1/insights` and `POST /api/v1/what-if`.
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
        """Progress of the answer about a job, 0 to 1, or None if no long-running request is computing one."""
        return self._shares.get((session, job_id))

    @contextmanager
    def waiting_turn(self, session: str, job_id: str, replays: int, check: Check) -> Iterator[Check]:
        """Wait until a long computation about a job may start, and track its progress.

        ``replays``: the maximum number of replays that it takes. Yields the function that the replays call
        with their progress. Raises what ``check`` raises, and Busy if too many requests are waiting.
        """
        key, done = (session, job_id), 0

        def report(part: float) -> None:
            nonlocal done
            check(part)
            self._shares[key] = min(1.0, (done + part) / replays)
            done += part >= 1

        self._shares[key] = 0.0
        try:
            with self._long_slots.take(lambda: check(0.0)):
                yield report
        finally:
            self._shares.pop(key, None)


CurrentReplays = Annotated[Replays, provide(Replays)]
