"""Comparisons over the API, of jobs whose numbers are known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import JOB, MS, SESSION, Story
from tests.waiting import wait_until

from rayscope.model import Entity
from rayscope.storage.about import Label

OTHER = "02000000"
PREFIX = "f" * 40


def job(story: Story, job: str, load_ms: float, name: str = "load", since: float = 0, **fields: Any) -> None:
    """A job that loads twice, one after the other, and then takes 40 ms to sum."""
    driver, worker = f"{PREFIX}{job}", f"{job:0>56}"
    reached = since + 10.0
    for _ in range(2):
        size = round(load_ms * 1000)
        task = story.task(
            name, reached, reached + 5, reached + 5 + load_ms, parent=driver, job=job, worker=worker
        )
        story.get(driver, task, reached, reached + 6 + load_ms)
        reached += 6 + load_ms
        story.fetched(
            task,
            story.task("source", since, since + 1, since + 2, parent=driver, job=job, worker=worker),
            size,
            reached,
        )
    task = story.task("sum", reached, reached + 5, reached + 45, parent=driver, job=job, worker=worker)
    story.get(driver, task, reached, reached + 46)
    story.entity("job", job, since, reached + 50, **fields)


@pytest.fixture
def answer(fresh: Running) -> Any:
    """A job, and another that loads 1.5 times as long, with another command."""
    story = Story()
    job(story, JOB, 100, entrypoint="python train.py --rows 10")
    job(story, OTHER, 150, entrypoint="python train.py --rows 15")
    fresh.record(story)
    return fresh.get("/api/v1/compare", a=f"{SESSION}/{JOB}", b=f"{SESSION}/{OTHER}")


def test_the_waterfall_explains_the_whole_difference(answer: Any) -> None:
    a, b = (answer[side]["shown"] for side in "ab")
    assert (a["name"], b["name"]) == ("train.py --rows 10", "train.py --rows 15")
    parts = answer["waterfall"]
    assert sum(part["change_ns"] for part in parts) == b["duration_ns"] - a["duration_ns"]
    first = parts[0]
    assert (first["phase"], first["function"]) == ("executing", "load")
    assert first["change_ns"] == pytest.approx(100 * MS, abs=MS)


def test_a_single_run_gets_no_verdict_but_its_figures(answer: Any) -> None:
    assert answer["duration"]["verdict"] == "cannot_tell"
    assert answer["duration"]["p"] is None
    load = next(one for one in answer["functions"] if one["name"] == "load")
    assert (load["verdict"], load["ratio"], load["p"]) == ("cannot_tell", pytest.approx(1.5, rel=0.01), None)
    assert (load["a"]["attempts"], load["b"]["attempts"]) == (2, 2)
    assert load["b"]["input_bytes"] == 150_000
    assert load["change_ns"] == load["b"]["total_ns"] - load["a"]["total_ns"]


def test_what_else_differs_is_listed(answer: Any) -> None:
    assert answer["differences"] == [
        {
            "what": "entrypoint",
            "a": ["python train.py --rows 10"],
            "b": ["python train.py --rows 15"],
            "same_chars": len("python train.py --rows "),
        }
    ]


def test_plans_of_ray_data_and_placement_groups_are_compared(fresh: Running) -> None:
    story = Story()
    for number, (name, operators) in enumerate(
        {JOB: ["Read", "Map(f)"], OTHER: ["Read", "Filter(g)"]}.items()
    ):
        job(story, name, 100)
        dataset = f"dataset_{number}"
        story.batch.entities.append(Entity("dataset", dataset, {"job_id": name, "start_ns": number}))
        for position, operator in reversed(list(enumerate(operators))):
            fields = {"dataset_id": dataset, "job_id": name, "name": operator, "position": position}
            story.batch.entities.append(Entity("dataset_operator", f"{dataset}/{position}", fields))
    bundles = json.dumps(
        [{"index": 0, "resources": {"GPU": 1.0, "CPU": 2.0}}, {"index": 1, "resources": {"CPU": 1.0}}]
    )
    for number in range(2):
        fields = {"job_id": OTHER, "strategy": "PACK", "created_ns": number, "bundles": bundles}
        story.batch.entities.append(Entity("placement_group", f"{number:036}", fields))
    story.batch.entities.append(Entity("placement_group", "f" * 36, {"job_id": OTHER, "strategy": "SPREAD"}))
    fresh.record(story)
    answer = fresh.get("/api/v1/compare", a=f"/{JOB}", b=f"/{OTHER}")
    assert {one["what"]: (one["a"], one["b"]) for one in answer["differences"]} == {
        "data_plan": (["1 x Read → Map(f)"], ["1 x Read → Filter(g)"]),
        "placement_groups": (
            None,
            [
                "2 x PACK: CPU 2, GPU 1 + CPU 1; "
                "1 x SPREAD: bundles unknown, because only events were recorded"
            ],
        ),
    }


def test_a_renamed_function_is_compared_with_its_former_self(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100)
    job(story, OTHER, 120, name="load_all")
    fresh.record(story)
    functions = fresh.get("/api/v1/compare", a=f"/{JOB}", b=f"/{OTHER}")["functions"]
    renamed = {one["name"]: one["renamed_from"] for one in functions}
    assert renamed == {"load_all": "load", "source": None, "sum": None}


def test_what_makes_the_records_incomparable_is_said(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100)
    story.task("load", 0, 10, parent=f"{PREFIX}{OTHER}", job=OTHER)
    fresh.record(story)
    warnings = {
        one["code"]: (one["a"], one["b"])
        for one in fresh.get("/api/v1/compare", a=f"/{JOB}", b=f"/{OTHER}")["warnings"]
    }
    assert warnings["state"] == (["ended"], ["running"])
    assert warnings["tracer"] == (["on"], ["off"])


@pytest.mark.parametrize("runs", [",", ",".join(["/"] * 21)])
def test_a_side_has_a_limited_number_of_runs(fresh: Running, runs: str) -> None:
    error = fresh.error(fresh.client.get("/api/v1/compare", params={"a": "/", "b": runs}), 400)
    assert "1 to 20 runs" in error["message"]


def test_a_run_counts_once_and_is_on_one_side(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100)
    job(story, OTHER, 150)
    fresh.record(story)
    answer = fresh.get("/api/v1/compare", a=f"/{JOB},{SESSION}/{JOB}", b=f"/{OTHER}")
    assert len(answer["a"]["runs"]) == 1
    params = {"a": f"/{JOB},/{OTHER}", "b": f"/{OTHER}"}
    error = fresh.error(fresh.client.get("/api/v1/compare", params=params), 400)
    assert f"{SESSION}/{OTHER} is on both sides." in error["message"]


def test_a_baseline_is_taken_before_earlier_runs_and_a_run_left_out_is_not(fresh: Running) -> None:
    story = Story()
    for number in range(4):
        job(story, f"{number + 1:08x}", 100, since=10_000 * number, entrypoint="python train.py")
    fresh.record(story)
    wait_until(lambda: fresh.get("/api/v1/runs")["total"] == 4, "summaries")
    operator = {"X-Rayscope-Operator": (fresh.folder / "operator").read_text().strip()}

    def compared() -> list[str]:
        answer = fresh.get("/api/v1/compare", b=f"{SESSION}/00000004")
        return [run["job_id"] for run in answer["a"]["runs"]]

    def mark(job_id: str, **marks: bool) -> None:
        path = f"/api/v1/runs/{SESSION}/{job_id}"
        assert fresh.client.put(path, json=marks, headers=operator).status_code == 200

    assert compared() == ["00000003", "00000002", "00000001"]
    mark("00000002", left_out=True)
    assert compared() == ["00000003", "00000001"]
    mark("00000001", baseline=True)
    assert compared() == ["00000001"]


def test_a_function_in_some_runs_has_averages_over_all_of_them(fresh: Running) -> None:
    story = Story()
    for number in range(3):
        job(story, f"{number + 1:02}000000", 100, name="load" if number == 0 else "read")
    fresh.record(story)
    functions = fresh.get("/api/v1/compare", a="/01000000,/02000000", b="/03000000")["functions"]
    load = next(one for one in functions if one["name"] == "load")
    assert (load["a"]["runs"], load["a"]["attempts"]) == (1, 1)
    assert load["a"]["total_ns"] == pytest.approx(100 * MS, rel=0.01)
    assert load["a"]["mean_ns"] == pytest.approx(100 * MS, rel=0.01)


def test_warm_up_runs_are_left_out_and_named(fresh: Running) -> None:
    story = Story()
    for number in range(4):  # the first run of each side is slow
        job(story, f"0{number + 1}000000", 100 if number % 2 else 300, since=10_000 * number)
    fresh.record(story)
    sides = {"a": "/02000000,/01000000", "b": "/03000000,/04000000"}
    answer = fresh.get("/api/v1/compare", **sides, skip_first=1)
    assert [[run["job_id"] for run in answer[side]["left_out"]] for side in "ab"] == [
        ["01000000"],
        ["03000000"],
    ]
    assert [[run["job_id"] for run in answer[side]["runs"]] for side in "ab"] == [["02000000"], ["04000000"]]
    assert answer["duration"]["ratio"] == pytest.approx(1)
    assert all(one["a"]["runs"] == one["b"]["runs"] == 1 for one in answer["functions"])
    whole = fresh.get("/api/v1/compare", **sides)
    assert whole["a"]["left_out"] == []
    error = fresh.error(fresh.client.get("/api/v1/compare", params={**sides, "skip_first": 2}), 400)
    assert error["message"] == "No run of a side is left without its first 2."


def test_functions_are_compared_by_call_path(fresh: Running) -> None:
    story = Story()
    for number, name in enumerate((JOB, OTHER)):
        driver = f"{PREFIX}{name}"
        outer = story.task("prepare", 0, 10, 500, parent=driver, job=name)
        story.task("load", 20, 30, 60, parent=outer, job=name)
        story.task("load", 100, 110, 150 + 60 * number, parent=driver, job=name)
        story.entity("job", name, 0, 600)
    fresh.record(story)
    sides = {"a": f"/{JOB}", "b": f"/{OTHER}"}
    by_path = fresh.get("/api/v1/compare", **sides, functions_by="path")["functions"]
    figures = {one["name"]: (one["a"]["total_ns"], one["b"]["total_ns"]) for one in by_path}
    assert figures == {
        "load": (40 * MS, 100 * MS),
        "prepare": (490 * MS, 490 * MS),
        "prepare › load": (30 * MS, 30 * MS),
    }
    by_name = {one["name"]: one for one in fresh.get("/api/v1/compare", **sides)["functions"]}
    for number, side in enumerate("ab"):
        loads = sum(pair[number] for path, pair in figures.items() if path.endswith("load"))
        assert by_name["load"][side]["total_ns"] == loads


def test_long_call_paths_are_cut(fresh: Running) -> None:
    story = Story()
    for name in (JOB, OTHER):
        parent = f"{PREFIX}{name}"
        for number in range(20):
            parent = story.task("step", number, number + 1, 500, parent=parent, job=name)
        story.entity("job", name, 0, 600)
    fresh.record(story)
    answer = fresh.get("/api/v1/compare", a=f"/{JOB}", b=f"/{OTHER}", functions_by="path")
    attempts = {one["name"]: one["a"]["attempts"] for one in answer["functions"]}
    assert attempts == {" › ".join(["step"] * depth): 1 for depth in range(1, 17)} | {"… › step": 4}


def test_call_paths_without_callers_are_unknown(fresh: Running) -> None:
    story = Story()
    for name in (JOB, OTHER):
        story.task("load", 0, 10, 50, parent="a" * 40 + name, job=name)
    fresh.record(story)
    params = {"a": f"/{JOB}", "b": f"/{OTHER}", "functions_by": "path"}
    error = fresh.error(fresh.client.get("/api/v1/compare", params=params), 404)
    assert "call paths" in error["message"]
    assert "are unknown, because" in error["message"]


def test_an_unknown_job_is_named(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100)
    fresh.record(story)
    error = fresh.error(fresh.client.get("/api/v1/compare", params={"b": "/0f000000"}), 404)
    assert "0f000000" in error["message"]


def test_a_tag_stands_for_its_sessions(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100)
    job(story, OTHER, 90)
    fresh.record(story)
    assert fresh.server.services is not None
    fresh.server.services.catalog.set_label(SESSION, Label(tags=("main",)))
    answer = fresh.get("/api/v1/compare", a="tag:main", b=f"/{OTHER}")
    assert [(run["session"], run["job_id"]) for run in answer["a"]["runs"]] == [(SESSION, JOB)]
    error = fresh.error(fresh.client.get("/api/v1/compare", params={"a": "tag:other", "b": "/"}), 404)
    assert "'other'" in error["message"]
