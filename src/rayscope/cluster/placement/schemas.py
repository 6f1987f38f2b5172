"""The shapes of what is on one node: its workers, what runs on each, and bundles."""

from __future__ import annotations

from rayscope.server.schemas import Answer


class PhysicalAttempt(Answer):
    """An attempt that runs on a worker."""

    task_id: str
    attempt: int
    name: str
    type: str | None
    since_ns: int
    is_blocked: bool


class PhysicalBundle(Answer):
    """A bundle of a placement group on a node; ``resources`` null: nobody told."""

    group: str
    name: str | None
    index: int
    node: int
    resources: dict[str, float] | None


class NodeWorker(Answer):
    """A worker of one node in full."""

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
    running: int
    blocked: int
    functions: int
    bytes: int
    reserved: dict[str, float]
    bundle: int
    attempts: list[PhysicalAttempt]
