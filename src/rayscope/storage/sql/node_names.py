"""The one name of a node, in lists, charts, and events."""

from __future__ import annotations


def node_name(of: str) -> str:
    """SQL for the name of a row ``of`` of ``node_rows``: the one that was given to it, otherwise its host
    name.

    Ray uses the address as the name of an unnamed node. Without a host name it is the address, or the ID's
    start.
    """
    return (
        f"coalesce(nullif(nullif({of}.node_name, {of}.node_ip), ''), nullif({of}.hostname, ''), "
        f"nullif({of}.node_ip, ''), left({of}.id, 8))"
    )
