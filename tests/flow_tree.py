"""The run of `examples/flow_tree.py`, a tree of workers with a bottleneck, for all tests that can share it."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import env_without_ray, run_in_turn

EXAMPLE = Path(__file__).parents[1] / "examples" / "flow_tree.py"


@dataclass
class Tree:
    """The run of the example: its printed numbers, and a server that has recorded it."""

    printed: dict[str, Any]
    client: httpx.Client

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tasks(self, func_name: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get("/api/v1/tasks", func_name=func_name, limit=1000)["items"]
        return items

    @property
    def slow(self) -> list[dict[str, Any]]:
        """The calls of the bottleneck, in order."""
        (name,) = self.printed["bottlenecks"]
        found = [task for task in self.tasks("Worker.process") if task["name"] == f"Worker({name}).process"]
        return sorted(found, key=lambda task: task["start_ns"])


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    folder = tmp_path_factory.mktemp("tree")
    ray_dir = tempfile.mkdtemp(prefix="rsf-")
    env = env_without_ray() | {"HOME": str(folder), "RAY_TMPDIR": ray_dir}
    command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", "--port", "0"]
    command += ["--data-dir", str(folder / "data"), str(EXAMPLE)]
    done = run_in_turn(command, Path(ray_dir), env=env)
    shutil.rmtree(ray_dir, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    printed = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"workers"'))
    server = Server(Settings(data_dir=folder / "data", port=0))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        yield Tree(printed, client)
    server.stop()
