"""A warehouse in chDB, the engine of ClickHouse in this process: one folder, a database for each test."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from rayscope.warehouse import migrate
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.schema import Layout

if importlib.util.find_spec("chdb") is None:  # as on Windows
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a folder of chDB: a process can have one alone. It stays open, as opening takes a while."""
    url = f"chdb://{tmp_path_factory.mktemp('chdb') / 'engine'}"
    with connect(url, create=True):
        yield url


@pytest.fixture(scope="session")
def url(engine: str) -> str:
    """A warehouse that most tests share, as making one takes a second: each has sessions of its own."""
    url = f"{engine}?database=shared"
    with connect(url, create=True) as made:
        migrate.init(made, Layout())
    return url


@pytest.fixture
def warehouse(url: str) -> Iterator[Warehouse]:
    """The shared warehouse, open."""
    with connect(url) as opened:
        yield opened
