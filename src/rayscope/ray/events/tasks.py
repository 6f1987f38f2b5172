"""Helpers of both decoders for building records from the parts of a task's event."""

from __future__ import annotations

from rayscope.model import Attempt, Entity, RecordBatch
from rayscope.ray.common import cached_if_short, is_nil

TASK_ID_BYTES = 24
_DRIVER_TASK = "f" * 40
_CREATION_TASK = "f" * 16


def count(batch: RecordBatch, what: str, number: int = 1) -> None:
    """Count occurrences of something unknown, such as a field that Rayscope does not read."""
    batch.unknown[what] = batch.unknown.get(what, 0) + number


def problem(error: Exception) -> str:
    """The name under which an error in an event is counted."""
    return f"invalid event: {type(error).__name__}: {error}"[:200]


def task_id_hex(value: bytes) -> str:
    """A task ID as hex. Raises ValueError if it is not one."""
    if len(value) != TASK_ID_BYTES:
        raise ValueError(f"a task id of {len(value)} bytes")
    return value.hex()


@cached_if_short(4096, max_length=64)  # IDs of nodes, workers, jobs, actors and parents repeat
def hex_id(value: bytes) -> str | None:
    """An ID as hex, or None if it is nil."""
    text = value.hex()
    return None if is_nil(text) else text


def function_name(class_path: str, path: str) -> str | None:
    """The value of ``func_or_class_name`` in Ray's state API: the unqualified name, preceded by its class."""
    name = path.rpartition(".")[2]
    class_name = class_path.rpartition(".")[2]
    return (f"{class_name}.{name}" if class_name else name) or None


def type_and_actor(task_id: str) -> tuple[str | None, str | None]:
    """The type and the actor of a task, as far as its ID shows them.

    The ID of an actor's creation task is eight bytes of 0xff and the actor's ID. A driver's begins with
    20 such bytes.
    """
    if not task_id.startswith(_CREATION_TASK):
        return None, None
    return (
        ("DRIVER_TASK", None) if task_id.startswith(_DRIVER_TASK) else ("ACTOR_CREATION_TASK", task_id[16:])
    )


def dropped(task_id: bytes, number: int) -> Attempt:
    """An attempt whose events Ray dropped. The last bytes of a task's ID are the job's ID.

    Raises ValueError if ``task_id`` is not a task ID.
    """
    task = task_id_hex(task_id)
    if is_nil(task):
        raise ValueError("a nil task id")
    of_type, actor_id = type_and_actor(task)
    return Attempt(task, number, type=of_type, actor_id=actor_id, job_id=hex_id(task_id[-4:]))


def checked(entity: Entity) -> Entity:
    """Return the entity if its values, which come from untyped JSON, can be merged. Raises ValueError."""
    for values in (entity.fields, *entity.transitions.values()):
        for name, value in values.items():
            if not isinstance(value, (str, int, float)):
                raise ValueError(f"{name} of a {entity.kind} is no plain value")
    return entity
