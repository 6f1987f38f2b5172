"""Spans whose further data is no JSON, as any job can send them, cost no view its answer."""

from __future__ import annotations

from tests.story import Story
from tests.unit.server.conftest import Running

from rayscope.model import Span

PATHS = ("critical_path", "logical", "gantt", "flame", "stack", "physical", "activity")


EXTRAS = ("", "no JSON", '{"objects":', '{"calls":1', "[]")


def test_every_view_answers(fresh: Running) -> None:
    story = Story()
    driver = "ff" * 20 + "01000000"
    parent = story.task("parent", 0, 1, 9)
    child = story.task("child", 2, 3, 6)
    story.get(parent, child, 3, 6)
    story.get(driver, parent, 1, 9)
    for span in list(story.batch.spans):
        for number, extra in enumerate(EXTRAS, 1):
            odd = Span(span.task_id, span.attempt, span.name, span.begin_ns + number, span.end_ns, extra)
            story.batch.spans.append(odd)
    fresh.record(story)
    for path in PATHS:
        fresh.get(f"/api/flow/{path}")
    for task in (parent, child):
        fresh.get(f"/api/tasks/{task}")
    fresh.get("/api/summary")
    fresh.get("/api/scheduling")
