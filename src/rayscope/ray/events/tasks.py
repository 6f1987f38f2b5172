"""What the decoders of both formats share: from the parts of a task's event to its records."""

from __future__ import annotations

from rayscope.model import Attempt, Entity, RecordBatch
from rayscope.ray.common import cached_if_short, is_nil

TASK_ID_BYTES = 24
_DRIVER_TASK = "f" * 40
_CREATION_TASK = "f" * 16


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


def dropped(task_id: bytes, number: int) -> Attempt:
    """An attempt of which Ray dropped events; its id ends with that of its job.

    Raises ValueError if it is no id of a task.
    """
    task = task_id_hex(task_id)
    if is_nil(task):
        raise ValueError("a nil task id")
    of_type, actor_id = told_by(task)
    return Attempt(task, number, type=of_type, actor_id=actor_id, job_id=hex_id(task_id[-4:]))


def checked(entity: Entity) -> Entity:
    """Entities come from untyped JSON: their values must be ones that can be merged."""
    for values in (entity.fields, *entity.transitions.values()):
        for name, value in values.items():
            if not isinstance(value, (str, int, float)):
                raise ValueError(f"{name} of a {entity.kind} is no plain value")
    return entity
