"""A session's cluster: counts and resources, memory, metrics."""

from __future__ import annotations

import time

from fastapi import FastAPI
from fastapi.responses import Response

from rayscope.server import schemas
from rayscope.server.hub import Hub
from rayscope.server.routes.common import ERRORS, Session, answer
from rayscope.store import query


def add_cluster(app: FastAPI, hub: Hub) -> None:
    """The cluster at a glance, and the seeds of memory and metrics."""

    @app.get("/api/cluster", responses={**ERRORS, 200: {"model": schemas.ClusterAnswer}})
    def cluster(session: Session = None) -> Response:
        """How many of everything, by state, and the resources of the nodes that are alive."""
        name = hub.resolve(session)
        counts = hub.cached(name, "counts", query.counts)
        return answer(
            {
                "session": name,
                "recording": hub.recording(name),
                "nodes": {
                    "alive": counts["nodes"].get("ALIVE", 0),
                    "dead": counts["nodes"].get("DEAD", 0),
                },
                "resources_total": hub.cached(name, "resources", query.resources_total),
                "tasks": counts["tasks"],
                "actors": counts["actors"],
                "jobs": counts["jobs"],
                "workers": counts["workers"],
                "placement_groups": counts["placement_groups"],
            }
        )

    @app.get("/api/memory", responses=ERRORS)
    def memory(session: Session = None) -> Response:
        """What is known of the object store: its size on the nodes that are alive."""
        name = hub.resolve(session)
        resources = hub.cached(name, "resources", query.resources_total)
        return answer(
            {
                "session": name,
                "object_store_bytes_total": int(resources.get("object_store_memory", 0)) or None,
                "memory_bytes_total": int(resources.get("memory", 0)) or None,
                "not_available": ["objects", "references", "used_bytes", "spilled_bytes"],
            }
        )

    @app.get("/api/metrics", responses=ERRORS)
    def metrics(session: Session = None) -> Response:
        """The newest figures that the record itself gives; node and process series are not collected yet."""
        name = hub.resolve(session)
        counts = hub.cached(name, "counts", query.counts)
        return answer(
            {
                "session": name,
                "time_ns": time.time_ns(),
                "metrics": [
                    {"name": f"rayscope_{what}", "labels": {"state": state}, "value": count}
                    for what, states in counts.items()
                    for state, count in states.items()
                ],
                "not_available": ["node", "process", "gpu", "network", "object_store"],
            }
        )
