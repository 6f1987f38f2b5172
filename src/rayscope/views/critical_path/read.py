"""Reads the critical path of a job."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from rayscope.records.reader import SessionReader
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.jobs import longest_job
from rayscope.storage.sql.origins import operators
from rayscope.views.critical_path import compute, schemas
from rayscope.views.critical_path.links_sql import read_actors, read_awaiting
from rayscope.views.critical_path.sql import Extent, PathReader

_TIME_S = 10.0
#: Maximum number of causes in a response.
_MAX_CAUSES = 50
#: Number of causes that include an actor: the largest ones.
_WITH_ACTORS = 5


class JobPath(msgspec.Struct, array_like=True):
    """A job's critical path.

    ``ended``: whether the job has ended. ``traced``: whether the waits of its driver are recorded.
    """

    job_id: str
    ended: bool
    traced: bool
    path: compute.Path


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(JobPath)


def read_path(
    file: SessionFile, last_ns: int, job_id: str, *, live: bool, extent: Extent | None = None
) -> JobPath:
    """Walk along the critical path of a job. Raises NotFound.

    If ``extent`` is passed, the job's start and end are not looked up again.
    """
    until = time.monotonic() + _TIME_S
    with file.reader() as reader:
        record = PathReader(reader, last_ns, job_id, live=live, extent=extent)
        path = compute.walk(
            record, record.driver, record.begin_ns, out_of_time=lambda: time.monotonic() > until
        )
        path = compute.split_awaiting(path, read_awaiting(reader, path.links, record.last_ns))
    return JobPath(job_id, record.ended, record.traced, path)


def read_shared_path(records: SessionReader, session: str, file: SessionFile, job_id: str | None) -> JobPath:
    """Return :func:`read_path`, of the longest job if ``job_id`` is None. All answers share one walk.

    Raises NotFound.
    """
    last_ns = records.last_ns(session)
    with file.reader() as reader:
        job = job_id or longest_job(reader, last_ns)
    live = records.is_live(session)

    def walk(file: SessionFile) -> bytes:
        return _ENCODER.encode(read_path(file, last_ns, job, live=live))

    return _DECODER.decode(records.read_cached(session, f"critical path of {job}", walk, flush=False))


def name_operators(file: SessionFile, path: compute.Path) -> compute.Path:
    """Return the path with the functions of libraries named after their operators."""
    with file.reader() as reader:
        known = operators(reader)
    return path._replace(links=[link._replace(name=known.get(link.name, link.name)) for link in path.links])


def ns_by_task(path: compute.Path) -> dict[str, int]:
    """Return the time of each task on the path in ns, by task ID. It includes waiting and retrying."""
    found: dict[str, int] = defaultdict(int)
    for link in path.links:
        found[link.task_id] += link.end_ns - link.begin_ns
    return dict(found)


def read_ns_by_task(file: SessionFile, job_id: str, extent: tuple[bool, int, int]) -> dict[str, int]:
    """Return :func:`ns_by_task` of a job whose :class:`Extent` is known."""
    known = Extent(*extent)
    return ns_by_task(read_path(file, known.end_ns, job_id, live=not known.ended, extent=known).path)


def is_driver(task_id: str) -> bool:
    """Return whether a task is a driver."""
    return task_id.startswith(DRIVER_PREFIX)


def describe_causes(
    file: SessionFile, path: compute.Path, causes: Sequence[compute.Cause]
) -> list[schemas.PathCause]:
    """Return the causes of a path in the format of the response, the largest first."""
    whole_ns = max(1, path.end_ns - path.begin_ns)
    causes = causes[:_MAX_CAUSES]
    largest = {cause.name for cause in causes[:_WITH_ACTORS] if not cause.is_driver}
    with file.reader() as reader:
        actors = read_actors(reader, [link for link in path.links if link.name in largest])
    return [
        {
            "phase": cause.phase,
            "name": cause.name,
            "is_driver": cause.is_driver,
            "functions": cause.functions,
            "total_ns": cause.total_ns,
            "held_ns": cause.held_ns,
            "share": cause.total_ns / whole_ns,
            "actor": None if cause.is_driver else actors.get(cause.name),
        }
        for cause in causes
    ]
