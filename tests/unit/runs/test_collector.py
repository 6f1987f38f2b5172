"""The metric of slow runs belongs to the session of the newest run of a script."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.running import Running
from tests.story import SESSION
from tests.unit.runs.test_api import record, runs_of, soon  # noqa: F401 - a fixture

from rayscope.model.metric import Sample
from rayscope.runs.collector import RunCollector


def samples(running: Running, session: str) -> list[tuple[dict[str, str], float]]:
    assert running.server.services is not None
    cluster: Any = SimpleNamespace(session=session)
    found = RunCollector(running.server.services.runs).collect(cluster)
    return [(dict(one.labels), one.value) for one in found if isinstance(one, Sample)]


@pytest.mark.parametrize(("last", "ratio"), [(150.0, 0.5), (100.0, 0.0), (50.0, 0.0)])
def test_the_newest_run_of_a_script_has_a_sample(fresh: Running, last: float, ratio: float) -> None:
    record(fresh, [100, 101, 99, 100, 100, last])
    runs_of(fresh, 6)
    ((labels, value),) = samples(fresh, SESSION)
    assert (labels["script"], labels["job_id"]) == ("train.py", "00000006")
    assert value == pytest.approx(ratio, abs=0.02)
    assert samples(fresh, "session_other") == []


def test_a_run_whose_verdict_is_unknown_has_none(fresh: Running) -> None:
    record(fresh, [100, 200])
    runs_of(fresh, 2)
    assert samples(fresh, SESSION) == []
