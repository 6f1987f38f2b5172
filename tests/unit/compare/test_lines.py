"""Comparisons of the lines of a function, over the API, of samples whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running import Running
from tests.stacks import Stacks, add
from tests.story import JOB, SESSION, Story

OTHER = "02000000"
PARSE = "train.py:1 parse"
SCORE = "train.py:2 score"
NEW = "train.py:3 new"
RARE = "train.py:4 rare"


def job(story: Story, stacks: Stacks, job: str, counts: dict[str, int], name: str = "fit") -> None:
    task = story.task(name, 0, 10, 95, parent=f"{'f' * 40}{job}", job=job, worker=f"{job:0>56}")
    numbers = [(stacks.number("train.py:9 fit", text), count) for text, count in counts.items()]
    add(story, task, 10, *(("executing", False, count, number) for number, count in numbers))
    story.entity("job", job, 0, 100)


def compared(fresh: Running, a: dict[str, int], b: dict[str, int], **more: Any) -> Any:
    story, stacks = Story(), Stacks()
    job(story, stacks, JOB, a, more.get("renamed_from", "fit"))
    job(story, stacks, OTHER, b)
    stacks.add_to(story)
    fresh.record(story)
    sides = {"a": f"{SESSION}/{JOB}", "b": f"{SESSION}/{OTHER}"}
    return fresh.get("/api/v1/compare/lines", **sides, function="fit", **more)


def test_lines_whose_share_changed(fresh: Running) -> None:
    answer = compared(fresh, {PARSE: 500, SCORE: 490, RARE: 9}, {PARSE: 800, SCORE: 120, NEW: 70, RARE: 9})
    assert (answer["a_samples"], answer["b_samples"]) == (999, 999)
    items = {item["function"]: item for item in answer["items"]}
    assert [*items] == ["score", "parse", "new"]  # less than 1 % on both sides is left out
    assert {name: item["verdict"] for name, item in items.items()} == {
        "score": "less",
        "parse": "more",
        "new": "more",
    }
    assert (items["new"]["a_share"], items["new"]["b_share"]) == (0, pytest.approx(70 / 999))
    # The half widths of both shares, 3.1 and 2.5 points, as one.
    assert items["parse"]["points"] == pytest.approx(4.0, abs=0.1)


def test_chance_is_no_change(fresh: Running) -> None:
    answer = compared(fresh, {PARSE: 50, SCORE: 50}, {PARSE: 55, SCORE: 45}, renamed_from="old_fit")
    assert [item["verdict"] for item in answer["items"]] == ["cannot_tell", "cannot_tell"]
    assert all(100 * abs(item["b_share"] - item["a_share"]) < item["points"] for item in answer["items"])


def test_few_samples_show_nothing(fresh: Running) -> None:
    answer = compared(fresh, {PARSE: 19}, {PARSE: 100, SCORE: 100})
    assert answer == {"a_samples": 19, "b_samples": 200, "min_samples": 20, "items": []}
