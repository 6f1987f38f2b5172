"""Sums that detectors share."""

from __future__ import annotations

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story

from rayscope.insights.finding import Facts
from rayscope.insights.replay.read import read


@pytest.mark.parametrize(("is_blocked", "own_ms"), [(True, 98), (False, 1988)])
def test_an_attempt_that_was_cut_off_in_a_wait_executed_before_it(
    fresh: Running, is_blocked: bool, own_ms: float
) -> None:
    story = Story()
    caller = story.task("process", 0, 2, worker="f" * 56)
    if is_blocked:
        story.blocks(caller, story.task("last", 8, 1000, parent=caller, worker="d" * 56), 100)
    story.get(DRIVER, caller, 5, 2000)
    story.entity("worker", "f" * 56, 0, 1990, job_id=JOB)
    story.entity("job", JOB, 0, 2000)
    fresh.record(story)
    assert fresh.server.services is not None
    records = fresh.server.services.records
    facts = Facts(records.read(records.resolve(None), lambda file: read(file, JOB)))
    assert facts.own_ns[facts.rows_of_function["process"]].tolist() == [own_ms * MS]
