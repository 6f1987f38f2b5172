"""What the program that we run prints: shown as it is, and sent to the server as the log of its driver."""

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

#: What is held until a session takes it; beyond that the oldest is dropped. Bytes of one request.
_HELD_BYTES, _SENT_BYTES = 16 << 20, 1 << 20
#: How often output is sent, s, and the most processes that are named with it.
_PERIOD_S, _PIDS = 1.0, 2000
#: After the program's end: how long nothing comes until that was all, and how long to wait for that, s.
_QUIET_S, _END_S = 0.1, 2.0


class Output:
    """Stands between a program and our stdout and stderr. A terminal stays one: the program gets another.

    ``stdout`` and ``stderr`` are for the program; None where ours is closed. :meth:`start` once it has them.
    """

    def __init__(self) -> None:
        self._targets: dict[int, int] = {}  # our end -> where it is copied to
        self._lock = threading.Lock()
        self._held = bytearray()
        self._begin = 0  # of what is held, in all that was printed
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
                mode[1] &= ~termios.OPOST  # our terminal does that
                termios.tcsetattr(theirs, termios.TCSANOW, mode)
        self._targets[ours] = target
        self.resize()
        return theirs

    def resize(self) -> None:
        """Give the program's terminals the size of ours."""
        for ours, target in list(self._targets.items()):
            with contextlib.suppress(OSError):
                fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(target, termios.TIOCGWINSZ, bytes(8)))

    def start(self) -> None:
        """Begin to copy. Our copies of the program's ends are closed."""
        for theirs in {self.stdout, self.stderr} - {None}:
            os.close(theirs)  # type: ignore[arg-type]
        threading.Thread(target=self._copy, name="rayscope-output", daemon=True).start()

    def finish(self) -> None:
        """The program has ended: wait until all that it printed is here. What it left running may go on."""
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
        """Copy what has come. False at the end, and when nobody reads ours: then the program is to know."""
        try:
            data = os.read(ours, 65536)
            self._hold(data)
            _write(self._targets[ours], data)
        except OSError:  # a terminal's end is EIO
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
        """What was printed from ``offset`` on, or from what is still held, and where that begins."""
        with self._lock:
            begin = max(offset, self._begin)
            return begin, bytes(self._held[begin - self._begin :][:_SENT_BYTES])

    def forget(self, offset: int) -> None:
        """What came before ``offset`` is not needed any more."""
        with self._lock:
            self._cut(offset - self._begin)


class Sender:
    """Sends output to the sessions that have a driver among the program's processes; a context manager."""

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
        """Send what each of the sessions does not have yet; to those that know no driver of ours, later."""
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


def _are_same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
