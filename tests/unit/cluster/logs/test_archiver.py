"""Keeping logs of a cluster whose nodes are slow."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.waiting import TIMEOUT_S

from rayscope.cluster.logs import archiver
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.ray.agents.client import AgentError
from rayscope.settings import Settings
from rayscope.storage.log_archive import LogStore

SETTINGS = Settings(keep_logs="workers", min_free_bytes=0)
NOTHING: Any = None


def test_nodes_that_hang_are_asked_once_however_many_turns_pass(monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setattr(archiver, "_MAX_TURN_S", 0.05)
    go, asked, lock = threading.Event(), [], threading.Lock()

    def names(session: str, node: str, age_s: float) -> list[str]:
        with lock:
            asked.append(node)
        go.wait(TIMEOUT_S)
        raise AgentError("It did not answer.", "Try again.", "timeout")

    nodes = [{"node_id": f"{number:02x}", "state": "ALIVE"} for number in range(8)]
    catalog: Any = SimpleNamespace(folder=tmp_path, names=lambda: ["s"])
    records: Any = SimpleNamespace(read=lambda session, look, flush: nodes)
    clusters: Any = SimpleNamespace(gcs_of=lambda session: True)
    logs: Any = SimpleNamespace(names=names, store=lambda session: None, forget=lambda *key: None)
    made = LogArchiver(SETTINGS, catalog, records, clusters, logs)
    for _ in range(4):  # there are four readers: half of the nodes wait for one
        made._turn()
    queued = made._pool._work_queue.qsize()
    go.set()
    with contextlib.suppress(RuntimeError):
        made.stop()
    made._pool.shutdown(wait=True)
    assert queued == 4
    assert len(asked) == len(set(asked))


class Files:
    """An agent with one file, and the requests that it got."""

    def __init__(self) -> None:
        self.data = b""
        self.asked: list[str] = []

    def reported_size(self, name: str) -> int | None:
        self.asked.append("size")
        return len(self.data)

    def size(self, name: str, at_least: int = 0) -> int:
        return len(self.data)

    def read(self, name: str, begin: int, end: int) -> bytes:
        self.asked.append("read")
        return self.data[begin:end]


NAME, KEY = f"worker-{'a' * 56}-01000000-7.out", ("s", "b" * 56)


def archiver_of(agent: Files, store: LogStore) -> LogArchiver:
    """An archiver of one file of one node."""
    logs: Any = SimpleNamespace(
        agent=lambda *_: agent,
        store=lambda session, make=False: store,
        names=lambda *_: [NAME],
        homes=lambda *_: {"a" * 56: KEY[1]},
        forget=lambda *_: None,
    )
    return LogArchiver(SETTINGS, NOTHING, NOTHING, NOTHING, logs)


def test_only_what_has_grown_is_read(tmp_path: Path) -> None:
    agent, store = Files(), LogStore(tmp_path / "logs.sqlite")
    name, key = NAME, KEY
    made = archiver_of(agent, store)
    node = archiver._Node()

    def read_files(data: bytes) -> list[str]:
        agent.data, agent.asked = data, []
        for file in node.files.values():
            file.due = 0.0
        made._look(key, node, 4.0, 8)
        return agent.asked

    assert read_files(b"") == ["size"]
    assert read_files(b"") == ["size"]
    assert read_files(b"one\n") == ["size", "read"]
    assert read_files(b"one\ntwo\n") == ["read"]  # who said something says more
    assert read_files(b"one\ntwo\n") == ["read"]
    assert read_files(b"one\ntwo\n") == ["size"]
    assert read_files(b"new\n") == ["size", "read"]  # it was started again, and there is no older piece
    assert read_files(b"new\n") == ["size", "read"]
    assert store.read(key[1], name, 0, 100) == [(0, b"new\n")]
    assert node.due == node.files[name].due
    made.stop()
    store.close()


@pytest.mark.parametrize(("read_s", "expected"), [(0.01, [(0, 16)]), (0.5, [(0, 8), (14, 16)])])
def test_the_end_of_a_long_log_is_kept_when_its_cluster_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_s: float, expected: list[tuple[int, int]]
) -> None:
    """``expected``: the kept stretches, MiB. Where reading takes too long, a gap precedes the end."""
    clock = [time.monotonic()]

    class Slow(Files):
        def read(self, name: str, begin: int, end: int) -> bytes:
            clock[0] += read_s
            return super().read(name, begin, end)

    times = SimpleNamespace(monotonic=lambda: clock[0], thread_time=time.thread_time, time_ns=time.time_ns)
    monkeypatch.setattr(archiver, "time", times)
    agent, store = Slow(), LogStore(tmp_path / "logs.sqlite")
    agent.data = b"".join(b"%07d\n" % number for number in range(2 << 20))
    made = archiver_of(agent, store)
    made._look(KEY, archiver._Node(), 4.0, 10_000, clock[0] + 3.0)
    kept = store.read(KEY[1], NAME, 0, len(agent.data))
    assert [(at >> 20, (at + len(data)) >> 20) for at, data in kept] == expected
    assert all(agent.data[at : at + len(data)] == data for at, data in kept)
    made.stop()
    store.close()


class Rotated(Files):
    """An agent with a file that is rotated as Ray rotates: two older pieces are left of it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: dict[str, bytes] = {NAME: b""}

    def reported_size(self, name: str) -> int | None:
        return len(self.pieces[name]) if name in self.pieces else None

    def size(self, name: str, at_least: int = 0) -> int:
        return len(self.pieces[name])

    def read(self, name: str, begin: int, end: int) -> bytes:
        if name not in self.pieces:
            raise AgentError("No such file.", "List them again.", "gone")
        return self.pieces[name][begin:end]

    def rotate(self) -> None:
        for piece in (1, 0):
            old = f"{NAME}.{piece}" if piece else NAME
            if old in self.pieces:
                self.pieces[f"{NAME}.{piece + 1}"] = self.pieces[old]
        self.pieces[NAME] = b""


@pytest.mark.parametrize("looks", [1, 2])
def test_kept_parts_of_a_rotated_log_move_with_its_pieces(tmp_path: Path, looks: int) -> None:
    """``looks``: after how many lines the file is looked at. It is rotated after three lines."""
    agent, store = Rotated(), LogStore(tmp_path / "logs.sqlite")
    made, node = archiver_of(agent, store), archiver._Node()
    written = b""
    for number in range(12):
        if number % 3 == 0 and number:
            agent.rotate()
        line = b"line %04d\n" % number
        agent.pieces[NAME] += line
        written += line
        made._logs.names = lambda *_: list(agent.pieces)  # type: ignore[method-assign]
        node.list_due = 0.0
        for file in node.files.values():
            file.due = 0.0
        for _ in range(2 if number % looks == 0 else 0):
            made._look(KEY, node, 4.0, 8)
    for file in node.files.values():
        file.due = 0.0
    made._look(KEY, node, 4.0, 8, time.monotonic() + TIMEOUT_S)
    names = [f"{NAME}.3", f"{NAME}.2", f"{NAME}.1", NAME]
    assert [b"".join(data for _, data in store.read(KEY[1], name, 0, 1000)) for name in names] == [
        written[at : at + 30] for at in range(0, 120, 30)
    ]
    made.stop()
    store.close()


def test_files_that_cost_more_than_their_share_are_read_less_often() -> None:
    made = LogArchiver(SETTINGS, NOTHING, NOTHING, NOTHING, NOTHING)

    def after(share: float) -> float:
        made._adjusted -= archiver._ADJUST_S
        made._cpu_s = share * archiver._ADJUST_S
        made._adjust_pauses()
        return made._slow

    assert after(archiver.LOAD / 2) == 1.0
    assert after(archiver.LOAD * 3) > 1.5
    slower = made._slow
    assert after(archiver.LOAD * 3) > slower
    for _ in range(20):
        after(0.0)
    assert made._slow == 1.0
    made.stop()
