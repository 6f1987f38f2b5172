"""Looks for what slows jobs down while they run, and publishes it as metrics of their sessions."""

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

#: The minimum pause between two evaluations, in seconds.
_MIN_PAUSE_S = 5.0
#: The pause as a multiple of the CPU time of the last evaluation, so that evaluations take less than a
#: fiftieth of a core, even though they take longer and longer as jobs grow.
_PAUSE_FACTOR = 100
#: Maximum number of findings per session. Only the largest ones are published.
MAX_FINDINGS = 10
#: Maximum number of characters in a label's value. Longer values are cut off.
_MAX_LABEL = 200
SHARE = Family(
    "rayscope_finding_share", "gauge", "What a finding costs a running job, as a share of its time."
)
SPENT = Family(
    "rayscope_findings_seconds_total",
    "counter",
    "CPU time of the server while it looked for what slows running jobs down.",
    "s",
)


#: Reads how much of a job's critical path each task takes. The tuple says whether the job has ended, and when
#: it began and ended.
PathReader = Callable[[SessionFile, str, tuple[bool, int, int]], Mapping[str, int]]


class LiveFindings:
    """Evaluates the running jobs of live sessions in one thread. Call :meth:`start` before use.

    It is also a metrics collector that publishes the latest findings of each session. ``path_ns``: reads how
    much of a job's critical path each task takes.
    """

    interval_s = 0.0
    timeout_s = 5.0

    def __init__(self, records: SessionReader, metrics: Metrics, path_ns: PathReader) -> None:
        self._path_ns = path_ns
        self._records = records
        self._metrics = metrics
        self._found: dict[str, list[Sample]] = {}
        #: The state of each session's record when it was last evaluated.
        self._written: dict[str, tuple[int, int]] = {}
        self._spent_s = 0.0
        self._work = Work()
        self._task = PeriodicTask("rayscope-findings", _MIN_PAUSE_S, self._evaluate_sessions)

    def start(self) -> None:
        """Start the thread."""
        self._task.start()

    def stop(self) -> None:
        """Stop the thread, interrupting an evaluation that is running."""
        self._task.stop(interrupt=self._work.abandon)

    def collector(self) -> LiveFindings:
        """The collector of a session. All sessions share one."""
        return self

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """The samples of ``rayscope_finding_share`` and ``rayscope_findings_seconds_total``."""
        yield SHARE
        yield from self._found.get(cluster.session, ())
        yield SPENT
        yield sample(SPENT.name, self._spent_s)

    def _evaluate_sessions(self) -> float:
        """Evaluate all live sessions that have changed. Returns how long to pause, s."""
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
            except RayscopeError as error:  # for example, retention has just deleted the session
                log.info("no findings of %s: %s", session, error)
            # the other sessions must still be evaluated; this one is retried once it has changed
            except Exception:
                log.exception("no findings of %s", session)
        # Measure the CPU time of the whole process, because DuckDB reads in threads of its own. This
        # overestimates the CPU time of the evaluation.
        spent_s = time.process_time() - before_s
        self._spent_s += spent_s
        return max(_MIN_PAUSE_S, _PAUSE_FACTOR * spent_s)

    def _evaluate(self, session: str, file: SessionFile) -> None:
        if self._written.get(session) == file.written:
            return
        self._written[session] = file.written
        jobs = read.running_jobs(file, gains.MAX_ATTEMPTS)
        found = [one for job in jobs for one in self._findings(session, file, job)]
        largest = {one[:2]: one for one in sorted(found, key=lambda one: one.value)}
        self._found[session] = sorted(largest.values(), key=lambda one: -one.value)[:MAX_FINDINGS]

    def _findings(self, session: str, file: SessionFile, job: str) -> list[Sample]:
        """Samples of the findings in a job; none if the job has just ended."""
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
