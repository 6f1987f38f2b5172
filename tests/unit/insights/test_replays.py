"""Answers about jobs that are too large to be replayed while a client waits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.running import Running
from tests.story import JOB, SESSION
from tests.unit.insights.test_api import fan_out, faster, post_whatif
from tests.waiting import TIMEOUT_S

from rayscope.insights import gains


@pytest.fixture
def large(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """A job of more attempts than are replayed unasked."""
    fresh.record(fan_out(60))
    monkeypatch.setattr(gains, "MAX_ATTEMPTS", 50)
    return fresh


def progress(running: Running) -> float | None:
    share: float | None = running.get("/api/v1/insights/progress", job_id=JOB)["share"]
    return share


def test_a_large_job_is_replayed_for_who_asks_for_it(large: Running) -> None:
    soon = large.get("/api/v1/insights")
    assert soon["withheld"]["code"] == "takes_long"
    assert "60 attempts" in soon["withheld"]["message"]
    assert (soon["functions"], soon["calibration"]["error"]) == ([], None)
    assert soon["causes"]
    assert soon["verdict"]
    assert progress(large) is None
    late = large.get("/api/v1/insights", long=True)
    assert (late["withheld"], late["calibration"]["error"]) == (None, 0.0)
    assert late["functions"][0]["function"] == "work"
    assert post_whatif(large, faster("work", 2))["speedup"] > 1.5


def test_long_answers_are_computed_one_at_a_time_and_report_progress(large: Running) -> None:
    assert large.server.services is not None
    answers = large.server.services.replays
    with ThreadPoolExecutor(1) as pool:
        with answers.waiting_turn(SESSION, "another", 2, lambda part: None) as report:
            waiting = pool.submit(large.get, "/api/v1/insights", long=True)
            while progress(large) is None:
                assert not waiting.done()
            report(0.5)
            report(1.0)
            report(0.5)
            assert large.get("/api/v1/insights/progress", job_id="another") == {"share": 0.75}
            assert progress(large) == 0
            assert (
                large.get("/api/v1/insights")["withheld"]["code"] == "takes_long"
            )  # others wait for nothing
            assert not waiting.done()
        assert waiting.result(TIMEOUT_S)["withheld"] is None
    assert progress(large) is None


def test_a_job_of_too_many_attempts_is_not_looked_at(large: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "MAX_READ", 55)
    for long in (False, True):
        found = large.get("/api/v1/insights", long=long)
        assert (found["withheld"]["code"], found["findings"]) == ("too_large", [])
        assert found["causes"]
