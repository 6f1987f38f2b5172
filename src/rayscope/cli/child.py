"""Runs a program so that its signals and exit status are the same as without Rayscope."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from rayscope.cli.output import Output

#: The program is killed at this many signals, because the earlier ones did not end it.
_KILL_AT = 3
#: A signal that arrives just before the main thread begins to wait is handled after this time, in seconds.
SIGNAL_DELAY_S = 1.0


def exit_status(returncode: int) -> int:
    """Convert a return code to a shell's exit status: 128+N if signal N ended the process."""
    return 128 - returncode if returncode < 0 else returncode


class Child:
    """A started program that has our standard streams and is in our process group.

    During :meth:`wait`, SIGTERM and SIGHUP are forwarded to the program. At a terminal, Ctrl-C reaches the
    program directly, since it is in the foreground process group, and must not end us first. Without a
    terminal, SIGINT is sent only to us, so it is forwarded too. If the program is still running at the third
    signal, it is killed, because a Ray driver can hang at its exit if its cluster is gone.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], output: Output | None = None) -> None:
        """Start ``command``. Raises OSError if that fails. ``output`` receives what the program prints.

        ``terminated`` becomes true when SIGTERM or SIGHUP arrives while the program is running, because such
        a signal is meant for us, too.
        """
        self._passed_on = [signal.SIGTERM, signal.SIGHUP]
        if not _has_terminal():
            self._passed_on.append(signal.SIGINT)
        self._output = output
        out, err = (output.stdout, output.stderr) if output else (None, None)
        self._process = subprocess.Popen(list(command), env=dict(env), stdout=out, stderr=err)
        if output is not None:
            output.start()
        self._before: dict[int, Any] = {}
        self._signals = 0
        self.terminated = False
        for number in {*self._passed_on, signal.SIGINT}:
            self._before[number] = signal.signal(number, self._on_signal)
        if output is not None:
            self._before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._on_resize)

    @property
    def pid(self) -> int:
        """The program's process ID."""
        return self._process.pid

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self.terminated = self.terminated or number != signal.SIGINT
        with contextlib.suppress(ProcessLookupError):
            if self._signals >= _KILL_AT:
                self._process.kill()
            elif number in self._passed_on:
                self._process.send_signal(number)

    def _on_resize(self, number: int, _frame: FrameType | None) -> None:
        if self._output is not None:
            self._output.resize()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)  # the program may have read its size before we resized it

    def wait(self) -> int:
        """Wait until the program ends, and return its exit status as a shell would report it."""
        ending = threading.Thread(target=self._process.wait, name="rayscope-child", daemon=True)
        ending.start()
        try:
            while ending.is_alive():
                ending.join(SIGNAL_DELAY_S)
            status = exit_status(self._process.returncode)
            if self._output is not None:
                self._output.finish()
            return status
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def family(self) -> set[int]:
        """Return the process IDs of the program and of all its living descendants."""
        pids = {self._process.pid}
        with contextlib.suppress(psutil.Error):
            pids.update(one.pid for one in psutil.Process(self._process.pid).children(recursive=True))
        return pids


def _has_terminal() -> bool:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        try:
            if stream.isatty():
                return True
        except (AttributeError, ValueError):
            continue
    return False
