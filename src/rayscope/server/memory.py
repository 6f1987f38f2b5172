"""Returns memory that the server has freed to the system.

glibc gives each thread one of several arenas, eight for each core unless limited. A few bytes in use keep the
rest of an arena from the system, and threads of another arena cannot use what is free in it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc

import pyarrow as pa

#: The number of glibc's option, and the limit: most threads wait for Python's lock, so few allocate at once.
_M_ARENA_MAX = -8
_ARENAS = 2


def limit_growth() -> None:
    """Share two arenas among all threads, and leave what exists now out of collections.

    The second holds until :func:`lift_limits`.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def lift_limits() -> None:
    """Let everything be collected again."""
    gc.unfreeze()


def release() -> None:
    """Collect cyclic garbage, which otherwise waits for millions of allocations, and return free memory."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
