"""Profiles over the API, of a cluster whose agent answers with what py-spy printed of real workers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.core.generated import gcs_service_pb2, reporter_pb2
from tests.story import ORIGIN_NS, SESSION, Story
from tests.unit.views.lines.test_api import Stacks
from tests.unit.views.stack.test_frames_api import NODE, Cluster, serve
from tests.waiting import wait_until
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.model import Entity, Span
from rayscope.model.metric import sample
from rayscope.ray.events.samples import FOR_PROFILE, SAMPLES
from rayscope.tracer.demand import HZ
from rayscope.views.profiles import profiler

_OUTPUTS = Path(__file__).parents[2] / "ray" / "agents" / "samples"
_BUSY = _OUTPUTS / "py-spy-raw-busy.txt"
_PEAK = _OUTPUTS / "memray-peak.html"
MAIN = "<module> (ray/_private/workers/default_worker.py:323);Worker.main_loop (ray/_private/worker.py:1069)"
PATH = "/api/v1/profiles"
FIRST, SECOND = "1" * 56, "2" * 56


class Profiled(Cluster):
    """A cluster whose workers can be profiled. ``outputs``: by process ID, whether it succeeds, and the output."""

    def __init__(self) -> None:
        super().__init__()
        self.outputs: dict[int, tuple[bool, str]] = {}
        self.warning = ""
        self.pids = {FIRST: 1001, SECOND: 1002}
        #: The contents of the key-value store, and a function that gets each new request.
        self.requests: dict[bytes, bytes] = {}
        self.when_asked: Callable[[dict[str, Any]], None] = lambda request: None

    def GetWorkerInfo(self, request: Any, context: Any) -> Any:
        pid = self.pids.get(request.worker_id.hex())
        found = None if pid is None else {"is_alive": True, "pid": pid}
        return gcs_service_pb2.GetWorkerInfoReply(worker_table_data=found)

    def InternalKVPut(self, request: Any, context: Any) -> Any:
        self.requests[request.key] = request.value
        self.when_asked(json.loads(request.value))
        return gcs_service_pb2.InternalKVPutReply()

    def InternalKVDel(self, request: Any, context: Any) -> Any:
        del self.requests[request.key]
        return gcs_service_pb2.InternalKVDelReply()

    def CpuProfiling(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        success, output = self.outputs[request.pid]
        return reporter_pb2.CpuProfilingReply(success=success, output=output)

    def MemoryProfiling(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        success, output = self.outputs[request.pid]
        return reporter_pb2.MemoryProfilingReply(success=success, output=output, warning=self.warning)


@pytest.fixture
def cluster(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Profiled]:
    made = Profiled()
    monkeypatch.setattr(profiler, "_RECORD_LAG_S", 0.0)
    monkeypatch.setattr(profiler, "_AHEAD_S", 0.0)
    with serve(made, fresh, monkeypatch):
        yield made


def _story(function: str = "busy") -> Story:
    """Two workers that still run a function."""
    story = Story()
    for worker, pid in ((FIRST, 1001), (SECOND, 1002)):
        story.task(function, 0, 10, worker=worker, node=NODE)
        story.batch.attempts[-1].worker_pid = pid
    return story


def _start(fresh: Any, status: int = 200, body: Any = None, **filters: Any) -> Any:
    headers = {"X-Rayscope-Operator": fresh.server.services.secrets.operator_token}
    answer = fresh.client.post(PATH, params=filters, json={"seconds": 1, **(body or {})}, headers=headers)
    return answer.json()["profile"] if status == 200 else fresh.error(answer, status)


def _take(fresh: Any, body: Any = None, **filters: Any) -> Any:
    started = _start(fresh, body=body, **filters)
    assert started["is_running"]

    def finished() -> Any:
        (item,) = [item for item in fresh.get(PATH)["items"] if item["profile_id"] == started["profile_id"]]
        return None if item["is_running"] else item

    return wait_until(finished, "the profile")


def test_all_workers_are_profiled_and_their_lines_belong_to_their_attempts(
    fresh: Any, cluster: Profiled
) -> None:
    fresh.record(_story())
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _BUSY.read_text()))
    taken = _take(fresh, func_name="busy")
    assert sorted(
        (request.pid, request.duration, request.format, request.idle) for request in cluster.asked
    ) == [
        (1001, 1, "raw", True),
        (1002, 1, "raw", True),
    ]
    assert (taken["filters"], taken["workers_left_out"]) == ({"func_name": "busy"}, 0)
    for worker in taken["workers"]:
        assert (worker["tool"], worker["hz"], worker["samples"]) == ("py-spy", 100, 199)
        assert (worker["taken"], worker["expected"], worker["problem"]) == (199, 100, None)
        assert worker["seconds"] > 0
    (stack,) = taken["stacks"]
    assert (stack["frames"], stack["share"]) == (["exp.py:6 hot", "exp.py:12 busy"], 133 / 199)
    assert sorted(stack["worker_ids"]) == [FIRST, SECOND]
    assert taken["taken_by"] is None
    lines = fresh.get("/api/v1/lines", profile=taken["profile_id"])
    assert (lines["samples"], lines["attempts"], lines["hz"], lines["missing"]) == (398, 2, [100.0], None)
    assert [(line["line"], line["function"], line["self_samples"]) for line in lines["lines"]] == [
        (6, "hot", 266),
        (5, "hot", 130),
        (11, "busy", 2),
        (12, "busy", 0),
    ]
    # The profile of one worker, and the tracer's samples, of which there are none.
    one = fresh.get("/api/v1/lines", profile=taken["profile_id"], worker_id=FIRST)
    assert (one["samples"], one["attempts"]) == (199, 1)
    assert fresh.get("/api/v1/lines")["samples"] == 0
    assert fresh.get("/api/v1/lines", profile="0" * 16)["missing"]["code"] == "profile_samples"


def test_a_worker_that_py_spy_may_not_inspect_is_asked_for_samples(fresh: Any, cluster: Profiled) -> None:
    story = _story()
    for worker in (FIRST, SECOND):
        story.entity("worker", worker, 0, tracer="on")
    stacks = Stacks()
    number = stacks.number("exp.py:12 busy", "exp.py:6 hot")
    stacks.add_to(story)
    fresh.record(story)
    cluster.outputs = {1001: (True, _BUSY.read_text()), 1002: (False, "Error: Permission Denied: try again")}
    (task,) = [row["task_id"] for row in fresh.get("/api/v1/tasks")["items"] if row["worker_id"] == SECOND]

    def report(begin: float, end: float, samples: int, hz: float) -> None:
        extra = json.dumps({"hz": hz, "samples": [[0, 1, samples, number]]}, separators=(",", ":"))
        reported = Story()
        times = int(begin * 1e9), int(end * 1e9)
        name = FOR_PROFILE if hz == HZ else SAMPLES
        reported.batch.spans.append(Span(task, 0, name, *times, extra))
        fresh.record(reported)

    def answer(request: dict[str, Any]) -> None:
        assert request["workers"] == [SECOND]
        begin, end = request["begin"], request["end"]
        report(begin - 10, begin - 5, 1000, HZ)  # of a profile before this one
        report(begin, end, 5, 1.0)  # the usual rate
        report(begin - 0.1, end - 0.1, 90, HZ)

    cluster.when_asked = answer
    taken = _take(fresh, state="RUNNING")
    profiled, traced = sorted(taken["workers"], key=lambda worker: worker["pid"])
    assert (profiled["tool"], profiled["samples"]) == ("py-spy", 199)
    assert (traced["tool"], traced["hz"], traced["samples"]) == ("tracer", 100.0, 90)
    assert traced["problem"]["code"] == "no_permission"
    assert "SYS_PTRACE" in traced["problem"]["remedy"]
    # Both have equal stacks.
    (stack,) = taken["stacks"]
    assert (stack["frames"], len(stack["worker_ids"])) == (["exp.py:6 hot", "exp.py:12 busy"], 2)
    lines = fresh.get("/api/v1/lines", profile=taken["profile_id"])
    assert (lines["samples"], lines["hz"]) == (289, [100.0])
    assert sum(phase["native_samples"] for phase in lines["phases"]) == 90
    # Those for the profile do not count as usual samples.
    assert (fresh.get("/api/v1/lines")["samples"], fresh.get("/api/v1/lines")["hz"]) == (5, [1.0])
    assert cluster.requests == {}


def test_a_profile_shows_no_life_of_a_cluster(fresh: Any, cluster: Profiled) -> None:
    """Neither how it is recorded, nor that it has not ended."""
    fresh.record(_story())
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _BUSY.read_text()))
    about = fresh.server.services.catalog.about(SESSION)
    before = (list(about.recording), about.last_ns)
    _take(fresh, func_name="busy", state="RUNNING")
    assert (list(about.recording), about.last_ns) == before
    assert fresh.get(PATH)["items"][0]["workers"][0]["samples"] == 199


def test_workers_of_ray_train_are_profiled_with_their_ranks(fresh: Any, cluster: Profiled) -> None:
    """They are not in any task."""
    story = Story()
    for rank, worker in enumerate((FIRST, SECOND)):
        actor = f"{rank}" * 32
        fields: dict[str, Any] = {"world_rank": rank, "actor_id": actor, "node_id": NODE, "pid": 1001 + rank}
        story.batch.entities.append(
            Entity("train_worker", f"a1/{rank}", fields, {}, ORIGIN_NS, {"state": "ALIVE"})
        )
        story.entity("actor", actor, 0, class_name="RayTrainWorker", worker_id=worker)
    fresh.record(story)
    cluster.outputs = {
        1001: (True, _BUSY.read_text()),
        1002: (True, f"{MAIN};load (data.py:12) 100"),
    }
    taken = _take(fresh)
    ranks = {worker["worker_id"]: worker["rank"] for worker in taken["workers"]}
    assert ranks == {FIRST: 0, SECOND: 1}
    assert [(stack["frames"][0], stack["worker_ids"]) for stack in taken["stacks"]] == [
        ("exp.py:6 hot", [FIRST]),
        ("data.py:12 load", [SECOND]),
    ]
    overview = CliRunner().invoke(app, ["profile", "--list", "--server", fresh.server.url])
    assert taken["profile_id"] in overview.output
    shown = CliRunner().invoke(app, ["lines", "--profile", taken["profile_id"], "--server", fresh.server.url])
    assert "1 rank (1): 100% of the samples\n  data.py:12 load" in shown.output


def test_a_worker_that_has_ended_is_listed(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story())
    cluster.outputs = {1001: (True, _BUSY.read_text())}
    del cluster.pids[SECOND]
    workers = {worker["worker_id"]: worker for worker in _take(fresh)["workers"]}
    assert workers[FIRST]["problem"] is None
    assert (workers[SECOND]["tool"], workers[SECOND]["samples"]) == (None, 0)
    assert workers[SECOND]["problem"]["code"] == "profile_gone"
    assert [request.pid for request in cluster.asked] == [1001]


def test_what_is_refused(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story())
    assert _start(fresh, 400, func_name="other")["code"] == "bad_query"
    assert _start(fresh, 422, {"seconds": 61})["code"] == "invalid_parameter"
    assert _start(fresh, 422, {"seconds": 0})["code"] == "invalid_parameter"
    assert _start(fresh, 422, {"memory": "all"})["code"] == "invalid_parameter"
    assert _start(fresh, 400, {"memory": "peak", "native": True})["code"] == "bad_query"
    assert _start(fresh, 400, {"memory": "peak", "seconds": 31})["code"] == "bad_query"
    assert fresh.client.post(PATH, json={}).json()["error"]["code"] == "needs_operator"
    services = fresh.server.services
    services.profiler._running[SESSION] = {}
    assert _start(fresh, 503)["code"] == "busy"
    services.profiler._running.clear()
    assert cluster.asked == []


def test_no_more_than_the_limit_are_profiled(
    fresh: Any, cluster: Profiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiler, "MAX_WORKERS", 1)
    fresh.record(_story())
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _BUSY.read_text()))
    taken = _take(fresh)
    assert (len(taken["workers"]), taken["workers_left_out"]) == (1, 1)


def test_an_alert_profiles_the_workers_that_its_labels_select(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story())
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _BUSY.read_text()))
    rule = {"alert": "Slow", "expr": "my_lag > 9", "annotations": {"rayscope_profile": "1s"}}
    folder = fresh.folder / "alerts"
    folder.mkdir(exist_ok=True)
    (folder / "mine.yml").write_text(json.dumps({"groups": [{"name": "mine", "rules": [rule]}]}))
    services = fresh.server.services
    lag = sample("my_lag", 10, func_name="busy", queue="q1")

    def taken() -> Any:
        services.metrics.store(SESSION).append(time.time_ns(), [lag])
        services.alerts.turn(time.time_ns())
        items = fresh.get(PATH)["items"]
        return items and not items[0]["is_running"] and items

    (profile,) = wait_until(taken, "the profile")
    (alert,) = fresh.get("/api/v1/alerts")["items"]
    assert alert["profile"] == {"profile_id": profile["profile_id"], "problem": None}
    assert (profile["filters"], profile["taken_by"]) == ({"func_name": "busy"}, "Slow")
    assert profile["workers"][0]["samples"] == 199


def test_the_lines_that_hold_memory_at_its_peak(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story("holder"))
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _PEAK.read_text()))
    taken = _take(fresh, {"memory": "peak"}, func_name="holder")
    assert sorted(
        (each.pid, each.duration, each.format, each.leaks, each.trace_python_allocators)
        for each in cluster.asked
    ) == [(1001, 1, "flamegraph", False, False), (1002, 1, "flamegraph", False, False)]
    assert taken["memory"] == "peak"
    for worker in taken["workers"]:
        assert (worker["tool"], worker["samples"], worker["hz"]) == ("memray", 0, None)
        assert (worker["held_bytes"], worker["problem"]) == (107_353_982, None)
    held = fresh.get("/api/v1/memory-lines", profile=taken["profile_id"])
    assert sum(line["self_bytes"] for line in held["lines"]) == held["bytes"]
    assert sum(line["self_allocations"] for line in held["lines"]) == held["allocations"]
    assert held["bytes"] < 2 * 107_353_982
    first = held["lines"][0]
    assert (first["file"], first["line"], first["function"]) == ("/home/ray/exp.py", 8, "hold")
    # 50 MB for the task, 7 for a thread that it starts, and 2 at the end of a recursion.
    assert (first["self_bytes"], first["self_allocations"]) == (2 * (59 * 2**20 + 3), 2 * 3)
    (caller,) = [line for line in held["lines"] if line["line"] == 32]
    assert (caller["self_bytes"], caller["total_bytes"]) == (0, 2 * (52 * 2**20 + 2))
    assert held["self_lines_total"] < held["lines_total"] == len(held["lines"])


def test_memory_is_not_among_the_samples(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story("holder"))
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _PEAK.read_text()))
    taken = _take(fresh, {"memory": "leaks"}, func_name="holder")
    assert all(each.leaks and each.trace_python_allocators for each in cluster.asked)
    assert fresh.get("/api/v1/lines")["samples"] == 0
    assert fresh.get("/api/v1/lines", profile=taken["profile_id"])["samples"] == 0
    for table in ("samples", "spans"):
        body = {"sql": f"SELECT count(*) FROM {table}", "session": SESSION}
        assert fresh.client.post("/api/v1/sql", json=body).json()["rows"] == [[0]]
    assert fresh.get("/api/v1/memory-lines", profile="0" * 16)["lines"] == []


def test_workers_whose_memory_cannot_be_profiled(fresh: Any, cluster: Profiled) -> None:
    """One has no memray, and the report of the other is no tree. No samples of the tracer replace them."""
    fresh.record(_story("holder"))
    page = _PEAK.read_text().replace('"children":[[1', '"children":[[0', 1)
    cluster.outputs = {1001: (False, "Failed to execute: memray is not installed"), 1002: (True, page)}
    first, second = sorted(_take(fresh, {"memory": "peak"})["workers"], key=lambda worker: worker["pid"])
    assert (first["tool"], first["held_bytes"], first["problem"]["code"]) == (None, None, "no_memray")
    assert (second["tool"], second["held_bytes"]) == (None, None)
    assert second["problem"]["params"] == {"what": "memray_report"}


def test_a_worker_that_ends_meanwhile_keeps_its_result(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story("holder"))
    cluster.outputs = dict.fromkeys((1001, 1002), (True, _PEAK.read_text()))
    cluster.warning = "The given process ID does not exist."
    for worker in _take(fresh, {"memory": "peak"})["workers"]:
        assert (worker["tool"], worker["held_bytes"]) == ("memray", 107_353_982)
        assert worker["problem"]["code"] == "profile_gone"


def test_a_page_that_is_too_large(fresh: Any, cluster: Profiled) -> None:
    fresh.record(_story("holder"))
    cluster.outputs = dict.fromkeys((1001, 1002), (True, "x" * (9 << 20)))
    taken = _take(fresh, {"memory": "peak"})
    assert {worker["problem"]["params"]["what"] for worker in taken["workers"]} == {"too_large"}
