"""Who wrote a log file: what ran in its worker, or the script of its driver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rayscope.cluster.logs import sql
from rayscope.cluster.logs.listing import ListedFile
from rayscope.ray.agents.logs import LogName
from rayscope.records.reader import SessionReader

_UNKNOWN: dict[str, Any] = {
    "actor_id": None,
    "actor_class": None,
    "actor_name": None,
    "functions": [],
    "functions_total": 0,
}
#: What a filter looks into of who wrote a file.
_SEARCHED = ("worker_id", "pid", "submission_id", "job_id", "actor_class", "actor_name", "script")


class Writers:
    """Looks up who wrote some files, by their names; one look at the record for all of them."""

    def __init__(self, records: SessionReader, session: str, files: Iterable[LogName]) -> None:
        workers = sorted({each.worker_id for each in files if each.worker_id})
        self._workers, self._scripts = records.read(session, lambda file: sql.names_of_writers(file, workers))

    def of(self, name: LogName) -> dict[str, Any]:
        """The fields of :class:`schemas.LogWriter`."""
        told = name._asdict()
        del told["kind"]
        worker = self._workers.get(name.worker_id or "", _UNKNOWN)
        # A worker that was started before it had a job has none in the names of its files.
        job = worker.get("job_id") or name.job_id
        script = self._scripts.get(name.submission_id or job or "")
        return {**told, **worker, "job_id": job, "script": script}


def matching_files(
    records: SessionReader, session: str, files: list[ListedFile], text: str
) -> list[tuple[ListedFile, dict[str, Any]]]:
    """The files whose name, or who wrote them, has a text (in lower case), each with its writer."""
    writers = Writers(records, session, (one.about for one in files))
    described = [(one, writers.of(one.about)) for one in files]
    return [(one, writer) for one, writer in described if _has(text, one.name, writer)]


def _has(text: str, name: str, writer: dict[str, Any]) -> bool:
    told = [name, *(writer[field] for field in _SEARCHED), *writer["functions"]]
    return any(text in str(each).lower() for each in told if each is not None)
