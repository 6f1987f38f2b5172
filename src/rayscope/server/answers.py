"""Answers that cost much and that several people, or one person again and again, ask for."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

#: What is kept, bytes.
MAX_BYTES = 64 << 20
#: An answer about a live session holds for ten times as long as it took, within these bounds, s.
_LEAST_S, _MOST_S = 0.5, 30.0


class _Kept(NamedTuple):
    body: bytes
    stamp: Hashable
    until: float


class Answers:
    """The encoded answers that were given last, up to :data:`MAX_BYTES`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, question: Hashable, stamp: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer to a question, made anew if it is not at hand.

        ``stamp``: what the answer was made of; with the same stamp it holds for good. None: it can change at
        any time (a live session), and at most a tenth of the time goes into each question.
        """
        now = time.monotonic()
        with self._lock:
            known = self._kept.get(question)
            if known is not None and (now < known.until if stamp is None else known.stamp == stamp):
                self._kept.move_to_end(question)
                return known.body
        body = make()
        ended = time.monotonic()
        until = ended + min(_MOST_S, max(_LEAST_S, 10 * (ended - now)))
        with self._lock:
            before = self._kept.pop(question, None)
            self._bytes -= len(before.body) if before else 0
            if len(body) <= self._max_bytes:
                self._kept[question] = _Kept(body, stamp, until)
                self._bytes += len(body)
            while self._bytes > self._max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= len(oldest.body)
        return body
