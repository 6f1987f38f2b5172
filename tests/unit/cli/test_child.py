"""Exit statuses and signals of the program that we run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from rayscope.cli.child import Child, exit_status


@pytest.mark.parametrize(("code", "status"), [(0, 0), (3, 3), (-15, 143), (-9, 137)])
def test_exit_status(code: int, status: int) -> None:
    assert exit_status(code) == status


def test_the_status_of_the_program_is_ours() -> None:
    assert Child([sys.executable, "-c", "raise SystemExit(3)"], os.environ).wait() == 3


def test_sigterm_is_passed_on_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    child = Child([sys.executable, "-c", "import time; time.sleep(60)"], os.environ)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    assert child.wait() == 128 + signal.SIGTERM
    assert time.monotonic() - began < 30
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_outlives_two_signals_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    child = Child([sys.executable, "-c", code], os.environ)
    assert not child.terminated
    for delay_s in (1.0, 1.2, 1.4):
        threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert child.wait() == 128 + signal.SIGKILL
    assert child.terminated


def test_the_family_has_grandchildren() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    child = Child([sys.executable, "-c", code], os.environ)
    deadline = time.monotonic() + 20
    while len(child.family()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    family = child.family()
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    child.wait()
    assert child.pid in family
    assert len(family) == 2
