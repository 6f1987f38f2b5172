"""Memory growth of a server process over hours, with sessions that come and go, and readers.

    python benchmarks/soak.py                                    # 100 minutes, 40 tasks a second
    python benchmarks/soak.py --minutes 10 --rate 20 --data-dir /tmp/soak
    python benchmarks/soak.py --minutes 20 --session-s 12        # ten times as many sessions

Two sessions at a time receive tasks for two minutes each (``--session-s``). Every other one reports its end, the others fall
silent. Retention keeps the newest 30, and the operator deletes one in four. Meanwhile clients read pages, run
SQL, watch over WebSockets, export and replay. Each minute the server's memory, descriptors, threads, disk
space and log size are printed and appended to a file. At the end a straight line is fitted through the
resident memory from minute 30 on. The exit status is 1 if a record lacks tasks that were sent, or a response
had the status 500.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from common import RayscopeServer, header, parse_arguments, table
from load import Cluster

#: Number of sessions that receive tasks at the same time.
LIVE = 2
#: Maximum number of sessions that retention keeps.
MAX_SESSIONS = 30
#: Tasks per submission, because branches submit tasks of their own.
TASKS_PER_SUBMISSION = 1.12
#: The line is fitted from this minute on.
FIT_FROM_MIN = 30.0
# Mean pauses between the requests of a client, in seconds.
READ_S = 0.5
SQL_S = 5.0
WHATIF_S = 10.0
EXPORT_S = 10.0
WATCH_S = 5.0
WATCHERS = 3

PAGES = (
    *(
        "sessions",
        "summary",
        "cluster",
        "recording",
        "jobs",
        "nodes",
        "actors",
        "workers",
        "tasks",
        "failures",
    ),
    *(
        "functions",
        "events",
        "logs",
        "memory",
        "alerts",
        "insights",
        "scheduling",
        "flow/logical",
        "flow/physical",
    ),
    *("flow/gantt", "flow/stack", "flow/flame", "flow/critical-path", "flow/range", "flow/activity"),
    *("metrics/names", "metrics/query?expr=rayscope_attempts", "find?q=embed"),
)
QUERIES = (
    "SELECT state, count(*) FROM tasks GROUP BY ALL",
    "SELECT func_name, median(total_end_ns - running_ns) FROM tasks GROUP BY ALL ORDER BY 2",
    "SELECT * FROM tasks LIMIT 1000",
)
CHANGES: tuple[dict[str, Any], ...] = (
    {"kind": "no_stragglers"},
    {"kind": "cpus", "count": 8},
    {"kind": "speed", "function": "embed", "times": 2},
)
TOPICS = ("cluster", "tasks", "metrics")
COLUMNS = (
    "minute",
    "rss_mb",
    "descriptors",
    "threads",
    "children",
    "disk_mb",
    "log_kb",
    "cpu_s",
    "sessions",
    "tasks",
)


@dataclass
class Session:
    """A session: its load, its start (ns), and its planned end (monotonic, s)."""

    cluster: Cluster
    began_ns: int
    until: float

    @property
    def name(self) -> str:
        """The session's name in Ray."""
        return self.cluster.session


@dataclass
class Soak:
    """The load and its clients, each in a separate thread until ``over`` is set."""

    url: str
    ingest_path: str
    operator: str
    rate: float
    session_s: float
    over: threading.Event = field(default_factory=threading.Event)
    sessions: list[Session] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    messages: int = 0

    @property
    def tasks(self) -> int:
        """Number of tasks sent."""
        return sum(session.cluster.tasks for session in self.sessions)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Status and body of a request on a new connection. Status 0: no response."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content else {}
        if method == "DELETE":
            headers["X-Rayscope-Operator"] = self.operator
        status, answer = 0, b""
        with suppress(OSError, http.client.HTTPException):
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        connection.close()
        self.statuses[status] += 1
        if status in (0, 400, 422, 500):
            what = "ingest" if "/ingest/" in path else path
            print(f"  {status or 'no answer'}: {method} {what} {answer[:200]!r}", flush=True)
        return status, answer

    def record(self) -> None:
        """Send the events of the live sessions, one second at a time. Begin and end sessions."""
        live: list[Session] = []
        next_begin = next_round = time.monotonic()
        while not self.over.is_set():
            if live and time.monotonic() >= live[0].until:
                self.end(live.pop(0))
            if time.monotonic() >= next_begin:
                next_begin += self.session_s / LIVE
                live.append(self.begin())
            for session in live:
                self.send(session.cluster)
            next_round += 1
            self.over.wait(max(0.0, next_round - time.monotonic()))
        for session in live:
            self.end(session)

    def begin(self) -> Session:
        """Begin a session."""
        number = len(self.sessions)
        name = f"session_{datetime.now(timezone.utc):%Y-%m-%d_%H-%M-%S}_{number:06}_{os.getpid()}"
        per_round = max(1, round(self.rate / LIVE / TASKS_PER_SUBMISSION))
        cluster = Cluster(nodes=1, workers=4, tasks_a_round=per_round, seed=number, session=name)
        self.sessions.append(Session(cluster, time.time_ns(), time.monotonic() + self.session_s))
        return self.sessions[-1]

    def send(self, cluster: Cluster) -> None:
        """Send the events of one second, until the server acknowledges them."""
        for body, _ in [*cluster.round()[0], *cluster.rest()[0]]:
            while self.request("POST", self.ingest_path, body)[0] != 204 and not self.over.wait(0.5):
                pass

    def end(self, session: Session) -> None:
        """Report the end of every other session. Delete every fourth once eight newer ones have begun."""
        number = self.sessions.index(session)
        if number % 2:
            report = {
                "session": session.name,
                "pid": 1,
                "began_ns": session.began_ns,
                "ended_ns": time.time_ns(),
            }
            path = self.ingest_path.replace("ray-events", "program-end")
            self.request("POST", path, {**report, "exit_code": 0, "cluster_is_gone": True})
        if number % 4 == 0 and number >= 8:
            self.request("DELETE", f"/api/v1/sessions/{self.sessions[number - 8].name}?force=true")

    def a_session(self) -> str:
        """A session that is probably recorded. Half of the time a live one."""
        newest = LIVE if random.random() < 0.5 else MAX_SESSIONS
        return random.choice(self.sessions[-newest:]).name

    def read(self) -> None:
        """Read a page."""
        page = random.choice(PAGES)
        session = "" if page == "sessions" else f"{'&' if '?' in page else '?'}session={self.a_session()}"
        self.request("GET", f"/api/v1/{page}{session}")

    def sql(self) -> None:
        """Run a query."""
        self.request("POST", "/api/v1/sql", {"sql": random.choice(QUERIES), "session": self.a_session()})

    def what_if(self) -> None:
        """Replay a session with a change."""
        self.request(
            "POST", "/api/v1/what-if", {"session": self.a_session(), "changes": [random.choice(CHANGES)]}
        )

    def export(self) -> None:
        """Export a session."""
        form = random.choice(("perfetto", "speedscope", "parquet"))
        self.request("GET", f"/api/v1/export?format={form}&session={self.a_session()}")

    def watch(self) -> None:
        """Watch a few topics of a session for a few seconds."""
        until, session = time.monotonic() + random.uniform(2, 20), self.a_session()
        with (
            suppress(OSError, WebSocketException, TimeoutError),
            connect(self.url.replace("http", "ws") + "/ws/realtime") as socket,
        ):
            socket.send(json.dumps({"subscribe": [{"topic": topic, "session": session} for topic in TOPICS]}))
            while (rest := until - time.monotonic()) > 0:
                socket.recv(timeout=rest)
                self.messages += 1

    def start(self) -> list[threading.Thread]:
        """Start the load and the clients."""
        clients = [(self.read, READ_S), (self.sql, SQL_S), (self.what_if, WHATIF_S), (self.export, EXPORT_S)]
        clients += [(self.watch, WATCH_S)] * WATCHERS

        def repeat(act: Callable[[], None], mean_s: float) -> None:
            while not self.over.wait(random.expovariate(1 / mean_s)):
                if self.sessions:
                    act()

        threads = [threading.Thread(target=self.record, daemon=True)]
        threads += [threading.Thread(target=repeat, args=each, daemon=True) for each in clients]
        for thread in threads:
            thread.start()
        return threads

    def missing_tasks(self) -> dict[str, int]:
        """Sessions whose records lack tasks that were sent, with the number of these."""
        items = json.loads(self.request("GET", "/api/v1/sessions?limit=1000")[1])["items"]
        recorded = {row["session"]: row["tasks"] for row in items}
        sent = {each.name: each.cluster.tasks for each in self.sessions if each.name in recorded}
        return {name: count - recorded[name] for name, count in sent.items() if count != recorded[name]}


def sample(server: RayscopeServer, folder: Path, log: Path, soak: Soak, began: float) -> dict[str, Any]:
    """The figures of one minute."""
    process, disk = server.process, 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            disk += path.stat().st_size
    return {
        "minute": round((time.monotonic() - began) / 60, 2),
        "rss_mb": round(process.memory_info().rss / 2**20, 1),
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "children": len(process.children()),
        "disk_mb": round(disk / 2**20, 1),
        "log_kb": round(log.stat().st_size / 1024, 1),
        "cpu_s": round(server.cpu(), 1),
        "sessions": len(soak.sessions),
        "tasks": soak.tasks,
        "statuses": dict(soak.statuses),
        "messages": soak.messages,
        "load": round(os.getloadavg()[0], 1),
    }


def slope(samples: list[dict[str, Any]]) -> float | None:
    """Growth of the resident memory from minute 30 on, MB per hour. None for two samples or fewer."""
    late = [(one["minute"] / 60, one["rss_mb"]) for one in samples if one["minute"] >= FIT_FROM_MIN]
    return float(np.polyfit(*zip(*late, strict=True), 1)[0]) if len(late) > 2 else None


def measure(server: RayscopeServer, folder: Path, log: Path, args: argparse.Namespace) -> int:
    """Run the load, print and store the samples. Returns the exit status."""
    soak = Soak(
        server.url,
        urlsplit(server.ingest_url).path,
        (folder / "operator").read_text().strip(),
        args.rate,
        args.session_s,
    )
    began, samples = time.monotonic(), []
    threads = soak.start()
    print("| " + " | ".join((*COLUMNS, "load")) + " |", flush=True)
    for minute in range(int(args.minutes) + 1):
        time.sleep(max(0.0, began + 60 * minute - time.monotonic()))
        samples.append(sample(server, folder, log, soak, began))
        with args.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(samples[-1]) + "\n")
        print("| " + " | ".join(str(samples[-1][name]) for name in (*COLUMNS, "load")) + " |", flush=True)
    soak.over.set()
    for thread in threads:
        thread.join(120)
    server.wait_until_merged(quiet=3)
    missing, growth = soak.missing_tasks(), slope(samples)
    rows = [
        ["tasks sent, a second", f"{soak.tasks:,}, {soak.tasks / (samples[-1]['minute'] * 60):.1f}"],
        ["sessions, WebSocket messages", f"{len(soak.sessions)}, {soak.messages:,}"],
        [
            "answers by status",
            ", ".join(f"{status}: {count:,}" for status, count in sorted(soak.statuses.items())),
        ],
        ["tasks missing from records", str(missing or 0)],
        ["resident memory from minute 30 on", "too short" if growth is None else f"{growth:+.1f} MB an hour"],
    ]
    print("\n" + table(["What", "Figure"], rows))
    return 1 if missing or soak.statuses[500] else 0


def main() -> int:
    """Parse the arguments, run, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=100)
    parser.add_argument("--rate", type=float, default=40, help="tasks a second")
    parser.add_argument("--session-s", type=float, default=120, help="how long a session receives tasks, s")
    parser.add_argument("--data-dir", type=Path, help="an empty folder; default: a temporary one")
    parser.add_argument(
        "--output", type=Path, default=Path("soak.jsonl"), help="the samples are appended to it"
    )
    args = parse_arguments(parser, minutes=1.0)
    print(header("Soak", ["rayscope", "duckdb", "pyarrow"]), flush=True)
    with tempfile.TemporaryDirectory(prefix="rayscope-soak-") as temp:
        folder, log = args.data_dir or Path(temp) / "data", Path(temp) / "log"
        with log.open("wb") as stderr:
            server = RayscopeServer(folder, log=stderr, RAYSCOPE_MAX_SESSIONS=str(MAX_SESSIONS))
        try:
            return measure(server, folder, log, args)
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
