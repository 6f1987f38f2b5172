"""Query times of a warehouse with many sessions, and the time to open one of them on a server.

    python benchmarks/fleet.py                       # 100 sessions of 100,000 attempts, and one of 1,000,000
    python benchmarks/fleet.py --sessions 1000       # 100 million attempts, some 10 GB of disk

Sessions are made up (see warehouse.py), one for each of 30 days. They are loaded as by a server. The others
are copies that ClickHouse creates, under other names. The warehouse is chDB, ClickHouse's engine in this
process, on this machine's disk. It is queried like by `rayscope sql --all`, once each day is one part:
ClickHouse merges a day ten minutes after the last load. Until then, queries that read all attempts take many
times as long.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from common import header, ms, parse_arguments, quantile, table
from rayscope.storage.session_file import SessionFile
from rayscope.warehouse import migrate
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.load import load
from rayscope.warehouse.news import make_record
from rayscope.warehouse.query import run_sql
from rayscope.warehouse.schema import TABLES, Layout
from rayscope.warehouse.servers import publishing
from warehouse import disk_bytes, make_session

_DAYS = 30
_LIST = "SELECT session, name, script, first_ns, last_ns, attempts, failed FROM sessions ORDER BY first_ns DESC LIMIT 100"
_FILTER = (
    "SELECT session, name, attempts FROM sessions WHERE cluster = 'head' AND session LIKE '%_7%' "
    "ORDER BY first_ns DESC LIMIT 100"
)
_TREND_OF_SESSIONS = "SELECT day, count(), sum(attempts), sum(failed), quantile(0.5)(last_ns - first_ns) FROM sessions GROUP BY day"
_TREND_OF_ATTEMPTS = (
    "SELECT toDate(fromUnixTimestamp64Nano(created_ns)) AS day, quantile(0.5)(duration_ns), countIf(state = 'FAILED') "
    "FROM tasks WHERE func_name = 'f3' GROUP BY day"
)

#: (description, query, number of repetitions).
_QUESTIONS = (
    ("list the 100 newest sessions", _LIST, 20),
    ("filter sessions by name", _FILTER, 20),
    ("trend of sessions by day", _TREND_OF_SESSIONS, 20),
    ("trend of a function's median by day", _TREND_OF_ATTEMPTS, 5),
)


def times(ask: Callable[[], Any], number: int) -> str:
    """The median and the 95th percentile over ``number`` runs."""
    found = []
    for _ in range(number):
        began = time.perf_counter()
        ask()
        found.append(time.perf_counter() - began)
    return f"{ms(quantile(found, 0.5))}, p95 {ms(quantile(found, 0.95))}"


def ask(url: str, sql: str) -> list[Any]:
    """The rows of a query."""
    with connect(url) as warehouse:
        return run_sql(warehouse, sql, limit=1000, timeout_s=60).rows


def multiply(warehouse: Warehouse, base: list[str], sessions: int) -> None:
    """Copy the base sessions until there are ``sessions``, and merge each day into one part."""
    for number, session in enumerate(base):
        copies = f"SELECT number AS copied FROM numbers({sessions}) WHERE number >= {len(base)} AND number % {len(base)} = {number}"
        for one in TABLES:
            # In the subquery, or the condition would apply to the new name.
            warehouse.run(
                f"INSERT INTO {one.name} SELECT * EXCEPT copied "
                f"REPLACE (concat('{session}_', toString(copied)) AS session) "
                f"FROM ({copies}) AS copies CROSS JOIN (SELECT * FROM {one.name} WHERE session = '{session}') AS rows"
            )
        print(f"day {number + 1} of {len(base)} copied", file=sys.stderr, flush=True)
    for one in TABLES:
        print(f"merging {one.name}", file=sys.stderr, flush=True)
        warehouse.run(f"OPTIMIZE TABLE {one.name} FINAL")


def main() -> int:
    """Create, load, copy, query, and open."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--attempts", type=int, default=100_000, help="of each session")
    parser.add_argument(
        "--opened", type=int, default=1_000_000, help="attempts of the session that is opened"
    )
    parser.add_argument("--folder", help="where to put the warehouse (default: a temporary folder)")
    args = parse_arguments(parser, sessions=2, attempts=1000, opened=2000)
    print(header("A fleet's warehouse", ["rayscope", "duckdb", "chdb-core", "clickhouse-connect"]))
    with tempfile.TemporaryDirectory(prefix="rsf-", dir=args.folder) as temp:
        folder = Path(temp)
        url = f"chdb://{temp}/warehouse"
        with connect(url, create=True) as warehouse, ExitStack() as stack:
            migrate.init(warehouse, Layout())
            publisher = stack.enter_context(publishing("benchmark", url))
            base = []
            for day in range(min(_DAYS, args.sessions)):
                record, about = make_session(folder / "sessions", day, args.attempts)
                load(warehouse, publisher, record, about)
                base.append(about.session)
            began = time.perf_counter()
            multiply(warehouse, base, args.sessions)
            copied_s = time.perf_counter() - began
            record, about = make_session(folder / "sessions", _DAYS, args.opened)
            load(warehouse, publisher, record, about)
            ((sessions, total),) = warehouse.rows("SELECT uniqExact(session), count() FROM raw_attempts")
            if (sessions, total) != (args.sessions + 1, args.sessions * args.attempts + args.opened):
                raise RuntimeError(f"{total:,} attempts in {sessions:,} sessions")
            rows = [
                (
                    "attempts",
                    f"{total:,} in {sessions:,} sessions, {disk_bytes(warehouse) / 2**30:.1f} GiB",
                ),
                ("copying and merging them inside ClickHouse", f"{copied_s:.0f} s"),
            ]
            for what, sql, number in _QUESTIONS:
                rows.append((what, times(partial(ask, url, sql), number)))
            made = folder / "opened" / "record.duckdb"
            began = time.perf_counter()
            make_record(warehouse, about, made, folder / "work", "512MB")
            rows.append(
                (f"open a session of {args.opened:,} attempts", f"{time.perf_counter() - began:.1f} s")
            )
            file = SessionFile(made)
            opened = file.count_attempts()
            file.close()
            if opened != args.opened:
                raise RuntimeError(f"{opened:,} attempts instead of {args.opened:,}")
    print(table(["what", "figure"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
