"""Answers that cost much and that several people, or one person again and again, ask for."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

log = logging.getLogger("rayscope.server")

#: What is kept, bytes: the answers, and what is asked.
MAX_BYTES = 64 << 20
_EACH_BYTES = 500
#: An answer about a live session holds for ten times as long as it took, within these bounds, s.
_LEAST_S, _MOST_S = 0.5, 60.0
#: How long whoever asks the same as somebody else waits for that answer, s.
_PATIENCE_S = 60.0
#: An answer that took at least so long, s, is given longer while a new one is made, so many times as long as
#: it took and at most so long, s: who comes back to a page does not wait for it.
SLOW_S = 0.02
_ONCE_MORE, _ONCE_MORE_S = 100, 10.0
#: Such answers are made anew: at once when they are asked for, and before that for so long after that, s.
#: After each that nobody has asked for we rest so many times as long as it took: at most a fifth of the time
#: goes into all of those.
_ASKED_S = 60.0
_REST = 4
#: It is looked so often whether one is due, s.
_TURN_S = 0.2


Value = TypeVar("Value")


@dataclass
class _Kept:
    """An answer that was made from ``begun`` on (s, monotonic), and ``make``, by which it is made again."""

    body: Any
    stamp: Hashable
    begun: float
    until: float
    size: int
    last: float
    is_slow: bool
    make: Callable[[], Any]
    asked: float

    @property
    def is_late(self) -> bool:
        """Whether it was asked for after it should have been made anew."""
        return self.asked >= self.until


def _bytes_of(question: tuple[str, str], body: bytes) -> int:
    return len(body) + sum(map(len, question)) + _EACH_BYTES


class Answers(Generic[Value]):
    """The answers that were given last, up to ``max_size`` in all (of encoded ones: bytes).

    ``size_of`` a question and its answer; ``most_s``: how long one about a live session holds at most.
    """

    def __init__(
        self,
        max_size: int = MAX_BYTES,
        *,
        size_of: Callable[[tuple[str, str], Any], int] = _bytes_of,
        most_s: float = _MOST_S,
    ) -> None:
        self._max_size = max_size
        self._size_of = size_of
        self._most_s = most_s
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._size = 0
        self._making: dict[tuple[str, str], threading.Event] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        #: Somebody was given an answer that is late, or it is time to end.
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rayscope-answers", daemon=True)

    def start(self) -> None:
        """Begin to make slow answers anew, before they are asked for again if there is time."""
        self._thread.start()

    def stop(self) -> None:
        """End that."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def get(self, question: tuple[str, str], stamp: Hashable, make: Callable[[], Value]) -> Value:
        """The answer to a question (the session, and what is asked of it), made anew if it is not at hand.

        ``stamp``: what the answer was made of; with the same stamp it holds for good. None: it can change at
        any time (a live session), and then a tenth of the time goes into each question. Who asks while
        another makes the answer waits for that one, or is given the last one if that is hardly older.
        """
        return self.dated(question, stamp, make)[0]

    def dated(
        self, question: tuple[str, str], stamp: Hashable, make: Callable[[], Value]
    ) -> tuple[Value, float]:
        """The same, and how old it is (s): since it was begun to be made; 0 of what cannot have changed."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            with self._lock:
                known = self._kept.get(question)
                now = time.monotonic()
                if known is not None and (now < known.last if stamp is None else known.stamp == stamp):
                    self._kept.move_to_end(question)
                    known.asked, known.make = now, make
                    if stamp is not None:
                        return known.body, 0.0
                    if known.is_late:
                        self._woken.set()
                    return known.body, now - known.begun
                made = self._making.get(question)
                if made is None:
                    self._making[question] = threading.Event()
                    break
            if not made.wait(deadline - now):
                return make(), 0.0
        return self._make(question, stamp, make, now), 0.0

    def forget(self, session: str) -> None:
        """Make all answers about a session anew."""
        with self._lock:
            for question in [question for question in self._kept if question[0] == session]:
                self._size -= self._kept.pop(question).size

    def _make(
        self, question: tuple[str, str], stamp: Hashable, make: Callable[[], Value], asked: float
    ) -> Value:
        began = time.monotonic()
        try:
            body = make()
            self._keep(question, stamp, body, began, make, asked)
        finally:
            with self._lock:
                self._making.pop(question).set()
        return body

    def _refresh(self, question: tuple[str, str], make: Callable[[], Value], asked: float) -> bool:
        try:
            self._make(question, None, make, asked)
        except Exception as error:
            log.info("%s is not made anew: %s", question, error)  # who asks next, makes it and is told
            return False
        return True

    def _run(self) -> None:
        rested = time.monotonic()
        while not self._stopping.is_set():
            self._woken.wait(_TURN_S)
            self._woken.clear()
            while not self._stopping.is_set() and self.renew(late=True):
                pass
            began = time.monotonic()
            if began >= rested and not self._stopping.is_set() and self.renew():
                ended = time.monotonic()
                rested = ended + _REST * (ended - began)

    def renew(self, *, late: bool = False) -> bool:
        """Of the slow answers that were asked for of late make that anew which is due for longest, if any.

        ``late``: only of those that were asked for since they are due.
        """
        with self._lock:
            now = time.monotonic()
            due = [
                (kept.until, question, kept)
                for question, kept in self._kept.items()
                if kept.is_slow
                and kept.stamp is None
                and kept.until <= now
                and (kept.is_late or (not late and now < kept.asked + _ASKED_S))
                and question not in self._making
            ]
            if not due:
                return False
            _, question, kept = min(due, key=lambda one: one[0])
            self._making[question] = threading.Event()
        if not self._refresh(question, kept.make, kept.asked):
            kept.asked = -math.inf  # not again until somebody asks
        return True

    def _keep(
        self,
        question: tuple[str, str],
        stamp: Hashable,
        body: Value,
        began: float,
        make: Callable[[], Value],
        asked: float,
    ) -> None:
        ended = time.monotonic()
        took = ended - began
        until = ended + min(self._most_s, max(_LEAST_S, 10 * took))
        is_slow = took >= SLOW_S
        last = until + (min(_ONCE_MORE_S, _ONCE_MORE * took) if is_slow and stamp is None else 0.0)
        size = self._size_of(question, body)
        with self._lock:
            before = self._kept.pop(question, None)
            if before is not None:
                self._size -= before.size
                asked = max(asked, before.asked)
            if size <= self._max_size:
                self._kept[question] = _Kept(body, stamp, began, until, size, last, is_slow, make, asked)
                self._size += size
            while self._size > self._max_size:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
