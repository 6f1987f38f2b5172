"""A caller that submits far more tasks than can run, without ever waiting."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import granted

#: Ray's tested limit is a million queued tasks on a node. Each pending task costs its owner a few kB, and the
#: scheduler time, which is noticeable from some ten thousand tasks on.
_MAX_PENDING = 10_000


class UnboundedPending:
    """A caller submits far more tasks than can run, without ever waiting for some of them.

    Limits: more than 10,000 tasks of one caller are pending at once. The maximum cost in time is how long the
    caller continued to submit; above all it costs memory.

    Needs: when tasks were submitted and began.
    """

    kind = "unbounded_pending"
    title = "Too many pending tasks"
    advice = (
        "{caller_name} had {pending} tasks pending at once and submitted more for {submitting_ns}. Each of "
        "them, its arguments and its result cost memory until it is done. Limit how many are pending: once "
        "there are a few for each CPU, wait with ray.wait before submitting the next."
    )
    sketch = (
        "refs = []\nfor item in items:\n    if len(refs) >= 1000:\n        done, refs = ray.wait(refs)\n"
        "        process(ray.get(done))\n    refs.append(work.remote(item))"
    )
    doc = "pattern: using ray.wait to limit the number of pending tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Callers with too many pending tasks at once."""
        end = facts.recorded.last
        for caller in facts.callers:
            tasks = facts.children(caller)
            if len(tasks) <= _MAX_PENDING:
                continue
            rows = facts.first_rows[tasks]
            created, started = facts.attempts.created[rows], granted(facts)[rows]
            started = np.sort(np.where(started < 0, end, started))
            # The number of pending tasks at each submission.
            pending = np.arange(1, len(rows) + 1) - np.searchsorted(started, created, "right")
            over = np.flatnonzero(pending > _MAX_PENDING)
            if len(over):
                submitting = int(created[over[-1]] - created[over[0]])
                function = facts.name(rows[over[0]])
                yield Finding(
                    submitting,
                    function=function,
                    caller=facts.caller(caller),
                    confidence="low",
                    numbers={
                        "caller_name": facts.caller(caller) or "The driver",
                        "pending": int(pending.max()),
                        "submitting_ns": submitting,
                    },
                    filters={"func_name": function},
                )
