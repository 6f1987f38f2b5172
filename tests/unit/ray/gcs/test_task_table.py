"""The GCS's task table to attempts and spans."""

from __future__ import annotations

from typing import Any

from ray.core.generated import gcs_pb2, gcs_service_pb2

from rayscope.model import Attempt, RecordBatch, Span, TaskError
from rayscope.ray.gcs.task_table import add_tasks, dropped

JOB = bytes.fromhex("01000000")
TASK = bytes.fromhex("c8ef45ccd0112571ffffffffffffffffffffffff01000000")
DRIVER = b"\xff" * 20 + JOB
NODE, WORKER = b"\x01" * 28, b"\x02" * 28


def event(**fields: Any) -> Any:
    return gcs_pb2.TaskEvents(**{"task_id": TASK, "job_id": JOB, **fields})


def convert(*events: Any) -> RecordBatch:
    batch = RecordBatch("s")
    add_tasks(events, batch)
    return batch


def test_nothing_but_the_id() -> None:
    batch = convert(event(attempt_number=2))
    assert batch.attempts == [Attempt(TASK.hex(), 2, job_id="01000000")]
    assert batch.unknown == {}


def test_definition() -> None:
    info = {
        "type": 0,
        "name": "train-1",
        "func_or_class_name": "train",
        "language": 0,
        "job_id": JOB,
        "parent_task_id": DRIVER,
        "placement_group_id": b"\xff" * 18,
        "required_resources": {"GPU": 0.5, "CPU": 1.0},
        "label_selector": {"zone": "b"},
        "call_site": "a.py:1",
        "runtime_env_info": {"serialized_runtime_env": '{"env_vars":{"K":"hunter2"}}'},
    }
    (attempt,) = convert(event(task_info=info)).attempts
    assert attempt == Attempt(
        TASK.hex(),
        name="train-1",
        func_name="train",
        type="NORMAL_TASK",
        language="PYTHON",
        job_id="01000000",
        parent_task_id=DRIVER.hex(),
        required_resources='{"CPU":1.0,"GPU":0.5}',
        label_selector='{"zone":"b"}',
        call_site="a.py:1",
        runtime_env='{"env_vars":{"K":"<redacted>"}}',
    )


def test_definition_without_anything_optional() -> None:
    (attempt,) = convert(event(task_info={"type": 3, "runtime_env_info": {}})).attempts
    assert attempt.type == "DRIVER_TASK"
    assert attempt.required_resources == "{}"
    assert (attempt.label_selector, attempt.runtime_env, attempt.call_site, attempt.name) == (None,) * 4


def test_creation_task_names_its_actor() -> None:
    creation = bytes.fromhex("ffffffffffffffffeb28cbe3fd1fa87ba225b50501000000")
    (attempt,) = convert(event(task_id=creation, task_info={"type": 1})).attempts
    assert attempt.actor_id == "eb28cbe3fd1fa87ba225b50501000000"


def test_states_logs_and_error() -> None:
    updates = {
        "node_id": NODE,
        "worker_id": WORKER,
        "worker_pid": 7,
        "state_ts_ns": {1: 10, 8: 20, 13: 15, 12: 30},
        "task_log_info": {"stdout_file": "/o", "stderr_file": "/e", "stdout_start": 0, "stdout_end": 5},
        "error_info": {"error_type": 3, "error_message": "\x1b[36mboom\x1b[0m"},
    }
    (attempt,) = convert(event(state_updates=updates)).attempts
    assert attempt.states == {
        "PENDING_ARGS_AVAIL": 10,
        "RUNNING": 20,
        "GETTING_AND_PINNING_ARGS": 15,
        "FAILED": 30,
    }
    assert attempt.state == "FAILED"
    assert attempt.error == TaskError(30, "TASK_EXECUTION_EXCEPTION", "boom")
    assert (attempt.node_id, attempt.worker_id, attempt.worker_pid) == (NODE.hex(), WORKER.hex(), 7)
    assert (attempt.stdout_file, attempt.stdout_start, attempt.stdout_end) == ("/o", 0, 5)
    assert (attempt.stderr_start, attempt.stderr_end) == (None, None)


def test_a_failure_is_dropped_if_the_task_had_finished() -> None:
    died = {"error_type": 0, "error_message": "Worker running the task (00) died"}
    (attempt,) = convert(event(state_updates={"state_ts_ns": {11: 5, 12: 9}, "error_info": died})).attempts
    assert (attempt.states, attempt.error) == ({"FINISHED": 5}, None)


def test_an_error_without_a_time_sorts_first() -> None:
    (attempt,) = convert(event(state_updates={"error_info": {"error_type": 0}})).attempts
    assert attempt.error == TaskError(0, "WORKER_DIED", "")


def test_values_of_a_newer_ray_are_counted() -> None:
    batch = convert(
        event(
            task_info={"type": 99, "language": 98},
            state_updates={"state_ts_ns": {97: 1}, "error_info": {"error_type": 96}},
        ),
        event(task_info={"type": 99}),
    )
    attempt = batch.attempts[0]
    assert (attempt.type, attempt.language, attempt.states) == ("99", "98", {"97": 1})
    assert attempt.error == TaskError(0, "96", "")
    assert batch.unknown == {
        "enum TaskInfoEntry.type 99": 2,
        "enum TaskInfoEntry.language 98": 1,
        "enum TaskInfoEntry.scheduling_state 97": 1,
        "enum RayErrorInfo.error_type 96": 1,
    }


def profile(*events: tuple[str, int, int, str], component: str = "worker") -> dict[str, Any]:
    keys = ("event_name", "start_time", "end_time", "extra_data")
    return {
        "component_type": component,
        "component_id": WORKER,
        "events": [dict(zip(keys, item, strict=True)) for item in events],
    }


def test_phases_and_spans() -> None:
    batch = convert(
        event(
            profile_events=profile(
                ("task:deserialize_arguments", 1, 2, "{}"),
                ("task:execute", 2, 5, "{}"),
                ("task:store_outputs", 7, 8, "{}"),
                ("task:store_outputs", 5, 6, "{}"),
                ("task::train", 1, 9, '{"name": "train"}'),
                ("ray.get", 3, 4, '{"refs":1}'),
                ("submit_task", 3, 4, "{}"),
                ("ray.wait", 3, 4, ""),
            )
        )
    )
    (attempt,) = batch.attempts
    assert attempt.phases == {"deserialize": (1, 2), "execute": (2, 5), "store": (5, 6), "total": (1, 9)}
    assert attempt.worker_id == WORKER.hex()
    assert batch.spans == [
        Span(TASK.hex(), 0, "submit_task", 3, 4),
        Span(TASK.hex(), 0, "ray.wait", 3, 4),
        # A generator stores more than once; the phase keeps the first, the spans all.
        Span(TASK.hex(), 0, "task:store_outputs", 7, 8),
        Span(TASK.hex(), 0, "task:store_outputs", 5, 6),
        # It has the name of a span of the tracer, and is none.
        Span(TASK.hex(), 0, "ray.get", 3, 4, '{"refs":1}'),
    ]


def test_a_drivers_component_is_no_worker() -> None:
    (attempt,) = convert(
        event(profile_events=profile(("task:execute", 1, 2, ""), component="driver"))
    ).attempts
    assert attempt.worker_id is None


def test_losses() -> None:
    reply = gcs_service_pb2.GetTaskEventsReply(num_profile_task_events_dropped=5, num_truncated=2)
    assert dropped(reply) == {"status_events_dropped": 0, "profile_events_dropped": 5, "truncated": 2}
