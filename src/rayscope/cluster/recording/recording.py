"""How a session was recorded."""

from __future__ import annotations

from rayscope.server.services import Services


def recording(services: Services, session: str) -> str:
    """How a session is recorded: ``events``, ``snapshot`` or ``events+snapshot``."""
    kinds = set(services.catalog.about(session).recording)
    named = [kind for kind in ("events", "snapshot") if kind in kinds]
    return "+".join(named) or ("snapshot" if kinds else "events")


def cannot_see(services: Services, session: str) -> list[str]:
    """Codes of what this way of recording cannot see (docs/reference/api.md explains them)."""
    about = services.catalog.about(session)
    codes = []
    if "events" not in about.recording:
        codes += ["between_snapshots", "older_than_gcs_limit"]
    return codes + services.clusters.troubles(session)
