"""The cause of a death by the rows of the record. The texts are Ray 2.60's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayscope.cluster.deaths.compute import Facts, death_of
from rayscope.cluster.deaths.schemas import Death, Subject
from rayscope.ray.crash_report import CrashReport

JOB = "01000000"
NODE = "a" * 56
WORKER = "b" * 56
OWNER = "c" * 56
ACTOR = "d" * 24
DRIVER = JOB + "f" * 48
UNEXPECTED = (
    "Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) "
    "the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called, or "
    "(3) the worker crashed unexpectedly due to SIGSEGV or another unexpected error."
)


def worker(
    exit_type: str | None, detail: str | None, identity: str = WORKER, **fields: Any
) -> dict[str, dict[str, Any]]:
    row = {
        "id": identity,
        "worker_type": "WORKER",
        "node_id": NODE,
        "job_id": JOB,
        "pid": 77,
        "exit_type": exit_type,
        "exit_detail": detail,
        "headline": "ValueError: no",
        "death_memory_bytes": None,
        "end_ns": 50,
        **fields,
    }
    return {identity: row}


def actor(cause: dict[str, Any] | None, reason: str = "", **fields: Any) -> dict[str, dict[str, Any]]:
    row = {
        "id": ACTOR,
        "worker_id": WORKER,
        "node_id": NODE,
        "job_id": JOB,
        "death_cause": json.dumps(cause) if cause else None,
        "death_reason": reason,
        "headline": "ValueError: no",
        "end_ns": 60,
        **fields,
    }
    return {ACTOR: row}


def died(reason: str, **more: Any) -> dict[str, Any]:
    return {"actor_died_error_context": {"reason": reason, **more}}


def node(
    reason: str | None, message: str | None = None, known_by: str | None = None
) -> dict[str, dict[str, Any]]:
    row = {
        "id": NODE,
        "state": "DEAD",
        "death_reason": reason,
        "death_message": message,
        "end_ns": 40,
        "end_known_by": known_by,
    }
    return {NODE: row}


def job(state: str, exit_code: int | None = None, end_ns: int | None = 70) -> dict[str, dict[str, Any]]:
    row = {
        "id": JOB,
        "state": state,
        "exit_code": exit_code,
        "error_type": None,
        "message": None,
        "driver_pid": 99,
        "end_ns": end_ns,
        "end_known_by": None,
    }
    return {JOB: row}


def process(
    exit_code: int | None = None, signal: str | None = None, **more: Any
) -> dict[str, dict[str, Any]]:
    row = {
        "exit_code": exit_code,
        "signal": signal,
        "source": "pidfd",
        "end_ns": 50,
        "rss_bytes": 7,
        "memory_available": 1,
        "memory_total": 8,
        "cgroup_limit": None,
        "cgroup_used": None,
        "oom_kills": None,
        "kernel_record": None,
        "disk_free": None,
        "fds": None,
        **more,
    }
    return {WORKER: row}


def codes(death: Death) -> list[str]:
    return [link["code"] for link in death["chain"]]


def death(facts: Facts, kind: Subject, identity: str) -> Death:
    found = death_of(facts, kind, identity)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("exit_type", "detail", "cause", "is_expected"),
    [
        ("INTENDED_SYSTEM_EXIT", "Worker exited because it was idle for a long time", "idle", True),
        ("INTENDED_USER_EXIT", "Worker force exited because its job has finished", "job_ended", True),
        ("INTENDED_USER_EXIT", "Worker exits by an user request. Worker exits with an exit code 0.", "actor_exited", True),
        (
            "INTENDED_USER_EXIT",
            "Worker exits by an user request. Exited because worker reached max_calls=1 for this method.",
            "max_calls",
            True,
        ),
        ("SYSTEM_ERROR", "Failed to execute the setup hook method: no", "worker_start_failed", False),
        ("INTENDED_SYSTEM_EXIT", "A text of a later Ray", "released", True),
        (
            "INTENDED_SYSTEM_EXIT",
            "Worker exits because the actor is killed. The actor is dead because it was killed by `ray.kill`.",
            "ray_kill",
            True,
        ),
        (
            "INTENDED_SYSTEM_EXIT",
            "Worker exits because the actor is killed. The actor is dead because all references to the actor "
            "were removed.",
            "out_of_scope",
            True,
        ),
        ("SYSTEM_ERROR", "Force-killed by ray.cancel(force=True)", "cancelled", True),
        ("INTENDED_USER_EXIT", "The worker exits because the task die has received a force ray.cancel request.", "cancelled", True),
        ("SYSTEM_ERROR", "Worker exits unexpectedly. Worker exits with an exit code 3.", "exited", False),
        ("SYSTEM_ERROR", "Worker exits with an exit code 1. The process receives a SIGTERM.", "terminated", False),
        ("USER_ERROR", "Worker exits because there was an exception in the initialization method", "creation_failed", False),
        ("NODE_OUT_OF_MEMORY", "Task was killed due to the node running low on memory.", "memory_monitor", False),
    ],
)  # fmt: skip
def test_rays_own_account_of_a_worker(exit_type: str, detail: str, cause: str, is_expected: bool) -> None:
    found = death(Facts(workers=worker(exit_type, detail)), "worker", WORKER)
    assert (found["cause"], found["is_expected"], found["candidates"]) == (cause, is_expected, [])
    assert found["chain"][-1]["source"] == "ray"
    assert found["ray"] == f"{exit_type}: {detail}"


def test_what_a_process_held_when_rays_memory_monitor_killed_it() -> None:
    detail = "Task was killed due to the node running low on memory."
    killed = worker("NODE_OUT_OF_MEMORY", detail, death_memory_bytes=8_482_560_409)
    assert death(Facts(workers=killed), "worker", WORKER)["memory_bytes"] == 8_482_560_409
    for cause in ({"oom_context": {}}, died("WORKER_DIED")):
        found = death(Facts(actors=actor(cause), workers=killed), "actor", ACTOR)
        assert (found["cause"], found["memory_bytes"]) == ("memory_monitor", 8_482_560_409)
    unknown = Facts(actors=actor({"oom_context": {}}), workers=worker("NODE_OUT_OF_MEMORY", detail))
    assert death(unknown, "actor", ACTOR)["memory_bytes"] is None
    unknown.workers.clear()
    assert death(unknown, "actor", ACTOR)["memory_bytes"] is None


@pytest.mark.parametrize(
    ("end", "cause", "source"),
    [
        (process(exit_code=3), "exited", "kernel"),
        (process(exit_code=0), "exited", "kernel"),
        (process(signal="SIGSEGV"), "crashed", "kernel"),
        (process(signal="SIGTERM"), "terminated", "kernel"),
        (process(signal="SIGKILL", oom_kills=0), "killed", "kernel"),
        (process(signal="SIGKILL", oom_kills=1), "kernel_oom", "oom_counter"),
        (process(signal="SIGKILL", kernel_record="Out of memory: Killed process 77"), "kernel_oom", "kernel_log"),
    ],
)  # fmt: skip
def test_the_exit_status_tells_what_ray_cannot(end: dict[str, Any], cause: str, source: str) -> None:
    found = death(Facts(workers=worker("SYSTEM_ERROR", UNEXPECTED), ends=end), "worker", WORKER)
    assert (found["cause"], found["chain"][-1]["source"], found["is_expected"]) == (cause, source, False)
    assert found["process"] is not None
    assert "(pid 77)" in found["chain"][-1]["message"]


def test_a_connection_error_alone_leaves_four_candidates() -> None:
    found = death(Facts(workers=worker("SYSTEM_ERROR", UNEXPECTED)), "worker", WORKER)
    assert (found["cause"], found["chain"]) == ("unknown", [])
    assert [one["code"] for one in found["candidates"]] == ["kernel_oom", "killed", "exited", "crashed"]
    assert found["missing"] is not None
    assert found["missing"]["code"] == "exit_status"


def test_sigkill_without_the_oom_counter_leaves_two_candidates() -> None:
    end = process(signal="SIGKILL")
    found = death(Facts(workers=worker("SYSTEM_ERROR", UNEXPECTED), ends=end), "worker", WORKER)
    assert (found["cause"], codes(found)) == ("unknown", ["sigkill"])
    assert [one["code"] for one in found["candidates"]] == ["kernel_oom", "killed"]


def test_a_crash_report_names_the_signal() -> None:
    report = CrashReport(0, "SIGSEGV", None, False)
    facts = Facts(workers=worker("SYSTEM_ERROR", UNEXPECTED), crashes={WORKER: report})
    found = death(facts, "worker", WORKER)
    assert (found["cause"], found["chain"][-1]["source"]) == ("crashed", "log")
    assert found["chain"][-1]["params"]["signal"] == "SIGSEGV"


def test_a_worker_that_ray_killed_after_its_job_was_not_killed_by_someone() -> None:
    facts = Facts(
        workers=worker("SYSTEM_ERROR", UNEXPECTED),
        jobs=job("SUCCEEDED", end_ns=45),
        ends=process(signal="SIGKILL", oom_kills=0),
    )
    assert death(facts, "worker", WORKER)["cause"] == "job_ended"


def test_a_worker_that_has_not_ended_has_no_cause() -> None:
    assert death_of(Facts(workers=worker(None, None, end_ns=None)), "worker", WORKER) is None
    assert death_of(Facts(), "worker", WORKER) is None


def test_an_actors_chain_ends_at_its_workers_cause() -> None:
    facts = Facts(
        actors=actor(died("WORKER_DIED"), "The actor is dead because its worker process has died."),
        workers=worker("SYSTEM_ERROR", UNEXPECTED),
        ends=process(signal="SIGKILL", oom_kills=1),
    )
    found = death(facts, "actor", ACTOR)
    assert codes(found) == ["worker_died", "kernel_oom"]
    assert (found["cause"], found["is_expected"]) == ("kernel_oom", False)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (died("RAY_KILL"), "ray_kill"),
        (died("OUT_OF_SCOPE"), "out_of_scope"),
        (died("REF_DELETED"), "out_of_scope"),
        ({"creation_task_failure_context": {}}, "creation_failed"),
        ({"runtime_env_failed_context": {}}, "runtime_env_failed"),
    ],
)
def test_rays_own_account_of_an_actor(cause: dict[str, Any], code: str) -> None:
    found = death(Facts(actors=actor(cause), workers=worker(None, None, end_ns=None)), "actor", ACTOR)
    assert codes(found) == [code]


def test_a_library_says_why_it_ended_an_actor() -> None:
    library = {"actor_id": ACTOR, "code": "health_check_failed", "detail": "RuntimeError: ill"}
    found = death(Facts(actors=actor(died("RAY_KILL")), libraries={ACTOR: library}), "actor", ACTOR)
    assert (codes(found), found["is_expected"]) == (["ray_kill", "health_check_failed"], False)
    facts = Facts(
        actors=actor(died("WORKER_DIED")),
        workers=worker("SYSTEM_ERROR", "Worker exits with an exit code 3."),
        libraries={ACTOR: library},
    )
    assert codes(death(facts, "actor", ACTOR)) == ["worker_died", "exited"]


def test_an_owners_death_is_followed_to_its_cause() -> None:
    facts = Facts(
        actors=actor(died("OWNER_DIED")),
        owners={ACTOR: OWNER, WORKER: OWNER},
        workers={
            **worker("INTENDED_SYSTEM_EXIT", "The actor is dead because its owner has died."),
            **worker("SYSTEM_ERROR", "Worker exits with an exit code 3.", OWNER),
        },
    )
    for found in (death(facts, "actor", ACTOR), death(facts, "worker", WORKER)):
        assert codes(found) == ["owner_died", "exited"]
        assert found["chain"][-1]["id"] == OWNER


def test_an_actor_of_a_driver_that_finished_ended_with_its_job() -> None:
    driver = worker("INTENDED_USER_EXIT", "Shutdown by ray.shutdown().", DRIVER, worker_type="DRIVER")
    facts = Facts(actors=actor(died("OWNER_DIED")), owners={ACTOR: DRIVER}, workers=driver)
    found = death(facts, "actor", ACTOR)
    assert (codes(found), found["is_expected"]) == (["job_ended"], True)


@pytest.mark.parametrize(
    ("driver_job", "chain", "is_expected"),
    [
        (job("FAILED", 1), ["owner_died", "driver_failed"], False),
        (job("STOPPED"), ["owner_died", "job_stopped"], True),
        (job("SUCCEEDED", 0), ["job_ended"], True),
    ],
)
def test_an_actor_of_a_driver_that_failed_ended_with_it(
    driver_job: dict[str, Any], chain: list[str], is_expected: bool
) -> None:
    driver = worker("INTENDED_USER_EXIT", "Shutdown by ray.shutdown().", DRIVER, worker_type="DRIVER")
    facts = Facts(actors=actor(died("OWNER_DIED")), owners={ACTOR: DRIVER}, workers=driver, jobs=driver_job)
    found = death(facts, "actor", ACTOR)
    assert (codes(found), found["is_expected"]) == (chain, is_expected)


def test_an_owner_that_died_with_its_node() -> None:
    facts = Facts(
        actors=actor(died("OWNER_DIED"), "Worker exit detail: Owner's node has crashed."),
        nodes=node("EXPECTED_TERMINATION", "received SIGTERM"),
    )
    assert codes(death(facts, "actor", ACTOR)) == ["node_died", "node_stopped"]


def test_rays_exit_code_comes_before_the_signal_with_which_ray_ends_the_process() -> None:
    facts = Facts(
        workers=worker("SYSTEM_ERROR", "The leased worker has failed. Worker exits with an exit code 3."),
        ends=process(signal="SIGKILL", oom_kills=0),
        nodes=node("EXPECTED_TERMINATION"),
    )
    assert codes(death(facts, "worker", WORKER)) == ["exited"]


def test_sigterm_after_the_death_of_the_owner_came_from_ray() -> None:
    facts = Facts(
        owners={WORKER: OWNER},
        workers={
            **worker("SYSTEM_ERROR", "Worker exits with an exit code 1. The process receives a SIGTERM."),
            **worker("SYSTEM_ERROR", UNEXPECTED, OWNER),
        },
    )
    found = death(facts, "worker", WORKER)
    assert (codes(found), found["cause"]) == (["owner_died"], "unknown")


def test_the_worker_knows_of_a_removed_placement_group_first() -> None:
    detail = "Destroying worker since its placement group was removed. Placement group id: fb06"
    facts = Facts(actors=actor(died("OUT_OF_SCOPE")), workers=worker("INTENDED_SYSTEM_EXIT", detail))
    assert codes(death(facts, "actor", ACTOR)) == ["placement_group_removed"]


def test_what_ended_with_its_node_ends_at_the_nodes_cause() -> None:
    facts = Facts(
        actors=actor(died("NODE_DIED")),
        workers=worker(None, None),
        nodes=node("UNEXPECTED_TERMINATION", "health check failed due to missing too many heartbeats"),
    )
    assert codes(death(facts, "actor", ACTOR)) == ["node_died", "node_lost"]
    assert codes(death(facts, "worker", WORKER)) == ["node_died", "node_lost"]
    assert death(facts, "node", NODE)["cause"] == "node_lost"


def test_kubernetes_says_more_about_a_node_than_ray() -> None:
    facts = Facts(
        nodes=node("UNEXPECTED_TERMINATION", "health check failed"),
        events={NODE: {"node_id": NODE, "what": "Evicted", "time_ns": 39}},
    )
    found = death(facts, "node", NODE)
    assert (found["cause"], found["chain"][-1]["source"]) == ("pod_event", "platform")
    assert "Evicted" in found["chain"][-1]["message"]


@pytest.mark.parametrize(
    ("state", "status", "cause", "is_expected"),
    [
        ("SUCCEEDED", 0, "finished", True),
        ("SUCCEEDED", None, "finished", True),
        ("FAILED", 1, "driver_failed", False),
        ("FAILED", 130, "interrupted", False),
        ("FAILED", -15, "terminated", False),
        ("FAILED", 139, "crashed", False),
        ("FAILED", 137, "unknown", False),
        ("STOPPED", None, "job_stopped", True),
    ],
)
def test_a_jobs_exit_status(state: str, status: int | None, cause: str, is_expected: bool) -> None:
    found = death(Facts(jobs=job(state, status)), "job", JOB)
    assert (found["cause"], found["is_expected"]) == (cause, is_expected)


@pytest.mark.parametrize(
    ("status", "line", "cause"),
    [
        (1, "KeyboardInterrupt", "interrupted"),
        (134, "*** SIGTERM received at time=1760000000 on cpu 1 ***", "terminated"),
        (1, "ValueError: no such column", "driver_raised"),
        (1, "ray.exceptions.WorkerCrashedError: The worker died", "driver_raised"),
        (7, "done", "driver_failed"),
    ],
)
def test_the_last_line_of_a_drivers_log_tells_more_than_its_status(
    status: int, line: str, cause: str
) -> None:
    facts = Facts(jobs=job("FAILED", status), last_lines={JOB: ["first", line]})
    found = death(facts, "job", JOB)
    assert found["cause"] == cause
    assert found["chain"][0]["source"] == ("program" if cause == "driver_failed" else "log")


def test_a_job_without_a_status_ends_at_its_drivers_cause() -> None:
    facts = Facts(
        jobs=job("FINISHED"),
        drivers={JOB: DRIVER},
        workers=worker("SYSTEM_ERROR", UNEXPECTED, DRIVER, worker_type="DRIVER"),
    )
    found = death(facts, "job", JOB)
    assert (codes(found), found["cause"]) == (["driver_died"], "unknown")
