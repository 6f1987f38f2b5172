"""The part of a job's record that replays need, as columns. Times are ns since the job began; -1 means
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

#: The indexes of objects created by ``ray.put`` begin here.
FIRST_PUT = 100_000_001
#: Values larger than this, in bytes, are passed through the object store.
LARGE_BYTES = 100_000
#: Stands for the type of the error of an attempt that a library stopped on purpose.
STOPPED = "STOPPED_BY_LIBRARY"
#: Stands for the driver in place of a task's number.
BY_DRIVER = -1
#: Stands for a task that is not recorded.
UNKNOWN = -2

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
#: A column of numbers: an array, or a list for loops that read one number at a time.
Numbers = TypeVar("Numbers", Ints, list[int])


@dataclass
class Texts:
    """A column of strings. ``values``: the distinct strings; ``codes``: the index of each row's string, -1
    for "".
    """

    codes: Ints
    values: list[str]

    def __getitem__(self, row: int) -> str:
        place = self.codes[row]
        return self.values[place] if place >= 0 else ""

    def equals(self, *texts: str) -> Bools:
        """Whether the string of each row is one of ``texts``."""
        wanted = [place for place, value in enumerate(self.values) if value in texts]
        return np.isin(self.codes, [*wanted, -1] if "" in texts else wanted)


def no_numbers() -> Any:
    """An empty column."""
    return np.zeros(0, dtype=np.int64)


def _no_texts() -> Texts:
    return Texts(no_numbers(), [])


@dataclass
class Attempts(Generic[Numbers]):
    """All attempts of a job, sorted by task and number, as columns of equal length.

    ``task``: tasks are numbered in the order of submission. ``parent``: a task or -1 (the driver, or a task
    that is not recorded). ``kind``: see :mod:`program`. ``given``: when it arrived at its worker; ``start``:
    when its function began; ``returned``: when the function returned; ``ended``: when its owner was notified.
    ``starting``: when its worker began to start, if it waited for a new worker. ``loading`` and ``fetching``:
    how long it loaded code and fetched its arguments before its start. ``yielded``: when a generator yielded
    its first value. ``ran``: whether its function is known to have begun (1 or 0); ``start`` may be its
    arrival at the worker. ``state`` and ``error`` (its type, or :data:`STOPPED`): Ray's names. ``cpu_ns``:
    the CPU time that it used. ``code``: Ray's hash of the function's code; ``call_site``: where it was
    called; ``environment``: its runtime environment as JSON. Strings are "" if unknown. ``returned_bytes``:
    the size of its first value; ``output_bytes``: of all its values; ``pid``: its worker's process.
    ``peak_memory``: the largest size of that process while it ran, in bytes; ``start_memory``: the size when
    it began. These are -1 if unknown. ``memory_scope``: ``own`` if nothing else ran in the process meanwhile.
    """

    task: Numbers = field(default_factory=no_numbers)
    number: Numbers = field(default_factory=no_numbers)
    kind: Numbers = field(default_factory=no_numbers)
    function: Numbers = field(default_factory=no_numbers)
    parent: Numbers = field(default_factory=no_numbers)
    actor: Numbers = field(default_factory=no_numbers)
    node: Numbers = field(default_factory=no_numbers)
    worker: Numbers = field(default_factory=no_numbers)
    group: Numbers = field(default_factory=no_numbers)
    demand: Numbers = field(default_factory=no_numbers)
    created: Numbers = field(default_factory=no_numbers)
    pending: Numbers = field(default_factory=no_numbers)
    given: Numbers = field(default_factory=no_numbers)
    start: Numbers = field(default_factory=no_numbers)
    returned: Numbers = field(default_factory=no_numbers)
    ended: Numbers = field(default_factory=no_numbers)
    starting: Numbers = field(default_factory=no_numbers)
    loading: Numbers = field(default_factory=no_numbers)
    fetching: Numbers = field(default_factory=no_numbers)
    fetched_bytes: Numbers = field(default_factory=no_numbers)
    yielded: Numbers = field(default_factory=no_numbers)
    ran: Numbers = field(default_factory=no_numbers)
    cpu_ns: Numbers = field(default_factory=no_numbers)
    returned_bytes: Numbers = field(default_factory=no_numbers)
    output_bytes: Numbers = field(default_factory=no_numbers)
    peak_memory: Numbers = field(default_factory=no_numbers)
    start_memory: Numbers = field(default_factory=no_numbers)
    pid: Numbers = field(default_factory=no_numbers)
    state: Texts = field(default_factory=_no_texts)
    error: Texts = field(default_factory=_no_texts)
    code: Texts = field(default_factory=_no_texts)
    call_site: Texts = field(default_factory=_no_texts)
    environment: Texts = field(default_factory=_no_texts)
    memory_scope: Texts = field(default_factory=_no_texts)
    #: The two parts of the task IDs: see :mod:`rayscope.storage.schema`.
    task_hi: npt.NDArray[np.uint64] = field(default_factory=no_numbers)
    task_lo: Texts = field(default_factory=_no_texts)

    def __len__(self) -> int:
        return len(self.task)

    def task_id(self, row: int) -> str:
        """Ray's ID of an attempt's task."""
        return f"{int(self.task_hi[row]):016x}{self.task_lo[row]}"

    def lists(self) -> Attempts[list[int]]:
        """The same columns as lists, which are three times as fast when numbers are read one at a time."""
        columns = ((one.name, getattr(self, one.name)) for one in fields(self))
        return Attempts(
            **{
                name: column.tolist() if isinstance(column, np.ndarray) and name != "task_hi" else column
                for name, column in columns
            }
        )


@dataclass
class Wait:
    """A period when an attempt was blocked. ``named``: the objects that it is known to have waited for, as
    (task, index).

    ``is_wait``: in ``ray.wait``. ``objects``: how many objects it waited for; ``ready``: how many were ready
    at its end. ``summed_ns``: the total time blocked if this is the sum of several calls; -1 for a single
    call. ``is_interrupted``: a signal ended it. ``is_group``: it waited for a placement group.
    """

    begin: int
    end: int
    is_wait: bool
    named: list[tuple[int, int]] = field(default_factory=list)
    objects: int = 0
    ready: int = 1
    bytes: int = 0
    summed_ns: int = -1
    is_interrupted: bool = False
    is_group: bool = False


@dataclass
class Waits:
    """All waits of a job, sorted by task (-1 for the driver), attempt and time. Columns as in :class:`Wait`.

    The objects that wait n named are in ``named_task`` and ``named_index`` from ``first_named[n]`` up to
    ``first_named[n + 1]``, sorted by task.
    """

    task: Ints
    attempt: Ints
    begin: Ints
    end: Ints
    is_wait: Bools
    objects: Ints
    ready: Ints
    bytes: Ints
    summed_ns: Ints
    is_interrupted: Bools
    is_group: Bools
    first_named: Ints
    named_task: Ints
    named_index: Ints
    #: A cache of :meth:`of`, because detectors repeat their queries.
    _cache: dict[tuple[int, int], list[Wait]] = field(default_factory=dict)

    @cached_property
    def blocked_ns(self) -> Ints:
        """How long each wait blocked its task, ns."""
        return np.where(self.summed_ns >= 0, self.summed_ns, self.end - self.begin)

    @cached_property
    def is_last_get(self) -> Bools:
        """Whether each wait is a single ``ray.get`` in the last attempt of its task that waited."""
        last = self.attempt[np.searchsorted(self.task, self.task, "right") - 1]
        found: Bools = (self.attempt == last) & ~self.is_wait & (self.summed_ns < 0)
        return found

    @cached_property
    def _firsts(self) -> Ints:
        """The index of each attempt's first wait, and the total number of waits."""
        if not len(self.task):
            return np.zeros(1, dtype=np.int64)
        is_first = (np.diff(self.task, prepend=-2) != 0) | (np.diff(self.attempt, prepend=-1) != 0)
        return np.append(np.flatnonzero(is_first), len(self.task))

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        """For each task and attempt, its index in ``_firsts``."""
        firsts = self._firsts[:-1]
        keys = zip(self.task[firsts].tolist(), self.attempt[firsts].tolist(), strict=True)
        return {key: place for place, key in enumerate(keys)}

    def of(self, task: int, attempt: int) -> list[Wait]:
        """The waits of an attempt in chronological order."""
        key = task, attempt
        if key in self._places and key not in self._cache:
            place = self._places[key]
            self._cache[key] = self._slice(int(self._firsts[place]), int(self._firsts[place + 1]))
        return self._cache.get(key, [])

    def counts(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Each task and attempt that has waits, and the number of its waits."""
        return zip(self._places, np.diff(self._firsts).tolist(), strict=True)

    def all(self) -> dict[tuple[int, int], list[Wait]]:
        """All waits, by task and attempt."""
        every = self._slice(0, len(self.task))
        ends = self._firsts[1:].tolist()
        return {
            key: every[begin:end] for key, begin, end in zip(self._places, [0, *ends], ends, strict=False)
        }

    def _slice(self, begin: int, end: int) -> list[Wait]:
        bounds = self.first_named[begin : end + 1].tolist()
        since, until = (bounds[0], bounds[-1]) if bounds else (0, 0)
        named = list(
            zip(self.named_task[since:until].tolist(), self.named_index[since:until].tolist(), strict=True)
        )
        columns = (
            column[begin:end].tolist()
            for column in (
                self.begin,
                self.end,
                self.is_wait,
                self.objects,
                self.ready,
                self.bytes,
                self.summed_ns,
                self.is_interrupted,
                self.is_group,
            )
        )
        return [
            Wait(at, until, is_wait, named[first - since : last - since], *rest)
            for at, until, is_wait, *rest, first, last in zip(*columns, bounds, bounds[1:], strict=False)
        ]


#: Kind of :class:`Passed`: a task put the object into the object store.
PUT = 0
#: Kind of :class:`Passed`: a task returned the object.
RETURN = 1
#: Kind of :class:`Passed`: a task was called with the object.
ARGUMENT = 2
#: Kind of :class:`Passed`: a task got the object.
GET = 3


@dataclass
class Passed:
    """Objects that tasks created (``kind`` is PUT or RETURN), were called with (ARGUMENT) or got (GET), in
    chronological order, as columns of equal length. Contains only objects that are large, put, or nested in
    others.

    ``maker`` and ``taker`` are tasks, BY_DRIVER or UNKNOWN. The taker of an object that was put is its maker,
    and that of a large returned object is the caller. ``key``: identifies the object. ``bytes``: -1 if
    unknown. ``nested``: only a reference to it was passed; ``by_value``: a large value that Ray stored for
    this call. ``begin`` and ``end``: of the first and the last call that passed it.
    """

    kind: Ints
    maker: Ints
    taker: Ints
    key: npt.NDArray[np.uint64]
    bytes: Ints
    nested: Bools
    by_value: Bools
    begin: Ints
    end: Ints

    @cached_property
    def created_rows(self) -> Ints:
        """One row for each object that a task or the driver put or returned."""
        rows = np.flatnonzero(((self.kind == PUT) | (self.kind == RETURN)) & (self.maker >= BY_DRIVER))
        return rows[np.unique(self.key[rows], return_index=True)[1]]


class Sending(NamedTuple):
    """Something that a task, or BY_DRIVER, sent to Ray.

    ``kind``: ``submit``, a call that took a millisecond or more to submit; ``export``, the code of a function
    or of an actor's class (``code`` as in :class:`Attempts`); or ``content``, a large argument passed by
    value (equal values have the same checksum in ``code``).
    """

    kind: str
    task: int
    begin: int
    end: int
    bytes: int
    code: str


class Risk(NamedTuple):
    """An action of a task, or BY_DRIVER, that may do harm.

    ``kind``: ``fork``; ``pickled_reference``, a reference that was pickled for anything other than a call, a
    result or ``ray.put``; or ``data_issue``, an ``issue`` that Ray Data reported. ``place``: the place in the
    code, or the operator. ``times``: the minimum number of times that it happened.
    """

    kind: str
    task: int
    place: str
    times: int
    issue: str = ""
    message: str = ""


class MemoryKill(NamedTuple):
    """A worker that was killed because its node had too little memory, by the kernel or else by Ray's memory
    monitor.

    ``worker`` and ``node``: as in :class:`Attempts`; ``worker`` is -1 if it ran no attempt of the job.
    ``bytes``: its size when it was last seen; ``total_bytes``: the memory of its node; -1 if unknown.
    """

    worker: int
    node: int
    time: int
    by_kernel: bool
    bytes: int
    total_bytes: int


@dataclass
class Arguments:
    """Objects that tasks were called with: the task that created each (``made_by``), and its ``index`` among
    that task's objects. The arguments of one task are adjacent.
    """

    task: Ints
    made_by: Ints
    index: Ints

    def of(self, task: int) -> list[tuple[int, int]]:
        """The objects that a task was called with."""
        since, until = np.searchsorted(self.task, [task, task + 1]).tolist()
        return list(zip(self.made_by[since:until].tolist(), self.index[since:until].tolist(), strict=True))

    def all(self) -> dict[int, list[tuple[int, int]]]:
        """The objects that each task was called with, without tasks that had none."""
        found: dict[int, list[tuple[int, int]]] = {}
        for task, *one in zip(self.task.tolist(), self.made_by.tolist(), self.index.tolist(), strict=True):
            found.setdefault(task, []).append((one[0], one[1]))
        return found


@dataclass
class Node:
    """The resources of a node, and when it began and ended. ``death``: why it died, or "" if it did not."""

    resources: dict[str, float]
    begin: int
    end: int
    node_id: str = ""
    name: str = ""
    death: str = ""


@dataclass
class Actor:
    """An actor: its class, its resources, and when it began (-1: not yet) and ended (-1: never). ``death``:
    why it died, or "" if it did not.
    """

    class_name: str
    resources: dict[str, float]
    end: int
    begin: int = -1
    actor_id: str = ""
    state: str = ""
    restarts: int = 0
    death: str = ""


@dataclass
class Group:
    """A placement group: its bundles, and when it was created, ready (-1: never) and removed (-1: never)."""

    bundles: list[dict[str, float]]
    created: int
    removed: int
    ready: int = -1
    name: str = ""
    strategy: str = "PACK"
    group_id: str = ""


class GroupWait(NamedTuple):
    """A wait of a task, or BY_DRIVER, for a placement group. ``end`` is -1 if unknown."""

    task: int
    group_id: str
    begin: int
    end: int


@dataclass
class Recorded:
    """A job's record.

    ``driver``: when its driver began and ended, or the time of reading if it is still running. ``waits``:
    those that ended; ``open_waits``: the last wait of each attempt for which no end is recorded, because it
    is still open or ended with its task. ``last``: the end of the job's record. ``workers``: when each was
    launched and had started, or None if unknown; ``unused_workers``: the node, launch and start of those that
    ran nothing; ``start_slots``: the maximum number of workers that each node started at once. ``groups``:
    the placement groups of attempts; ``empty_groups``: the others; ``group_waits``: waits for any of them.
    ``passed``: the objects that tasks created and used. ``sendings``, ``risks`` and ``memory_kills``: in
    chronological order. ``modules``: the module that defines each function, "" if unknown. ``begin_ns``: the
    origin of all times, ns since the epoch.
    """

    job_id: str
    driver: tuple[int, int]
    has_driver: bool
    is_traced: bool
    has_ended: bool
    attempts: Attempts[Ints]
    functions: list[str]
    demands: list[dict[str, float]]
    tasks: int
    arguments: Arguments
    waits: Waits
    passed: Passed
    nodes: list[Node]
    workers: list[tuple[int | None, int | None]]
    unused_workers: list[tuple[int, int, int]]
    start_slots: dict[int, int]
    actors: list[Actor]
    groups: list[Group]
    empty_groups: list[Group] = field(default_factory=list)
    group_waits: list[GroupWait] = field(default_factory=list)
    open_waits: dict[tuple[int, int], Wait] = field(default_factory=dict)
    last: int = -1
    sendings: list[Sending] = field(default_factory=list)
    risks: list[Risk] = field(default_factory=list)
    memory_kills: list[MemoryKill] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    begin_ns: int = 0

    @property
    def extent_ns(self) -> tuple[int, int]:
        """When the job began, and when it ended or was read, ns since the epoch."""
        return self.begin_ns + self.driver[0], self.begin_ns + self.driver[1]

    @cached_property
    def lists(self) -> Attempts[list[int]]:
        """The attempts, with lists instead of arrays as columns."""
        return self.attempts.lists()

    @cached_property
    def first_rows(self) -> Ints:
        """The row of the first attempt of each task, and the total number of attempts. The attempts of a task
        are adjacent.
        """
        return np.searchsorted(self.attempts.task, np.arange(self.tasks + 1))

    def rows_of_task(self, task: int) -> range:
        """The attempts of a task, sorted by number."""
        return range(int(self.first_rows[task]), int(self.first_rows[task + 1]))

    @cached_property
    def waiting_rows(self) -> Ints:
        """The attempt of each wait; -1 for the driver and for attempts that are not recorded."""
        a, waits = self.attempts, self.waits
        if not len(a):
            return np.full(len(waits.task), -1)
        # Attempts of a task are numbered from 0 on, so the row can be computed unless some are not recorded.
        rows = np.minimum(self.first_rows[waits.task] + waits.attempt, len(a) - 1)
        found = np.where((a.task[rows] == waits.task) & (a.number[rows] == waits.attempt), rows, -1)
        for place in np.flatnonzero((found < 0) & (waits.task >= 0)):
            its = (
                row for row in self.rows_of_task(waits.task[place]) if a.number[row] == waits.attempt[place]
            )
            found[place] = next(its, -1)
        return found
