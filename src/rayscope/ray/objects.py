"""Lists the objects held by a cluster's processes in the object store, through the raylets.

A raylet queries each of its workers (``NodeManagerService.GetObjectsInfo``, used by ``ray memory`` and
``list_objects``), so this is done on demand, not continuously.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from rayscope.model.reference import NodeObjects, Reference
from rayscope.ray.common import is_nil
from rayscope.ray.gcs.client import GcsClient

#: Maximum number of raylets queried at the same time.
_CONCURRENCY = 16
#: Timeout for one raylet, in seconds.
_TIMEOUT_S = 10.0
#: Maximum size of a response, bytes.
_MAX_BYTES = 256 * 2**20
#: Minimum number of references read per node, however many nodes there are.
_MIN_SHARE = 100
#: Timeout for the owner of an object, in seconds.
_OWNER_TIMEOUT_S = 2.0
_DRIVER = 1  # WorkerType.DRIVER
_ACTOR_RANDOM = slice(16, 40)


class Raylet(NamedTuple):
    """The raylet of a node and its address."""

    node_id: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """``HOST:PORT``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def living_raylets(gcs: GcsClient) -> list[Raylet]:
    """Raylets of live nodes. Raises GcsError."""
    return [
        Raylet(node.node_id.hex(), node.node_manager_address, node.node_manager_port)
        for node in gcs.nodes()
        if node.state == 0  # GcsNodeState.ALIVE
    ]


def read_objects(
    gcs: GcsClient,
    of_node: int,
    of_all: int,
    *,
    raylets: Sequence[Raylet] | None = None,
    on_node: Callable[[NodeObjects], None] | None = None,
    deadline_s: float = 20.0,
) -> list[NodeObjects]:
    """Read every node's store and references. Raises GcsError.

    Args:
        gcs: the cluster.
        of_node: maximum number of references per node.
        of_all: maximum number of references of all nodes together. Each node gets an equal share, but at
            least 100.
        raylets: the raylets to query, by default those of all live nodes.
        on_node: called with each node's result as it arrives, from several threads.
        deadline_s: time limit for all nodes together, s. Nodes that have not responded by then have an error.
    """
    raylets = living_raylets(gcs) if raylets is None else raylets
    if not raylets:
        return []
    share = min(of_node, max(_MIN_SHARE, of_all // len(raylets)))
    until = time.monotonic() + deadline_s

    def read(raylet: Raylet) -> NodeObjects:
        found = _read(gcs, raylet, share, until)
        if on_node is not None:
            on_node(found)
        return found

    with ThreadPoolExecutor(min(_CONCURRENCY, len(raylets)), "rayscope-objects") as pool:
        return list(pool.map(read, raylets))


def _read(gcs: GcsClient, raylet: Raylet, limit: int, until: float) -> NodeObjects:
    import grpc
    from ray.core.generated import node_manager_pb2, node_manager_pb2_grpc

    found = NodeObjects(raylet.node_id, raylet.address, time_ns=time.time_ns())
    options = (("grpc.max_receive_message_length", _MAX_BYTES), ("grpc.enable_http_proxy", 0))
    with grpc.insecure_channel(raylet.address, options=options) as channel:
        raylet_stub = node_manager_pb2_grpc.NodeManagerServiceStub(channel)

        def call() -> dict[str, Any]:
            left_s = max(0.0, min(_TIMEOUT_S, until - time.monotonic()))
            return {"timeout": left_s, "metadata": gcs.metadata}

        try:
            stats = raylet_stub.GetNodeStats(
                node_manager_pb2.GetNodeStatsRequest(include_memory_info=False), **call()
            ).store_stats
            reply = raylet_stub.GetObjectsInfo(node_manager_pb2.GetObjectsInfoRequest(limit=limit), **call())
        except grpc.RpcError as error:
            found.error = error.code().name
            return found
    found.used = stats.object_store_bytes_used
    found.available = stats.object_store_bytes_avail
    found.primary = stats.object_store_bytes_primary_copy
    found.fallback = stats.object_store_bytes_fallback
    found.objects = stats.num_local_objects
    found.spilled_total = stats.spilled_bytes_total
    found.restored_total = stats.restored_bytes_total
    found.references_total = max(reply.total, sum(len(w.object_refs) for w in reply.core_workers_stats))
    found.references = references_of(raylet.node_id, reply.core_workers_stats)[:limit]
    return found


class Copies(NamedTuple):
    """The locations of an object, as reported by its owner.

    Attributes:
        nodes: hex IDs of the nodes with a copy in their object store.
        size: in bytes, or None if unknown.
        spilled_node_id: the node that spilled it to disk.
        problem: why there are no locations, see :func:`read_copies`.
    """

    nodes: tuple[str, ...] = ()
    size: int | None = None
    is_pending: bool = False
    is_spilled: bool = False
    spilled_node_id: str | None = None
    problem: Literal["not_live", "owner_unknown", "owner_gone", "no_answer", "released"] | None = None


def read_copies(gcs: GcsClient, owner_id: str, object_id: str) -> Copies:
    """Ask an object's owner for its locations, within 2 s. IDs are hex. Raises GcsError.

    ``problem`` is ``owner_gone``, ``no_answer``, or ``released`` if nothing refers to the object any more.
    """
    import grpc
    from ray.core.generated import core_worker_pb2, core_worker_pb2_grpc

    owner = gcs.worker(owner_id)
    if owner is None or not owner.is_alive:
        return Copies(problem="owner_gone")
    address = Raylet("", owner.worker_address.ip_address, owner.worker_address.port).address
    request = core_worker_pb2.GetObjectLocationsOwnerRequest(
        intended_worker_id=bytes.fromhex(owner_id), object_ids=[bytes.fromhex(object_id)]
    )
    with grpc.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),)) as channel:
        stub = core_worker_pb2_grpc.CoreWorkerServiceStub(channel)
        try:
            reply = stub.GetObjectLocationsOwner(request, timeout=_OWNER_TIMEOUT_S, metadata=gcs.metadata)
        except grpc.RpcError as error:
            is_gone = error.code() is grpc.StatusCode.UNAVAILABLE
            return Copies(problem="owner_gone" if is_gone else "no_answer")
    info = reply.object_location_infos[0]
    return Copies(
        tuple(node_id.hex() for node_id in info.node_ids),
        info.object_size or None,
        info.pending_creation,
        bool(info.spilled_url),
        _known(info.spilled_node_id) if info.spilled_node_id else None,
        "released" if info.ref_removed else None,
    )


def references_of(node_id: str, workers: Sequence[Any]) -> list[Reference]:
    """Convert ``CoreWorkerStats`` of a node's processes to their references."""
    found = []
    for worker in workers:
        worker_id, actor_id, job_id = map(_known, (worker.worker_id, worker.actor_id, worker.job_id))
        for ref in worker.object_refs:
            object_id = ref.object_id.hex()
            found.append(
                Reference(
                    object_id,
                    reference_type(object_id, ref),
                    ref.object_size if ref.object_size >= 0 else None,
                    ref.call_site if ref.call_site not in ("", "disabled") else None,
                    node_id,
                    worker_id or "",
                    worker.pid,
                    worker.worker_type == _DRIVER,
                    actor_id,
                    job_id,
                )
            )
    return found


def _known(binary: bytes) -> str | None:
    return None if is_nil(binary.hex()) else binary.hex()


def reference_type(object_id: str, ref: Any) -> str:
    """The type of a reference, according to Ray's own rules (``ray.dashboard.memory_utils``)."""
    if object_id.startswith("f" * 16) and object_id[_ACTOR_RANDOM] != "f" * 24:
        return "ACTOR_HANDLE"
    if ref.pinned_in_memory:
        return "PINNED_IN_MEMORY"
    if ref.submitted_task_ref_count > 0:
        return "USED_BY_PENDING_TASK"
    if ref.local_ref_count > 0:
        return "LOCAL_REFERENCE"
    return "CAPTURED_IN_OBJECT" if ref.contained_in_owned else "UNKNOWN_STATUS"
