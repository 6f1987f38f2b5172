"""The program that we run: its signals and its exit status are what they would be without us."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from rayscope.cli.output import Output

#: The signal that kills a program which the ones before did not end.
_KILL_AT = 3


def exit_status(returncode: int) -> int:
    """A process's return code as a shell tells it: 128+N for one that signal N ended."""
    return 128 - returncode if returncode < 0 else returncode


class Child:
    """A started program with our standard streams and in our process group.

    While :meth:`wait` waits, SIGTERM and SIGHUP are passed on. Ctrl-C at a terminal reaches the program by
    itself, since it is in the terminal's foreground group, and must not end us before it; without a terminal
    SIGINT was meant for us alone and is passed on too. A program that is still there at the third signal
    (a Ray driver whose cluster is gone can hang at its exit) is killed.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], output: Output | None = None) -> None:
        """Start ``command``. Raises OSError if the system cannot. ``output`` takes what it prints.

        ``terminated`` becomes true when SIGTERM or SIGHUP comes while the program runs: they mean us too.
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
        """The program's process id."""
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
            self._process.send_signal(number)  # it may have looked before

    def wait(self) -> int:
        """Wait for its end; its exit status as a shell tells it."""
        try:
            status = exit_status(self._process.wait())
            if self._output is not None:
                self._output.finish()
            return status
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def family(self) -> set[int]:
        """The process ids of the program and of all that it started and that still lives."""
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
