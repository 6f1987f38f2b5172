"""Floods of costly requests and bodies: refused beyond a bound, and `/api/health` answers meanwhile."""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from harness import Load, Server, wait_for

#: How often `/api/health` is asked, and how long its answers may take, s.
_EVERY_S, _P99_S = 0.1, 1.0
#: Requests of a flood at a time.
_AT_ONCE = 40
#: An answer of these is no fault: done, refused as busy, too large, or malformed.
_EXPECTED = {200, 204, 400, 413, 503}

Request = tuple[str, str, bytes | None, dict[str, str]]
_JSON = {"Content-Type": "application/json"}


def floods(seconds: int) -> list[str]:
    """Each flood for some seconds, over a session of 30,000 tasks."""
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        server = Server(Path(folder))
        server.start()
        load = Load(server, threads=4, pause_s=0).start()
        try:
            wait_for(lambda: load.tasks >= 30_000, "the tasks", 900)
            load.finish(900)
            wait_for(lambda: server.get("/api/health")[1].get("pending_batches") == 0, "the merge", 900)
            faults = []
            for name, requests in _floods(server, load.session).items():
                faults += [f"{name}: {fault}" for fault in _flood(server, name, requests, seconds)]
            return faults + load.losses()
        finally:
            load.abandon()
            server.stop()


def _floods(server: Server, session: str) -> dict[str, Callable[[int], Request]]:
    jobs = [row[0] for row in server.rows("SELECT DISTINCT job_id FROM tasks", session)]
    functions = server.get(f"/api/v1/summary?session={session}")[1]["functions"]
    slowest = functions[0]["func_name"]

    def whatif(number: int) -> Request:
        change = {"kind": "speed", "function": slowest, "times": 0.5 + number / 10_000}
        body = {"session": session, "job_id": jobs[number % len(jobs)], "changes": [change]}
        return "POST", "/api/v1/what-if", json.dumps(body).encode(), _JSON

    def insights(number: int) -> Request:
        # `long` makes two questions of one.
        path = f"/api/v1/insights?session={session}&job_id={jobs[number % len(jobs)]}&long={number % 2}"
        return "GET", path, None, {}

    def sql(number: int) -> Request:
        text = f"SELECT count(*) + {number} FROM tasks a, tasks b WHERE a.name < b.name"
        return "POST", "/api/v1/sql", json.dumps({"session": session, "sql": text}).encode(), _JSON

    def export(number: int) -> Request:
        return "GET", f"/api/v1/export?session={session}&format=perfetto&since_ns={number}", None, {}

    numbers = zlib.compress(b"[" + b"1," * (31 << 20), 1)
    objects = zlib.compress(b"[" + b"{}," * (21 << 20) + b"{}]", 1)
    blanks = zlib.compress(b"[" + b" " * (63 << 20) + b"]", 1)

    def bodies(number: int) -> Request:
        body = (numbers, objects, blanks)[number % 3]
        return "POST", server.ingest_path, body, {**_JSON, "Content-Encoding": "deflate"}

    return {"what-ifs": whatif, "insights": insights, "SQL": sql, "exports": export, "bodies": bodies}


def _flood(server: Server, name: str, request: Callable[[int], Request], seconds: int) -> Iterator[str]:
    """Send 40 such requests at a time, and measure `/api/health` meanwhile."""
    ended = threading.Event()
    statuses: dict[int, int] = {}
    numbers = iter(range(1, 1_000_000))
    lock = threading.Lock()

    def send() -> None:
        while not ended.is_set():
            with lock:
                method, path, body, headers = request(next(numbers))
            status = 0
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
                try:
                    connection.request(method, path, body, headers)
                    answer = connection.getresponse()
                    status = answer.status
                    answer.read()
                finally:
                    connection.close()
            with lock:
                statuses[status] = statuses.get(status, 0) + 1
            ended.wait(0.2)

    threads = [threading.Thread(target=send, daemon=True) for _ in range(_AT_ONCE)]
    for thread in threads:
        thread.start()
    took = list(_health(server, seconds))
    ended.set()
    for thread in threads:
        thread.join(180)
    took.sort()
    p50, p99, most = (took[int(share * (len(took) - 1))] for share in (0.5, 0.99, 1))
    answers = dict(sorted(statuses.items()))
    health = f"health {p50:.3f}/{p99:.3f}/{most:.3f} s (p50/p99/max of {len(took)})"
    print(f"  {name}: {health}, answers {answers}", flush=True)
    if p99 > _P99_S:
        yield f"/api/health took {p99:.1f} s (p99)"
    if odd := {status: count for status, count in statuses.items() if status not in _EXPECTED}:
        yield f"answers {odd}"
    if not server.alive():
        yield f"the server ended: {server.log()[-600:]}"


def _health(server: Server, seconds: int) -> Iterator[float]:
    """How long `/api/health` takes, requested every 100 ms, however long the last answer took."""
    took: list[float] = []

    def measure() -> None:
        began = time.monotonic()
        with suppress(OSError, http.client.HTTPException):
            server.send("GET", "/api/health", None)
        took.append(time.monotonic() - began)

    threads = []
    for _ in range(int(seconds / _EVERY_S)):
        threads.append(threading.Thread(target=measure, daemon=True))
        threads[-1].start()
        time.sleep(_EVERY_S)
    for thread in threads:
        thread.join(120)
    yield from took
