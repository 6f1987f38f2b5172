"""Use of GPUs by attempts and actors: recorded samples of NVML pass the agent, the server's ingest and SQL."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import sql_rows
from tests.nvml import RecordedGpu, RecordedNvml, duty
from tests.story import JOB, MS, ORIGIN_NS, SESSION, Story, at

from rayscope.agent import gpus
from rayscope.agent.gpus import Watcher
from rayscope.agent.report import Reporter
from rayscope.model import Span
from rayscope.storage import session_writer

NODE = "a" * 56
ACTOR = "c" * 24
WHOLE = {"0": 1.0}
KNOWN = ("gpu_busy_ns", "gpu_measured_ns", "gpu_memory_peak_bytes")


class Cluster:
    """A node with recorded GPUs, and a story of tasks on it. Each worker's process has the ID 100."""

    def __init__(self, fresh: Any, *recorded: RecordedGpu) -> None:
        self._fresh = fresh
        self._nvml = RecordedNvml(*recorded)
        self._reporter = Reporter()
        self.story = Story()
        self.story.entity("node", NODE, 0)
        self._watcher = Watcher(self._nvml, self._reporter, ORIGIN_NS)

    def task(self, begin: float, end: float, shares: dict[str, float] | None, **more: Any) -> str:
        """A task that ran for this time (ms) and to which Ray gave these GPUs."""
        wanted = json.dumps({"GPU": sum((shares or WHOLE).values())})
        task_id = self.story.task("f", begin, begin, end, resources=wanted, **more)
        self.give(task_id, begin, shares)
        return task_id

    def give(self, task_id: str, begin: float, shares: dict[str, float] | None) -> None:
        if shares is not None:
            extra = json.dumps({"gpus": shares}, separators=(",", ":"))
            self.story.batch.spans.append(Span(task_id, 0, "gpus", at(begin), at(begin), extra))

    def actor(self, begin: float, end: float, shares: dict[str, float] | None, **fields: Any) -> str:
        wanted = json.dumps({"GPU": sum((shares or WHOLE).values())})
        actor_id = ACTOR + JOB
        self.story.entity(
            "actor",
            actor_id,
            begin,
            end,
            required_resources=wanted,
            worker_id="d" * 56,
            class_name="A",
            node_id=NODE,
            **fields,
        )
        created = self.story.task("A.__init__", begin, begin, begin + 100, actor=ACTOR, worker="d" * 56)
        self.give(created, begin, shares)
        return actor_id

    def look(self, since_s: float, until_s: float) -> None:
        """Look at the GPUs once a second, and send what the agent would."""
        second = since_s
        while second <= until_s:
            self._nvml.now_ns = at(second * 1000)
            self._watcher.look(self._nvml.now_ns)
            self.send()
            second += 1

    def send(self) -> None:
        said = self._reporter.report()
        report = {
            "session": SESSION,
            "node_id": NODE,
            "lane": "fast",
            "time_ns": self._nvml.now_ns,
            "gpus": said["gpus"],
        }
        url = self._fresh.server.ingest_url.replace("/ray-events", "/agent")
        answer = self._fresh.client.post(url, json=report)
        assert answer.status_code == 204, answer.text
        self._reporter.forget_gpus(said["gpus"])

    def record(self) -> None:
        self._fresh.record(self.story)

    def use(self, task_id: str) -> dict[str, Any]:
        items = self._fresh.get("/api/v1/tasks", limit=1000)["items"]
        (item,) = (one for one in items if one["task_id"] == task_id)
        (shown,) = self._fresh.get(f"/api/v1/tasks/{task_id}")["attempts"]
        found = {name: value for name, value in item.items() if name.startswith("gpu_")}
        assert found == {name: shown[name] for name in found}
        query = f"SELECT * FROM task_gpu_use WHERE task_id = '{task_id}'"
        (row,) = sql_rows(self._fresh.server.url, query, SESSION)
        assert found == {name: row[name] for name in found}
        if found["gpu_busy_ns"] is not None:
            assert 0 <= found["gpu_busy_ns"] <= found["gpu_measured_ns"] <= found["gpu_held_ns"]
        return found


@pytest.fixture(autouse=True)
def _pids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run in a container."""
    monkeypatch.setattr(gpus, "_sees_pids", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_whole_batches_and_parts_of_batches(fresh: Any) -> None:
    gpu = RecordedGpu(ORIGIN_NS, duty(40, 0, 200_000), memory={100: 7000})
    cluster = Cluster(fresh, gpu)
    long = cluster.task(10_000, 150_000, WHOLE)
    short = cluster.task(151_000, 160_000, WHOLE)
    cluster.look(1, 180)
    cluster.record()
    for task_id, held in ((long, 140_000 * MS), (short, 9000 * MS)):
        use = cluster.use(task_id)
        assert use["gpu_held_ns"] == held
        assert use["gpu_measured_ns"] == pytest.approx(held, abs=10 * MS)
        assert 100 * use["gpu_busy_ns"] / held == pytest.approx(40, abs=1)
        assert use["gpu_memory_peak_bytes"] == 7500


@pytest.mark.parametrize("percent", [20, 50, 80])
def test_a_duty_cycle(fresh: Any, percent: int) -> None:
    gpu = RecordedGpu(ORIGIN_NS, duty(percent, 3000, 23_000), memory={100: 7000})
    cluster = Cluster(fresh, gpu)
    task_id = cluster.task(3000, 23_000, WHOLE)
    later = cluster.task(26_000, 29_000, WHOLE)
    cluster.look(1, 40)
    cluster.record()
    use = cluster.use(task_id)
    assert use["gpu_scope"] == "own"
    assert use["gpu_held_ns"] == use["gpu_measured_ns"] == 20_000 * MS
    assert 100 * use["gpu_busy_ns"] / use["gpu_held_ns"] == pytest.approx(percent, abs=1)
    assert use["gpu_memory_peak_bytes"] == 7500
    assert (cluster.use(later)["gpu_busy_ns"], cluster.use(later)["gpu_scope"]) == (0, "own")


def test_time_without_samples_is_not_measured(fresh: Any) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(0, 60_000)]))
    task_id = cluster.task(3000, 23_000, WHOLE)
    never = cluster.task(40_000, 41_000, WHOLE)
    cluster.look(1, 10)
    cluster.record()
    use = cluster.use(task_id)
    assert 6000 * MS < use["gpu_busy_ns"] == use["gpu_measured_ns"] <= 7000 * MS
    assert use["gpu_held_ns"] == 20_000 * MS
    assert cluster.use(never) == {
        "gpu_scope": "unmeasured",
        "gpu_held_ns": 1000 * MS,
        **dict.fromkeys(KNOWN),
    }


def test_lost_samples_leave_a_gap(fresh: Any) -> None:
    gpu = RecordedGpu(ORIGIN_NS, [(0, 60_000)])
    cluster = Cluster(fresh, gpu)
    task_id = cluster.task(3000, 23_000, WHOLE)
    cluster.look(1, 8)
    gpu.lost = (8000, 14_000)
    cluster.look(14, 30)
    cluster.record()
    use = cluster.use(task_id)
    assert use["gpu_busy_ns"] == use["gpu_measured_ns"] == pytest.approx(14_000 * MS, abs=400 * MS)


def test_two_processes_on_a_gpu(fresh: Any) -> None:
    busy = {100: duty(20, 2000, 22_000), 101: duty(50, 2000, 22_000)}
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, busy, memory={100: 300, 101: 9000}))
    tasks = []
    for pid in busy:
        tasks.append(cluster.task(2000, 22_000, {"0": 0.5}, worker=f"{pid:056x}"))
        cluster.story.batch.attempts[-1].worker_pid = pid
    cluster.look(1, 30)
    cluster.record()
    for task_id, percent, memory in zip(tasks, (20, 50), (300, 9000), strict=True):
        use = cluster.use(task_id)
        assert (use["gpu_scope"], use["gpu_memory_peak_bytes"]) == ("process", memory)
        assert use["gpu_measured_ns"] == pytest.approx(20_000 * MS, abs=5 * MS)
        assert 100 * use["gpu_busy_ns"] / use["gpu_measured_ns"] == pytest.approx(percent, abs=5)


def test_a_process_that_nvml_does_not_name(fresh: Any) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, {555: [(0, 60_000)]}))
    task_id = cluster.task(2000, 6000, {"0": 0.5})  # it may have started the process 555
    cluster.look(1, 15)
    cluster.record()
    assert cluster.use(task_id)["gpu_scope"] == "shared"


@pytest.mark.parametrize("code", [3, 13])
def test_a_driver_without_processes(fresh: Any, code: int) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(0, 60_000)], processes_error=code))
    shared = cluster.task(2000, 6000, {"0": 0.5})
    own = cluster.task(7000, 9000, WHOLE)
    cluster.look(1, 15)
    cluster.record()
    assert cluster.use(shared) == {"gpu_scope": "shared", "gpu_held_ns": 4000 * MS, **dict.fromkeys(KNOWN)}
    assert (cluster.use(own)["gpu_scope"], cluster.use(own)["gpu_busy_ns"]) == ("own", 2000 * MS)


def test_processes_of_a_container_are_not_known(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_sees_pids", lambda: False)
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(0, 60_000)]))
    task_id = cluster.task(2000, 6000, {"0": 0.5})
    cluster.look(1, 15)
    cluster.record()
    assert cluster.use(task_id)["gpu_scope"] == "shared"


@pytest.mark.parametrize(
    ("gpu", "scope"),
    [
        ({"is_mig": True}, "mig"),
        ({"samples_error": 3}, "unsupported"),
        ({"samples_error": 999}, "unmeasured"),
    ],
)
def test_a_gpu_without_samples(fresh: Any, gpu: dict[str, Any], scope: str) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(0, 60_000)], **gpu))
    task_id = cluster.task(2000, 6000, WHOLE)
    cluster.look(1, 15)
    cluster.record()
    assert cluster.use(task_id) == {"gpu_scope": scope, "gpu_held_ns": 4000 * MS, **dict.fromkeys(KNOWN)}


def test_part_of_a_gpu_by_mig(fresh: Any) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [], is_mig=True))
    task_id = cluster.task(2000, 6000, {"MIG-7f": 1.0})
    cluster.look(1, 15)
    cluster.record()
    assert cluster.use(task_id)["gpu_scope"] == "mig"


def test_a_node_that_offers_some_of_its_gpus(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    idle = RecordedGpu(ORIGIN_NS, [], uuid="GPU-aaaa")
    cluster = Cluster(fresh, idle, RecordedGpu(ORIGIN_NS, [(0, 60_000)], uuid="GPU-bbbb"))
    by_index = cluster.task(2000, 4000, {"1": 1.0})
    by_uuid = cluster.task(5000, 7000, {"GPU-bbb": 1.0})
    other = cluster.task(8000, 9000, {"0": 1.0})  # as if another raylet had named it
    actor_id = cluster.actor(10_000, 12_000, None)
    # Without the tracer, the GCS knows the GPU's place among those of the raylet.
    cluster.story.batch.entities[-1].observed = {"gpus": '{"0":1.0}'}
    cluster.look(1, 20)
    cluster.record()
    assert [cluster.use(one)["gpu_busy_ns"] for one in (by_index, by_uuid, other)] == [
        2000 * MS,
        2000 * MS,
        0,
    ]
    assert fresh.get(f"/api/v1/actors/{actor_id}")["gpu_busy_ns"] == 2000 * MS


def test_several_gpus_add_up(fresh: Any) -> None:
    busy = ([(0, 60_000)], duty(50, 0, 60_000))
    recorded = (RecordedGpu(ORIGIN_NS, times, uuid=f"GPU-{n}") for n, times in enumerate(busy))
    cluster = Cluster(fresh, *recorded)
    both = cluster.task(2000, 12_000, {"0": 1.0, "1": 1.0})
    one_unknown = cluster.task(2000, 12_000, {"0": 1.0, "7": 1.0})
    unknown = cluster.task(2000, 12_000, None)
    cluster.look(1, 20)
    cluster.record()
    use = cluster.use(both)
    assert (use["gpu_scope"], use["gpu_held_ns"]) == ("own", 20_000 * MS)
    assert use["gpu_busy_ns"] == pytest.approx(15_000 * MS, rel=0.05)
    assert cluster.use(one_unknown)["gpu_scope"] == "unmeasured"
    assert cluster.use(unknown) == {"gpu_scope": "unmeasured", "gpu_held_ns": None, **dict.fromkeys(KNOWN)}


def test_an_actor_and_its_calls(fresh: Any) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(4000, 6000), (8000, 9000)], memory={100: 7}))
    actor_id = cluster.actor(2000, 12_000, WHOLE)
    calls = [
        cluster.story.task("A.f", begin, begin, end, actor=ACTOR, worker="d" * 56)
        for begin, end in ((4000, 6000), (6000, 7000), (8000, 10_000), (8500, 9500))
    ]
    no_gpu = cluster.story.task("g", 1000, 1000, 9000)
    cluster.look(1, 20)
    cluster.record()
    actor = fresh.get(f"/api/v1/actors/{actor_id}")
    (item,) = fresh.get("/api/v1/actors")["items"]
    (row,) = sql_rows(fresh.server.url, "SELECT * FROM actor_gpu_use", SESSION)
    assert {name: actor[name] for name in row} == {name: item[name] for name in row} == row
    assert actor["gpu_held_ns"] == actor["gpu_measured_ns"] == 10_000 * MS
    assert actor["gpu_busy_ns"] == pytest.approx(3000 * MS, rel=0.05)
    assert [cluster.use(call)["gpu_scope"] for call in calls] == ["own", "own", "shared", "shared"]
    assert cluster.use(calls[0])["gpu_busy_ns"] == pytest.approx(2000 * MS, rel=0.05)
    assert fresh.get(f"/api/v1/tasks/{no_gpu}")["attempts"][0]["gpu_scope"] is None


def test_actors_whose_processes_share_a_gpu(fresh: Any) -> None:
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, {100: [(0, 5000)], 101: [(0, 60_000)]}))
    actor_id = cluster.actor(2000, 12_000, {"0": 0.25})
    cluster.look(1, 20)
    cluster.record()
    actor = fresh.get(f"/api/v1/actors/{actor_id}")
    assert actor["gpu_scope"] == "process"
    assert actor["gpu_busy_ns"] == pytest.approx(3000 * MS, rel=0.05)


def test_a_session_keeps_a_limited_number_of_batches(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session_writer.MAX_ENTITIES, "gpu_sample", 2)
    cluster = Cluster(fresh, RecordedGpu(ORIGIN_NS, [(0, 300_000)]))
    task_id = cluster.task(2000, 200_000, WHOLE)
    cluster.look(1, 220)
    cluster.record()
    use = cluster.use(task_id)
    assert 55_000 * MS < use["gpu_measured_ns"] < 65_000 * MS < use["gpu_held_ns"]
    (lost,) = fresh.get("/api/v1/events", kind="loss")["items"]
    assert (lost["title"], lost["message"], lost["count"]) == ("entity_limit", "gpu_sample", 6)
