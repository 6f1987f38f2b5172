"""Returns freed memory to the system.

glibc assigns each thread to one of several arenas, by default eight per core. A few bytes in use prevent the
return of an arena's other memory to the system, and threads of other arenas cannot use it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc

import pyarrow as pa

#: glibc's option for the number of arenas.
_M_ARENA_MAX = -8
#: Number of arenas. Most threads wait for Python's lock, so few of them allocate at once.
_ARENAS = 2


def limit_growth() -> None:
    """Share two arenas among all threads, and exclude existing objects from garbage collection.

    :func:`lift_limits` undoes the latter.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def lift_limits() -> None:
    """Include all objects in garbage collection again."""
    gc.unfreeze()


def release() -> None:
    """Collect cyclic garbage, which is otherwise rare, and return free memory to the system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
