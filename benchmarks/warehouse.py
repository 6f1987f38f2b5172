"""Time to load sessions into a warehouse, and to query all of them there.

    python benchmarks/warehouse.py                                # 10 sessions of 20,000 attempts
    python benchmarks/warehouse.py --sessions 50 --attempts 200000

The sessions are made up: ten functions, and one attempt in a hundred failed. The warehouse is chDB,
ClickHouse's engine in this process, on this machine's disk. With ``--warehouse`` it is another one, whose
database must be empty. Each query runs three times, and the fastest counts. For comparison, the same query
runs on the sessions' DuckDB files, which are opened one after the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb

from common import header, parse_arguments, table
from rayscope.storage import schema
from rayscope.storage.about import About
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.merge import PART_COLUMNS
from rayscope.warehouse import migrate
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.load import load
from rayscope.warehouse.schema import Layout
from rayscope.warehouse.servers import publishing

_DAY_NS = 86400 * 10**9
_BEGIN_NS = 1_764_000_000 * 10**9
#: Description -> query in ClickHouse's SQL over all sessions, and in DuckDB's over one.
_QUESTIONS = {
    "attempts, failures and seconds of each run": (
        "SELECT session, count(), countIf(state = 'FAILED'), sum(duration_ns) FROM tasks GROUP BY session",
        "SELECT count(*), count(*) FILTER (state = 'FAILED'), sum(duration_ns) FROM tasks",
    ),
    "median duration of one function by run": (
        "SELECT session, quantile(0.5)(duration_ns) FROM tasks WHERE func_name = 'f3' GROUP BY session",
        "SELECT quantile_cont(duration_ns, 0.5) FROM tasks WHERE func_name = 'f3'",
    ),
    "tasks whose error has a word": (
        "SELECT session, task_id, error_message FROM tasks WHERE error_message LIKE '%needle%'",
        "SELECT task_id, error_message FROM tasks WHERE error_message LIKE '%needle%'",
    ),
}


def make_session(folder: Path, number: int, attempts: int) -> tuple[Path, About]:
    """The record of an ended session, and the facts about it."""
    begin_ns = _BEGIN_NS + number * _DAY_NS
    day = time.strftime("%Y-%m-%d", time.gmtime(begin_ns / 1e9))
    session = f"session_{day}_10-00-00_000000_{number}"
    record = folder / session / "record.duckdb"
    record.parent.mkdir(parents=True)
    SessionFile(record).close()
    known = {
        "task_hi": f"hash(i * 1000 + {number})",
        "task_lo": "'00000000000000000000000001000000'",
        "attempt": "0",
        "name": "'f' || i % 10",
        "func_name": "'f' || i % 10",
        "type": "'NORMAL_TASK'",
        "job_id": "'01000000'",
        "node_id": "'node' || i % 20",
        "worker_id": "'worker' || i % 200",
        "worker_pid": "i % 200",
        "pending_args_avail_ns": f"{begin_ns} + i * 1000000",
        "pending_node_assignment_ns": f"{begin_ns} + i * 1000000 + 20000",
        "submitted_to_worker_ns": f"{begin_ns} + i * 1000000 + 300000",
        "running_ns": f"{begin_ns} + i * 1000000 + 900000",
        "finished_ns": f"CASE WHEN i % 100 > 0 THEN {begin_ns} + i * 1000000 + 900000 + hash(i) % 10000000 END",
        "failed_ns": f"CASE WHEN i % 100 = 0 THEN {begin_ns} + i * 1000000 + 5000000 END",
        "error_ns": f"CASE WHEN i % 100 = 0 THEN {begin_ns} + i * 1000000 + 5000000 END",
        "error_type": "CASE WHEN i % 100 = 0 THEN 'TASK_EXECUTION_EXCEPTION' END",
        "error_message": "CASE WHEN i % 1000 = 0 THEN 'a needle in it' WHEN i % 100 = 0 THEN 'ValueError' END",
    }
    columns = ", ".join(f"({known.get(name, 'NULL')})::{kind} AS {name}" for name, kind in PART_COLUMNS)
    with duckdb.connect(str(record)) as db:
        db.execute(
            schema.insert_attempts(f"(SELECT {columns}, NULL::BIGINT AS path_id FROM range({attempts}) t(i))")
        )
        db.execute("INSERT INTO meta VALUES ('last_ns', ?)", [str(begin_ns + 3600 * 10**9)])
    about = About(session, first_ns=begin_ns, last_ns=begin_ns + 3600 * 10**9, host="head", attempts=attempts)
    return record, about


def fastest(ask: Callable[[], Any]) -> float:
    """Duration of the fastest of three runs, s."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return min(times)


def ask_files(records: list[Path], query: str) -> None:
    """Run one query on all files."""
    for record in records:
        with duckdb.connect(str(record), read_only=True, config={"threads": 2}) as db:
            db.execute(query).fetchall()


def disk_bytes(warehouse: Warehouse) -> int:
    """Disk space of the warehouse's rows, bytes."""
    query = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()"
    return int(warehouse.rows(query)[0][0])


def main() -> int:
    """Create, load, and query."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--attempts", type=int, default=20_000, help="of each session")
    parser.add_argument("--warehouse", help="URL (default: chDB in a new folder)")
    args = parse_arguments(parser, sessions=2, attempts=1000)
    print(header("The warehouse", ["rayscope", "duckdb", "chdb-core", "clickhouse-connect"]))
    with tempfile.TemporaryDirectory(prefix="rsw-") as temp:
        made = [make_session(Path(temp) / "sessions", n, args.attempts) for n in range(args.sessions)]
        records = [record for record, _ in made]
        url = args.warehouse or f"chdb://{temp}/warehouse"
        with connect(url, create=True) as warehouse, ExitStack() as stack:
            migrate.init(warehouse, Layout())
            publisher = stack.enter_context(publishing("benchmark", url))
            loads = []
            for again in (False, True):
                began = time.perf_counter()
                for record, about in made:
                    load(warehouse, publisher, record, about, again=again)
                loads.append(time.perf_counter() - began)
            asked = {
                name: (
                    fastest(lambda query=all_sql: warehouse.rows(query)),
                    fastest(lambda query=one_sql: ask_files(records, query)),
                )
                for name, (all_sql, one_sql) in _QUESTIONS.items()
            }
            warehouse.run("OPTIMIZE TABLE raw_attempts FINAL")
            merged = {
                name: fastest(lambda query=all_sql: warehouse.rows(query))
                for name, (all_sql, _) in _QUESTIONS.items()
            }
            stored = disk_bytes(warehouse)
        files = sum(record.stat().st_size for record in records)
    total = args.sessions * args.attempts
    print(f"{args.sessions} sessions of {args.attempts:,} attempts\n")
    print(
        table(
            ["what", "figure"],
            [
                ("load", f"{loads[0]:.1f} s, {total / loads[0]:,.0f} attempts/s"),
                ("load the same again", f"{loads[1]:.1f} s, {total / loads[1]:,.0f} attempts/s"),
                ("bytes an attempt in the warehouse, merged", f"{stored / total:.0f}"),
                ("bytes an attempt in DuckDB's files", f"{files / total:.0f}"),
            ],
        )
    )
    print(
        table(
            ["question", "loaded twice", "merged", "files one by one", "ratio to merged"],
            [
                (
                    name,
                    f"{there:.3f} s",
                    f"{merged[name]:.3f} s",
                    f"{here:.3f} s",
                    f"{here / merged[name]:.1f}",
                )
                for name, (there, here) in asked.items()
            ],
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
