"""Rays installed in environments of their own, and servers that record them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayscope.server.runner import Server
from rayscope.server.settings import Settings
from tests.versions.environments import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rayscope's wheel, without the UI."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "RAYSCOPE_SKIP_UI": "1"}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server on an empty data directory."""
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    yield server
    server.stop()
