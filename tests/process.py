"""``rayscope serve`` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rayscope.client.server_url import ServerEntry, known_server
from tests.waiting import wait_until


class Process(NamedTuple):
    """A server that answers, and where."""

    popen: subprocess.Popen[bytes]
    url: str
    ingest_url: str


@contextmanager
def serving(data_dir: str, cwd: Path, **settings: str) -> Iterator[Process]:
    """Start it in ``cwd``, and kill it at the end if it is still there."""
    env = {**os.environ, **{f"RAYSCOPE_{name.upper()}": value for name, value in settings.items()}}
    command = [sys.executable, "-m", "rayscope.cli", "serve", "--data-dir", data_dir, "--port", "0"]
    with tempfile.TemporaryFile() as output:
        popen = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=output)

        def printed() -> str:
            output.seek(0)
            return output.read().decode(errors="replace")

        try:
            known = wait_until(lambda: known_server(cwd / data_dir) or popen.poll() is not None, "its URL")
            assert isinstance(known, ServerEntry), printed()
            yield Process(popen, known.url, known.ingest_url)
        finally:
            if popen.poll() is None:
                popen.kill()
            popen.wait()
