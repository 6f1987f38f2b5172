"""Work that ends without a report ends with its worker or node, and the record says how the end is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.story import JOB, SESSION, Story, at

from rayscope.model import CUT_OFF, Attempt, Entity, RecordBatch, TaskError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter

WORKER, NODE = "b" * 56, "a" * 56


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[SessionWriter]:
    made = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    yield made
    made.close()


def put(writer: SessionWriter, *batches: RecordBatch) -> None:
    """Record the batches, each flushed by itself."""
    for batch in batches:
        writer.add(batch, 0.0)
        writer.flush(0.0, everything=True)


def tasks(writer: SessionWriter, columns: str = "state, end_known_by") -> dict[str, Any]:
    """Function name -> those columns of its attempt."""
    assert writer.file is not None
    with writer.file.reader() as reader:
        rows = reader.execute(f"SELECT func_name, {columns} FROM tasks").fetchall()
    return {name: rest if len(rest) > 1 else rest[0] for name, *rest in rows}


def entities(writer: SessionWriter, view: str) -> list[Any]:
    assert writer.file is not None
    with writer.file.reader() as reader:
        return reader.execute(f"SELECT state, end_ns, end_known_by FROM {view}").fetchall()


def job(until: float, state: str = "SUCCEEDED") -> Entity:
    return Entity("job", JOB, {"start_ns": at(0)}, {(at(until), state): {"end_ns": at(until)}})


def worker_died(until: float, identity: str = WORKER) -> Entity:
    return Entity("worker", identity, {}, {(at(until), "DEAD"): {"end_ns": at(until)}})


def test_calls_in_flight_end_with_their_worker_or_job(writer: SessionWriter) -> None:
    story = Story()
    story.task("ended", 0, 10, 20)
    story.task("ran", 0, 30)
    story.task("ran_elsewhere", 0, 30, worker="c" * 56)
    story.task("waited", 5)
    story.task("of_another_job", 5, job="02000000")
    story.batch.entities += [worker_died(60), job(90)]
    put(writer, story.batch)
    found = tasks(writer, "state, reported_state, end_ns, end_known_by")
    assert found == {
        "ended": ["FINISHED", "FINISHED", at(20), None],
        "ran": [CUT_OFF, "RUNNING", at(60), "worker"],
        "ran_elsewhere": [CUT_OFF, "RUNNING", at(90), "job"],
        "waited": [CUT_OFF, "PENDING_NODE_ASSIGNMENT", at(90), "job"],
        "of_another_job": ["PENDING_NODE_ASSIGNMENT", "PENDING_NODE_ASSIGNMENT", None, None],
    }


def test_it_does_not_matter_in_which_order_the_ends_come(tmp_path: Path) -> None:
    story = Story()
    story.task("ran", 0, 30)
    parts = [story.batch] + [RecordBatch(SESSION, entities=[one]) for one in (worker_died(60), job(50))]
    for number, order in enumerate(permutations(parts)):
        folder = tmp_path / str(number)
        folder.mkdir()
        writer = SessionWriter(SESSION, lambda folder=folder: SessionFile(folder / "record.duckdb"))  # type: ignore[misc]
        put(writer, *order)
        assert tasks(writer, "state, end_ns, end_known_by") == {"ran": [CUT_OFF, at(50), "job"]}
        writer.close()


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED"])
def test_calls_cut_off_by_the_end_of_the_job_have_not_failed(writer: SessionWriter, state: str) -> None:
    """The GCS declares it failed; a task whose worker crashed before, or raised an error, has failed."""
    story = Story()
    for name, ended, kind, message in (
        (
            "cut",
            *(89, "WORKER_DIED"),
            "Job finishes (01000000) as driver exits. Marking all non-terminal tasks as failed.",
        ),
        (
            "forced",
            *(89, "WORKER_DIED"),
            "Worker running the task (1f) died with exit_type: INTENDED_SYSTEM_EXIT with error_message: "
            "Worker force exited because its job has finished",
        ),
        ("owned", 91, "ACTOR_DIED", "The actor is dead because its owner has died."),
        ("crashed", 89, "WORKER_DIED", "The worker died unexpectedly while executing this task."),
        ("raised", 91, "TASK_EXECUTION_EXCEPTION", "ValueError: after the end"),
    ):
        story.task(name, 0, 10, ended, failed=True)
        story.batch.attempts[-1].error = TaskError(at(ended), kind, message)
    put(writer, story.batch, RecordBatch(SESSION, entities=[job(90, state)]))
    assert tasks(writer, "state, reported_state, end_known_by") == {
        "cut": [CUT_OFF, "FAILED", "job"],
        "forced": [CUT_OFF, "FAILED", "job"],
        "owned": [CUT_OFF, "FAILED", "job"],
        "crashed": ["FAILED", "FAILED", None],
        "raised": ["FAILED", "FAILED", None],
    }


def test_a_task_whose_value_was_stored_has_finished(writer: SessionWriter) -> None:
    story = Story()
    story.task("stored", 0, 10)
    story.batch.attempts[-1].returned = (at(38), 8, 8)
    story.batch.attempts[-1].phases["total"] = (at(10), at(40))
    put(writer, story.batch)
    assert tasks(writer) == {"stored": ["RUNNING", None]}  # Ray says so, as long as anything may follow
    put(writer, RecordBatch(SESSION, entities=[job(90)]))
    assert tasks(writer, "state, end_ns, end_known_by") == {"stored": ["FINISHED", at(40), "returned"]}


def test_an_end_that_ray_reports_replaces_the_inferred_one(writer: SessionWriter) -> None:
    story = Story()
    task_id = story.task("ran", 0, 10)
    put(writer, story.batch, RecordBatch(SESSION, entities=[worker_died(60)]))
    assert tasks(writer) == {"ran": [CUT_OFF, "worker"]}
    late = Attempt(task_id, states={"FINISHED": at(55)})
    put(writer, RecordBatch(SESSION, attempts=[late]))
    assert tasks(writer, "state, end_ns, end_known_by") == {"ran": ["FINISHED", at(55), None]}


def test_workers_end_with_their_node_unless_ray_reports_their_end(writer: SessionWriter) -> None:
    def of_worker(*changes: tuple[float, str], seen: str | None = None) -> RecordBatch:
        transitions = {
            (at(ms), state): {"end_ns": at(ms)} if state == "DEAD" else {} for ms, state in changes
        }
        worker = Entity("worker", WORKER, {"node_id": NODE, "start_ns": at(0)}, transitions)
        if seen is not None:
            worker.observed_ns, worker.observed = at(80), {"state": seen, "pid": 7}
        return RecordBatch(SESSION, entities=[worker])

    node_died = RecordBatch(
        SESSION, entities=[Entity("node", NODE, {}, {(at(60), "DEAD"): {"end_ns": at(60)}})]
    )
    story = Story()
    story.entity("node", NODE, 0)
    story.entity("worker", "c" * 56, 0, node_id="d" * 56)
    put(writer, story.batch, of_worker((0, "ALIVE")))
    alive, dead = ("ALIVE", None, None), ("DEAD", at(60), "node")
    assert entities(writer, "workers") == [alive, alive]
    put(writer, node_died)
    assert sorted(entities(writer, "workers")) == [alive, dead]
    put(writer, of_worker(seen="ALIVE"))  # a snapshot from before
    assert sorted(entities(writer, "workers")) == [alive, dead]
    for end_ns in (at(90), None):
        writer.end(end_ns, 0.0)
        writer.flush(0.0)
        other = alive if end_ns is None else ("DEAD", end_ns, "session")
        assert sorted(entities(writer, "workers")) == sorted([other, dead])
    put(writer, of_worker((45, "DEAD")))
    assert sorted(entities(writer, "workers"), key=str) == [alive, ("DEAD", at(45), None)]


def test_a_session_takes_along_all_that_lived_in_it_until_it_is_heard_of_again(writer: SessionWriter) -> None:
    story = Story()
    story.task("ran", 0, 10)
    story.entity("node", NODE, 0)
    story.entity("worker", WORKER, 0)
    story.entity("actor", "d" * 32, 0)
    story.batch.entities.append(Entity("job", JOB, {}, {(at(0), "RUNNING"): {"start_ns": at(0)}}))
    put(writer, story.batch)
    writer.end(at(90), 0.0)
    writer.flush(0.0)
    assert tasks(writer, "state, end_ns, end_known_by") == {"ran": [CUT_OFF, at(90), "session"]}
    for view, state in (("nodes", "DEAD"), ("workers", "DEAD"), ("actors", "DEAD"), ("jobs", CUT_OFF)):
        assert entities(writer, view) == [(state, at(90), "session")]
    writer.end(None, 0.0)
    writer.flush(0.0)
    assert tasks(writer, "state, end_ns, end_known_by") == {"ran": ["RUNNING", None, None]}
    for view, state in (("nodes", "ALIVE"), ("workers", "ALIVE"), ("actors", "ALIVE"), ("jobs", "RUNNING")):
        assert entities(writer, view) == [(state, None, None)]


def test_restarts_and_retries_are_defined_like_the_first_attempt(writer: SessionWriter) -> None:
    """The restart of an actor has no definition, and may be reported before the actor's own creation."""
    story = Story()
    creation = story.task("Flaky.__init__", 0, 10, 20, actor="d" * 24, task_id="f" * 16 + "d" * 24 + JOB)
    story.batch.attempts[-1].module_name = "shop"
    again = Attempt(creation, 1, type="ACTOR_CREATION_TASK", states={"FINISHED": at(50)})
    third = Attempt(creation, 2, type="ACTOR_CREATION_TASK", states={"FINISHED": at(70)})
    put(
        writer,
        RecordBatch(SESSION, attempts=[again]),
        story.batch,
        RecordBatch(SESSION, attempts=[third]),
    )
    assert writer.file is not None
    with writer.file.reader() as reader:
        rows = reader.execute(
            "SELECT attempt, name, module_name, parent_task_id, job_id, path_id > 0 FROM tasks ORDER BY 1"
        ).fetchall()
    parent = "f" * 40 + JOB
    assert rows == [(n, "Flaky.__init__", "shop", parent, JOB, True) for n in range(3)]
