"""The critical path: the work and waits that determined how long a job took."""

from __future__ import annotations

from fastapi import Request

from rayscope.api.parameters import CurrentRecords, Session, Text
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id
from rayscope.views.critical_path import compute, schemas
from rayscope.views.critical_path.read import (
    JobPath,
    describe_causes,
    is_driver,
    name_operators,
    read_shared_path,
)

MAX_LINKS = 3_000


router = Router()


@router.get("/api/v1/flow/critical-path")
def critical_path(
    records: CurrentRecords, request: Request, session: Session = None, job_id: Text = None
) -> Json[schemas.CriticalPathAnswer]:
    """Return the chain of work and waits that determined a job's duration, walked back from its driver's end.

    For a running job, the path covers the time so far.
    """
    chosen = records.resolve(session)

    def find(file: SessionFile) -> schemas.CriticalPathAnswer:
        job = find_id(file, "job", job_id) if job_id else None
        return _path(file, chosen, read_shared_path(records, chosen, file, job))

    return answer_from_record(records, chosen, request, find)


def _path(file: SessionFile, session: str, known: JobPath) -> schemas.CriticalPathAnswer:
    """Return the path, its longest links in chronological order, and each function's share."""
    path = name_operators(file, known.path)
    duration = path.end_ns - path.begin_ns
    kept = path.links
    if len(kept) > MAX_LINKS:
        longest = sorted(kept, key=lambda link: (link.begin_ns - link.end_ns, link.begin_ns))[:MAX_LINKS]
        kept = sorted(longest, key=lambda link: link.begin_ns)
    phases: dict[str, int] = {}
    for link in path.links:
        phases[link.phase] = phases.get(link.phase, 0) + link.end_ns - link.begin_ns
    return {
        "session": session,
        "job_id": known.job_id,
        "begin_ns": path.begin_ns,
        "end_ns": path.end_ns,
        "duration_ns": duration,
        "links": [
            {
                "task_id": link.task_id,
                "attempt": link.attempt,
                "name": link.name,
                "phase": link.phase,
                "begin_ns": link.begin_ns,
                "end_ns": link.end_ns,
                "held_ns": link.held_ns,
                "share": (link.end_ns - link.begin_ns) / max(1, duration),
            }
            for link in kept
        ],
        "links_total": len(path.links),
        "left_out_ns": duration - sum(link.end_ns - link.begin_ns for link in kept),
        "functions": [
            {
                "name": share.name,
                "is_driver": share.is_driver,
                "links": share.links,
                "total_ns": share.total_ns,
                "by_phase": share.by_phase,
                "held_ns": share.held_ns,
                "share": share.total_ns / max(1, duration),
                "without_ns": duration - share.total_ns,
            }
            for share in compute.shares(path, is_driver)[:200]
        ],
        "causes": describe_causes(file, path, compute.causes(path, is_driver)),
        "phases": phases,
        "held_ns": sum(link.held_ns for link in path.links),
        "so_far": not known.ended,
        "driver_traced": known.traced,
        "truncated": path.truncated,
    }
