"""What the decoders of both formats share: from the parts of a task's event to its records."""

from __future__ import annotations

from collections.abc import Sequence

from rayscope.model import Attempt, Entity, RecordBatch, Span
from rayscope.ray.common import TRACED, ProfileEntry, cached_if_short, canonical_json, is_nil, split_profile
from rayscope.ray.events import tracer

_WORKER_ID_BYTES = 28
TASK_ID_BYTES = 24
_DRIVER_TASK = "f" * 40
_CREATION_TASK = "f" * 16
_NIL_TASK = "f" * 48


def count(batch: RecordBatch, what: str, number: int = 1) -> None:
    """Count something that we do not know."""
    batch.unknown[what] = batch.unknown.get(what, 0) + number


def problem(error: Exception) -> str:
    """What is wrong with an event, as it is counted."""
    return f"invalid event: {type(error).__name__}: {error}"[:200]


def task_id_hex(value: bytes) -> str:
    """A task id as hex. Raises ValueError if it is none."""
    if len(value) != TASK_ID_BYTES:
        raise ValueError(f"a task id of {len(value)} bytes")
    return value.hex()


@cached_if_short(16_384, max_length=64)  # nodes, workers, jobs, actors and parents come again and again
def hex_id(value: bytes) -> str | None:
    """An id as hex, None if it is nil."""
    text = value.hex()
    return None if is_nil(text) else text


def function_name(class_path: str, path: str) -> str | None:
    """What Ray's state API calls ``func_or_class_name``: the last name, behind its class if it has one."""
    name = path.rpartition(".")[2]
    class_name = class_path.rpartition(".")[2]
    return (f"{class_name}.{name}" if class_name else name) or None


def told_by(task_id: str) -> tuple[str | None, str | None]:
    """The type and the actor of a task, as far as its id alone tells them.

    A task that creates an actor has eight bytes of ones and the actor's id; a driver has more ones.
    """
    if not task_id.startswith(_CREATION_TASK):
        return None, None
    return (
        ("DRIVER_TASK", None) if task_id.startswith(_DRIVER_TASK) else ("ACTOR_CREATION_TASK", task_id[16:])
    )


def undefined(task_id: str, number: int) -> Attempt:
    """An attempt, with what its id alone tells: nobody defines drivers and restarts of actors."""
    attempt = Attempt(task_id, number)
    if task_id.startswith("ff"):
        attempt.type, attempt.actor_id = told_by(task_id)
    return attempt


def dropped(task_id: bytes, number: int) -> Attempt:
    """An attempt of which Ray dropped events; its id ends with that of its job.

    Raises ValueError if it is no id of a task.
    """
    task = task_id_hex(task_id)
    if is_nil(task):
        raise ValueError("a nil task id")
    attempt = undefined(task, number)
    attempt.job_id = hex_id(task_id[-4:])
    return attempt


def profiled(
    task_id: str,
    number: int,
    job_id: bytes,
    component_type: str,
    component_id: bytes,
    phases: dict[str, tuple[int, int]],
    outcome: tracer.Outcome,
) -> Attempt:
    """An attempt, with what its profile tells of it."""
    of_worker = component_type == "worker" and len(component_id) == _WORKER_ID_BYTES
    return Attempt(
        task_id,
        number,
        job_id=hex_id(job_id),
        worker_id=hex_id(component_id) if of_worker else None,
        cpu_ns=outcome.cpu_ns,
        phases=phases,
        returned=outcome.returned,
    )


def add_profile(
    batch: RecordBatch,
    task_id: str,
    number: int,
    job_id: bytes,
    component_type: str,
    component_id: bytes,
    entries: Sequence[ProfileEntry],
) -> None:
    """A task's profile events as an attempt with phases, and spans."""
    if task_id == _NIL_TASK:
        # The coroutines of an async actor run outside of any task, as far as Ray's profiler knows.
        extra = canonical_json({"worker_id": component_id.hex()})
        told = [entry for entry in entries if entry.event_name in TRACED and len(entry.extra_data) > 2]
        tracer.add(told, "", 0, component_id, batch)
        batch.spans.extend(
            [
                Span("", 0, entry.event_name, entry.start_time, entry.end_time, extra)
                for entry in entries
                if entry not in told
            ]
        )
        return
    phases, spans, told = split_profile(entries, task_id, number)
    if spans:
        batch.spans.extend(spans)
    outcome = tracer.add(told, task_id, number, component_id, batch) if told else tracer.NOTHING_TOLD
    if phases or outcome.returned or outcome.cpu_ns is not None:
        attempt = profiled(task_id, number, job_id, component_type, component_id, phases, outcome)
        if task_id.startswith("ff"):
            attempt.type, attempt.actor_id = told_by(task_id)
            if number and attempt.type == "ACTOR_CREATION_TASK" and "total" in phases:
                # A restart of an actor: its owner, who tells the end of all other tasks, knows nothing of it.
                attempt.states["FINISHED"] = phases["total"][1]
        batch.attempts.append(attempt)


def checked(entity: Entity) -> Entity:
    """Entities come from untyped JSON: their values must be ones that can be merged."""
    for values in (entity.fields, *entity.transitions.values()):
        for name, value in values.items():
            if not isinstance(value, (str, int, float)):
                raise ValueError(f"{name} of a {entity.kind} is no plain value")
    return entity
