"""Answers that cost much and that several people, or one person again and again, ask for."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

#: What is kept, bytes: the answers, and what is asked.
MAX_BYTES = 64 << 20
_EACH_BYTES = 500
#: An answer about a live session holds for ten times as long as it took, within these bounds, s.
_LEAST_S, _MOST_S = 0.5, 60.0
#: How long whoever asks the same as somebody else waits for that answer, s.
_PATIENCE_S = 60.0


class _Kept(NamedTuple):
    body: bytes
    stamp: Hashable
    until: float
    size: int


class Answers:
    """The encoded answers that were given last, up to :data:`MAX_BYTES`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._bytes = 0
        self._making: dict[tuple[str, str], threading.Event] = {}
        self._lock = threading.Lock()

    def get(self, question: tuple[str, str], stamp: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer to a question (the session, and what is asked of it), made anew if it is not at hand.

        ``stamp``: what the answer was made of; with the same stamp it holds for good. None: it can change at
        any time (a live session), and then a tenth of the time goes into each question. Who asks while
        another makes the answer waits for that one.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            with self._lock:
                known = self._kept.get(question)
                now = time.monotonic()
                if known is not None and (now < known.until if stamp is None else known.stamp == stamp):
                    self._kept.move_to_end(question)
                    return known.body
                made = self._making.get(question)
                if made is None:
                    self._making[question] = threading.Event()
                    break
            if not made.wait(deadline - now):
                return make()
        try:
            body = make()
            self._keep(question, stamp, body, now)
        finally:
            with self._lock:
                self._making.pop(question).set()
        return body

    def _keep(self, question: tuple[str, str], stamp: Hashable, body: bytes, began: float) -> None:
        ended = time.monotonic()
        until = ended + min(_MOST_S, max(_LEAST_S, 10 * (ended - began)))
        size = len(body) + sum(map(len, question)) + _EACH_BYTES
        with self._lock:
            before = self._kept.pop(question, None)
            self._bytes -= before.size if before else 0
            if size <= self._max_bytes:
                self._kept[question] = _Kept(body, stamp, until, size)
                self._bytes += size
            while self._bytes > self._max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.size
