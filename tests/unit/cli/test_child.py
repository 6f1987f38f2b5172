"""Exit statuses and signals of the program that we run."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.cli.child import Child, exit_status
from rayscope.cli.output import Output


@pytest.mark.parametrize(("code", "status"), [(0, 0), (3, 3), (-15, 143), (-9, 137)])
def test_exit_status(code: int, status: int) -> None:
    assert exit_status(code) == status


def test_the_status_of_the_program_is_ours() -> None:
    assert Child([sys.executable, "-c", "raise SystemExit(3)"], os.environ).wait() == 3


def test_sigterm_is_passed_on_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    child = Child([sys.executable, "-c", "import time; time.sleep(60)"], os.environ)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert child.wait() == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_does_not_interrupt_the_wait_is_passed_on(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    code = f"import sys, time; open(sys.argv[1], 'w'); time.sleep({TIMEOUT_S})"
    child = Child([sys.executable, "-c", code, str(ready)], os.environ)

    def send() -> None:
        wait_until(ready.exists, "the program")
        # In this thread the signal does not wake the main thread, like one that came just before the wait.
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    threading.Thread(target=send).start()
    assert child.wait() == 128 + signal.SIGTERM


def test_processes_that_outlive_two_signals_are_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ignore = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = f"{ignore}; open(sys.argv[1], 'w'); time.sleep({TIMEOUT_S})"
    child = Child([sys.executable, "-c", code, str(ready)], os.environ)
    assert not child.terminated

    def send() -> None:
        wait_until(ready.exists, "the program to ignore the signal")
        for number in (1, 2, 3):
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda number=number: child._signals == number, "the signal to arrive")  # type: ignore[misc]

    threading.Thread(target=send).start()
    assert child.wait() == 128 + signal.SIGKILL
    assert child.terminated


def test_the_family_has_grandchildren() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    child = Child([sys.executable, "-c", code], os.environ)
    wait_until(lambda: len(child.family()) == 2, "the grandchild")
    family = child.family()
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    child.wait()
    assert child.pid in family
    assert len(family) == 2


def test_output_is_shown_as_it_is_and_held(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code = "import os; os.write(1, b'one\\r\\x1b[1mtwo'); os.write(2, b'\\xff'); raise SystemExit(3)"
    output = Output()
    assert Child([sys.executable, "-c", code], os.environ, output).wait() == 3
    shown = capfdbinary.readouterr()
    assert (shown.out, shown.err) == (b"one\r\x1b[1mtwo", b"\xff")
    begin, held = output.read(0)
    assert begin == 0
    assert sorted(held) == sorted(shown.out + shown.err)
    output.forget(4)
    assert output.read(0) == (4, held[4:])


def test_a_program_in_a_terminal_is_in_one() -> None:
    inner = (
        "import os, sys; print(sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size()); print('x')"
    )
    code = (
        "import os, sys; from rayscope.cli.child import Child; from rayscope.cli.output import Output\n"
        f"o = Output(); raise SystemExit(Child([sys.executable, '-c', {inner!r}], os.environ, o).wait()"
        " or o.read(0)[1] != b'True True 77 33\\nx\\n')"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 33, 77, 0, 0))
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=theirs, stderr=theirs, timeout=TIMEOUT_S, check=False
    )
    os.close(theirs)
    assert os.read(ours, 1000) == b"True True 77 33\r\nx\r\n"
    os.close(ours)
    assert done.returncode == 0


def test_a_program_notices_that_its_output_is_not_read() -> None:
    inner = "import os\nwhile True: os.write(1, b'y' * 1000)"
    code = (
        "import os, sys; from rayscope.cli.child import Child; from rayscope.cli.output import Output\n"
        f"raise SystemExit(Child([sys.executable, '-c', {inner!r}], os.environ, Output()).wait())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdout is not None
        run.stdout.read(1)
        run.stdout.close()
        assert run.wait(TIMEOUT_S) == 1  # BrokenPipeError
