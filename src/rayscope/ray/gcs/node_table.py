"""The addresses in the GCS' node table."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.ray.gcs.client import GcsClient

_ALIVE = 0  # GcsNodeState
#: NodeDeathInfo: the end was wanted (``ray stop``, a drain, a scale-down).
_WANTED = (1, 3, 4)
#: Where the autoscaler and the dashboard, both on the head node, serve metrics of their own.
_HEAD_KEYS = (b"AutoscalerMetricsAddress", b"DashboardMetricsAddress")


class NodeAddress(NamedTuple):
    """A node and where its agent serves metrics; ``port`` is 0 where it does not.

    ``failed``: it died, and nobody wanted that. ``ended_ns``: when it died, 0 while it lives.
    ``head_ports``: of the head node, where the autoscaler and the dashboard serve metrics.
    """

    node_id: str
    host: str
    port: int
    hostname: str
    is_head: bool
    alive: bool
    failed: bool
    ended_ns: int
    head_ports: tuple[int, ...] = ()


def read_node_addresses(client: GcsClient) -> list[NodeAddress]:
    """All nodes that the GCS remembers. Raises GcsError."""
    found = []
    for node in client.nodes():
        alive = node.state == _ALIVE
        info = getattr(node, "death_info", None)
        is_head = bool(getattr(node, "is_head_node", False))
        found.append(
            NodeAddress(
                node.node_id.hex(),
                node.node_manager_address,
                node.metrics_export_port,
                node.node_manager_hostname,
                is_head,
                alive,
                not alive and (info is None or info.reason not in _WANTED),
                0 if alive else node.end_time_ms * 1_000_000,
                _head_ports(client) if is_head and alive else (),
            )
        )
    return found


def _head_ports(client: GcsClient) -> tuple[int, ...]:
    """The host in these addresses is not used: it is the head node's, and a cluster could name any other."""
    values = [client.internal_kv(key, b"") or b"" for key in _HEAD_KEYS]
    ports = [value.rpartition(b":")[2] for value in values]
    return tuple(int(port) for port in ports if port.isdigit() and 0 < int(port) < 1 << 16)
