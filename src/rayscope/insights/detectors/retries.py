"""Work that was done, lost, and done again."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: Other detectors tell of these errors, and of what ran again although it had finished.
_TOLD_ELSEWHERE = ("NODE_DIED", "OUT_OF_MEMORY")


class Retries:
    """Attempts that failed and were tried again.

    Limits: any attempt that had begun and that another one followed; restarts of actors are left out.

    Needs: when attempts began and ended.
    """

    kind = "retries"
    title = "Work lost to retries"
    advice = (
        "{failed} attempts of {function} failed and were tried again; they had run for {lost_ns} in all. See "
        "the failures of {function} for why."
    )
    sketch = "@ray.remote(max_retries=3, retry_exceptions=[ConnectionError])  # only what a retry can cure"
    doc = "fault tolerance: tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that another one followed."""
        a = facts.attempts
        for function, rows in facts.rows_of_function.items():
            lost = [
                row
                for row in rows
                if not facts.is_creation(row)
                and row != facts.rows_of_task[a.task[row]][-1]
                and a.start[row] >= 0
                and a.state[row] != "FINISHED"
                and a.error[row] not in _TOLD_ELSEWHERE
            ]
            if lost:
                spent = sum(max(0, max(a.returned[row], a.ended[row]) - a.start[row]) for row in lost)
                yield Finding(
                    spent,
                    function=function,
                    changes=(Change("no_retries", function),),
                    numbers={"failed": len(lost), "lost_ns": spent},
                    filters={"func_name": function, "state": "FAILED"},
                )
