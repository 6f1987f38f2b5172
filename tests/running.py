"""A server with the recorded sample on record, and a client of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.ingest import clusters
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.story import Story
from tests.waiting import TIMEOUT_S


@dataclass
class Running:
    server: Server
    client: httpx.Client
    folder: Path

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def error(self, answer: httpx.Response, status: int) -> dict[str, str]:
        """An error answer says what went wrong and what to do."""
        assert answer.status_code == status, answer.text
        error: dict[str, str] = answer.json()["error"]
        assert set(error) - {"params"} == {"code", "message", "remedy"}
        assert all(error.values())
        return error

    def ingest(self, *batches: bytes) -> None:
        for batch in batches:
            assert self.client.post(self.server.ingest_url, content=batch).status_code == 204
        assert self.server.services is not None
        assert self.server.services.writer.flush()

    def record(self, story: Story) -> None:
        """Put a story on record."""
        assert self.server.services is not None
        self.server.services.writer.submit_records(story.batch, "events")
        assert self.server.services.writer.flush()


# On a busy machine a test can take longer than the timeout after which a silent session ends.
clusters._SILENT_S = TIMEOUT_S


def start(folder: Path, batches: list[bytes]) -> Iterator[Running]:
    server = Server(Settings(data_dir=folder, port=0, sql_timeout_s=TIMEOUT_S, memory_limit="200MB"))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        running = Running(server, client, folder)
        running.ingest(*batches)
        yield running
    server.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]) -> Iterator[Running]:
    """One for a module's tests that change nothing."""
    yield from start(tmp_path_factory.mktemp("data"), bodies)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Running]:
    """One of its own, with nothing on record."""
    yield from start(tmp_path, [])


@pytest.fixture
def table_sums(running: Running, dump: Callable[[Path], Any]) -> Callable[[], dict[str, int]]:
    """Rows of each table, and a check sum of all attempts: what must not change."""

    def read() -> dict[str, int]:
        assert running.server.services is not None
        services = running.server.services
        session = services.records.resolve(None)
        with services.catalog.reading(session) as file, file.reader() as cursor:
            tables = cursor.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
            counts = {
                name: cursor.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0] for (name,) in tables
            }
            counts["shown"] = cursor.execute("SELECT count(*) FROM tasks").fetchall()[0][0]
            counts["sum"] = cursor.execute("SELECT bit_xor(hash(a)) FROM attempts a").fetchall()[0][0]
        return counts

    return read
