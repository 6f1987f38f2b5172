"""Reads the peak memory of this process from the kernel, which can also forget the peak so far."""

from __future__ import annotations

import os
from collections.abc import Callable

from rayscope.tracer.settings import MEMORY

#: How an attempt's memory was measured, by its number in reports: ``own`` if the attempt was alone in its
#: process, ``shared`` if others ran beside it. The rest are reasons why it was not measured.
SCOPES = ("own", "shared", "off", "unavailable")
OWN = 0
SHARED = 1
OFF = 2
UNAVAILABLE = 3


class Meter:
    """The memory (resident set size, bytes) of this process.

    Attributes:
        failure: number of the scope that says why memory cannot be measured, 0 if it can.

    ``ru_maxrss`` takes a tenth of the time of ``VmHWM``. It is the larger of ``VmHWM`` and ``_floor``, the
    peak of the program that this process ran before Python, which nothing resets.
    """

    __slots__ = ("_clear_refs", "_floor", "_status", "_usage", "failure")

    def __init__(self) -> None:
        self.failure = OFF if os.environ.get(MEMORY) == "0" else 0
        if self.failure:
            return
        try:
            import resource

            self._usage: Callable[[], int] = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            self._clear_refs = os.open("/proc/self/clear_refs", os.O_WRONLY)
            self._status = os.open("/proc/self/status", os.O_RDONLY)
            self._reset()
            usage, peak = self._usage(), self._exact_peak()
            self._floor = usage if usage > peak else 0
        except (ImportError, OSError, ValueError):  # not Linux, or /proc is restricted
            self.failure = UNAVAILABLE

    def restart(self) -> int:
        """Forget the peak so far. Returns the current size, 0 if unknown."""
        if self.failure:
            return 0
        self._reset()
        return self.peak()

    def peak(self) -> int:
        """The peak since the last restart, 0 if unknown."""
        if self.failure:
            return 0
        peak = self._usage()
        return peak if peak > self._floor else self._exact_peak()

    def _reset(self) -> None:
        os.pwrite(self._clear_refs, b"5", 0)

    def _exact_peak(self) -> int:
        status = os.pread(self._status, 4096, 0)
        at = status.index(b"VmHWM:") + len(b"VmHWM:")
        return int(status[at : status.index(b"kB", at)]) << 10
