"""Datasets of a record with known datasets: the plan, and what Ray Data warned of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.story import DRIVER, JOB, MS, ORIGIN_NS, Story

from rayscope.model import Entity, Span

DATASET = "dataset_train_1"
OPERATORS = {"Read_0": [], "Read_1": [], "Union_2": ["Read_0", "Read_1"], "Map(f)_3": ["Union_2"]}


def issue(story: Story, when: int, extra: dict[str, Any], name: str = "data_issue") -> None:
    at = ORIGIN_NS + when * MS
    story.batch.spans.append(Span(DRIVER, 0, name, at, at, msgspec.json.encode(extra).decode()))


def operator(name: str, inputs: list[str] | None) -> list[Entity]:
    """An operator as the dashboard reports it, and the tracer if it does."""
    identity = f"{DATASET}/{name}"
    of_ray = {
        "name": name.rpartition("_")[0],
        "dataset_id": DATASET,
        "job_id": JOB,
        "position": int(name[-1]),
    }
    found = [Entity("dataset_operator", identity, of_ray, {}, ORIGIN_NS, {"state": "RUNNING"})]
    if inputs is not None:
        ids = msgspec.json.encode([f"{DATASET}/{one}" for one in inputs]).decode()
        found.append(Entity("dataset_operator", identity, {"dataset_id": DATASET, "inputs": ids}))
    return found


@pytest.fixture
def server(fresh: Any) -> Any:
    story = Story()
    story.batch.entities.append(
        Entity("dataset", DATASET, {"name": "train_1", "job_id": JOB}, {}, ORIGIN_NS, {"state": "RUNNING"})
    )
    for name, inputs in OPERATORS.items():
        story.batch.entities += operator(name, None if name == "Read_1" else inputs)
    hangs = {"place": "Map(f)", "times": 1, "issue": "hanging", "message": "A task hangs."}
    issue(story, 20, hangs | {"dataset": DATASET})
    issue(story, 10, hangs | {"dataset": DATASET, "place": "Read", "issue": "high memory"})
    issue(story, 30, hangs)  # as older versions of Rayscope recorded it
    issue(story, 40, hangs | {"dataset": "dataset_other_2"})
    issue(story, 50, {"user": hangs | {"dataset": DATASET}})  # a span of the user's with this name
    story.batch.spans.append(Span(DRIVER, 0, "data_issue", ORIGIN_NS, ORIGIN_NS, "{"))
    fresh.record(story)
    return fresh


def test_an_operator_has_the_ids_of_its_inputs(server: Any) -> None:
    (item,) = server.get("/api/v1/data")["items"]
    assert [one["operator_id"] for one in item["operators"]] == [f"{DATASET}/{name}" for name in OPERATORS]
    assert [one["inputs"] for one in item["operators"]] == [
        [],
        None,
        [f"{DATASET}/Read_0", f"{DATASET}/Read_1"],
        [f"{DATASET}/Union_2"],
    ]


def test_warnings_of_ray_data_are_shown_with_their_dataset_and_among_the_events(server: Any) -> None:
    found = server.get(f"/api/v1/data/{DATASET}")["warnings"]
    assert [(one["operator"], one["issue"], one["message"]) for one in found] == [
        ("Read", "high memory", "A task hangs."),
        ("Map(f)", "hanging", "A task hangs."),
    ]
    assert [one["time_ns"] for one in found] == [ORIGIN_NS + 10 * MS, ORIGIN_NS + 20 * MS]
    events = server.get("/api/v1/events", kind="dataset")["items"]
    assert [(one["title"], one["id"], one["severity"], one["job_id"]) for one in events] == [
        ("other_2 / Map(f)", "dataset_other_2", "WARNING", JOB),
        ("Map(f)", None, "WARNING", JOB),
        ("train_1 / Map(f)", DATASET, "WARNING", JOB),
        ("train_1 / Read", DATASET, "WARNING", JOB),
    ]
    assert events[2]["message"] == "hanging: A task hangs."


@pytest.mark.parametrize(
    ("planned", "ended", "state"),
    [(True, False, "CUT_OFF"), (True, True, "FINISHED"), (False, False, "FINISHED")],
)
def test_a_dataset_ends_with_its_job(fresh: Any, planned: bool, ended: bool, state: str) -> None:
    """With the tracer, a dataset without a reported end was cut off, whatever Ray reports about the job."""
    end = ORIGIN_NS + 90 * MS
    dataset = Entity(
        "dataset", DATASET, {"name": "train_1", "job_id": JOB}, {}, ORIGIN_NS, {"state": "RUNNING"}
    )
    if ended:
        dataset.transitions[end - MS, "FINISHED"] = {"end_ns": end - MS}
    story = Story()
    job = Entity("job", JOB, {}, {(end, "SUCCEEDED"): {"end_ns": end}})
    story.batch.entities += [dataset, job, *operator("Read_0", [] if planned else None)]
    fresh.record(story)
    (item,) = fresh.get("/api/v1/data")["items"]
    assert (item["state"], item["end_known_by"]) == (state, None if ended else "job")
    assert item["end_ns"] == (end - MS if ended else end)
    if not ended:
        assert [one["state"] for one in item["operators"]] == [state]


def test_the_pace_is_judged_without_the_cold_start_of_workers(fresh: Any) -> None:
    story = Story()
    read, map_ = operator("Read_0", []), operator("Map_1", ["Read_0"])
    dataset = Entity("dataset", DATASET, {"name": "train_1", "job_id": JOB, "start_ns": ORIGIN_NS})
    story.batch.entities += [dataset, *read, *map_]
    for number in range(4):
        story.task("Read", 0, number * 40, number * 40 + (400 if number == 0 else 10))
        story.task("Map", 0, 500 + number * 40, 530 + number * 40)
    for attempt in story.batch.attempts:
        attempt.module_name = "ray.data._internal.execution.operators.map_operator"
    fresh.record(story)
    found = fresh.get(f"/api/v1/data/{DATASET}")
    tasks = {one["name"]: one["tasks"] for one in found["operators"]}
    assert (tasks["Read"]["time_ns"], tasks["Read"]["steady_ns"]) == (430 * MS, 40 * MS)
    assert (tasks["Map"]["time_ns"], tasks["Map"]["steady_ns"]) == (120 * MS, 120 * MS)
    assert found["bottleneck"] == "Map"
