"""Live topics about a whole session: its cluster, its tasks and its actors."""

from __future__ import annotations

from rayscope.cluster.recording.recording import recording
from rayscope.cluster.sessions import schemas, sql
from rayscope.ingest.clusters import Clusters
from rayscope.libraries.used import libraries
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.sql import sessions as sessions_sql

_NEWEST_FAILURES = 10
_MESSAGE_CHARS = 300


def cluster(catalog: Catalog, records: SessionReader, clusters: Clusters, session: str) -> dict[str, object]:
    """The number of entities of each kind by state, and the resources of live nodes."""
    about = catalog.about(session)
    return {
        "live": records.is_live(session),
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        **glance(catalog, records, clusters, session),
    }


def glance(catalog: Catalog, records: SessionReader, clusters: Clusters, session: str) -> schemas.Glance:
    """The part of the live topic that ``GET /api/v1/cluster`` also returns."""
    counts = records.read_cached(session, "counts", sessions_sql.counts)
    return {
        "recording": recording(catalog, session),
        "nodes": {
            "alive": counts["nodes"].get("ALIVE", 0),
            "dead": counts["nodes"].get("DEAD", 0),
        },
        "resources_total": records.read_cached(session, "total resources", sessions_sql.resources_total),
        "actors": counts["actors"],
        "jobs": counts["jobs"],
        "workers": counts["workers"],
        "placement_groups": counts["placement_groups"],
        "libraries": libraries(records, clusters, session, counts),
    }


def tasks(catalog: Catalog, records: SessionReader, session: str) -> dict[str, object]:
    """The number of attempts by state, and the newest failures."""
    about = catalog.about(session)
    failures = records.read_cached(session, "newest failures", sql.failures)[:_NEWEST_FAILURES]
    return {
        "tasks": about.tasks,
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        "failures": [
            {
                "task_id": row["task_id"],
                "attempt": row["attempt"],
                "name": row["name"],
                "error_type": row["error_type"],
                "end_ns": row["end_ns"],
                "error_summary": (row["error_summary"] or "")[:_MESSAGE_CHARS] or None,
            }
            for row in failures
        ],
    }


def actors(records: SessionReader, session: str) -> dict[str, object]:
    """The number of actors by state."""
    states = records.read_cached(session, "counts", sessions_sql.counts)["actors"]
    return {"total": sum(states.values()), "states": states}
