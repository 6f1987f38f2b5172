"""Several commands on one data directory: which of them serves it, and which one next. (Real processes; no Ray.)"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.waiting import wait_until

SLEEP = """
import pathlib, sys, time
pathlib.Path(sys.argv[1] + ".runs").touch()
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
"""


class Commands:
    """Commands of Rayscope on one data directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *args: str) -> subprocess.Popen[str]:
        env = {**os.environ, "RAYSCOPE_DATA_DIR": str(self.folder / "data"), "RAYSCOPE_PORT": "0"}
        command = [sys.executable, "-m", "rayscope.cli", *args]
        process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def run(self, name: str, *options: str) -> subprocess.Popen[str]:
        """`rayscope run` of a program that ends with :meth:`end_program`."""
        return self.start("run", "--exit", *options, sys.executable, "-c", SLEEP, str(self.folder / name))

    def end_program(self, name: str) -> None:
        (self.folder / name).touch()

    def about(self) -> dict[str, object] | None:
        """The server that answers, as it describes itself."""
        try:
            about: dict[str, object] = json.loads((self.folder / "data/server.json").read_text())
            httpx.get(f"{about['url']}/api/health", trust_env=False)
        except (OSError, ValueError, httpx.HTTPError):
            return None
        return about

    def served_by(self, process: subprocess.Popen[str]) -> dict[str, object]:
        def about() -> dict[str, object] | None:
            assert process.poll() is None, process.communicate()[1]
            found = self.about()
            return found if found and found["pid"] == process.pid else None

        found: dict[str, object] = wait_until(about, f"a server of {process.args}")
        return found

    def is_open(self) -> bool:
        with (self.folder / "data/lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path)
    yield made
    for name in "abc":
        made.end_program(name)
    for process in made.started:
        process.kill()
        process.wait()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_serves_at_the_same_address_when_the_first_has_ended(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, how: signal.Signals | None
) -> None:
    monkeypatch.setenv("RAYSCOPE_ROOT_PATH", "/rayscope")
    first = commands.run("a")
    before = commands.served_by(first)
    monkeypatch.delenv("RAYSCOPE_ROOT_PATH")
    second = commands.run("b")
    assert first_line(second) == f"Rayscope: {before['url']}\n"
    if how is None:
        commands.end_program("a")
    else:
        first.send_signal(how)  # (killed and not waited for: its process id stays)
    after = commands.served_by(second)
    assert (after["url"], after["ingest_url"]) == (before["url"], before["ingest_url"])
    commands.end_program("b")
    said = second.communicate()[1]
    assert second.returncode == 0, said
    assert f"the command that served {before['url']} has ended; this one serves it now" in said
    assert not commands.is_open()
    assert not (commands.folder / "data/server.json").exists()


def test_one_of_several_runs_serves_and_the_others_wait_for_their_turn(commands: Commands) -> None:
    runs = [commands.run(name) for name in "abc"]  # at once: one of them opens the data directory
    urls = {first_line(run) for run in runs}
    assert len(urls) == 1
    names = dict(zip([run.pid for run in runs], "abc", strict=True))
    left = {run.pid: run for run in runs}
    while left:
        about = wait_until(lambda: (found := commands.about()) and found["pid"] in left and found, "a server")
        assert {f"Rayscope: {about['url']}\n"} == urls
        server = left.pop(about["pid"])
        commands.end_program(names[server.pid])
        assert server.wait() == 0
    assert not commands.is_open()


def test_a_run_that_has_taken_over_serves_until_ctrl_c(commands: Commands) -> None:
    first = commands.run("a")
    url = commands.served_by(first)["url"]
    second = commands.start("run", sys.executable, "-c", SLEEP, str(commands.folder / "b"))
    assert first_line(second) == f"Rayscope: {url}\n"
    commands.end_program("a")
    commands.served_by(second)
    commands.end_program("b")
    assert second.stderr is not None
    assert any(f"serving {url} until Ctrl-C" in line for line in second.stderr)
    second.send_signal(signal.SIGINT)
    assert second.wait() == 0


def test_the_server_of_serve_is_its_operators_to_start_again(commands: Commands) -> None:
    serve = commands.start("serve")
    url = commands.served_by(serve)["url"]
    run = commands.run("a")
    assert first_line(run) == f"Rayscope: {url}\n"
    # A server that ends before that is refused with an error, and the program does not begin.
    wait_until((commands.folder / "a.runs").exists, "the program")
    serve.send_signal(signal.SIGTERM)
    assert serve.wait() == 0
    assert run.stderr is not None
    assert f"the server at {url} has ended. Start it again (rayscope serve)" in run.stderr.readline()
    port = str(url).rpartition(":")[2]
    commands.served_by(commands.start("serve", "--port", port))
    commands.end_program("a")
    assert "no summary" not in run.communicate()[1]


def test_a_crash_of_a_server_says_where_it_was(commands: Commands) -> None:
    serve = commands.start("serve")
    commands.served_by(serve)
    serve.send_signal(signal.SIGSEGV)
    said = serve.communicate()[1]
    assert "Fatal Python error: Segmentation fault" in said
    assert "rayscope/cli/serve.py" in said
