"""``rayscope profile``: what it profiles, and how a recorded profile of memory is printed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running import Running
from tests.story import Story, at
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.cli.profile import _filters
from rayscope.model import Entity
from rayscope.ray.events.samples import Frame, Held, frame_spans, memory_spans

_PROFILE = "98e33ef0b23ffe59"


class _Finds:
    """A client that finds a job, and the worker of its driver, whose ID begins with the job's."""

    def find(self, text: str) -> Any:
        job, worker = {"id": "01000000", "name": "job.py"}, {"id": f"01000000{'f' * 48}", "name": None}
        return {"groups": [{"kind": "worker", "items": [worker]}, {"kind": "job", "items": [job]}]}


def test_a_whole_id_comes_before_the_beginning_of_others() -> None:
    client: Any = _Finds()
    assert _filters(client, "01000000") == {"job_id": "01000000"}
    assert _filters(client, "01000000ff") == {"worker_id": f"01000000{'f' * 48}"}
    assert _filters(client, "job.py") == {"job_id": "01000000"}
    assert _filters(client, "fit") == {"func_name": "fit"}


def test_a_profile_of_memory_is_printed(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    times = (at(0), at(10))
    held = [Held(52_428_800, 1, 2), Held(1_500, 30, 1)]
    story.batch.spans += memory_spans(_PROFILE, times, {("", 0): held})
    story.batch.spans += frame_spans(times, [Frame(1, 0, "a.py:10 fit"), Frame(2, 1, "a.py:20 load")])
    known = {"filters": "{}", "memory": "leaks", "begin_ns": at(0), "end_ns": at(10), "workers": "[]"}
    story.batch.entities.append(Entity("profile", _PROFILE, {**known, "workers_left_out": 0}))
    fresh.record(story)
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    printed = CliRunner().invoke(app, ["lines", "--profile", _PROFILE]).output
    assert [line.split() for line in printed.splitlines()] == [
        ["self", "allocations", "total", "line", "function"],
        ["52.4", "MB", "1", "52.4", "MB", "a.py:20", "load"],
        ["1.5", "kB", "30", "52.4", "MB", "a.py:10", "fit"],
        ["52.4", "MB", "in", "31", "allocations", "of", "user", "code"],
    ]
