"""The topic of the live push about one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayscope.cluster.jobs.progress import progress_of
from rayscope.records.reader import SessionReader


def job(records: SessionReader, session: str, params: Mapping[str, str]) -> dict[str, Any]:
    """One job's attempts by function and state, as ``/api/jobs/{job_id}/progress`` tells them."""
    return {"job_id": params["job_id"], **progress_of(records, session, "job", params["job_id"])}
