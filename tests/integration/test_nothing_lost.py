"""60,000 events, a server that is killed twice while they come in, and the very same record in the end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import httpx
import pytest
from tests.waiting import TIMEOUT_S

EVENTS = 60_000
SERVER = """
import sys
from pathlib import Path
from rayscope.server.runner import Server
from rayscope.settings import Settings
server = Server(Settings(data_dir=Path(sys.argv[1]), port=int(sys.argv[2])))
server.start()
print(server.ingest_url, flush=True)
sys.stdin.read()
server.stop()
"""
Tables = dict[str, list[tuple[Any, ...]]]


class Process:
    """A server in a process of its own, on the port that it took at its first start."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, "0"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", SERVER, str(self.folder), self.port]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout is not None
        self.ingest_url = self.child.stdout.readline().strip()
        self.port = self.ingest_url.split("/")[2].rpartition(":")[2]

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def waiting(self) -> int:
        """Batches that are durable and not in the record yet."""
        url = self.ingest_url.partition("/api/")[0]
        return int(httpx.get(f"{url}/api/health").json()["pending_batches"])

    def stop(self) -> None:
        self.child.communicate(timeout=TIMEOUT_S)
        assert self.child.returncode == 0


def post(
    process: Process, batches: Sequence[bytes], threads: int = 3, kill_after: Sequence[int] = ()
) -> Callable[[], int]:
    """Send as Ray's exporter does: each batch again until it is answered 2xx. Returns how many were.

    ``kill_after``: after how many batches the server is killed and started again, while others are on their way.
    """
    queue: SimpleQueue[bytes] = SimpleQueue()
    for batch in batches:
        queue.put(batch)
    answered: list[int] = []
    counting, restarting = threading.Lock(), threading.Lock()

    def run() -> None:
        with httpx.Client() as client:
            while True:
                try:
                    batch = queue.get_nowait()
                except Empty:
                    return
                while True:
                    try:
                        if client.post(process.ingest_url, content=batch, headers=form(batch)).is_success:
                            break
                    except httpx.TransportError:
                        time.sleep(0.05)
                with counting:
                    answered.append(1)
                    is_due = len(answered) in kill_after
                if is_due:
                    with restarting:
                        process.kill()
                        process.start()

    for _ in range(threads):
        threading.Thread(target=run, daemon=True).start()
    return lambda: len(answered)


def form(batch: bytes) -> dict[str, str]:
    return {"Content-Type": "application/json" if batch[:1] == b"[" else "application/x-protobuf"}


def record_of(folder: Path) -> Path:
    (path,) = folder.glob("sessions/*/record.duckdb")
    assert not list((folder / "spool").iterdir())
    return path


@pytest.fixture(scope="module")
def batches(make_batches: Callable[..., list[bytes]]) -> list[bytes]:
    one = make_batches(1)[0].count(b'"eventType"')
    made = make_batches(EVENTS // one)
    assert sum(batch.count(b'"eventType"') for batch in made) >= EVENTS - one
    return made


@pytest.fixture(scope="module")
def mixed(batches: list[bytes], to_binary: Callable[[bytes], bytes]) -> list[bytes]:
    """The same events; every other batch as the fast lane sends it."""
    return [to_binary(batch) if number % 2 else batch for number, batch in enumerate(batches)]


@pytest.fixture(scope="module")
def undisturbed(
    batches: list[bytes],
    dump: Callable[[Path], Tables],
    tmp_path_factory: pytest.TempPathFactory,
    wait_for: Callable[..., Any],
) -> Tables:
    process = Process(tmp_path_factory.mktemp("undisturbed"))
    answered = post(process, batches)
    wait_for(lambda: answered() == len(batches), "all batches taken")
    wait_for(lambda: process.waiting() == 0, "all batches written")
    process.stop()
    tables = dump(record_of(process.folder))
    assert len(tables["attempts"]) == len({row[:3] for row in tables["attempts"]}) > EVENTS // 10
    return tables


def test_killed_twice_in_the_middle(
    mixed: list[bytes],
    undisturbed: Tables,
    dump: Callable[[Path], Tables],
    tmp_path: Path,
    wait_for: Callable[..., Any],
) -> None:
    process = Process(tmp_path)
    answered = post(process, mixed, kill_after=(len(mixed) * 3 // 10, len(mixed) * 7 // 10))
    wait_for(lambda: answered() == len(mixed), "all batches taken")
    wait_for(lambda: process.waiting() == 0, "all batches written")
    process.stop()
    assert dump(record_of(tmp_path)) == undisturbed


@pytest.mark.long
def test_everything_twice_and_shuffled(
    batches: list[bytes],
    mixed: list[bytes],
    undisturbed: Tables,
    dump: Callable[[Path], Tables],
    tmp_path: Path,
    wait_for: Callable[..., Any],
) -> None:
    shuffled = [*mixed, *batches]
    random.Random(1).shuffle(shuffled)
    process = Process(tmp_path)
    answered = post(process, shuffled)
    wait_for(lambda: answered() == len(shuffled), "all batches taken")
    wait_for(lambda: process.waiting() == 0, "all batches written")
    process.stop()
    assert dump(record_of(tmp_path)) == undisturbed
