"""Task attempts, and the structs that partial accounts of them consist of.

:mod:`rayscope.storage.sql.merge` merges accounts.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

#: Ray's ``TaskStatus``. The state of an attempt is the last one in this order that has a time, as in Ray
#: (``protobuf_to_task_state_dict`` in ``util/state/common.py``).
STATES: tuple[str, ...] = (
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
    "SUBMITTED_TO_WORKER",
    "PENDING_ACTOR_TASK_ARGS_FETCH",
    "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY",
    "GETTING_AND_PINNING_ARGS",
    "RUNNING",
    "RUNNING_IN_RAY_GET",
    "RUNNING_IN_RAY_WAIT",
    "FINISHED",
    "FAILED",
)
#: Ray's ``TaskType``.
TASK_TYPES: tuple[str, ...] = ("NORMAL_TASK", "ACTOR_CREATION_TASK", "ACTOR_TASK", "DRIVER_TASK")
#: Ray's ``ErrorType`` of a task that was canceled.
CANCELED = "TASK_CANCELLED"
#: A state of our own: the attempt had no end when its worker, node, job or session ended.
CUT_OFF = "CUT_OFF"
_RANK = {state: rank for rank, state in enumerate(STATES)}

#: Spans that Ray's worker reports once per attempt, stored as columns instead of rows. ``total`` is Ray's
#: ``task::<name>`` span around the other three.
PHASES: tuple[str, ...] = ("deserialize", "execute", "store", "total")


class TaskError(NamedTuple):
    """Why an attempt failed, as reported by Ray."""

    time_ns: int
    type: str
    message: str


#: Fields reported by the submitter. They are the same for all attempts of a task.
DEFINITION: tuple[str, ...] = (
    "name",
    "func_name",
    "module_name",
    "function_hash",
    "type",
    "language",
    "job_id",
    "parent_task_id",
    "caller_task_id",
    "actor_id",
    "placement_group_id",
    "required_resources",
    "label_selector",
    "runtime_env",
    "call_site",
)
#: Scalar fields of an attempt: strings and integers, None if unknown.
SCALARS: tuple[str, ...] = (
    *DEFINITION,
    "node_id",
    "worker_id",
    "worker_pid",
    "actor_repr_name",
    "stdout_file",
    "stderr_file",
    "stdout_start",
    "stdout_end",
    "stderr_start",
    "stderr_end",
    "cpu_ns",
    "peak_memory",
    "start_memory",
    "memory_scope",
)


class Attempt(msgspec.Struct, gc=False):
    """One attempt of one task. IDs are in Ray's hex form, times in ns since the epoch.

    Attributes:
        required_resources: JSON with sorted keys, like ``label_selector`` and ``runtime_env``.
        states: Ray's state -> earliest time it was entered.
        phases: one of :data:`PHASES` -> (begin, end).
        returned: when the first return value was stored, its size, and the size of all return values, in
            bytes.
        parent_task_id: the parent according to Ray.
        caller_task_id: the actual caller, if the tracer reported another one.
        cpu_ns: CPU time measured by the tracer.
        peak_memory: largest size of its process (RSS) while it ran, in bytes, measured by the tracer.
        start_memory: the size when it began.
        memory_scope: one of :data:`rayscope.tracer.memory.SCOPES`.

    This is a msgspec struct, because hundreds of thousands exist at once: creating one takes a third of the
    time of a dataclass, and the garbage collector does not track it.
    """

    task_id: str
    attempt: int = 0
    name: str | None = None
    func_name: str | None = None
    module_name: str | None = None
    function_hash: str | None = None
    type: str | None = None
    language: str | None = None
    job_id: str | None = None
    parent_task_id: str | None = None
    caller_task_id: str | None = None
    actor_id: str | None = None
    placement_group_id: str | None = None
    required_resources: str | None = None
    label_selector: str | None = None
    runtime_env: str | None = None
    call_site: str | None = None
    node_id: str | None = None
    worker_id: str | None = None
    worker_pid: int | None = None
    actor_repr_name: str | None = None
    stdout_file: str | None = None
    stderr_file: str | None = None
    stdout_start: int | None = None
    stdout_end: int | None = None
    stderr_start: int | None = None
    stderr_end: int | None = None
    cpu_ns: int | None = None
    peak_memory: int | None = None
    start_memory: int | None = None
    memory_scope: str | None = None
    states: dict[str, int] = {}
    phases: dict[str, tuple[int, int]] = {}
    error: TaskError | None = None
    returned: tuple[int, int, int] | None = None

    @property
    def state(self) -> str | None:
        """The attempt's state by Ray's own rule, or None if no state was reported."""
        return max(self.states, key=lambda state: _RANK.get(state, -1)) if self.states else None
