"""The sums of a large session are those of its attempts: made once and kept when it has ended, and before
anybody asks while it lives.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rayscope.server.made_sums import load, place
from tests.story import Story, at
from tests.unit.server.conftest import Running, start

from rayscope.server import clusters, kept_sums, laid_out, made_sums
from rayscope.storage.session_file import SessionFile
from rayscope.views.gantt import sql as gantt_sql
from rayscope.views.gantt.api import FOLLOWED
from rayscope.views.logical import sql as logical_sql

#: How many sums of a session are kept.
KEPT = 2 + len(FOLLOWED)
#: Questions about all of a session, and one about a part.
QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/api/flow/flame", {}),
    ("/api/flow/flame", {"weight": "count"}),
    ("/api/flow/flame", {"of": "load"}),
    ("/api/flow/logical", {}),
    ("/api/flow/logical", {"func_name": "load", "worker_id": "b" * 56}),
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sums were made from the record; all sessions are large, and have ended."""
    names: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def count(*values: Any, **more: Any) -> Any:
            names.append(name)
            return real(*values, **more)

        return count

    for name in ("path_sums", "logical_rows"):
        monkeypatch.setattr(query, name, counted(name, getattr(query, name)))
    monkeypatch.setattr(clusters, "LIVE_NS", 0)
    monkeypatch.setattr(kept_sums, "LARGE", 0)
    return names


def _story(trains: int) -> Story:
    story = Story()
    for number in range(trains):
        train = story.task("train", 100 * number, 100 * number + 5, 100 * number + 90)
        load = story.task(
            "load", 100 * number + 6, 100 * number + 8, 100 * number + 40 + number, parent=train
        )
        story.get(train, load, 100 * number + 10, 100 * number + 50)
    return story


def _ask(running: Running, **more: str) -> list[Any]:
    found = [running.get(path, **params, **more) for path, params in QUESTIONS]
    for answer in found:
        del answer["sums_at_ns"]
        for part in ("frames", "nodes", "calls", "data"):
            answer.get(part, []).sort(key=lambda one: one["id"])
    return found


def _direct(running: Running, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The answers without kept sums; the time changes nothing but the question."""
    with monkeypatch.context() as small:
        small.setattr(kept_sums, "LARGE", 10**9)
        return _ask(running, until_ns=str(at(10**6)))


def test_they_are_made_once_and_anew_when_more_is_recorded(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing but these questions asks for any.
    monkeypatch.setattr(query, "can_lay_out", lambda _: False)
    for trains in (2, 3):
        fresh.record(_story(trains))
        expected = _direct(fresh, monkeypatch)
        made.clear()
        assert _ask(fresh) == expected
        assert sorted(made) == ["logical_rows", "logical_rows", "path_sums"]
    (train,) = (frame for frame in expected[1]["frames"] if frame["name"] == "train")
    assert train["attempts"] == 3


def test_who_wants_all_of_them_at_the_same_time_shares_them(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, began, asked_again = logical_sql.logical_rows, threading.Event(), threading.Event()

    def slow(*values: Any, **more: Any) -> Any:
        began.set()
        asked_again.wait(60)
        time.sleep(0.5)  # the second question is on its way
        return counted(*values, **more)

    def ask_again() -> None:
        asked_again.set()
        sums.get(session, "logical", (), lambda file, last_ns: slow(file, {}, last_ns=last_ns), Any)

    fresh.record(_story(2))
    assert fresh.server.services is not None
    session, sums = fresh.server.services.records.resolve(None), fresh.server.services.sums
    monkeypatch.setattr(query, "logical_rows", slow)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(sums.logical, session, {})
        assert began.wait(60)
        pool.submit(ask_again).result()
        first.result()
    assert made == ["logical_rows"]


def test_a_server_that_starts_later_finds_them(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(_story(3))
    expected = _ask(fresh)
    fresh.server.stop()
    made.clear()
    for later in start(fresh.folder, []):
        assert _ask(later) == expected
        assert made == ["logical_rows"]  # of a part of the session
        made.clear()
        later.record(_story(4))
        assert _ask(later) == _direct(later, monkeypatch) != expected
        assert set(made) == {"path_sums", "logical_rows"}


def test_they_answer_for_a_function_until_its_attempts_change(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", 0)
    monkeypatch.setattr(query, "can_lay_out", lambda _: False)
    views = ("/api/flow/flame", "/api/flow/logical")
    for trains in (3, 4):
        fresh.record(_story(trains))
        for path in views:
            made.clear()
            assert fresh.get(path, func_name="load")["attempts"] == trains
            assert len(made) == 1  # those of all are not of what is on record now
            fresh.get(path)
            made.clear()
            assert fresh.get(path, func_name="train")["attempts"] == trains
            assert made == []


def test_after_a_filter_was_asked_for_others_are_answered_from_what_is_laid_out(
    fresh: Running, made: list[str]
) -> None:
    assert fresh.server.services is not None
    services = fresh.server.services

    def has_sums(file: SessionFile) -> bool:
        found = load(place(file, "logical"))
        return found is not None and found.is_of(file, services.records.last_ns(session))

    for trains in (3, 4):
        fresh.record(_story(trains))
        session = services.records.resolve(None)
        made.clear()
        assert fresh.get("/api/flow/logical", until_ns=str(at(150)))["attempts"] == 4
        # And then the sums of all.
        _until(lambda: services.records.read(session, has_sums))
        assert fresh.get("/api/flow/logical", since_ns=str(at(195)))["attempts"] == 2 * trains - 4
        assert fresh.get("/api/flow/logical", until_ns=str(at(150)), state="FINISHED")["attempts"] == 4
        assert made == ["logical_rows"] * 2


def test_where_laying_out_fails_attempts_are_read_and_it_is_tried_again_later(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(file: SessionFile, last_ns: int) -> None:
        tried.append(last_ns)
        raise duckdb.OutOfMemoryException("no room")

    def ask(when: float) -> None:
        assert fresh.get("/api/flow/logical", until_ns=str(at(when)))["attempts"] == 4
        sums.prepare()

    assert fresh.server.services is not None
    sums = fresh.server.services.sums
    monkeypatch.setattr(query, "lay_out", fail)
    fresh.record(_story(3))
    ask(150)
    _until(lambda: len(tried) == 1)
    ask(160)
    assert len(tried) == 1
    monkeypatch.setattr(laid_out, "_PATIENCE_S", 0)
    sums.laid_out.forget(fresh.server.services.records.resolve(None))
    ask(170)
    _until(lambda: len(tried) == 2)


def test_lanes_are_laid_out_once_and_those_of_a_filter_share_what_ran_when(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, turns = gantt_sql.frame, gantt_sql.turns

    def lay_out(*values: Any, **more: Any) -> gantt_sql.Frame:
        made.append(more["by"])
        return frame(*values, **more)

    def count(*values: Any, **more: Any) -> gantt_sql.Turns:
        made.append("turns")
        return turns(*values, **more)

    monkeypatch.setattr(gantt_sql, "frame", lay_out)
    monkeypatch.setattr(gantt_sql, "turns", count)
    fresh.record(_story(3))
    for by in FOLLOWED:
        made.clear()
        told = [fresh.get("/api/flow/gantt", by=by, width=str(width)) for width in (400, 800)]
        assert made == [by, "turns"]
        assert {lane["kind"] for answer in told for lane in answer["lanes"]} == {by}
    made.clear()
    loads = [fresh.get("/api/flow/gantt", by=by, func_name="load") for by in FOLLOWED]
    assert sorted(made) == sorted([*FOLLOWED, "turns"])
    means = [answer["utilisation"]["running"] for answer in loads]
    assert means[0] == means[1] == means[2] != told[0]["utilisation"]["running"]
    assert [answer["attempts"] for answer in loads] == [3, 3, 3]


@pytest.fixture
def lives(made: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """All sessions live, until this is undone."""
    with monkeypatch.context() as live:
        live.setattr(clusters, "LIVE_NS", 10**18)
        yield live


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def _heads(folder: Path) -> list[list[str]]:
    """What stands beside the record: version, time, writes, attempts, cost of each."""
    found = sorted(folder.glob("sessions/*/*.sums"))
    return [path.read_bytes().split(b"\n")[0].decode().split(" ") for path in found]


def test_they_are_made_when_a_session_ends(
    fresh: Running, made: list[str], lives: pytest.MonkeyPatch
) -> None:
    fresh.record(_story(2))
    assert fresh.server.services is not None
    services = fresh.server.services
    _until(lambda: len(_heads(fresh.folder)) == KEPT)
    lives.undo()
    last_ns = str(services.records.last_ns(services.records.resolve(None)))
    _until(lambda: sum(head[1] == last_ns for head in _heads(fresh.folder)) == KEPT)
    made.clear()
    _ask(fresh)
    assert made == ["logical_rows"]  # of a part of the session
    assert fresh.get("/api/flow/flame")["sums_at_ns"] is None


def test_of_a_live_session_they_are_made_before_anybody_asks_and_say_until_when_they_tell(
    fresh: Running, made: list[str], lives: pytest.MonkeyPatch
) -> None:
    fresh.record(_story(2))
    _until(lambda: len(_heads(fresh.folder)) == KEPT)
    asked_ns = time.time_ns()
    for path in ("/api/flow/flame", "/api/flow/logical", "/api/flow/gantt"):
        answer = fresh.get(path)
        assert answer["sums_at_ns"] < asked_ns
        assert answer["attempts"] == 4
    fresh.server.stop()
    began_ns = time.time_ns()
    for later in start(fresh.folder, []):
        assert later.get("/api/flow/logical")["sums_at_ns"] < began_ns


def test_filters_of_a_live_session_are_told_of_one_moment_and_what_happens_now_anew(
    fresh: Running, made: list[str], lives: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", 0)
    for module in (kept_sums, laid_out):
        monkeypatch.setattr(module, "_OUTDATED", 10)  # stories are written whole
    assert fresh.server.services is not None
    sums, path = fresh.server.services.sums, "/api/flow/logical"
    fresh.record(_story(3))
    session = fresh.server.services.records.resolve(None)
    _until(lambda: len(_heads(fresh.folder)) == KEPT)
    with monkeypatch.context() as still:
        still.setattr(made_sums.Made, "is_due", lambda *_, **__: False)
        assert fresh.get(path, func_name="load", node_id="a" * 56)["attempts"] == 3
        _until(lambda: session in sums.laid_out._made)
        at_ns = sums.laid_out._made[session].at_ns
        fresh.record(_story(4))
        made.clear()
        answer = fresh.get(path, node_id="a" * 56)
        assert (answer["attempts"], answer["sums_at_ns"]) == (6, at_ns)
        assert fresh.get(path, until_ns=str(at(150)))["attempts"] == 4
        assert made == []
        assert fresh.get(path, since_ns=str(at(0)))["attempts"] == 8
        assert fresh.get(path, until_ns=str(time.time_ns()))["attempts"] == 8
        assert made == ["logical_rows"] * 2
    _until(lambda: fresh.get(path, func_name="train", node_id="a" * 56)["attempts"] == 4)
    _until(lambda: sums.laid_out._made[session].at_ns > at_ns)


def test_while_more_is_recorded_they_are_of_one_moment_and_catch_up(
    fresh: Running, made: list[str], lives: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again and again; what is given is what the record held, and at last all of it."""
    done = threading.Event()

    def write() -> None:
        for trains in range(1, 30):
            fresh.record(_story(trains))
        done.set()

    writing = threading.Thread(target=write)
    fresh.record(_story(1))
    writing.start()
    seen = []
    while not done.is_set():
        flame, graph = fresh.get("/api/flow/flame"), fresh.get("/api/flow/logical")
        for answer in (flame, graph):
            assert answer["attempts"] % 2 == 0
        frames = {frame["name"]: frame for frame in flame["frames"]}
        assert frames["train"]["attempts"] == frames["load"]["attempts"] == flame["attempts"] / 2
        seen.append(flame["attempts"])
    writing.join()
    assert seen == sorted(seen)
    written_ns = time.time_ns()
    for path in ("/api/flow/flame", "/api/flow/logical"):
        _until(lambda path=path: fresh.get(path)["sums_at_ns"] > written_ns)  # type: ignore[misc]
    expected = _direct(fresh, monkeypatch)
    assert _ask(fresh) == expected
    assert expected[0]["attempts"] == 58


def test_to_stop_ends_what_is_being_made(fresh: Running, made: list[str], lives: pytest.MonkeyPatch) -> None:
    began = threading.Event()

    def endless(file: SessionFile, _: int) -> None:
        with file.reader() as reader:
            began.set()
            reader.execute("SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE a.range < b.range")

    assert fresh.server.services is not None
    sums = fresh.server.services.sums
    sums.follow("endless", endless)
    fresh.record(_story(1))
    assert began.wait(60)
    mine = sums._thread  # other servers of this process have threads of that name
    assert mine.is_alive()
    sums.stop()
    assert not mine.is_alive()


@pytest.mark.parametrize(
    ("writes", "attempts", "rows_written", "age_s", "asked", "is_due"),
    [
        (9, 1000, 500, 10_000, False, False),  # nothing was written
        (10, 1019, 519, 1, False, False),
        (10, 1020, 520, 1, False, True),
        (10, 1000, 520, 1, False, True),  # the same attempts, with more told of them
        (10, 1000, 500, 301, False, True),
        (9, 1000, 500, 19, True, False),
        (9, 1000, 500, 21, True, True),
    ],
)
def test_which_are_due(
    writes: int, attempts: int, rows_written: int, age_s: int, asked: bool, is_due: bool
) -> None:
    made = made_sums.Made(time.time_ns() - age_s * 10**9, made_sums.State(9, 1000, 500), 2.0, b"")
    assert made.is_due(made_sums.State(writes, attempts, rows_written), asked=asked) is is_due
