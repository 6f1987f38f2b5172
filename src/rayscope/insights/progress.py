"""Answers that take a minute or more: made one at a time, while others ask how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

#: Tells how much of the replay that runs just now is done (0 to 1); raises whatever ends the work.
Check = Callable[[float], None]


class LongAnswers:
    """Replays of a million attempts take gigabytes, so a server makes one such answer at a time."""

    def __init__(self, take: Callable[[Callable[[], None]], AbstractContextManager[None]]) -> None:
        """``take`` waits for the one slot, see :meth:`rayscope.storage.slots.Slots.take`."""
        self._take = take
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
            with self._take(lambda: check(0.0)):
                yield tell
        finally:
            self._shares.pop(key, None)
