"""Selectors: the samples of series that an expression uses at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import promql_parser as parser
from numpy.typing import NDArray

from rayscope.api.schemas import ErrorDetail
from rayscope.api.security import error_detail
from rayscope.metrics.promql.values import (
    LAST_S,
    LONGEST,
    NAME,
    Times,
    Vector,
    bad_at_time,
    bounded,
    empty,
    in_seconds,
    unsupported,
)
from rayscope.metrics.tsdb.blocks import Block, Grid
from rayscope.metrics.tsdb.blocks import joined as joined_blocks
from rayscope.metrics.tsdb.matching import matching
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Labels, Matcher
from rayscope.ray.agents.scrape import is_left_out
from rayscope.storage.errors import BadQuery

#: Maximum age at which a sample counts as the value of its series, ns. This is Prometheus' default.
LOOKBACK_NS = 300 * 10**9
#: Maximum number of series per selector. Others are left out, with a warning.
MAX_SERIES = 20_000
_MAX_NAMES = 100
#: Samples further apart than this (ns) count as rolled up. Windows are then widened to contain two samples.
_ROLLED_NS = 15 * 10**9
#: Default step of a subquery, ns, like Prometheus' default evaluation interval.
_SUBQUERY_STEP_NS = 60 * 10**9
_MAX_SUBQUERY_STEPS = 20_000
_OPS = (
    (parser.MatchOp.Equal, "="),
    (parser.MatchOp.NotEqual, "!="),
    (parser.MatchOp.Re, "=~"),
    (parser.MatchOp.NotRe, "!~"),
)


class Windows(NamedTuple):
    """The windows of a range selector. At step i, they hold the samples of a group from ``low[i]`` up to, but
    not including, ``high[i]``.

    Attributes:
        ends_ns: end of each step's window.
        times_ns: times of the steps.
        apart_ns: interval between rolled up samples, or 0 if they are not rolled up.
    """

    groups: list[tuple[Block, NDArray[np.intp], NDArray[np.intp]]]
    times_ns: Times
    ends_ns: Times
    range_ns: int
    apart_ns: int


@dataclass
class Context:
    """The state of an evaluation: the times of the steps, and what is returned besides the values."""

    store: SeriesStore
    times_ns: Times
    #: Target labels that the expression uses.
    target_names: frozenset[str]
    #: Start and end of the whole query, in ns. A subquery has other steps.
    whole_ns: tuple[int, int]
    #: Called between the parts of an evaluation. Raises an error to end it.
    check: Callable[[], None] = lambda: None
    left_out: int = 0
    warnings: list[ErrorDetail] = field(default_factory=list)
    _found: dict[tuple[object, ...], tuple[list[Block], int]] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.times_ns)

    @property
    def names(self) -> frozenset[str] | None:
        """The metrics used so far, or None if a selector had no name."""
        names = {key[0] for key in self._found}
        return None if None in names else frozenset(map(str, names))

    def warn(self, message: str, what: str, **params: str | int) -> None:
        """Add a warning unless it has already been added."""
        warning = error_detail("warning", message, "", {"what": what, **params})
        if warning not in self.warnings:
            self.warnings.append(warning)

    def find(
        self, selector: parser.VectorSelector, start_ns: int, end_ns: int, take: str | None = None
    ) -> tuple[list[Block], int]:
        """The series of a selector with their samples from start to end, and the samples' interval, ns.

        ``take``: which value per minute to use where only values per minute are stored (see
        ``SeriesStore.select``).
        """
        name, matchers = conditions(selector)
        if name is not None and is_left_out(name):
            self.warn(
                f"{name} is not recorded: of Ray's internal histograms only the sums and counts are.",
                "not_recorded",
                name=name,
            )
        key = (name, tuple(matchers), start_ns, end_ns, take)
        if key not in self._found:
            blocks: list[Block] = []
            resolution_ns = count = 0
            of_target = [matcher for matcher in matchers if matcher.label in self.target_names]
            for each_name in self._names(name, matchers):
                self.check()
                rest = [m for m in matchers if m.label != NAME and m not in of_target]
                found = self.store.blocks(each_name, rest, start_ns, end_ns, MAX_SERIES - count, take=take)
                for block in found.blocks:
                    block = self._with_targets(block, of_target)
                    blocks.append(block._replace(labels=named(each_name, block.labels)))
                read = sum(len(each.labels) for each in found.blocks)
                count += read
                resolution_ns = max(resolution_ns, found.resolution_ns)
                if found.left_out:
                    self.left_out += found.left_out
                    self.warn(
                        f"{each_name}: {found.left_out} series were left out; {read} are counted.",
                        "left_out",
                        name=each_name,
                        number=found.left_out,
                        read=read,
                    )
            bounded(sum(len(block.labels) for block in blocks), self.steps)
            self._found[key] = blocks, resolution_ns
        return self._found[key]

    def _with_targets(self, block: Block, matchers: list[Matcher]) -> Block:
        """Add the target labels that the expression uses to a block, and filter its series by them."""
        targets = self.store.target_labels
        if targets is None or not self.target_names:
            return block
        labels = targets.add(block.labels, self.target_names)
        if not matchers:
            return block._replace(labels=labels)
        chosen = set(matching(labels, matchers))
        rows = [row for row, each in enumerate(labels) if each in chosen]
        return Block([labels[row] for row in rows], block.times_ns, block.values[rows])

    def _names(self, name: str | None, matchers: list[Matcher]) -> list[str]:
        if name is not None:
            return [name]
        names = matching_names(self.store.names(), None, matchers)
        if len(names) > _MAX_NAMES:
            raise BadQuery(
                f"The selector matches {len(names)} metrics; the maximum is {_MAX_NAMES}.",
                "Start it with the name of a metric.",
                what="selector_metrics",
                number=len(names),
                limit=_MAX_NAMES,
            )
        return names


def conditions(selector: parser.VectorSelector) -> tuple[str | None, list[Matcher]]:
    """A selector's metric, or None if it is not fixed, and its matchers."""
    if selector.matchers.or_matchers:
        raise unsupported("`or` between matchers", "or")
    matchers = [
        Matcher(each.name, next(sign for op, sign in _OPS if op == each.op), each.value)
        for each in selector.matchers.matchers
    ]
    name = selector.name
    for matcher in matchers:
        if matcher.label == NAME and matcher.op == "=" and name is None:
            name = matcher.value
    return name, matchers


def matching_names(names: Iterable[str], name: str | None, matchers: Iterable[Matcher]) -> list[str]:
    """Those of the names of metrics that a selector with these conditions accepts."""
    of_name = [matcher for matcher in matchers if matcher.label == NAME]
    if name is not None:
        of_name.append(Matcher(NAME, "=", name))
    return [labels[0][1] for labels in matching((((NAME, each),) for each in names), of_name)]


def named(name: str, labels: list[Labels]) -> list[Labels]:
    """Add the metric's name to labels."""
    own = (NAME, name)
    return [(own, *each) if not each or each[0][0] > NAME else tuple(sorted((own, *each))) for each in labels]


def _ends(context: Context, selector: parser.VectorSelector | parser.SubqueryExpr) -> Times:
    """The time that a selector refers to at each step."""
    times = context.times_ns
    if selector.at is not None:
        first, last = context.whole_ns
        if selector.at.type == parser.AtModifierType.Start:
            fixed = first
        elif selector.at.type == parser.AtModifierType.End:
            fixed = last
        else:
            # Parse the string, because reading the time as a datetime panics if it is out of range.
            seconds = float(str(selector.at).removeprefix("@ "))
            if not seconds <= LAST_S:
                raise bad_at_time()
            fixed = round(seconds * 1000) * 1_000_000
        times = np.full(len(times), fixed, np.int64)
    return times - _length_ns(selector, "offset")


def _length_ns(
    selector: parser.VectorSelector | parser.MatrixSelector | parser.SubqueryExpr, name: str
) -> int:
    """A selector's ``offset``, ``range`` or ``step``, ns. Raises BadQuery if it is too long."""
    too_long = BadQuery(
        f"The {name} is longer than {LONGEST.days} days.",
        "Use a shorter one.",
        what="long_time",
        limit=LONGEST.days,
    )
    try:
        length: timedelta | None = getattr(selector, name)
    except ValueError as error:
        raise too_long from error
    if length is None:
        return 0
    if abs(length) > LONGEST:
        raise too_long
    return round(length.total_seconds() * 1000) * 1_000_000


def instant(context: Context, selector: parser.VectorSelector, *, stamps: bool = False) -> Vector:
    """Each series' newest sample that is at most five minutes old, or with ``stamps`` the sample's time, s.

    A NaN sample marks the end of a series. Samples stored at longer steps are valid for the length of a step.
    """
    ends = _ends(context, selector)
    groups, resolution_ns = context.find(selector, int(ends[0]) - LOOKBACK_NS, int(ends[-1]))
    look_back_ns = max(LOOKBACK_NS, resolution_ns)
    if look_back_ns > LOOKBACK_NS:
        seconds = resolution_ns // 10**9
        context.warn(
            f"This range holds so much data that it is sampled every {seconds} s.", "sampled", seconds=seconds
        )
        groups, resolution_ns = context.find(selector, int(ends[0]) - look_back_ns, int(ends[-1]))
        look_back_ns = max(look_back_ns, resolution_ns)
    parts = []
    for group in groups:
        at = np.searchsorted(group.times_ns, ends, side="right") - 1
        recent = (at >= 0) & (group.times_ns[at] >= ends - look_back_ns)
        values = group.values[:, at]
        there = recent & ~np.isnan(values)
        if stamps:
            values = np.broadcast_to(in_seconds(group.times_ns[at]), values.shape)
        parts.append(Vector(group.labels, values, there))
    return joined(parts, context.steps)


def joined(parts: list[Vector], steps: int) -> Vector:
    if not parts:
        return empty(steps)
    if len(parts) == 1:
        return parts[0]
    return Vector(
        [labels for part in parts for labels in part.labels],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.there for part in parts]),
    )


def windows(context: Context, matrix: parser.MatrixSelector, take: str | None) -> Windows:
    """The samples of each series in the range before each step. Both ends count, as before Prometheus 3."""
    selector = matrix.vector_selector
    ends = _ends(context, selector)
    range_ns = _length_ns(matrix, "range")
    groups, resolution_ns = context.find(selector, int(ends[0]) - range_ns, int(ends[-1]), take)
    rolled = resolution_ns > _ROLLED_NS
    if rolled and range_ns < 2 * resolution_ns:
        range_ns = 2 * resolution_ns
        context.warn(
            f"Data this old is kept every {resolution_ns // 10**9} s; ranges were widened to "
            f"{range_ns // 10**9} s.",
            "widened",
            seconds=resolution_ns // 10**9,
            range=range_ns // 10**9,
        )
        groups, _ = context.find(selector, int(ends[0]) - range_ns, int(ends[-1]), take)
    found = [_bounded(group, ends, range_ns) for group in _unmarked(groups)]
    return Windows(found, context.times_ns, ends, range_ns, resolution_ns if rolled else 0)


def subquery_windows(
    context: Context, node: parser.SubqueryExpr, evaluate: Callable[[Context], Vector]
) -> Windows:
    """The values of a subquery in the range before each step. ``evaluate``: evaluates its expression."""
    ends = _ends(context, node)
    range_ns, step_ns = _length_ns(node, "range"), _length_ns(node, "step") or _SUBQUERY_STEP_NS
    # The times are multiples of the step, as in Prometheus, so that all outer steps use the same ones.
    first = -(-(int(ends.min()) - range_ns) // step_ns) * step_ns
    times = np.arange(first, int(ends.max()) + 1, step_ns, dtype=np.int64)
    if len(times) > _MAX_SUBQUERY_STEPS:
        raise BadQuery(
            f"A subquery has {len(times):,} steps; the maximum is {_MAX_SUBQUERY_STEPS:,}.",
            "Use a longer step or a shorter range.",
            what="subquery_steps",
            number=len(times),
            limit=_MAX_SUBQUERY_STEPS,
        )
    if not len(times):
        return Windows([], context.times_ns, ends, range_ns, 0)
    inner = replace(context, times_ns=times)
    vector = evaluate(inner)
    context.left_out = inner.left_out
    rows_of: dict[bytes, list[int]] = {}
    for row in range(len(vector.labels)):
        rows_of.setdefault(vector.there[row].tobytes(), []).append(row)
    found = []
    for rows in rows_of.values():
        there = vector.there[rows[0]]
        if not there.any():
            continue
        block = Block([vector.labels[row] for row in rows], times[there], vector.values[rows][:, there])
        found.append(_bounded(block, ends, range_ns))
    return Windows(found, context.times_ns, ends, range_ns, 0)


def _bounded(block: Block, ends: Times, range_ns: int) -> tuple[Block, NDArray[np.intp], NDArray[np.intp]]:
    """A block, and the indices of the first sample in each step's window and of the first one after it."""
    low = np.searchsorted(block.times_ns, ends - range_ns, side="left")
    high = np.searchsorted(block.times_ns, ends, side="right")
    return block, low, high


def _unmarked(groups: list[Block]) -> list[Block]:
    """The blocks without the samples that mark the ends of series."""
    clean: list[Block] = []
    for group in groups:
        marks = np.isnan(group.values)
        if not marks.any():
            clean.append(group)
            continue
        grid = Grid(np.arange(len(marks)), group.times_ns, group.values, ~marks)
        clean += joined_blocks(group.labels, grid, (), len(marks))[0]
    return clean
