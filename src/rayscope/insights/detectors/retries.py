"""Work that was lost and done again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: Errors that other detectors report.
_OTHER_DETECTORS_ERRORS = ("NODE_DIED", "OUT_OF_MEMORY")


class Retries:
    """Attempts that failed and were retried.

    Limits: any attempt that had begun and was followed by another one; restarts of actors are left out.

    Needs: when attempts began and ended.
    """

    kind = "retries"
    title = "Work lost to retries"
    advice = (
        "{failed} attempts of {function} failed and were retried: {lost_ns} of work was lost. The failures "
        "of {function} show why."
    )
    sketch = ""  # the code already has the options
    doc = "fault tolerance: tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that were followed by another one."""
        a = facts.attempts
        is_last = np.isin(np.arange(len(a)), facts.last_rows)

        # Attempts that ran again although they had finished are reported by the detector reconstruction.
        has_other_finding = a.state.equals("FINISHED") | a.error.equals(*_OTHER_DETECTORS_ERRORS)
        is_lost = (a.start >= 0) & ~is_last & ~facts.is_creation & ~has_other_finding
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
