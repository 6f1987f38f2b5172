"""The way in which a session was recorded."""

from __future__ import annotations

from rayscope.cluster.recording.schemas import Recording
from rayscope.ingest.clusters import Clusters
from rayscope.storage.catalog import Catalog


def recording(catalog: Catalog, session: str) -> Recording:
    """How a session is recorded: ``events``, ``snapshot`` or ``events+snapshot``."""
    kinds = catalog.about(session).recording
    if "events" in kinds:
        return "events+snapshot" if "snapshot" in kinds else "events"
    return "snapshot" if kinds else "events"


def cannot_see(catalog: Catalog, clusters: Clusters, session: str) -> list[str]:
    """Codes for what this way of recording cannot capture (explained in docs/reference/api.md)."""
    about = catalog.about(session)
    codes = []
    if "events" not in about.recording:
        codes += ["between_snapshots", "older_than_gcs_limit"]
    return codes + clusters.troubles(session)
