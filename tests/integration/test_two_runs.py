"""Two `rayscope run` at once: the second uses the server of the first, and outlives it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.cluster import start_in_turn
from tests.conftest import read_rows
from tests.lab import Lab, new_lab
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.ray]

#: Needs no Ray: it is there for its server.
FIRST = """
import pathlib, sys, time
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
"""
SECOND = """
import pathlib, sys, time, ray
ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
@ray.remote
def early(i):
    return i
@ray.remote
def late(i):
    return i
ray.get([early.remote(i) for i in range(5)])
pathlib.Path(sys.argv[2], "early").touch()
while not pathlib.Path(sys.argv[2], "go").exists():
    time.sleep(0.05)
ray.get([late.remote(i) for i in range(int(sys.argv[3]))])
pathlib.Path(sys.argv[2], "late").touch()
while not pathlib.Path(sys.argv[2], "end").exists():
    time.sleep(0.05)
ray.shutdown()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with new_lab(tmp_path) as made:
        yield made
        for name in ("first_ends", "go", "end"):
            (tmp_path / name).touch()


class TwoRuns:
    """The first one serves, and the second one's program has run its first tasks there."""

    def __init__(self, lab: Lab, late: int = 20) -> None:
        self.lab = lab
        command = [sys.executable, "-m", "rayscope.cli", "run", "--exit"]
        first = [*command, lab.script("first.py", FIRST), str(lab.folder / "first_ends")]
        with (lab.folder / "first.log").open("w") as log:
            self.first = subprocess.Popen(first, cwd=lab.folder, env=lab.env, stderr=log)
        self.url = self.url_of("first")
        second = [*command, lab.script("second.py", SECOND), str(lab.ray_dir), str(lab.folder), str(late)]
        with (lab.folder / "second.log").open("w") as log:
            self.second = start_in_turn(second, lab.ray_dir, cwd=lab.folder, env=lab.env, stderr=log)
        assert self.url_of("second") == self.url
        self.wait_for("early")

    def output_of(self, which: str) -> str:
        return (self.lab.folder / f"{which}.log").read_text()

    def url_of(self, which: str) -> str:
        lines = wait_until(lambda: self.output_of(which).splitlines(), f"output of the {which}")
        return str(lines[0]).removeprefix("Rayscope: ")

    def touch(self, *names: str) -> None:
        for name in names:
            (self.lab.folder / name).touch()

    def wait_for(self, name: str) -> None:
        """Wait until the second one's program has come so far."""
        wait_until(lambda: (self.lab.folder / name).exists() or self.second.poll() is not None, name)
        assert self.second.poll() is None, self.output_of("second")

    def end_of_second(self) -> str:
        """Its stderr."""
        assert self.second.wait(TIMEOUT_S) == 0, self.output_of("second")
        return self.output_of("second")

    def assert_nothing_is_left(self) -> None:
        with (self.lab.data / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not (self.lab.data / "server.json").exists()
        marked = str(self.lab.folder)
        left = [
            one.info
            for one in psutil.process_iter(["pid", "cmdline"])
            if marked in " ".join(one.info["cmdline"] or ())
        ]
        assert left == []


@pytest.mark.parametrize(
    "how",
    [
        None,
        pytest.param(signal.SIGINT, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        signal.SIGKILL,
    ],
)
def test_the_second_loses_nothing_when_the_first_ends(lab: Lab, how: signal.Signals | None) -> None:
    runs = TwoRuns(lab)
    runs.touch("go")
    runs.wait_for("late")
    if how is not None:
        runs.first.send_signal(how)
    runs.touch("first_ends")
    runs.first.wait()
    # The program ends while there is no server: that is the hardest moment.
    runs.touch("end")
    output = runs.end_of_second()
    assert f"the command that served {runs.url} has ended; this one serves it now" in output
    assert "25 tasks: 25 FINISHED" in output, output
    assert "Nothing dropped." in output
    assert read_rows(lab.data, "SELECT state, exit_code FROM jobs") == [["SUCCEEDED", 0]]
    counts = "SELECT func_name, count(*), count(worker_id) FROM tasks WHERE func_name != 'driver' GROUP BY 1 ORDER BY 1"
    assert [row for row in read_rows(lab.data, counts) if row[0]] == [["early", 5, 5], ["late", 20, 20]]
    runs.assert_nothing_is_left()


@pytest.mark.long
def test_events_that_agents_drop_without_a_server_are_counted_and_shown(lab: Lab) -> None:
    lab.env["RAYSCOPE_AGENT_BUFFER_BYTES"] = "50000"
    runs = TwoRuns(lab, late=1000)
    os.kill(runs.second.pid, signal.SIGSTOP)  # it cannot take over
    runs.first.kill()
    runs.first.wait()
    runs.touch("first_ends", "go")
    runs.wait_for("late")
    os.kill(runs.second.pid, signal.SIGCONT)
    runs.touch("end")
    output = runs.end_of_second()
    assert "Dropped: " in output, output
    assert "1,005 tasks" in output or "never arrived" in output, output
    runs.assert_nothing_is_left()
