"""``ray.get`` right after each submission: one task runs at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.handovers import handovers
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import Wait

#: Fewer calls are no loop.
_LEAST = 4


class GetInLoop:
    """Each call is submitted and waited for before the next one is submitted.

    Limits: at least 4 such calls of one function by one caller, fewer than half of them with the value of
    the one before as an argument. Values over 100 KB that are passed by value are known by their sizes,
    unless all have the same. Smaller ones leave no trace, so a loop that hands them on is reported.

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
        """Runs of single gets of the task that was submitted last, of one function and caller."""
        handed_on = {(one.maker, one.taker) for one in handovers(facts) if one.is_certain}
        for task, waits in facts.waits():
            for function, gets in _loops(facts, task, waits, handed_on):
                longest = max(facts.own_ns(facts.rows_of_task[one][-1]) for one, _ in gets)
                blocked = sum(wait.end - wait.begin for _, wait in gets)
                works = sum(max(0, facts.own_ns(facts.rows_of_task[one][-1])) for one, _ in gets)
                yield Finding(
                    max(0, blocked - max(longest, round(works / max(1.0, facts.cpus)))),
                    function=function,
                    caller=facts.caller(task),
                    changes=(Change("one_get", function),),
                    confidence="medium",  # small values that go from one call to the next leave no trace
                    numbers={"calls": len(gets), "blocked_ns": blocked},
                    filters={"func_name": function},
                )


def _loops(
    facts: Facts, task: int, waits: list[Wait], handed_on: set[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, Wait]]]]:
    """By function the gets of a caller that each waited for what was submitted last, and nothing else.

    ``handed_on``: pairs of tasks, the first of which made a value that the second got by value.
    """
    submitted = facts.children.get(task, [])
    found: dict[str, list[tuple[int, Wait]]] = {}
    at, before, depends = 0, -1, 0
    for wait in waits:
        since = at
        while at < len(submitted) and facts.created(submitted[at]) <= wait.begin:
            at += 1
        names = {one for one, _ in wait.named}
        if wait.is_wait or wait.summed_ns >= 0 or len(names) != 1 or at - since != 1:
            continue
        (awaited,) = names
        if awaited != submitted[at - 1]:
            continue
        row = facts.rows_of_task[awaited][0]
        arguments = facts.recorded.arguments.get(awaited, ())
        if (before, awaited) in handed_on or (
            before >= 0 and any(made_by == before for made_by, _ in arguments)
        ):
            depends += 1
        before = awaited
        if not facts.is_creation(row):
            found.setdefault(facts.name(row), []).append((awaited, wait))
    for function, gets in found.items():
        # Calls of one actor run one at a time however they are submitted.
        actors = {facts.attempts.actor[facts.rows_of_task[one][0]] for one, _ in gets}
        if len(gets) >= _LEAST and depends < len(gets) / 2 and (actors == {-1} or len(actors) > 1):
            yield function, gets
