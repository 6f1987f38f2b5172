"""Values that a caller got from one task and passed by value to another."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from rayscope.insights.finding import Facts
from rayscope.insights.replay.recorded import GET, LARGE_BYTES, UNKNOWN

#: Repeated pickling may change a value's size by this many bytes, because its metadata differs.
_TOLERANCE_BYTES = 64


class PassedValue(NamedTuple):
    """A caller got the value of the task ``maker`` from ``begin`` to ``end``, and passed a value of the same
    size to the task ``taker`` by value.

    ``is_certain``: ``maker`` itself was not called with a value of that size.
    """

    maker: int
    taker: int
    bytes: int
    begin: int
    end: int
    is_certain: bool


def find_passed_values(facts: Facts) -> list[PassedValue]:
    """Match each large argument passed by value with the last value of the same size that the caller got
    before.
    """
    passed, parent = facts.recorded.passed, facts.attempts.parent
    is_large = passed.bytes > LARGE_BYTES
    is_given = is_large & passed.by_value & (passed.taker >= 0)
    if not is_given.any():
        return []
    is_got = is_large & ~is_given & (passed.kind == GET) & (passed.maker >= 0) & (passed.taker > UNKNOWN)
    #: Sizes of the large arguments passed by value, by the task that received them.
    given: dict[int, list[int]] = defaultdict(list)
    events: list[tuple[int, bool, int]] = []
    for place in np.flatnonzero(is_given).tolist():
        taker = int(passed.taker[place])
        given[taker].append(int(passed.bytes[place]))
        events.append((facts.submission(taker)[0], True, place))
    events += ((int(passed.end[place]), False, place) for place in np.flatnonzero(is_got).tolist())
    found = []
    got: dict[tuple[int, int], list[int]] = defaultdict(list)
    for _, is_argument, place in sorted(events):
        size, taker = int(passed.bytes[place]), int(passed.taker[place])
        like = size // _TOLERANCE_BYTES
        if not is_argument:
            got[taker, like].append(place)
            continue
        caller = int(parent[facts.first_rows[taker]])
        near = [got[caller, at] for at in (like - 1, like, like + 1) if got.get((caller, at))]
        if near:
            last = max(near, key=lambda places: passed.end[places[-1]]).pop()
            maker, got_bytes = int(passed.maker[last]), int(passed.bytes[last])
            is_certain = all(abs(one - got_bytes) > _TOLERANCE_BYTES for one in given[maker])
            begin, end = int(passed.begin[last]), int(passed.end[last])
            found.append(PassedValue(maker, taker, got_bytes, begin, end, is_certain))
    return found
