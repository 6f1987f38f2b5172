"""Schemas of the content of one node: its workers, what runs on each, and bundles."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

#: In the order in which an attempt passes through them. The last two are not in flight.
Situation = Literal[
    "waiting_args",
    "waiting_node",
    "starting_worker",
    "queued",
    "loading",
    "fetching",
    "running",
    "blocked",
    "storing",
    "ended",
    "unknown",
]


class AwaitedFunction(TypedDict):
    """A function of whose tasks an attempt awaits ``count``; ``task_id``: one of them."""

    name: str
    count: int
    task_id: str


class RunningAttempt(TypedDict):
    """An attempt on a worker since ``since_ns``, in its situation since ``situation_ns`` (ns).

    A driver has its script as ``name`` and the ``type`` DRIVER_TASK. If it is blocked, ``call`` is the call
    that blocks (such as ``ray.get``), and ``blocked_on`` has the functions that it waits for, if known.
    """

    task_id: str
    attempt: int
    name: str
    type: str | None
    since_ns: int | None
    situation: Situation
    situation_ns: int | None
    call: str | None
    blocked_on: list[AwaitedFunction]


class GpuShare(TypedDict):
    """A GPU that Ray assigned, and the assigned share of it. ``index``: as returned by ``ray.get_gpu_ids``.

    If the index is unknown, ``share`` is the sum of the requested shares.
    """

    index: str | None
    share: float


class Activity(TypedDict):
    """The present activity of a worker: the number of its attempts, how many are blocked, and the 5 oldest.

    A driver runs no attempt: ``running`` is 0, ``blocked`` 1 while it waits, and ``attempts`` its script.
    ``gpus``: those of its actor or of the tasks that it runs.
    """

    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]


class PhysicalBundle(TypedDict):
    """A bundle of a placement group on a node. ``resources``: null if unknown."""

    group: str
    name: str | None
    index: int
    node: int
    resources: dict[str, float] | None


class NodeWorker(Activity):
    """All fields of a worker of a node."""

    key: str
    id: str
    kind: str
    pid: int | None
    job_id: str | None
    start_ns: int | None
    is_internal: bool
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    actor_state: str | None
    functions: int
    bytes: int
    reserved: dict[str, float]
    bundle: int
