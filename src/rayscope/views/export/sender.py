"""Sends the trace of each job to a collector once the job has ended."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, NamedTuple

from rayscope.errors import RayscopeError
from rayscope.files import replacing
from rayscope.periodic import PeriodicTask
from rayscope.storage.catalog import Catalog
from rayscope.storage.sql.filters import TaskFilters
from rayscope.views.export.collector import Collector, CollectorError
from rayscope.views.export.export import Export
from rayscope.views.export.format import Format

log = logging.getLogger("rayscope.server")

#: Interval for finding jobs that have ended, in seconds.
_LOOK_S = 5.0
#: How long to wait after the collector failed, in seconds.
_PAUSE_S = 60.0
#: How long to wait after an error until the same job is tried again, in seconds. Others are sent meanwhile.
_RETRY_S = 600.0
#: A trace is sent this long after its job ended, in ns. By then, Ray has reported all of its attempts.
_SETTLED_NS = 65 * 10**9


class EndedJob(NamedTuple):
    """A job that has ended."""

    session: str
    job_id: str
    end_ns: int


class TraceSender:
    """Sends traces between :meth:`start` and :meth:`stop`.

    ``ended`` returns the jobs that have ended. ``path`` is a file with the jobs whose traces were sent, so
    that another server does not send them again. Jobs that ended before the file was made are not sent.
    """

    def __init__(
        self, endpoint: str, path: Path, catalog: Catalog, ended: Callable[[], Iterable[EndedJob]]
    ) -> None:
        self._task = PeriodicTask("rayscope-traces", _LOOK_S, self._look)
        self._collector = Collector(endpoint, self._task.wait)
        self._path = path
        self._catalog = catalog
        self._ended = ended
        self._since_ns = time.time_ns()
        self._sent: set[tuple[str, str]] = set()
        #: When the job of a session is tried again after an error (monotonic, s).
        self._retry_s: dict[tuple[str, str], float] = {}

    def start(self) -> None:
        """Start to send."""
        self._load()
        self._task.start()

    def stop(self) -> None:
        """Stop sending. The next server sends the rest."""
        self._task.stop()
        self._collector.close()

    def _load(self) -> None:
        try:
            since_ns, *jobs = self._path.read_text().splitlines()
            self._since_ns = int(since_ns)
            self._sent = {(session, job_id) for session, _, job_id in (job.partition(" ") for job in jobs)}
        except FileNotFoundError:
            self._save()
        except (OSError, ValueError) as error:
            log.warning("could not read %s: %s", self._path, error)

    def _save(self) -> None:
        known = set(self._catalog.names())
        self._sent = {job for job in self._sent if job[0] in known}
        lines = [str(self._since_ns), *(" ".join(job) for job in sorted(self._sent))]
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self._path) as file:
                file.write("\n".join(lines).encode())
        except OSError as error:  # another server will send these traces again, which adds nothing
            log.warning("could not write %s: %s", self._path, error)

    def _look(self) -> float | None:
        settled_ns = time.time_ns() - _SETTLED_NS
        for job in self._ended():
            key = job.session, job.job_id
            if key in self._sent or not self._since_ns <= job.end_ns <= settled_ns:
                continue
            if time.monotonic() < self._retry_s.get(key, 0.0):
                continue
            if self._task.is_stopping:
                return None
            self._retry_s[key] = time.monotonic() + _RETRY_S
            try:
                self._send(job)
            except RayscopeError as error:
                log.warning("the trace of job %s of %s was not sent: %s", job.job_id, job.session, error)
                if isinstance(error, CollectorError):
                    return _PAUSE_S
                continue
            del self._retry_s[key]
            self._sent.add(key)
            self._save()
        return None

    def _send(self, job: EndedJob) -> None:
        with tempfile.TemporaryFile() as content:
            # A slow collector must not keep the session open.
            self._write(job, content)
            content.seek(0)
            sent = self._collector.send(content)
        if sent.refused:
            log.warning(
                "%s refused %d of %d spans: %s", self._collector.host, sent.refused, sent.spans, sent.reason
            )

    def _write(self, job: EndedJob, content: IO[bytes]) -> None:
        about = self._catalog.about(job.session)
        with (
            self._catalog.reading(job.session) as file,
            Export(
                file,
                Format.otlp,
                TaskFilters(job_id=job.job_id),
                session=job.session,
                ray_version=about.ray_version,
                last_ns=about.last_ns,
            ) as export,
        ):
            content.writelines(export.chunks)
