"""A place for tests of the command line with Ray: a data directory, Ray's folder, and an environment."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

import rayscope
from tests.cluster import run_in_turn
from tests.waiting import TIMEOUT_S


@dataclass
class Lab:
    """A place for one test: its data directory, Ray's temporary directory, and the environment."""

    folder: Path
    ray_dir: Path
    env: dict[str, str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def rayscope(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rayscope.cli", *args]
        if args[0] in ("run", "start"):
            return run_in_turn(command, self.ray_dir, cwd=self.folder, env=self.env)
        return subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    def script(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def sql(self, query: str, session: str | None = None) -> list[dict[str, str]]:
        chosen = ["--session", session] if session else []
        done = self.rayscope("sql", query, "--format", "csv", *chosen)
        assert done.returncode == 0, done.stderr
        return list(csv.DictReader(io.StringIO(done.stdout)))


@contextlib.contextmanager
def new_lab(folder: Path) -> Iterator[Lab]:
    """A lab in ``folder``; at the end whatever uses its Ray folder is stopped."""
    # Ray's socket paths must be short.
    ray_dir = Path(tempfile.mkdtemp(prefix="rs", dir="/tmp"))
    package_root = str(Path(rayscope.__file__).parents[1])
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH", "")])),
        "RAYSCOPE_DATA_DIR": str(folder / "data"),
        "RAYSCOPE_PORT": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_TMPDIR": str(ray_dir),
        "RAY_raylet_start_wait_time_s": "240",  # on a busy machine a node takes its time
        "COLUMNS": "120",
    }
    env.pop("RAY_ADDRESS", None)
    yield Lab(folder, ray_dir, env)
    _stop_processes_of(str(ray_dir))
    shutil.rmtree(ray_dir, ignore_errors=True)


def _stop_processes_of(mark: str) -> None:
    """End what names this test's own directory on its command line, and what that started."""
    ours: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline"]):
        if mark in " ".join(process.info["cmdline"] or ()) and process.pid != os.getpid():
            with contextlib.suppress(psutil.NoSuchProcess):
                ours += [process, *process.children(recursive=True)]
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for process in ours:
            with contextlib.suppress(psutil.NoSuchProcess):
                end(process)
        _, ours = psutil.wait_procs(ours, timeout=3)
