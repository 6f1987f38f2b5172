"""Datasets as Ray's dashboard reports them, and the owners of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from rayscope.libraries.data.compute import bottleneck, lanes, operator_of, tasks_by_operator
from rayscope.model import Entity
from rayscope.ray.libraries.data import _dataset
from rayscope.ray.libraries.poller import Library, _States

SHUFFLED = ["Input", "ReadRange->MapBatches(parse)->RandomShuffle", "Write"]
SORTED = [
    "ReadRange",
    "SortSample(partitions=4)",
    "SortShuffleMap(partitions=4)",
    "SortShuffleReduce(partitions=4)",
]


def task(name: str, func_name: str = "_map_task", **more: Any) -> dict[str, Any]:
    row = {"name": name, "func_name": func_name, "states": {"FINISHED": 2}, "time_ns": 10, "at_once": 1}
    row["steady_ns"] = more.get("time_ns", 10)
    figures = dict.fromkeys(("max_ns", "max_bytes", "first_ns", "last_ns", "output_bytes"))
    return {**row, **figures, **more}


@pytest.mark.parametrize(
    ("name", "function", "operators", "operator"),
    [
        ("MapBatches(f)", "_map_task", ["MapBatches(f)"], "MapBatches(f)"),
        ("MapWorker(Map(f)).submit", "MapWorker(Map(f)).submit", ["Map(f)"], "Map(f)"),
        ("MapWorker(Map(f)).get_location", "MapWorker(Map(f)).get_location", ["Map(f)"], None),
        ("map", "map", SHUFFLED, SHUFFLED[1]),
        ("reduce", "reduce", SHUFFLED, SHUFFLED[1]),
        ("map", "map", ["ReadRange", "Map(f)"], None),
        ("_sample_block", "_sample_block", SORTED, SORTED[1]),
        ("SortShuffleReduce(partitions=4)", "_shuffle_reduce_task", SORTED, SORTED[3]),
        (None, None, SORTED, None),
    ],
)
def test_a_task_has_the_operator_that_it_ran_for(
    name: str | None, function: str | None, operators: list[str], operator: str | None
) -> None:
    assert operator_of({"name": name, "func_name": function}, operators) == operator


def test_groups_of_one_operator_are_added_up() -> None:
    groups = [task("map", "map", time_ns=30, at_once=3), task("reduce", "reduce", output_bytes=5)]
    found = tasks_by_operator([*groups, task("other")], SHUFFLED)[SHUFFLED[1]]
    assert (found["states"], found["time_ns"], found["at_once"], found["output_bytes"]) == (
        {"FINISHED": 4},
        40,
        3,
        5,
    )
    assert lanes([{**one, "running": [1.0, 0.5]} for one in groups], SHUFFLED) == {SHUFFLED[1]: [2.0, 1.0]}


def test_the_slowest_operator_sets_the_pace_at_any_concurrency() -> None:
    wide, narrow = task("wide", time_ns=400, at_once=8), task("narrow", time_ns=100, at_once=1)
    assert bottleneck({"wide": wide, "narrow": narrow}) == "narrow"
    assert bottleneck({"one": narrow, "other": narrow}) is None
    assert bottleneck({"alone": narrow}) is None
    cold = task("cold", time_ns=900, steady_ns=50)
    assert bottleneck({"cold": cold, "narrow": narrow}) == "narrow"


def test_a_hostile_answer_makes_no_more_than_a_poor_row() -> None:
    row = {"dataset": "d", "state": None, "progress": "9", "total": 2.5, "start_time": "now", "end_time": -1}
    operators = [{"operator": "Map_3", "queued_blocks": []}, {"name": "nameless"}, "text", None]
    dataset, operator = _dataset({**row, "operators": operators}, "01000000", 7)
    assert dataset.observed == {}
    assert (operator.id, operator.fields["name"], operator.fields["position"]) == ("d/Map_3", "Map_3", 3)
    assert _dataset({"dataset": "e"}, "01000000", 7)[0].fields == {"name": "e", "job_id": "01000000"}


def test_changes_are_passed_on_with_their_time_and_removals_once() -> None:
    states = _States(Library(("", ""), lambda *_: [], removed_states={"dataset": "FAILED"}))

    def changes(*entities: tuple[str, str], now_ns: int) -> list[tuple[str, Any, list[tuple[int, str]]]]:
        rows = [Entity("dataset", name, {}, {}, now_ns, {"state": state}) for name, state in entities]
        found = states.changed(rows, now_ns)
        states.commit()
        return [(one.id, one.observed["state"], sorted(one.transitions)) for one in found]

    assert changes(("a", "RUNNING"), ("b", "RUNNING"), now_ns=1) == [
        ("a", "RUNNING", [(1, "RUNNING")]),
        ("b", "RUNNING", [(1, "RUNNING")]),
    ]
    assert changes(("a", "RUNNING"), ("b", "FINISHED"), now_ns=2) == [("b", "FINISHED", [(2, "FINISHED")])]
    assert changes(("b", "FINISHED"), now_ns=3) == [("a", "FAILED", [(3, "FAILED")])]
    assert changes(("b", "FINISHED"), now_ns=4) == []
