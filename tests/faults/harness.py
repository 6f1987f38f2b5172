"""Shared by the fault campaigns: the real server in a process, a load that sends as Ray does, and the count.

A campaign returns the faults that it found, one per line. ``run.py`` runs all of them.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from load import Cluster  # noqa: E402 - benchmarks is no package
from tests.cluster import free_port  # noqa: E402

#: Until a server must answer. Many servers and tests may share the machine.
START_S = 120.0


class Skip(Exception):
    """The campaign cannot run here; why."""


class Server:
    """``rayscope serve`` in a process of its own, always on the same port."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {**os.environ, **{f"RAYSCOPE_{name.upper()}": value for name, value in settings.items()}}
        self.limits: dict[int, int] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the server is used

    def start(self, *, wait: bool = True) -> None:
        """Start it; ``wait``: until it answers. Raises RuntimeError if it ends instead."""

        def limit() -> None:
            for kind, most in self.limits.items():
                resource.setrlimit(kind, (most, most))

        command = [sys.executable, "-m", "rayscope.cli", "serve", "--data-dir", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            env=self.env,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=limit if self.limits else None,
        )
        if wait:
            wait_for(lambda: self.answers() or not self.alive(), "the server to answer", START_S)
            if not self.alive():
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.log()[-600:]}")

    def alive(self) -> bool:
        """Whether its process lives."""
        return self.process is not None and self.process.poll() is None

    def answers(self) -> bool:
        """Whether it says that it is there."""
        with suppress(OSError, http.client.HTTPException, ValueError):
            return self.get("/api/health")[0] == 200
        return False

    def kill(self, number: int = signal.SIGKILL, timeout_s: float = 120) -> int:
        """Send a signal and wait for its end; the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout_s)

    def stop(self) -> None:
        """Kill it if it is there still."""
        if self.alive():
            self.kill()

    def log(self) -> str:
        """The output of the server."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    @property
    def ingest_path(self) -> str:
        """Where events are posted to."""
        return f"/api/ingest/{(self.folder / 'key').read_text().strip()}/ray-events"

    def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        return self.request("GET", path)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The same for any method."""
        status, content = self.send(method, path, None if body is None else json.dumps(body).encode())
        with suppress(ValueError):
            return status, json.loads(content)
        return status, content

    def send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Status and bytes of an answer. Raises OSError or HTTPException."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def rows(self, sql: str, session: str) -> list[list[Any]]:
        """The rows of a query. Raises RuntimeError."""
        status, answer = self.request(
            "POST", "/api/v1/sql", {"sql": sql, "session": session, "limit": 100_000}
        )
        if status != 200:
            raise RuntimeError(f"SQL on {session}: {status} {answer}")
        rows: list[list[Any]] = answer["rows"]
        return rows


class Load:
    """Tasks of one session, sent by some threads until each batch is acknowledged, one in ten twice."""

    def __init__(self, server: Server, *, number: int = 1, threads: int = 2, pause_s: float = 0.2) -> None:
        self.session = f"session_2026-01-0{number}_00-00-00_000000_{os.getpid()}"
        self.server, self._pause_s = server, pause_s
        self._cluster = Cluster(nodes=2, workers=4, tasks_a_round=60, seed=number, session=self.session)
        self._random = random.Random(number)
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._sending = 0
        self._over = self._abandoned = False
        self.acknowledged = self.refused = 0
        self.statuses: dict[int, int] = {}
        #: A batch that was acknowledged.
        self.sample = b"[]"
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def start(self) -> Load:
        """Begin to send."""
        for thread in self._threads:
            thread.start()
        return self

    def _next(self) -> bytes | None:
        with self._lock:
            if not self._waiting:
                if self._over:
                    return None
                batches = [body for node in self._cluster.round() for body, _ in node]
                self._waiting += batches
                self._waiting += [body for body in batches if self._random.random() < 0.1]
            self._sending += 1
            return self._waiting.pop() if self._waiting else b"[]"

    def _run(self) -> None:
        while (body := self._next()) is not None:
            while not self._abandoned:
                status = 0
                with suppress(OSError, http.client.HTTPException):
                    status, _ = self.server.send("POST", self.server.ingest_path, body)
                with self._lock:
                    self.statuses[status] = self.statuses.get(status, 0) + 1
                if 200 <= status < 300:
                    self.acknowledged += 1
                    self.sample = max(self.sample, body, key=len)
                    break
                self.refused += 1
                time.sleep(0.1)
            with self._lock:
                self._sending -= 1
            time.sleep(self._pause_s)

    def finish(self, timeout_s: float = 300) -> None:
        """Send what is left, and wait until all of it is acknowledged."""
        with self._lock:
            self._waiting += [body for node in self._cluster.rest() for body, _ in node]
            self._over = True
        for thread in self._threads:
            thread.join(timeout_s)
            assert not thread.is_alive(), f"not all is acknowledged: {self.statuses}"

    def abandon(self) -> None:
        """Stop whatever is."""
        self._over = self._abandoned = True

    @property
    def tasks(self) -> int:
        """How many tasks were sent in all."""
        return self._cluster.tasks

    def losses(self) -> list[str]:
        """How the record differs from what was acknowledged, once all of it is merged."""
        server, found = self.server, []
        wait_for(lambda: server.get("/api/health")[1].get("pending_batches") == 0, "all to be merged", 300)
        rows = server.rows(
            "SELECT func_name, state, count(*), count(DISTINCT task_id) FROM tasks GROUP BY ALL", self.session
        )
        counts = {(name, state): count for name, state, count, _ in rows}
        expected = dict(self._cluster.functions)
        total, distinct = sum(row[2] for row in rows), sum(row[3] for row in rows)
        if total != self.tasks:
            found.append(f"{self.tasks} tasks acknowledged, {total} on record")
        if distinct != total:
            found.append(f"{total - distinct} tasks are on record twice")
        if not found and counts != expected:
            wrong = {key: (expected.get(key), counts.get(key)) for key in expected.keys() | counts.keys()}
            found.append(
                f"other states: { {key: pair for key, pair in wrong.items() if pair[0] != pair[1]} }"
            )
        return found


def record(server: Server, *numbers: int) -> list[Load]:
    """Record a session for each number, and kill the server: the logs of its databases are left. The loads.

    Raises RuntimeError if a session lost something.
    """
    loads = [Load(server, number=number, threads=1) for number in numbers or (1,)]
    try:
        server.start()
        for load in loads:
            load.start()
            wait_for(lambda load=load: load.acknowledged > 5, "some batches")
            load.finish()
            if losses := load.losses():
                raise RuntimeError(str(losses))
    finally:
        for load in loads:
            load.abandon()
        server.stop()
    return loads


def faults_of_restart(folder: Path, load: Load, check: Callable[[Server], list[str]]) -> list[str]:
    """Faults of a server on a folder that was harmed.

    The session of ``load`` is whole, new events are taken, and ``check`` finds nothing.
    """
    faults = []
    server = load.server = Server(folder)
    later = Load(server, number=3, threads=1)
    try:
        server.start()
        faults += [f"the session that was not harmed: {fault}" for fault in load.losses()]
        later.start()
        wait_for(lambda: later.acknowledged > 2, "new batches to be taken")
        later.finish()
        faults += later.losses()
        faults += check(server)
    except (RuntimeError, TimeoutError, AssertionError, OSError) as error:
        faults.append(str(error)[-400:])
    finally:
        later.abandon()
        server.stop()
    if "Traceback" in server.log():
        faults.append(f"a traceback in the log: {server.log()[-1500:]}")
    return faults


def is_named(row: dict[str, Any]) -> bool:
    """Whether a row of the list of sessions says that the record is damaged."""
    return any(word in str(row) for word in ("damaged", "Could not read", "corrupt"))


def row_of(server: Server, session: str) -> dict[str, Any]:
    """The session in the list of sessions."""
    items = server.get("/api/v1/sessions")[1]["items"]
    return next((item for item in items if item["session"] == session), {})


def wait_for(condition: Callable[[], Any], what: str, timeout_s: float = 60) -> Any:
    """Wait on a fact. Raises TimeoutError. While the server does not answer, the fact is not there."""
    deadline = time.monotonic() + timeout_s
    while True:
        with suppress(OSError, http.client.HTTPException, AttributeError):
            if found := condition():
                return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:g} s for {what}")
        time.sleep(0.1)


@contextmanager
def mounted(size: str) -> Iterator[Path]:
    """A file system of its own in memory. Raises Skip where that is not allowed."""
    if os.geteuid() != 0:
        raise Skip("mounting a small disk needs root")
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            raise Skip("mounting is not allowed here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)
