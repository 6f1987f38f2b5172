"""SQL for a node's name, which is the same in lists, charts, and events."""

from __future__ import annotations


def node_name(of: str) -> str:
    """SQL for the name of a row ``of`` of ``node_rows``: the name that the user gave to the node, otherwise
    its host name, its address, or the start of its ID.

    Ray uses the address as the name of an unnamed node.
    """
    return (
        f"coalesce(nullif(nullif({of}.node_name, {of}.node_ip), ''), nullif({of}.hostname, ''), "
        f"nullif({of}.node_ip, ''), left({of}.id, 8))"
    )


def unique_node_name(of: str) -> str:
    """Like :func:`node_name`, with the start of the ID behind a name that several nodes share."""
    name = node_name(of)
    same = f"SELECT count(*) FROM node_rows others WHERE {node_name('others')} = {name}"
    return f"({name} || CASE WHEN ({same}) > 1 THEN ' · ' || left({of}.id, 6) ELSE '' END)"
