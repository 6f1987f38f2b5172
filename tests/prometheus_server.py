"""Debian's Prometheus with given samples."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.waiting import TIMEOUT_S, wait_until


@contextmanager
def serving(folder: Path, url: str, openmetrics: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Prometheus at ``url`` that has the samples of a text in its format OpenMetrics."""
    (folder / "metrics").write_text(openmetrics)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "metrics", "data"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("global: {}\n")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address={url.removeprefix('http://')}",
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: _ready(url), f"Prometheus: {(folder / 'log').read_text()}")
        yield process
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready").status_code == 200
    except httpx.TransportError:
        return False
