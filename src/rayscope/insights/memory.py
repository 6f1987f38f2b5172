"""How much memory the attempts of a job used, and which of them were killed for lack of it."""

from __future__ import annotations

import numpy as np

from rayscope.insights.finding import Facts, NotEnoughData, groups
from rayscope.insights.replay.recorded import ARGUMENT, GET, PUT, RETURN, Bools, Ints

MIB = 2**20
#: The proposed reservation, as a multiple of the memory that attempts used.
_SPARE_FACTOR = 1.25
#: Proposed reservations are multiples of this.
_STEP_BYTES = 64 * MIB
#: Ray's type of error for attempts killed by its memory monitor.
OUT_OF_MEMORY = "OUT_OF_MEMORY"
#: An attempt that ended more than this before its process was seen to end, in ns, was not lost with it.
_NOTICED_NS = 10_000_000_000
#: Ray's type of error for exceptions of the program.
_RAISED = "TASK_EXECUTION_EXCEPTION"


def is_measured(facts: Facts) -> Bools:
    """Whether the memory of each attempt was measured while nothing else ran in its process. Raises
    NotEnoughData if no attempt was measured at all.
    """
    a = facts.attempts
    found: Bools = (a.peak_memory > 0) & (a.start_memory > 0)
    if not found.any():
        raise NotEnoughData("The tracer measured no memory in the workers.")
    return found & a.memory_scope.equals("own") & (a.worker >= 0) & (a.start >= 0)


def object_bytes(facts: Facts) -> Ints:
    """The most that objects of the object store can add to the size of each attempt's process: those that it
    was called with, got, put or returned.
    """
    a, passed = facts.attempts, facts.recorded.passed
    of_task = np.zeros(facts.recorded.tasks, dtype=np.int64)
    is_used = (passed.bytes > 0) & ~passed.nested
    for kinds, task in (((ARGUMENT, GET), passed.taker), ((PUT, RETURN), passed.maker)):
        chosen = is_used & np.isin(passed.kind, kinds) & (task >= 0)
        np.add.at(of_task, task[chosen], passed.bytes[chosen])
    return np.maximum(of_task[a.task], a.fetched_bytes) + np.maximum(a.output_bytes, 0)


def own_memory(facts: Facts) -> Ints:
    """The least memory that each attempt's process must have had at its peak without objects of the object
    store, which processes share; -1 if unknown. Raises NotEnoughData.

    A process keeps the pages of objects that it has used before. So the size of the process is reduced by all
    objects that it has used, or its growth during the attempt by those of the attempt.
    """
    a, objects = facts.attempts, object_bytes(facts)
    found = np.full(len(a), -1, dtype=np.int64)
    rows = np.flatnonzero(is_measured(facts))
    if not len(rows):
        return found
    used = np.zeros(len(a), dtype=np.int64)
    began = np.flatnonzero((a.worker >= 0) & (a.start >= 0))
    for _, places in groups(a.worker[began]):
        of_worker = began[places]
        of_worker = of_worker[np.argsort(a.start[of_worker], kind="stable")]
        used[of_worker] = np.cumsum(objects[of_worker])
    peak, start = a.peak_memory[rows], a.start_memory[rows]
    grown = start.min() + np.maximum(peak - start - objects[rows], 0)
    found[rows] = np.minimum(np.maximum(peak - used[rows], grown), peak)
    return found


def is_killed_by_kernel(facts: Facts) -> Bools:
    """Whether each attempt was lost because the kernel killed its process for lack of memory."""
    a = facts.attempts
    found = np.zeros(len(a), dtype=np.bool_)
    has_failed = a.state.equals("FAILED") & ~a.error.equals(_RAISED, OUT_OF_MEMORY)
    for kill in facts.recorded.memory_kills:
        if kill.by_kernel and kill.worker >= 0:
            was_there = (a.start <= kill.time) & (a.ended >= kill.time - _NOTICED_NS)
            found |= (a.worker == kill.worker) & has_failed & was_there
    return found


def is_killed(facts: Facts) -> Bools:
    """Whether each attempt was lost to Ray's memory monitor, or to the kernel for lack of memory."""
    return facts.attempts.error.equals(OUT_OF_MEMORY) | is_killed_by_kernel(facts)


def with_spare(used_bytes: float) -> int:
    """The ``memory=`` to reserve for something that uses so much."""
    return int(-(-used_bytes * _SPARE_FACTOR // _STEP_BYTES)) * _STEP_BYTES
