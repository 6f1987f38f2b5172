"""Calls of a function that take much longer than the others, and the actor or node that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rayscope.insights.finding import Facts, groups
from rayscope.insights.replay.recorded import Bools, Ints

#: If more than this share of all calls are long, they are not outliers.
_MAX_LONG_SHARE = 0.2
#: Functions with fewer calls than this are treated as having no usual duration, except for small groups.
MIN_CALLS = 8
#: Functions with at least this many calls, but fewer than MIN_CALLS, are small groups.
_MIN_SMALL_GROUP = 4
#: In a small group, a single call is an outlier if it takes more than this many times the median.
_MIN_SMALL_RATIO = 5.0
#: Minimum number of long calls that counts as a pattern.
_MIN_LONG = 2
#: A place must have run at least this share of the long calls.
_MIN_SHARED_SHARE = 0.75
#: At least this share of the calls at the place must be long.
_MIN_PLACE_SHARE = 0.5
#: If a node and the other nodes ran at least this many calls each, the slow-node detector reports it instead.
_MIN_SLOW_NODE_CALLS = 5


class Place(NamedTuple):
    """An actor or a node that calls share.

    ``rows``: the calls that it ran; ``name``: the label of the actor or node; ``filters``: filters with which
    a view shows the place.
    """

    rows: Ints
    name: str
    filters: dict[str, str]


def are_few(facts: Facts, calls: Ints, is_long: Bools) -> bool:
    """Whether the long calls are outliers: at most a fifth of at least 8 calls, or a single one of 4 to 7
    calls that is on the critical path and takes more than five times the median.
    """
    if len(calls) >= MIN_CALLS:
        return bool(0 < is_long.sum() <= _MAX_LONG_SHARE * len(calls))
    if len(calls) < _MIN_SMALL_GROUP or is_long.sum() != 1 or not facts.is_on_path(calls[is_long])[0]:
        return False
    own = facts.own_ns[calls]
    return bool(own[is_long][0] > _MIN_SMALL_RATIO * np.median(own))


def shared_place(facts: Facts, calls: Ints, is_long: Bools) -> Place | None:
    """The actor, or else the node, that ran most of the long calls and where at least half of the calls are
    long. None if there is none, or if it ran all calls.
    """
    a, long = facts.attempts, calls[is_long]
    if len(long) < _MIN_LONG:
        return None
    for places, describe in ((a.actor, describe_actor), (a.node, _node)):
        for place, at in groups(places[long]):
            of_place = int((places[calls] == place).sum())
            is_shared = (
                len(at) >= max(_MIN_LONG, _MIN_SHARED_SHARE * len(long))
                and len(at) >= _MIN_PLACE_SHARE * of_place
            )
            if place >= 0 and is_shared and of_place < len(calls):
                others = len(calls) - of_place
                if places is a.node and min(of_place, others) >= _MIN_SLOW_NODE_CALLS:
                    return None
                return describe(facts, place, long[at])
    return None


def _node_name(facts: Facts, node: int) -> str:
    its = facts.recorded.nodes[node]
    return its.name or its.node_id[:8]


def describe_actor(facts: Facts, actor: int, rows: Ints) -> Place:
    """An actor as a place, labeled with its ID, process and node. ``rows``: some of its calls."""
    its, a = facts.recorded.actors[actor], facts.attempts
    row = int(rows[0])
    found = [f"pid {a.pid[row]}"] if a.pid[row] >= 0 else []
    found += [f"@ {_node_name(facts, int(a.node[row]))}"] if a.node[row] >= 0 else []
    name = f"{its.class_name} {its.actor_id[:8]}".strip()
    return Place(rows, f"{name} ({' '.join(found)})" if found else name, {"actor_id": its.actor_id})


def _node(facts: Facts, node: int, rows: Ints) -> Place:
    return Place(rows, _node_name(facts, node), {"node_id": facts.recorded.nodes[node].node_id})
