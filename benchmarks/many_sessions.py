"""Start time, listing time and memory of a server whose data directory has many ended sessions.

    python benchmarks/many_sessions.py                       # 10, 100 and 500 sessions
    python benchmarks/many_sessions.py --sessions 2000

One small session is recorded and copied under other names. "Records open" is the number of records that the
server holds open right after it returned the list.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from common import RayscopeServer, header, ms, parse_arguments, table
from load import Cluster
from rayscope.storage.about import About, unseal, write_about
from rayscope.storage.catalog import RECORD

COLUMNS = (
    "sessions",
    "start",
    "first list",
    "next list",
    "list, kB",
    "RSS at start",
    "RSS after lists",
    "records open",
)


def post(url: str, body: bytes) -> None:
    """Send a batch of events."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("POST", parts.path, body, {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    if status != 204:
        raise RuntimeError(f"a batch was answered with {status}")


def record(folder: Path) -> Path:
    """Record one session of a few hundred tasks. Returns its folder."""
    server = RayscopeServer(folder)
    cluster = Cluster(nodes=1, workers=4, tasks_a_round=200)
    for body, _ in [*cluster.round()[0], *cluster.rest()[0]]:
        post(server.ingest_url, body)
    server.wait_until_merged(quiet=1)
    server.stop()
    return folder / "sessions" / cluster.session


def copy(recorded: Path, folder: Path, count: int) -> None:
    """Create a data directory with copies of a session that ended one after another."""
    about = msgspec.json.decode(unseal((recorded / "about.json").read_bytes()), type=About)
    for number in range(count):
        target = folder / "sessions" / f"session_2026-01-01_00-00-00_{number:06}_1"
        shutil.copytree(recorded, target)
        ended_ns = about.last_ns - number * 10**9
        write_about(target, msgspec.structs.replace(about, last_ns=ended_ns, ended_ns=ended_ns), sync=False)


def records_open(pid: int) -> int:
    """Number of records that a process has open."""
    folder = Path(f"/proc/{pid}/fd")
    return len({target for fd in folder.iterdir() if (target := os.readlink(fd)).endswith(RECORD)})


def measure(folder: Path, count: int) -> list[Any]:
    """Measure a data directory. Returns its row of the table."""
    began = time.monotonic()
    server = RayscopeServer(folder, RAYSCOPE_MAX_SESSIONS=str(count + 1))
    try:
        started_s, at_start = time.monotonic() - began, server.rss()
        took, answer = [], b""
        for _ in range(2):
            began = time.monotonic()
            parts = urlsplit(server.url)
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=600)
            connection.request("GET", f"/api/v1/sessions?limit={count}")
            answer = connection.getresponse().read()
            took.append(time.monotonic() - began)
        if len(json.loads(answer)["items"]) != count:
            raise RuntimeError("the list is not complete")
        is_open = records_open(server.process.pid)
        sizes = f"{at_start / 2**20:.0f} MB", f"{server.rss() / 2**20:.0f} MB"
        return [count, f"{started_s:.1f} s", ms(took[0]), ms(took[1]), len(answer) >> 10, *sizes, is_open]
    finally:
        server.stop()


def main() -> int:
    """Parse the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, action="append", help="may be repeated")
    args = parse_arguments(parser, sessions=[5])
    print(header("Many sessions", ["rayscope", "duckdb"]), flush=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="rayscope-many-") as temp:
        recorded = record(Path(temp) / "one")
        for count in args.sessions or (10, 100, 500):
            folder = Path(temp) / str(count)
            copy(recorded, folder, count)
            rows.append(measure(folder, count))
            shutil.rmtree(folder)
    print(table(COLUMNS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
