"""The live topic about tasks that wait for a debugger."""

from __future__ import annotations

from rayscope.cluster.debugger.debuggees import Debuggees
from rayscope.cluster.debugger.listing import paused_tasks
from rayscope.ingest.clusters import Clusters
from rayscope.records.reader import SessionReader


def debugger(
    records: SessionReader, debuggees: Debuggees, clusters: Clusters, session: str
) -> dict[str, object]:
    """The same as ``GET /api/v1/paused-tasks``."""
    return dict(paused_tasks(records, debuggees, clusters, session))
