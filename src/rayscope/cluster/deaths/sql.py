"""Reads the rows that the causes of deaths are found in."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from rayscope.cluster.deaths.compute import Facts, owner_of
from rayscope.cluster.deaths.schemas import Subject
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import error_parts
from rayscope.storage.sql.execution import END
from rayscope.storage.sql.pages import Row, rows_of
from rayscope.storage.sql.platform_events import NODE_ID, WHAT
from rayscope.storage.sql.process_ends import IS_CLOSEST, IS_OF_WORKER

#: Kind -> the column with Ray's text, which may contain a traceback.
_ERROR_IN: dict[Subject, str] = {"actor": "death_reason", "worker": "exit_detail"}
#: Kubernetes' events that explain the end of a node, if they came this long before or after it, in ns.
_EVENT_NS = 300 * 10**9
_FATAL_EVENTS = ("OOMKilled", "Evicted", "Preempted", "Killing", "NodeNotReady", "TaintManagerEviction")
#: SQL condition: Ray or the record says that an entity has ended. An end inferred from that of the session
#: is none of its own.
_HAS_ENDED = "end_ns IS NOT NULL AND end_known_by IS DISTINCT FROM 'session'"
_ENDED = {
    "worker": f"state = 'DEAD' AND {_HAS_ENDED}",
    "actor": f"state = 'DEAD' AND {_HAS_ENDED}",
    "node": f"state = 'DEAD' AND {_HAS_ENDED}",
    "job": f"alias_of IS NULL AND {_HAS_ENDED}",
}
#: SQL condition, by kind: of actors of a class.
_OF_CLASS = {
    "actor": "class_name = $class_name",
    "worker": (
        "id IN (SELECT unnest([worker_id] || list_transform(CAST(doc->1 AS JSON[]), "
        "lambda step: step->2->>'worker_id')) FROM actor_rows WHERE class_name = $class_name)"
    ),
}
_ENDS = f"""
SELECT w.id AS worker_id, p.* EXCLUDE (doc)
FROM worker_rows w JOIN process_end_rows p ON {IS_OF_WORKER}
WHERE list_contains($ids, w.id)
QUALIFY {IS_CLOSEST}
"""
#: The workers that had submitted the tasks of a worker and that died within this time before it, in ns.
_OWNER_NS = 30 * 10**9
_OWNERS = f"""
SELECT w.id AS worker_id, o.id AS owner_id
FROM worker_rows w
JOIN attempts a ON a.worker_id = w.id
JOIN attempts p ON p.task_hi = a.parent_hi AND p.task_lo = a.parent_lo
JOIN worker_rows o ON o.id = p.worker_id AND o.id != w.id
WHERE list_contains($ids, w.id) AND contains(w.exit_detail, 'SIGTERM')
    AND o.end_ns BETWEEN w.end_ns - {_OWNER_NS} AND w.end_ns + 1_000_000_000
QUALIFY row_number() OVER (PARTITION BY w.id ORDER BY o.end_ns DESC) = 1
"""
#: Why Ray's libraries ended actors of their own.
_LIBRARIES = f"""
SELECT actor_id, 'health_check_failed' AS code,
    max_by({error_parts("error_message")}['headline'], {END}) AS detail
FROM attempts
WHERE list_contains($ids, actor_id) AND state = 'FAILED' AND starts_with(module_name, 'ray.serve')
    AND ends_with(func_name, '.check_health')
GROUP BY actor_id
UNION ALL SELECT actor_id, 'tune_stopped', coalesce(end_reason, state)
FROM tune_trial_rows WHERE list_contains($ids, actor_id) AND state = 'TERMINATED'
UNION ALL SELECT w.actor_id, 'train_restarted', NULL
FROM train_worker_rows w JOIN train_attempt_rows t ON t.id = w.attempt_id
WHERE list_contains($ids, w.actor_id) AND t.state = 'ERRORED'
"""
_EVENTS = f"""
SELECT n.id AS node_id, e.what, e.last_ns AS time_ns
FROM node_rows n
JOIN (SELECT {NODE_ID} AS node_id, {WHAT} AS what, last_ns FROM platform_event_rows p) e ON e.node_id = n.id
WHERE list_contains($ids, n.id) AND e.what IN {_FATAL_EVENTS} AND abs(e.last_ns - n.end_ns) < {_EVENT_NS}
QUALIFY row_number() OVER (PARTITION BY n.id ORDER BY list_position({list(_FATAL_EVENTS)}, e.what)) = 1
"""


def ended(
    file: SessionFile, kind: Subject, limit: int, class_name: str | None = None
) -> tuple[list[str], int]:
    """The IDs of the entities of a kind that ended last, the newest first, and how many ended in all.

    ``class_name``: only actors of this class, or the workers in which such actors ran.
    """
    of_class = "" if class_name is None else f" AND {_OF_CLASS[kind]}"
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT id, count(*) OVER () FROM {kind}_rows WHERE {_ENDED[kind]}{of_class} "
            "ORDER BY end_ns DESC, id LIMIT $limit",
            {"limit": limit} | ({} if class_name is None else {"class_name": class_name}),
        ).fetchall()
    return [identity for identity, _ in found], found[0][1] if found else 0


def facts_about(file: SessionFile, kind: Subject, ids: Iterable[str]) -> Facts:
    """The rows that may show why some entities ended. (Logs are not read.)"""
    facts = Facts()
    with file.reader() as reader:
        wanted: dict[Subject, set[str]] = {"worker": set(), "actor": set(), "node": set(), "job": set()}
        wanted[kind].update(ids)
        facts.actors = _rows(reader, "actor", wanted["actor"])
        wanted["worker"].update(row["worker_id"] for row in facts.actors.values() if row["worker_id"])
        facts.drivers = _drivers(reader, wanted["job"])
        wanted["worker"].update(facts.drivers.values())
        facts.workers = _rows(reader, "worker", wanted["worker"])
        facts.owners = {
            row["id"]: owner
            for row in (*facts.actors.values(), *facts.workers.values())
            if (owner := owner_of(row))
        }
        owners = _by(reader, _OWNERS, "worker_id", facts.workers)
        facts.owners.update({worker: row["owner_id"] for worker, row in owners.items()})
        facts.workers.update(_rows(reader, "worker", facts.owners.values()))
        for row in (*facts.workers.values(), *facts.actors.values()):
            wanted["node"].update(filter(None, [row["node_id"]]))
            wanted["job"].update(filter(None, [row["job_id"]]))
        facts.jobs = _rows(reader, "job", wanted["job"])
        facts.nodes = _rows(reader, "node", wanted["node"])
        facts.libraries = _by(reader, _LIBRARIES, "actor_id", facts.actors)
        facts.ends = _by(reader, _ENDS, "worker_id", facts.workers)
        facts.events = _by(reader, _EVENTS, "node_id", facts.nodes)
    return facts


def _rows(reader: duckdb.DuckDBPyConnection, kind: Subject, ids: Iterable[str]) -> dict[str, Row]:
    """The rows of some entities. ``headline``: the line that names the error in Ray's text."""
    headline = f", {error_parts(_ERROR_IN[kind])}['headline'] AS headline" if kind in _ERROR_IN else ""
    query = f"SELECT * EXCLUDE (doc){headline} FROM {kind}_rows WHERE list_contains($ids, id)"
    return _by(reader, query, "id", ids)


def _by(reader: duckdb.DuckDBPyConnection, query: str, key: str, ids: Iterable[str]) -> dict[str, Row]:
    return {row[key]: row for row in rows_of(reader.execute(query, {"ids": list(ids)}))}


def _drivers(reader: duckdb.DuckDBPyConnection, jobs: Iterable[str]) -> dict[str, str]:
    found = reader.execute(
        "SELECT j.id, w.id FROM job_rows j JOIN worker_rows w ON w.worker_type = 'DRIVER' "
        "AND starts_with(w.id, j.id) WHERE list_contains($ids, j.id)",
        {"ids": list(jobs)},
    ).fetchall()
    return dict(found)
