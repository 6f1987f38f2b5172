"""The GCS's tables to records: all of it at once (:func:`read`) or what changed (:class:`Changes`).

A snapshot says what is true now. It needs nothing of the cluster's configuration, so it also serves
clusters that were started before anyone thought of Rayscope, and it closes gaps of the event stream.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rayscope.model import Drop, Entity, RecordBatch
from rayscope.ray.events.entities import lost_drivers
from rayscope.ray.gcs import entity_tables
from rayscope.ray.gcs.change_filter import ChangeFilter, EntityChangeFilter, RowChangeFilter
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.gcs.task_table import add_tasks, dropped
from rayscope.ray.jobs_api import aliases, join_jobs

__all__ = ["Changes", "TaskDiff", "convert_tasks", "join_jobs", "read", "read_entities"]

#: Table of the GCS (method of :class:`GcsClient`) -> converter of one of its rows.
_TABLES = {
    "nodes": entity_tables.node,
    "jobs": entity_tables.job,
    "actors": entity_tables.actor,
    "workers": entity_tables.worker,
    "placement_groups": entity_tables.placement_group,
}
#: Attempts in one batch: enough for a store's bulk insert, few enough to hold as Python objects (about 1 kB
#: each).
CHUNK = 10_000


def read(
    client: GcsClient,
    session: str,
    now_ns: int | None = None,
    *,
    tasks: bool = True,
    api_jobs: list[Entity] | None = None,
) -> RecordBatch:
    """Everything that the GCS holds, as one batch. Raises :class:`rayscope.ray.gcs.client.GcsError`.

    ``api_jobs`` (from :class:`rayscope.ray.jobs_api.JobApi`) are joined with the drivers' jobs.
    """
    batch = read_entities(client, session, now_ns, api_jobs=api_jobs)
    if tasks:
        reply = client.task_events()
        add_tasks(reply.events_by_task, batch)
        batch.drops.extend(drops_of(reply, time.time_ns() if now_ns is None else now_ns))
    return batch


def read_entities(
    client: GcsClient, session: str, now_ns: int | None = None, *, api_jobs: list[Entity] | None = None
) -> RecordBatch:
    """All actors, nodes, workers, jobs and placement groups that the GCS holds."""
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


def convert_tasks(reply: Any, session: str, now_ns: int | None = None) -> RecordBatch:
    """A ``GetTaskEventsReply`` as one batch."""
    batch = RecordBatch(session)
    add_tasks(reply.events_by_task, batch)
    batch.drops.extend(drops_of(reply, time.time_ns() if now_ns is None else now_ns))
    return batch


def drops_of(reply: Any, now_ns: int) -> list[Drop]:
    """What a ``GetTaskEventsReply`` says that the GCS lost, where that is not nothing."""
    return [Drop("gcs", reason, count, now_ns) for reason, count in dropped(reply).items() if count > 0]


def _all_jobs(gcs_jobs: list[Entity], api_jobs: list[Entity] | None) -> list[Entity]:
    jobs = join_jobs(gcs_jobs, api_jobs or [])
    return jobs + aliases(jobs)


def _task_key(event: Any) -> tuple[bytes, int]:
    return (event.task_id, event.attempt_number)


def _content(message: Any) -> int:
    # Deterministic: the order of a map's entries differs from reply to reply otherwise.
    return hash(message.SerializeToString(deterministic=True))


class TaskDiff(ChangeFilter[Any]):
    """:class:`ChangeFilter` for ``TaskEvents`` messages: 60,000 of them, unchanged, take 0.2 s to compare."""

    def __init__(self) -> None:
        super().__init__(_task_key, _content)


class Changes:
    """Reads a cluster again and again, and yields only what changed since it was last handed on.

    Each iterator hands out batches; what a batch holds counts as handed on once the next one is asked for,
    so a consumer that raises gets the same records from the next read.
    """

    def __init__(self, client: GcsClient, session: str) -> None:
        self.session = session
        self._client = client
        self._tasks = TaskDiff()
        self._rows: dict[str, RowChangeFilter[Any]] = {
            table: RowChangeFilter(_row_key(table), _content) for table in _TABLES if table != "jobs"
        }
        self._jobs = EntityChangeFilter()
        self._drops: dict[tuple[str, str], int] = {}

    def entities(self, api_jobs: list[Entity] | None = None) -> Iterator[RecordBatch]:
        """Entities that changed, by table in batches of :data:`CHUNK`. Raises :class:`GcsError`."""
        for table, convert in _TABLES.items():
            if table == "jobs":
                yield from self._changed_jobs(api_jobs)
                continue
            change_filter, told = self._rows[table], self._client.table(table)
            now_ns = time.time_ns()
            changed = iter(change_filter.changed(told.rows, told.parse))
            while chunk := list(islice(changed, CHUNK)):
                batch = RecordBatch(self.session)
                batch.entities = [convert(row, now_ns, batch.unknown) for row in chunk]
                batch.entities += lost_drivers(batch.entities)
                yield batch
            change_filter.commit()

    def _changed_jobs(self, api_jobs: list[Entity] | None) -> Iterator[RecordBatch]:
        """Compared after the join: a submission's outcome is not in the driver's row."""
        batch, rows, now_ns = RecordBatch(self.session), self._client.jobs(), time.time_ns()
        jobs = _all_jobs([_TABLES["jobs"](row, now_ns, batch.unknown) for row in rows], api_jobs)
        batch.entities = self._jobs.changed(jobs)
        if batch.entities:
            yield batch
        self._jobs.commit()

    def tasks(self) -> Iterator[RecordBatch]:
        """Attempts that changed, in batches of :data:`CHUNK`, and losses. Raises :class:`GcsError`."""
        reply = self._client.task_events()
        changed = iter(self._tasks.changed(reply.events_by_task))
        drops = self.new_drops(drops_of(reply, time.time_ns()))
        while chunk := list(islice(changed, CHUNK)):
            batch = RecordBatch(self.session)
            add_tasks(chunk, batch)
            yield batch
        self._tasks.commit()
        if drops:
            yield RecordBatch(self.session, drops=drops)
            self.drops_handed_on(drops)

    def new_drops(self, drops: list[Drop]) -> list[Drop]:
        """Those of ``drops`` whose count grew since :meth:`drops_handed_on`."""
        return [drop for drop in drops if drop.count > self._drops.get((drop.source, drop.reason), 0)]

    def drops_handed_on(self, drops: list[Drop]) -> None:
        """Remember ``drops`` as handed on."""
        self._drops.update({(drop.source, drop.reason): drop.count for drop in drops})


def _row_key(table: str) -> Any:
    return {
        "nodes": lambda row: row.node_id,
        "actors": lambda row: row.actor_id,
        "workers": lambda row: row.worker_address.worker_id,
        "placement_groups": lambda row: row.placement_group_id,
    }[table]
