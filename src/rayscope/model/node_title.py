"""The displayed name of a node. :mod:`rayscope.storage.sql.node_names` does the same in SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def node_title(node: Mapping[str, Any]) -> str:
    """The name given to a node, otherwise its host name, its address, or the start of ``node_id``.

    Ray uses the address as the name of an unnamed node.
    """
    name, address = node.get("node_name"), node.get("node_ip")
    named = name if name != address else None
    return str(named or node.get("hostname") or address or str(node.get("node_id") or "")[:8])


def unique_titles(nodes: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The names of nodes by ID. A name that several nodes share is followed by the start of the node's ID."""
    titles = {str(node["node_id"]): node_title(node) for node in nodes}
    number = Counter(titles.values())
    return {
        node_id: f"{title} · {node_id[:6]}" if number[title] > 1 else title
        for node_id, title in titles.items()
    }
