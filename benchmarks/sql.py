"""Latency of SQL queries: the first of a session, later ones, and those of a session that is being written.

    python benchmarks/sql.py --tasks 1000000

The first query starts a process and copies the record. Later ones reuse both. See
docs/explanation/decisions/0010-sql-in-a-process.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import HERE, Http, RayscopeServer, Watched, header, ms, parse_arguments, quantile, table
from views import SESSION, generate

QUERIES = {
    "SELECT 1": "SELECT 1",
    "sums by function": "SELECT func_name, count(*), sum(duration_ns) FROM tasks GROUP BY ALL",
    "phases by function": "SELECT func_name, sum(waiting_node_ns), sum(executing_ns) FROM phases GROUP BY ALL",
    "10,000 tasks": "FROM tasks LIMIT 10000",
}


class Health(threading.Thread):
    """Requests the server's health continuously, to measure the effect on other clients."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url, self._done = url, threading.Event()
        self.latencies: list[float] = []

    def run(self) -> None:
        """Send a request every 20 ms until :meth:`stop`."""
        client = Http(self._url)
        while not self._done.wait(0.02):
            began = time.monotonic()
            client.get("/api/health")
            self.latencies.append(time.monotonic() - began)

    def stop(self) -> list[float]:
        """The latencies, s."""
        self._done.set()
        self.join()
        return self.latencies


def ask(client: Http, sql: str, session: str | None) -> float:
    """Latency of a query, s."""
    began = time.monotonic()
    client.post("/api/v1/sql", {"sql": sql, "limit": 10_000, "session": session})
    return time.monotonic() - began


def rows_of(server: RayscopeServer, session: str, rounds: int, load: Watched | None) -> list[list[str]]:
    """The first and later queries, with the latencies of other clients meanwhile."""
    client, rows = Http(server.url), []
    health = Health(server.url)
    health.start()
    rows.append(["first, SELECT 1", "1", *[ms(ask(client, "SELECT 1", session))] * 2])
    for name, sql in QUERIES.items():
        if load is not None:
            time.sleep(1.5)  # wait for a write
        took = [ask(client, sql, session) for _ in range(rounds)]
        rows.append([name, str(rounds), ms(quantile(took, 0.5)), ms(max(took))])
    latencies = health.stop()
    rows.append(
        ["/api/health meanwhile", str(len(latencies)), ms(quantile(latencies, 0.5)), ms(max(latencies))]
    )
    client.close()
    return rows


def main() -> int:
    """Generate, serve, query, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    args = parse_arguments(parser, tasks=10_000, rounds=1)
    print(header("SQL", ["rayscope", "duckdb"]))
    columns = ["question", "asked", "p50", "max"]
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), args.tasks)
        (record,) = Path(folder).glob("sessions/*/record.duckdb")
        print(f"{args.tasks:,} tasks, {record.stat().st_size / 1e6:.0f} MB\n")
        server = RayscopeServer(Path(folder))
        try:
            print("Nothing is written:\n")
            print(table(columns, rows_of(server, SESSION, args.rounds, None)))
            load = Watched(
                [
                    *(sys.executable, str(HERE / "load.py"), server.ingest_url, "--session", SESSION),
                    *("--seconds", "60", "--rate", "5000", "--nodes", "2"),
                ]
            )
            json.loads(load.line())
            time.sleep(3)
            print("5,000 events a second come in:\n")
            print(table(columns, rows_of(server, SESSION, args.rounds, load)))
            load.stop()
            print(f"Server with the processes for SQL: {server.peak_rss / 1e6:.0f} MB at most")
        finally:
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
