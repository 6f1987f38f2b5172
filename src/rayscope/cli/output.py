"""Output of the program that we run. It is printed unchanged, and sent to the server as its driver's log."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import selectors
import termios
import threading
from collections.abc import Iterable

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.watch import Watch
from rayscope.periodic import PeriodicTask

#: Maximum size of output that waits for a session to accept it, in bytes. Beyond that, the oldest is dropped.
_HELD_BYTES = 16 << 20
#: Maximum size of the output in one request, in bytes.
_SENT_BYTES = 1 << 20
#: Interval at which output is sent, in seconds.
_PERIOD_S = 1.0
#: Maximum number of process IDs in one request.
_PIDS = 2000
#: An ended program's output is complete once there has been none for this long, in seconds.
_QUIET_S = 0.1
#: Maximum time to wait until the output of an ended program is complete, in seconds.
_END_S = 2.0


class Output:
    """Relays a program's output to our stdout and stderr. If ours are a terminal, so are the program's.

    ``stdout`` and ``stderr`` are file descriptors for the program, or None if ours is closed. Call
    :meth:`start` once the program has them.
    """

    def __init__(self) -> None:
        self._targets: dict[int, int] = {}  # our end of each pipe or terminal -> where to copy its output
        self._lock = threading.Lock()
        self._held = bytearray()
        self._begin = 0  # offset of the held output within all output
        self._ended, self._done = threading.Event(), threading.Event()
        self.stdout = self._between(1)
        self.stderr = self.stdout if _are_same(1, 2) else self._between(2)

    def _between(self, target: int) -> int | None:
        try:
            os.fstat(target)
        except OSError:
            return None
        if not os.isatty(target):
            ours, theirs = os.pipe()
        else:
            ours, theirs = pty.openpty()
            with contextlib.suppress(termios.error):
                mode = termios.tcgetattr(target)
                mode[1] &= ~termios.OPOST  # our own terminal converts newlines already
                termios.tcsetattr(theirs, termios.TCSANOW, mode)
        self._targets[ours] = target
        self.resize()
        return theirs

    def resize(self) -> None:
        """Resize the program's terminals to the size of ours."""
        for ours, target in list(self._targets.items()):
            with contextlib.suppress(OSError):
                fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(target, termios.TIOCGWINSZ, bytes(8)))

    def start(self) -> None:
        """Start copying, and close our copies of the program's file descriptors."""
        for theirs in {self.stdout, self.stderr} - {None}:
            os.close(theirs)  # type: ignore[arg-type]
        threading.Thread(target=self._copy, name="rayscope-output", daemon=True).start()

    def finish(self) -> None:
        """Wait until all output of the ended program has been copied. Its descendants may still run."""
        self._ended.set()
        self._done.wait(_END_S)

    def _copy(self) -> None:
        with selectors.DefaultSelector() as selector:
            for ours in self._targets:
                selector.register(ours, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(_QUIET_S)
                if not ready and self._ended.is_set():
                    self._done.set()
                for key, _ in ready:
                    if not self._pass_on(key.fd):
                        selector.unregister(key.fd)
                        del self._targets[key.fd]
                        os.close(key.fd)
        self._done.set()

    def _pass_on(self, ours: int) -> bool:
        """Copy available output. Returns whether there may be more.

        At the end of the output, or if nobody reads our own output, return False. Then our end is closed, so
        that the program notices.
        """
        try:
            data = os.read(ours, 65536)
            self._hold(data)
            _write(self._targets[ours], data)
        except OSError:  # EIO is how a terminal reports its end
            return False
        return bool(data)

    def _hold(self, data: bytes) -> None:
        with self._lock:
            self._held += data
            self._cut(len(self._held) - _HELD_BYTES)

    def _cut(self, size: int) -> None:
        if size > 0:
            del self._held[:size]
            self._begin += size

    def read(self, offset: int) -> tuple[int, bytes]:
        """Return the held output from ``offset`` on, or from the oldest byte on, and where it begins."""
        with self._lock:
            begin = max(offset, self._begin)
            return begin, bytes(self._held[begin - self._begin :][:_SENT_BYTES])

    def forget(self, offset: int) -> None:
        """Drop the output before ``offset``."""
        with self._lock:
            self._cut(offset - self._begin)


class Sender:
    """Sends output to the sessions that have a driver among the program's processes. A context manager."""

    def __init__(self, api: Api, url: str, output: Output, began_ns: int, watch: Watch) -> None:
        self._api, self._url, self._output = api, url, output
        self._began_ns, self._watch = began_ns, watch
        self._sent: dict[str, int] = {}
        self._task = PeriodicTask("rayscope-output-sender", _PERIOD_S, self._send_what_came)

    def __enter__(self) -> Sender:
        self._task.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._task.stop(10)

    def _send_what_came(self) -> None:
        self.send(self._watch.clusters)

    def send(self, sessions: Iterable[str]) -> None:
        """Send new output to each session.

        A session that does not know a driver of the program yet gets the output later.
        """
        pids = None
        for session in list(sessions):
            while True:
                offset, data = self._output.read(self._sent.get(session, 0))
                if not data:
                    break
                pids = ",".join(map(str, sorted(self._watch.pids)[:_PIDS])) if pids is None else pids
                where = {"session": session, "pids": pids, "began_ns": self._began_ns, "offset": offset}
                try:
                    if not self._api.send_output(self._url, data, where):
                        break
                except RayscopeError:
                    break
                self._sent[session] = offset + len(data)
        if self._sent:
            self._output.forget(min(self._sent.values()))


def _are_same(fd: int, other_fd: int) -> bool:
    try:
        return os.path.sameopenfile(fd, other_fd)
    except OSError:
        return False


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
