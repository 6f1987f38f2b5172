"""A recorded session, to be archived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rayscope.storage.log_archive import LogStore

LOG = [
    ("node", "worker.out", 0, b"begun\n", 10),
    ("node", "worker.out", 6, b"x" * 300_000, 20),
    ("node", "b", 5, b"y", 30),
]


@pytest.fixture
def folder(record: Callable[..., Path], bodies: list[bytes]) -> Path:
    """The folder of a recorded session, with a log."""
    folder = record(bodies).parent
    store = LogStore(folder / "logs.sqlite")
    for node, name, begin, data, time_ns in LOG:
        store.append(node, name, begin, data, time_ns)
    store.close()
    return folder
