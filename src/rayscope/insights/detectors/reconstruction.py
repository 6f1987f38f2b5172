"""Results that were lost and recomputed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import Bools
from rayscope.insights.spans import union_of


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
        """Functions with attempts that follow a finished one."""
        a = facts.attempts
        is_made_again = _is_made_again(facts)
        for function, rows in facts.rows_of_function.items():
            again = rows[is_made_again[rows]]
            if len(again):
                begin, end = (column[again] for column in facts.held)
                yield Finding(
                    union_of(begin, end),
                    function=function,
                    changes=(Change("no_retries", function),),
                    numbers={
                        "again": len(np.unique(a.task[again])),
                        "again_ns": int((end - begin).sum()),
                    },
                    filters={"func_name": function},
                )


def _is_made_again(facts: Facts) -> Bools:
    """Whether each attempt follows a finished one of the same task."""
    a = facts.attempts
    found = np.zeros(len(a), dtype=np.bool_)
    found[1:] = (a.task[1:] == a.task[:-1]) & a.state.equals("FINISHED")[:-1]
    return found & (a.start >= 0)
