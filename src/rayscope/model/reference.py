"""References to objects, as the processes of a cluster hold them at a time."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Reference(NamedTuple):
    """One process' reference to one object.

    ``type`` is Ray's reference type (``LOCAL_REFERENCE``, ``PINNED_IN_MEMORY``, ``USED_BY_PENDING_TASK``,
    ``CAPTURED_IN_OBJECT``, ``ACTOR_HANDLE``, ``UNKNOWN_STATUS``), ``size`` is in bytes, None where the
    process does not know it. ``call_site`` is told where Ray records it (``RAY_record_ref_creation_sites``).
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
    """A node's object store, and the references of its processes. Sizes in bytes.

    ``references_total`` counts those beyond the limit too. ``error``: why the node does not answer.
    ``time_ns``: when it was asked.
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
