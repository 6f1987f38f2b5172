"""Analyzes jobs that are stuck: which attempts wait for which others at the end, and for which resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rayscope.cluster.nodes.demand import EPSILON
from rayscope.insights.finding import DRIVER, Facts
from rayscope.insights.holdings import Holding, demand_of, granted, holdings, is_open, totals
from rayscope.insights.replay.program import CALL
from rayscope.insights.replay.recorded import Bools, Wait

#: Stands for the driver in place of a row.
DRIVER_ROW = -1


class QuietPeriod(NamedTuple):
    """The period at the end of a job when nothing began or ended. ``rows``: the open attempts.

    ``blocked``: the current wait of each blocked row, or of DRIVER_ROW. ``targets``: the rows that each row
    waits for.
    """

    begin: int
    end: int
    rows: list[int]
    blocked: dict[int, Wait]
    targets: dict[int, list[int]]

    @property
    def quiet_ns(self) -> int:
        """The length of the period, ns."""
        return self.end - self.begin


class Stuck(NamedTuple):
    """An attempt that can never run because attempts that wait for it hold the resource that it needs."""

    row: int
    resource: str
    needed: float
    holders: list[Holding]


def find_quiet_period(facts: Facts, min_ns: float) -> QuietPeriod | None:
    """The quiet period at the end of a job, or None unless attempts are open and nothing happened for at
    least ``min_ns``.

    Raises NotEnoughData.
    """
    open_rows = is_open(facts)
    begin, end = _last_event(facts, ~open_rows), facts.recorded.last
    if not open_rows.any() or end - begin < min_ns:
        return None
    facts.require_tracer("who waits for whom")
    rows = np.flatnonzero(open_rows).tolist()
    blocked = _blocked(facts, rows, begin, (begin + end) // 2)
    return QuietPeriod(begin, end, rows, blocked, _targets(facts, rows, blocked))


def _last_event(facts: Facts, ended: Bools) -> int:
    """When something was last submitted, began or ended. ``ended``: the attempts that ended."""
    a = facts.attempts
    return max(int(times.max(initial=0)) for times in (a.created, a.start[a.ran > 0], a.ended[ended]))


def _blocked(facts: Facts, rows: Sequence[int], begin: int, middle: int) -> dict[int, Wait]:
    """The current wait of each blocked row. Only waits that began before ``middle``, the middle of the quiet
    period, count.
    """
    recorded, a = facts.recorded, facts.attempts
    found: dict[int, Wait] = {}
    for row in [DRIVER_ROW, *(row for row in rows if a.ran[row])]:
        key = (DRIVER, 0) if row == DRIVER_ROW else (int(a.task[row]), int(a.number[row]))
        last = recorded.open_waits.get(key)
        ended = [wait for wait in recorded.waits.of(*key) if wait.begin <= middle < wait.end]
        if last is not None and last.begin <= middle:
            found[row] = last
        elif ended:
            found[row] = ended[-1]
    return found


def _targets(facts: Facts, rows: Sequence[int], blocked: dict[int, Wait]) -> dict[int, list[int]]:
    """The rows that each row waits for. A blocked attempt waits for the tasks that its wait names, or else
    for its children. A pending attempt waits for its arguments. A pending call whose arguments are ready
    waits for the creation of its actor and the calls that the actor is running.
    """
    a, opened = facts.attempts, set(rows)
    found: dict[int, list[int]] = {}

    def rows_of(tasks: Iterable[int]) -> list[int]:
        its = (facts.recorded.rows_of_task(task) for task in dict.fromkeys(tasks))
        return [row for rows in its for row in rows if row in opened]

    for row, wait in blocked.items():
        task = DRIVER if row == DRIVER_ROW else int(a.task[row])
        known = [one for one, _ in wait.named]
        found[row] = rows_of(known or ([] if wait.is_group else facts.children(task).tolist()))
    of_actor: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if a.actor[row] >= 0 and (a.ran[row] or a.kind[row] != CALL):
            of_actor[int(a.actor[row])].append(row)
    for row in rows:
        if not a.ran[row]:
            needed = rows_of(one for one, _ in facts.recorded.arguments.of(int(a.task[row])))
            found[row] = needed or (of_actor[a.actor[row]] if a.kind[row] == CALL else [])
    return found


def deadlocked(facts: Facts, quiet: QuietPeriod) -> list[Stuck]:
    """The attempts that can never run because of a deadlock. Ray lends the CPUs of blocked tasks to others,
    but nothing else.
    """
    has = totals(facts)
    got = granted(facts)
    waiting = [row for row in quiet.rows if got[row] < 0 and demand_of(facts, row)]
    held = [one for one in holdings(facts) if one.end >= quiet.end and one.kind != "placement_group"]
    users = {one.row: _users(facts, quiet, one) for one in held} if waiting else {}
    holders = [one for one in held if users.get(one.row)]
    while True:
        stuck = list(_stuck(facts, has, waiting, holders))
        reaching = _reaching(quiet, {one.row for one in stuck})
        left = [one for one in holders if not reaching.isdisjoint(users[one.row])]
        if len(left) == len(holders):
            return stuck
        holders = left


def _users(facts: Facts, quiet: QuietPeriod, holding: Holding) -> frozenset[int]:
    """The blocked attempts that prevent the release of a resource: the task itself, or the calls of the
    actor.
    """
    if holding.kind == "task":
        return frozenset({holding.row} & quiet.blocked.keys())
    a = facts.attempts
    actor = a.actor[holding.row]
    return frozenset(row for row in quiet.blocked if row != DRIVER_ROW and a.actor[row] == actor)


def _stuck(
    facts: Facts, has: dict[str, float], waiting: Sequence[int], holders: Sequence[Holding]
) -> Iterable[Stuck]:
    held: dict[str, float] = defaultdict(float)
    for one in holders:
        for name, amount in one.resources.items():
            held[name] += amount
    for row in waiting:
        for name, needed in demand_of(facts, row).items():
            if name in held and has.get(name, 0.0) - held[name] < needed - EPSILON <= has.get(name, 0.0):
                yield Stuck(row, name, needed, [one for one in holders if name in one.resources])
                break


def _reaching(quiet: QuietPeriod, goals: set[int]) -> set[int]:
    """The rows that wait for at least one of the goals, directly or indirectly, and the goals themselves."""
    waits_for: dict[int, list[int]] = defaultdict(list)
    for row, targets in quiet.targets.items():
        for target in targets:
            waits_for[target].append(row)
    found, todo = set(goals), list(goals)
    while todo:
        for row in waits_for[todo.pop()]:
            if row not in found:
                found.add(row)
                todo.append(row)
    return found
