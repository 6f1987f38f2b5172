"""A request is abandoned once no client waits for its answer any more, and no sooner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.endless import Endless
from tests.running import Running
from tests.story import Story
from tests.waiting import TIMEOUT_S

from rayscope.records.response_cache import ResponseCache
from rayscope.storage.interruption import Abandoned, Work, current_work, working
from rayscope.views.flame import sql


def test_a_query_ends_with_the_last_client_that_waits_for_it(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    fresh.record(story)
    quick, slow = sql.path_sums, Endless(sql.path_sums)
    monkeypatch.setattr(sql, "path_sums", slow)
    flame = {"weight": "count", "name": "work"}
    with httpx.Client(base_url=fresh.server.url, timeout=1) as impatient, ThreadPoolExecutor(2) as pool:
        both = [pool.submit(impatient.get, "/api/v1/flow/flame", params=flame) for _ in range(2)]
        assert slow.started.wait(TIMEOUT_S)
        for one in both:
            with pytest.raises(httpx.ReadTimeout):
                one.result(TIMEOUT_S)
    assert slow.interrupted.wait(TIMEOUT_S)
    monkeypatch.setattr(sql, "path_sums", quick)
    assert fresh.get("/api/v1/flow/flame", **flame)["total"] == 1


def test_waiting_clients_get_the_answer_when_another_one_leaves() -> None:
    class Joining(Work):
        def __init__(self) -> None:
            super().__init__()
            self.joined = threading.Event()

        def when_abandoned(self, callback: Callable[[], None]) -> None:
            super().when_abandoned(callback)
            self.joined.set()

    cache, patient, impatient = ResponseCache(), Joining(), Work()
    started, left = threading.Event(), threading.Event()

    def make() -> bytes:
        started.set()
        assert left.wait(TIMEOUT_S)
        work = current_work()
        assert work is not None
        work.check()
        return b"answer"

    def get_answer(work: Work) -> bytes:
        with working(work):
            return bytes(cache.get("session", "question", 1, make)[0])

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(get_answer, impatient)
        assert started.wait(TIMEOUT_S)
        second = pool.submit(get_answer, patient)
        assert patient.joined.wait(TIMEOUT_S)
        impatient.abandon()
        left.set()
        assert first.result(TIMEOUT_S) == second.result(TIMEOUT_S) == b"answer"
    impatient_only = Work()
    impatient_only.abandon()
    with pytest.raises(Abandoned), working(impatient_only):
        cache.get("session", "other", 1, make)
