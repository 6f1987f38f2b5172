"""Memory, threads and open records do not grow with the sessions that have come and gone."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.running import Running
from tests.story import SESSION, Story
from tests.waiting import wait_until

from rayscope.metrics.tsdb.file import MetricsFile
from rayscope.records import response_cache
from rayscope.records.response_cache import ResponseCache
from rayscope.runs.service import Runs
from rayscope.server import memory
from rayscope.server.runner import Server
from rayscope.storage import catalog
from rayscope.storage.about import write_about
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.session_file import SessionFile


def make_sessions(home: Path, count: int) -> list[str]:
    """A data directory with ended sessions, whose records are empty."""
    made = Catalog(home)
    about = made.add("one")
    made.open_for_writing("one")
    made.close()
    names = [f"session_{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        shutil.copytree(home / "sessions" / "one", home / "sessions" / name)
        about.last_ns = about.ended_ns = time.time_ns() - number * 10**9
        write_about(home / "sessions" / name, about)
    shutil.rmtree(home / "sessions" / "one")
    return names


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose records were opened, in order."""
    names: list[str] = []

    class Noted(SessionFile):
        def __init__(self, path: Path, **options: Any) -> None:
            names.append(path.parent.name)
            super().__init__(path, **options)

    monkeypatch.setattr(catalog, "SessionFile", Noted)
    # Summaries of runs open each record once, one after the other.
    monkeypatch.setattr(Runs, "_look_again", lambda _: None)
    return names


def states(server: Server) -> dict[str, str]:
    items = httpx.get(f"{server.url}/api/v1/sessions", params={"limit": 1000}).json()["items"]
    return {row["session"]: row["state"] for row in items}


def test_the_list_opens_few_records_at_a_time_and_none_twice(
    tmp_path: Path, serve: Callable[..., Server], opened: list[str]
) -> None:
    names = make_sessions(tmp_path, catalog._MAX_LOOKS * 2 + 5)
    (tmp_path / "sessions" / names[-1] / "record.duckdb").write_bytes(b"no record")
    opened.clear()
    server = serve(tmp_path, max_sessions=1000)
    assert opened == []
    for looks in (1, 2, 3):
        assert states(server).keys() == set(names)
        assert len(opened) == min(looks * catalog._MAX_LOOKS, len(names))
    assert sorted(opened) == names
    assert [name for name, state in states(server).items() if state == "unreadable"] == names[-1:]
    server.stop()
    opened.clear()
    again = serve(tmp_path, max_sessions=1000)
    assert [name for name, state in states(again).items() if state == "unreadable"] == names[-1:]
    assert opened == names[-1:]


def test_a_record_that_changed_is_opened_again(
    tmp_path: Path, serve: Callable[..., Server], opened: list[str]
) -> None:
    names = make_sessions(tmp_path, 2)
    server = serve(tmp_path)
    assert set(states(server).values()) == {"ended"}
    server.stop()
    (tmp_path / "sessions" / names[0] / "record.duckdb").write_bytes(b"damaged")
    assert states(serve(tmp_path))[names[0]] == "unreadable"


def test_answers_about_a_dropped_session_are_dropped(fresh: Running) -> None:
    story = Story()
    story.task("load", 0, 1, 5)
    fresh.record(story)
    services = fresh.server.services
    assert services is not None
    fresh.get("/api/v1/summary")
    assert any(session == SESSION for session, _ in services.records._cache._entries)
    later_ns = time.time_ns() + 3600 * 10**9
    services.writer.end_session(SESSION, 1)
    services.writer.flush(60)
    services.catalog.release(SESSION)
    # A round of the server's own, such as that of the alerts, may be reading it: then it goes the next time.
    dropped = wait_until(
        lambda: services.catalog.apply_retention(Retention(max_age_s=1), later_ns), "it is dropped"
    )
    assert dropped == [SESSION]
    assert not any(session == SESSION for session, _ in services.records._cache._entries)
    assert not any(SESSION in known for known in (services.catalog._users, services.catalog._problems))


def test_answers_are_few_whatever_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "MAX_ENTRIES", 10)
    cache = ResponseCache()
    for number in range(50):
        cache.get("session", str(number), 1, lambda: {"an": "object"})
    assert len(cache._entries) == 10
    assert cache._bytes <= 10 * 1100


@pytest.mark.parametrize("kind", [SessionFile, MetricsFile])
def test_an_open_file_has_one_thread_of_its_own(kind: Callable[[Path], Any], tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/task"))
    files = [kind(tmp_path / f"{number}.duckdb") for number in range(4)]
    assert len(os.listdir("/proc/self/task")) - before <= len(files)
    for file in files:
        file.close()


class _Cycle:
    def __init__(self) -> None:
        self.me = self


def test_freed_memory_goes_back_to_the_system() -> None:
    """Many threads take memory and free all but a little of it, spread over all of it."""
    memory.limit_growth()
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    process, kept = psutil.Process(), []

    def take() -> None:
        taken = [libc.malloc(10_000) for _ in range(1000)]
        for address in taken:
            ctypes.memset(address, 1, 10_000)
        kept.extend(taken[::100])
        for number, address in enumerate(taken):
            if number % 100:
                libc.free(address)

    cycle = weakref.ref(_Cycle())
    before = process.memory_info().rss
    for _ in range(8):
        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    memory.release()
    assert cycle() is None
    assert process.memory_info().rss - before < 32 << 20
    for address in kept:
        libc.free(address)
