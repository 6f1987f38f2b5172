"""Costly answers are made once as long as nothing has changed, and never kept without bound."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.story import Story
from tests.unit.server.conftest import Running

from rayscope.server import hub
from rayscope.server.answers import Answers


def test_an_answer_holds_until_what_it_was_made_of_changes() -> None:
    answers = Answers(max_size=1200)
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"x" * 40

    for stamp in (1, 1, 1):
        assert answers.get(("session", "question"), stamp, make) == b"x" * 40
    assert len(made) == 1
    answers.get(("session", "question"), 2, make)
    assert len(made) == 2
    answers.get(("session", "other"), 2, make)
    answers.get(("session", "third"), 2, make)  # there is room for two
    answers.get(("session", "question"), 2, make)
    assert len(made) == 5


def test_who_asks_the_same_at_a_time_shares_one_answer() -> None:
    answers = Answers()
    begun, go = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        begun.set()
        assert go.wait(30)
        return b"answer"

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(answers.get, ("session", "question"), None, make)
        assert begun.wait(30)
        others = [threads.submit(answers.get, ("session", "question"), None, make) for _ in range(2)]
        go.set()
        assert {one.result(30) for one in (first, *others)} == {b"answer"}
    assert len(made) == 1


def test_a_slow_answer_is_given_once_more_while_a_new_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    now, begun, go = [0.0], threading.Event(), threading.Event()
    monkeypatch.setattr("rayscope.server.answers.time", SimpleNamespace(monotonic=lambda: now[0]))
    answers, question = Answers(), ("session", "question")

    def slow() -> bytes:
        now[0] += 0.2
        return b"old"

    def slower() -> bytes:
        begun.set()
        assert go.wait(30)
        return b"new"

    assert answers.get(question, None, slow) == b"old"  # at 0.2 s; holds until 2.2 s
    now[0] = 3.0
    assert answers.get(question, None, slower) == b"old"
    assert begun.wait(30)
    assert answers.get(question, None, slower) == b"old"  # and it is made once
    now[0] = 4.5  # too old by now: waits for the one that is being made
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(answers.get, question, None, slow)
        go.set()
        assert asked.result(30) == b"new"


def test_a_failure_is_not_kept() -> None:
    answers = Answers()

    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        answers.get(("session", "question"), 1, fail)
    assert answers.get(("session", "question"), 1, lambda: b"yes") == b"yes"


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
