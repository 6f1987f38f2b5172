"""What the Gantt chart's lanes are, and what their labels are made of."""

from __future__ import annotations

from collections.abc import Mapping

from rayscope.storage.errors import BadQuery
from rayscope.storage.sql import call_lanes
from rayscope.storage.sql.execution import function_name
from rayscope.storage.sql.node_names import node_name

#: SQL of the function of an attempt, '' if nobody told it.
NAME = f"coalesce({function_name('attempts')}, '')"
_OF_ACTOR = (
    "max(node_id) AS node_id, max(worker_pid) AS pid, max(actor_id) AS actor_id, "
    "max(actor_repr_name) AS repr_name"
)
#: All attempts of a worker tell the same, or nothing: there is no need to compare them.
_OF_WORKER = _OF_ACTOR.replace("max(", "any_value(")
_OF_NOBODY = "NULL AS node_id, NULL AS pid, NULL AS actor_id, NULL AS repr_name"
#: By -> (SQL of the lane, of what its label is made of, order of lanes).
LANES: Mapping[str, tuple[str, str, str]] = {
    "worker": (
        "coalesce(worker_id, '')",
        _OF_WORKER,
        "label NULLS LAST, node_id, first_ns, lane",
    ),
    "actor": (
        "coalesce(actor_id, '')",
        _OF_ACTOR,
        "lane = '', first_ns, lane",
    ),
    "function": (
        NAME,
        _OF_NOBODY,
        "busy_ns DESC, lane",
    ),
    "node": (
        "coalesce(node_id, '')",
        _OF_NOBODY.replace("NULL AS node_id", "any_value(node_id) AS node_id"),
        "label NULLS LAST, first_ns, lane",
    ),
    "path": (
        call_lanes.LANE,
        _OF_NOBODY,
        call_lanes.ORDER,
    ),
}


#: What labels of lanes ``l`` are made of, and what that is joined from.
LABELLED = (
    f"l.*, {node_name('n')} AS label, n.node_ip AS node_ip, "
    "a.class_name AS class_name, coalesce(nullif(a.name, ''), l.repr_name) AS actor_name"
)
LABELS = "LEFT JOIN node_rows n ON n.id = l.node_id LEFT JOIN actor_rows a ON a.id = l.actor_id"


def lanes_by(by: str) -> tuple[str, str, str]:
    """What :data:`LANES` says of ``by``. Raises BadQuery."""
    if by not in LANES:
        raise BadQuery(f"Unknown lanes: {by[:80]!r}.", f"Use one of: {', '.join(LANES)}.")
    return LANES[by]
