"""Python frames over the API: requests to agents, refused addresses, and failures."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import httpx
import pytest
from ray.core.generated import (
    gcs_service_pb2,
    gcs_service_pb2_grpc,
    reporter_pb2,
    reporter_pb2_grpc,
)
from tests.story import DRIVER, JOB, SESSION, Story
from tests.unit.libraries.train.test_api import training
from tests.waiting import TIMEOUT_S

from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.gcs.poller import PollStatus
from rayscope.server.runner import Server
from rayscope.views.stack import sampling

NODE = "a" * 56
DRIVERS_WORKER = JOB + "f" * 48
PATH = "/api/v1/flow/stack/frames"
_SAMPLES = Path(__file__).parent / "samples"


def dump(pid: int, kind: str = "task") -> str:
    """The output of py-spy for a real worker, with another process id."""
    _, _, rest = (_SAMPLES / f"py-spy-{kind}.txt").read_text().partition(":")
    return f"Process {pid}:{rest}"


class Cluster(
    gcs_service_pb2_grpc.InternalKVGcsServiceServicer,  # type: ignore[misc]
    gcs_service_pb2_grpc.NodeInfoGcsServiceServicer,  # type: ignore[misc]
    gcs_service_pb2_grpc.WorkerInfoGcsServiceServicer,  # type: ignore[misc]
    reporter_pb2_grpc.ReporterServiceServicer,  # type: ignore[misc]
):
    """A GCS's key-value store, its nodes, a driver, and a node's agent, as far as we use them."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.addresses: dict[str, Any] = {}
        self.nodes: list[Any] = []
        self.driver: dict[str, Any] | None = {"is_alive": True, "pid": 77}
        self.reply: Callable[[int, Any], tuple[bool, str]] = lambda pid, _: (True, dump(pid))

    def InternalKVGet(self, request: Any, context: Any) -> Any:
        address = self.addresses.get(
            request.key.decode().removeprefix("DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:")
        )
        if address is None:
            return gcs_service_pb2.InternalKVGetReply(
                status={"code": 17, "message": "Failed to find the key"}
            )
        return gcs_service_pb2.InternalKVGetReply(value=json.dumps(address).encode())

    def GetAllNodeInfo(self, request: Any, context: Any) -> Any:
        return gcs_service_pb2.GetAllNodeInfoReply(node_info_list=self.nodes)

    def GetWorkerInfo(self, request: Any, context: Any) -> Any:
        assert request.worker_id.hex() == DRIVERS_WORKER
        return gcs_service_pb2.GetWorkerInfoReply(worker_table_data=self.driver)

    def GetTraceback(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        success, output = self.reply(request.pid, context)
        return reporter_pb2.GetTracebackReply(success=success, output=output)


@pytest.fixture
def cluster(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The session of a story is live, and this is its cluster."""
    made = Cluster()
    monkeypatch.setattr(sampling, "_TIMEOUT_S", TIMEOUT_S)
    monkeypatch.setattr(sampling, "_DEADLINE_S", TIMEOUT_S)
    with serve(made, fresh, monkeypatch):
        yield made


@contextmanager
def serve(cluster: Cluster, fresh: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = grpc.server(ThreadPoolExecutor(20))
    gcs_service_pb2_grpc.add_InternalKVGcsServiceServicer_to_server(cluster, server)
    gcs_service_pb2_grpc.add_NodeInfoGcsServiceServicer_to_server(cluster, server)
    gcs_service_pb2_grpc.add_WorkerInfoGcsServiceServicer_to_server(cluster, server)
    reporter_pb2_grpc.add_ReporterServiceServicer_to_server(cluster, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    cluster.addresses[NODE] = ["127.0.0.1", 1, port]
    with GcsClient(f"127.0.0.1:{port}", "rays-token") as client:
        monkeypatch.setattr(fresh.server.services.clusters, "gcs_of", lambda session: client)
        yield
    server.stop(None).wait()


def _worker(number: int) -> str:
    return f"{number:056x}"


def _story(workers: int = 3) -> Story:
    """The driver waits for tasks that are still running on ``workers`` workers."""
    story = Story()
    tasks = []
    for number in range(workers):
        tasks.append(story.task("outer_task", 0, 10, worker=_worker(number)))
        story.batch.attempts[-1].worker_pid = 1000 + number
    for task in tasks:
        story.blocks(DRIVER, task, 20)
    return story


def _post(fresh: Any, **body: Any) -> Any:
    answer = fresh.client.post(PATH, json={"session": SESSION, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_equal_stacks_of_a_line_are_one(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story())
    cluster.reply = lambda pid, _: (True, dump(pid).replace("py:9", "py:8" if pid == 1002 else "py:9"))
    began_ns = time.time_ns()
    stacks = _post(fresh)
    (leaf,) = [node for node in fresh.get("/api/v1/flow/stack")["nodes"] if node["name"] == "outer_task"]
    (node,) = stacks["nodes"]
    assert (node["node"], node["workers"]) == (leaf["id"], 3)
    assert [(f["depth"], f["name"], f["file"], f["line"], f["count"], f["own"]) for f in node["frames"]] == [
        (0, "outer_task", "job.py", 5, 3, 0),
        (1, "outer", "job.py", 7, 3, 0),
        (2, "inner", "job.py", 9, 2, 2),
        (2, "inner", "job.py", 8, 1, 1),
    ]
    assert node["frames"][3]["examples"] == [_worker(2)]
    assert {(w["worker_id"], w["pid"], w["title"]) for w in stacks["workers"]} == {
        (_worker(n), 1000 + n, "ray::outer_task") for n in range(3)
    }
    assert (stacks["asked"], stacks["left_out"], stacks["problems"]) == (3, 0, [])
    assert began_ns <= stacks["at_ns"] <= time.time_ns()


def test_agents_are_asked_for_recorded_process_ids_and_no_values(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story())
    _post(fresh, whole=True)
    assert sorted(request.pid for request in cluster.asked) == [1000, 1001, 1002]
    for request in cluster.asked:
        assert [field.name for field, _ in request.ListFields()] == ["pid"]
    assert all(shown["authorization"] == "Bearer rays-token" for shown in cluster.metadata)


_REFUSED: list[dict[str, Any]] = [
    {"pid": 1},
    {"pids": [1]},
    {"host": "192.0.2.1"},
    {"ip": "192.0.2.1", "port": 1},
    {"native": True},
    {"locals": True},
    {"node": "; touch /tmp/owned"},
    {"node": "1" * 56},
    {"node": ["1" * 16]},
    {"workers": ["1"]},
    {"workers": [f"{_worker(1)[:-1]}\n"]},
    {"workers": [f"{_worker(1)[:-14]} --locals #123"]},
    {"workers": ["$(touch /tmp/owned)".ljust(56, "a")]},
    {"workers": ["../" * 18 + "ab"]},
    {"workers": [1000]},
    {"workers": []},
    {"workers": [_worker(1)] * 65},
    {"whole": "--native"},
]


def test_nothing_of_a_request_becomes_a_process_a_host_or_an_option(
    fresh: Any, cluster: Cluster, subtests: pytest.Subtests
) -> None:
    fresh.record(_story())
    for body in _REFUSED:
        with subtests.test(body=body):
            fresh.error(fresh.client.post(PATH, json={"session": SESSION, **body}), 422)
            assert cluster.asked == []


def test_only_workers_of_this_record_that_run_something_are_asked(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story())
    stacks = _post(fresh, workers=[_worker(1), "e" * 56])
    assert [request.pid for request in cluster.asked] == [1001]
    assert [(p["code"], p["workers"][0]["worker_id"]) for p in stacks["problems"]] == [
        ("not_running", "e" * 56)
    ]
    assert stacks["nodes"][0]["workers"] == 1


def of_driver(title: str = "python job.py") -> str:
    """The output of py-spy for a driver that is blocked in ray.get."""
    return dump(77, "blocked_in_get").replace("ray::waiter", title)


def test_a_driver_is_sampled_if_it_is_asked_for(fresh: Any, cluster: Cluster) -> None:
    story = _story(1)
    story.entity("worker", DRIVERS_WORKER, 0, node_id=NODE, worker_type="DRIVER", pid=77)
    fresh.record(story)
    cluster.reply = lambda pid, _: (True, of_driver() if pid == 77 else dump(pid))
    assert [worker["pid"] for worker in _post(fresh)["workers"]] == [1000]
    stacks = _post(fresh, workers=[DRIVERS_WORKER])
    assert (stacks["asked"], stacks["problems"]) == (1, [])
    assert stacks["workers"] == [
        {"worker_id": DRIVERS_WORKER, "node_id": NODE, "pid": 77, "title": "python job.py"}
    ]
    (line,) = [node for node in fresh.get("/api/v1/flow/stack")["nodes"] if node["type"] == "DRIVER_TASK"]
    (node,) = stacks["nodes"]
    assert node["node"] == line["id"]
    assert [frame["name"] for frame in node["frames"]] == ["waiter", "get", "Worker.get_objects"]


@pytest.mark.parametrize(
    ("recorded", "alive", "reply", "code"),
    [
        ({"until": 500}, True, (True, of_driver()), "gone"),
        ({}, False, (True, of_driver()), "gone"),
        ({}, None, (True, of_driver()), "gone"),
        ({}, False, (False, "Error: No such process (os error 3)"), "gone"),
        # The process is in another container: the agent sees none, a worker, or another program.
        ({}, True, (False, "Error: No such process (os error 3)"), "unseen_driver"),
        ({}, True, (True, of_driver("ray::waiter")), "unseen_driver"),
        (
            {},
            True,
            (True, 'Process 77: nginx\nThread 77 (idle): "MainThread"\n    a (b.py:1)'),
            "unseen_driver",
        ),
        ({}, True, (False, "Error: Permission Denied: try again"), "no_permission"),
        ({"pid": None}, True, (True, of_driver()), "no_process"),
        (None, True, (True, of_driver()), "no_process"),
        ({"idle": True}, True, (True, of_driver()), "idle_driver"),
    ],
)
def test_why_a_driver_has_no_frames(
    fresh: Any,
    cluster: Cluster,
    recorded: dict[str, Any] | None,
    alive: bool | None,
    reply: tuple[bool, str],
    code: str,
) -> None:
    story = Story() if recorded and recorded.pop("idle", False) else _story(1)
    story.task("ended", 0, 10, 20)
    if recorded is not None:
        process = {"node_id": NODE, "worker_type": "DRIVER", "pid": 77, **recorded}
        story.entity("worker", DRIVERS_WORKER, 0, **process)
    fresh.record(story)
    cluster.driver = None if alive is None else {"is_alive": alive, "pid": 77}
    cluster.reply = lambda pid, _: reply
    stacks = _post(fresh, workers=[DRIVERS_WORKER])
    assert stacks["nodes"] == []
    (problem,) = stacks["problems"]
    assert (problem["code"], problem["workers"][0]["worker_id"]) == (code, DRIVERS_WORKER)


def test_a_node_of_the_stack_is_that_and_what_is_below(fresh: Any, cluster: Cluster) -> None:
    story = _story(2)
    story.task("loner", 0, 10, worker=_worker(9))
    story.batch.attempts[-1].worker_pid = 1009
    fresh.record(story)
    (loner,) = [node for node in fresh.get("/api/v1/flow/stack")["nodes"] if node["name"] == "loner"]
    cluster.reply = lambda pid, _: (True, dump(pid).replace("outer_task", "loner"))
    stacks = _post(fresh, node=loner["id"])
    assert [request.pid for request in cluster.asked] == [1009]
    assert [node["node"] for node in stacks["nodes"]] == [loner["id"]]
    gone = fresh.client.post(PATH, json={"session": SESSION, "node": "0" * 16})
    assert "in flight" in fresh.error(gone, 400)["message"]
    only = fresh.client.post(PATH, params={"func_name": "loner"}, json={}).json()
    assert [node["node"] for node in only["nodes"]] == [loner["id"]]


def test_another_process_with_that_id_is_not_shown(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story(1))
    cluster.reply = lambda pid, _: (True, dump(pid).replace("ray::outer_task", "/usr/sbin/keyd --secret"))
    stacks = _post(fresh)
    assert (stacks["nodes"], stacks["workers"], stacks["problems"][0]["code"]) == ([], [], "gone")
    assert "secret" not in json.dumps(stacks)


def test_a_worker_that_has_moved_on_is_reported_as_such(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story(1))
    cluster.reply = lambda pid, _: (True, dump(pid, "idle"))
    stacks = _post(fresh)
    assert (stacks["nodes"], stacks["problems"][0]["code"]) == ([], "moved_on")


PERMISSION = (
    "Failed to execute `['py-spy']`.\n=== stderr ===\nError: Failed to get process executable name. "
    "Check that the process is running.\n\nCaused by:\n    0: Permission denied (os error 13)\n"
)


@pytest.mark.parametrize(
    ("output", "code", "remedy"),
    [
        ("Failed to execute: py-spy is not installed", "no_py_spy", "ray[default]"),
        (PERMISSION, "no_permission", "SYS_PTRACE"),
        (PERMISSION.replace("Permission denied", "No such file or directory"), "gone", "again"),
        ("Error: Failed to find python version from target process\n", "failed", "again"),
    ],
)
def test_failures_of_py_spy_have_a_remedy_and_affect_no_other_worker(
    fresh: Any, cluster: Cluster, output: str, code: str, remedy: str
) -> None:
    fresh.record(_story(2))
    cluster.reply = lambda pid, _: (
        (True, dump(pid)) if pid == 1000 and code != "no_py_spy" else (False, output)
    )
    stacks = _post(fresh)
    (problem,) = stacks["problems"]
    assert problem["code"] == code
    assert remedy in problem["remedy"]
    assert _worker(1) in [worker["worker_id"] for worker in problem["workers"]]
    assert problem["count"] + len(stacks["workers"]) == 2


def test_a_dead_agent_is_asked_once_and_reported_only_for_its_node(
    fresh: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_MAX_DUMPS_PER_NODE", 1)
    story = _story(12)
    for number, attempt in enumerate(story.batch.attempts):
        attempt.node_id = (NODE, "b" * 56, "c" * 56, "d" * 56)[number % 4]
    cluster.addresses |= {"b" * 56: ["127.0.0.1", 1, 1], "c" * 56: ["127.0.0.1", 1, -1]}
    fresh.record(story)
    asked: Counter[str] = Counter()
    dump = sampling._Node.dump

    def counted(node: Any, pid: int) -> Any:
        asked[node._node_id] += 1
        return dump(node, pid)

    monkeypatch.setattr(sampling._Node, "dump", counted)
    stacks = _post(fresh)
    assert asked == {NODE: 3, "b" * 56: 1, "c" * 56: 1, "d" * 56: 1}
    assert sorted((p["code"], p["count"]) for p in stacks["problems"]) == [
        ("no_agent", 6),
        ("unreachable", 3),
    ]
    assert stacks["nodes"][0]["workers"] == 3
    assert all(problem["message"] and problem["remedy"] for problem in stacks["problems"])


def test_an_agent_that_serves_no_http_is_found_by_its_node(fresh: Any, cluster: Cluster) -> None:
    """As where another cluster on the machine has the port."""
    fresh.record(_story(1))
    _, _, port = cluster.addresses.pop(NODE)
    node = {"node_id": bytes.fromhex(NODE), "node_manager_address": "127.0.0.1", "metrics_agent_port": port}
    cluster.nodes = [node]
    stacks = _post(fresh)
    assert (stacks["problems"], len(stacks["workers"])) == ([], 1)


def test_a_slow_agent_and_a_wrong_token_are_reported(
    fresh: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_HOLD_S", 0)
    fresh.record(_story(1))
    released = threading.Event()

    def slow(pid: int, _: Any) -> tuple[bool, str]:
        released.wait(TIMEOUT_S)
        return True, dump(pid)

    cluster.reply = slow
    with monkeypatch.context() as impatient:
        impatient.setattr(sampling, "_TIMEOUT_S", 0.3)
        assert _post(fresh)["problems"][0]["code"] == "timeout"
    released.set()
    cluster.reply = lambda pid, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
    (problem,) = _post(fresh)["problems"]
    assert problem["code"] == "unauthenticated"
    assert "RAY_AUTH_TOKEN" in problem["remedy"]
    assert "rays-token" not in json.dumps(problem)


def test_several_viewers_share_a_dump(fresh: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_HOLD_S", TIMEOUT_S)
    fresh.record(_story(2))
    with ThreadPoolExecutor(6) as viewers:
        answers = list(viewers.map(lambda _: _post(fresh), range(6)))
    assert len(cluster.asked) == 2
    assert all(answer["nodes"] == answers[0]["nodes"] for answer in answers)


def test_many_workers_are_looked_at_up_to_a_bound(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story(90))
    stacks = _post(fresh)
    assert (stacks["asked"], stacks["left_out"], len(cluster.asked)) == (64, 26, 64)


def test_of_a_session_without_a_cluster_there_are_none(fresh: Any) -> None:
    fresh.record(_story())
    answer = fresh.error(fresh.client.post(PATH, json={"session": SESSION}), 400)
    assert "attach" in answer["remedy"]
    fresh.server.services.catalog.about(SESSION).last_ns -= 10**12
    ended = fresh.error(fresh.client.post(PATH, json={"session": SESSION}), 400)
    assert "ended" in ended["message"]
    fresh.error(fresh.client.post(PATH, json={"session": "../../etc"}), 404)
    assert fresh.client.get(PATH).status_code in (404, 405)


def test_a_job_that_hangs_is_live_while_its_gcs_answers(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.record(_story())
    services = fresh.server.services
    services.catalog.about(SESSION).last_ns -= 10**12
    answered = PollStatus(ok=True, last_success_ns=time.time_ns(), session=SESSION)
    poller = SimpleNamespace(status=answered)
    monkeypatch.setitem(services.clusters._clusters, SESSION, SimpleNamespace(session=SESSION, poller=poller))
    assert services.records.is_live(SESSION)
    assert fresh.get("/api/v1/sessions")["items"][0]["state"] == "live"
    # The same address may be another session's by now.
    poller.status = PollStatus(ok=True, last_success_ns=time.time_ns(), session="another")
    assert not services.records.is_live(SESSION)
    monkeypatch.delitem(services.clusters._clusters, SESSION)


def test_a_page_of_another_site_may_not_look(fresh: Any, cluster: Cluster) -> None:
    fresh.record(_story())
    answer = fresh.client.post(PATH, json={}, headers={"Origin": "http://evil.example"})
    assert fresh.error(answer, 403)["code"] == "bad_origin"
    plain = fresh.client.post(PATH, content="{}", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 422
    assert cluster.asked == []


def test_with_a_token_nobody_looks_without_it(serve: Callable[..., Server]) -> None:
    server = serve(token="a-token-of-the-tests")
    assert httpx.post(f"{server.url}{PATH}", json={}).status_code == 401


def test_threads_that_train_are_shown_where_their_controller_is(fresh: Any, cluster: Cluster) -> None:
    frames = "\n".join(
        (
            'Process {pid}: ray::RayTrainWorker\nThread 1 (idle): "MainThread"',
            "    main_loop (ray/_private/worker.py:1000)",
            'Thread 2 (idle): "TrainingThread(train_fn_with_final_checkpoint_flush)"',
            "    wait_for_nccl (/app/train.py:12)",
            "    loop (/app/train.py:16)",
            "    construct_train_func.<locals>.train_fn (ray/train/v2/_internal/util.py:89)",
            "    train_fn (ray/train/v2/_internal/execution/worker_group/worker.py:152)",
            "    _run_target (ray/train/v2/_internal/execution/worker_group/thread_runner.py:38)",
            "    run (threading.py:982)",
            "    _bootstrap_inner (threading.py:1045)",
            "    _bootstrap (threading.py:1002)",
        )
    )
    cluster.addresses["5" * 56] = cluster.addresses[NODE]
    cluster.reply = lambda pid, _: (True, frames.format(pid=pid))
    fresh.record(training())
    answer = _post(fresh)
    assert sorted(request.pid for request in cluster.asked) == [100, 1000, 1001, 1002]
    (node,) = answer["nodes"]
    assert [(one["name"], one["count"]) for one in node["frames"]] == [("loop", 4), ("wait_for_nccl", 4)]
