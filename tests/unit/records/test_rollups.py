"""A large session that has ended is answered from rollups in its record, as if from its attempts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running import Running, start
from tests.story import Story

from rayscope.ingest import clusters
from rayscope.records import rollups
from rayscope.storage.rollups import read_rollup

#: Requests for a whole session and for a part.
QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/api/v1/flow/flame", {}),
    ("/api/v1/flow/flame", {"weight": "count"}),
    ("/api/v1/flow/flame", {"of": "load"}),
    ("/api/v1/flow/logical", {}),
    ("/api/v1/flow/gantt", {}),
    ("/api/v1/flow/gantt", {"by": "function", "lanes": "1"}),
    ("/api/v1/flow/gantt", {"by": "path"}),
    ("/api/v1/flow/logical", {"func_name": "load"}),
)
NAMES = {"flame", "logical", "gantt by worker", "gantt by function", "gantt by node"}


def _story(trains: int) -> Story:
    story = Story()
    for number in range(trains):
        train = story.task("train", 100 * number, 100 * number + 5, 100 * number + 90)
        for _ in range(2):
            story.task("load", 100 * number + 6, 100 * number + 10, 100 * number + 30, parent=train)
    return story


def _answers(running: Running) -> list[Any]:
    return [running.get(path, **asked) for path, asked in QUESTIONS]


def _current_rollups(running: Running) -> set[str]:
    """The rollups that cover the current record."""
    services = running.server.services
    assert services is not None
    session = services.records.resolve(None)
    last_ns = services.records.last_ns(session)
    return services.records.read(
        session, lambda file: {name for name in NAMES if read_rollup(file, name, last_ns) is not None}
    )


def _make(running: Running) -> None:
    services = running.server.services
    assert services is not None
    session = services.records.resolve(None)
    services.rollups.make_missing(session)
    services.records.forget(session)


def test_rollups_answer_as_the_attempts_do_until_more_is_recorded(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, wait_for: Any
) -> None:
    monkeypatch.setattr(clusters, "LIVE_NS", 0)  # it has ended
    for trains in (2, 3):
        fresh.record(_story(trains))
        assert _current_rollups(fresh) == set()
        expected = _answers(fresh)
        _make(fresh)
        assert _current_rollups(fresh) == set()  # it is small
        with monkeypatch.context() as large:
            large.setattr(rollups, "LARGE", 0)
            _answers(fresh)
            wait_for(lambda: _current_rollups(fresh) == NAMES, "the rollups")
        assert _answers(fresh) == expected
        assert expected[0]["attempts"] == 3 * trains
    fresh.server.stop()
    for later in start(fresh.folder, []):
        assert _current_rollups(later) == NAMES
        assert _answers(later) == expected


def test_a_live_session_has_none(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "LARGE", 0)
    fresh.record(_story(2))
    _make(fresh)
    assert _current_rollups(fresh) == set()


def test_requested_and_just_ended_sessions_get_rollups_in_the_background(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, wait_for: Any
) -> None:
    monkeypatch.setattr(rollups, "LARGE", 0)
    fresh.record(_story(2))
    fresh.get("/api/v1/flow/flame")
    monkeypatch.setattr(clusters, "LIVE_NS", 0)
    fresh.get("/api/v1/flow/flame", weight="count")
    wait_for(lambda: _current_rollups(fresh) == NAMES, "the rollups")
