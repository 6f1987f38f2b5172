"""A job that makes no progress any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rayscope.insights.detectors.unschedulable import too_large
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import demand_of
from rayscope.insights.replay.build import DRIVER
from rayscope.insights.replay.program import CALL
from rayscope.insights.standstill import DRIVER_ROW, QuietPeriod, deadlocked, find_quiet_period

#: How long nothing must have begun or ended, in ns.
_MIN_QUIET_NS = 5_000_000_000
#: The share of the job's time for which nothing must have begun or ended.
_MIN_QUIET_SHARE = 0.2
#: Longer chains are cut off in the text of a finding.
_MAX_LINKS = 8


class _Chain(NamedTuple):
    """Attempts of which each waits for the next. ``is_circle``: the last one is already in the chain."""

    rows: list[int]
    is_circle: bool


class Hang:
    """Nothing begins or ends any more although tasks are open. Shows the chain of who waits for whom.

    Limits: nothing was submitted, began or ended for the last 5 s, which are at least a fifth of the job's
    time, while tasks wait for each other in a circle, or for one that no node can run. Deadlocks over
    resources are reported separately.

    Needs: the tracer in the job's processes: who waits for whom.
    """

    kind = "hang"
    title = "The job hangs"
    advice = (
        "Nothing has begun or ended for {quiet_ns} while {open} tasks are open. Who waits for whom: {chain}. "
        "Let one of them return instead of waiting: pass references on, make the method async, or give the "
        "actor more threads (max_concurrency)."
    )
    sketch = (
        "@ray.remote(max_concurrency=2)  # so that it can be called while a call of it waits\n"
        "class Player: ..."
    )
    doc = "pattern: concurrent operations with async actor"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The longest chain, from the driver or from an attempt that nothing waits for."""
        quiet = find_quiet_period(facts, max(_MIN_QUIET_NS, _MIN_QUIET_SHARE * facts.duration_ns))
        if quiet is None or deadlocked(facts, quiet):
            return
        awaited = {target for targets in quiet.targets.values() for target in targets}
        starts = [row for row in quiet.blocked if row not in awaited] or list(quiet.blocked)
        chains = [_follow(quiet, row) for row in starts]
        hanging = [chain for chain in chains if _hangs(facts, chain)]
        if hanging:
            chain = max(hanging, key=lambda one: (one.rows[0] == DRIVER_ROW, one.is_circle))
            last = chain.rows[-1]
            yield Finding(
                quiet.quiet_ns,
                function=None if last == DRIVER_ROW else facts.name(last),
                numbers={
                    "quiet_ns": quiet.quiet_ns,
                    "open": len(quiet.rows),
                    "chain": _text(facts, quiet, chain),
                },
                filters={} if last == DRIVER_ROW else {"func_name": facts.name(last)},
            )


def _follow(quiet: QuietPeriod, start: int) -> _Chain:
    """Search depth first, up to the first circle or else the end of the first branch."""
    path, first_end = [start], None
    ways = [iter(quiet.targets.get(start, ()))]
    visited = {start}
    while ways:
        target = next(ways[-1], None)
        if target is None:
            first_end = first_end or list(path)
            ways.pop()
            path.pop()
        elif target in path:
            return _Chain([*path, target], True)
        elif target not in visited:
            visited.add(target)
            path.append(target)
            ways.append(iter(quiet.targets.get(target, ())))
    return _Chain(first_end or [start], False)


def _hangs(facts: Facts, chain: _Chain) -> bool:
    """Whether the last attempt of a chain can never end. A slow worker start or a long task is no hang."""
    last = chain.rows[-1]
    if chain.is_circle or last == DRIVER_ROW or facts.attempts.ran[last]:
        return chain.is_circle
    return any(too_large(facts, demand_of(facts, last)))


def _text(facts: Facts, quiet: QuietPeriod, chain: _Chain) -> str:
    """The text of a chain in a finding."""
    links = []
    for row in chain.rows[:_MAX_LINKS]:
        name = DRIVER if row == DRIVER_ROW else facts.name(row)
        links.append(f"{name} ({_situation(facts, quiet, row)})")
    if chain.is_circle:
        links[-1] = f"{facts.name(chain.rows[-1])} again" if len(chain.rows) <= _MAX_LINKS else "…"
    return " → ".join(links)


def _situation(facts: Facts, quiet: QuietPeriod, row: int) -> str:
    a, wait = facts.attempts, quiet.blocked.get(row)
    if wait is not None:
        if wait.is_group:
            return "waiting for a placement group"
        return f"blocked in {'ray.wait' if wait.is_wait else 'ray.get'}"
    if row == DRIVER_ROW or a.ran[row]:
        return "executing"
    if a.kind[row] == CALL:
        return "waiting for its actor"
    return "waiting for its arguments" if quiet.targets.get(row) else "waiting for a worker"
