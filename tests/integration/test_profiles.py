"""Profiles of the workers of a live cluster, by py-spy and memray through Ray's agent."""

from __future__ import annotations

import os
import shutil
import signal
from typing import Any

import pytest
from tests.live import JOB, Live
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]


def _start(live: Live, body: Any = None, **filters: str) -> Any:
    assert live.server.services is not None
    answer = live.client.post(
        "/api/v1/profiles",
        params={"session": live.session, **filters},
        json={"seconds": 3, **(body or {})},
        headers={"X-Rayscope-Operator": live.server.services.secrets.operator_token},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["profile"]


def _finished(live: Live, profile_id: str) -> Any:
    def look() -> Any:
        items = live.client.get("/api/v1/profiles", params={"session": live.session}).json()["items"]
        (item,) = [item for item in items if item["profile_id"] == profile_id]
        return None if item["is_running"] else item

    return wait_until(look, "the profile")


def test_the_hot_line_of_a_function_and_a_worker_that_is_gone(live: Live) -> None:
    rows = live.client.get("/api/v1/tasks", params={"session": live.session, "func_name": "busy"}).json()
    gone, kept = rows["items"]
    os.kill(gone["worker_pid"], signal.SIGKILL)
    taken = _finished(live, _start(live, func_name="busy")["profile_id"])
    workers = {worker["worker_id"]: worker for worker in taken["workers"]}
    assert workers.keys() == {gone["worker_id"], kept["worker_id"]}
    ended, profiled = workers[gone["worker_id"]], workers[kept["worker_id"]]
    assert ended["problem"]["code"] == "profile_gone"
    assert (profiled["tool"], profiled["problem"]) == ("py-spy", None)
    assert 0 < profiled["taken"] <= profiled["expected"] == 300
    answer = live.client.get(
        "/api/v1/lines",
        params={"session": live.session, "profile": taken["profile_id"], "worker_id": kept["worker_id"]},
    ).json()
    assert (answer["samples"], answer["attempts"], answer["hz"]) == (profiled["samples"], 1, [100.0])
    assert answer["samples"] == profiled["taken"]  # the main thread was in user code all the time
    assert _hottest(answer) == HOTTEST


def test_without_py_spy_the_workers_take_the_samples_themselves(live: Live) -> None:
    target = live.py_spy.readlink()
    live.py_spy.unlink()
    try:
        taken = _finished(live, _start(live, func_name="busy")["profile_id"])
    finally:
        live.py_spy.symlink_to(target)
    (worker,) = [worker for worker in taken["workers"] if worker["samples"]]
    assert (worker["tool"], worker["hz"]) == ("tracer", 100.0)
    assert worker["problem"]["code"] == "no_py_spy"
    answer = live.client.get(
        "/api/v1/lines", params={"session": live.session, "profile": taken["profile_id"]}
    ).json()
    # The usual rate would yield three samples.
    assert 50 <= answer["samples"] == worker["samples"] <= 310
    assert _hottest(answer) == HOTTEST


def test_a_driver_is_profiled_by_its_tracer(live: Live) -> None:
    workers = live.client.get("/api/v1/workers", params={"session": live.session}).json()["items"]
    (driver,) = [worker["worker_id"] for worker in workers if worker["worker_type"] == "DRIVER"]
    taken = _finished(live, _start(live, worker_id=driver)["profile_id"])
    (worker,) = taken["workers"]
    assert (worker["worker_id"], worker["tool"], worker["problem"]) == (driver, "tracer", None)
    answer = live.client.get(
        "/api/v1/lines", params={"session": live.session, "profile": taken["profile_id"]}
    ).json()
    assert answer["samples"] == worker["samples"] >= 20
    line = answer["lines"][0]
    assert (JOB.splitlines()[line["line"] - 1], line["source"]) == ("ray.get(sleepers)", "ray.get(sleepers)")
    assert answer["phases"][0]["phase"] == "ray.get"


HOTTEST = {"time.sleep(0.05)", "return sum(number * number for number in range(100_000))"}


def _hottest(answer: Any) -> set[str]:
    """The two hottest lines of the job's script."""
    own = {
        JOB.splitlines()[line["line"] - 1].strip(): line["self_samples"]
        for line in answer["lines"]
        if line["file"].endswith("job.py") and line["self_samples"]
    }
    return set(sorted(own, key=lambda text: -own[text])[:2])


@pytest.mark.parametrize("memory", ["peak", "leaks"])
def test_the_lines_that_hold_memory(live: Live, memory: str) -> None:
    """A task keeps the last 50 MB that it allocated, and frees 20 MB at once, which count at the peak."""
    assert shutil.which("gdb") or shutil.which("lldb"), "both are missing: run `make system`"
    taken = _finished(live, _start(live, {"memory": memory}, func_name="holder")["profile_id"])
    (worker,) = taken["workers"]
    assert (worker["tool"], worker["problem"]) == ("memray", None)
    held = live.client.get(
        "/api/v1/memory-lines", params={"session": live.session, "profile": taken["profile_id"]}
    ).json()
    megabytes = {
        JOB.splitlines()[line["line"] - 1].strip(): (
            line["self_bytes"] / 2**20,
            line["total_bytes"] / 2**20,
        )
        for line in held["lines"]
        if line["file"].endswith("job.py")
    }
    _, kept = megabytes["kept.append(filled(10))"]
    own, _ = megabytes["return bytearray(megabytes << 20)"]
    if memory == "peak":
        assert kept == pytest.approx(50, rel=0.02)
        assert own == pytest.approx(70, rel=0.02)
        assert megabytes["filled(20)"][1] == pytest.approx(20, rel=0.02)
    else:  # the end may be where a new part is not yet in place of the oldest, or before 20 MB are freed
        assert kept in (pytest.approx(50, rel=0.02), pytest.approx(60, rel=0.02))
        assert own <= 71
    assert held["bytes"] <= worker["held_bytes"]
