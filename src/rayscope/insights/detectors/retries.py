"""Work that was done, lost, and done again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

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
        "{failed} attempts of {function} failed and were retried: {lost_ns} of work was lost. The failures "
        "of {function} show why."
    )
    sketch = ""  # the code has the options already
    doc = "fault tolerance: tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that another one followed."""
        a = facts.attempts
        is_last = np.isin(np.arange(len(a)), facts.last_rows)
        told_elsewhere = a.state.equals("FINISHED") | a.error.equals(*_TOLD_ELSEWHERE)
        is_lost = (a.start >= 0) & ~is_last & ~facts.is_creation & ~told_elsewhere
        spans = np.maximum(np.maximum(a.returned, a.ended) - a.start, 0)
        for function, rows in facts.rows_of_function.items():
            lost = rows[is_lost[rows]]
            if len(lost):
                spent = int(spans[lost].sum())
                yield Finding(
                    spent,
                    function=function,
                    changes=(Change("no_retries", function),),
                    rows=lost,
                    numbers={"failed": len(lost), "lost_ns": spent},
                    filters={"func_name": function, "state": "FAILED"},
                )
