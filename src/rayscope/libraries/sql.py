"""Infers from the end of a job when the objects that its driver ran ended."""

from __future__ import annotations

from rayscope.model import Kind
from rayscope.model.entity import FINAL_STATES
from rayscope.storage.schema import ENTITY_VIEWS


def with_job(kind: Kind) -> str:
    """SQL for all objects of a kind, with the ``entrypoint`` of their jobs.

    An object that was still running when its job ended gets the state ``CUT_OFF``, and ends with the job.
    """
    final = ", ".join(map(repr, sorted(FINAL_STATES[kind])))
    return f"""
SELECT r.* EXCLUDE (state, end_ns, end_known_by, open),
    CASE WHEN open AND j.end_ns IS NOT NULL THEN 'CUT_OFF' ELSE r.state END AS state,
    CASE WHEN open THEN j.end_ns ELSE r.end_ns END AS end_ns,
    CASE WHEN open AND j.end_ns IS NOT NULL THEN 'job' ELSE r.end_known_by END AS end_known_by,
    j.entrypoint
FROM (SELECT *, state IS NULL OR state NOT IN ({final}) AS open FROM {ENTITY_VIEWS[kind][0]}) r
LEFT JOIN jobs j USING (job_id)
"""
