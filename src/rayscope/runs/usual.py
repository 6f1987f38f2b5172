"""The usual duration of a run: the range in which the next run of its kind is expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rayscope.runs.changes import MIN_CHANGE, MIN_SD, find_steps

#: Fewer runs do not say what is usual.
MIN_RUNS = 5
#: The newest runs decide, so that what was usual long ago does not count.
MAX_RUNS = 20
#: The probability that an equal run lies outside the usual range.
ALPHA = 0.01


class Usual(NamedTuple):
    """The usual value of earlier runs, and the limits of the next one. Values are in ns."""

    runs: int
    mid_ns: int
    low_ns: int
    high_ns: int


@lru_cache
def _quantile(freedom: int) -> float:
    from scipy.special import stdtrit  # takes a tenth of a second

    return float(stdtrit(freedom, 1 - ALPHA / 2))


def usual_of(values: Sequence[int]) -> Usual | None:
    """The usual range of values, oldest first. None if there are too few.

    It is a prediction interval of Student's t on logarithms: a run of the same kind lies outside with the
    probability :data:`ALPHA`. Values before a step do not count once there are enough after it.
    """
    newest = values[-MAX_RUNS:]
    if len(newest) < MIN_RUNS:
        return None
    if (steps := find_steps(newest)) and len(newest) - steps[-1].at >= MIN_RUNS:
        newest = newest[steps[-1].at :]
    logs = [math.log(max(value, 1)) for value in newest]
    mean = sum(logs) / len(logs)
    variance = sum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    sd = max(math.sqrt(variance), MIN_SD)
    half = _quantile(len(logs) - 1) * sd * math.sqrt(1 + 1 / len(logs))
    half = max(half, math.log1p(MIN_CHANGE))
    return Usual(len(logs), round(math.exp(mean)), round(math.exp(mean - half)), round(math.exp(mean + half)))
