"""A task attempt, and what partial accounts of one are made of.

How these become one: :mod:`rayscope.storage.sql.merge`.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

#: Ray's ``TaskStatus`` in the order in which Ray reports the current state: the last one in this order
#: that has a time is the state of the attempt (``protobuf_to_task_state_dict`` in Ray's
#: ``util/state/common.py``).
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
#: Not Ray's: the state of what had no end when its worker, node, job or session ended.
CUT_OFF = "CUT_OFF"
_RANK = {state: rank for rank, state in enumerate(STATES)}

#: Spans that Ray's worker reports once for each attempt; kept as columns, not as rows.
#: ``total`` is Ray's ``task::<name>`` span around the other three.
PHASES: tuple[str, ...] = ("deserialize", "execute", "store", "total")


class TaskError(NamedTuple):
    """Why an attempt failed, as Ray says it."""

    time_ns: int
    type: str
    message: str


#: What the submitter says of a task, the same for all its attempts.
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
#: Scalar fields of an attempt: strings and integers, None while unknown.
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
)


class Attempt(msgspec.Struct, gc=False):
    """One attempt of one task. Ids are Ray's hex; times are ns since the epoch.

    ``required_resources``, ``label_selector`` and ``runtime_env`` are JSON texts with sorted keys.
    ``states`` maps a Ray state to the earliest time it was entered; ``phases`` maps one of
    :data:`PHASES` to its (begin, end). ``returned``: when the first value was stored that the task returned,
    the bytes of that, and the bytes of all. ``parent_task_id`` is the one that Ray names; ``caller_task_id``
    the one that made the call, where the tracer knows of another. ``cpu_ns``: the CPU time that it used, by
    Rayscope's tracer.

    A msgspec struct, since hundreds of thousands live at a time: it is made in a third of a dataclass's
    time, and the garbage collector does not look at it.
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
    states: dict[str, int] = {}
    phases: dict[str, tuple[int, int]] = {}
    error: TaskError | None = None
    returned: tuple[int, int, int] | None = None

    @property
    def state(self) -> str | None:
        """The attempt's state by Ray's own rule, or None if no state was reported."""
        return max(self.states, key=lambda state: _RANK.get(state, -1)) if self.states else None
