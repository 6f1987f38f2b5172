"""Keeping logs of a cluster whose nodes are slow."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace
from typing import Any

from rayscope.server import log_keeper
from rayscope.server.log_keeper import Keeper
from rayscope.sources.node_agent import AgentError


def test_nodes_that_hang_are_asked_once_however_many_turns_pass(monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setattr(log_keeper, "_TURN_MOST_S", 0.05)
    go, asked, lock = threading.Event(), [], threading.Lock()

    def names(session: str, node: str, age_s: float) -> list[str]:
        with lock:
            asked.append(node)
        go.wait(10)
        raise AgentError("timeout", "It did not answer.", "Try again.")

    nodes = [{"node_id": f"{number:02x}", "state": "ALIVE"} for number in range(8)]
    hub: Any = SimpleNamespace(
        settings=SimpleNamespace(keep_logs="workers", min_free_bytes=0),
        catalog=SimpleNamespace(folder=tmp_path, names=lambda: ["s"]),
        gcs_of=lambda session: True,
        query=lambda session, look: nodes,
    )
    logs: Any = SimpleNamespace(names=names, store=lambda session: None, forget=lambda *key: None)
    keeper = Keeper(hub, logs)
    for _ in range(4):  # there are four readers: half of the nodes wait for one
        keeper._turn()
    queued = keeper._pool._work_queue.qsize()
    go.set()
    with contextlib.suppress(RuntimeError):
        keeper.stop()
    keeper._pool.shutdown(wait=True)
    assert queued == 4
    assert len(asked) == len(set(asked))
