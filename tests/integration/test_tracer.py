"""The tracer on real clusters: every object that moved, and nothing that did not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayscope.store.sql import run_sql

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]
WORKLOADS = Path(__file__).parent / "workloads"


class Lab:
    """A data directory, and a place for Ray."""

    def __init__(self, folder: Path) -> None:
        self.data, self.ray = folder / "data", Path(tempfile.mkdtemp(prefix="rst-"))

    def run(self, script: Path, *args: str, env: dict[str, str] | None = None) -> str:
        """``rayscope run`` to its end; what the script printed."""
        base = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
        command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", "--data-dir", str(self.data)]
        done = subprocess.run(
            [*command, "--port", "0", *args, str(script), str(self.ray)],
            env={**base, "HOME": str(self.data.parent), **(env or {})},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def sql(self, query: str) -> list[list[Any]]:
        result = run_sql(self.data, query)
        assert not result.truncated
        return result.rows


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    shutil.rmtree(made.ray, ignore_errors=True)


def told(output: str, mark: str) -> Any:
    (line,) = [line for line in output.splitlines() if line.startswith(mark + " ")]
    return json.loads(line.removeprefix(mark + " "))


def test_every_edge_of_a_known_data_flow_is_found_and_none_invented(lab: Lab) -> None:
    expected = told(lab.run(WORKLOADS / "dataflow.py"), "EDGES")
    rows = lab.sql(
        "SELECT producer_task_id, consumer_task_id, object_id, kind, nested, bytes FROM data_edges"
    )
    found = {tuple(row[:5]): row[5] for row in rows}
    wanted = {tuple(edge[:5]): edge[5] for edge in expected}
    assert len(found) == len(rows)
    assert set(wanted) - set(found) == set()
    assert set(found) - set(wanted) == set()
    differ = {key: (size, found[key]) for key, size in wanted.items() if size not in (None, found[key])}
    assert not differ
    assert None not in found.values()
    compared = Counter(key[3] for key, size in wanted.items() if size is not None)
    assert compared["argument"] >= 20
    assert compared["return"] >= 20
    print(f"{len(found)} edges, {sum(compared.values())} with bytes that Ray tells")
