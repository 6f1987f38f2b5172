"""Tables to batches: everything at once, or what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ray.core.generated import gcs_pb2, gcs_service_pb2

from rayscope.model import Drop, RecordBatch
from rayscope.ray.gcs import snapshot
from rayscope.ray.gcs.client import Table
from rayscope.ray.jobs_api import submission

JOB = bytes.fromhex("01000000")


class FakeGcs:
    """A GCS client over tables in memory."""

    address = "fake:1"

    def __init__(self) -> None:
        self.reply = gcs_service_pb2.GetTaskEventsReply()
        self.tables: dict[str, list[Any]] = {
            "nodes": [gcs_pb2.GcsNodeInfo(node_id=b"\x01" * 28)],
            "jobs": [gcs_pb2.JobTableData(job_id=JOB)],
            "actors": [gcs_pb2.ActorTableData(actor_id=b"\x02" * 16)],
            "workers": [gcs_pb2.WorkerTableData(worker_address={"worker_id": b"\x03" * 28})],
            "placement_groups": [gcs_pb2.PlacementGroupTableData(placement_group_id=b"\x04" * 18)],
        }

    def add_tasks(self, count: int) -> None:
        for _ in range(count):
            number = len(self.reply.events_by_task)
            self.reply.events_by_task.add(task_id=number.to_bytes(24, "big"), job_id=JOB)

    def task_events(self) -> Any:
        return self.reply

    def table(self, name: str) -> Table:
        rows = self.tables[name]
        return Table([row.SerializeToString() for row in rows], type(rows[0]).FromString)

    def __getattr__(self, table: str) -> Any:
        if table not in self.tables:
            raise AttributeError(table)
        return lambda: self.tables[table]


@pytest.fixture
def gcs() -> FakeGcs:
    return FakeGcs()


def read_changed(changes: snapshot.Changes, gcs: Any) -> Iterator[RecordBatch]:
    return changes.tasks(lambda: snapshot.read_tasks(gcs, None))


def ids(batches: list[RecordBatch]) -> list[str]:
    return [f"{entity.kind}:{entity.id[:2]}" for batch in batches for entity in batch.entities]


def test_all_of_it(gcs: Any) -> None:
    gcs.add_tasks(3)
    gcs.reply.num_status_task_events_dropped = 7
    batch = snapshot.read(gcs, "s", 5)
    assert (batch.session, len(batch.attempts)) == ("s", 3)
    assert {entity.kind for entity in batch.entities} == {"node", "job", "actor", "worker", "placement_group"}
    assert {entity.observed_ns for entity in batch.entities} == {5}
    assert batch.drops == [Drop("gcs", "status_events_dropped", 7, 5)]


def test_only_changed_entities(gcs: Any) -> None:
    changes = snapshot.Changes(gcs, "s")
    assert len(ids(list(changes.entities()))) == 5
    assert ids(list(changes.entities())) == []
    gcs.tables["actors"][0].state = 2
    gcs.tables["nodes"].append(gcs_pb2.GcsNodeInfo(node_id=b"\x05" * 28))
    assert ids(list(changes.entities())) == ["node:05", "actor:02"]


def test_a_submissions_change_counts_although_its_driver_row_stays(gcs: Any) -> None:
    gcs.tables["jobs"][0].config.metadata["job_submission_id"] = "sub"
    changes = snapshot.Changes(gcs, "s")
    row = {"submission_id": "sub", "job_id": "01000000", "status": "RUNNING"}
    list(changes.entities([submission(row, 1)]))
    assert ids(list(changes.entities([submission(row, 2)]))) == []
    batches = list(changes.entities([submission({**row, "status": "FAILED"}, 3)]))
    assert ids(batches) == ["job:01", "job:su"]
    assert batches[0].entities[0].observed["state"] == "FAILED"


def test_only_changed_tasks_in_chunks(gcs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHUNK", 4)
    gcs.add_tasks(10)
    changes = snapshot.Changes(gcs, "s")
    assert [len(batch.attempts) for batch in read_changed(changes, gcs)] == [4, 4, 2]
    assert list(read_changed(changes, gcs)) == []
    gcs.reply.events_by_task[3].state_updates.state_ts_ns[8] = 1
    gcs.add_tasks(1)
    assert [len(batch.attempts) for batch in read_changed(changes, gcs)] == [2]


def test_losses_are_handed_on_when_they_grow(gcs: Any) -> None:
    changes = snapshot.Changes(gcs, "s")
    gcs.reply.num_profile_task_events_dropped = 5
    (batch,) = read_changed(changes, gcs)
    assert [(drop.reason, drop.count) for drop in batch.drops] == [("profile_events_dropped", 5)]
    assert list(read_changed(changes, gcs)) == []
    gcs.reply.num_profile_task_events_dropped = 6
    assert len(list(read_changed(changes, gcs))) == 1


def test_changes_that_were_not_taken_come_again(gcs: Any) -> None:
    gcs.add_tasks(2)
    changes = snapshot.Changes(gcs, "s")
    next(read_changed(changes, gcs))  # and the consumer fails
    next(changes.entities())
    assert [len(batch.attempts) for batch in read_changed(changes, gcs)] == [2]
    assert len(ids(list(changes.entities()))) == 5
