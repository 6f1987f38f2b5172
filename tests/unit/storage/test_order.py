"""The same events give the same record, in any order and batches, however often they arrive."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.story import DRIVER, SESSION

from rayscope.model import Attempt, Edge, RecordBatch
from rayscope.user_sql.run import run_sql

Tables = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(params=["2.60", "2.60-traced"])
def bodies(request: pytest.FixtureRequest, sample: Callable[[str], Any]) -> list[bytes]:
    """A sample as it was sent, and one with everything that the tracer reports."""
    return [json.dumps(batch).encode() for batch in sample(request.param)]


@pytest.fixture
def expected(bodies: list[bytes], record: Callable[..., Path], dump: Callable[[Path], Tables]) -> Tables:
    tables = dump(record(bodies))
    # The samples are worth comparing: attempts, spans, nested calls, all kinds of entities in events.
    assert len(tables["attempts"]) > 10
    assert tables["span_rows"]
    assert any(path.count(" / ") == 1 for _, _, path in tables["call_paths"])
    assert all(tables[kind] for kind in ("actor", "node", "worker", "job"))
    keys = [row[:3] for row in tables["attempts"]]
    assert len(set(keys)) == len(keys)
    return tables


def test_backwards_with_a_flush_after_every_third_event(
    bodies: list[bytes], expected: Tables, record: Callable[..., Path], dump: Callable[[Path], Tables]
) -> None:
    """Children before their parents, ends before beginnings, often written before the next comes."""
    events = [event for body in bodies for event in json.loads(body)]
    single = [json.dumps([event]).encode() for event in reversed(events)]
    assert dump(record(single, flush_after=lambda n: n % 3 == 0)) == expected


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_split_and_twice(
    seed: int,
    bodies: list[bytes],
    expected: Tables,
    record: Callable[..., Path],
    dump: Callable[[Path], Tables],
) -> None:
    rng = random.Random(seed)
    events = [event for body in bodies for event in json.loads(body)]
    events += rng.sample(events, len(events) // 2)
    rng.shuffle(events)
    cuts = sorted(rng.sample(range(len(events)), 12))
    parts = [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True)]
    batches = [json.dumps(part).encode() for part in parts]
    batches += rng.sample(batches, 4)
    assert dump(record(batches, flush_after=lambda _: rng.random() < 0.5)) == expected


def test_all_of_it_again_after_a_restart(
    bodies: list[bytes],
    expected: Tables,
    start_writer: Callable[..., Any],
    tmp_path: Path,
    dump: Callable[[Path], Tables],
) -> None:
    for batches in (bodies[: len(bodies) // 2], bodies[::-1], bodies):
        made = start_writer(tmp_path / "data")
        for batch in batches:
            made.submit(batch)
        made.stop()
    (session,) = made.catalog.names()
    assert dump(made.catalog.path(session)) == expected


def test_a_stop_in_a_hurry_leaves_the_rest_to_the_next_start(
    bodies: list[bytes],
    expected: Tables,
    start_writer: Callable[..., Any],
    tmp_path: Path,
    dump: Callable[[Path], Tables],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "hurry"
    with monkeypatch.context() as patch:
        patch.setattr("rayscope.ingest.writer._STOP_S", 0)
        patch.setattr("rayscope.ingest.writer.Writer._drain_queue", lambda *_, **__: None)
        first = start_writer(folder)
        for body in bodies:
            first.submit(body)
        first.stop()
        assert len(first.spool.waiting()) == len(bodies)
    second = start_writer(folder)
    second.stop()
    assert second.spool.waiting() == []
    (session,) = second.catalog.names()
    assert dump(second.catalog.path(session)) == expected


def test_a_grandparent_and_a_grandchild_come_together_last(
    make_chain: Callable[[int], list[bytes]], record: Callable[..., Path], dump: Callable[[Path], Tables]
) -> None:
    """Tasks that are stored without a call path get it then, and so do tasks in the same flush."""
    chain = make_chain(6)
    expected = dump(record(chain))
    assert {row[2].count(" / ") for row in expected["call_paths"]} == set(range(6))
    for odd_first in (chain[1::2] + chain[::2], chain[::2] + chain[1::2]):
        middle = len(odd_first) // 2
        assert dump(record(odd_first, flush_after=lambda n, middle=middle: n == middle - 1)) == expected


def _calls_of_a_coroutine() -> list[RecordBatch]:
    """A coroutine that calls a task, which is tried twice and calls another: Ray says that ``__init__`` calls it.

    One part a batch, as the parts may come.
    """
    actor = "c" * 24 + "01000000"
    created, run, step, leaf = "f" * 16 + actor, "1" * 16 + actor, "2" * 48, "3" * 48
    defined = [
        Attempt(created, parent_task_id=DRIVER, func_name="A.__init__", name="A.__init__"),
        Attempt(run, parent_task_id=DRIVER, func_name="A.run", name="A.run"),
        *(Attempt(step, n, parent_task_id=created, func_name="step", name="step") for n in (0, 1)),
        Attempt(leaf, parent_task_id=step, func_name="leaf", name="leaf"),
    ]
    ended = [Attempt(one.task_id, one.attempt, states={"FINISHED": 5}) for one in defined]
    return [
        *(RecordBatch(SESSION, attempts=[one]) for one in defined + ended),
        RecordBatch(SESSION, edges=[Edge(step, -1, "caller", run, 0, None, 1, 1)]),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_real_caller_wins_whenever_it_is_reported(
    seed: int, start_writer: Callable[..., Any], tmp_path: Path
) -> None:
    rng = random.Random(seed)
    parts = _calls_of_a_coroutine()
    rng.shuffle(parts)
    parts += rng.sample(parts, 3)
    stopped_after = rng.randrange(len(parts))
    made = start_writer(tmp_path)
    for number, part in enumerate(parts):
        made.submit_records(part, "events")
        if rng.random() < 0.6:
            assert made.flush()
        if number == stopped_after:
            made.stop()
            made = start_writer(tmp_path)
    made.stop()
    rows = run_sql(
        tmp_path,
        "WITH RECURSIVE named AS (SELECT path_id, name FROM paths WHERE parent_path_id = 0 UNION ALL "
        "SELECT c.path_id, p.name || ' / ' || c.name FROM paths c JOIN named p ON p.path_id = c.parent_path_id) "
        "SELECT DISTINCT t.func_name, p.func_name, c.func_name, n.name FROM tasks t "
        "LEFT JOIN tasks p ON p.task_id = t.parent_task_id LEFT JOIN tasks c ON c.task_id = t.caller_task_id "
        "LEFT JOIN named n ON n.path_id = t.path_id ORDER BY ALL",
    ).rows
    assert rows == [
        ["A.__init__", None, None, "A.__init__"],
        ["A.run", None, None, "A.run"],
        ["leaf", "step", "step", "A.run / step / leaf"],
        ["step", "A.__init__", "A.run", "A.run / step"],
    ]
