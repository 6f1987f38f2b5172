"""Reads node addresses from the GCS's node table."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.ray.gcs.client import GcsClient

_ALIVE = 0  # GcsNodeState
#: Reasons in NodeDeathInfo for an intended end (``ray stop``, a drain, a scale-down).
_INTENDED_REASONS = (1, 3, 4)
#: Keys of the metrics addresses of the autoscaler and the dashboard, both on the head node.
_HEAD_KEYS = (b"AutoscalerMetricsAddress", b"DashboardMetricsAddress")


class NodeAddress(NamedTuple):
    """A node and the metrics address of its agent.

    Attributes:
        port: 0 if the agent serves no metrics.
        failed: whether it died unintentionally.
        ended_ns: when it died, or 0 while it is alive.
        head_ports: on the head node, metrics ports of the autoscaler and the dashboard.
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
    """All nodes known to the GCS. Raises GcsError."""
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
                not alive and (info is None or info.reason not in _INTENDED_REASONS),
                0 if alive else node.end_time_ms * 1_000_000,
                _head_ports(client) if is_head and alive else (),
            )
        )
    return found


def _head_ports(client: GcsClient) -> tuple[int, ...]:
    """Ports of the addresses in :data:`_HEAD_KEYS`. The hosts are ignored, because they could be forged."""
    values = [client.internal_kv(key, b"") or b"" for key in _HEAD_KEYS]
    ports = [value.rpartition(b":")[2] for value in values]
    return tuple(int(port) for port in ports if port.isdigit() and 0 < int(port) < 1 << 16)
