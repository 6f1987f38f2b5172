"""Routes for jobs: their progress, and the operator's actions through Ray's job API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import Request

from rayscope.api.parameters import CurrentRecords, Session
from rayscope.api.responses import Json, answer, error
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorAnswer
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.cluster.jobs import schemas
from rayscope.cluster.jobs.folders import check_folder
from rayscope.cluster.jobs.progress import progress_of
from rayscope.ingest.bodies import Busy, CurrentBodies
from rayscope.ingest.clusters import Clusters, CurrentClusters
from rayscope.ray.jobs_api import JobApi
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import BadQuery
from rayscope.storage.sql import entities

_ACTION_ERRORS: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorAnswer},
    502: {"model": ErrorAnswer},
}


router = Router()


@router.get("/api/v1/jobs/{job_id}/progress")
def job_progress(records: CurrentRecords, job_id: str, session: Session = None) -> Json[schemas.Progress]:
    """All attempts of a job by state, and by function: the 100 with the most attempts, and the total of the
    rest.
    """
    return answer(progress_of(records, records.resolve(session), "job", job_id))


@router.get("/api/v1/actors/{actor_id}/progress")
def actor_progress(records: CurrentRecords, actor_id: str, session: Session = None) -> Json[schemas.Progress]:
    """All attempts of an actor by state, and by method."""
    return answer(progress_of(records, records.resolve(session), "actor", actor_id))


@router.post("/api/v1/jobs", dependencies=OPERATOR_ONLY, responses=_ACTION_ERRORS)
def submit(
    records: CurrentRecords, clusters: CurrentClusters, request: schemas.JobRequest, session: Session = None
) -> Json[schemas.Submitted]:
    """Submit a job to a live session's cluster. Its working directory can only be a URI."""
    working_dir = (request.runtime_env or {}).get("working_dir")
    if working_dir is not None and "://" not in str(working_dir):
        raise BadQuery(
            "working_dir must be a URI here: the cluster cannot read the server's folders.",
            "Use a URI (s3://…, gs://…, https://….zip), or submit with rayscope.Client or `ray job "
            "submit` from the machine with the folder.",
            what="working_dir",
        )
    api, changed = clusters.job_api(records.resolve(session))
    submission_id = api.submit(request.model_dump(exclude_none=True))
    changed()
    return answer({"submission_id": submission_id})


@router.post(
    "/api/v1/jobs/folder",
    dependencies=OPERATOR_ONLY,
    responses=_ACTION_ERRORS,
)
async def upload_folder(
    records: CurrentRecords,
    bodies: CurrentBodies,
    clusters: CurrentClusters,
    request: Request,
    session: Session = None,
) -> Json[schemas.FolderAnswer]:
    """Send a folder (a ZIP of up to 100 MiB) to a live session's cluster. Use the returned URI as
    `working_dir`.
    """
    api, _ = clusters.job_api(records.resolve(session))
    try:
        async with bodies.read(request) as package:
            await asyncio.to_thread(check_folder, package)
            return answer({"uri": await asyncio.to_thread(api.upload, package)})
    except Busy:
        return error(503, "busy", "Too many uploads at once.", "Send it again.", {"Retry-After": "2"})


@router.post(
    "/api/v1/jobs/{job_id}/stop",
    dependencies=OPERATOR_ONLY,
    responses=_ACTION_ERRORS,
)
def stop(
    records: CurrentRecords, clusters: CurrentClusters, job_id: str, session: Session = None
) -> Json[schemas.Stopped]:
    """Stop a submitted job. Ray sends SIGTERM and, after a few seconds, SIGKILL."""
    return answer({"stopped": _run_job_action(records, clusters, session, job_id, JobApi.stop)})


@router.delete(
    "/api/v1/jobs/{job_id}",
    dependencies=OPERATOR_ONLY,
    responses=_ACTION_ERRORS,
)
def delete(
    records: CurrentRecords, clusters: CurrentClusters, job_id: str, session: Session = None
) -> Json[schemas.Deleted]:
    """Delete a submitted job from Ray after it has ended. Rayscope's record is kept."""
    return answer({"deleted": _run_job_action(records, clusters, session, job_id, JobApi.delete)})


def _run_job_action(
    records: SessionReader,
    clusters: Clusters,
    session: str | None,
    job_id: str,
    action: Callable[[JobApi, str], bool],
) -> bool:
    """Run an action on a submitted job. Raises NotFound or BadQuery for other jobs, before any request to
    Ray.
    """
    chosen = records.resolve(session)
    api, changed = clusters.job_api(chosen)
    job = records.read(chosen, lambda file: entities.get_entity(file, "job", job_id))
    if not job["submission_id"]:
        raise BadQuery(
            "This job was not submitted; it is a driver that was started directly.",
            "Stop the driver where it runs. Ray's job API only knows submitted jobs.",
            what="driver_job",
        )
    done = action(api, str(job["submission_id"]))
    changed()
    return done
