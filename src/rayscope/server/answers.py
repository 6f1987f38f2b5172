"""Answers that cost much and that several people, or one person again and again, ask for."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

#: What is kept, bytes: the answers, and what is asked.
MAX_BYTES = 64 << 20
_EACH_BYTES = 500
#: An answer about a live session holds for ten times as long as it took, within these bounds, s.
_LEAST_S, _MOST_S = 0.5, 60.0
#: How long whoever asks the same as somebody else waits for that answer, s.
_PATIENCE_S = 60.0
#: An answer that took at least so long, s, is given once more after its time, while a new one is made; but no
#: longer than it held, and at most so long.
SLOW_S = 0.1
_ONCE_MORE_S = 10.0


Value = TypeVar("Value")


class _Kept(NamedTuple):
    body: Any
    stamp: Hashable
    until: float
    size: int
    last: float


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

    def get(self, question: tuple[str, str], stamp: Hashable, make: Callable[[], Value]) -> Value:
        """The answer to a question (the session, and what is asked of it), made anew if it is not at hand.

        ``stamp``: what the answer was made of; with the same stamp it holds for good. None: it can change at
        any time (a live session), and then a tenth of the time goes into each question. Who asks while
        another makes the answer waits for that one, or is given the last one if that is hardly older.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            with self._lock:
                known = self._kept.get(question)
                now = time.monotonic()
                if known is not None and (now < known.until if stamp is None else known.stamp == stamp):
                    self._kept.move_to_end(question)
                    kept: Value = known.body
                    return kept
                made = self._making.get(question)
                if made is None:
                    self._making[question] = threading.Event()
                if known is not None and stamp is None and now < known.last:
                    if made is None:
                        threading.Thread(
                            target=self._refresh, args=(question, make), name="rayscope-answer", daemon=True
                        ).start()
                    last: Value = known.body
                    return last
                if made is None:
                    break
            if not made.wait(deadline - now):
                return make()
        return self._make(question, stamp, make)

    def forget(self, session: str) -> None:
        """Make all answers about a session anew."""
        with self._lock:
            for question in [question for question in self._kept if question[0] == session]:
                self._size -= self._kept.pop(question).size

    def _make(self, question: tuple[str, str], stamp: Hashable, make: Callable[[], Value]) -> Value:
        began = time.monotonic()
        try:
            body = make()
            self._keep(question, stamp, body, began)
        finally:
            with self._lock:
                self._making.pop(question).set()
        return body

    def _refresh(self, question: tuple[str, str], make: Callable[[], Value]) -> None:
        with contextlib.suppress(Exception):  # who asks next, makes it and is told
            self._make(question, None, make)

    def _keep(self, question: tuple[str, str], stamp: Hashable, body: Value, began: float) -> None:
        ended = time.monotonic()
        held_s = min(self._most_s, max(_LEAST_S, 10 * (ended - began)))
        until = ended + held_s
        # What took long is given once more meanwhile, but no longer than it held.
        last = until + (min(_ONCE_MORE_S, held_s) if ended - began >= SLOW_S else 0.0)
        size = self._size_of(question, body)
        with self._lock:
            before = self._kept.pop(question, None)
            self._size -= before.size if before else 0
            if size <= self._max_size:
                self._kept[question] = _Kept(body, stamp, until, size, last)
                self._size += size
            while self._size > self._max_size:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
