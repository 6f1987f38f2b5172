"""The slow lines over the API, of samples whose numbers are known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.stacks import INNER, NUMPY, OUTER, Stacks, add
from tests.story import JOB, Story, at

from rayscope.model import Entity, Span

W, OFF = "b" * 56, "c" * 56


@pytest.fixture
def story() -> Story:
    """`fit` has 100 samples in two reports, `short` has 7, and `off` ran where sampling was off."""
    story = Story()
    stacks = Stacks()
    fit = story.task("fit", 0, 10, 95, worker=W)
    inner, solve = stacks.number(OUTER, INNER), stacks.number(OUTER, INNER, NUMPY)
    twice = stacks.number(OUTER, INNER, INNER)
    add(story, fit, 10, ("executing", False, 20, inner), ("executing", True, 30, solve))
    add(story, fit, 20, ("executing", False, 30, inner), ("ray.get", False, 10, stacks.number(OUTER)))
    add(story, fit, 30, ("ray", False, 5, 0), ("executing", False, 5, twice), hz=2.0)
    short = story.task("short", 0, 10, 30, worker=W)
    add(story, short, 10, ("awaiting", False, 7, inner))
    story.task("off", 0, 10, 30, worker=OFF)
    stacks.add_to(story)
    for worker, tracer in ((W, "on"), (OFF, "on, without samples")):
        story.batch.entities.append(Entity("worker", worker, {"tracer": tracer}))
    return story


def get_lines(running: Running, **filters: Any) -> Any:
    return running.get("/api/v1/lines", **filters)


def test_lines_phases_and_frames_add_up(fresh: Running, story: Story) -> None:
    fresh.record(story)
    found = get_lines(fresh, func_name="fit")
    assert (found["samples"], found["attempts"], found["hz"], found["is_enough"]) == (
        100,
        1,
        [1.0, 2.0],
        True,
    )
    assert (found["first_ns"], found["last_ns"]) == (at(10), at(40))
    assert found["missing"] is None
    lines = {
        (line["file"], line["line"], line["function"]): (
            line["self_samples"],
            line["native_samples"],
            line["total_samples"],
        )
        for line in found["lines"]
    }
    assert lines == {
        ("train.py", 20, "step"): (55, 0, 85),  # a recursion counts once
        ("numpy/linalg.py", 5, "solve"): (30, 30, 30),
        ("train.py", 10, "main"): (10, 0, 95),
    }
    assert (found["lines_total"], found["self_lines_total"]) == (3, 3)
    assert found["lines"][0]["self_share"] == 0.55
    assert found["lines"][0]["self_points"] == pytest.approx(9.6, abs=0.1)  # 1.96 * sqrt(0.55 * 0.45 / 100)
    assert [(each["phase"], each["samples"], each["native_samples"]) for each in found["phases"]] == [
        ("executing", 85, 30),
        ("ray.get", 10, 0),
        ("ray", 5, 0),
    ]
    assert [(f["depth"], f["function"], f["own"], f["value"], f["native"]) for f in found["frames"]] == [
        (0, "main", 10, 95, 30),
        (1, "step", 50, 85, 30),
        (2, "solve", 30, 30, 30),
        (2, "step", 5, 5, 0),
    ]
    parents = {frame["id"]: frame["parent"] for frame in found["frames"]}
    assert all(parent is None or parent in parents for parent in parents.values())


def test_the_text_of_a_line_unless_it_changed(fresh: Running, story: Story) -> None:
    lines = [["train.py:20 step", "loss.backward()"], ["train.py:10 main", "step()"]]
    for entries in (lines, lines[:1], [["train.py:10 main", "epoch()"]]):
        extra = json.dumps({"lines": entries}, separators=(",", ":"))
        story.batch.spans.append(Span("", 0, "rayscope.lines", at(1), at(2), extra))
    fresh.record(story)
    source = {line["function"]: line["source"] for line in get_lines(fresh, func_name="fit")["lines"]}
    assert source == {"step": "loss.backward()", "main": None, "solve": None}


def test_a_task_an_attempt_a_job_and_a_range(fresh: Running, story: Story) -> None:
    fresh.record(story)
    (fit,) = fresh.get("/api/v1/tasks", func_name="fit")["items"]
    assert get_lines(fresh, task_id=fit["task_id"])["samples"] == 100
    assert get_lines(fresh, task_id=fit["task_id"], attempt=1)["samples"] == 0
    assert get_lines(fresh, job_id=JOB)["samples"] == 107
    assert get_lines(fresh, since_ns=at(31), until_ns=at(50), func_name="fit")["samples"] == 10
    # Samples are no spans of a task.
    assert fresh.get(f"/api/v1/tasks/{fit['task_id']}")["spans_total"] == 0


@pytest.mark.parametrize(
    ("func_name", "samples", "code"),
    [("short", 7, "few_samples"), ("off", 0, "samples_off"), ("nothing", 0, "no_samples")],
)
def test_why_nothing_is_claimed(
    fresh: Running, story: Story, func_name: str, samples: int, code: str
) -> None:
    fresh.record(story)
    found = get_lines(fresh, func_name=func_name)
    assert (found["samples"], found["is_enough"], found["missing"]["code"]) == (samples, False, code)
    assert all(line["self_share"] is line["total_points"] is None for line in found["lines"])
    assert [line["self_samples"] for line in found["lines"]] == ([7, 0] if samples else [])
    assert found["self_lines_total"] == (1 if samples else 0)


def test_frames_that_were_lost_are_unknown(fresh: Running) -> None:
    story = Story()
    add(story, story.task("fit", 0, 10, 95), 10, ("executing", False, 30, 12345))
    fresh.record(story)
    found = get_lines(fresh)
    assert (found["samples"], found["lines"], found["lines_total"]) == (30, [], 0)
    assert [(frame["kind"], frame["own"]) for frame in found["frames"]] == [("unknown", 30)]


def test_only_the_frames_of_the_stacks_are_read(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story, stacks = Story(), Stacks()
    others = [stacks.number(OUTER, f"other.py:{line} f") for line in range(100)]
    add(story, story.task("other", 0, 10, 95), 10, *(("executing", False, 1, other) for other in others))
    inner = stacks.number(OUTER, INNER)
    add(story, story.task("fit", 0, 10, 95), 10, ("executing", False, 30, inner))
    stacks.add_to(story)
    fresh.record(story)
    monkeypatch.setattr("rayscope.views.lines.sql.MAX_FRAMES", 2)
    assert [frame["function"] for frame in get_lines(fresh, func_name="fit")["frames"]] == ["main", "step"]


def test_the_views_of_sql(fresh: Running, story: Story) -> None:
    fresh.record(story)
    sql = (
        "SELECT file, line, function, sum(samples)::BIGINT FROM samples JOIN sample_frames USING (frame_id) "
        "JOIN tasks USING (task_id, attempt) WHERE func_name = 'fit' AND phase = 'executing' GROUP BY ALL "
        "ORDER BY 4 DESC"
    )
    answer = fresh.client.post("/api/v1/sql", json={"sql": sql}).json()
    assert answer["rows"] == [["train.py", 20, "step", 55], ["numpy/linalg.py", 5, "solve", 30]]


def test_samples_that_nobody_validated_break_nothing(fresh: Running, story: Story) -> None:
    fit = story.task("fit", 0, 10, 95, worker=W)
    number = 77
    for name, extra in (
        (
            "rayscope.samples",
            '{"hz":1,"samples":[[0],[99,0,5,1],[0,0,-5,1],[0,0,9000000000000000000,1],["x"]]}',
        ),
        ("rayscope.frames", '{"frames":[["x"],["a","b","c"],[1,2],5]}'),
        ("rayscope.samples", f'{{"hz":1.0,"samples":[[0,0,3,{number}]]}}'),
        ("rayscope.frames", f'{{"frames":[[{number},{number},"a.py:1 f"]]}}'),
    ):
        story.batch.spans.append(Span(fit, 0, name, at(12), at(13), extra))
    fresh.record(story)
    found = get_lines(fresh, func_name="fit")
    assert found["samples"] == sum(phase["samples"] for phase in found["phases"]) == 103
    # A frame that calls itself counts once, without a parent.
    itself = next(frame for frame in found["frames"] if frame["id"] == str(number))
    assert (itself["parent"], itself["value"], itself["own"]) == (None, 3, 3)
    for table in ("samples", "sample_frames"):
        assert "rows" in fresh.client.post("/api/v1/sql", json={"sql": f"FROM {table}"}).json()


def test_samples_are_no_spans_and_their_lack_is_no_defect(fresh: Running, story: Story) -> None:
    fresh.record(story)
    sql = "SELECT count(*) FROM spans WHERE name LIKE 'rayscope.%'"
    assert fresh.client.post("/api/v1/sql", json={"sql": sql}).json()["rows"] == [[0]]
    assert fresh.get("/api/v1/recording")["tracing"]["said"] == []
