"""The shapes of the distributed call stack's responses, for the OpenAPI description."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.cluster.placement.schemas import Situation


class StackExample(TypedDict):
    """One attempt of a node: where it runs, and the time since which it has been in its situation."""

    since_ns: int
    task_id: str
    attempt: int
    node_id: str | None
    worker_pid: int | None


class StackLink(TypedDict):
    """One step of a chain of waits. ``count``: the attempts of its node."""

    node: str
    name: str
    type: str | None
    situation: Situation
    count: int


class StackBlockedOn(StackLink):
    """A target of the waits of a node's attempts. ``count`` is the number of (waiter, target) pairs."""

    examples: list[str]


class StackNode(TypedDict):
    """Attempts of one function in one situation under the same chain of callers.

    The ``name`` of a driver is its script, or ``driver``.
    """

    id: str
    parent: str | None
    depth: int
    name: str
    type: str | None
    situation: Situation
    count: int
    others: int
    total: int
    oldest_ns: int | None
    newest_ns: int | None
    deepest: int
    awaited: bool
    examples: list[StackExample]
    blocked_on: list[StackBlockedOn]
    folded_nodes: int
    folded_count: int


class StackAnswer(TypedDict):
    """The attempts in flight at ``at_ns``, and their waits."""

    session: str
    at_ns: int | None
    live: bool
    in_flight: int
    left_out: int
    callers_left_out: bool
    nodes: list[StackNode]
    folded_nodes: int
    chains: list[list[StackLink]]


class ActivityAnswer(TypedDict):
    """How many attempts were in flight, were running, and failed, in equal parts of the session's time."""

    session: str
    begin_ns: int | None
    end_ns: int | None
    bucket_ns: int | None
    in_flight: list[float]
    running: list[float]
    failed: list[int]
