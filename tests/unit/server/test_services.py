"""After the services stop, nothing keeps running."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.running import start
from tests.story import SESSION, Story

_OURS = "rayscope-"


def test_no_thread_outlives_a_stop(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    servers = start(tmp_path, [])
    running = next(servers)
    running.record(Story())
    services = running.server.services
    assert services is not None
    services.catalog.add(SESSION)
    store = services.logs.store(SESSION, make=True)
    assert store is not None
    assert any(thread.name == "rayscope-log-archiver" for thread in threading.enumerate())
    next(servers, None)
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith(_OURS)]
    assert left == []
    assert not services.logs._stores
