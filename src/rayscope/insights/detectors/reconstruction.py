"""Results that were lost and made again."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change
from rayscope.insights.spans import union_ns


class Reconstruction:
    """Tasks that had finished ran again, because the values that they had returned were lost.

    Limits: one such task is enough.

    Needs: the attempts and their states, which Ray always records.
    """

    kind = "reconstruction"
    title = "Lost results were made again"
    advice = (
        "{again} tasks of {function} had finished and ran again for {again_ns} in all, because their "
        "results were lost, mostly with the node that had them. Write what is expensive to make to shared "
        "storage, or keep it on nodes that stay."
    )
    sketch = ""
    doc = "fault tolerance: objects"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts after one that had finished."""
        a = facts.attempts
        for function, rows in facts.rows_of_function.items():
            again = [row for row in rows if is_made_again(facts, row)]
            if again:
                spans = [facts.held(row) for row in again]
                yield Finding(
                    union_ns(spans),
                    function=function,
                    changes=(Change("no_retries", function),),
                    numbers={
                        "again": len({a.task[row] for row in again}),
                        "again_ns": sum(end - begin for begin, end in spans),
                    },
                    filters={"func_name": function},
                )


def is_made_again(facts: Facts, row: int) -> bool:
    """Whether an attempt follows one that had finished."""
    a = facts.attempts
    if not a.number[row]:
        return False
    before = [one for one in facts.rows_of_task[a.task[row]] if a.number[one] < a.number[row]]
    return bool(before) and a.state[before[-1]] == "FINISHED" and a.start[row] >= 0
