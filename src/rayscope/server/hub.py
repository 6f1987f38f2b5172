"""What the server runs beside HTTP: the recorder, and one poller for each cluster it can reach."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import duckdb

from rayscope.alerts.service import AlertService
from rayscope.model import AgentReport, RecordBatch
from rayscope.model.usage import Resources, Usage
from rayscope.server.answers import Answers
from rayscope.server.kept_sums import KeptSums
from rayscope.server.logs import Logs
from rayscope.server.metrics_service import Metrics
from rayscope.server.realtime import Realtime
from rayscope.server.settings import Settings, ingest_key, operator_token
from rayscope.server.topics import provide_topics
from rayscope.sources.auth import ray_token
from rayscope.sources.discovery import local_clusters, local_gcs_addresses
from rayscope.sources.gcs import GcsClient, GcsError
from rayscope.sources.jobs import JobApi, JobApiError
from rayscope.sources.node_stats import UsageFeed
from rayscope.sources.poller import Poller, PollStatus
from rayscope.sources.resources import read_resources
from rayscope.store import query
from rayscope.store.catalog import LIVE_NS, Catalog, Retention
from rayscope.store.errors import NotFound, StoreError
from rayscope.store.recorder import MAX_AGENTS, Recorder
from rayscope.store.session_file import SessionFile
from rayscope.store.spool import Spool

log = logging.getLogger("rayscope.server")

#: After this long without any answer a cluster is taken for gone, and its poller ends.
_GONE_S = 60.0
_WATCH_S = 3.0
_QUIET_TURNS = 5
_RECONCILE_S = 30.0
#: It is looked so often whether that is needed.
_LOOK_S = 3.0
#: The pause when an agent has just told of a loss.
_RECONCILE_LOSS_S = 3.0
#: How many figures that several viewers ask for are kept, and how long one holds at most.
_FIGURES, _FIGURES_S = 1000, 30.0
#: How old an account of what is free may be, and of how many clusters that are gone the use is kept.
_RESOURCES_NS = 1_000_000_000
_ENDED_USAGES = 20
_NO_USAGE = Usage(
    error="What this cluster's machines use is not heard of.",
    remedy="It is told by a cluster that lives and whose GCS this server reaches.",
)
#: The GCS keeps 100,000 attempts unless told otherwise, and counts what it drops beyond.
_GCS_ONLY = frozenset({"status_events_dropped", "truncated"})


@dataclass
class _Cluster:
    session: str
    address: str
    poller: Poller
    client: GcsClient
    feed: UsageFeed
    #: Polls tasks all the time (a cluster that sends no events), not only to mend gaps.
    snapshots: bool
    reconciled_drops: int = 0
    reconciled_orphans: int = 0
    #: When a task poll was asked for; it counts once the poller has done it.
    asked_ns: int = 0
    #: When it was last looked whether one is needed.
    looked_ns: int = 0
    #: An agent has told of a loss that no task poll has been asked for yet.
    loss: bool = False
    #: The GCS has dropped attempts itself, so that what it tells is not all.
    gcs_lost: bool = False
    started: float = field(default_factory=time.monotonic)
    #: The last account of what is free, and who reads the next one.
    resources: Resources | None = None
    reading: threading.Lock = field(default_factory=threading.Lock)


class Hub:
    """Everything behind the routes. :meth:`start` before use, :meth:`stop` at the end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        folder = settings.folder
        folder.mkdir(parents=True, exist_ok=True)
        self.key = ingest_key(folder)
        self.operator_token = operator_token(folder)
        self.catalog = Catalog(folder, memory_limit=settings.memory_limit)
        self.spool = Spool(
            folder / "spool",
            max_bytes=settings.max_spool_bytes,
            min_free_bytes=settings.min_free_bytes,
            fsync=settings.fsync,
        )
        retention = Retention(settings.max_age_days * 86400, settings.max_bytes, settings.max_sessions)
        self.recorder = Recorder(self.catalog, self.spool, retention, in_use=self._in_use)
        self._clusters: dict[str, _Cluster] = {}
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
        self._last_usage: dict[str, Usage] = {}
        self.logs = Logs(self)
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

    def stop(self) -> None:
        """Stop polling, flush and close."""
        self._stopping.set()
        self.alerts.stop()
        self.metrics.stop()
        self.logs.stop()
        if self._watcher.is_alive():
            self._watcher.join(5)  # before the clusters end: it may just begin one
        with self._lock:
            clusters = list(self._clusters.values())
        for cluster in clusters:
            self._end(cluster)
        self.realtime.close()
        self._save_agents()
        self.recorder.stop()

    # Clusters.

    def attach(self, address: str, token: str | None = None) -> str:
        """Begin snapshots of a cluster; returns its session. Raises GcsError (with the remedy).

        ``token`` is Ray's, from whoever asks. Our own goes to clusters of this machine alone: whatever
        else listens at an address that somebody names could keep it.
        """
        if token is None and address in local_gcs_addresses(own=True).values():
            token = ray_token()
        client = GcsClient(address, token=token)
        try:
            info = client.cluster_info()
        except GcsError:
            client.close()
            raise
        self._begin(
            info.session, info.gcs_address, client, token, snapshots=True, ray_version=info.ray_version
        )
        return info.session

    def _in_use(self) -> set[str]:
        """Sessions whose clusters live, however quiet they are."""
        with self._lock:
            return {name for name, cluster in self._clusters.items() if cluster.poller.status.ok}

    def _begin(
        self,
        session: str,
        address: str,
        client: GcsClient,
        token: str | None,
        *,
        snapshots: bool,
        ray_version: str | None = None,
    ) -> None:
        about = self.catalog.add(session)
        about.gcs_address = address
        about.ray_version = ray_version or about.ray_version
        with self._lock:
            known = self._clusters.get(session)
            if known is not None:
                known.snapshots = known.snapshots or snapshots
                client.close()
                return
            cluster: _Cluster
            poller = Poller(
                client,
                lambda batch: self._on_batch(cluster, batch),
                tasks=lambda: self._wants_tasks(cluster),
                token=token,
            )
            feed = UsageFeed(client).start()
            cluster = self._clusters[session] = _Cluster(session, address, poller, client, feed, snapshots)
            poller.start()

    def _on_batch(self, cluster: _Cluster, batch: RecordBatch) -> None:
        sends_events = "events" in self.catalog.about(cluster.session).recording
        # Entities come from the GCS in any case; it is the tasks that make a recording a snapshot.
        snapshot = cluster.snapshots and bool(batch.attempts) and not sends_events
        if sends_events:
            # What the GCS had no room for came to us in events: its losses are not ours. (Those of the
            # nodes' agents are, and they are counted by the agents.)
            kept = [drop for drop in batch.drops if drop.reason not in _GCS_ONLY]
            cluster.gcs_lost = cluster.gcs_lost or len(kept) < len(batch.drops)
            batch.drops = kept
        self.recorder.submit_records(batch, "snapshot" if snapshot else "gcs")

    def _wants_tasks(self, cluster: _Cluster) -> bool:
        """With events at hand tasks are polled only to mend what the stream lost."""
        about = self.catalog.about(cluster.session)
        if "events" not in about.recording:
            return cluster.snapshots or time.monotonic() - cluster.started > 10
        if cluster.poller.status.last_tasks_ns < cluster.asked_ns:
            return True  # what was asked for failed
        if cluster.asked_ns and cluster.reconciled_drops > about.repaired_total:
            about.repaired_total = cluster.reconciled_drops
            about.repaired_ns = cluster.poller.status.last_tasks_ns
            about.repaired_partly = cluster.gcs_lost
        now_ns = time.time_ns()
        if now_ns - cluster.asked_ns < (_RECONCILE_LOSS_S if cluster.loss else _RECONCILE_S) * 1e9:
            return False
        if not cluster.loss and now_ns - cluster.looked_ns < _LOOK_S * 1e9:
            return False
        cluster.looked_ns = now_ns
        lost, orphans = about.dropped_total, self.orphans(cluster.session)
        cluster.reconciled_orphans = min(cluster.reconciled_orphans, orphans)
        if (
            lost <= cluster.reconciled_drops
            and orphans <= cluster.reconciled_orphans
            and not self.unresolved(cluster.session)
        ):
            return False
        cluster.reconciled_drops, cluster.reconciled_orphans, cluster.asked_ns = lost, orphans, now_ns
        cluster.loss = False
        return True

    def gcs_of(self, session: str) -> GcsClient | None:
        """The connection to the cluster of a live session, None where there is none."""
        with self._lock:
            cluster = self._clusters.get(session)
        return None if cluster is None or not self.is_live(session) else cluster.client

    def usage(self, session: str) -> Usage:
        """What the nodes and their processes use: the last account of each, of dead nodes too.

        Of a session whose cluster is gone: what was known when it went, as long as this server runs.
        """
        with self._lock:
            cluster = self._clusters.get(session)
            if cluster is None:
                return self._last_usage.get(session, _NO_USAGE)
        return cluster.feed.usage()

    def resources(self, session: str) -> Resources | None:
        """What of the cluster's resources is free and what waits for some, at most 1 s old.

        None where there is no cluster any more. Raises GcsError.
        """
        with self._lock:
            cluster = self._clusters.get(session)
        if cluster is None or not self.is_live(session):
            return None
        with cluster.reading:
            known = cluster.resources
            if known is None or time.time_ns() - known.time_ns > _RESOURCES_NS:
                known = cluster.resources = read_resources(cluster.client)
        return known

    def job_api(self, session: str) -> tuple[JobApi, Callable[[], None]]:
        """The job API of a live session's cluster, and what to call once something was changed by it.

        Raises JobApiError where there is none.
        """
        with self._lock:
            cluster = self._clusters.get(session)
        api = None if cluster is None or not self.is_live(session) else cluster.poller.job_api
        if cluster is None or api is None:
            raise JobApiError(
                "This session's cluster is gone, or its dashboard (which has Ray's job API) is not known.",
                "Jobs can be submitted, stopped and deleted while the cluster runs with a dashboard: "
                "pip install 'ray[default]' there, and do not start it with --include-dashboard=false.",
                "no_job_api",
            )
        return api, cluster.poller.soon

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
        with self._lock:
            cluster = self._clusters.get(report.session)
        if cluster is not None:
            cluster.loss = True

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

    def snapshots(self, session: str) -> dict[str, Any]:
        """How reading this session's GCS goes."""
        with self._lock:
            cluster = self._clusters.get(session)
        status = PollStatus(mode="entities") if cluster is None else cluster.poller.status
        return {
            "ok": status.ok,
            "error": status.error,
            "remedy": status.remedy,
            "tasks": status.mode == "tasks",
            "cost_s": status.cost_s,
            "interval_s": None if cluster is None else status.interval_s,
            "last_ns": status.last_success_ns or None,
            "last_tasks_ns": status.last_tasks_ns or None,
        }

    def unresolved(self, session: str) -> int:
        """Attempts of a session whose definition has not arrived."""
        try:
            return int(self._cached(session, "dropped", query.dropped)["unresolved_attempts"])
        except StoreError:
            return 0

    def orphans(self, session: str) -> int:
        """Attempts whose end no event will tell, since who would have told it is gone."""
        try:
            return int(self._cached(session, "orphans", query.orphans))
        except StoreError:
            return 0

    def _watch(self) -> None:
        """Find the GCS of sessions that send events; end the pollers of clusters that are gone."""
        for turn in itertools.count():
            if self._stopping.wait(_WATCH_S):
                return
            try:
                self._save_agents()
                self.sums.prepare()
                self._look_for_clusters(quiet_too=turn % _QUIET_TURNS == 0)
            except (OSError, StoreError) as error:  # a session that retention has just dropped, for one
                log.info("looking for clusters: %s", error)

    def _look_for_clusters(self, *, quiet_too: bool) -> None:
        """``quiet_too``: also those that run on this machine and have nothing to say."""
        now_ns = time.time_ns()
        with self._lock:
            known = dict(self._clusters)
        for cluster in known.values():
            status = cluster.poller.status
            last_s = (now_ns - status.last_success_ns) / 1e9
            if not status.ok and last_s > _GONE_S and time.monotonic() - cluster.started > _GONE_S:
                log.info("%s at %s is gone", cluster.session, cluster.address)
                with self._lock:
                    self._clusters.pop(cluster.session, None)
                    self._last_usage[cluster.session] = cluster.feed.usage()
                    for oldest in list(self._last_usage)[:-_ENDED_USAGES]:
                        del self._last_usage[oldest]
                self._end(cluster)
        abouts = [self.catalog.about(name) for name in self.catalog.names() if name not in known]
        live = {about.session for about in abouts if now_ns - about.last_ns < LIVE_NS}
        if not live and not (quiet_too and abouts):
            return
        local = local_clusters()
        for about in abouts:
            if about.session in local:
                found = local[about.session]
                self._try_begin(about.session, found.address, ray_token() if found.is_own else None)
            elif about.gcs_address and about.session in live:
                self._try_begin(about.session, about.gcs_address, None)

    def _try_begin(self, session: str, address: str, token: str | None) -> bool:
        client = None
        try:
            client = GcsClient(address, token=token, timeout_s=3)
            info = client.cluster_info()
        except GcsError as error:
            log.info("the GCS of %s cannot be read: %s", session, error.message)
            if client is not None:
                client.close()
            return False
        if info.session != session:
            client.close()
            return False
        self._begin(session, address, client, token, snapshots=False, ray_version=info.ray_version)
        return True

    @staticmethod
    def _end(cluster: _Cluster) -> None:
        cluster.poller.stop()
        cluster.feed.stop()
        cluster.client.close()

    def drain(self, session: str, timeout_s: float) -> bool:
        """Take in all that a session still has to say: called before a local cluster is killed.

        Reads the GCS once in full, waits until events have stopped coming, and flushes. Returns whether
        all of it was done in time.
        """
        deadline = time.monotonic() + timeout_s
        with self._lock:
            cluster = self._clusters.get(session)
        if cluster is None:
            with contextlib.suppress(OSError, StoreError):
                address = local_gcs_addresses(own=True).get(session)
                if address is not None:
                    self.catalog.add(session)
                    self._try_begin(session, address, ray_token())
            with self._lock:
                cluster = self._clusters.get(session)
        complete = cluster is not None
        quiet_since, seen = time.monotonic(), self.recorder.last_batch_ns
        while time.monotonic() < deadline:
            if self.recorder.last_batch_ns != seen:
                seen, quiet_since = self.recorder.last_batch_ns, time.monotonic()
            if time.monotonic() - quiet_since > 0.5:
                break
            time.sleep(0.05)
        if cluster is not None:
            try:
                cluster.poller.poll_now()
            except (GcsError, StoreError) as error:
                log.info("the last snapshot of %s failed: %s", session, error)
                complete = False
        flushed = self.recorder.flush(max(1.0, deadline - time.monotonic()))
        self._figures.forget(session)  # who asks next wants the end of it
        if cluster is not None:
            self.logs.keeper.catch_up(session, min(2.0, max(0.5, deadline - time.monotonic())))
        return flushed and complete

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
        return self._query(session, function)

    def _query(self, session: str, function: Callable[[SessionFile], Any]) -> Any:
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
        live = self.is_live(session)
        written = self.read(session, lambda file: file.written)
        return self._answers.get(
            (session, question), None if live else written, lambda: self._query(session, function)
        )

    def cached(self, session: str, name: str, function: Callable[[SessionFile], Any]) -> Any:
        """The same, for costly questions of many viewers: at most a tenth of the time goes into each."""
        self.recorder.attend()
        return self._cached(session, name, function)

    def glanced(self, session: str, name: str, function: Callable[[SessionFile], Any]) -> Any:
        """The same for our own figures: nobody waits for them, so the writer need not hurry."""
        return self._cached(session, name, function)

    def _cached(self, session: str, name: str, function: Callable[[SessionFile], Any]) -> Any:
        return self._figures.get((session, name), None, lambda: self._query(session, function))

    def query(self, session: str, function: Callable[[SessionFile], Any]) -> Any:
        """As ``read``, for ourselves: no reader waits for what has just come."""
        return self._query(session, function)

    def unreadable(self, session: str) -> StoreError | None:
        """Why a session's record cannot be read, or None. Looked at again only when the file has changed."""
        try:
            stamp = self.catalog.path(session).stat().st_mtime_ns
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

    def is_live(self, session: str) -> bool:
        """Whether there was a sign of life of a session's cluster just now: what it told, or its GCS."""
        last_ns = self.catalog.about(session).last_ns
        with self._lock:
            cluster = self._clusters.get(session)
        if cluster is not None and cluster.poller.status.session == session:
            # A job that hangs tells nothing.
            last_ns = max(last_ns, cluster.poller.status.last_success_ns)
        return time.time_ns() - last_ns < LIVE_NS

    def last_ns(self, session: str) -> int:
        """Until when a running attempt has run: now while the session lives, else its last sign of life."""
        return time.time_ns() if self.is_live(session) else self.catalog.about(session).last_ns

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
        with self._lock:
            cluster = self._clusters.get(session)
        if cluster is None:
            if self.is_live(session):
                codes.append("gcs_unreachable")
        elif not cluster.poller.status.ok and cluster.poller.status.error:
            codes.append("gcs_unreachable")
        elif cluster.poller.status.job_api_error:
            codes.append("job_api_unreachable")
        return codes
