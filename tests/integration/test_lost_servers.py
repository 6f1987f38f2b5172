"""Programs whose server is gone, refuses all or never answers, and unusual environments."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.cluster import ray_logs, run_in_turn
from tests.lab import Lab, new_lab

from rayscope.cli import recording

pytestmark = [pytest.mark.ray, pytest.mark.long]

PROGRAM = """
import sys, ray
ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
@ray.remote
def double(number):
    return 2 * number
print(sum(ray.get([double.remote(number) for number in range(500)])))
"""


class Refusing(BaseHTTPRequestHandler):
    """Answers 500 to all."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_error(500)

    do_GET = do_POST


@contextmanager
def lost_server(how: str) -> Iterator[str]:
    """The URL of a server that is ``gone``, ``deaf`` (accepts and never answers) or ``refusing``."""
    if how == "refusing":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()
        return
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if how == "deaf":
            listener.listen(100)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with new_lab(tmp_path) as made:
        yield made


@pytest.mark.parametrize("how", ["gone", "deaf", "refusing"])
def test_a_program_runs_to_its_end_whatever_its_server_does(lab: Lab, how: str) -> None:
    script = lab.script("program.py", PROGRAM)
    with lost_server(how) as url:
        env = recording.child_env(f"{url}/api/ingest/KEY/ray-events", environ=lab.env)
        done = run_in_turn([sys.executable, script, str(lab.ray_dir)], lab.ray_dir, cwd=lab.folder, env=env)
    assert done.returncode == 0, done.stderr + ray_logs(lab.ray_dir)
    assert done.stdout.split() == [str(sum(range(0, 1000, 2)))]
    assert "Traceback" not in done.stderr
    assert "rayscope" not in done.stderr.lower()


def test_a_home_that_cannot_be_written_and_another_encoding(lab: Lab) -> None:
    source = "# -*- coding: latin-1 -*-\n" + PROGRAM + "print('é')\n"
    path = lab.folder / "latin.py"
    path.write_bytes(source.encode("latin-1"))
    lab.env |= {"HOME": "/proc", "LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", str(path), str(lab.ray_dir)]
    done = run_in_turn(command, lab.ray_dir, cwd=lab.folder, env=lab.env, encoding="latin-1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "é"
    assert "500 tasks: 500 FINISHED" in done.stderr, done.stderr
