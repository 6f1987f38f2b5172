"""Costly answers are made once as long as nothing has changed, and never kept without bound."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.running import Running
from tests.story import Story
from tests.waiting import TIMEOUT_S

from rayscope.ingest import clusters
from rayscope.records.response_cache import ResponseCache


def test_an_answer_holds_until_what_it_was_made_of_changes() -> None:
    cache = ResponseCache(max_bytes=2200)
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"x" * 40

    for stamp in (1, 1, 1):
        assert cache.get("session", "question", stamp, make) == (b"x" * 40, 0.0)
    assert len(made) == 1
    cache.get("session", "question", 2, make)
    assert len(made) == 2
    cache.get("session", "other", 2, make)
    cache.get("session", "third", 2, make)  # there is room for two
    cache.get("session", "question", 2, make)
    assert len(made) == 5


def test_equal_requests_at_the_same_time_share_one_answer() -> None:
    cache = ResponseCache()
    started, go = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        started.set()
        assert go.wait(TIMEOUT_S)
        return b"answer"

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(cache.get, "session", "question", None, make)
        assert started.wait(TIMEOUT_S)
        others = [threads.submit(cache.get, "session", "question", None, make) for _ in range(2)]
        go.set()
        assert {one.result(TIMEOUT_S)[0] for one in (first, *others)} == {b"answer"}
    assert len(made) == 1


def test_an_answer_about_a_live_session_expires_with_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rayscope.records.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    cache = ResponseCache()

    def make() -> bytes:
        now[0] += 0.2
        return b"made at %.1f" % now[0]

    assert cache.get("session", "question", None, make) == (b"made at 0.2", 0.0)
    now[0] = 2.1  # ten times as long as it took
    assert cache.get("session", "question", None, make) == (b"made at 0.2", pytest.approx(2.1))
    now[0] = 2.3
    assert cache.get("session", "question", None, make) == (b"made at 2.5", 0.0)


def test_answers_that_nobody_asks_for_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rayscope.records.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    cache = ResponseCache()
    made: list[str] = []

    def ask(name: str, cost_s: float = 0.0) -> None:
        def make() -> bytes:
            now[0] += cost_s
            made.append(name)
            return b""

        cache.get("session", name, 1, make)

    for name, cost_s in (("cheap", 0.0), ("used", 0.0), ("costly", 60.0)):
        ask(name, cost_s)
    now[0] = 500.0
    ask("used")
    now[0] = 700.0
    cache.drop_unused()
    for name in ("cheap", "used", "costly"):
        ask(name)
    assert made == ["cheap", "used", "costly", "cheap"]


def test_an_answer_is_as_old_as_the_oldest_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rayscope.records.response_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    cache = ResponseCache()

    def take(seconds: float) -> bytes:
        now[0] += seconds
        return b"part"

    def whole() -> bytes:
        part, _ = cache.get("session", "part", None, lambda: take(5.0))
        return part + take(1.0)

    assert cache.get("session", "part", None, lambda: take(5.0)) == (b"part", 0.0)
    now[0] = 40.0
    assert cache.get("session", "whole", None, whole) == (b"partpart", 40.0)
    now[0] = 50.0
    assert cache.get("session", "whole", None, whole) == (b"partpart", 50.0)
    now[0] = 59.0  # the part expired after ten times its cost, and the whole with it
    assert cache.get("session", "whole", None, whole) == (b"partpart", 0.0)
    assert cache.get("session", "other", None, lambda: b"other") == (b"other", 0.0)


def test_evicted_answers_are_computed_again() -> None:
    cache = ResponseCache()
    assert cache.get("session", "question", 1, lambda: b"old") == (b"old", 0.0)
    cache.get("other", "question", 1, lambda: b"other")
    cache.forget("session")
    assert cache.get("session", "question", 1, lambda: b"new") == (b"new", 0.0)
    assert cache.get("other", "question", 1, lambda: b"no") == (b"other", 0.0)


def test_a_failure_is_not_kept() -> None:
    cache = ResponseCache()

    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("session", "question", 1, fail)
    assert cache.get("session", "question", 1, lambda: b"yes") == (b"yes", 0.0)


def test_later_records_are_in_the_next_answer(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "LIVE_NS", 0)  # every session counts as ended: its answers hold for good
    story = Story()
    for number in range(1, 4):
        story.task("work", 0, 1, 2)
        fresh.record(story)
        for _ in range(2):
            assert fresh.get("/api/v1/flow/flame", weight="count")["total"] == number


def test_no_two_questions_share_an_answer(fresh: Running) -> None:
    """Both the record and the live cluster have "resources", say; and one function may be asked of many."""
    story = Story()
    story.task("work", 0, 1, 2)
    fresh.record(story)
    assert fresh.server.services is not None
    records = fresh.server.services.records
    session = records.resolve(None)

    def of_record() -> Callable[..., str]:
        def resources(_: object) -> str:
            return "of the record"

        return resources

    def of_cluster() -> Callable[..., str]:
        def resources() -> str:
            return "of the cluster"

        return resources

    for _ in range(2):
        assert records.call_cached(session, "cluster", of_cluster()) == "of the cluster"
        assert records.read_cached(session, "record", of_record()) == "of the record"
        assert [records.read_cached(session, of, lambda _, of=of: of) for of in ("a", "b")] == ["a", "b"]
