"""Values that a caller got from one task and passed by value to another."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from rayscope.insights.finding import Facts
from rayscope.insights.replay.delays import LARGE_BYTES
from rayscope.insights.replay.recorded import UNKNOWN, Passed

#: A value that is pickled again may be larger or smaller by some bytes, as what describes it is.
_TOLERANCE_BYTES = 64


class Handover(NamedTuple):
    """What ``maker`` returned was got from ``begin`` to ``end``, and something of its size was passed to
    ``taker`` by value. ``is_certain``: ``maker`` itself was not called with a value of that size.
    """

    maker: int
    taker: int
    bytes: int
    begin: int
    end: int
    is_certain: bool


def handovers(facts: Facts) -> list[Handover]:
    """Each large argument by value with the last value of its size that its caller had got before."""
    a = facts.attempts
    #: By task the sizes of its large arguments by value.
    given: dict[int, list[int]] = defaultdict(list)
    events: list[tuple[int, bool, Passed]] = []
    for one in facts.recorded.passed:
        if one.bytes <= LARGE_BYTES:
            continue
        if one.kind == "get" and one.maker >= 0 and one.taker > UNKNOWN:
            events.append((one.end, False, one))
        elif one.by_value and one.taker >= 0:
            given[one.taker].append(one.bytes)
            events.append((facts.submission(one.taker)[0], True, one))
    if not given:
        return []
    found = []
    got: dict[tuple[int, int], list[Passed]] = defaultdict(list)
    for _, is_argument, one in sorted(events, key=lambda event: event[:2]):
        place = one.bytes // _TOLERANCE_BYTES
        if not is_argument:
            got[one.taker, place].append(one)
            continue
        caller = a.parent[facts.rows_of_task[one.taker][0]]
        near = [got[caller, at] for at in (place - 1, place, place + 1) if got.get((caller, at))]
        if near:
            last = max(near, key=lambda values: values[-1].end).pop()
            is_certain = all(abs(size - last.bytes) > _TOLERANCE_BYTES for size in given[last.maker])
            found.append(Handover(last.maker, one.taker, last.bytes, last.begin, last.end, is_certain))
    return found
