"""The one name of a node, in lists, charts, and events."""

from __future__ import annotations


def node_name(of: str) -> str:
    """SQL of the name of a row ``of`` of ``node_rows``: its own if somebody gave it one, else its host name.

    Without another name, Ray uses the address. Without either the address, or the ID's start.
    """
    return (
        f"coalesce(nullif(nullif({of}.node_name, {of}.node_ip), ''), nullif({of}.hostname, ''), "
        f"nullif({of}.node_ip, ''), left({of}.id, 8))"
    )
