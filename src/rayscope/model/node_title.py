"""The displayed name of a node. :func:`rayscope.storage.sql.node_names.node_name` does the same in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def node_title(node: Mapping[str, Any]) -> str:
    """The name given to a node, otherwise its host name, its address, or the start of ``node_id``.

    Ray uses the address as the name of an unnamed node.
    """
    name, address = node.get("node_name"), node.get("node_ip")
    named = name if name != address else None
    return str(named or node.get("hostname") or address or str(node.get("node_id") or "")[:8])
