"""Statistics that compare the durations and functions of a few runs on either side.

The run is the sample, never the task: tasks of one run share its machine and its noise. All figures are
logarithms of times, so that an effect is a factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma, stdtr, stdtrit

from rayscope.compare.schemas import MAX_RUNS, Verdict

Floats = npt.NDArray[np.float64]

#: Probability of calling two equal sides different, and of calling two sides equal that differ by the margin.
ALPHA = 0.005
#: Probability of noticing a change as large as the margin, for which a number of runs is recommended.
_POWER = 0.9
#: Two runs are never trusted to agree better than this. Otherwise, a few equal times would prove anything.
_MIN_SD = 0.001
#: A smaller change of a duration or of a function is not worth a verdict.
MIN_CHANGE = 0.01
_MAX_HALF = math.log(1_000)
#: Expected share of false rows among the functions that are called slower or faster.
FALSE_ROWS = 0.05
#: With fewer functions, a common factor looks the same as changes of their own.
_MIN_FOR_COMMON = 8
#: Minimum share of the functions with the common factor.
_MIN_ALIKE = 2 / 3
#: The standard deviation of normal values by the median of their distances from their median.
_SD_OF_MEDIAN = 1.4826
#: With fewer functions, their variances say nothing about each other.
_MIN_FOR_PRIOR = 3


class Change(NamedTuple):
    """How the durations of two sides differ.

    Attributes:
        ratio: the geometric mean of B's durations by that of A's.
        low, high: limits of the ratio, each of them wrong with a probability of :data:`ALPHA`. None without a
            spread, or if they are more than a factor of 1,000 away.
        p: probability of a difference at least as large between equal sides. None without a spread.
        more_runs: further runs on each side after which a change as large as the margin would be noticed.
            None if that is known already, or if there is no spread to compute it from.
        spread: the standard deviation of a run, as a share of its duration. None if no side has two runs.
    """

    verdict: Verdict
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    more_runs: int | None
    spread: float | None


def compare_durations(a: Sequence[float], b: Sequence[float], margin: float) -> Change:
    """Compare durations of at least one run on each side. ``margin``: the change that matters, as a share."""
    first, second = np.log(a), np.log(b)
    effect = float(second.mean() - first.mean())
    freedom = len(first) + len(second) - 2
    if freedom < 1:
        return Change("cannot_tell", math.exp(effect), None, None, None, None, None)
    sd = max(math.sqrt(float(_squares(first, second)) / freedom), _MIN_SD)
    error = sd * math.sqrt(1 / len(first) + 1 / len(second))
    p = 2 * float(stdtr(freedom, -abs(effect) / error))
    half = float(stdtrit(freedom, 1 - ALPHA)) * error  # a test for either limit of the margin
    verdict: Verdict = "cannot_tell"
    if p < ALPHA and abs(effect) >= math.log1p(MIN_CHANGE):
        verdict = "slower" if effect > 0 else "faster"
    elif abs(effect) + half <= math.log1p(margin):
        verdict = "no_change"
    more = _more_runs(sd, min(len(first), len(second)), margin) if verdict == "cannot_tell" else None
    low, high = None, None
    if half <= _MAX_HALF:
        low, high = math.exp(effect - half), math.exp(effect + half)
    return Change(verdict, math.exp(effect), low, high, p, more, sd)


def _more_runs(sd: float, have: int, margin: float) -> int | None:
    """How many more runs each side needs to notice a change of ``margin``. None: more than it may have."""
    for runs in range(max(have + 1, 3), MAX_RUNS + 1):
        freedom = 2 * runs - 2
        needed = float(stdtrit(freedom, 1 - ALPHA / 2) + stdtrit(freedom, _POWER))
        if needed * sd * math.sqrt(2 / runs) <= math.log1p(margin):
            return runs - have
    return None


class FunctionChanges(NamedTuple):
    """How the functions of two sides differ, one entry for each.

    Attributes:
        common: the factor by which all functions together changed, which is taken off each one's change.
            1 if there are too few functions.
        ratios: the factors by which the functions changed beyond that.
        p: as in :class:`Change`. NaN where there are too few runs.
        verdicts: those with at most :data:`FALSE_ROWS` false ones.
    """

    common: float
    ratios: Floats
    p: Floats
    verdicts: list[Verdict]


def compare_functions(a: Floats, b: Floats, weights: Floats, margin: float) -> FunctionChanges:
    """Compare mean times of functions.

    Args:
        a: mean times, one row for each run and one column for each function.
        b: likewise.
        weights: the share of each function in all the time of A's functions. A change of less than a
            thousandth of the whole does not matter.
        margin: a function that certainly changed by at most this share has not changed.
    """
    first, second = np.log(a), np.log(b)
    common = _common(first, second)
    first, second = first - common[: len(first), None], second - common[len(first) :, None]
    effects = second.mean(axis=0) - first.mean(axis=0)
    shift = float(common[len(first) :].mean() - common[: len(first)].mean())
    freedom = len(first) + len(second) - 2
    if freedom < 2 or not effects.size:
        none: list[Verdict] = ["cannot_tell"] * len(effects)
        return FunctionChanges(math.exp(shift), np.exp(effects), np.full(len(effects), np.nan), none)
    squares = _squares(first, second)
    variances, all_freedom = moderate(np.maximum(squares / freedom, _MIN_SD**2), freedom)
    errors = np.sqrt(variances * (1 / len(first) + 1 / len(second)))
    p = 2 * stdtr(all_freedom, -np.abs(effects) / errors)
    matters = (np.abs(effects) >= math.log1p(MIN_CHANGE)) & (np.abs(np.expm1(effects)) * weights >= 0.001)
    is_found = below_false_rate(p) & matters
    halves = float(stdtrit(all_freedom, 1 - ALPHA)) * errors
    is_same = np.abs(effects) + halves <= math.log1p(margin)
    verdicts: list[Verdict] = [
        ("slower" if effect > 0 else "faster") if found else "no_change" if same else "cannot_tell"
        for found, same, effect in zip(is_found, is_same, effects, strict=True)
    ]
    return FunctionChanges(math.exp(shift), np.exp(effects), p, verdicts)


def _squares(first: Floats, second: Floats) -> Floats:
    """The sums of squared distances from the mean of each side."""
    of_first, of_second = (((side - side.mean(axis=0)) ** 2).sum(axis=0) for side in (first, second))
    found: Floats = of_first + of_second
    return found


def _common(first: Floats, second: Floats) -> Floats:
    """The logarithm of the factor that is common to the functions of a run, for each run.

    It is that of the functions which changed alike. If they are less than two thirds, nothing is common.
    """
    both = np.concatenate([first, second])
    none = np.zeros(len(both))
    if both.shape[1] < _MIN_FOR_COMMON:
        return none
    factors = both - both.mean(axis=0)
    rest = factors - np.median(factors, axis=1)[:, None]
    shifts = rest[len(first) :].mean(axis=0) - rest[: len(first)].mean(axis=0)
    distances = np.abs(shifts - np.median(shifts))
    error = float(np.median(distances)) * _SD_OF_MEDIAN  # of one function
    if len(both) > 2:
        errors = np.sqrt(_squares(rest[: len(first)], rest[len(first) :]) / (len(both) - 2))
        error = float(np.median(errors)) * math.sqrt(1 / len(first) + 1 / len(second))
    is_alike = distances <= max(3 * error, math.log1p(MIN_CHANGE))
    if is_alike.mean() < _MIN_ALIKE:
        return none
    common: Floats = factors[:, is_alike].mean(axis=1)
    return common


def moderate(variances: Floats, freedom: int) -> tuple[Floats, float]:
    """Draw the variances of many functions to their common value, as far as they resemble each other.

    A few runs say little about the variance of one function, but those of all functions tell a lot about it.
    This is the empirical Bayes estimate of limma (Smyth 2004). Returns the variances and their degrees of
    freedom.
    """
    if len(variances) < _MIN_FOR_PRIOR:
        return variances, float(freedom)
    logs = np.log(variances) - digamma(freedom / 2) + math.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2))
    total = float(freedom * len(variances))
    if excess <= 0:
        return np.full_like(variances, math.exp(float(logs.mean()))), total
    prior = 2 * _inverse_trigamma(excess)
    usual = math.exp(float(logs.mean()) + float(digamma(prior / 2)) - math.log(prior / 2))
    moderated = (prior * usual + freedom * variances) / (prior + freedom)
    return moderated, min(prior + freedom, total)


def _inverse_trigamma(value: float) -> float:
    """The x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly straight."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


def below_false_rate(p: Floats) -> npt.NDArray[np.bool_]:
    """Which hypotheses to reject so that at most :data:`FALSE_ROWS` are false (Benjamini and Hochberg)."""
    order = np.argsort(p)
    passes = p[order] <= FALSE_ROWS * np.arange(1, len(p) + 1) / len(p)
    rejected = np.zeros(len(p), dtype=bool)
    if passes.any():
        rejected[order[: int(np.flatnonzero(passes)[-1]) + 1]] = True
    return rejected
