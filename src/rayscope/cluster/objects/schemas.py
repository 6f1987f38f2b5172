"""Schemas of answers about objects. Sizes are in bytes, ages and times in ns."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

#: The property by which objects are grouped.
ObjectGrouping = Literal["function", "type", "call_site", "process", "node", "job"]


class Sums(TypedDict):
    """Objects (each counted once), the references to them, their known bytes, and the references by type."""

    objects: int
    references: int
    bytes: int
    unknown_size: int
    types: dict[str, int]


class Group(Sums):
    """Objects with the same ``key``, null if it is unknown. Other fields identify a process, if that is the
    key.
    """

    key: str | None
    is_put: NotRequired[bool | None]
    node_id: NotRequired[str | None]
    pid: NotRequired[int | None]
    is_driver: NotRequired[bool | None]
    actor_id: NotRequired[str | None]
    job_id: NotRequired[str | None]


class ObjectHolder(TypedDict):
    """A process that holds an object."""

    worker_id: str
    node_id: str
    pid: int
    is_driver: bool
    actor_id: str | None
    type: str


class HeldObject(TypedDict):
    """One of the largest objects."""

    object_id: str
    bytes: int | None
    function: str | None
    is_put: bool | None
    age_ns: int | None
    types: list[str]
    call_site: str | None
    holders: list[ObjectHolder]
    holders_total: int


class Suspect(Sums):
    """Objects of a function that a process has held for a long time."""

    function: str | None
    is_put: bool
    node_id: str
    worker_id: str
    pid: int
    oldest_ns: int


class MemoryAmount(TypedDict):
    """An amount of memory in bytes, and the used share of it in percent."""

    total_bytes: int | None
    used_bytes: int | None
    available_bytes: int | None
    percent: float | None


class StoreOfNode(TypedDict):
    """A node's object store, and the ``memory`` of its machine."""

    node_id: str
    memory: MemoryAmount
    object_store: MemoryAmount
    used_bytes: int | None
    available_bytes: int | None
    primary_bytes: int | None
    fallback_bytes: int | None
    objects: int | None
    spilled_bytes_total: int | None
    restored_bytes_total: int | None
    references: int
    error: str | None
    waiting: bool


class ObjectCopies(TypedDict):
    """The copies of an object at present, according to its owner.

    ``nodes`` have a copy in their object store. An object without ``problem`` that is on no node and neither
    spilled nor pending is small: its owner stores it. ``bytes`` is null if the owner does not know it.
    """

    session: str
    object_id: str
    owner_id: str | None
    nodes: list[str]
    bytes: int | None
    is_pending: bool
    is_spilled: bool
    spilled_node_id: str | None
    problem: Literal["not_live", "owner_unknown", "owner_gone", "no_answer", "released"] | None


class MemoryReading(TypedDict):
    """The nodes that have been read, and how much of each was read."""

    session: str
    live: bool
    time_ns: int | None
    state: Literal["whole", "being_read"]
    nodes_waiting: int
    nodes: list[StoreOfNode]
    references_read: int
    references_total: int
    call_sites: bool
    by: ObjectGrouping


class MemorySummary(TypedDict):
    """The sums over the objects that were read, and the largest objects."""

    totals: Sums | None
    groups: list[Group]
    groups_total: int
    objects: list[HeldObject]
    objects_total: int
    suspects: list[Suspect]


class MemoryAnswer(MemoryReading, MemorySummary):
    """The memory held by each group. ``live`` is false if this is the stored reading of an ended cluster.
    ``totals`` is null if there is no reading.

    ``state`` is ``being_read`` while some nodes have not answered yet. ``time_ns``: when the oldest part was
    read.
    """
