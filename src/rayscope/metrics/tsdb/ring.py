"""The newest values of many series in memory: a matrix with a row per series and a column per time.

The type is float64: counters and start times (1.7e9 s) need more than the 24 bits of float32. An hour of
3,000 series with a sample every 5 s takes 17 MB.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

_BLOCK = 256
#: Two NaNs that differ in their last bit: "no value", and "the series has ended".
_EMPTY_BITS = np.uint64(0x7FF8_0000_0000_0000)
_STALE_BITS = np.uint64(0x7FF8_0000_0000_0001)
STALE = float(_STALE_BITS.view(np.float64))


class Ring:
    """The values of any number of series at the newest ``times`` points in time. Not thread-safe."""

    def __init__(self, times: int) -> None:
        self._size = times
        self._times: Times = np.empty(0, np.int64)
        self._slots: Indices = np.empty(0, np.intp)
        self._blocks: list[Values] = []
        self._free: list[int] = []
        #: The time of each series' last value, ns, or 0 if it never had one. ``last``: this value.
        self.last_ns: Times = np.zeros(0, np.int64)
        self.last: Values = np.zeros(0)

    @property
    def first_ns(self) -> int | None:
        """The oldest stored time, ns. None if empty."""
        return int(self._times[0]) if len(self._times) else None

    @property
    def newest_ns(self) -> int:
        """The newest stored time, ns. 0 if empty."""
        return int(self._times[-1]) if len(self._times) else 0

    @property
    def nbytes(self) -> int:
        """Memory used by the values, bytes."""
        return sum(block.nbytes for block in self._blocks)

    def add(self) -> int:
        """Add a series. Returns its index."""
        if not self._free:
            first = len(self._blocks) * _BLOCK
            self._blocks.append(np.full((_BLOCK, self._size), np.nan))
            self._free = list(range(first + _BLOCK - 1, first - 1, -1))
            self.last_ns = np.concatenate([self.last_ns, np.zeros(_BLOCK, np.int64)])
            self.last = np.concatenate([self.last, np.full(_BLOCK, np.nan)])
        return self._free.pop()

    def drop(self, index: int) -> None:
        """Remove a series."""
        self._blocks[index // _BLOCK][index % _BLOCK] = np.nan
        self.last_ns[index] = 0
        self._free.append(index)

    def put(self, time_ns: int, indices: Indices, values: Values) -> None:
        """Set values of some series at a given time, which may be new or already have values of other series.

        If the ring is full, a time before the oldest stored one is ignored.
        """
        slot = self._slot(time_ns)
        if slot is None:
            return
        blocks = indices // _BLOCK
        order = np.argsort(blocks, kind="stable")
        indices, values, blocks = indices[order], values[order], blocks[order]
        edges = np.flatnonzero(np.diff(blocks, prepend=-1, append=-1))
        for begin, end in itertools.pairwise(edges):
            self._blocks[blocks[begin]][indices[begin:end] % _BLOCK, slot] = values[begin:end]
        newer = self.last_ns[indices] <= time_ns
        self.last_ns[indices[newer]] = time_ns
        self.last[indices[newer]] = values[newer]

    def _slot(self, time_ns: int) -> int | None:
        at = int(np.searchsorted(self._times, time_ns))
        if at < len(self._times) and self._times[at] == time_ns:
            return int(self._slots[at])
        if len(self._times) < self._size:
            slot = len(self._times)
        elif at == 0:
            return None
        else:
            slot = int(self._slots[0])
            self._times, self._slots = self._times[1:], self._slots[1:]
            at -= 1
            for block in self._blocks:
                block[:, slot] = np.nan
        self._times = np.insert(self._times, at, time_ns)
        self._slots = np.insert(self._slots, at, slot)
        return slot

    def read(self, indices: Indices, start_ns: int, end_ns: int) -> tuple[Times, Values, Bools]:
        """The values of some series from start to end, inclusive: times (ascending), values (series, times),
        and a mask of existing values. STALE is an existing NaN.
        """
        begin = int(np.searchsorted(self._times, start_ns))
        end = int(np.searchsorted(self._times, end_ns, side="right"))
        slots = self._slots[begin:end]
        values = np.empty((len(indices), len(slots)))
        blocks = indices // _BLOCK
        for block in np.unique(blocks).tolist():
            rows = np.flatnonzero(blocks == block)
            values[rows] = self._blocks[block][np.ix_(indices[rows] % _BLOCK, slots)]
        return self._times[begin:end], values, values.view(np.uint64) != _EMPTY_BITS

    def outdated(self, indices: Indices) -> Indices:
        """Those of the given series that no longer have any value."""
        first = self.first_ns
        return indices[:0] if first is None else indices[self.last_ns[indices] < first]
