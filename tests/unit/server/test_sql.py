"""SQL of users reads a session's views; it reaches no file, changes nothing, and ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FORBIDDEN = [
    "COPY attempts TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT parquet)",
    "EXPORT DATABASE '{out}'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    "FROM 'data.csv'",
    "SELECT * FROM query('FROM read_text(''/etc/passwd'')')",
    "SELECT * FROM query_table('/etc/passwd')",
    "WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM x",
    "ATTACH '{out}' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH record",
    "USE record",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '/tmp/x.duckdb_extension'",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET memory_limit = '100GB'",
    "SET lock_configuration = false",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "PRAGMA memory_limit='100GB'",
    "CALL pragma_version()",
    "INSERT INTO attempts SELECT * FROM attempts",
    "UPDATE attempts SET name = 'x'",
    "DELETE FROM attempts",
    "TRUNCATE attempts",
    "MERGE INTO attempts USING (SELECT 1) ON true WHEN MATCHED THEN DELETE",
    "CREATE TABLE t (i INTEGER)",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE OR REPLACE VIEW tasks AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "CREATE SECRET s (TYPE s3)",
    "CREATE SEQUENCE s",
    "DROP TABLE attempts",
    "DROP VIEW tasks",
    "ALTER TABLE attempts ADD COLUMN x INTEGER",
    "WITH gone AS (DELETE FROM attempts RETURNING *) SELECT * FROM gone",
    "WITH new AS (INSERT INTO drops VALUES ('a', 'b', 1, 1) RETURNING *) SELECT * FROM new",
    "EXPLAIN ANALYZE DELETE FROM attempts",
    "EXPLAIN ANALYZE INSERT INTO drops VALUES ('a', 'b', 1, 1)",
    "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
    "SELECT 1; DROP TABLE attempts",
    "SELECT 1; SELECT 2",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "VACUUM",
    "PREPARE p AS DELETE FROM attempts",
    "EXECUTE p",
    "DEALLOCATE p",
    "",
    ";",
    "-- nothing",
    "SELECT",
    "SELECT * FROM nowhere",
    "SELECT error('mine')",
    "\0",
    "SELECT 'é' || chr(0) FROM nowhere\0",
    "x" * 100_000,
]


def ask(running: Any, sql: str, **more: Any) -> Any:
    return running.client.post("/api/sql", json={"sql": sql, **more})


@pytest.mark.parametrize("sql", FORBIDDEN, ids=lambda sql: sql[:60] or "empty")
def test_refused_with_a_reason_and_without_effect(
    running: Any, whole: Callable[[], dict[str, int]], tmp_path: Path, sql: str
) -> None:
    before = whole()
    out = tmp_path / "out"
    answer = ask(running, sql.replace("{out}", str(out)))
    assert "root:" not in answer.text
    running.error(answer, 400)
    assert not out.exists()
    assert whole() == before
    assert ask(running, "SELECT count(*) FROM tasks").json()["rows"] == [[before["shown"]]]


def test_what_it_is_for(running: Any) -> None:
    answer = ask(
        running,
        "WITH f AS (SELECT * FROM tasks WHERE state = 'FAILED') SELECT name, attempt FROM f ORDER BY ALL",
    ).json()
    assert [name for name, _ in answer["columns"]] == ["name", "attempt"]
    assert ["fails", 1] in answer["rows"]
    assert not answer["truncated"]
    assert "SCAN" in str(ask(running, "EXPLAIN SELECT * FROM tasks").json()["rows"]).upper()
    kinds = ask(
        running, "SELECT 'nan'::DOUBLE, 1::HUGEINT << 100, DATE '2026-01-01', [1, NULL], {'a': 1}, 'x'::BLOB"
    )
    assert kinds.status_code == 200


def test_rows_beyond_the_limit_are_told(running: Any) -> None:
    answer = ask(running, "FROM range(100)", limit=7).json()
    assert len(answer["rows"]) == 7
    assert answer["truncated"] is True
    assert ask(running, "FROM range(7)", limit=7).json()["truncated"] is False


def test_a_query_that_does_not_end_is_stopped(running: Any) -> None:
    answer = ask(running, "SELECT count(*) FROM range(1000000000) a, range(1000000000) b")
    assert "took longer" in running.error(answer, 400)["message"]
    assert ask(running, "SELECT 1").json()["rows"] == [[1]]


def test_a_query_that_eats_memory_is_refused(running: Any) -> None:
    """Within its own limits, on a server that lives on. (The clock may be faster than the memory.)"""
    hog = "SELECT list(repeat('x', 1000000) || i) FROM range(1000000) t(i)"
    assert running.error(ask(running, hog), 400)["message"]
    assert ask(running, "SELECT 1").json()["rows"] == [[1]]


def test_it_leaves_no_file_beside_the_record(running: Any) -> None:
    session = running.server.hub.resolve(None)
    names = {name for name in os.listdir(running.folder / "sessions" / session) if not name.endswith(".tmp")}
    databases = {f"{name}.duckdb{end}" for name in ("record", "metrics") for end in ("", ".wal")}
    logs = {f"logs.sqlite{end}" for end in ("", "-wal", "-shm")}
    assert names <= databases | logs | {"about.json", "agents.json", "alerts.json"}
