"""Calls of a function that take much longer than the others, and the actor or node that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rayscope.insights.finding import Facts, groups
from rayscope.insights.replay.recorded import Bools, Ints

#: More than this share of the calls are no exception.
_FEW = 0.2
#: This many calls of a function have a usual duration.
MIN_CALLS = 8
#: This many are a small group of like calls.
_MIN_SMALL = 4
#: In a small group one call counts if it takes this many times the median.
_SMALL_TIMES = 5.0
#: Fewer long calls are no pattern.
_MIN_LONG = 2
#: One place has this share of the long calls.
_SHARED = 0.75
#: This share of the calls there are long.
_OF_PLACE = 0.5
#: With this many calls on the node and on the others, a slow node is another finding.
_SLOW_NODE_CALLS = 5


class Place(NamedTuple):
    """An actor or a node that calls share. ``rows``: the calls there; ``name``: the actor or node
    as people find it; ``filters``: of the view that shows it.
    """

    rows: Ints
    name: str
    filters: dict[str, str]


def are_few(facts: Facts, calls: Ints, is_long: Bools) -> bool:
    """Whether the long ones are an exception among calls: a fifth of eight or more; or of four to seven one
    on the critical path that takes five times the median.
    """
    if len(calls) >= MIN_CALLS:
        return bool(0 < is_long.sum() <= _FEW * len(calls))
    if len(calls) < _MIN_SMALL or is_long.sum() != 1 or not facts.is_on_path(calls[is_long])[0]:
        return False
    own = facts.own_ns[calls]
    return bool(own[is_long][0] > _SMALL_TIMES * np.median(own))


def shared_place(facts: Facts, calls: Ints, is_long: Bools) -> Place | None:
    """The actor, or else the node, that most of the long calls ran on and where most calls are long; None if
    there is none, or if all calls ran there.
    """
    a, long = facts.attempts, calls[is_long]
    if len(long) < _MIN_LONG:
        return None
    for places, describe in ((a.actor, describe_actor), (a.node, _node)):
        for place, at in groups(places[long]):
            of_place = int((places[calls] == place).sum())
            is_shared = len(at) >= max(_MIN_LONG, _SHARED * len(long)) and len(at) >= _OF_PLACE * of_place
            if place >= 0 and is_shared and of_place < len(calls):
                others = len(calls) - of_place
                if places is a.node and min(of_place, others) >= _SLOW_NODE_CALLS:
                    return None
                return describe(facts, place, long[at])
    return None


def _node_name(facts: Facts, node: int) -> str:
    its = facts.recorded.nodes[node]
    return its.name or its.node_id[:8]


def describe_actor(facts: Facts, actor: int, rows: Ints) -> Place:
    """An actor as a place, found by its ID, process and node. ``rows``: calls of it."""
    its, a = facts.recorded.actors[actor], facts.attempts
    row = int(rows[0])
    found = [f"pid {a.pid[row]}"] if a.pid[row] >= 0 else []
    found += [f"@ {_node_name(facts, int(a.node[row]))}"] if a.node[row] >= 0 else []
    name = f"{its.class_name} {its.actor_id[:8]}".strip()
    return Place(rows, f"{name} ({' '.join(found)})" if found else name, {"actor_id": its.actor_id})


def _node(facts: Facts, node: int, rows: Ints) -> Place:
    return Place(rows, _node_name(facts, node), {"node_id": facts.recorded.nodes[node].node_id})
