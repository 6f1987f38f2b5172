"""Costly answers are made once as long as nothing has changed, and never kept without bound."""

from __future__ import annotations

import itertools
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.story import Story
from tests.unit.server.conftest import Running

from rayscope.server import clusters
from rayscope.server.response_cache import Answers


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
    monkeypatch.setattr("rayscope.server.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
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
    assert not answers.renew(late=True)  # nobody waits for it
    assert answers.get(question, None, slower) == b"old"
    with ThreadPoolExecutor(2) as threads:
        renewed = threads.submit(answers.renew, late=True)
        assert begun.wait(30)
        assert answers.get(question, None, slow) == b"old"
        assert not answers.renew(late=True)  # and it is made once
        now[0] = 12.5  # too old by now: waits for the one that is being made
        asked = threads.submit(answers.get, question, None, slow)
        go.set()
        assert renewed.result(30)
        assert asked.result(30) == b"new"


def test_what_is_asked_for_late_is_made_anew_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayscope.server.response_cache.SLOW_S", 0.0)
    monkeypatch.setattr("rayscope.server.response_cache._LEAST_S", 0.0)
    monkeypatch.setattr("rayscope.server.response_cache._ONCE_MORE", math.inf)
    monkeypatch.setattr("rayscope.server.response_cache._ASKED_S", 0.0)  # but not before it is asked for
    answers, again, number = Answers(), threading.Event(), itertools.count(1)

    def make() -> bytes:
        made = next(number)
        if made == 2:
            again.set()
        return b"%d" % made

    answers.start()
    try:
        assert answers.get(("session", "question"), None, make) == b"1"
        time.sleep(0.05)  # longer than it holds
        assert answers.get(("session", "question"), None, make) == b"1"
        assert again.wait(30)
    finally:
        answers.stop()


def test_what_nobody_asks_for_any_more_is_not_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rayscope.server.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    answers = Answers()

    def make() -> bytes:
        now[0] += 0.2
        return b"answer"

    answers.get(("session", "question"), None, make)
    now[0] = 59.0
    assert answers.renew()
    now[0] = 62.0
    assert not answers.renew()


def test_a_slow_answer_is_made_anew_before_anybody_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now, made = [0.0], [0]
    monkeypatch.setattr("rayscope.server.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    answers, slow, quick = Answers(), ("session", "slow"), ("session", "quick")

    def make() -> bytes:
        now[0] += 0.2
        made[0] += 1
        if made[0] == 4:
            raise ValueError("no")
        return b"%d" % made[0]

    assert answers.dated(slow, None, make) == (b"1", 0.0)
    answers.get(quick, None, lambda: b"quick")
    assert not answers.renew()  # it holds
    now[0] = 5.0
    assert answers.renew()
    assert not answers.renew()  # what is made at once waits until it is asked for
    now[0] = 7.0
    body, age_s = answers.dated(slow, None, make)
    assert (body, round(age_s, 6)) == (b"2", 2.0)
    now[0] = 66.0
    assert answers.renew()  # asked for 59 s ago
    now[0] = 67.5
    assert answers.get(slow, None, make) == b"3"
    now[0] = 72.0
    assert answers.renew()  # it fails
    now[0] = 73.0
    assert not answers.renew()
    assert made[0] == 4


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
    monkeypatch.setattr(clusters, "LIVE_NS", 0)  # every session counts as ended: its answers hold for good
    story = Story()
    for number in range(1, 4):
        story.task("work", 0, 1, 2)
        fresh.record(story)
        for _ in range(2):
            assert fresh.get("/api/flow/flame", weight="count")["total"] == number
