"""Unpublished changes, and the clock that servers share."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from rayscope.model import Attempt, Entity, RecordBatch
from rayscope.storage.about import About
from rayscope.storage.errors import StoreError
from rayscope.storage.rows import batch_tables
from rayscope.warehouse import changes
from rayscope.warehouse.changes import Changes
from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.schema import SERVERS
from rayscope.warehouse.servers import Publisher, keeper, read_members, watermark_ns

HOUR_NS = 3600 * 10**9


def note(waiting: Changes, about: About, attempts: int = 0, entities: int = 0) -> bool:
    batch = RecordBatch(
        about.session,
        attempts=[Attempt(f"{number:048x}") for number in range(attempts)],
        entities=[Entity("node", f"n{number}") for number in range(entities)],
    )
    return waiting.note(about, batch, batch_tables(batch))


def test_a_session_knows_whether_it_is_fully_published() -> None:
    waiting, about = Changes(), About("s")
    assert note(waiting, about, attempts=1)
    assert not note(waiting, about, attempts=1)
    assert about.has_unpublished
    (taken,) = waiting.take().values()
    assert taken.size == 2
    note(waiting, about, entities=1)  # arrives while the others are published
    waiting.mark_published(about)
    assert about.has_unpublished
    waiting.take()
    waiting.mark_published(about)
    assert not about.has_unpublished
    assert not note(waiting, about)  # nothing
    assert not about.has_unpublished


def test_the_largest_session_is_published_whole_when_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MAX_ROWS", 100)
    waiting, small, large = Changes(), About("small"), About("large")
    note(waiting, large, entities=60)
    note(waiting, small, attempts=30)
    note(waiting, small, entities=20)
    assert waiting.waiting == 50
    assert waiting.behind == {"large"}
    assert set(waiting.take()) == {"small"}
    waiting.mark_published(large)
    assert large.has_unpublished
    waiting.clear("large")
    waiting.mark_published(large)
    assert not large.has_unpublished


def rows(number: int) -> pa.Table:
    return pa.table({"session": ["session_2026-01-01_x"], "path_id": [number], "name": [f"n{number}"]})


def test_a_server_without_a_heartbeat_cannot_publish(warehouse: Warehouse) -> None:
    publisher = Publisher("mute", "http://mute")
    with pytest.raises(StoreError, match="not heard from"):
        publisher.insert(warehouse, "raw_paths", rows(1))
    members = publisher.heartbeat(warehouse, ["s"])
    (me,) = [one for one in members if one.server == "mute"]
    assert me.is_alive
    assert me.watches == {"s"}
    publisher.insert(warehouse, "raw_paths", rows(1))
    assert me.stored_ns < publisher.published_ns
    (me,) = [one for one in publisher.heartbeat(warehouse, (), is_last=True) if one.server == "mute"]
    assert not me.is_alive
    with pytest.raises(StoreError, match="not heard from"):
        publisher.insert(warehouse, "raw_paths", rows(2))


def test_no_server_is_behind_one_whose_clock_is_ahead(warehouse: Warehouse) -> None:
    """Its changes would be older than the point up to which the others have read."""
    ahead_ns = time.time_ns() + HOUR_NS
    row = {"server": ["ahead"], "url": ["http://a"], "began_ns": [1], "stored_ns": [ahead_ns]}
    warehouse.insert(SERVERS, pa.table({**row, "watches": pa.array([["s"]], pa.list_(pa.string()))}))
    publisher = Publisher("behind", "http://b")
    publisher.heartbeat(warehouse, ["s"])
    publisher.insert(warehouse, "raw_paths", rows(3))
    assert publisher.published_ns > ahead_ns
    members = read_members(warehouse)
    assert watermark_ns(members) < publisher.published_ns
    assert keeper(members) == "ahead"  # it has run longest
    assert keeper(members, {"behind", "nobody"}) == "behind"
    assert keeper(members, ()) is None
    Publisher("ahead").heartbeat(warehouse, (), is_last=True)
