"""Entities whose every account is complete are written, and not kept in memory."""

from __future__ import annotations

from pathlib import Path

from tests.story import SESSION, at

from rayscope.model import Entity, RecordBatch
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter


def sample(end_ms: float, samples: str) -> RecordBatch:
    observed = {"node_id": "a" * 56, "begin_ns": at(0), "end_ns": at(end_ms), "samples": samples}
    return RecordBatch(SESSION, entities=[Entity("gpu_sample", "one", {}, {}, at(end_ms), observed)])


def test_a_batch_that_grows_is_replaced_and_survives_what_is_written_later(tmp_path: Path) -> None:
    def rows() -> list[tuple[int, str]]:
        assert writer.file is not None
        with writer.file.reader() as reader:
            return reader.execute("SELECT end_ns, samples FROM gpu_samples").fetchall()

    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(sample(5, "[[0, 5, 10]]"), 0.0)
    writer.flush(0.0, everything=True)
    writer.add(sample(9, "[[0, 9, 10]]"), 0.0)
    writer.flush(0.0, everything=True)
    assert rows() == [(at(9), "[[0, 9, 10]]")]
    writer.end(at(10), 0.0)
    writer.flush(0.0, everything=True)
    writer.end(None, 0.0)  # alive after all: what was inferred is written anew
    writer.flush(0.0, everything=True)
    assert rows() == [(at(9), "[[0, 9, 10]]")]
    writer.close()
    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(RecordBatch(SESSION, entities=[Entity("node", "a" * 56, {"node_name": "n"})]), 0.0)
    writer.end(None, 0.0)
    writer.flush(0.0, everything=True)
    assert rows() == [(at(9), "[[0, 9, 10]]")]
    writer.close()
