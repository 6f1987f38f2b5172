"""Assigns tasks to the operators of a dataset, and finds the operator that holds up the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from rayscope.libraries.data import schemas

Row = dict[str, Any]

#: The method of an actor pool's worker that runs a task. Its other methods are bookkeeping.
_POOL_CALL = re.compile(r"MapWorker\((?P<operator>.*)\)\.submit$")
#: Functions of older shuffles, whose tasks are not named after an operator, with the possible names of their
#: operators.
_SHUFFLES = {
    "_sample_block": ("Sort",),
    "map": ("RandomShuffle", "Repartition", "Sort", "Aggregate"),
    "reduce": ("RandomShuffle", "Repartition", "Sort", "Aggregate"),
}
#: An operator holds up the others if it takes at least this many times as long as the next slowest.
_MIN_BOTTLENECK_RATIO = 1.25
_SUMS: Final = ("time_ns", "steady_ns", "output_bytes")
_MAXIMA: Final = ("max_ns", "max_bytes", "last_ns")


def operator_of(task: Mapping[str, Any], operators: Sequence[str]) -> str | None:
    """The name of the operator that a group of tasks ran for, or None if they ran for no operator."""
    name, function = task["name"] or "", task["func_name"] or ""
    if name in operators:
        return name
    if match := _POOL_CALL.match(function):
        return match["operator"] if match["operator"] in operators else None
    for kind in _SHUFFLES.get(name, ()):
        for operator in operators:
            # Matches "ReadRange->RandomShuffle" and "Sort", but not "SortShuffleMap", whose tasks are named
            # after it.
            if re.search(rf"(^|->){kind}(Sample)?(\(|$)", operator):
                return operator
    return None


def tasks_by_operator(tasks: Sequence[Row], operators: Sequence[str]) -> dict[str, schemas.OperatorTasks]:
    """The groups of :func:`rayscope.libraries.data.sql.tasks`, summed by operator.

    Medians and percentiles are those of the group that took the longest time in total. ``names``: filters
    that find the tasks.
    """
    found: dict[str, schemas.OperatorTasks] = {}
    for task in sorted(tasks, key=lambda one: -(one["time_ns"] or 0)):
        operator = operator_of(task, operators)
        if operator is None:
            continue
        names: schemas.TaskNames = {"func_name": task["func_name"], "name": task["name"]}
        figures = {key: value for key, value in task.items() if key not in names}
        into = found.get(operator)
        if into is None:
            found[operator] = cast(
                schemas.OperatorTasks, {**figures, "states": dict(task["states"]), "names": [names]}
            )
            continue
        into["names"].append(names)
        for state, count in task["states"].items():
            into["states"][state] = into["states"].get(state, 0) + count
        for key in _SUMS:
            into[key] = _add(into[key], task[key])
        for name in _MAXIMA:
            into[name] = max((value for value in (into[name], task[name]) if value is not None), default=None)
        into["first_ns"] = min(
            (value for value in (into["first_ns"], task["first_ns"]) if value is not None), default=None
        )
        into["at_once"] = max(into["at_once"] or 0, task["at_once"] or 0)
    return found


def lanes(groups: Sequence[Row], operators: Sequence[str]) -> dict[str, list[float]]:
    """The groups of :func:`rayscope.libraries.data.sql.running`, summed by operator."""
    found: dict[str, list[float]] = {}
    for group in groups:
        if (operator := operator_of(group, operators)) is not None:
            before = found.get(operator) or [0.0] * len(group["running"])
            found[operator] = [one + other for one, other in zip(before, group["running"], strict=True)]
    return found


def _add(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second


def least_time_ns(tasks: schemas.OperatorTasks | None) -> int:
    """The minimum duration of an operator's tasks at their maximum concurrency, ns.

    Excludes the cold start of its workers.
    """
    return (tasks["steady_ns"] or 0) // max(1, tasks["at_once"] or 1) if tasks else 0


def bottleneck(by_operator: Mapping[str, schemas.OperatorTasks]) -> str | None:
    """The operator that limits the throughput: its tasks take longest even at their maximum concurrency.

    None if no operator takes clearly longer than all others.
    """
    times = sorted(((least_time_ns(row), name) for name, row in by_operator.items()), reverse=True)
    if len(times) < 2 or times[0][0] < _MIN_BOTTLENECK_RATIO * max(1, times[1][0]):
        return None
    return times[0][1]
