"""Definitions of the Gantt chart's lanes and their labels."""

from __future__ import annotations

from collections.abc import Mapping

from rayscope.storage.errors import BadQuery
from rayscope.storage.sql import call_lanes
from rayscope.storage.sql.execution import function_name
from rayscope.storage.sql.node_names import unique_node_name

#: SQL for an attempt's function, or '' if it was not reported.
NAME = f"coalesce({function_name('attempts')}, '')"
_OF_ACTOR = (
    "max(node_id) AS node_id, max(worker_pid) AS pid, max(actor_id) AS actor_id, "
    "max(actor_repr_name) AS repr_name"
)
#: All attempts of a worker have the same values or none, so there is no need for ``max``.
_OF_WORKER = _OF_ACTOR.replace("max(", "any_value(")
_OF_NOBODY = "NULL AS node_id, NULL AS pid, NULL AS actor_id, NULL AS repr_name"
#: Grouping -> SQL for (the lane, the columns for its label, the order of lanes).
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


#: Columns for the labels of lanes ``l``. They need the joins in ``LABELS``.
LABELLED = (
    f"l.*, {unique_node_name('n')} AS label, n.node_ip AS node_ip, "
    "a.class_name AS class_name, coalesce(nullif(a.name, ''), l.repr_name) AS actor_name"
)
LABELS = "LEFT JOIN node_rows n ON n.id = l.node_id LEFT JOIN actor_rows a ON a.id = l.actor_id"


def lanes_by(by: str) -> tuple[str, str, str]:
    """The entry of :data:`LANES` for a grouping. Raises BadQuery if there is none."""
    if by not in LANES:
        raise BadQuery(f"Unknown lanes: {by[:80]!r}.", f"Use one of: {', '.join(LANES)}.")
    return LANES[by]
