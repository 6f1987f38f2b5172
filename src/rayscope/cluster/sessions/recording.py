"""How a session was recorded, and what its record is missing."""

from __future__ import annotations

from typing import Any

from rayscope.server.services import Services
from rayscope.storage.sql import sessions as sql


def dropped(services: Services, session: str) -> dict[str, Any]:
    """What is missing from a session's record, and up to where it was read again from the GCS."""
    about = services.catalog.about(session)
    return {
        **services.records.read_cached(session, sql.dropped),
        "repaired_total": about.repaired_total,
        "repaired_ns": about.repaired_ns or None,
        "repaired_partly": about.repaired_partly,
    }


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
