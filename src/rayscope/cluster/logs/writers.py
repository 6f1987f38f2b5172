"""Finds the writer of a log file: what ran in its worker, or the script of its driver."""

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
#: Fields of a writer that a text filter searches.
_SEARCHED = ("worker_id", "pid", "submission_id", "job_id", "actor_class", "actor_name", "script")


class Writers:
    """Finds the writers of some files by their names, with one query for all of them."""

    def __init__(self, records: SessionReader, session: str, files: Iterable[LogName]) -> None:
        workers = sorted({each.worker_id for each in files if each.worker_id})
        self._workers, self._scripts = records.read(session, lambda file: sql.names_of_writers(file, workers))

    def of(self, name: LogName) -> dict[str, Any]:
        """The fields of :class:`schemas.LogWriter`."""
        fields = name._asdict()
        del fields["kind"]
        worker = self._workers.get(name.worker_id or "", _UNKNOWN)
        # The file names of a worker that was started before it had a job contain none.
        job = worker.get("job_id") or name.job_id
        script = self._scripts.get(name.submission_id or job or "")
        return {**fields, **worker, "job_id": job, "script": script}


def matching_files(
    records: SessionReader, session: str, files: list[ListedFile], text: str
) -> list[tuple[ListedFile, dict[str, Any]]]:
    """The files whose name or writer contains a text (in lower case), each with its writer."""
    writers = Writers(records, session, (one.about for one in files))
    described = [(one, writers.of(one.about)) for one in files]
    return [(one, writer) for one, writer in described if _has(text, one.name, writer)]


def _has(text: str, name: str, writer: dict[str, Any]) -> bool:
    texts = [name, *(writer[field] for field in _SEARCHED), *writer["functions"]]
    return any(text in str(each).lower() for each in texts if each is not None)
