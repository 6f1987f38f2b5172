"""Topics of the live push about a whole session: its cluster, its tasks and its actors."""

from __future__ import annotations

from typing import Any

from rayscope.cluster.recording.recording import recording
from rayscope.libraries.used import libraries
from rayscope.server.services import Services
from rayscope.storage.sql import sessions as sql

_NEWEST_FAILURES = 10
_MESSAGE_CHARS = 300


def cluster(services: Services, session: str) -> dict[str, Any]:
    """How many of everything by state, and the resources of the nodes that are alive."""
    about = services.catalog.about(session)
    return {
        "live": services.records.is_live(session),
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        **glance(services, session),
    }


def glance(services: Services, session: str) -> dict[str, Any]:
    """What this and ``GET /api/cluster`` tell of a session alike."""
    counts = services.records.read_cached(session, sql.counts)
    return {
        "recording": recording(services, session),
        "nodes": {
            "alive": counts["nodes"].get("ALIVE", 0),
            "dead": counts["nodes"].get("DEAD", 0),
        },
        "resources_total": services.records.read_cached(session, sql.resources_total),
        "actors": counts["actors"],
        "jobs": counts["jobs"],
        "workers": counts["workers"],
        "placement_groups": counts["placement_groups"],
        "libraries": libraries(services, session, counts),
    }


def tasks(services: Services, session: str) -> dict[str, Any]:
    """Attempts by state, and the newest failures."""
    about = services.catalog.about(session)
    failures = services.records.read_cached(session, sql.failures)[:_NEWEST_FAILURES]
    keys = ("task_id", "attempt", "name", "error_type", "end_ns")
    return {
        "tasks": about.tasks,
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        "failures": [
            {
                **{key: row[key] for key in keys},
                "error_summary": (row["error_summary"] or "")[:_MESSAGE_CHARS] or None,
            }
            for row in failures
        ],
    }


def actors(services: Services, session: str) -> dict[str, Any]:
    """Actors by state."""
    states = services.records.read_cached(session, sql.counts)["actors"]
    return {"total": sum(states.values()), "states": states}
