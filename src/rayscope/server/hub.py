"""What the server runs beside HTTP: the recorder, and one poller for each cluster it can reach."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import duckdb

from rayscope.alerts.service import AlertService
from rayscope.model import AgentReport, RecordBatch
from rayscope.model.usage import Resources, Usage
from rayscope.server.answers import Answers
from rayscope.server.clusters import Clusters
from rayscope.server.held_objects import HeldObjects
from rayscope.server.kept_sums import KeptSums
from rayscope.server.logs import Logs
from rayscope.server.metrics_service import Metrics
from rayscope.server.realtime import Realtime
from rayscope.server.security import RefusedBodies
from rayscope.server.settings import Settings, ingest_key, operator_token
from rayscope.server.topics import provide_topics
from rayscope.sources.gcs import GcsClient
from rayscope.sources.jobs import driver_ended
from rayscope.sources.runtime_envs import RuntimeEnv
from rayscope.store import query
from rayscope.store.catalog import Catalog, Retention
from rayscope.store.errors import NotFound, StoreError
from rayscope.store.recorder import MAX_AGENTS, Recorder
from rayscope.store.session_file import SessionFile
from rayscope.store.spool import Spool
from rayscope.store.sql import SqlRunner

log = logging.getLogger("rayscope.server")

_WATCH_S = 3.0
_QUIET_TURNS = 5
#: How long the end of a program may take to be written, s.
_END_S = 5.0
#: How many figures that several viewers ask for are kept, and how long one holds at most.
_FIGURES, _FIGURES_S = 1000, 30.0


class Hub:
    """Everything behind the routes. :meth:`start` before use, :meth:`stop` at the end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        folder = settings.folder
        folder.mkdir(parents=True, exist_ok=True)
        self.key = ingest_key(folder)
        self.operator_token = operator_token(folder)
        self.refused_bodies = RefusedBodies()
        self.catalog = Catalog(folder, memory_limit=settings.memory_limit)
        self.spool = Spool(
            folder / "spool",
            max_bytes=settings.max_spool_bytes,
            min_free_bytes=settings.min_free_bytes,
            fsync=settings.fsync,
        )
        #: Runs users' SQL.
        self.sql = SqlRunner(
            folder / "sql",
            memory_limit=settings.memory_limit,
            timeout_s=settings.sql_timeout_s,
            min_free_bytes=settings.min_free_bytes,
        )
        retention = Retention(settings.max_age_days * 86400, settings.max_bytes, settings.max_sessions)
        self.recorder = Recorder(self.catalog, self.spool, retention, in_use=lambda: self.clusters.in_use())
        self.clusters = Clusters(self.catalog, self.recorder, self.glanced)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="rayscope-watch", daemon=True)
        self._figures = Answers[Any](_FIGURES, size_of=lambda *_: 1, most_s=_FIGURES_S)
        self._answers = Answers[bytes]()
        self.sums = KeptSums(self)
        self.realtime = Realtime(settings.push_interval_s, self.resolve)
        provide_topics(self)
        self._readable: dict[str, tuple[int, StoreError | None]] = {}
        #: Sessions whose agents are to be saved; and by (session, node) what was recorded as lost.
        self._changed_agents: set[str] = set()
        self._losses: dict[tuple[str, str], dict[tuple[str, str, str], int]] = {}
        self.logs = Logs(self)
        self.objects = HeldObjects(self)
        self.metrics = Metrics(self)
        #: Where this server is reached, once it is known.
        self.url = settings.external_url.rstrip("/")
        self.alerts = AlertService(
            folder / "alerts",
            live=lambda: [name for name in self.catalog.names() if self.is_live(name)],
            store=self.metrics.store,
            home=lambda session: self.catalog.path(self.resolve(session)).parent,
            link=lambda session: f"{self.url}/s/{quote(session)}/alerts" if self.url else None,
        )

    def start(self) -> None:
        """Replay the spool, begin to write and to look for the clusters of live sessions."""
        self.recorder.start()
        self._watcher.start()
        self.logs.start()
        self.metrics.start()
        self.alerts.start()
        self.sums.start()
        self._figures.start()
        self._answers.start()

    def stop(self) -> None:
        """Stop polling, flush and close."""
        self._stopping.set()
        self.sql.close()
        self._answers.stop()
        self._figures.stop()
        self.sums.stop()
        self.alerts.stop()
        self.metrics.stop()
        self.logs.stop()
        if self._watcher.is_alive():
            self._watcher.join(5)  # before the clusters end: it may just begin one
        self.objects.stop()
        self.clusters.stop()
        self.realtime.close()
        self._save_agents()
        self.recorder.stop()

    def damaged_files(self) -> list[str]:
        """Files of the data directory itself that were damaged and set aside."""
        with contextlib.suppress(OSError):
            return sorted(path.name for path in self.settings.folder.glob("*.damaged-*"))
        return []

    # Clusters.

    def attach(self, address: str, token: str | None = None) -> str:
        """Begin snapshots of a cluster; returns its session. See :meth:`Clusters.attach`."""
        return self.clusters.attach(address, token)

    def gcs_of(self, session: str) -> GcsClient | None:
        """The connection to the cluster of a live session, None where there is none."""
        return self.clusters.gcs_of(session)

    def usage(self, session: str) -> Usage:
        """What the nodes and their processes use. See :meth:`Clusters.usage`."""
        return self.clusters.usage(session)

    def resources(self, session: str) -> Resources | None:
        """What of the cluster's resources is free and what waits for some: an account that tells its time.

        None where there is no cluster any more. Raises GcsError.
        """
        if not self.is_live(session):
            return None
        found: Resources | None = self._figures.get(
            (session, "free"), None, lambda: self.clusters.resources(session)
        )
        return found

    def runtime_envs(self, session: str) -> list[RuntimeEnv]:
        """The runtime environments of the cluster's nodes; none where they cannot be asked."""
        found: list[RuntimeEnv] = self._figures.get(
            (session, "runtime_envs"), None, lambda: self.clusters.runtime_envs(session)
        )
        return found

    def is_live(self, session: str) -> bool:
        """Whether there was a sign of life of a session's cluster just now."""
        return self.clusters.is_live(session)

    def take_report(self, report: AgentReport) -> None:
        """Keep what a node's agent says of itself. Raises StoreError for what is no session."""
        agents = self.catalog.add(report.session).agents
        known = agents.get(report.node_id)
        if known is None and len(agents) >= MAX_AGENTS:
            with self._lock:
                agents.pop(min(list(agents), key=lambda node: agents[node].time_ns), None)
        agents[report.node_id] = report
        if known is None or (known.lane, known.reason) != (report.lane, report.reason):
            self._changed_agents.add(report.session)
        self._take_losses(report)

    def _take_losses(self, report: AgentReport) -> None:
        """Record what an agent lost, once for each count; while the store fails, a later report will do."""
        drops = report.drops()
        counts = {drop.key: drop.count for drop in drops}
        place = (report.session, report.node_id)
        if not drops or self._losses.get(place) == counts or self.recorder.error is not None:
            return
        if len(self._losses) > MAX_AGENTS:
            self._losses.clear()  # told again is told the same
        self._losses[place] = counts
        self.recorder.submit_records(RecordBatch(report.session, drops=drops), "events")
        self.clusters.note_loss(report.session)

    def _save_agents(self) -> None:
        while self._changed_agents:
            with contextlib.suppress(StoreError):  # a session that retention has just dropped
                self.catalog.save_agents(self._changed_agents.pop())

    def dropped(self, session: str) -> dict[str, Any]:
        """What is missing from a session's record, and up to where it was read again from the GCS."""
        about = self.catalog.about(session)
        return {
            **self.cached(session, "dropped", query.dropped),
            "repaired_total": about.repaired_total,
            "repaired_ns": about.repaired_ns or None,
            "repaired_partly": about.repaired_partly,
        }

    def _watch(self) -> None:
        """Find the GCS of sessions that send events; end the pollers of clusters that are gone."""
        for turn in itertools.count():
            if self._stopping.wait(_WATCH_S):
                return
            try:
                self._save_agents()
                self.clusters.look(quiet_too=turn % _QUIET_TURNS == 0)
            except (OSError, StoreError) as error:  # a session that retention has just dropped, for one
                log.info("looking for clusters: %s", error)

    def drain(self, session: str, timeout_s: float) -> bool:
        """Take in all that a session still has to say: called before a local cluster is killed.

        Reads the GCS once in full, waits until events have stopped coming, and flushes. Returns whether
        all of it was done in time.
        """
        deadline = time.monotonic() + timeout_s
        found = self.clusters.find(session)
        quiet_since, seen = time.monotonic(), self.recorder.last_batch_ns
        while time.monotonic() < deadline:
            if self.recorder.last_batch_ns != seen:
                seen, quiet_since = self.recorder.last_batch_ns, time.monotonic()
            if time.monotonic() - quiet_since > 0.5:
                break
            time.sleep(0.05)
        complete = self.clusters.poll_now(session)
        flushed = self.recorder.flush(max(1.0, deadline - time.monotonic()))
        self._figures.forget(session)  # who asks next wants the end of it
        if found:
            self.logs.keeper.catch_up(session, min(2.0, max(0.5, deadline - time.monotonic())))
        return flushed and complete

    def program_ended(
        self, session: str, pid: int, began_ns: int, ended_ns: int, exit_code: int, *, cluster_is_gone: bool
    ) -> None:
        """A program ended of which ``pid`` may be a driver; Ray does not learn its exit code.

        ``began_ns``: when it was started. ``cluster_is_gone``: it took its cluster along.
        """
        self.recorder.flush(_END_S)
        session = self.resolve(session)
        jobs = self.read(session, lambda file: query.jobs_of_driver(file, pid, began_ns))
        self.recorder.submit_records(
            RecordBatch(session, entities=[driver_ended(job, ended_ns, exit_code) for job in jobs]), "run"
        )
        if cluster_is_gone:
            self.recorder.end_session(session, ended_ns)
        self.recorder.flush(_END_S)
        self._figures.forget(session)

    # Sessions.

    def resolve(self, session: str | None) -> str:
        """The session asked for, or the one heard from last. Raises NotFound."""
        if session:
            return self.catalog.about(session).session
        names = self.catalog.names()
        if not names:
            raise NotFound("Nothing is recorded yet.", "Record a script: rayscope run SCRIPT")
        return names[0]

    def read(self, session: str, function: Callable[[SessionFile], Any]) -> Any:
        """Answer a reader's question of a session.

        Raises StoreError, also for what DuckDB says of a broken file.
        """
        self.recorder.attend()
        return self.query(session, function)

    def query(self, session: str, function: Callable[[SessionFile], Any]) -> Any:
        """As ``read``, for ourselves: no reader waits for what has just come."""
        try:
            with self.catalog.reading(session) as file:
                return function(file)
        except duckdb.Error as error:
            raise StoreError(
                f"The record of {session} cannot be read now: {str(error).splitlines()[0][:300]}",
                "Try again; if it stays so, see the server's log.",
                "unreadable",
            ) from error

    def answered(self, session: str, question: str, function: Callable[[SessionFile], bytes]) -> bytes:
        """The same for the answer to a whole request, which ``question`` names (see ``answers``)."""
        return self.dated(session, question, function)[0]

    def dated(
        self,
        session: str,
        question: str,
        function: Callable[[SessionFile], bytes],
        *,
        attends: bool = True,
    ) -> tuple[bytes, float]:
        """The same, with the answer's age (s).

        ``attends``: after a quiet time an answer that is not at hand waits for what has just come. Without,
        ``function`` does that itself, where it matters.
        """
        if not self.is_live(session):
            written = self.read(session, lambda file: file.written)
            return self._answers.dated((session, question), written, lambda: self.query(session, function))
        self.recorder.note_reader()

        def make() -> bytes:
            if attends:
                self.recorder.catch_up()
            body: bytes = self.query(session, function)
            return body

        return self._answers.dated((session, question), None, make)

    def cached(self, session: str, name: str, function: Callable[[SessionFile], Any]) -> Any:
        """The same, for costly questions of many viewers: at most a tenth of the time goes into each."""
        self.recorder.attend()
        return self.glanced(session, name, function)

    def glanced(self, session: str, name: str, function: Callable[[SessionFile], Any]) -> Any:
        """The same for our own figures: nobody waits for them, so the writer need not hurry."""
        return self._figures.get((session, name), None, lambda: self.query(session, function))

    def unreadable(self, session: str) -> StoreError | None:
        """Why a session's record cannot be read, or None. Looked at again only when the file has changed."""
        try:
            stamp = self.catalog.path(session).lstat().st_mtime_ns
        except OSError:
            return None  # not written yet
        known = self._readable.get(session)
        if known is not None and known[0] == stamp:
            return known[1]
        problem: StoreError | None = None
        try:
            with self.catalog.reading(session):
                pass
        except NotFound:
            pass
        except StoreError as error:
            problem = error
        if problem is None or problem.code in ("corrupt", "newer"):  # a lock or a full disk may pass
            self._readable[session] = (stamp, problem)
        return problem

    def last_ns(self, session: str) -> int:
        """Until when a running attempt has run: now while the session lives, else its last sign of life."""
        if self.is_live(session):
            return time.time_ns()
        about = self.catalog.about(session)
        return about.ended_ns or about.last_ns

    def recording(self, session: str) -> str:
        """How a session is recorded: ``events``, ``snapshot`` or ``events+snapshot``."""
        kinds = set(self.catalog.about(session).recording)
        named = [kind for kind in ("events", "snapshot") if kind in kinds]
        return "+".join(named) or ("snapshot" if kinds else "events")

    def cannot_see(self, session: str) -> list[str]:
        """Codes of what this way of recording cannot see (docs/api.md explains them)."""
        about = self.catalog.about(session)
        codes = []
        if "events" not in about.recording:
            codes += ["between_snapshots", "older_than_gcs_limit"]
        return codes + self.clusters.troubles(session)
