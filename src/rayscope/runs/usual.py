"""The usual duration of a run: the range in which the next run of its kind is expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, variance
from typing import NamedTuple

from scipy.special import stdtrit

#: Fewer runs do not say what is usual.
MIN_RUNS = 5
#: The newest runs decide, so that what was usual long ago does not count.
MAX_RUNS = 20
#: The probability that an equal run lies outside the usual range.
ALPHA = 0.01
#: A smaller change is not worth a verdict.
MIN_CHANGE = 0.01
#: Runs are never trusted to agree better than this. Otherwise, a few equal times would prove anything.
MIN_SD = 0.001


class Usual(NamedTuple):
    """The usual value of earlier runs, and the limits of the next one. Values are in ns."""

    runs: int
    mid_ns: int
    low_ns: int
    high_ns: int


@lru_cache
def _quantile(freedom: int) -> float:
    return float(stdtrit(freedom, 1 - ALPHA / 2))


def usual_of(values: Sequence[int]) -> Usual | None:
    """The usual range of values, oldest first. None if there are too few.

    It is a prediction interval of Student's t on logarithms: a run of the same kind lies outside with the
    probability :data:`ALPHA`.
    """
    logs = [math.log(max(value, 1)) for value in values[-MAX_RUNS:]]
    if len(logs) < MIN_RUNS:
        return None
    mean, sd = fmean(logs), max(math.sqrt(variance(logs)), MIN_SD)
    half = _quantile(len(logs) - 1) * sd * math.sqrt(1 + 1 / len(logs))
    half = max(half, math.log1p(MIN_CHANGE))
    return Usual(len(logs), round(math.exp(mean)), round(math.exp(mean - half)), round(math.exp(mean + half)))
