"""Converts the GCS's tables to records: all of them (:func:`read`), or the changes (:class:`Changes`).

A snapshot describes the present. It needs no configuration of the cluster, so it also works for clusters that
were started without Rayscope, and it fills gaps in the event stream.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from rayscope.model import Drop, Entity, RecordBatch
from rayscope.ray.dashboard import Dashboard, DashboardError
from rayscope.ray.events.entities import lost_drivers
from rayscope.ray.events.from_json import ERRORS
from rayscope.ray.events.json_types import Event
from rayscope.ray.events.platform import platform_event
from rayscope.ray.events.tasks import count, problem
from rayscope.ray.gcs import entity_tables
from rayscope.ray.gcs.change_filter import ChangeFilter, EntityChangeFilter, RowChangeFilter
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.gcs.task_table import add_tasks, dropped
from rayscope.ray.jobs_api import aliases, join_jobs

__all__ = ["Changes", "TaskDiff", "join_jobs", "read", "read_entities"]

#: Table of the GCS (method of :class:`GcsClient`) -> converter of a row.
_TABLES = {
    "nodes": entity_tables.node,
    "jobs": entity_tables.job,
    "actors": entity_tables.actor,
    "workers": entity_tables.worker,
    "placement_groups": entity_tables.placement_group,
}
#: Maximum number of attempts per batch: enough for an efficient bulk insert, and few enough to hold as Python
#: objects (1 kB each).
CHUNK = 10_000


#: The service that keeps the task table.
TaskSource = Literal["gcs", "dashboard"]


class TaskTable(NamedTuple):
    """Ray's task table: ``GetTaskEventsReply``, and the service that keeps it.

    ``source`` is None if neither service has any tasks.
    """

    reply: Any
    source: TaskSource | None


def read_tasks(client: GcsClient, dashboard: Dashboard | None) -> TaskTable:
    """Read the task table from the GCS or, if that has no tasks, from the dashboard. Raises GcsError.

    A dashboard that cannot be read counts as one without tasks.
    """
    reply = client.task_events()
    if reply.events_by_task:
        return TaskTable(reply, "gcs")
    with contextlib.suppress(DashboardError):
        moved = dashboard.task_events() if dashboard is not None else None
        if moved is not None and moved.events_by_task:
            return TaskTable(moved, "dashboard")
    return TaskTable(reply, None)


def read(
    client: GcsClient,
    session: str,
    now_ns: int | None = None,
    *,
    table: TaskTable | None = None,
    api_jobs: list[Entity] | None = None,
) -> RecordBatch:
    """Everything in the GCS, as one batch. Raises :class:`rayscope.ray.gcs.client.GcsError`.

    ``table``: the task table, if it has been read already. ``api_jobs`` (from
    :class:`rayscope.ray.jobs_api.JobApi`) are joined with the drivers' jobs.
    """
    batch = read_entities(client, session, now_ns, api_jobs=api_jobs)
    table = table or read_tasks(client, None)
    add_tasks(table.reply.events_by_task, batch)
    batch.drops.extend(drops_of(table, time.time_ns() if now_ns is None else now_ns))
    return batch


def read_entities(
    client: GcsClient, session: str, now_ns: int | None = None, *, api_jobs: list[Entity] | None = None
) -> RecordBatch:
    """All actors, nodes, workers, jobs and placement groups in the GCS."""
    batch = RecordBatch(session)
    for table, convert in _TABLES.items():
        rows = getattr(client, table)()
        observed_ns = time.time_ns() if now_ns is None else now_ns
        entities = [convert(row, observed_ns, batch.unknown) for row in rows]
        if table == "jobs":
            entities = _all_jobs(entities, api_jobs)
        batch.entities.extend(entities)
        batch.entities.extend(lost_drivers(entities))
    return batch


def drops_of(table: TaskTable, now_ns: int) -> list[Drop]:
    """The counts of events that the keeper of the task table lost, if it lost any."""
    source = table.source or "gcs"
    return [
        Drop(source, reason, count, now_ns) for reason, count in dropped(table.reply).items() if count > 0
    ]


def _all_jobs(gcs_jobs: list[Entity], api_jobs: list[Entity] | None) -> list[Entity]:
    jobs = join_jobs(gcs_jobs, api_jobs or [])
    return jobs + aliases(jobs)


def _task_key(event: Any) -> tuple[bytes, int]:
    return (event.task_id, event.attempt_number)


def _content(message: Any) -> int:
    # Serialize deterministically, because the order of a map's entries differs between replies.
    return hash(message.SerializeToString(deterministic=True))


class TaskDiff(ChangeFilter[Any]):
    """:class:`ChangeFilter` for ``TaskEvents`` messages. Comparing 60,000 unchanged ones takes 0.2 s."""

    def __init__(self) -> None:
        super().__init__(_task_key, _content)


class Changes:
    """Reads a cluster repeatedly and yields only what changed since it was last passed on.

    The iterators yield batches. A batch counts as passed on when the next one is requested, so if a consumer
    raises, it gets the same records from the next read.
    """

    def __init__(self, client: GcsClient, session: str) -> None:
        self.session = session
        self._client = client
        self._tasks = TaskDiff()
        self._rows: dict[str, RowChangeFilter[Any]] = {
            table: RowChangeFilter(_row_key(table), _content) for table in _TABLES if table != "jobs"
        }
        self._jobs = EntityChangeFilter()
        self._platform_events = EntityChangeFilter()
        self._drops: dict[tuple[str, str], int] = {}
        #: When the oldest driver that is still running started. None if there is none.
        self.oldest_driver_ns: int | None = None

    def entities(self, api_jobs: list[Entity] | None = None) -> Iterator[RecordBatch]:
        """Changed entities, by table in batches of :data:`CHUNK`. Raises :class:`GcsError`."""
        for table, convert in _TABLES.items():
            if table == "jobs":
                yield from self._changed_jobs(api_jobs)
                continue
            change_filter, contents = self._rows[table], self._client.table(table)
            now_ns = time.time_ns()
            changed = iter(change_filter.changed(contents.rows, contents.parse))
            while chunk := list(islice(changed, CHUNK)):
                batch = RecordBatch(self.session)
                batch.entities = [convert(row, now_ns, batch.unknown) for row in chunk]
                batch.entities += lost_drivers(batch.entities)
                yield batch
            change_filter.commit()

    def _changed_jobs(self, api_jobs: list[Entity] | None) -> Iterator[RecordBatch]:
        """Changed jobs. They are compared after the join, because a driver's row lacks the outcome."""
        batch, rows, now_ns = RecordBatch(self.session), self._client.jobs(), time.time_ns()
        self.oldest_driver_ns = min((row.start_time * 10**6 for row in rows if not row.is_dead), default=None)
        jobs = _all_jobs([_TABLES["jobs"](row, now_ns, batch.unknown) for row in rows], api_jobs)
        batch.entities = self._jobs.changed(jobs)
        if batch.entities:
            yield batch
        self._jobs.commit()

    def platform_events(self, events: list[Any]) -> Iterator[RecordBatch]:
        """Changed platform events. Events that cannot be read are counted."""
        batch = RecordBatch(self.session)
        for event in events:
            try:
                batch.entities.append(platform_event(msgspec.convert(event, Event)))
            except ERRORS as error:
                count(batch, problem(error))
        batch.entities = self._platform_events.changed(batch.entities)
        if batch.entities:
            yield batch
        self._platform_events.commit()

    def tasks(self, read: Callable[[], TaskTable]) -> Iterator[RecordBatch]:
        """Changed attempts, in batches of :data:`CHUNK`, and loss counters. Raises :class:`GcsError`.

        ``read`` returns the task table.
        """
        table = read()
        changed = iter(self._tasks.changed(table.reply.events_by_task))
        drops = self.new_drops(drops_of(table, time.time_ns()))
        while chunk := list(islice(changed, CHUNK)):
            batch = RecordBatch(self.session)
            add_tasks(chunk, batch)
            yield batch
        self._tasks.commit()
        if drops:
            yield RecordBatch(self.session, drops=drops)
            self.commit_drops(drops)

    def new_drops(self, drops: list[Drop]) -> list[Drop]:
        """The losses among ``drops`` whose counts have grown since the last commit."""
        return [drop for drop in drops if drop.count > self._drops.get((drop.source, drop.reason), 0)]

    def commit_drops(self, drops: list[Drop]) -> None:
        """Remember that ``drops`` were passed on."""
        self._drops.update({(drop.source, drop.reason): drop.count for drop in drops})


def _row_key(table: str) -> Any:
    return {
        "nodes": lambda row: row.node_id,
        "actors": lambda row: row.actor_id,
        "workers": lambda row: row.worker_address.worker_id,
        "placement_groups": lambda row: row.placement_group_id,
    }[table]
