"""SQL of users reads a session's views; it reaches no file, changes nothing, and ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import httpx
import msgspec
import psutil
import pytest
from tests.story import Story
from tests.waiting import wait_until

from rayscope.storage.errors import StoreError
from rayscope.user_sql import run as user_sql_run
from rayscope.user_sql.run import SqlError, SqlRunner

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
    "FROM checkpoint()",
    "FROM Force_Checkpoint /* now */ ('record')",
    "FROM truncate_duckdb_logs()",
    'EXPLAIN ANALYZE SELECT "pg_sleep"(1)',
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


def post_sql(running: Any, sql: str, **more: Any) -> Any:
    return running.client.post("/api/v1/sql", json={"sql": sql, **more})


@pytest.mark.parametrize("sql", FORBIDDEN, ids=lambda sql: sql[:60] or "empty")
def test_refused_with_a_reason_and_without_effect(
    running: Any, table_sums: Callable[[], dict[str, int]], tmp_path: Path, sql: str
) -> None:
    before = table_sums()
    out = tmp_path / "out"
    answer = post_sql(running, sql.replace("{out}", str(out)))
    assert "root:" not in answer.text
    running.error(answer, 400)
    assert not out.exists()
    assert table_sums() == before
    assert post_sql(running, "SELECT count(*) FROM tasks").json()["rows"] == [[before["shown"]]]


@pytest.mark.parametrize("sql", ["", " \n", "-- nothing"], ids=["empty", "blank", "comment"])
def test_a_query_without_a_statement_is_refused(running: Any, sql: str) -> None:
    assert "Only a single SELECT" in running.error(post_sql(running, sql), 400)["message"]


def test_typical_queries(running: Any) -> None:
    answer = post_sql(
        running,
        "WITH f AS (SELECT * FROM tasks WHERE state = 'FAILED') SELECT name, attempt FROM f ORDER BY ALL",
    ).json()
    assert [name for name, _ in answer["columns"]] == ["name", "attempt"]
    assert ["fails", 1] in answer["rows"]
    assert not answer["truncated"]
    assert "SCAN" in str(post_sql(running, "EXPLAIN SELECT * FROM tasks").json()["rows"]).upper()
    kinds = post_sql(
        running, "SELECT 'nan'::DOUBLE, 1::HUGEINT << 100, DATE '2026-01-01', [1, NULL], {'a': 1}, 'x'::BLOB"
    )
    assert kinds.status_code == 200


def test_rows_beyond_the_limit_are_reported(running: Any) -> None:
    answer = post_sql(running, "FROM range(100)", limit=7).json()
    assert len(answer["rows"]) == 7
    assert answer["truncated"] is True
    assert post_sql(running, "FROM range(7)", limit=7).json()["truncated"] is False


#: Each of them once froze a server or took gigabytes of its memory, whatever the limits of DuckDB were.
BOMBS = {
    "parentheses": "SELECT * FROM " + "(" * 20_000,
    "dots": "SELECT a" + ".a" * 40_000,
    "unions": " UNION ALL ".join(["SELECT 1"] * 5000),
    "json": f"SELECT json_transform('1', '{'[' * 5000}\"INT\"{']' * 5000}')",
    "cross join": "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
    "repeat": "SELECT repeat('x', 4000000000)",
    "printf": "SELECT printf('%2000000000d', 1)",
    "wide rows": "SELECT repeat('x', 1000000 + range * 0) FROM range(10000)",
    "damerau": "SELECT damerau_levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "levenshtein": "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))",
    "regex": "SELECT regexp_extract_all(repeat('ab', 15000000), 'a')",
    "bits": "SELECT length(bitstring('1', 2000000000))",
    "list": "SELECT list(repeat('x', 1000000) || i) FROM range(1000000) t(i)",
}


def processes() -> list[psutil.Process]:
    """The processes for SQL of the servers in this process."""
    # (A process that has ended and was not waited for has no command line.)
    alive = [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in alive if "rayscope.user_sql.worker" in one.cmdline()]


def test_no_query_stops_the_server_or_eats_its_memory(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they run, two at a time, the server answers others, and their processes stay small."""
    monkeypatch.setattr(running.server.services.sql, "_timeout_s", 3.0)
    with ThreadPoolExecutor(2) as pool:
        answers = {name: pool.submit(post_sql, running, sql) for name, sql in BOMBS.items()}
        healthy, peak = 0, 0
        while not all(answer.done() for answer in answers.values()):
            assert running.get("/api/health")["status"] == "ok"
            healthy += 1
            with contextlib.suppress(psutil.NoSuchProcess):
                peak = max([peak, *(one.memory_info().rss for one in processes())])
    refused = {
        name: answer.result() for name, answer in answers.items() if answer.result().status_code != 200
    }
    # A fast machine can answer some of them within the limits.
    assert set(BOMBS) - set(refused) <= {"unions", "regex", "bits"}
    assert "took longer" in refused["cross join"].json()["error"]["message"]
    for answer in refused.values():
        assert running.error(answer, 400)["code"] == "bad_query"
    assert healthy > 5
    assert peak < 1.2e9
    assert post_sql(running, "SELECT 1").json()["rows"] == [[1]]


def test_an_answer_that_is_too_large_is_refused(running: Any) -> None:
    answer = post_sql(running, "SELECT repeat('x', 10000) FROM range(10000)")
    assert "larger than 64 MB" in running.error(answer, 400)["message"]
    assert len(post_sql(running, "SELECT repeat('x', 10000) FROM range(1000)").content) > 10_000_000


def test_a_third_query_at_a_time_is_refused_with_a_retry(running: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        long = [pool.submit(post_sql, running, BOMBS["cross join"]) for _ in range(2)]
        wait_until(
            lambda: sum(worker.busy for worker in running.server.services.sql._workers) == 2, "two queries"
        )
        third = post_sql(running, "SELECT 1")
        assert running.error(third, 503)["code"] == "busy"
        assert third.headers["Retry-After"]
        for one in processes():
            one.kill()
        assert all(one.result().status_code == 400 for one in long)
    assert post_sql(running, "SELECT 1").status_code == 200


def test_a_query_is_stopped_when_its_client_is_gone(fresh: Any) -> None:
    fresh.record(Story())
    sql = fresh.server.services.sql
    assert post_sql(fresh, "SELECT 1").status_code == 200
    (worker,) = sql._workers
    with httpx.Client(base_url=fresh.server.url, timeout=1) as impatient, pytest.raises(httpx.ReadTimeout):
        impatient.post("/api/v1/sql", json={"sql": BOMBS["cross join"]})
    wait_until(lambda: worker not in sql._workers, "the query to end")
    assert post_sql(fresh, "SELECT 1").json()["rows"] == [[1]]


def test_a_process_that_dies_is_reported_and_replaced(running: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(post_sql, running, BOMBS["cross join"])
        wait_until(
            lambda: any(worker.busy for worker in running.server.services.sql._workers), "the query to run"
        )
        for one in processes():
            one.kill()
        error = running.error(long.result(), 400)
    assert "crashed" in error["message"]
    assert "RAYSCOPE_MEMORY_LIMIT" in error["remedy"]
    assert post_sql(running, "SELECT 1").json()["rows"] == [[1]]


def test_times_with_a_zone(running: Any) -> None:
    answer = post_sql(
        running, "SELECT now(), [TIMESTAMPTZ '2026-01-01 12:00:00+00'], TIMESTAMP_NS '2026-01-01'"
    )
    assert "2026-01-01" in answer.json()["rows"][0][1][0]


def test_times_are_in_the_zone_of_the_server(running: Any) -> None:
    zone = "SELECT current_setting('TimeZone')"
    with duckdb.connect() as connection:
        assert post_sql(running, zone).json()["rows"] == [list(*connection.execute(zone).fetchall())]


def test_errors_point_at_the_place_and_name_nothing_of_the_server(running: Any) -> None:
    error = running.error(post_sql(running, "SELECT nothing FROM tasks"), 400)
    assert "LINE 1:" in error["message"]
    for text in (error["message"], error["remedy"]):
        assert "Traceback" not in text
        assert "docs/" not in text
    remedies = [part for part in error["remedy"].replace(",", "").split() if part.isupper()]
    assert remedies[:2] == ["SHOW", "TABLES"]
    assert ["tasks"] in post_sql(running, "SHOW TABLES").json()["rows"]
    assert post_sql(running, "DESCRIBE tasks").json()["rows"]


def test_the_process_has_no_secret_no_network_and_no_file(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYSCOPE_TOKEN", "a-secret")
    for one in processes():
        one.kill()
        one.wait()  # its successors are of now
    assert post_sql(running, "SELECT 1").status_code == 200
    (process,) = processes()
    assert "a-secret" not in str(process.environ())
    assert not any(name.startswith("RAYSCOPE") for name in process.environ())
    assert Path(process.cwd()).parent == running.folder / "sql"
    assert not [name for name in os.listdir(process.cwd()) if "record" in name]  # the copy is unlinked
    soft, hard = process.rlimit(psutil.RLIMIT_AS)
    assert 0 < soft == hard < 2 << 30
    if Path(f"/proc/{process.pid}/root").resolve() == Path("/"):
        pytest.skip("this system lets no process leave the file system")
    shown = post_sql(
        running, "SELECT path FROM duckdb_databases() UNION ALL SELECT value FROM duckdb_settings()"
    )
    assert str(running.folder) not in shown.text
    assert len(Path(f"/proc/{process.pid}/net/dev").read_text().splitlines()) == 3  # two of them a header


def test_a_live_session_is_asked_as_it_is_now(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # If the copy takes long, an older copy may answer, which depends on the machine.
    monkeypatch.setattr(user_sql_run, "_SLOW_COPY_S", 60.0)
    before = len(processes())
    for count in (1, 2, 3):
        story = Story()
        for number in range(count):
            story.task("work", number, number, number + 1)
        fresh.record(story)
        answer = post_sql(fresh, "SELECT count(*) FROM tasks").json()
        assert answer["rows"] == [[count]]
        assert answer["snapshot_ns"] > 0
    assert len(processes()) <= before + 2


HOLDER = """
import os, sys, threading, time
from pathlib import Path
from rayscope.user_sql import run as user_sql_run
from rayscope.user_sql.run import SqlRunner
runner = SqlRunner(Path(sys.argv[1]) / "sql", timeout_s=2)
source = Path(sys.argv[1]) / "record.duckdb"
runner.query(source, "SELECT 1", version=1)
sql = "SELECT * FROM " + "(" * 20000 if sys.argv[2] == "busy" else "SELECT 1"
threading.Thread(target=lambda: runner.query(source, sql, version=1)).start()
time.sleep(0.5)
print(runner._workers[0]._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_no_process_outlives_a_server_that_is_killed(state: str, tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "record.duckdb")).close()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), state], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    pid = int(holder.stdout.readline())
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    wait_until(lambda: not psutil.pid_exists(pid), "the process to end")
    runner = SqlRunner(tmp_path / "sql")
    assert not (tmp_path / "sql").exists()
    runner.close()


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[SqlRunner]:
    made = SqlRunner(tmp_path / "sql", timeout_s=30)
    yield made
    made.close()
    assert not (tmp_path / "sql").exists()


def test_copies_of_a_record_that_is_written_are_whole(tmp_path: Path) -> None:
    """Each transaction adds to two tables and takes from both; every copy shows whole transactions."""
    committed = 0
    source = tmp_path / "record.duckdb"
    stop = threading.Event()
    with duckdb.connect(str(source), config={"checkpoint_threshold": "1MB"}) as connection:
        for table in ("one", "other"):
            connection.execute(f"CREATE TABLE {table} (round BIGINT, text VARCHAR)")

        def write() -> None:
            nonlocal committed
            cursor = connection.cursor()
            while not stop.is_set():
                number = committed + 1
                cursor.execute("BEGIN")
                cursor.execute(
                    "INSERT INTO one SELECT ?, md5(i || '-' || ?) FROM range(3000) t(i)", [number, number]
                )
                cursor.execute("INSERT INTO other FROM one WHERE round = ?", [number])
                for table in ("one", "other"):
                    cursor.execute(f"DELETE FROM {table} WHERE round = ?", [number - 20])
                cursor.execute("COMMIT")
                committed = number

        writer = threading.Thread(target=write)
        writer.start()
        seen = [0]
        try:
            for _ in range(6):
                wait_until(lambda: committed > seen[-1], "a round after the last copy")
                # A runner keeps a copy that took it long, so each copy is made by another.
                with contextlib.closing(SqlRunner(tmp_path / "sql")) as runner:
                    answer = runner.query(
                        source,
                        "SELECT count(*), count(DISTINCT round), max(round), bit_xor(hash(round, text)) FROM one "
                        "UNION ALL "
                        "SELECT count(*), count(DISTINCT round), max(round), bit_xor(hash(round, text)) FROM other",
                        version=None,
                    )
                first, second = msgspec.json.decode(answer)["rows"]
                assert first == second
                assert first[0] == 3000 * first[1]
                seen.append(first[2])
        finally:
            stop.set()
            writer.join()
    assert seen == sorted(set(seen))


def test_a_record_without_a_server_is_read_in_place(runner: SqlRunner, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "record.duckdb")) as connection:
        connection.execute("CREATE TABLE one AS FROM range(5)")
        with pytest.raises(StoreError) as locked:
            runner.query(tmp_path / "record.duckdb", "FROM one", version=1, copy=False)
        assert locked.value.code == "locked"
    answer = runner.query(tmp_path / "record.duckdb", "FROM one", version=1, copy=False)
    assert len(msgspec.json.decode(answer)["rows"]) == 5
    with pytest.raises(SqlError, match="Permission"):
        runner.query(tmp_path / "record.duckdb", "FROM read_text('/etc/passwd')", version=1, copy=False)


def test_a_disk_without_room_for_the_copy_is_reported(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "record.duckdb")).close()
    runner = SqlRunner(tmp_path / "sql", min_free_bytes=1 << 60)
    with pytest.raises(StoreError) as full:
        runner.query(tmp_path / "record.duckdb", "SELECT 1", version=1)
    assert full.value.code == "full"
    runner.close()


def test_it_leaves_no_file_next_to_the_record(running: Any) -> None:
    session = running.server.services.records.resolve(None)
    names = {name for name in os.listdir(running.folder / "sessions" / session) if not name.endswith(".tmp")}
    databases = {f"{name}.duckdb{end}" for name in ("record", "metrics") for end in ("", ".wal")}
    logs = {f"logs.sqlite{end}" for end in ("", "-wal", "-shm")}
    assert names <= databases | logs | {"about.json", "agents.json", "alerts.json"}
