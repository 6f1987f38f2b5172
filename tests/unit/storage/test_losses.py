"""A record names its missing data, for each attempt and in total."""

from __future__ import annotations

from pathlib import Path

from tests.story import SESSION, Story, at

from rayscope.cluster.nodes.api import never_placed
from rayscope.cluster.tasks import sql as tasks_sql
from rayscope.model import Entity, TaskError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter
from rayscope.storage.sql import sessions as sessions_sql


def test_starts_that_died_with_their_worker_and_errors_that_ray_cut(tmp_path: Path) -> None:
    story = Story()
    whole = story.task("whole", 0, 10, 20, failed=True)
    lost = story.task("lost", 0, None, 20, queued=5, failed=True)
    story.task("waits", 0, None, queued=5)
    unplaced = story.task("unplaced", 0, None, 20, failed=True)
    errors = {
        whole: "User exception:\nValueError: no",
        lost: "User exception:\n" + "x" * 500,
        unplaced: "No such node.",
    }
    for attempt in story.batch.attempts:
        if attempt.task_id in errors:
            kind = "SCHEDULING" if attempt.task_id == unplaced else "TASK_EXECUTION_EXCEPTION"
            attempt.error = TaskError(at(20), kind, errors[attempt.task_id])
    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(story.batch, 0.0)
    writer.flush(0.0, everything=True)
    assert writer.file is not None
    assert sessions_sql.dropped(writer.file)["starts_lost"] == 1
    found = {
        task_id: tasks_sql.get_task(writer.file, task_id, last_ns=at(30))["attempts"][0] for task_id in errors
    }
    with writer.file.reader() as reader:
        queued = dict(reader.execute("SELECT task_id, queued_ns FROM phases").fetchall())
        row = reader.execute("SELECT total_ns, executing_ns FROM phases WHERE task_id = ?", [lost]).fetchone()
    writer.close()
    assert queued[lost] is None
    assert None not in [known for task_id, known in queued.items() if task_id != lost]
    assert row is not None
    assert row[0] > 0
    assert row[1] is None
    assert {task_id for task_id, one in found.items() if one["start_is_lost"]} == {lost}
    assert {task_id for task_id, one in found.items() if one["error"]["is_cut"]} == {lost}
    assert found[lost]["error_summary"] == "…" + "x" * 300
    assert found[whole]["error_summary"] == "ValueError: no"


def test_tasks_that_were_never_placed_are_reported_after_the_end(tmp_path: Path) -> None:
    story = Story()
    story.entity("node", "a" * 56, 0, resources_total='{"CPU": 4.0}', labels="{}")
    story.task("placed", 0, 10, resources='{"CPU": 1.0}')
    story.task("wants_gpu", 0, resources='{"CPU": 1.0, "GPU": 1.0}')
    story.task("waited_for_room", 0, resources='{"CPU": 4.0}')
    story.batch.entities.append(
        Entity(
            "actor", "d" * 32, {"class_name": "Big", "required_resources": '{"CPU": 8.0}', "start_ns": at(0)}
        )
    )
    story.batch.entities[-1].transitions[(at(0), "PENDING_CREATION")] = {}
    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(story.batch, 0.0)
    writer.end(at(90), 0.0)
    writer.flush(0.0, everything=True)
    assert writer.file is not None
    found, _ = never_placed(writer.file, at(90))
    writer.close()
    assert [(one["kind"], one["name"], one["reason"]["code"]) for one in found] == [
        ("task", "wants_gpu", "no_resource"),
        ("actor", "Big", "too_large"),
    ]


def test_rays_own_tasks_are_not_counted(tmp_path: Path) -> None:
    story = Story()
    story.entity("actor", "d" * 32, 0, class_name="Mine", ray_namespace="mine", job_id="01000000")
    own = {"job_id": "09000000", "ray_namespace": "SUPERVISOR_ACTOR_RAY_NAMESPACE"}
    story.entity("actor", "e" * 32, 0, class_name="JobSupervisor", **own)
    story.entity("worker", "f" * 56, 0, worker_type="DRIVER", job_id="09000000")
    story.entity("worker", "a" * 56, 0, worker_type="DRIVER", job_id="01000000")
    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(story.batch, 0.0)
    writer.flush(0.0, everything=True)
    assert writer.file is not None
    counts = sessions_sql.counts(writer.file)
    writer.close()
    assert (counts["actors"], counts["workers"]) == ({"ALIVE": 1}, {"ALIVE": 1})
