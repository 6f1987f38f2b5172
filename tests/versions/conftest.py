"""Rays installed in environments of their own, and servers that record them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.versions.environments import ROOT, build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of rayscope-agent, the only package of ours where Ray runs."""
    return build_wheel(ROOT / "src", tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server on an empty data directory."""
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    yield server
    server.stop()
