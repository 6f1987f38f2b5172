"""Costly answers are made once as long as nothing has changed, and never kept without bound."""

from __future__ import annotations

import pytest
from tests.story import Story
from tests.unit.server.conftest import Running

from rayscope.server import hub
from rayscope.server.answers import Answers


def test_an_answer_holds_until_what_it_was_made_of_changes() -> None:
    answers = Answers(max_bytes=100)
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"x" * 40

    for stamp in (1, 1, 1):
        assert answers.get("question", stamp, make) == b"x" * 40
    assert len(made) == 1
    answers.get("other", 1, make)
    answers.get("third", 1, make)  # there is room for two
    answers.get("question", 1, make)
    assert len(made) == 4


def test_what_is_recorded_later_is_in_the_next_answer(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LIVE_NS", 0)  # every session counts as ended: its answers hold for good
    story = Story()
    for number in range(1, 4):
        story.task("work", 0, 1, 2)
        fresh.record(story)
        for _ in range(2):
            assert fresh.get("/api/flow/flame", weight="count")["total"] == number
