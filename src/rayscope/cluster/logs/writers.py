"""Finds the writer of a log file: what ran in its worker, or the script of its driver."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.cluster.logs import schemas, sql
from rayscope.cluster.logs.listing import ListedFile
from rayscope.ray.agents.logs import LogName
from rayscope.records.reader import SessionReader


class Writers:
    """Finds the writers of some files by their names, with one query for all of them."""

    def __init__(self, records: SessionReader, session: str, files: Iterable[LogName]) -> None:
        workers = sorted({each.worker_id for each in files if each.worker_id})
        self._workers, self._scripts = records.read(session, lambda file: sql.names_of_writers(file, workers))

    def of(self, name: LogName) -> schemas.LogWriter:
        """The writer of a file."""
        worker = self._workers.get(name.worker_id or "", {})
        # If a worker was started before it had a job, its file names contain no job ID.
        job = worker.get("job_id") or name.job_id
        return {
            "worker_id": name.worker_id,
            "job_id": job,
            "pid": name.pid,
            "submission_id": name.submission_id,
            "actor_id": worker.get("actor_id"),
            "actor_class": worker.get("actor_class"),
            "actor_name": worker.get("actor_name"),
            "functions": worker.get("functions", []),
            "functions_total": worker.get("functions_total", 0),
            "script": self._scripts.get(name.submission_id or job or ""),
        }


def matching_files(
    records: SessionReader, session: str, files: list[ListedFile], text: str
) -> list[tuple[ListedFile, schemas.LogWriter]]:
    """The files whose name or writer contains the search text (in lower case), each with its writer."""
    writers = Writers(records, session, (one.about for one in files))
    described = [(one, writers.of(one.about)) for one in files]
    return [(one, writer) for one, writer in described if _has(text, one.name, writer)]


def _has(text: str, name: str, writer: schemas.LogWriter) -> bool:
    texts = (
        name,
        writer["worker_id"],
        writer["pid"],
        writer["submission_id"],
        writer["job_id"],
        writer["actor_class"],
        writer["actor_name"],
        writer["script"],
        *writer["functions"],
    )
    return any(text in str(each).lower() for each in texts if each is not None)
