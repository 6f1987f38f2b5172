"""Writes a summary of each run once it has ended, and of the older sessions on this disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from rayscope.api.provide import provide
from rayscope.cluster.recording.recording import recording
from rayscope.cluster.sessions.schemas import SlowerJob, UsualTime
from rayscope.errors import RayscopeError
from rayscope.periodic import PeriodicTask
from rayscope.records.reader import SessionReader
from rayscope.runs import sql
from rayscope.runs.judge import Judgment, judge
from rayscope.runs.store import RunStore
from rayscope.runs.summary import Run, summarize
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import StoreError
from rayscope.storage.interruption import Abandoned, Work, working
from rayscope.storage.session_file import SessionFile

log = logging.getLogger("rayscope.runs")

#: Interval for finding jobs that have ended, in seconds.
_LOOK_S = 3.0
#: A summary is written this long after a job ended, ns. Reports of its last tasks have arrived by then.
_FIRST_NS = 5 * 10**9
#: It is written again this long after the end, ns. By then Ray has declared the remaining tasks failed.
_SETTLED_NS = 60 * 10**9
#: How long to wait after summaries could not be written, in seconds.
_PAUSE_S = 60.0
#: How long to wait after an error until a session is tried again, in seconds.
_RETRY_S = 600.0
#: How long a command without a server may summarize runs, in seconds.
_READING_S = 10.0


class Runs:
    """The runs of all sessions. Call :meth:`start` before use, and :meth:`stop` at the end.

    ``max_runs``: number of runs that are kept. With ``read_only``, summaries that are missing are made in
    memory.
    """

    def __init__(
        self, path: Path, catalog: Catalog, records: SessionReader, max_runs: int, *, read_only: bool = False
    ) -> None:
        self.store = RunStore(path, read_only=read_only)
        self._catalog = catalog
        self._records = records
        self._max_runs = max_runs
        self._read_only = read_only
        self._work = Work()
        #: Held to add or forget runs, so that a deleted session gets no more of them.
        self._adding = threading.Lock()
        self._judging = threading.Lock()
        self._task = PeriodicTask("rayscope-runs", _LOOK_S, self._look_again, at_once=True)
        #: Session -> when it is tried again after an error (monotonic, s).
        self._retry_s: dict[str, float] = {}
        #: The last result of :meth:`judged`, after the version of the store that it is about.
        self._judged: tuple[int, Sequence[Run], Mapping[tuple[str, str], Judgment]] = (-1, (), {})
        #: Likewise, the stored runs by session, the newest first.
        self._by_session: tuple[int, Mapping[str, list[Run]]] = (-1, {})

    def start(self) -> None:
        """Start to write summaries."""
        self._task.start()

    def stop(self) -> None:
        """Stop, interrupting the current summary."""
        self._task.stop(interrupt=self._work.abandon)
        self.store.close()

    def runs(self) -> list[Run]:
        """All runs, in no particular order."""
        if self._read_only:
            self._look(time.monotonic() + _READING_S)
        return self.store.runs()

    def judged(self) -> tuple[Sequence[Run], Mapping[tuple[str, str], Judgment]]:
        """All runs, and the verdict on each by session and job."""
        self.runs()  # writes the summaries that are missing, without a server
        return self._judge_stored()

    def _judge_stored(self) -> tuple[Sequence[Run], Mapping[tuple[str, str], Judgment]]:
        with self._judging:  # many requests may need it at once
            version, runs = self.store.version, self.store.runs()
            if self._judged[0] != version:
                self._judged = version, runs, judge(runs)
            return self._judged[1:]

    def outcomes(self, session: str) -> list[str]:
        """The outcomes of a session's runs, the newest first."""
        return [run.summary.outcome for run in self._of_session(session)]

    def slower(self, session: str) -> SlowerJob | None:
        """The newest run of a session that took longer than usual."""
        runs = self._of_session(session)
        if not runs:
            return None
        _, judged = self._judge_stored()
        for run in runs:
            judgment = judged.get(run.key)  # None if it was deleted just now
            if judgment is None or judgment.verdict != "slower":
                continue
            if judgment.ratio is not None and judgment.usual is not None:
                usual: UsualTime = {"runs": judgment.usual.runs, "mid_ns": judgment.usual.mid_ns}
                script, variant = run.group
                return {"script": script, "variant": variant, "ratio": judgment.ratio, "usual": usual}
        return None

    def _of_session(self, session: str) -> Sequence[Run]:
        version = self.store.version
        if self._by_session[0] != version:
            found: dict[str, list[Run]] = defaultdict(list)
            for run in sorted(self.store.runs(), key=lambda run: run.begin_ns, reverse=True):
                found[run.summary.session].append(run)
            self._by_session = version, found
        return self._by_session[1].get(session, ())

    def baseline(self, group: tuple[str, str]) -> tuple[str, str] | None:
        """The session and the job of a group's baseline, or None if it has none."""
        return next(
            (run.key for run in self.store.runs() if run.marks.is_baseline and run.group == group), None
        )

    def pending(self) -> int:
        """Number of ended sessions on this disk whose runs are not summarized yet."""
        known = {run.summary.session for run in self.store.runs()}
        return sum(1 for name in self._due() if name not in known and not self._records.is_live(name))

    def has(self, session: str) -> bool:
        """Whether there are runs of a session."""
        return bool(self._of_session(session))

    def forget(self, session: str) -> None:
        """Remove the runs of a session. Raises StoreError."""
        with self._adding:
            self.store.remove([run.key for run in self._of_session(session)])
        self.store.set_complete(session, is_complete=False)

    def _due(self) -> list[str]:
        """The sessions on this disk that may lack summaries, the newest first."""
        return [
            name
            for name in self._catalog.names()
            if (name not in self.store.complete or self._records.is_live(name))
            and self._catalog.path_of(name).exists()
            and time.monotonic() >= self._retry_s.get(name, 0.0)
        ]

    def _look_again(self) -> float | None:
        """Write the summaries that are due. Returns how long to pause, s."""
        try:
            self._look()
        except StoreError as error:  # such as when the disk is full
            log.warning("%s", error)
            return _PAUSE_S
        return None

    def _look(self, until_s: float = float("inf")) -> None:
        """Write the summaries that are due, one after the other."""
        self._follow_tags()
        for session in self._due():
            if self._task.is_stopping or time.monotonic() > until_s:
                return
            try:
                with working(self._work):
                    self._summarize(session)
            except Abandoned:
                return
            except (RayscopeError, OSError) as error:  # such as when retention has just deleted the session
                self._retry_s[session] = time.monotonic() + _RETRY_S
                log.info("no summary of the runs of %s: %s", session, error)
            except Exception:  # an error of one session must not affect the others
                self._retry_s[session] = time.monotonic() + _RETRY_S
                log.exception("no summary of the runs of %s", session)
        self._drop_oldest()

    def _summarize(self, session: str) -> None:
        is_live = self._records.is_live(session)
        if is_live and session in self.store.complete:
            self.store.set_complete(session, is_complete=False)
        now_ns = time.time_ns()
        jobs = self._records.read(session, _read_jobs, flush=False)
        is_complete = not is_live
        oldest_ns = self._oldest_ns()
        for job_id, begin_ns, end_ns in jobs:
            if end_ns is None and is_live:
                continue
            ended_ns = self._records.last_ns(session) if end_ns is None else end_ns
            is_complete &= now_ns >= ended_ns + _SETTLED_NS
            run = self.store.find(session, job_id)
            if run is not None:
                is_due = run.summary.made_ns < ended_ns + _SETTLED_NS <= now_ns
            else:
                is_due = begin_ns > oldest_ns and (not is_live or now_ns >= ended_ns + _FIRST_NS)
            if is_due:
                self._add(session, job_id, now_ns)
        if is_complete:
            self.store.set_complete(session, is_complete=True)

    def _add(self, session: str, job_id: str, now_ns: int) -> None:
        about, last_ns = self._catalog.about(session), self._records.last_ns(session)
        kind = recording(self._catalog, session)
        found = self._records.read(
            session, lambda file: summarize(file, about, job_id, last_ns, now_ns, kind), flush=False
        )
        with self._adding:
            self._catalog.about(session)  # raises NotFound if the session was deleted meanwhile
            self.store.add(*found)

    def _follow_tags(self) -> None:
        """Store the tags that were set since the summaries were written."""
        tags = {name: self._catalog.about(name).label.tags for name in self._catalog.names()}
        summaries = [run.summary for run in self.store.runs()]
        for name in {one.session for one in summaries if one.tags != tags.get(one.session, one.tags)}:
            self.store.set_tags(name, tags[name])

    def _drop_oldest(self) -> None:
        """Remove the oldest runs beyond the limit, and notes about sessions that are gone. Baselines stay."""
        names = set(self._catalog.names())
        for gone in self.store.complete - names:
            self.store.set_complete(gone, is_complete=False)
        self._retry_s = {name: at_s for name, at_s in self._retry_s.items() if name in names}
        self.store.remove([run.key for run in self._newest_first()[self._max_runs :]])

    def _newest_first(self) -> list[Run]:
        """All runs in the order in which they are kept: the baselines first."""
        return sorted(self.store.runs(), key=lambda run: (run.marks.is_baseline, run.begin_ns), reverse=True)

    def _oldest_ns(self) -> float:
        """The begin of the oldest run that is kept. Earlier runs would be dropped at once."""
        runs = self._newest_first()
        if len(runs) < self._max_runs:
            return float("-inf")
        oldest = runs[self._max_runs - 1]
        return float("inf") if oldest.marks.is_baseline else oldest.begin_ns


def _read_jobs(file: SessionFile) -> list[tuple[str, int, int | None]]:
    with file.reader() as reader:
        return sql.read_jobs(reader)


CurrentRuns = Annotated[Runs, provide(Runs)]
