"""Exports of samples of stacks, read as their target programs read them."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.pprof import read_pprof
from tests.running import Running
from tests.stacks import INNER, NUMPY, OUTER, Stacks, add
from tests.story import SESSION, Story

from rayscope.views.export import api
from rayscope.views.export.export import MAX_EXPORTS

ROOT = Path(__file__).parents[4]
ODD = "a;b.py:7 odd; name\n\x1b[0m"
W = "b" * 56


@pytest.fixture
def recorded(fresh: Running) -> Running:
    """`fit` has 100 samples in two reports, `odd` has 3 with an odd name, and 4 of lost frames."""
    story, stacks = Story(), Stacks()
    inner, solve = stacks.number(OUTER, INNER), stacks.number(OUTER, INNER, NUMPY)
    fit = story.task("fit", 0, 10, 95, worker=W)
    add(story, fit, 10, ("executing", False, 20, inner), ("executing", True, 30, solve))
    add(story, fit, 20, ("executing", True, 30, inner), ("ray.get", False, 10, stacks.number(OUTER)))
    add(story, fit, 30, ("ray", False, 10, 0))
    odd = story.task("odd", 0, 10, 95, worker=W)
    add(story, odd, 10, ("executing", False, 3, stacks.number(OUTER, ODD)), ("awaiting", False, 4, 12345))
    stacks.add_to(story)
    fresh.record(story)
    return fresh


def fetch(running: Running, form: str, **params: Any) -> bytes:
    answer = running.client.get("/api/v1/lines/export", params={"format": form, **params})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{SESSION}.')
    return answer.content


#: Samples by stack. The names of lines are those of collapsed stacks.
FIT = {
    ("[executing]", "main (train.py:10)", "step (train.py:20)"): 50,
    ("[executing]", "main (train.py:10)", "step (train.py:20)", "solve (numpy/linalg.py:5)"): 30,
    ("[ray.get]", "main (train.py:10)"): 10,
    ("[ray]",): 10,
}


def read_collapsed(content: bytes) -> dict[tuple[str, ...], int]:
    """Parse stacks as flamegraph.pl does: everything before the last space is the stack."""
    stacks = {}
    for line in content.decode().splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
        assert match, line
        stacks[tuple(match[1].split(";"))] = int(match[2])
    return stacks


def test_collapsed_stacks(recorded: Running) -> None:
    assert read_collapsed(fetch(recorded, "collapsed", func_name="fit")) == FIT
    assert read_collapsed(fetch(recorded, "collapsed", func_name="odd")) == {
        ("[executing]", "main (train.py:10)", "odd: name  [0m (a:b.py:7)"): 3,
        ("[awaiting]", "[unknown]"): 4,
    }
    assert fetch(recorded, "collapsed", func_name="nothing") == b""


def test_speedscope(recorded: Running) -> None:
    file = json.loads(fetch(recorded, "speedscope", func_name="fit"))
    folder = ROOT / "web" / "node_modules" / "speedscope" / "dist" / "release"
    jsonschema.validate(file, json.loads((folder / "file-format-schema.json").read_text()))
    (profile,) = file["profiles"]
    names = [
        f"{frame['name']} ({frame['file']}:{frame['line']})" if "file" in frame else frame["name"]
        for frame in file["shared"]["frames"]
    ]
    stacks = [tuple(names[number] for number in stack) for stack in profile["samples"]]
    assert dict(zip(stacks, profile["weights"], strict=True)) == FIT
    assert profile["endValue"] == 100
    odd = json.loads(fetch(recorded, "speedscope", func_name="odd"))
    assert {"name": "odd; name\n\x1b[0m", "file": "a;b.py", "line": 7} in odd["shared"]["frames"]


def test_pprof(recorded: Running) -> None:
    profile = read_pprof(gzip.decompress(fetch(recorded, "pprof", func_name="fit")))
    assert profile.types == [("samples", "count"), ("native", "count")]
    assert (profile.period, profile.period_type) == (10**9, ("wall", "nanoseconds"))
    assert profile.comments[0] == f"Ray {SESSION}"
    assert {stack: values[0] for stack, values in profile.stacks.items()} == FIT
    assert sum(values[1] for values in profile.stacks.values()) == 60


def test_the_counts_are_those_of_the_lines(recorded: Running) -> None:
    for filters in (
        {},
        {"func_name": "fit"},
        {"task_id": recorded.get("/api/v1/tasks")["items"][0]["task_id"]},
    ):
        answer = recorded.get("/api/v1/lines", **filters)
        own: Counter[str] = Counter()
        phases: Counter[str] = Counter()
        for stack, samples in read_collapsed(fetch(recorded, "collapsed", **filters)).items():
            phases[stack[0]] += samples
            own[stack[-1]] += samples
        assert phases.total() == answer["samples"] > 0
        assert phases == {f"[{phase['phase']}]": phase["samples"] for phase in answer["phases"]}
        for line in answer["lines"]:
            if line["function"] in ("step", "solve"):
                assert own[f"{line['function']} ({line['file']}:{line['line']})"] == line["self_samples"]


def test_the_smallest_stacks_of_a_large_file_become_one(
    recorded: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayscope.views.export.lines.MAX_BYTES", 60)
    assert read_collapsed(fetch(recorded, "collapsed", func_name="fit")) == {
        ("[executing]", "main (train.py:10)", "step (train.py:20)"): 50,
        ("[left out]",): 50,
    }


def test_exports_share_a_limit_of_how_many_run_at_once(recorded: Running) -> None:
    with contextlib.ExitStack() as running:
        for _ in range(MAX_EXPORTS):
            running.enter_context(api._SLOTS.take())
        answer = recorded.client.get("/api/v1/lines/export", params={"format": "pprof"})
        assert recorded.error(answer, 503)["code"] == "busy"
    assert fetch(recorded, "pprof")


def test_an_unknown_format_is_refused(recorded: Running) -> None:
    answer = recorded.client.get("/api/v1/lines/export", params={"format": "svg"})
    assert answer.status_code == 422
