"""The addresses in the GCS' node table."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.ray.gcs.client import GcsClient

_ALIVE = 0  # GcsNodeState
#: NodeDeathInfo: the end was wanted (``ray stop``, a drain, a scale-down).
_WANTED = (1, 3, 4)


class NodeAddress(NamedTuple):
    """A node and where its agent serves metrics; ``port`` is 0 where it does not.

    ``failed``: it died, and nobody wanted that. ``ended_ns``: when it died, 0 while it lives.
    """

    node_id: str
    host: str
    port: int
    hostname: str
    is_head: bool
    alive: bool
    failed: bool
    ended_ns: int


def read_node_addresses(client: GcsClient) -> list[NodeAddress]:
    """All nodes that the GCS remembers. Raises GcsError."""
    found = []
    for node in client.nodes():
        alive = node.state == _ALIVE
        info = getattr(node, "death_info", None)
        found.append(
            NodeAddress(
                node.node_id.hex(),
                node.node_manager_address,
                node.metrics_export_port,
                node.node_manager_hostname,
                bool(getattr(node, "is_head_node", False)),
                alive,
                not alive and (info is None or info.reason not in _WANTED),
                0 if alive else node.end_time_ms * 1_000_000,
            )
        )
    return found
