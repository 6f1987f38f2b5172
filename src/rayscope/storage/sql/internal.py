"""SQL that recognizes Ray's own jobs, actors and processes.

Ray's dashboard connects to the cluster as a driver, in a namespace that begins with ``_ray_internal_`` (Ray's
job API hides such jobs). For each submitted job it starts an actor ``JobSupervisor`` in
``SUPERVISOR_ACTOR_RAY_NAMESPACE``. These jobs and actors count as Ray's own, and so do all other actors of
such a job, and the processes of both. Actors of Ray's libraries (Serve, Data, Train) belong to the user's
jobs that start them.
"""

from __future__ import annotations

from rayscope.model import Kind


def is_rays_namespace(starts_with: str) -> str:
    """SQL that tests whether ``ray_namespace`` is Ray's own.

    ``starts_with``: name of that function in the SQL dialect.
    """
    return (
        f"ray_namespace = 'SUPERVISOR_ACTOR_RAY_NAMESPACE' OR {starts_with}(ray_namespace, '_ray_internal_')"
    )


def job_of_driver(row: str = "") -> str:
    """SQL for the job of a row of ``worker_rows`` that is a driver, or NULL for other workers.

    A driver's worker ID begins with its job's ID. ``row``: name of the row, followed by a dot.
    """
    return f"CASE WHEN {row}worker_type = 'DRIVER' THEN {row}id[:8] END"


_NAMESPACE = is_rays_namespace("starts_with")
#: Query for Ray's own jobs. A job is recognized by its namespace, as reported by the GCS, or by an actor in
#: one of Ray's namespaces.
_JOBS = (
    "SELECT id FROM job_rows WHERE is_internal "
    f"UNION ALL SELECT job_id FROM actor_rows WHERE job_id IS NOT NULL AND ({_NAMESPACE})"
)
_ACTOR = f"coalesce({_NAMESPACE} OR job_id IN ({_JOBS}), false)"
#: Kind of entity -> SQL for whether a row of that kind is Ray's own.
IS_INTERNAL: dict[Kind, str] = {
    "job": f"coalesce(is_internal OR id IN ({_JOBS}), false)",
    "actor": _ACTOR,
    "worker": f"(coalesce(coalesce(job_id, {job_of_driver()}) IN ({_JOBS}), false) "
    f"OR id IN (SELECT worker_id FROM actor_rows WHERE worker_id IS NOT NULL AND {_ACTOR}))",
}
