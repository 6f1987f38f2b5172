"""While nobody reads, data is flushed at a slower pace; a reader still gets all of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.waiting import TIMEOUT_S

from rayscope.ingest import writer
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import SessionEvents
from rayscope.storage.sql import sessions as sessions_sql


def test_a_reader_after_a_quiet_time_sees_everything_submitted(
    bodies: list[bytes], start_writer: Any, wait_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "UNREAD_FLUSH_S", 3600.0)
    monkeypatch.setattr(writer, "FLUSH_S", 0.01)
    monkeypatch.setattr(writer, "_MAX_PAUSE_S", 0.0)
    monkeypatch.setattr(
        writer, "_CATCH_UP_S", TIMEOUT_S
    )  # on a busy machine merging may take longer than usual
    turns: list[int] = []
    turn = writer.Writer._turn
    monkeypatch.setattr(writer.Writer, "_turn", lambda made: turns.append(len(turns)) or turn(made))
    made = start_writer()
    made.submit(bodies[0])
    assert made.flush()
    for body in bodies[1:]:
        made.submit(body)
    seen = len(turns)
    wait_for(lambda: len(turns) > seen + 2, "turns in which it could have flushed")
    assert made.pending_batches == len(bodies) - 1
    made.flush_for_reader()
    assert made.pending_batches == 0
    (session,) = made.catalog.names()
    with made.catalog.reading(session) as file:
        assert sessions_sql.counts(file)["tasks"]
    # And while a client reads, new data is there soon.
    made.submit(bodies[0])
    wait_for(lambda: made.pending_batches == 0, "a flush")


def test_a_batch_waits_until_it_is_written_also_while_it_is_merged(
    bodies: list[bytes], start_writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = start_writer()
    waiting: list[int] = []
    decode = events_batch.decode

    def observed(*of: Any) -> SessionEvents:
        waiting.append(made.pending_batches)
        return decode(*of)

    monkeypatch.setattr(events_batch, "decode", observed)
    made.submit(bodies[0])
    assert made.flush()
    assert waiting == [1]
    assert made.pending_batches == 0
