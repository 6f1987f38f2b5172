"""The way in which a session was recorded."""

from __future__ import annotations

from rayscope.ingest.clusters import Clusters
from rayscope.storage.catalog import Catalog


def recording(catalog: Catalog, session: str) -> str:
    """How a session is recorded: ``events``, ``snapshot`` or ``events+snapshot``."""
    kinds = set(catalog.about(session).recording)
    named = [kind for kind in ("events", "snapshot") if kind in kinds]
    return "+".join(named) or ("snapshot" if kinds else "events")


def cannot_see(catalog: Catalog, clusters: Clusters, session: str) -> list[str]:
    """Codes of what this way of recording cannot capture (docs/reference/api.md explains them)."""
    about = catalog.about(session)
    codes = []
    if "events" not in about.recording:
        codes += ["between_snapshots", "older_than_gcs_limit"]
    return codes + clusters.troubles(session)
