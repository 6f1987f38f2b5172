"""The Python frames of workers of a live cluster: those that the program is known to be in, and what goes wrong."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from tests.live import JOB, RUNNING, Live
from tests.waiting import wait_until

from rayscope.ray.agents.stack_dumps import Agent, TracebackError

pytestmark = [pytest.mark.ray]


def _paths(node: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """Where stacks end, from the outermost function in, and how many."""
    names: dict[str, tuple[str, ...]] = {}
    for frame in node["frames"]:
        names[frame["id"]] = (*names.get(frame["parent"], ()), frame["name"] or frame["kind"])
    return {names[frame["id"]]: frame["own"] for frame in node["frames"] if frame["own"]}


def _framed_stack(live: Live) -> tuple[Any, dict[str, str]] | None:
    """Frames, and the name of each node; None if they belong to two states of the stack.

    A task that blocks becomes a new node, and a stack may be some seconds old.
    """
    answer = live.frames()
    name_of = {node["id"]: node["name"] for node in live.stack()}
    return (answer, name_of) if all(node["node"] in name_of for node in answer["nodes"]) else None


def test_every_worker_is_in_the_functions_that_it_is_in(live: Live) -> None:
    def sampled() -> Any:
        framed = _framed_stack(live)
        if framed is None:
            return None
        paths = {framed[1][node["node"]]: _paths(node) for node in framed[0]["nodes"]}
        # A worker that has only just begun may still be in Ray's own functions, a blocked one was seen in two.
        are_all_in_user_code = all(
            path[0] in (name, "await") for name, found in paths.items() for path in found
        )
        return (*framed, paths) if are_all_in_user_code and len(paths.get("waiter", ())) == 1 else None

    answer, name_of, found = wait_until(sampled, "stacks that stand still")
    assert answer["problems"] == []
    assert found["sleeper"] == {("sleeper", "outer", "inner"): 2}
    assert found["Threaded.work"] == {("Threaded.work", "outer", "inner"): 2}
    assert found["victim"] == {("victim",): 1}
    assert found["Asynchronous.work"] == {("await",): 1}
    (blocked,) = found["waiter"]
    assert "get" in blocked
    assert not [name for name in blocked if "wrapper" in name or "tracer" in name]
    (sleepers,) = [node for node in answer["nodes"] if name_of[node["node"]] == "sleeper"]
    inner = sleepers["frames"][-1]
    assert (inner["name"], os.path.basename(inner["file"]), inner["active"]) == ("inner", "job.py", 0)
    assert JOB.splitlines()[inner["line"] - 1].strip() == "time.sleep(600)"
    assert {worker["title"] for worker in answer["workers"]} >= {"ray::sleeper", "ray::victim"}


def test_a_driver_is_sampled_on_request(live: Live) -> None:
    (driver,) = [node for node in live.stack() if node["type"] == "DRIVER_TASK"]
    workers = live.client.get("/api/v1/workers", params={"session": live.session}).json()["items"]
    (worker,) = [worker for worker in workers if worker["worker_type"] == "DRIVER"]
    assert live.frames(node=driver["id"])["asked"] == sum(RUNNING.values()) - 1  # two are of one actor
    answer = live.frames(workers=[worker["worker_id"]])
    assert answer["problems"] == []
    assert [one["pid"] for one in answer["workers"]] == [worker["pid"]]
    (node,) = answer["nodes"]
    assert node["node"] == driver["id"]
    names = [frame["name"] for frame in node["frames"]]
    assert (names[0], names[-1]) == ("<module>", "Worker.get_objects")
    assert JOB.splitlines()[node["frames"][0]["line"] - 1] == "ray.get(sleepers)"


def test_the_whole_has_rays_own_frames_and_threads(live: Live) -> None:
    (node,) = [node for node in live.stack() if node["name"] == "sleeper"]
    answer = live.frames(node=node["id"], whole=True)
    assert [node["node"] for node in answer["nodes"]] == [node["id"]]
    names = {frame["name"] for frame in answer["nodes"][0]["frames"]}
    assert names >= {"MainThread", "Worker.main_loop", "sleeper", "inner"}


def test_a_worker_that_dies_meanwhile_is_reported(live: Live) -> None:
    victim = live.worker_of("victim")
    os.kill(victim["worker_pid"], signal.SIGKILL)
    both = [victim["worker_id"], live.worker_of("sleeper")["worker_id"]]
    # Its dump may hold for a second.
    wait_until(lambda: live.frames(workers=both)["problems"], "its end to be told")
    answer = live.frames(workers=both)
    (problem,) = answer["problems"]
    # Not running: the record knows of its end already.
    assert problem["code"] in ("gone", "not_running")
    assert problem["remedy"]
    assert [worker["worker_id"] for worker in problem["workers"]] == [victim["worker_id"]]
    assert len(answer["workers"]) == 1
    # The answers of the node's agent and of py-spy about a process that has ended.
    assert live.server.services is not None
    gcs = live.server.services.clusters.gcs_of(live.session)
    assert gcs is not None
    agent = Agent(gcs, victim["node_id"])
    with pytest.raises(TracebackError) as error:
        agent.traceback(victim["worker_pid"], 10)
    agent.close()
    assert error.value.code == "gone"
