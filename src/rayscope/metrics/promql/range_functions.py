"""Functions of a range of samples: rates, and aggregations over a window.

Windows are summed as parts of a row (``reduceat``), or copied if the order of samples matters. The formulas
are Prometheus' (promql/functions.go of 2.42).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rayscope.metrics.promql.select import Windows, joined
from rayscope.metrics.promql.values import MAX_SAMPLES, Bools, Floats, Times, Vector, nameless
from rayscope.storage.errors import BadQuery

#: Maximum number of values that are copied at once, except that one window is never divided.
_CHUNK = 1_000_000


@dataclass(slots=True)
class Part:
    """The windows of series with the same times, at each step. The arrays below have the shape (steps,).

    Attributes:
        low: index of the first sample in a step's window.
        high: index after the last sample.
        ends_ns: end of the window.
        now_ns: time of the step, which differs from the end by the offset.
        apart_ns: see `Windows`.
    """

    times: Times
    values: Floats
    low: NDArray[np.intp]
    high: NDArray[np.intp]
    now_ns: Times
    ends_ns: Times
    range_ns: int
    apart_ns: int

    @property
    def count(self) -> NDArray[np.intp]:
        return self.high - self.low

    def at(self, index: NDArray[np.intp]) -> Floats:
        """Values of the given samples, shape (series, steps).

        Indices out of range return arbitrary values.
        """
        found: Floats = self.values[:, np.clip(index, 0, self.values.shape[1] - 1)]
        return found

    def time(self, index: NDArray[np.intp]) -> Times:
        """Times of the given samples, ns."""
        found: Times = self.times[np.clip(index, 0, len(self.times) - 1)]
        return found

    def reduce(self, ufunc: np.ufunc) -> Floats:
        """Apply a ufunc to each window. The result (series, steps) is arbitrary for empty windows."""
        padded = np.concatenate([self.values, np.zeros((len(self.values), 1))], axis=1)
        bounds = np.stack([self.low, self.high], axis=1).ravel()
        found: Floats = ufunc.reduceat(padded, bounds, axis=1)[:, ::2]
        return found

    def between(self, marks: Floats | Bools) -> Floats:
        """Sum marks within each window. ``marks`` (series, samples - 1) lie between successive samples."""
        total = np.zeros(self.values.shape)
        np.cumsum(marks, axis=1, out=total[:, 1:])
        last = np.clip(self.high - 1, 0, None)
        found: Floats = total[:, last] - total[:, np.minimum(self.low, last)]
        return found

    def piece(self, rows: slice, steps: slice) -> Part:
        """Some of the series and steps."""
        return replace(
            self,
            values=self.values[rows],
            low=self.low[steps],
            high=self.high[steps],
            now_ns=self.now_ns[steps],
            ends_ns=self.ends_ns[steps],
        )

    def copies(self) -> tuple[Floats, Bools, Times]:
        """Copies of the windows: values (series, steps, samples), a mask and times (both steps, samples)."""
        index = self.low[:, None] + np.arange(max(1, int(self.count.max(initial=0))))
        counted = index < self.high[:, None]
        index = np.minimum(index, len(self.times) - 1)
        return self.values[:, index], counted, self.times[index]


Function = Callable[[Part, Floats], tuple[Floats, Bools]]


def apply(name: str, windows: Windows, arguments: Floats, check: Callable[[], None]) -> Vector:
    """Apply a function by its name in PromQL.

    ``arguments``: its numeric arguments, shape (arguments, steps). ``check`` is called between the parts of
    the work.
    """
    looked_at = sum(len(group.labels) * int((high - low).sum()) for group, low, high in windows.groups)
    if looked_at > MAX_SAMPLES:
        raise BadQuery(
            f"The windows hold {looked_at} samples; the maximum is {MAX_SAMPLES}.",
            "Select fewer series with matchers, or use a shorter range or a longer step.",
            what="window_samples",
            number=looked_at,
            limit=MAX_SAMPLES,
        )
    parts = []
    for group, low, high in windows.groups:
        check()
        part = Part(group.times_ns, group.values, low, high, *windows[1:])
        if name in _COPYING:
            values, there = _in_pieces(FUNCTIONS[name], part, arguments, check)
        else:
            values, there = FUNCTIONS[name](part, arguments)
        parts.append(Vector(group.labels, values, np.broadcast_to(there, values.shape)))
    vector = joined(parts, len(windows.times_ns))
    return vector if name == "last_over_time" else nameless(vector)


def _extrapolated(part: Part, *, counter: bool, rate: bool) -> tuple[Floats, Bools]:
    """The growth within a window, extrapolated to its ends where samples seem to be missing."""
    values, there = part.values, part.count >= 2
    last = part.high - 1
    grown = part.at(last) - part.at(part.low)
    if counter:
        drops = np.where(values[:, 1:] < values[:, :-1], values[:, :-1], 0.0)
        if drops.any():
            grown = grown + part.between(drops)
    first_ns, last_ns = part.time(part.low), part.time(last)
    to_start = np.broadcast_to((first_ns - (part.ends_ns - part.range_ns)) / 1e9, grown.shape)
    to_end = (part.ends_ns - last_ns) / 1e9
    sampled = (last_ns - first_ns) / 1e9
    apart = sampled / np.maximum(part.count - 1, 1)
    if counter:
        first = part.at(part.low)
        to_zero = sampled * (first / grown)
        to_start = np.where((grown > 0) & (first >= 0) & (to_zero < to_start), to_zero, to_start)
    threshold = np.maximum(apart, part.apart_ns / 1e9) * 1.1
    extended = sampled + np.where(to_start < threshold, to_start, apart / 2)
    extended = extended + np.where(to_end < threshold, to_end, apart / 2)
    factor = extended / sampled
    if rate:
        factor = factor / (part.range_ns / 1e9)
    return grown * factor, there


def _last_two(part: Part, *, rate: bool) -> tuple[Floats, Bools]:
    last, before = part.high - 1, part.high - 2
    grown = part.at(last) - part.at(before)
    if not rate:
        return grown, part.count >= 2
    grown = np.where(grown < 0, part.at(last), grown)
    return grown / ((part.time(last) - part.time(before)) / 1e9), part.count >= 2


def _in_pieces(
    function: Function, part: Part, arguments: Floats, check: Callable[[], None]
) -> tuple[Floats, Bools]:
    """Apply a function that copies the windows to so few series and steps that the copies stay small."""
    width, count = max(1, int(part.count.max(initial=0))), len(part.low)
    steps = min(count, max(1, _CHUNK // width))
    rows = max(1, _CHUNK // (width * steps))
    found, there = np.empty((len(part.values), count)), np.empty(count, np.bool_)
    for step in range(0, count, steps):
        chosen = slice(step, step + steps)
        for row in range(0, len(found), rows):
            check()
            some = slice(row, row + rows)
            found[some, chosen], there[chosen] = function(part.piece(some, chosen), arguments[:, chosen])
    return found, there


def _line(part: Part) -> tuple[Floats, Floats]:
    """The least-squares line through each window: slope per second, and value at the first sample."""
    values, counted, times = part.copies()
    n = counted.sum(axis=1)
    x = np.where(counted, (times - times[:, :1]) / 1e9, 0.0)
    y = np.where(counted, values - values[:, :, :1], 0.0)
    sum_x, sum_y = x.sum(axis=1), y.sum(axis=2)
    slope = ((x * y).sum(axis=2) - sum_x * sum_y / n) / ((x * x).sum(axis=1) - sum_x**2 / n)
    return slope, sum_y / n - slope * sum_x / n + values[:, :, 0]


def _deriv(part: Part, _: Floats) -> tuple[Floats, Bools]:
    return _line(part)[0], part.count >= 2


def _predict(part: Part, arguments: Floats) -> tuple[Floats, Bools]:
    slope, start = _line(part)
    passed = (part.now_ns - part.time(part.low)) / 1e9
    return start + slope * (passed + arguments[0]), part.count >= 2


def _deviation(part: Part, *, root: bool) -> tuple[Floats, Bools]:
    values, counted, _ = part.copies()
    n = counted.sum(axis=1)
    mean = np.where(counted, values, 0.0).sum(axis=2) / n
    squares: Floats = np.where(counted, (values - mean[:, :, None]) ** 2, 0.0).sum(axis=2) / n
    return np.sqrt(squares) if root else squares, part.count >= 1


def _smoothed(part: Part, arguments: Floats) -> tuple[Floats, Bools]:
    """Double exponential smoothing. ``arguments``: the smoothing factor and the trend factor."""
    factor, trend_factor = arguments
    if not ((arguments > 0) & (arguments < 1)).all():
        raise BadQuery(
            "A smoothing factor is not between 0 and 1.", "Use numbers between 0 and 1.", what="smoothing"
        )
    values, counted, _ = part.copies()
    level = values[:, :, 0]
    before = level
    trend = values[:, :, min(1, values.shape[2] - 1)] - level
    for at in range(1, values.shape[2]):
        if at > 1:
            trend = trend_factor * (level - before) + (1 - trend_factor) * trend
        found = factor * values[:, :, at] + (1 - factor) * (level + trend)
        before, level = level, np.where(counted[:, at], found, level)
    return level, part.count >= 2


def _quantile(part: Part, arguments: Floats) -> tuple[Floats, Bools]:
    values, counted, _ = part.copies()
    there = np.broadcast_to(counted, values.shape)
    found = quantile(arguments[0], np.moveaxis(values, 2, 0), np.moveaxis(there, 2, 0))
    return found, part.count >= 1


def quantile(q: Floats, values: Floats, there: Bools) -> Floats:
    """The ``q``-quantile of the present values along the first axis. NaN is smaller than all others."""
    count = there.sum(axis=0)
    nans = (np.isnan(values) & there).sum(axis=0)
    ordered = np.sort(np.where(there, values, np.nan), axis=0)
    rank = np.where(np.isnan(q), 0, np.clip(q, 0, 1)) * (count - 1)
    low = np.maximum(np.floor(rank), 0).astype(np.intp)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    weight = rank - np.floor(rank)

    def pick(index: NDArray[np.intp]) -> Floats:
        index = index - nans
        found = np.take_along_axis(ordered, np.maximum(index, 0)[None], axis=0)[0]
        return np.where(index < 0, np.nan, found)

    found = pick(low) * (1 - weight) + pick(high) * weight
    found = np.where(q < 0, -np.inf, np.where(q > 1, np.inf, found))
    return np.where(np.isnan(q), np.nan, found)


def _changes(part: Part, _: Floats) -> tuple[Floats, Bools]:
    before, after = part.values[:, :-1], part.values[:, 1:]
    return part.between(before != after), part.count >= 1


def _resets(part: Part, _: Floats) -> tuple[Floats, Bools]:
    return part.between(part.values[:, 1:] < part.values[:, :-1]), part.count >= 1


def _reducing(ufunc: np.ufunc) -> Function:
    return lambda part, _: (part.reduce(ufunc), part.count >= 1)


def _constant(value: Callable[[Part], NDArray[np.generic] | float]) -> Function:
    return lambda part, _: (
        np.broadcast_to(np.asarray(value(part), np.float64), (len(part.values), len(part.low))),
        part.count >= 1,
    )


FUNCTIONS: dict[str, Function] = {
    "rate": lambda part, _: _extrapolated(part, counter=True, rate=True),
    "increase": lambda part, _: _extrapolated(part, counter=True, rate=False),
    "delta": lambda part, _: _extrapolated(part, counter=False, rate=False),
    "irate": lambda part, _: _last_two(part, rate=True),
    "idelta": lambda part, _: _last_two(part, rate=False),
    "deriv": _deriv,
    "double_exponential_smoothing": _smoothed,
    "holt_winters": _smoothed,
    "predict_linear": _predict,
    "sum_over_time": _reducing(np.add),
    "avg_over_time": lambda part, _: (part.reduce(np.add) / np.maximum(part.count, 1), part.count >= 1),
    "min_over_time": _reducing(np.fmin),
    "max_over_time": _reducing(np.fmax),
    "count_over_time": _constant(lambda part: part.count),
    "present_over_time": _constant(lambda _: 1.0),
    "last_over_time": lambda part, _: (part.at(part.high - 1), part.count >= 1),
    "stddev_over_time": lambda part, _: _deviation(part, root=True),
    "stdvar_over_time": lambda part, _: _deviation(part, root=False),
    "quantile_over_time": _quantile,
    "changes": _changes,
    "resets": _resets,
}

#: Functions that copy the windows.
_COPYING = frozenset(
    (
        "deriv", "double_exponential_smoothing", "holt_winters", "predict_linear", "stddev_over_time",
        "stdvar_over_time", "quantile_over_time",
    )
)  # fmt: skip

#: Function -> which value per minute it needs where only values per minute are stored. Functions that are not
#: listed use the default.
TAKES = {
    **dict.fromkeys(
        ("rate", "increase", "delta", "irate", "idelta", "last_over_time", "changes", "resets"), "last"
    ),
    "min_over_time": "min",
    "max_over_time": "max",
}
