"""The poller's pace, outages, restarts and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from ray.core.generated import gcs_pb2, gcs_service_pb2
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.model import RecordBatch
from rayscope.ray.gcs import poller as module
from rayscope.ray.gcs.client import ClusterInfo, GcsError, Table
from rayscope.ray.gcs.poller import Poller


class Clock:
    """The poller's time, which passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return int(self.now_s * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


class FakeGcs:
    """One node, one task, and trouble on demand."""

    address = "fake:1"

    def __init__(self) -> None:
        self.session = "session_a"
        self.down = False
        self.task_polls = 0
        self.during_call: Callable[[], object] = lambda: None

    def _check(self) -> None:
        if self.down:
            raise GcsError("down.", "wait.", "unreachable")

    def cluster_info(self) -> ClusterInfo:
        self._check()
        return ClusterInfo(self.session, self.address)

    def session_name(self) -> str:
        self._check()
        return self.session

    def nodes(self) -> list[Any]:
        self._check()
        return [gcs_pb2.GcsNodeInfo(node_id=b"\x01" * 28)]

    def _nothing(self) -> list[Any]:
        self._check()
        return []

    jobs = actors = workers = placement_groups = _nothing

    def table(self, name: str) -> Table:
        rows = self.nodes() if name == "nodes" else self._nothing()
        return Table([row.SerializeToString() for row in rows], gcs_pb2.GcsNodeInfo.FromString)

    def task_events(self) -> Any:
        self._check()
        self.during_call()
        self.task_polls += 1
        reply = gcs_service_pb2.GetTaskEventsReply()
        reply.events_by_task.add(task_id=b"\x01" * 24)
        return reply


def until(condition: Callable[[], bool]) -> None:
    wait_until(condition, "a poll", pause_s=0.01)


@pytest.fixture
def gcs() -> Any:
    return FakeGcs()


def test_polls_and_stops(gcs: Any) -> None:
    batches: list[RecordBatch] = []
    poller = Poller(gcs, batches.append, min_interval_s=0.02, entity_interval_s=0.02).start()
    until(lambda: gcs.task_polls >= 3)
    status = poller.status
    assert (status.ok, status.error, status.mode, status.session) == (True, None, "tasks", "session_a")
    assert status.last_success_ns > 0
    poller.stop(TIMEOUT_S)
    assert not poller._task.is_alive
    assert sum(len(batch.attempts) for batch in batches) == 1
    assert sum(len(batch.entities) for batch in batches) == 1


def test_poll_now_needs_no_thread(gcs: Any) -> None:
    batches: list[RecordBatch] = []
    poller = Poller(gcs, batches.append)
    poller.poll_now()
    assert sum(len(batch.attempts) for batch in batches) == 1
    poller.poll_now(tasks=False)
    assert gcs.task_polls == 1
    gcs.down = True
    with pytest.raises(GcsError):
        poller.poll_now()
    poller.stop()


def test_a_costly_poll_slows_the_pace(gcs: Any, clock: Clock) -> None:
    gcs.during_call = lambda: clock.sleep(0.1)
    poller = Poller(gcs, lambda batch: None)
    poller.poll_now()
    assert poller.status.cost_s == pytest.approx(0.1)
    assert poller.status.interval_s == pytest.approx(2)
    slow = Poller(gcs, lambda batch: None, max_interval_s=1.5)
    slow.poll_now()
    assert slow.status.interval_s == 1.5


def test_writing_is_not_the_clusters_cost(gcs: Any, clock: Clock) -> None:
    poller = Poller(gcs, lambda batch: clock.sleep(0.1))
    poller.poll_now()
    assert poller.status.cost_s == 0


def test_tasks_may_be_switched_off_and_on(gcs: Any) -> None:
    wanted = threading.Event()
    poller = Poller(gcs, lambda batch: None, tasks=wanted.is_set, min_interval_s=0.02, entity_interval_s=0.02)
    poller.start()
    until(lambda: poller.status.ok)
    assert poller.status.mode == "entities"
    assert gcs.task_polls == 0
    wanted.set()
    until(lambda: gcs.task_polls > 0)
    poller.stop()


def test_outage_and_return(gcs: Any) -> None:
    gcs.down = True
    batches: list[RecordBatch] = []
    poller = Poller(gcs, batches.append, min_interval_s=0.02, entity_interval_s=0.02).start()
    until(lambda: poller.status.error is not None)
    assert (poller.status.ok, poller.status.error, poller.status.remedy) == (False, "down.", "wait.")
    gcs.down = False
    until(lambda: poller.status.ok)
    assert poller.status.error is None
    poller.stop()


def test_a_new_session_needs_a_poller_of_its_own(gcs: Any) -> None:
    batches: list[RecordBatch] = []
    poller = Poller(gcs, batches.append)
    poller.poll_now()
    gcs.session = "session_b"
    batches.clear()
    with pytest.raises(GcsError, match="session_b"):
        poller.poll_now()
    assert not batches
    assert poller.status.session == "session_b"


def test_records_that_could_not_be_kept_come_again(gcs: Any, caplog: pytest.LogCaptureFixture) -> None:
    batches: list[RecordBatch] = []
    full = True

    def keep(batch: RecordBatch) -> None:
        if full:
            raise OSError("disk full")
        batches.append(batch)

    poller = Poller(gcs, keep, min_interval_s=0.02, entity_interval_s=0.02).start()
    until(lambda: poller.status.error is not None)
    assert "disk full" in str(poller.status.error)
    full = False
    until(lambda: any(batch.attempts for batch in batches))
    until(lambda: poller.status.ok)
    poller.stop()


def test_stop_does_not_wait_out_a_pause(gcs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gcs.down = True
    pauses: list[float] = []
    fail = Poller._fail

    def fail_for_long(poller: Poller, error: str, remedy: str) -> float:
        fail(poller, error, remedy)
        pauses.append(2 * TIMEOUT_S)
        return pauses[-1]

    monkeypatch.setattr(Poller, "_fail", fail_for_long)
    poller = Poller(gcs, lambda batch: None).start()
    until(lambda: bool(pauses))
    poller.stop(TIMEOUT_S)
    assert not poller._task.is_alive


def test_agents_are_asked_in_turn(gcs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [gcs_pb2.GcsNodeInfo(node_id=b"\x01" * 28, metrics_export_port=port) for port in range(1, 71)]
    gcs.nodes = lambda: nodes
    asked: list[int] = []
    monkeypatch.setattr(module, "read_agent_drops", lambda host, port: asked.append(port) or [])
    poller = Poller(gcs, lambda batch: None)
    poller.poll_now()
    assert len(asked) == 48
    poller.poll_now()
    assert sorted(asked) == list(range(1, 71))


def test_every_yes_is_one_poll(gcs: Any) -> None:
    """``tasks`` may have a reason that holds only once: a gap to fill."""
    answers: list[bool] = []

    def has_reason() -> bool:
        answers.append(len(answers) % 2 == 1)
        return answers[-1]

    poller = Poller(gcs, lambda _: None, tasks=has_reason, min_interval_s=0.01, max_interval_s=0.01).start()
    until(lambda: answers.count(True) >= 10)
    poller.stop()
    assert gcs.task_polls == answers.count(True) >= 10
    assert poller.status.last_tasks_ns > 0
