"""Spans with invalid JSON, which any job can send, break no view."""

from __future__ import annotations

from typing import Any

from tests.running import Running
from tests.story import JOB, Story

from rayscope.model import Span

PATHS = ("critical-path", "logical", "flame", "stack", "physical", "activity")
EXTRAS = ("", "no JSON", '{"objects":', '{"calls":1', "[]")


def _story() -> Story:
    story = Story()
    driver = "ff" * 20 + "01000000"
    parent = story.task("parent", 0, 1, 9)
    child = story.task("child", 2, 3, 6)
    story.get(parent, child, 3, 6)
    story.get(driver, parent, 1, 9)
    story.entity("job", JOB, 0, 10)
    return story


def _answers(running: Running) -> dict[str, Any]:
    """All answers but those that show each span: the Gantt chart and a task."""
    running.get("/api/v1/flow/gantt")
    for task in running.get("/api/v1/tasks")["items"]:
        running.get(f"/api/v1/tasks/{task['task_id']}")
    paths = [*(f"/api/v1/flow/{path}" for path in PATHS), "/api/v1/summary", "/api/v1/scheduling"]
    # When an answer was made and how much was received differ.
    return {path: {**running.get(path), "at_ns": None, "ingest": None} for path in paths}


def test_every_view_is_the_same_with_and_without_odd_spans(fresh: Running) -> None:
    story = _story()
    fresh.record(story)
    expected = _answers(fresh)
    odd = _story()
    for span in list(odd.batch.spans):
        for number, extra in enumerate(EXTRAS, 1):
            begin_ns = span.begin_ns + number
            odd.batch.spans.append(Span(span.task_id, span.attempt, span.name, begin_ns, span.end_ns, extra))
    fresh.record(odd)
    assert _answers(fresh) == expected
