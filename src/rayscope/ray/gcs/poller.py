"""Polls one cluster for as long as it is alive, slowly enough not to burden its GCS."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from rayscope.model import Drop, Entity, RecordBatch
from rayscope.periodic import PeriodicTask
from rayscope.ray.agents.drops import read_agent_drops
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.gcs.client import ClusterInfo, GcsClient, GcsError
from rayscope.ray.gcs.snapshot import Changes, TaskSource, TaskTable, read_tasks
from rayscope.ray.jobs_api import JobApi

_LOG = logging.getLogger(__name__)

#: Maximum share of the time that polling may take.
LOAD = 0.05
#: Bounds of the pause between two polls of tasks, in seconds.
_MIN_S = 1.0
_MAX_S = 60.0
#: Pause between two polls of entities, in seconds.
_ENTITY_S = 2.0
#: Pause between two polls of the job API and the agents, in seconds.
_SIDE_S = 10.0
#: A driver is in the task table at the latest after this time, in nanoseconds.
_REPORTED_NS = 15 * 10**9
#: Maximum pause after a failure, in seconds.
_MAX_BACK_OFF_S = 30.0
#: Maximum number of agents polled per turn.
_AGENTS_PER_TURN = 48
#: Maximum number of agents polled at the same time.
_AGENTS_CONCURRENCY = 16


@dataclass(frozen=True)
class PollStatus:
    """The state of polling.

    Attributes:
        error: why the last poll failed. Like ``remedy``, it is None while ``ok`` is true.
        interval_s: current pause between polls of tasks, s.
        cost_s: duration of the last poll of tasks, s.
        mode: ``"tasks"`` or ``"entities"``.
        job_api_error: why submitted jobs cannot be read, or None.
        tasks_from: the service in which the last poll found tasks. None if it found none.
        tasks_missing: whether it found none although a driver, which is a task itself, had been running.
        session: the session that the GCS last named.
        last_tasks_ns: when all tasks were last read.
    """

    ok: bool = False
    error: str | None = None
    remedy: str | None = None
    last_success_ns: int = 0
    interval_s: float = _MIN_S
    cost_s: float = 0.0
    mode: str = "tasks"
    job_api_error: str | None = None
    tasks_from: TaskSource | None = None
    tasks_missing: bool = False
    session: str | None = None
    last_tasks_ns: int = 0


class Poller:
    """A thread that polls a cluster's tables and passes changes to ``on_batch``.

    Entities are polled every 2 s, tasks every 1 to 60 s, each slowly enough that reading and converting takes
    at most 5 % of the time. The job API and the agents' loss counters are polled every 10 s. After an outage
    it retries with a pause that grows up to 30 s. It reads one session: if the GCS comes back with another,
    nothing more is passed on, and ``status.session`` names the other one.

    Args:
        client: the cluster's GCS.
        on_batch: called from the thread or from :meth:`poll_now`, never concurrently. If it raises, the next
            poll passes the same records again.
        tasks: whether to poll tasks, or a function that decides this before each poll. With the event stream,
            tasks need to be polled only occasionally.
        min_interval_s: minimum pause between polls of tasks, s.
        max_interval_s: maximum pause between polls of tasks, s.
        entity_interval_s: pause between polls of entities, s.
    """

    def __init__(
        self,
        client: GcsClient,
        on_batch: Callable[[RecordBatch], None],
        *,
        tasks: bool | Callable[[], bool] = True,
        min_interval_s: float = _MIN_S,
        max_interval_s: float = _MAX_S,
        entity_interval_s: float = _ENTITY_S,
    ) -> None:
        self._client = client
        self._on_batch = on_batch
        self._tasks = tasks if callable(tasks) else (lambda: tasks)
        self._min_s, self._max_s, self._entity_s = min_interval_s, max_interval_s, entity_interval_s
        self._polling = threading.Lock()
        self._status = PollStatus(interval_s=min_interval_s)
        self._changes: Changes | None = None
        self._info: ClusterInfo | None = None
        self._job_api: JobApi | None = None
        self._api_jobs: list[Entity] | None = None
        self._agents: list[tuple[str, int]] = []
        self._has_platform_events = True
        self._due = {"entities": 0.0, "tasks": 0.0, "side": 0.0}
        self._failures = 0
        self._task = PeriodicTask("rayscope-poller", min_interval_s, self._turn, at_once=True)

    @property
    def status(self) -> PollStatus:
        """The current state of polling."""
        return self._status

    def start(self) -> Poller:
        """Start polling. Returns itself."""
        self._task.start()
        return self

    def stop(self, timeout_s: float = 5) -> None:
        """Stop the thread after the call in flight. Waits at most ``timeout_s``."""
        self._task.stop(timeout_s)
        if self._job_api is not None:
            self._job_api.close()

    def soon(self) -> None:
        """Poll entities and submitted jobs without waiting for the next turn, for example after a change."""
        self._due["side"] = self._due["entities"] = 0.0
        self._task.wake()

    @property
    def job_api(self) -> JobApi | None:
        """The connection to the cluster's job API, or None until its dashboard is known."""
        return self._job_api

    def poll_now(self, *, tasks: bool = True) -> None:
        """Poll everything once in the caller's thread. All changes have been passed on when it returns.

        Raises :class:`GcsError`, and any error of ``on_batch``.
        """
        with self._polling:
            self._poll(time.monotonic(), side=True, entities=True, tasks=tasks)

    def _turn(self) -> float:
        """Poll what is due. Returns the seconds until the next turn."""
        with self._polling:
            now = time.monotonic()
            try:
                self._poll(
                    now,
                    side=now >= self._due["side"],
                    entities=now >= self._due["entities"],
                    tasks=now >= self._due["tasks"] and self._tasks(),
                )
            except GcsError as error:
                return self._fail(error.message, error.remedy)
            except Exception as error:  # raised by on_batch, or a bug of ours: retry with the next poll
                _LOG.exception("a snapshot could not be handed on")
                return self._fail(
                    f"{type(error).__name__}: {error}", "See the server's log. Rayscope keeps retrying."
                )
            self._failures = 0
            return max(min(self._due.values()) - time.monotonic(), 0.05)

    def _fail(self, message: str, remedy: str) -> float:
        """Record a failure. Returns the seconds until the next attempt."""
        # Read the session again after the next success: the dashboard may have moved.
        self._info = None
        self._due = dict.fromkeys(self._due, 0.0)
        self._status = replace(self._status, ok=False, error=message, remedy=remedy)
        self._failures += 1
        return min(_MAX_BACK_OFF_S, 0.5 * 2.0 ** min(self._failures, 10))

    def _poll(self, now: float, *, side: bool, entities: bool, tasks: bool) -> None:
        changes = self._current(refresh=side)
        if side:
            self._read_side(changes)
            self._due["side"] = now + _SIDE_S
        if entities:
            cost_s = self._pass_on(changes.entities(self._api_jobs))
            self._due["entities"] = now + max(self._entity_s, cost_s / LOAD)
        if tasks:
            cost_s = self._pass_on(changes.tasks(lambda: self._read_tasks(changes)))
            interval_s = min(self._max_s, max(self._min_s, cost_s / LOAD))
            self._status = replace(
                self._status,
                interval_s=interval_s,
                cost_s=cost_s,
                mode="tasks",
                last_tasks_ns=time.time_ns(),
            )
            self._due["tasks"] = now + interval_s
        elif now >= self._due["tasks"]:
            self._status = replace(self._status, mode="entities")
            self._due["tasks"] = now + self._min_s
        self._status = replace(
            self._status,
            ok=True,
            error=None,
            remedy=None,
            last_success_ns=time.time_ns(),
            session=changes.session,
        )

    def _current(self, *, refresh: bool) -> Changes:
        """The change tracker of the session. Raises GcsError if the cluster runs another one by now."""
        if refresh or self._info is None:
            self._info = self._client.cluster_info()
            session = self._info.session
        else:
            session = self._client.session_name()
        if self._changes is None:
            self._changes = Changes(self._client, session)
        if self._changes.session != session:
            self._status = replace(self._status, session=session)
            raise GcsError(
                f"The cluster at {self._client.address} now runs {session}.",
                "Rayscope records it as a session of its own.",
                "failed",
                what="gcs_new_session",
                address=self._client.address,
                session=session,
            )
        return self._changes

    def _pass_on(self, batches: Iterator[RecordBatch]) -> float:
        """Pass on all batches. Returns the seconds spent on reading and converting."""
        cost_s = 0.0
        while True:
            started = time.monotonic()
            batch = next(batches, None)
            cost_s += time.monotonic() - started
            if batch is None:
                return cost_s
            if self._task.is_stopping:
                return cost_s
            self._on_batch(batch)

    def _read_tasks(self, changes: Changes) -> TaskTable:
        table, oldest_ns = read_tasks(self._client, self._job_api), changes.oldest_driver_ns
        missing = table.source is None and oldest_ns is not None and time.time_ns() - oldest_ns > _REPORTED_NS
        self._status = replace(self._status, tasks_from=table.source, tasks_missing=missing)
        return table

    def _read_side(self, changes: Changes) -> None:
        """Read what the GCS lacks: the job API's jobs, platform events, and the agents' loss counters.

        No error is raised if the job API or an agent cannot be read.
        """
        self._api_jobs, problem = self._read_jobs()
        self._status = replace(self._status, job_api_error=problem)
        if problem is None and self._has_platform_events:
            self._pass_on(changes.platform_events(self._read_platform_events()))
        drops = changes.new_drops(self._read_drops())
        if drops:
            self._on_batch(RecordBatch(changes.session, drops=drops))
            changes.commit_drops(drops)

    def _read_jobs(self) -> tuple[list[Entity] | None, str | None]:
        url = self._info.dashboard_url if self._info is not None else None
        session = self._info.session if self._info is not None else None
        if self._job_api is not None and (self._job_api.url, self._job_api.session) != (url, session):
            self._job_api.close()
            self._job_api = None
        if url is None:
            return None, "The cluster has no dashboard, so submitted jobs without a driver are not recorded."
        if self._job_api is None:
            self._job_api = JobApi(url, self._client.token, session=session)
        try:
            return self._job_api.submissions(), None
        except DashboardError as error:
            # Keep the last result: without it, jobs would lose their outcome for a while.
            return self._api_jobs, str(error)

    def _read_platform_events(self) -> list[Any]:
        """The dashboard's events of Kubernetes. A dashboard that does not collect any is asked once."""
        try:
            events = self._job_api.platform_events() if self._job_api is not None else None
        except DashboardError:
            return []  # if this lasts, the job API reports it
        self._has_platform_events = events is not None
        return events or []

    def _read_drops(self) -> list[Drop]:
        """Loss counters of the next 48 agents or fewer. Reading 1,000 agents takes less than four minutes."""
        if not self._agents:
            self._agents = [
                (node.node_manager_address, node.metrics_export_port)
                for node in self._client.nodes()
                if node.state == 0 and node.metrics_export_port > 0  # GcsNodeState.ALIVE
            ]
        agents, self._agents = self._agents[:_AGENTS_PER_TURN], self._agents[_AGENTS_PER_TURN:]
        if not agents:
            return []
        with ThreadPoolExecutor(min(_AGENTS_CONCURRENCY, len(agents)), "rayscope-drops") as pool:
            return [
                drop for found in pool.map(lambda agent: read_agent_drops(*agent), agents) for drop in found
            ]
