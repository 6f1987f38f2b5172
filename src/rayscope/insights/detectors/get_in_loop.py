"""``ray.get`` or ``ray.wait`` right after each submission: one task runs at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.handovers import find_passed_values
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CREATION
from rayscope.insights.replay.recorded import Wait

#: Minimum number of calls for a loop.
_MIN_CALLS = 4


class GetInLoop:
    """Each call is submitted and waited for before the next one is submitted.

    Limits: at least 4 such calls of one function by one caller, each followed by ray.get or ray.wait, and
    fewer than half of them with the previous value as an argument. Values over 100 KB that are passed by
    value are recognized by their size, unless all have the same size. Smaller ones leave no trace, so a loop
    that passes them on is reported.

    Needs: the tracer in the caller: its waits, and the objects that they name.
    """

    kind = "get_in_loop"
    title = "ray.get in a loop"
    advice = (
        "{calls} calls of {function} are submitted one at a time, each followed by ray.get, so at most one "
        "of them runs at a time. Submit all of them first, then get all results with one ray.get. If each "
        "call needs the result of the one before, pass the reference instead of the value."
    )
    sketch = "refs = [{function}.remote(item) for item in items]\nresults = ray.get(refs)"
    doc = "anti-pattern: calling ray.get in a loop harms parallelism"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Loops in which one caller submits a function and gets its value before the next submission."""
        handed_on = {(one.maker, one.taker) for one in find_passed_values(facts) if one.is_certain}
        for task, waits in facts.waits(_MIN_CALLS):
            for function, gets in _loops(facts, task, waits, handed_on):
                own = np.maximum(facts.own_ns[facts.last_rows[[one for one, _ in gets]]], 0)
                blocked = np.array([wait.end - wait.begin for _, wait in gets])
                # Some calls took longer because workers had to start, which they must in any case.
                usual = round(len(gets) * float(np.median(blocked)))
                at_once = max(int(own.max()), round(int(own.sum()) / max(1.0, facts.cpus)))
                yield Finding(
                    max(0, usual - at_once),
                    function=function,
                    caller=facts.caller(task),
                    changes=(Change("one_get", function),),
                    # small values that are passed from one call to the next leave no trace
                    confidence="medium",
                    numbers={"calls": len(gets), "blocked_ns": int(blocked.sum())},
                    filters={"func_name": function},
                )


def _loops(
    facts: Facts, task: int, waits: list[Wait], handed_on: set[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, Wait]]]]:
    """The gets and waits of a caller that named only the last submitted task, by function.

    ``handed_on``: pairs of tasks; the second got the value of the first by value.
    """
    a = facts.attempts
    submitted = facts.children(task).tolist()
    first_rows = facts.first_rows
    created = a.created[first_rows[submitted]].tolist()
    found: dict[str, list[tuple[int, Wait]]] = {}
    at, before, depends = 0, -1, 0
    for wait in waits:
        since = at
        while at < len(submitted) and created[at] <= wait.begin:
            at += 1
        names = {one for one, _ in wait.named}
        if wait.summed_ns >= 0 or len(names) != 1 or at - since != 1 or wait.objects > 1:
            continue
        (awaited,) = names
        if awaited != submitted[at - 1]:
            continue
        row = first_rows[awaited]
        arguments = facts.recorded.arguments.of(awaited)
        if (before, awaited) in handed_on or (
            before >= 0 and any(made_by == before for made_by, _ in arguments)
        ):
            depends += 1
        before = awaited
        if a.kind[row] != CREATION:
            found.setdefault(facts.name(row), []).append((awaited, wait))
    for function, gets in found.items():
        # Calls of one actor run one at a time however they are submitted.
        actors = set(a.actor[first_rows[[one for one, _ in gets]]].tolist())
        if len(gets) >= _MIN_CALLS and depends < len(gets) / 2 and (actors == {-1} or len(actors) > 1):
            yield function, gets
