"""Reading a record while it is written, and a record that an older version wrote."""

from __future__ import annotations

from pathlib import Path

import duckdb
from tests.story import SESSION, Story

from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter

_COUNT = "SELECT count(*) FROM attempts"


def test_a_reader_sees_one_state_while_more_is_written(tmp_path: Path) -> None:
    story = Story()
    story.task("one", 0, 10, 20)
    writer = SessionWriter(SESSION, lambda: SessionFile(tmp_path / "record.duckdb"))
    writer.add(story.batch, 0.0)
    writer.flush(0.0, everything=True)
    assert writer.file is not None
    with writer.file.reader() as before:
        assert before.execute(_COUNT).fetchall() == [(1,)]
        story.task("two", 30, 40, 50)
        writer.add(story.batch, 1.0)
        writer.flush(1.0, everything=True)
        assert before.execute(_COUNT).fetchall() == [(1,)]
        with writer.file.reader() as after:
            assert after.execute(_COUNT).fetchall() == [(2,)]
    writer.close()


def test_a_record_of_an_older_version_is_read_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "record.duckdb"
    SessionFile(path).close()
    with duckdb.connect(str(path)) as older:
        older.execute("ALTER TABLE attempts DROP COLUMN distinct_name")
        for name in ("peak_memory", "start_memory", "memory_scope"):
            older.execute(f"ALTER TABLE attempts DROP COLUMN {name}")
        for name in ("death_memory_bytes", "paused_threads"):
            older.execute(f"ALTER TABLE worker_rows DROP COLUMN {name}")
        older.execute("ALTER TABLE job_rows DROP COLUMN versions")
        older.execute("UPDATE meta SET value = 'of before' WHERE key = 'views'")
    file = SessionFile(path, read_only=True)
    with file.reader() as reader:
        assert reader.execute(
            "SELECT count(distinct_name), count(memory_scope) FROM attempts"
        ).fetchall() == [(0, 0)]
        assert reader.execute(
            "SELECT count(death_memory_bytes) + count(paused_threads) FROM workers"
        ).fetchall() == [(0,)]
        assert reader.execute("SELECT count(versions) FROM jobs").fetchall() == [(0,)]
    file.close()
