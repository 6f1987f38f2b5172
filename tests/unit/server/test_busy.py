"""Beyond its bounds the server answers that it is busy, and `/api/health` answers whatever it is doing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from rayscope.records.response_cache import _MAX_WAITING, ResponseCache
from rayscope.storage.errors import Busy
from rayscope.storage.slots import Slots

WHAT_IF = {"changes": [{"kind": "no_startup"}]}
#: How many requests Starlette answers at a time.
THREADS = 40


@contextmanager
def in_threads(count: int, function: Any) -> Iterator[list[Any]]:
    """Call a function in ``count`` threads during the block, whose list has their results after it."""
    results: list[Any] = []
    with ThreadPoolExecutor(count) as pool:
        calls = [pool.submit(function) for _ in range(count)]
        yield results
        results += [call.result() for call in calls]


def test_slots_have_a_number_and_those_who_wait_have_one() -> None:
    slots = Slots(2, "Two are running.", waiting=1, wait_s=60)
    done = threading.Event()
    with slots.take(), in_threads(1, lambda: _hold(slots, done)) as held:
        while slots._running._value:
            pass
        with in_threads(1, lambda: _hold(slots, done)) as waited:
            while slots._admitted._value:
                pass
            with pytest.raises(Busy, match="Two are running"), slots.take():
                raise AssertionError
            done.set()
    assert held + waited == [True, True]
    assert (slots._running._value, slots._admitted._value) == (2, 3)


def _hold(slots: Slots, done: threading.Event) -> bool:
    with slots.take():
        return done.wait(60)


def test_waiting_for_a_slot_ends_with_its_time_or_its_client() -> None:
    slots = Slots(1, "One is running.", waiting=5, wait_s=0.01)

    def leave() -> None:
        raise ConnectionError

    with slots.take():
        with pytest.raises(Busy), slots.take():
            raise AssertionError
        slots._wait_s = 60
        with pytest.raises(ConnectionError), slots.take(leave):
            raise AssertionError
    with slots.take():
        pass


def test_few_wait_for_the_same_answer() -> None:
    """Each holds one of the server's threads."""
    cache = ResponseCache()
    made, started = threading.Event(), threading.Event()

    def make() -> str:
        started.set()
        made.wait(60)
        return "answer"

    def get() -> Any:
        try:
            return cache.get("session", "question", None, make)[0]
        except Busy as error:
            return error.code

    with in_threads(1, get) as first:
        started.wait(60)
        with in_threads(THREADS, get) as others:
            while cache._waiting._value:
                pass
            made.set()
    assert first == ["answer"]
    assert others.count("answer") >= _MAX_WAITING


def test_replays_beyond_the_bound_are_refused(fresh: Any, bodies: list[bytes]) -> None:
    fresh.ingest(*bodies)
    services = fresh.server.services
    services.replays.slots = Slots(1, "1 replay is already running.")
    session = fresh.get("/api/v1/sessions")["items"][0]["session"]
    ended_ns = services.catalog.about(session).last_ns
    services.writer.end_session(session, ended_ns)  # so that its answers hold
    assert services.writer.flush(60)
    services.clusters.is_live = services.records.is_live = lambda _: False
    before = fresh.get("/api/v1/insights")
    with services.replays.slots.take():
        for answer in (
            fresh.client.post("/api/v1/what-if", json=WHAT_IF),
            fresh.client.get("/api/v1/insights", params={"long": "true"}),
        ):
            error = fresh.error(answer, 503)
            assert (error["code"], error["remedy"]) == ("busy", "Try again in a few seconds.")
            assert int(answer.headers["retry-after"]) > 0
        assert fresh.get("/api/v1/insights") == before  # it is made already
    assert fresh.client.post("/api/v1/what-if", json=WHAT_IF).status_code == 200


def test_health_answers_while_no_thread_is_free(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 requests that take long hold all the threads that there are for requests."""
    services = fresh.server.services
    release, inside = threading.Event(), threading.Semaphore(0)

    def resolve(_: Any) -> str:
        inside.release()
        release.wait(60)
        return "session"

    monkeypatch.setattr(services.records, "resolve", resolve)
    with in_threads(THREADS, lambda: fresh.client.get("/api/v1/summary").status_code):
        for _ in range(THREADS):
            inside.acquire(timeout=60)
        try:
            assert fresh.get("/api/health")["status"] == "ok"
        finally:
            release.set()


def test_health_answers_while_its_details_cannot_be_read(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is held, or the disk does not answer."""
    known = fresh.get("/api/health")
    release = threading.Event()
    monkeypatch.setattr(fresh.server.services.health, "_read", lambda: release.wait(60) and {"error": None})
    try:
        for _ in range(3):
            assert fresh.get("/api/health") == known
        with fresh.server.services.writer._queue.changed:  # the lock of every batch
            assert fresh.get("/api/health") == known
    finally:
        release.set()
