"""The live topic of a single job."""

from __future__ import annotations

from collections.abc import Mapping

from rayscope.cluster.jobs.progress import progress_of
from rayscope.records.reader import SessionReader


def job(records: SessionReader, session: str, params: Mapping[str, str]) -> dict[str, object]:
    """The attempts of a job by function and state, as in ``/api/v1/jobs/{job_id}/progress``."""
    return {"job_id": params["job_id"], **progress_of(records, session, "job", params["job_id"])}
