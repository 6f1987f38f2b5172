"""The clusters that this server can reach: finds and attaches them, queries them, and notices their end."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from rayscope.api.provide import provide
from rayscope.errors import RayscopeError
from rayscope.ingest.schemas import Snapshots
from rayscope.ingest.writer import Writer
from rayscope.model import RecordBatch
from rayscope.model.usage import Resources, Usage
from rayscope.ray.agents.runtime_envs import RuntimeEnv, read_runtime_envs
from rayscope.ray.agents.usage import UsageFeed
from rayscope.ray.auth import RayToken, ray_token
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.discovery import local_clusters, local_gcs_addresses
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.gcs.poller import Poller, PollStatus
from rayscope.ray.jobs_api import JobApi
from rayscope.ray.libraries.poller import LibraryPoller
from rayscope.ray.resources import read_resources
from rayscope.ray.versions import version_note
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import LIVE_NS, Catalog
from rayscope.storage.errors import StoreError
from rayscope.storage.sql import sessions as sessions_sql

log = logging.getLogger("rayscope.server")


#: A cluster that has not responded for this time (s) counts as gone, and its poller is stopped.
_GONE_S = 60.0
#: A session without events for this time (s) counts as ended if its GCS cannot be reached. Until then its
#: jobs appear as running although it is no longer live, so this is short.
_SILENT_S = 60.0
_RECONCILE_S = 30.0
#: Interval for checking whether a task poll is needed, in seconds.
_LOOK_S = 3.0
#: Pause before a task poll after an agent reported a loss, in seconds.
_RECONCILE_LOSS_S = 3.0
#: Time limit for reading the final state of Ray's libraries, in s. Stopping the cluster waits for this.
_LIBRARIES_S = 2.0
#: Number of ended clusters whose final usage is kept.
_ENDED_USAGES = 20
_NO_USAGE = Usage(
    error="The utilization of this cluster's nodes is unknown.",
    remedy="It is available while the cluster is running and this server can reach its GCS.",
    code="usage_unheard",
)
#: Reasons for losses that affect only the GCS. By default it keeps 100,000 attempts, and counts the attempts
#: that it drops beyond that.
_GCS_ONLY = frozenset({"status_events_dropped", "truncated"})


@dataclass
class _Cluster:
    session: str
    address: str
    poller: Poller
    client: GcsClient
    feed: UsageFeed
    libraries: LibraryPoller
    #: Whether tasks are polled continuously (for a cluster that sends no events), not only to fill gaps.
    snapshots: bool
    reconciled_drops: int = 0
    reconciled_orphans: int = 0
    #: When a task poll was last requested. The request stays open until a poll begun afterwards has
    #: succeeded.
    asked_ns: int = 0
    #: When the need for a task poll was last checked.
    looked_ns: int = 0
    #: Whether an agent reported a loss for which no task poll has been requested yet.
    loss: bool = False
    #: Whether the GCS itself dropped attempts, so that its list of tasks is incomplete.
    gcs_lost: bool = False
    started: float = field(default_factory=time.monotonic)


class Clusters:
    """The reachable clusters, each with a poller, a feed of resource usage, and a connection to its GCS."""

    def __init__(self, catalog: Catalog, writer: Writer, records: SessionReader) -> None:
        self._catalog = catalog
        self._writer = writer
        self._records = records
        self._clusters: dict[str, _Cluster] = {}
        self._last_usage: dict[str, Usage] = {}
        #: Notes about Ray versions that were already logged.
        self._noted: set[str] = set()
        self._lock = threading.Lock()
        #: Sessions whose records cannot be opened, so that their end cannot be recorded either.
        self._unreadable: set[str] = set()

    def stop(self) -> None:
        """Stop all pollers and feeds."""
        with self._lock:
            clusters = list(self._clusters.values())
        for cluster in clusters:
            self._end(cluster)

    def _of(self, session: str) -> _Cluster | None:
        with self._lock:
            return self._clusters.get(session)

    def _living(self, session: str) -> _Cluster | None:
        """Return the cluster of a session if it is live."""
        cluster = self._of(session)
        return cluster if cluster is not None and self.is_live(session) else None

    def attach(self, address: str, token: RayToken | None = None) -> str:
        """Start recording snapshots of a cluster. Returns its session. Raises GcsError with a remedy.

        ``token`` is the Ray token that the caller provides. The server's own token is sent only to clusters
        on this machine, because a server at any other address could steal it.
        """
        if token is None and address in local_gcs_addresses(own=True).values():
            token = RayToken(ray_token)
        client = GcsClient(address, token=token)
        try:
            info = client.cluster_info()
        except GcsError:
            client.close()
            raise
        self._begin(info.session, info.gcs_address, client, snapshots=True, ray_version=info.ray_version)
        return info.session

    def in_use(self) -> set[str]:
        """Return the sessions whose clusters are alive, including clusters that currently send nothing."""
        with self._lock:
            return {name for name, cluster in self._clusters.items() if cluster.poller.status.ok}

    def _begin(
        self,
        session: str,
        address: str,
        client: GcsClient,
        *,
        snapshots: bool,
        ray_version: str | None = None,
    ) -> None:
        about = self._catalog.add(session)
        about.gcs_address = address
        about.ray_version = ray_version or about.ray_version
        note = version_note(ray_version)
        with self._lock:
            if note and note not in self._noted:
                self._noted.add(note)
                log.warning(note)
            known = self._clusters.get(session)
            if known is not None:
                known.snapshots = known.snapshots or snapshots
                known.client.token.replace(client.token)
                client.close()
                return
            cluster: _Cluster
            poller = Poller(
                client,
                lambda batch: self._on_batch(cluster, batch),
                tasks=lambda: self._wants_tasks(cluster),
            )
            libraries = LibraryPoller(
                client, lambda: poller.job_api, session, lambda batch: self._on_batch(cluster, batch)
            )
            feed = UsageFeed(client).start()
            cluster = self._clusters[session] = _Cluster(
                session, address, poller, client, feed, libraries, snapshots
            )
            poller.start()
            libraries.start()

    def _on_batch(self, cluster: _Cluster, batch: RecordBatch) -> None:
        sends_events = "events" in self._catalog.about(cluster.session).recording
        # Entities always come from the GCS. A recording counts as a snapshot only if its tasks do, too.
        snapshot = cluster.snapshots and bool(batch.attempts) and not sends_events
        if sends_events:
            # Attempts that the GCS had no room for arrived as events, so they are not lost. Events that the
            # nodes' agents dropped are lost, and the agents count them.
            kept = [drop for drop in batch.drops if drop.reason not in _GCS_ONLY]
            cluster.gcs_lost = cluster.gcs_lost or len(kept) < len(batch.drops)
            batch.drops = kept
        self._writer.submit_records(batch, "snapshot" if snapshot else "gcs")

    def _wants_tasks(self, cluster: _Cluster) -> bool:
        """Return whether to poll tasks. If the cluster sends events, polls only recover the events that were
        lost.
        """
        about = self._catalog.about(cluster.session)
        if "events" not in about.recording:
            return cluster.snapshots or time.monotonic() - cluster.started > 10
        if cluster.poller.status.last_tasks_ns < cluster.asked_ns:
            return True  # the requested poll has not succeeded yet
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
        lost, orphans = about.dropped_total, self._orphans(cluster.session)
        cluster.reconciled_orphans = min(cluster.reconciled_orphans, orphans)
        if (
            lost <= cluster.reconciled_drops
            and orphans <= cluster.reconciled_orphans
            and not self._unresolved(cluster.session)
        ):
            return False
        cluster.reconciled_drops, cluster.reconciled_orphans, cluster.asked_ns = lost, orphans, now_ns
        cluster.loss = False
        return True

    def gcs_of(self, session: str) -> GcsClient | None:
        """Return the connection to the GCS of a live session's cluster, or None if it has none."""
        cluster = self._living(session)
        return None if cluster is None else cluster.client

    def usage(self, session: str) -> Usage:
        """Return the last known usage of the nodes and their processes, including dead nodes.

        Once the cluster is gone, this is its final usage. The server keeps the final usage of the last 20
        clusters until it stops.
        """
        with self._lock:
            cluster = self._clusters.get(session)
            if cluster is None:
                return self._last_usage.get(session, _NO_USAGE)
        return cluster.feed.usage()

    def resources(self, session: str) -> Resources | None:
        """Return the cluster's free resources and the demand for them. Concurrent callers share one request.

        Returns None if the cluster is gone. Raises GcsError.
        """
        cluster = self._living(session)
        if cluster is None:
            return None
        found: Resources = self._records.call_cached(
            session, "resources of the cluster", lambda: read_resources(cluster.client)
        )
        return found

    def runtime_envs(self, session: str) -> list[RuntimeEnv]:
        """Return the runtime environments on the cluster's nodes, or an empty list if it cannot be
        reached.
        """
        cluster = self._living(session)
        if cluster is None:
            return []

        def read() -> list[RuntimeEnv]:
            try:
                return read_runtime_envs(cluster.client)
            except GcsError:
                return []

        found: list[RuntimeEnv] = self._records.call_cached(session, "runtime environments", read)
        return found

    def job_api(self, session: str) -> tuple[JobApi, Callable[[], None]]:
        """Return the job API of a live session's cluster, and a callback to invoke after each change.

        Raises DashboardError if the cluster has no job API.
        """
        cluster = self._living(session)
        api = None if cluster is None else cluster.poller.job_api
        if cluster is None or api is None:
            raise DashboardError(
                "The cluster of this session has ended, or its dashboard (which serves Ray's job API) is "
                "unknown.",
                "Jobs can be submitted, stopped, and deleted while the cluster runs with a dashboard: "
                "run pip install 'ray[default]' there, and do not start it with "
                "--include-dashboard=false.",
                "no_job_api",
            )
        return api, cluster.poller.soon

    def library_problem(self, session: str, library: str) -> RayscopeError | None:
        """Return why a library's state cannot be read now, or None if there is no problem."""
        cluster = self._of(session)
        return None if cluster is None else cluster.libraries.problems.get(library)

    def snapshots(self, session: str) -> Snapshots:
        """Return how the polling of a session's GCS is going."""
        cluster = self._of(session)
        status = PollStatus(mode="entities") if cluster is None else cluster.poller.status
        return {
            "ok": status.ok,
            "error": status.error,
            "remedy": status.remedy,
            "tasks": status.mode == "tasks",
            "tasks_from": status.tasks_from,
            "cost_s": status.cost_s,
            "interval_s": None if cluster is None else status.interval_s,
            "last_ns": status.last_success_ns or None,
            "last_tasks_ns": status.last_tasks_ns or None,
        }

    def _unresolved(self, session: str) -> int:
        """Return the number of attempts whose definition has not arrived."""
        try:
            return self._records.read_cached(session, "dropped", sessions_sql.dropped, flush=False)[
                "unresolved_attempts"
            ]
        except StoreError:
            return 0

    def _orphans(self, session: str) -> int:
        """Return the number of attempts whose end will not be reported, because their process is gone."""
        try:
            return self._records.read_cached(session, "orphans", sessions_sql.orphans, flush=False)
        except StoreError:
            return 0

    def look(self, *, quiet_too: bool) -> None:
        """Find the GCS of sessions that send events, and stop the pollers of clusters that are gone.

        With ``quiet_too``, also find clusters on this machine that send no events.
        """
        now_ns = time.time_ns()
        with self._lock:
            known = dict(self._clusters)
        for cluster in known.values():
            status = cluster.poller.status
            last_s = (now_ns - status.last_success_ns) / 1e9
            if not status.ok and last_s > _GONE_S and time.monotonic() - cluster.started > _GONE_S:
                log.info("%s at %s is gone", cluster.session, cluster.address)
                self._forget(cluster)
                self._conclude(cluster.session, status.last_success_ns)
            elif status.session not in (None, cluster.session):
                self._follow(cluster, status.session)
        names = self._catalog.names()
        self._unreadable.intersection_update(names)
        abouts = [self._catalog.about(name) for name in names if name not in known]
        live = {about.session for about in abouts if now_ns - about.last_ns < LIVE_NS}
        if not live and not (quiet_too and abouts):
            return
        local = local_clusters()
        silent_sessions = (
            about.session
            for about in abouts
            if about.ended_ns is None
            and about.session not in self._unreadable | set(local)
            and now_ns - about.last_ns > _SILENT_S * 1e9
            and self._catalog.path_of(about.session).exists()
        )
        if session := next(silent_sessions, None):  # one at a time, because each is opened for writing
            self._conclude(session)
        for about in abouts:
            if about.session in local:
                found = local[about.session]
                self._try_begin(about.session, found.address, RayToken(ray_token) if found.is_own else None)
            elif about.gcs_address and about.session in live:
                self._try_begin(about.session, about.gcs_address, None)

    def _forget(self, cluster: _Cluster) -> None:
        """Stop reading from a cluster that is gone. Its final usage is kept."""
        with self._lock:
            self._clusters.pop(cluster.session, None)
            self._last_usage[cluster.session] = cluster.feed.usage()
            for oldest in list(self._last_usage)[:-_ENDED_USAGES]:
                del self._last_usage[oldest]
        self._end(cluster)

    def _follow(self, cluster: _Cluster, session: str) -> None:
        """Record the new session of a cluster whose head node has restarted."""
        log.info("%s at %s now runs %s", cluster.session, cluster.address, session)
        self._forget(cluster)
        self._conclude(cluster.session)
        client = GcsClient(cluster.address, cluster.client.token)
        self._begin(session, cluster.address, client, snapshots=cluster.snapshots)

    def _conclude(self, session: str, last_ns: int = 0) -> None:
        """Mark a session as ended at its last sign of life."""
        try:
            self._records.read_cached(session, "nodes", sessions_sql.nodes, flush=False)
        except StoreError:
            self._unreadable.add(session)
            return
        self._writer.end_session(session, max(self._catalog.about(session).last_ns, last_ns))

    def _try_begin(self, session: str, address: str, token: RayToken | None) -> bool:
        client = None
        try:
            client = GcsClient(address, token=token, timeout_s=3)
            info = client.cluster_info()
        except GcsError as error:
            log.info("could not read the GCS of %s: %s", session, error.message)
            if client is not None:
                client.close()
            return False
        if info.session != session:
            client.close()
            return False
        self._begin(session, address, client, snapshots=False, ray_version=info.ray_version)
        return True

    @staticmethod
    def _end(cluster: _Cluster) -> None:
        cluster.libraries.stop()
        cluster.poller.stop()
        cluster.feed.stop()
        cluster.client.close()

    def is_live(self, session: str) -> bool:
        """Return whether a session's cluster sent events recently, or its GCS responded recently."""
        about = self._catalog.about(session)
        if about.ended_ns is not None:
            return False
        last_ns = about.last_ns
        cluster = self._of(session)
        if cluster is not None and cluster.poller.status.session == session:
            # The GCS also counts, because a job that hangs sends no events.
            last_ns = max(last_ns, cluster.poller.status.last_success_ns)
        return time.time_ns() - last_ns < LIVE_NS

    def is_lost(self, session: str) -> bool:
        """Return whether a session's cluster does not respond, or False if this server never read from it."""
        cluster = self._of(session)
        if cluster is None:
            return False
        try:
            return cluster.client.session_name() != session
        except GcsError:
            return True

    def note_loss(self, session: str) -> None:
        """Note that an agent reported a loss, so that tasks are polled from the GCS soon."""
        cluster = self._of(session)
        if cluster is not None:
            cluster.loss = True

    def find(self, session: str) -> bool:
        """Return whether this server reaches the session's cluster. Attaches it first if it runs on this
        machine.
        """
        if self._of(session) is None:
            with contextlib.suppress(OSError, StoreError):
                address = local_gcs_addresses(own=True).get(session)
                if address is not None:
                    self._catalog.add(session)
                    self._try_begin(session, address, RayToken(ray_token))
        return self._of(session) is not None

    def poll_now(self, session: str) -> bool:
        """Read a session's GCS completely, and the state of Ray's libraries if that takes at most 2 s.

        Returns whether the GCS was read.
        """
        cluster = self._of(session)
        if cluster is None:
            return False
        try:
            cluster.poller.poll_now()
        except (GcsError, StoreError) as error:
            log.info("the last snapshot of %s failed: %s", session, error)
            return False
        cluster.libraries.poll_once_more(_LIBRARIES_S)
        return True

    def troubles(self, session: str) -> list[str]:
        """Return codes for unreachable parts of a session's cluster (see docs/reference/api.md)."""
        if self._catalog.about(session).ended_ns is not None:
            return []
        cluster = self._of(session)
        if cluster is None:
            return ["gcs_unreachable"] if self.is_live(session) else []
        if not cluster.poller.status.ok and cluster.poller.status.error:
            return ["gcs_unreachable"]
        status = cluster.poller.status
        troubles = ["job_api_unreachable"] if status.job_api_error else []
        return troubles + (["no_task_table"] if status.tasks_missing else [])


CurrentClusters = Annotated[Clusters, provide(Clusters)]
