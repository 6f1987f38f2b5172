"""Evaluates a rule on recorded series to find out when it would have fired."""

from __future__ import annotations

from collections.abc import Callable

from rayscope.alerts import schemas
from rayscope.alerts.rules import Rule
from rayscope.alerts.state import Alerts, Machine, State
from rayscope.alerts.templating.evaluate import Rendering
from rayscope.metrics.promql.evaluate import MAX_STEPS, evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.storage.errors import BadQuery

_MAX_EVALUATIONS = 20_000
_MAX_TRANSITIONS = 500
#: Maximum number of queries that the rule's templates may make in all evaluations together.
_MAX_QUERIES = 1000


def backtest(
    rule: Rule,
    store: SeriesStore,
    start_ns: int,
    end_ns: int,
    rendering: Callable[[SeriesStore, int], Rendering] = lambda *_: Rendering(),
) -> schemas.TestResult:
    """Evaluate a rule from ``start_ns`` to ``end_ns`` at its own interval, as if it had been active then.

    The result has the first 500 ``transitions`` (``left_out`` counts the others), ``fired`` (the number of
    alerts that fired), and ``evaluations``. ``rendering`` returns the context of the rule's templates for a
    time. Raises BadQuery if the range is too long for the interval.
    """
    step_ns = rule.interval_ns
    evaluations = (end_ns - start_ns) // step_ns + 1
    if end_ns < start_ns or evaluations > _MAX_EVALUATIONS:
        raise BadQuery(
            f"The range must end after it starts, and take at most {_MAX_EVALUATIONS} evaluations.",
            f"This rule is evaluated every {step_ns / 1e9:g} s: give a shorter range.",
            what="backtest",
            limit=_MAX_EVALUATIONS,
            seconds=f"{step_ns / 1e9:g}",
        )
    machine, alerts = Machine(rule), Alerts()
    transitions: list[schemas.TestedTransition] = []
    left_out = fired = 0
    queries_left = _MAX_QUERIES
    for begin in range(start_ns, end_ns + 1, step_ns * MAX_STEPS):
        end = min(end_ns, begin + step_ns * (MAX_STEPS - 1))
        result = evaluate(store, rule.expr, begin, end, step_ns)
        for at, time_ns in enumerate(result.times_ns):
            vector = [
                (labels, value) for labels, values in result.series if (value := values[at]) is not None
            ]
            now = rendering(store, time_ns)
            now.queries_left = queries_left
            changes = machine.step(alerts, vector, time_ns, now)
            queries_left = now.queries_left
            for change in changes:
                fired += change.after is State.FIRING
                if len(transitions) >= _MAX_TRANSITIONS:
                    left_out += 1
                    continue
                transitions.append(
                    {
                        "time_ns": change.time_ns,
                        "before": change.before.value,
                        "after": change.after.value,
                        "labels": change.alert.labels,
                        "annotations": change.alert.annotations,
                        "value": change.alert.value,
                    }
                )
    firing = [each.info() for each in alerts.values() if each.state is State.FIRING]
    return {
        "transitions": transitions,
        "left_out": left_out,
        "fired": fired,
        "firing_at_end": firing[:100],
        "evaluations": evaluations,
    }
