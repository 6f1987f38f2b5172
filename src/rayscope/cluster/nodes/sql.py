"""Queries nodes and workers: their numbers, dead nodes, and pending requests."""

from __future__ import annotations

from typing import NamedTuple, cast

import msgspec

from rayscope.cluster.nodes import schemas
from rayscope.model import CUT_OFF
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import (
    BLOCKED_AT,
    CREATED,
    FOREVER,
    NOT_DRIVER,
    START,
    TASK_ID,
    ended_at,
    function_name,
)
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.node_names import node_name
from rayscope.storage.sql.pages import Row, rows_of
from rayscope.storage.sql.situations import ON_WORKER

#: Maximum number of groups of similar tasks, groups of similar actors, and placement groups that are listed.
#: Those that have waited longest come first.
MAX_PENDING = 200
_MAX_DEAD = 500
#: Maximum number of holders of one resource that are considered.
_MAX_HOLDERS = 10_000

_ALIVE = f"""
SELECT node_id, count(*)::BIGINT FROM worker_rows
WHERE node_id IS NOT NULL AND state IS DISTINCT FROM 'DEAD' AND NOT {IS_INTERNAL["worker"]}
GROUP BY node_id
"""
_DEAD = f"""
SELECT id AS node_id, {node_name("node_rows")} AS name, node_ip, is_head, end_ns, death_reason,
    resources_total
FROM node_rows
WHERE state = 'DEAD' ORDER BY end_ns DESC NULLS LAST, id LIMIT {_MAX_DEAD}
"""
_WAITS = "state = 'PENDING_NODE_ASSIGNMENT'"
_WAITED = f"""state = '{CUT_OFF}' AND pending_node_assignment_ns IS NOT NULL
    AND coalesce(submitted_to_worker_ns, running_ns) IS NULL"""
_TASKS = f"""
SELECT 'task' AS kind, coalesce({function_name("attempts")}, '') AS name, job_id, required_resources,
    label_selector, runtime_env, placement_group_id, count(*)::BIGINT AS count,
    min(pending_node_assignment_ns) AS since_ns,
    NULL AS id, 'PENDING_NODE_ASSIGNMENT' AS state, count(*) OVER ()::BIGINT AS groups
FROM attempts
WHERE {NOT_DRIVER} AND type = 'NORMAL_TASK' AND {{}}
GROUP BY ALL ORDER BY since_ns NULLS LAST, name LIMIT {MAX_PENDING}
"""
#: The last state of an actor or a placement group that the GCS reported before its session ended.
_SAID = "json_extract_string(doc, '$[3].state')"
_ACTORS = f"""
SELECT 'actor' AS kind, coalesce(class_name, '') AS name, job_id, required_resources, label_selector,
    runtime_env, placement_group_id, count(*)::BIGINT AS count,
    min(coalesce(start_ns, submitted_ns)) AS since_ns,
    CASE WHEN count(*) = 1 THEN any_value(id) END AS id, waits AS state, count(*) OVER ()::BIGINT AS groups
FROM (SELECT *, {{}} AS waits FROM actor_rows)
LEFT JOIN (SELECT actor_id, min({CREATED}) AS submitted_ns FROM attempts
    WHERE type = 'ACTOR_CREATION_TASK' GROUP BY actor_id) ON actor_id = id
WHERE waits IN ('PENDING_CREATION', 'RESTARTING', 'DEPENDENCIES_UNREADY')
GROUP BY name, class_name, job_id, required_resources, label_selector, runtime_env, placement_group_id, waits
ORDER BY since_ns NULLS LAST, name LIMIT {MAX_PENDING}
"""
#: The state in which an actor waited until the end. If it waited for its resources until its job ended, Ray
#: reports it as dead.
_ACTOR_WAITED = f"""CASE WHEN state != 'DEAD' THEN state WHEN worker_id IS NOT NULL THEN NULL
    ELSE CASE WHEN {_SAID} = 'DEPENDENCIES_UNREADY' THEN {_SAID} ELSE 'PENDING_CREATION' END END"""
_GROUPS = f"""
SELECT 'placement_group' AS kind, coalesce(name, '') AS name, job_id, bundles, strategy, NULL AS runtime_env,
    1::BIGINT AS count,
    created_ns AS since_ns, id, waits AS state, count(*) OVER ()::BIGINT AS groups
FROM (SELECT *, {{}} AS waits FROM placement_group_rows)
WHERE waits IN ('PENDING', 'RESCHEDULING', 'PREPARED')
ORDER BY created_ns NULLS LAST, id LIMIT {MAX_PENDING}
"""
_NOW = _TASKS.format(_WAITS), _ACTORS.format("state"), _GROUPS.format("state")
_AT_THE_END = (
    _TASKS.format(_WAITED),
    _ACTORS.format(_ACTOR_WAITED),
    _GROUPS.format(f"CASE WHEN end_known_by IS NULL THEN state ELSE {_SAID} END"),
)
#: The nodes of the cluster at its end. They do not die at exactly the same time.
_LAST_NODES = f"""
SELECT id, resources_total, labels FROM node_rows
WHERE coalesce(end_ns, {FOREVER}) >= (SELECT max(coalesce(end_ns, {FOREVER})) FROM node_rows) - 10_000_000_000
ORDER BY id
"""

#: Holders of a resource: running tasks, live actors, placed placement groups. Ray lends the CPUs of blocked
#: tasks to others.
_HOLDERS = f"""
SELECT 'task' AS kind, coalesce({function_name("attempts")}, '') AS name, {TASK_ID} AS id, attempt, node_id,
    required_resources, NULL AS bundles, {START} AS since_ns
FROM attempts
WHERE {NOT_DRIVER} AND type = 'NORMAL_TASK' AND {START} IS NOT NULL
    AND {ended_at("NULL")} IS NULL
    AND contains(required_resources, $name) AND NOT ($resource = 'CPU' AND (task_hi, task_lo) IN (
        SELECT (task_hi, task_lo) FROM ({BLOCKED_AT})))
UNION ALL
SELECT 'actor', coalesce(nullif(name, ''), class_name, ''), id, NULL, node_id, required_resources, NULL,
    start_ns
FROM actor_rows WHERE state = 'ALIVE' AND contains(required_resources, $name)
UNION ALL
SELECT 'placement_group', coalesce(name, ''), id, NULL, NULL, NULL, bundles, created_ns
FROM placement_group_rows WHERE state IN ('CREATED', 'RESCHEDULING') AND contains(bundles, $name)
LIMIT {_MAX_HOLDERS}
"""


class Pending(NamedTuple):
    """Pending requests: similar tasks and actors in groups, and each placement group.

    ``left_out``: the number of groups that are not listed.
    """

    rows: list[Row]
    left_out: int


def workers_alive(file: SessionFile) -> dict[str, int]:
    """The number of live workers and drivers on each node, without Ray's own."""
    with file.reader() as reader:
        return dict(reader.execute(_ALIVE).fetchall())


def attempts_running(file: SessionFile, at_ns: int) -> dict[str, int]:
    """The number of attempts on each node that had begun and not ended at a given time (ns), including
    blocked ones.
    """
    with file.reader() as reader:
        rows = reader.execute(
            f"SELECT node_id, count(*) FROM attempts WHERE {ON_WORKER} AND node_id IS NOT NULL GROUP BY ALL",
            {"at": at_ns},
        )
        return dict(rows.fetchall())


def dead_nodes(file: SessionFile) -> list[schemas.DeadNode]:
    """The nodes that died most recently."""
    with file.reader() as reader:
        return cast(list[schemas.DeadNode], rows_of(reader.execute(_DEAD)))


def pending(file: SessionFile, *, ended: bool = False) -> Pending:
    """The requests that are pending now or, if the session has ``ended``, those that were never placed."""
    rows: list[Row] = []
    left_out = 0
    with file.reader() as reader:
        for sql in _AT_THE_END if ended else _NOW:
            found = rows_of(reader.execute(sql))
            left_out += max(0, max((row.pop("groups") for row in found), default=0) - len(found))
            rows += found
    return Pending(rows, left_out)


def resource_holders(file: SessionFile, resource: str, at_ns: int) -> list[Row]:
    """The holders of a resource: requests of tasks and actors, and bundles of placement groups."""
    with file.reader() as reader:
        values = {"resource": resource, "name": msgspec.json.encode(resource).decode(), "at": at_ns}
        return rows_of(reader.execute(_HOLDERS, values))


def nodes_with_starts(file: SessionFile, since_ns: int) -> set[str]:
    """The nodes on which an attempt has started since a time."""
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT DISTINCT node_id FROM attempts WHERE {NOT_DRIVER} AND {START} >= ? "
            "AND node_id IS NOT NULL",
            [since_ns],
        )
        return {node_id for (node_id,) in found.fetchall()}


def last_nodes(file: SessionFile) -> list[Row]:
    """``id``, ``resources_total`` and ``labels`` (JSON) of the cluster's nodes at its end."""
    with file.reader() as reader:
        return rows_of(reader.execute(_LAST_NODES))
