"""Finds the steps in a series: the runs from which on a value is another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: A smaller change does not matter.
MIN_CHANGE = 0.01
#: Values are never trusted to agree better than this. Otherwise, a few equal times would prove anything.
MIN_SD = 0.001
#: The probability of finding a step in a series without one.
ALPHA = 0.01
#: Minimum number of values on each side of a step. A single slow run is no step.
MIN_RUNS = 3


class Step(NamedTuple):
    """A step in a series. Values are in the unit of the series.

    Attributes:
        at: the position of the first value after it.
        before, after: the geometric means up to the neighboring steps.
        p: the probability of such a step between equal values.
    """

    at: int
    before: float
    after: float
    p: float


def find_steps(values: Sequence[float], alpha: float = ALPHA) -> list[Step]:
    """The steps in a series, oldest first. Zero counts as the smallest possible time.

    This is binary segmentation: the split with the largest t statistic divides the series if it is
    significant, and each part is divided likewise. The significance takes into account that the largest of
    many is chosen (Bonferroni). Then each step is placed anew between its neighbors, and dropped if it is no
    longer significant there.
    """
    logs = np.log(np.maximum(np.asarray(values, dtype=np.float64), 1.0))
    places = _divide(logs, 0, len(logs), alpha)
    steps: list[Step] = []
    for number, place in enumerate(places):
        begin = steps[-1].at if steps else 0
        end = places[number + 1] if number + 1 < len(places) else len(logs)
        found = _best_split(logs[begin:end])
        if found is None or found[1] >= alpha:
            continue
        place = begin + found[0]
        steps.append(Step(place, 0.0, 0.0, found[1]))
    bounds = [0, *(step.at for step in steps), len(logs)]
    means = [math.exp(float(logs[a:b].mean())) for a, b in pairwise(bounds) if b > a]
    return [
        step._replace(before=before, after=after)
        for step, (before, after) in zip(steps, pairwise(means), strict=True)
    ]


def _divide(logs: Floats, begin: int, end: int, alpha: float) -> list[int]:
    found = _best_split(logs[begin:end])
    if found is None or found[1] >= alpha:
        return []
    place = begin + found[0]
    return [*_divide(logs, begin, place, alpha), place, *_divide(logs, place, end, alpha)]


def _best_split(logs: Floats) -> tuple[int, float] | None:
    """The split with the largest t statistic and its significance. None if there are too few values, or if
    the change is too small to matter.
    """
    n = len(logs)
    firsts = np.arange(MIN_RUNS, n - MIN_RUNS + 1)
    if not firsts.size:
        return None
    sums, squares = np.cumsum(logs), np.cumsum((logs - logs.mean()) ** 2)
    lasts = n - firsts
    effects = (sums[-1] - sums[firsts - 1]) / lasts - sums[firsts - 1] / firsts
    within = np.maximum(squares[-1] - effects**2 * firsts * lasts / n, 0.0) / (n - 2)
    errors = np.sqrt(np.maximum(within, MIN_SD**2) * (1 / firsts + 1 / lasts))
    best = int(np.argmax(np.abs(effects) / errors))
    if abs(effects[best]) < math.log1p(MIN_CHANGE):
        return None
    from scipy.special import stdtr  # takes a tenth of a second

    p = 2 * float(stdtr(n - 2, -abs(effects[best]) / errors[best])) * len(firsts)
    return int(firsts[best]), min(1.0, p)
