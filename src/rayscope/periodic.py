"""A thread that calls a function periodically."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("rayscope")
#: Interval at which ``interrupt`` is called until the thread has ended, in seconds.
_INTERRUPT_S = 0.05


class PeriodicTask:
    """Calls ``run`` in a separate thread, named ``name``, until it is stopped.

    The first call comes after ``interval_s``, or immediately with ``at_once``. ``run`` returns the pause
    before the next call in s, or None for ``interval_s``. Errors in ``run`` are logged and do not stop the
    task.
    """

    def __init__(
        self, name: str, interval_s: float, run: Callable[[], float | None], *, at_once: bool = False
    ) -> None:
        self._interval_s = interval_s
        self._run = run
        self._at_once = at_once
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Skip the current pause."""
        self._woken.set()

    def stop(self, timeout_s: float = 5.0, interrupt: Callable[[], None] | None = None) -> None:
        """Stop the thread and wait up to ``timeout_s`` for it to end. In the thread itself, do not wait.

        ``interrupt`` makes ``run`` return early. It is called repeatedly until the thread has ended.
        """
        self._stopping.set()
        self._woken.set()
        if self._thread is threading.current_thread():
            return
        deadline = time.monotonic() + timeout_s
        while self._thread.is_alive() and (left_s := deadline - time.monotonic()) > 0:
            if interrupt is not None:
                interrupt()
            self._thread.join(left_s if interrupt is None else min(left_s, _INTERRUPT_S))

    def wait(self, pause_s: float) -> bool:
        """Pause inside ``run``. Returns whether the task is being stopped, so that ``run`` must return."""
        return self._stopping.wait(pause_s)

    @property
    def is_stopping(self) -> bool:
        """Whether :meth:`stop` has been called."""
        return self._stopping.is_set()

    @property
    def is_alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def _repeat(self) -> None:
        pause_s: float | None = 0.0 if self._at_once else None
        while not self._pause(self._interval_s if pause_s is None else pause_s):
            try:
                pause_s = self._run()
            except Exception:  # after any error, the next call may succeed
                log.exception("%s failed; it is called again", self._thread.name)
                pause_s = None

    def _pause(self, pause_s: float) -> bool:
        """Wait until the next call is due. Returns whether the task is being stopped instead."""
        self._woken.wait(pause_s)
        self._woken.clear()
        return self._stopping.is_set()
