"""What Ray Data plans and warns of, in the process that executes a dataset: which operators give which their
blocks, how the dataset ends, and what Ray Data's detectors find.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rayscope.tracer import emit, risks
from rayscope.tracer.emit import state
from rayscope.tracer.libraries import Guard, Hook, wrap_when_loaded

#: Operators of a plan that is told, and letters of all their names: what goes into one event.
_MAX_OPERATORS, _MAX_LETTERS = 200, 16_000


def install(guard: Guard) -> None:
    """Watch for the loading of Ray Data. ``guard`` makes a function of ours safe to call."""
    for module, owner, name, note in (
        # Its executor calls this in each of its rounds, most often with no issue.
        (
            "ray.data._internal.issue_detection.issue_detector_manager",
            "IssueDetectorManager",
            "_report_issues",
            _note_issues,
        ),
        # It tells the actor that keeps the state of all datasets, once for each execution.
        ("ray.data._internal.stats", "_StatsManager", "register_dataset_to_stats_actor", _note_plan),
        # It tells the same actor, again and again, and with a final state in the end.
        ("ray.data._internal.stats", "_StatsManager", "update_execution_metrics", _note_end),
    ):
        wrap_when_loaded(guard, module, owner, {name: _before(guard(note))})


def _before(note: Callable[..., Any]) -> Hook:
    """Tell ``note`` what a method is called with, then call it."""

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
    """``args`` have a dataset's id and its topology; in older versions of Ray a manager comes before them."""
    dataset = next((one for one in args if isinstance(one, str)), None)
    operators = next((one.operators for one in args if hasattr(one, "operators")), None)
    if dataset is None or not operators or len(operators) > _MAX_OPERATORS or not emit.ready():
        return
    numbers = {operator.id: number for number, operator in enumerate(operators)}
    if len(dataset) + sum(map(len, numbers)) <= _MAX_LETTERS:
        inputs = [
            [numbers[one] for one in operator.input_dependencies if one in numbers] for operator in operators
        ]
        emit.plan(dataset, list(numbers), inputs)


def _note_end(*args: Any) -> None:
    """Report the end of a dataset: the actor that knows it may go before anybody has asked."""
    progress = next((one for one in args if isinstance(one, dict) and "state" in one), None)
    if progress is not None and progress["state"] in ("FINISHED", "FAILED") and emit.ready():
        dataset = next((one for one in args if isinstance(one, str)), "")
        if 0 < len(dataset) <= _MAX_LETTERS:
            emit.tell_always("rayscope.dataset_end", {"name": dataset, "text": progress["state"]})
