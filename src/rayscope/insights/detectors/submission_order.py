"""Results that are processed in the order of submission although others are there already."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding

_LEAST = 5


class SubmissionOrder:
    """A caller waits for one result while others of the same batch, which it processes later, are there.

    Limits: at least 5 results of one function that were all submitted before the first of them is waited
    for, with work between the waits.

    Needs: the tracer in the caller: its waits, and the objects that they name.
    """

    kind = "submission_order"
    title = "Results processed in submission order"
    advice = (
        "Results of {function} are taken one by one in the order of submission; for {blocked_ns} the caller "
        "waited for one while later ones were ready to be processed. Take them as they complete, with "
        "ray.wait."
    )
    sketch = "while refs:\n    [done], refs = ray.wait(refs)\n    process(ray.get(done))"
    doc = "anti-pattern: processing results in submission order using ray.get increases runtime"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Single gets in the order of submission of what was all submitted before, with work between them."""
        a = facts.attempts
        for task, waits in facts.waits():
            single = [
                (wait.named[0][0], wait)
                for wait in waits
                if not wait.is_wait and wait.summed_ns < 0 and len({one for one, _ in wait.named}) == 1
            ]
            groups: dict[str, list[tuple[int, int, int]]] = {}
            for awaited, wait in single:
                row = facts.rows_of_task[awaited][-1]
                groups.setdefault(facts.name(row), []).append((awaited, wait.begin, wait.end))
            for function, gets in groups.items():
                if len(gets) < _LEAST or any(facts.created(one) > gets[0][1] for one, _, _ in gets):
                    continue
                blocked, first_later = 0, None
                for one, begin, end in reversed(gets):
                    if first_later is not None:
                        blocked += max(0, end - max(begin, first_later))
                    ended = a.ended[facts.rows_of_task[one][-1]]
                    if ended >= 0:
                        first_later = ended if first_later is None else min(first_later, ended)
                between = sum(max(0, gets[at + 1][1] - gets[at][2]) for at in range(len(gets) - 1))
                cost = min(blocked, between)
                if cost > 0:
                    yield Finding(
                        cost,
                        function=function,
                        caller=facts.caller(task),
                        confidence="medium",
                        numbers={"calls": len(gets), "blocked_ns": blocked, "between_ns": between},
                        filters={"func_name": function},
                    )
