"""References to objects, held by a cluster's processes at a given time."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Reference(NamedTuple):
    """A process's reference to an object.

    Attributes:
        type: Ray's reference type (``LOCAL_REFERENCE``, ``PINNED_IN_MEMORY``, ``USED_BY_PENDING_TASK``,
            ``CAPTURED_IN_OBJECT``, ``ACTOR_HANDLE``, ``UNKNOWN_STATUS``).
        size: in bytes, None if the process does not know it.
        call_site: None unless Ray records it (``RAY_record_ref_creation_sites``).
    """

    object_id: str
    type: str
    size: int | None
    call_site: str | None
    node_id: str
    worker_id: str
    pid: int
    is_driver: bool
    actor_id: str | None
    job_id: str | None


class NodeObjects(msgspec.Struct):
    """A node's object store, and the references of its processes. Sizes are in bytes.

    Attributes:
        references_total: number of references, including those beyond the limit.
        error: why the node does not respond.
        time_ns: when it was queried.
    """

    node_id: str
    address: str
    used: int | None = None
    available: int | None = None
    primary: int | None = None
    fallback: int | None = None
    objects: int | None = None
    spilled_total: int | None = None
    restored_total: int | None = None
    references: list[Reference] = []
    references_total: int = 0
    error: str | None = None
    time_ns: int = 0
