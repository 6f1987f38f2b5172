"""What is missing from a record is named, of an attempt and in all."""

from __future__ import annotations

from pathlib import Path

from tests.story import SESSION, Story, at

from rayscope.model import TaskError
from rayscope.store import query
from rayscope.store.session_file import SessionFile
from rayscope.store.session_writer import SessionWriter


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
    assert query.dropped(writer.file)["starts_lost"] == 1
    found = {
        task_id: query.get_task(writer.file, task_id, last_ns=at(30))["attempts"][0] for task_id in errors
    }
    writer.close()
    assert {task_id for task_id, one in found.items() if one["start_is_lost"]} == {lost}
    assert {task_id for task_id, one in found.items() if one["error"]["is_cut"]} == {lost}
    assert found[lost]["error_summary"] == "…" + "x" * 300
    assert found[whole]["error_summary"] == "ValueError: no"
