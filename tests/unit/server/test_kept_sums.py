"""The sums of a large session are those of its attempts, made once, and kept when it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.story import Story, at
from tests.unit.server.conftest import Running, start

from rayscope.server import hub, kept_sums
from rayscope.store import query

#: Questions about all of a session, and one about a part.
QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/api/flow/flame", {}),
    ("/api/flow/flame", {"weight": "count"}),
    ("/api/flow/flame", {"of": "load"}),
    ("/api/flow/logical", {}),
    ("/api/flow/logical", {"func_name": "load"}),
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sums were made from the record, in a session that has ended and that is large."""
    names: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def count(*values: Any, **more: Any) -> Any:
            names.append(name)
            return real(*values, **more)

        return count

    for name in ("path_sums", "logical_rows"):
        monkeypatch.setattr(query, name, counted(name, getattr(query, name)))
    monkeypatch.setattr(hub, "LIVE_NS", 0)
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
    for trains in (2, 3):
        fresh.record(_story(trains))
        expected = _direct(fresh, monkeypatch)
        made.clear()
        assert _ask(fresh) == expected
        assert sorted(made) == ["logical_rows", "logical_rows", "path_sums"]
    (train,) = (frame for frame in expected[1]["frames"] if frame["name"] == "train")
    assert train["attempts"] == 3


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


def test_they_are_made_when_a_session_ends(
    fresh: Running, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(_story(2))
    assert fresh.server.hub is not None
    sums = fresh.server.hub.sums
    with monkeypatch.context() as live:
        live.setattr(hub, "LIVE_NS", 10**18)
        sums.prepare()
    sums.prepare()
    folder = next(fresh.folder.glob("sessions/*"))
    for _ in range(200):
        if len(list(folder.glob("*.sums"))) == 2:
            break
        time.sleep(0.05)
    made.clear()
    _ask(fresh)
    assert made == ["logical_rows"]
