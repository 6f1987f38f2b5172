"""Keeping logs of a cluster whose nodes are slow."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.waiting import TIMEOUT_S

from rayscope.cluster.logs import archiver
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.ray.agents.client import AgentError
from rayscope.server.settings import Settings
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
    """An agent with one file, and what it was asked."""

    def __init__(self) -> None:
        self.data = b""
        self.asked: list[str] = []

    def told_size(self, name: str) -> int | None:
        self.asked.append("size")
        return len(self.data)

    def size(self, name: str, at_least: int = 0) -> int:
        return len(self.data)

    def read(self, name: str, begin: int, end: int) -> bytes:
        self.asked.append("read")
        return self.data[begin:end]


def test_only_what_has_grown_is_read(tmp_path: Path) -> None:
    agent, store = Files(), LogStore(tmp_path / "logs.sqlite")
    name, key = f"worker-{'a' * 56}-01000000-7.out", ("s", "b" * 56)
    logs: Any = SimpleNamespace(
        agent=lambda *key: agent,
        store=lambda session, make=False: store,
        names=lambda *_: [name],
        homes=lambda *_: {"a" * 56: key[1]},
        forget=lambda *_: None,
    )
    made = LogArchiver(SETTINGS, NOTHING, NOTHING, NOTHING, logs)
    node = archiver._Node()

    def look(data: bytes) -> list[str]:
        agent.data, agent.asked = data, []
        for file in node.files.values():
            file.due = 0.0
        made._look(key, node, 4.0, 8)
        return agent.asked

    assert look(b"") == ["size"]
    assert look(b"") == ["size"]
    assert look(b"one\n") == ["size", "read"]
    assert look(b"one\ntwo\n") == ["read"]  # who said something says more
    assert look(b"one\ntwo\n") == ["read"]
    assert look(b"one\ntwo\n") == ["size"]
    assert look(b"new\n") == ["size"]  # it was begun anew
    assert look(b"new\n") == ["size", "read"]
    assert store.read(key[1], name, 0, 100) == [(0, b"new\n")]
    assert node.due == node.files[name].due
    made.stop()
    store.close()


def test_what_costs_more_than_its_share_is_looked_at_less_often() -> None:
    made = LogArchiver(SETTINGS, NOTHING, NOTHING, NOTHING, NOTHING)

    def after(share: float) -> float:
        made._reckoned -= archiver._RECKON_S
        made._cpu_s = share * archiver._RECKON_S
        made._reckon()
        return made._slow

    assert after(archiver.LOAD / 2) == 1.0
    assert after(archiver.LOAD * 3) > 1.5
    slower = made._slow
    assert after(archiver.LOAD * 3) > slower
    for _ in range(20):
        after(0.0)
    assert made._slow == 1.0
    made.stop()
