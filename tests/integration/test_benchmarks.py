"""Every benchmark runs to its end with ``--smallest``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.long]

ROOT = Path(__file__).parents[2]
#: Those that measure, unlike their parts and programs.
BENCHMARKS = sorted(
    path.name
    for path in (ROOT / "benchmarks").glob("*.py")
    if "= parse_arguments(" in path.read_text() and path.name != "common.py"
)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_to_its_end(name: str, tmp_path: Path) -> None:
    assert len(BENCHMARKS) > 20
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / name), "--smallest"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert done.stdout.startswith("# ")
