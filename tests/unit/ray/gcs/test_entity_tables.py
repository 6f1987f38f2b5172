"""The GCS's actor, node, worker, job and placement group tables to entities."""

from __future__ import annotations

import json
from typing import Any

from ray.core.generated import gcs_pb2

from rayscope.ray.gcs import entity_tables

JOB = bytes.fromhex("01000000")
NODE = b"\x01" * 28
WORKER = b"\x02" * 28
ACTOR = b"\x03" * 12 + JOB
NOW = 99


def test_living_actor() -> None:
    unknown: dict[str, int] = {}
    data = gcs_pb2.ActorTableData(
        actor_id=ACTOR,
        job_id=JOB,
        state=2,
        class_name="Counter",
        name="c",
        ray_namespace="ns",
        is_detached=True,
        required_resources={"CPU": 1.0},
        serialized_runtime_env='{"env_vars":{"K":"hunter2"}}',
        max_restarts=-1,
        num_restarts=2,
        pid=7,
        node_id=NODE,
        address={"node_id": NODE, "worker_id": WORKER},
        placement_group_id=b"\xff" * 18,
        start_time=5,
        end_time=0,
    )
    entity = entity_tables.actor(data, NOW, unknown)
    assert (entity.kind, entity.id, entity.observed_ns, unknown) == ("actor", ACTOR.hex(), NOW, {})
    assert entity.fields == {
        "job_id": "01000000",
        "class_name": "Counter",
        "name": "c",
        "ray_namespace": "ns",
        "is_detached": True,
        "required_resources": '{"CPU":1.0}',
        "runtime_env": '{"env_vars":{"K":"<redacted>"}}',
        "max_restarts": -1,
    }
    assert entity.observed == {
        "state": "ALIVE",
        "node_id": NODE.hex(),
        "worker_id": WORKER.hex(),
        "pid": 7,
        "num_restarts": 2,
        "start_ns": 5_000_000,
    }


def dead(**cause: Any) -> dict[str, Any]:
    data = gcs_pb2.ActorTableData(actor_id=ACTOR, state=4, death_cause=cause, end_time=6)
    return dict(entity_tables.actor(data, NOW, {}).observed)


def test_why_an_actor_died() -> None:
    crash = dead(actor_died_error_context={"error_message": "\x1b[1mgone", "actor_id": ACTOR, "pid": 3})
    assert crash["death_reason"] == "gone"
    assert crash["end_ns"] == 6_000_000
    context = json.loads(crash["death_cause"])["actor_died_error_context"]
    assert (context["actor_id"], context["pid"], context["reason"]) == (ACTOR.hex(), 3, "UNSPECIFIED")
    failed = dead(
        creation_task_failure_context={
            "formatted_exception_string": "ValueError: no",
            "serialized_exception": b"\x80pickle",
        }
    )
    assert failed["death_reason"] == "ValueError: no"
    assert "serialized_exception" not in failed["death_cause"]
    assert dead(runtime_env_failed_context={"error_message": "no pip"})["death_reason"] == "no pip"
    assert dead(oom_context={"error_message": "too much"})["death_reason"] == "too much"
    assert "death_reason" not in dead()


def test_nodes() -> None:
    data = gcs_pb2.GcsNodeInfo(
        node_id=NODE,
        node_manager_address="10.0.0.1",
        node_manager_hostname="h",
        node_name="n",
        is_head_node=True,
        resources_total={"CPU": 4.0},
        labels={"zone": "b"},
        start_time_ms=5,
        metrics_export_port=80,
        dashboard_agent_listen_port=-1,
    )
    entity = entity_tables.node(data, NOW, {})
    assert entity.fields == {
        "node_ip": "10.0.0.1",
        "node_name": "n",
        "hostname": "h",
        "is_head": True,
        "labels": '{"zone":"b"}',
        "start_ns": 5_000_000,
        "metrics_export_port": 80,
    }
    assert entity.observed == {"state": "ALIVE", "resources_total": '{"CPU":4.0}'}
    data.state = 1
    data.end_time_ms = 9
    data.death_info.reason = 2
    data.death_info.reason_message = "health check failed"
    assert entity_tables.node(data, NOW, {}).observed == {
        "state": "DEAD",
        "end_ns": 9_000_000,
        "resources_total": "{}" if not data.resources_total else '{"CPU":4.0}',
        "death_reason": "UNEXPECTED_TERMINATION",
        "death_message": "health check failed",
    }


def test_workers() -> None:
    data = gcs_pb2.WorkerTableData(
        is_alive=True,
        worker_address={"node_id": NODE, "worker_id": WORKER, "ip_address": "10.0.0.1"},
        worker_type=1,
        pid=7,
        start_time_ms=5,
        end_time_ms=0,
        worker_launch_time_ms=2**64 - 1,
        worker_launched_time_ms=4,
        job_id=JOB,
    )
    entity = entity_tables.worker(data, NOW, {})
    assert entity.id == WORKER.hex()
    assert entity.fields == {
        "node_id": NODE.hex(),
        "pid": 7,
        "worker_type": "DRIVER",
        "ip": "10.0.0.1",
        "job_id": "01000000",
        "start_ns": 5_000_000,
        "launched_ns": 4_000_000,
    }
    assert entity.observed == {"state": "ALIVE"}
    data.is_alive = False
    data.exit_type = 0
    data.exit_detail = "killed"
    data.end_time_ms = 9
    assert entity_tables.worker(data, NOW, {}).observed == {
        "state": "DEAD",
        "end_ns": 9_000_000,
        "exit_type": "SYSTEM_ERROR",
        "exit_detail": "killed",
    }
    data.exit_type = 4
    data.memory_used_bytes_at_death = 8_482_560_409
    observed = entity_tables.worker(data, NOW, {}).observed
    assert (observed["exit_type"], observed["death_memory_bytes"]) == ("NODE_OUT_OF_MEMORY", 8_482_560_409)
    data.num_paused_threads = 0
    assert entity_tables.worker(data, NOW, {}).observed["paused_threads"] == 0


def job(**fields: Any) -> Any:
    return gcs_pb2.JobTableData(**{"job_id": JOB, "entrypoint": "python a.py", **fields})


def test_driver_jobs() -> None:
    running = entity_tables.job(job(driver_pid=7, start_time=5, driver_ip_address="10.0.0.1"), NOW, {})
    assert running.fields == {
        "type": "DRIVER",
        "entrypoint": "python a.py",
        "driver_pid": 7,
        "driver_ip": "10.0.0.1",
        "start_ns": 5_000_000,
    }
    assert running.observed == {"state": "RUNNING"}
    # Ray's state API calls any driver that ended so.
    ended = entity_tables.job(job(is_dead=True, end_time=9), NOW, {})
    assert ended.observed == {"state": "SUCCEEDED", "end_ns": 9_000_000}
    internal = entity_tables.job(job(config={"ray_namespace": "_ray_internal_dashboard"}), NOW, {})
    assert internal.fields["is_internal"] is True


def test_a_submissions_driver_has_the_submissions_outcome() -> None:
    data = job(
        is_dead=True,
        config={
            "metadata": {"job_submission_id": "sub"},
            "runtime_env_info": {"serialized_runtime_env": '{"env_vars":{"K":"hunter2"}}'},
        },
        job_info={"status": "FAILED", "message": "m", "driver_exit_code": 3, "start_time": 1, "end_time": 2},
    )
    entity = entity_tables.job(data, NOW, {})
    assert entity.fields["type"] == "SUBMISSION"
    assert entity.fields["submission_id"] == "sub"
    assert "hunter2" not in repr(entity)
    assert entity.observed == {
        "state": "FAILED",
        "message": "m",
        "exit_code": 3,
        "start_ns": 1_000_000,
        "end_ns": 2_000_000,
    }


def test_placement_groups() -> None:
    data = gcs_pb2.PlacementGroupTableData(
        placement_group_id=b"\x04" * 18,
        name="g",
        creator_job_id=JOB,
        creator_actor_id=b"\xff" * 16,
        strategy=3,
        state=4,
        bundles=[
            {"bundle_id": {"bundle_index": 0}, "unit_resources": {"CPU": 1.0}, "node_id": NODE},
            {"bundle_id": {"bundle_index": 1}, "unit_resources": {"CPU": 1.0}},
        ],
        stats={"creation_request_received_ns": 5, "scheduling_attempt": 2},
    )
    entity = entity_tables.placement_group(data, NOW, {})
    assert entity.fields == {
        "name": "g",
        "job_id": "01000000",
        "strategy": "STRICT_SPREAD",
        "is_detached": False,
        "created_ns": 5,
    }
    assert entity.observed["state"] == "RESCHEDULING"
    assert json.loads(str(entity.observed["bundles"])) == [
        {"index": 0, "node_id": NODE.hex(), "resources": {"CPU": 1.0}},
        {"index": 1, "node_id": None, "resources": {"CPU": 1.0}},
    ]
    assert json.loads(str(entity.observed["stats"]))["scheduling_attempt"] == 2


def test_states_of_a_newer_ray_are_counted() -> None:
    unknown: dict[str, int] = {}
    entity = entity_tables.actor(gcs_pb2.ActorTableData(actor_id=ACTOR, state=77), NOW, unknown)
    assert entity.observed["state"] == "77"
    assert unknown == {"enum ActorTableData.state 77": 1}
