"""Reports from the process that executes a Ray Data dataset: the plan of its operators, the issues that Ray
Data detects, and how the dataset ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rayscope.tracer import emit, risks
from rayscope.tracer.emit import state
from rayscope.tracer.libraries import Guard, Hook, wrap_when_loaded

#: Maximum number of operators in a plan, so that it fits into one event. Longer plans are not reported.
_MAX_OPERATORS = 200
#: Maximum number of characters in all names in a plan together. Longer plans are not reported.
_MAX_CHARS = 16_000


def install(guard: Guard) -> None:
    """Trace Ray Data once it is loaded. ``guard`` wraps our functions so that they never raise."""
    for module, owner, name, note in (
        # The executor calls this in every round. Most rounds have no issue.
        (
            "ray.data._internal.issue_detection.issue_detector_manager",
            "IssueDetectorManager",
            "_report_issues",
            _note_issues,
        ),
        # Called once per execution, to register it with the stats actor.
        ("ray.data._internal.stats", "_StatsManager", "register_dataset_to_stats_actor", _note_plan),
        # Called repeatedly to update the stats actor, finally with the end state.
        ("ray.data._internal.stats", "_StatsManager", "update_execution_metrics", _note_end),
    ):
        wrap_when_loaded(guard, module, owner, {name: _before(guard(note))})


def _before(note: Callable[..., Any]) -> Hook:
    """Return a hook that calls ``note`` with a method's arguments before it calls the method."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noted(*args: Any, **kwargs: Any) -> Any:
            if state.on:
                note(*args, *kwargs.values())
            return original(*args, **kwargs)

        return noted

    return wrap


def _note_issues(manager: Any, issues: Any) -> None:
    if issues and emit.ready():
        names = {operator.id: operator.name for operator in manager.executor._topology}
        for issue in issues:
            operator = names.get(issue.operator_id, issue.operator_id)
            kind = getattr(issue.issue_type, "value", issue.issue_type)
            risks.note_issue(issue.dataset_name, operator, str(kind), issue.message)


def _note_plan(*args: Any) -> None:
    """Report a plan.

    ``args`` contain the dataset's ID and its topology. Older versions of Ray pass a manager first.
    """
    dataset = next((arg for arg in args if isinstance(arg, str)), None)
    operators = next((arg.operators for arg in args if hasattr(arg, "operators")), None)
    if dataset is None or not operators or len(operators) > _MAX_OPERATORS or not emit.ready():
        return
    numbers = {operator.id: number for number, operator in enumerate(operators)}
    if len(dataset) + sum(map(len, numbers)) <= _MAX_CHARS:
        inputs = [
            [numbers[source] for source in operator.input_dependencies if source in numbers]
            for operator in operators
        ]
        emit.report_plan(dataset, list(numbers), inputs)


def _note_end(*args: Any) -> None:
    """Report the end of a dataset. The stats actor may be gone before anyone queries it."""
    progress = next((arg for arg in args if isinstance(arg, dict) and "state" in arg), None)
    if progress is not None and progress["state"] in ("FINISHED", "FAILED") and emit.ready():
        dataset = next((arg for arg in args if isinstance(arg, str)), "")
        if 0 < len(dataset) <= _MAX_CHARS:
            emit.report_always("rayscope.dataset_end", {"name": dataset, "text": progress["state"]})
