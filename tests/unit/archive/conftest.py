"""A recorded session, to be archived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayscope.metrics.tsdb.file import MetricsFile, Points
from rayscope.model.metric import Family
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


@pytest.fixture
def whole(folder: Path) -> Path:
    """The folder of a recorded session with metrics, too."""
    metrics = MetricsFile(folder / "metrics.duckdb")
    series, times_ns = np.array([1, 2, 1]), np.array([10**18, 10**18, 10**18 + 7 * 3600 * 10**9])
    metrics.write(
        [(1, "up", (("node", "a"),)), (2, "up", ())],
        [Family("up", "gauge", "Whether it is up.", "", "test")],
        Points(series, times_ns, np.array([1.0, float("nan"), 3.5])),
    )
    metrics.roll(2 * 10**18)
    metrics.close()
    return folder
