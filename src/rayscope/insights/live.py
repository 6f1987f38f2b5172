"""What slows jobs down while they run: looked for again and again, and told as metrics of their sessions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from rayscope.errors import RayscopeError
from rayscope.insights import detect, gains
from rayscope.insights.finding import Facts
from rayscope.insights.replay import read
from rayscope.insights.series import series_reader
from rayscope.metrics.collector import Cluster
from rayscope.metrics.service import Metrics
from rayscope.model.metric import Family, Sample, sample
from rayscope.periodic import PeriodicTask
from rayscope.records.reader import SessionReader
from rayscope.storage.interruption import Abandoned, Work, working
from rayscope.storage.session_file import SessionFile

log = logging.getLogger("rayscope.insights")

#: How often we look for what has changed, s, and how much longer than the CPU time of a look we rest after
#: it: looks take less than a fiftieth of one core, although the next one takes longer as jobs grow.
_EVERY_S, _REST = 5.0, 100
#: Findings of a session that are told, the largest ones, and letters of their labels.
MAX_FINDINGS, _MAX_LABEL = 10, 200
SHARE = Family(
    "rayscope_finding_share", "gauge", "What a finding costs a running job, as a share of its time."
)
SPENT = Family(
    "rayscope_findings_seconds_total",
    "counter",
    "CPU time of the server while it looked for what slows running jobs down.",
    "s",
)


#: Reads what :class:`Facts` wants to know of a job's critical path: whether the job has ended, begin and end.
PathReader = Callable[[SessionFile, str, tuple[bool, int, int]], Mapping[str, int]]


class LiveFindings:
    """Looks at the running jobs of live sessions, in one thread. :meth:`start` before use.

    It is a collector of metrics as well: of each session it tells what was found last. ``path_ns``: reads how
    much of a job's critical path is each task's.
    """

    interval_s = 0.0
    timeout_s = 5.0

    def __init__(self, records: SessionReader, metrics: Metrics, path_ns: PathReader) -> None:
        self._path_ns = path_ns
        self._records = records
        self._metrics = metrics
        self._found: dict[str, list[Sample]] = {}
        #: Session -> the state of its record when it was last looked at.
        self._written: dict[str, tuple[int, int]] = {}
        self._spent_s = 0.0
        self._work = Work()
        self._task = PeriodicTask("rayscope-findings", _EVERY_S, self._look)

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def stop(self) -> None:
        """End, in the midst of a look."""
        self._task.stop(interrupt=self._work.abandon)

    def collector(self) -> LiveFindings:
        """Of a session: one does for all."""
        return self

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """``rayscope_finding_share`` and ``rayscope_findings_seconds_total``."""
        yield SHARE
        yield from self._found.get(cluster.session, ())
        yield SPENT
        yield sample(SPENT.name, self._spent_s)

    def _look(self) -> float:
        """Look at all live sessions that have changed. Returns how long to rest."""
        before_s = time.process_time()
        live = self._records.live_here()
        for gone in self._written.keys() - set(live):
            del self._written[gone]
            self._found.pop(gone, None)
        for session in live:
            try:
                with working(self._work):
                    self._records.read(session, partial(self._evaluate, session), flush=False)
            except Abandoned:
                break
            except RayscopeError as error:  # a session that retention has just dropped, for one
                log.info("no findings of %s: %s", session, error)
            except Exception:  # the others go on, and so does this one once it has changed
                log.exception("no findings of %s", session)
        # Of the whole process, which is more than ours: DuckDB reads in threads of its own.
        spent_s = time.process_time() - before_s
        self._spent_s += spent_s
        return max(_EVERY_S, _REST * spent_s)

    def _evaluate(self, session: str, file: SessionFile) -> None:
        if self._written.get(session) == file.written:
            return
        self._written[session] = file.written
        jobs = read.running_jobs(file, gains.MAX_ATTEMPTS)
        found = [one for job in jobs for one in self._findings(session, file, job)]
        largest = {one[:2]: one for one in sorted(found, key=lambda one: one.value)}
        self._found[session] = sorted(largest.values(), key=lambda one: -one.value)[:MAX_FINDINGS]

    def _findings(self, session: str, file: SessionFile, job: str) -> list[Sample]:
        """What slows a job down; nothing if it has just ended."""
        recorded = read.read(file, job, self._records.last_ns(session))
        if recorded.has_ended:
            return []
        series = series_reader(self._metrics, session, recorded)
        extent = (recorded.has_ended, *recorded.extent_ns)
        facts = Facts(recorded, series, self._path_ns(file, job, extent))

        def check(_: float) -> None:
            self._work.check()

        script = read.script(file, job) or f"Job {job}"
        found, _ = detect.detect(facts, gains.baseline(recorded, check), detect.load(), check)
        return [
            sample(
                SHARE.name,
                one["share"],
                job_id=job,
                script=script[:_MAX_LABEL],
                kind=one["kind"],
                title=one["title"],
                function=(one["function"] or one["actor_class"] or "driver")[:_MAX_LABEL],
            )
            for one in found
            if one["on_path_ns"] != 0
        ]
