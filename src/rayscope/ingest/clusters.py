"""The clusters that this server can reach: which are attached, found and gone, and what each is asked."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from rayscope.api.provide import provide
from rayscope.ingest.writer import Writer
from rayscope.model import RecordBatch
from rayscope.model.usage import Resources, Usage
from rayscope.ray.agents.runtime_envs import RuntimeEnv, read_runtime_envs
from rayscope.ray.agents.usage import UsageFeed
from rayscope.ray.auth import ray_token
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.discovery import local_clusters, local_gcs_addresses
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.gcs.poller import Poller, PollStatus
from rayscope.ray.jobs_api import JobApi
from rayscope.ray.libraries.poller import LibraryPoller, LibraryProblem
from rayscope.ray.resources import read_resources
from rayscope.ray.versions import version_note
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import LIVE_NS, Catalog
from rayscope.storage.errors import StoreError
from rayscope.storage.sql import sessions as sessions_sql

log = logging.getLogger("rayscope.server")


#: After this long without any answer a cluster is taken for gone, and its poller ends.
_GONE_S = 60.0
#: A session whose GCS this server cannot ask is taken for ended after so long without any event. Until then a
#: session that is not live any more may have running jobs, so this is not long.
_SILENT_S = 60.0
_RECONCILE_S = 30.0
#: It is looked so often whether that is needed.
_LOOK_S = 3.0
#: The pause when an agent has just told of a loss.
_RECONCILE_LOSS_S = 3.0
#: How long the last state of Ray's libraries may take, s: the cluster waits for it.
_LIBRARIES_S = 2.0
#: Of how many clusters that are gone the use is kept.
_ENDED_USAGES = 20
_NO_USAGE = Usage(
    error="The utilization of this cluster's nodes is unknown.",
    remedy="It is available while the cluster is running and this server can reach its GCS.",
    code="usage_unheard",
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
    libraries: LibraryPoller
    #: Polls tasks all the time (a cluster that sends no events), not only to fill gaps.
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


class Clusters:
    """A poller, a feed of what machines use and a connection to the GCS for each cluster in reach."""

    def __init__(self, catalog: Catalog, writer: Writer, records: SessionReader) -> None:
        self._catalog = catalog
        self._writer = writer
        self._records = records
        self._clusters: dict[str, _Cluster] = {}
        self._last_usage: dict[str, Usage] = {}
        #: Notes about versions of Ray that are in the log already.
        self._noted: set[str] = set()
        self._lock = threading.Lock()
        #: Sessions whose records cannot be opened, so that their end is not recorded either.
        self._unreadable: set[str] = set()

    def stop(self) -> None:
        """End all pollers and feeds."""
        with self._lock:
            clusters = list(self._clusters.values())
        for cluster in clusters:
            self._end(cluster)

    def _of(self, session: str) -> _Cluster | None:
        with self._lock:
            return self._clusters.get(session)

    def _living(self, session: str) -> _Cluster | None:
        """The cluster of a session that lives."""
        cluster = self._of(session)
        return cluster if cluster is not None and self.is_live(session) else None

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

    def in_use(self) -> set[str]:
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
                client.close()
                return
            cluster: _Cluster
            poller = Poller(
                client,
                lambda batch: self._on_batch(cluster, batch),
                tasks=lambda: self._wants_tasks(cluster),
                token=token,
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
        # Entities come from the GCS in any case; it is the tasks that make a recording a snapshot.
        snapshot = cluster.snapshots and bool(batch.attempts) and not sends_events
        if sends_events:
            # What the GCS had no room for came to us in events: its losses are not ours. (Those of the
            # nodes' agents are, and they are counted by the agents.)
            kept = [drop for drop in batch.drops if drop.reason not in _GCS_ONLY]
            cluster.gcs_lost = cluster.gcs_lost or len(kept) < len(batch.drops)
            batch.drops = kept
        self._writer.submit_records(batch, "snapshot" if snapshot else "gcs")

    def _wants_tasks(self, cluster: _Cluster) -> bool:
        """With events at hand tasks are polled only to read again what the stream lost."""
        about = self._catalog.about(cluster.session)
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
        """The connection to the cluster of a live session, None where there is none."""
        cluster = self._living(session)
        return None if cluster is None else cluster.client

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
        """What of the cluster's resources is free and what waits for some; all who ask share an answer.

        None where there is no cluster any more. Raises GcsError.
        """
        cluster = self._living(session)
        if cluster is None:
            return None
        found: Resources = self._records.call_cached(session, lambda: read_resources(cluster.client))
        return found

    def runtime_envs(self, session: str) -> list[RuntimeEnv]:
        """The runtime environments of the cluster's nodes; none where they cannot be asked."""
        cluster = self._living(session)
        if cluster is None:
            return []

        def read() -> list[RuntimeEnv]:
            try:
                return read_runtime_envs(cluster.client)
            except GcsError:
                return []

        found: list[RuntimeEnv] = self._records.call_cached(session, read)
        return found

    def job_api(self, session: str) -> tuple[JobApi, Callable[[], None]]:
        """The job API of a live session's cluster, and what to call once something was changed by it.

        Raises DashboardError where there is none.
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

    def library_problem(self, session: str, library: str) -> LibraryProblem | None:
        """Why the state of one of Ray's libraries cannot be read now; None where it can, or need not."""
        cluster = self._of(session)
        return None if cluster is None else cluster.libraries.problems.get(library)

    def snapshots(self, session: str) -> dict[str, Any]:
        """How reading this session's GCS goes."""
        cluster = self._of(session)
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

    def _unresolved(self, session: str) -> int:
        """Attempts of a session whose definition has not arrived."""
        try:
            return int(
                self._records.read_cached(session, sessions_sql.dropped, flush=False)["unresolved_attempts"]
            )
        except StoreError:
            return 0

    def _orphans(self, session: str) -> int:
        """Attempts whose end no event will tell, since who would have told it is gone."""
        try:
            return int(self._records.read_cached(session, sessions_sql.orphans, flush=False))
        except StoreError:
            return 0

    def look(self, *, quiet_too: bool) -> None:
        """Find the GCS of sessions that send events; end the pollers of clusters that are gone.

        ``quiet_too``: also those that run on this machine and have nothing to say."""
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
                self._conclude(cluster.session, status.last_success_ns)
        abouts = [self._catalog.about(name) for name in self._catalog.names() if name not in known]
        live = {about.session for about in abouts if now_ns - about.last_ns < LIVE_NS}
        if not live and not (quiet_too and abouts):
            return
        local = local_clusters()
        silent = (
            about.session
            for about in abouts
            if about.ended_ns is None
            and about.session not in self._unreadable | set(local)
            and now_ns - about.last_ns > _SILENT_S * 1e9
            and self._catalog.path_of(about.session).exists()
        )
        if session := next(silent, None):  # one at a time: each is opened to be written
            self._conclude(session)
        for about in abouts:
            if about.session in local:
                found = local[about.session]
                self._try_begin(about.session, found.address, ray_token() if found.is_own else None)
            elif about.gcs_address and about.session in live:
                self._try_begin(about.session, about.gcs_address, None)

    def _conclude(self, session: str, last_ns: int = 0) -> None:
        """Take a session for ended since the last sign of life."""
        try:
            self._records.read_cached(session, sessions_sql.nodes, flush=False)
        except StoreError:
            self._unreadable.add(session)
            return
        self._writer.end_session(session, max(self._catalog.about(session).last_ns, last_ns))

    def _try_begin(self, session: str, address: str, token: str | None) -> bool:
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
        self._begin(session, address, client, token, snapshots=False, ray_version=info.ray_version)
        return True

    @staticmethod
    def _end(cluster: _Cluster) -> None:
        cluster.libraries.stop()
        cluster.poller.stop()
        cluster.feed.stop()
        cluster.client.close()

    def is_live(self, session: str) -> bool:
        """Whether there was a sign of life of a session's cluster just now: what it told, or its GCS."""
        about = self._catalog.about(session)
        if about.ended_ns is not None:
            return False
        last_ns = about.last_ns
        cluster = self._of(session)
        if cluster is not None and cluster.poller.status.session == session:
            # A job that hangs tells nothing.
            last_ns = max(last_ns, cluster.poller.status.last_success_ns)
        return time.time_ns() - last_ns < LIVE_NS

    def is_lost(self, session: str) -> bool:
        """Whether the cluster of a session does not answer now. False of one that this server never read."""
        cluster = self._of(session)
        if cluster is None:
            return False
        try:
            return cluster.client.session_name() != session
        except GcsError:
            return True

    def note_loss(self, session: str) -> None:
        """An agent has told of a loss: the GCS is read for it soon."""
        cluster = self._of(session)
        if cluster is not None:
            cluster.loss = True

    def find(self, session: str) -> bool:
        """Whether this session has a cluster; one of this machine that was not found yet is attached."""
        if self._of(session) is None:
            with contextlib.suppress(OSError, StoreError):
                address = local_gcs_addresses(own=True).get(session)
                if address is not None:
                    self._catalog.add(session)
                    self._try_begin(session, address, ray_token())
        return self._of(session) is not None

    def poll_now(self, session: str) -> bool:
        """Read a session's GCS once in full, and the state of Ray's libraries if it comes soon; whether the
        first was done.
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
        """Codes of what of a session's cluster cannot be reached (docs/reference/api.md explains them)."""
        if self._catalog.about(session).ended_ns is not None:
            return []
        cluster = self._of(session)
        if cluster is None:
            return ["gcs_unreachable"] if self.is_live(session) else []
        if not cluster.poller.status.ok and cluster.poller.status.error:
            return ["gcs_unreachable"]
        return ["job_api_unreachable"] if cluster.poller.status.job_api_error else []


CurrentClusters = Annotated[Clusters, provide(Clusters)]
