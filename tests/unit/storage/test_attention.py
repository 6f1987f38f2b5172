"""What is recorded while nobody reads waits for a flush of its own pace, and is there when somebody does."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rayscope.cluster.sessions import sql as sessions_sql
from rayscope.ingest import writer


def test_who_reads_after_a_quiet_time_sees_all_that_was_submitted(
    bodies: list[bytes], recorder: Any, wait_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "UNREAD_FLUSH_S", 3600.0)
    made = recorder()
    made.submit(bodies[0])
    wait_for(lambda: made.pending_batches == 0, "the first flush, that of a new recorder")
    for body in bodies[1:]:
        made.submit(body)
    time.sleep(2 * writer.FLUSH_S)
    assert made.pending_batches == len(bodies) - 1
    made.flush_for_reader()
    assert made.pending_batches == 0
    (session,) = made.catalog.names()
    with made.catalog.reading(session) as file:
        assert sessions_sql.counts(file)["tasks"]
    # And as long as somebody reads, what comes is there soon.
    made.submit(bodies[0])
    wait_for(lambda: made.pending_batches == 0, "a flush")
