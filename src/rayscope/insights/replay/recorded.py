"""What a replay needs of a job's record, as plain columns. Times are ns since the begin; -1 is not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

#: Objects of ``ray.put`` have indices from here on.
FIRST_PUT = 100_000_001
#: In place of a task: the driver; or nobody knows which.
BY_DRIVER, UNKNOWN = -1, -2


@dataclass
class Attempts:
    """All attempts of a job in the order of their tasks and numbers; lists of equal length.

    ``task`` numbers the tasks, ``parent`` is a task or -1 (the driver, or one that is not on record).
    ``kind`` as in :mod:`program`; ``given``: when it came to its worker, ``start`` when its function began,
    ``returned`` when that returned; ``ended`` when its owner knew. ``starting``: when its worker began to
    start, where it waited for that. ``loading`` and ``fetching``: of the time before its start, how long it
    loaded code and fetched its arguments. ``yielded``: when a generator gave its first value.
    ``ran``: whether its function is known to have begun; ``start`` may be when it came to its worker.
    ``state`` and ``error`` (its type, "" for none) as Ray names them; ``cpu_ns``: the CPU time that it used.
    ``code``: Ray's hash of the function's code; ``call_site``: where it was called; ``environment``: its
    runtime environment, as JSON. Each is "" if it is not known. ``returned_bytes``: of its (first) value.
    """

    task: list[int] = field(default_factory=list)
    task_id: list[str] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    actor: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    worker: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    demand: list[int] = field(default_factory=list)
    created: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    starting: list[int] = field(default_factory=list)
    loading: list[int] = field(default_factory=list)
    fetching: list[int] = field(default_factory=list)
    fetched_bytes: list[int] = field(default_factory=list)
    yielded: list[int] = field(default_factory=list)
    ran: list[bool] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    cpu_ns: list[int] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    call_site: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)
    returned_bytes: list[int] = field(default_factory=list)


@dataclass
class Wait:
    """A stretch in which an attempt was blocked: in ``ray.wait`` or not, and the objects that it named, as
    (task, index). ``objects``: how many it waited for; ``ready``: how many were there at its end.
    ``summed_ns``: it sums up several calls, which were blocked for so long; -1 for a single one.
    """

    begin: int
    end: int
    is_wait: bool
    named: list[tuple[int, int]] = field(default_factory=list)
    objects: int = 0
    ready: int = 1
    bytes: int = 0
    summed_ns: int = -1


class Passed(NamedTuple):
    """An object that a task made (``kind`` is ``put`` or ``return``), was called with (``argument``) or got
    (``get``). ``maker`` and ``taker`` are tasks, BY_DRIVER or UNKNOWN: the maker took what it put itself, and
    its caller what it returned, if that was large. ``key`` is the same for the same object. ``bytes`` is -1
    if it is not known. ``nested``: only a reference to it was passed; ``by_value``: a large value that
    Ray stored for this call. ``begin`` and ``end``: of the first and the last call that passed it.
    """

    kind: str
    maker: int
    taker: int
    key: int
    bytes: int
    nested: bool
    by_value: bool
    begin: int
    end: int


class Sending(NamedTuple):
    """Of a task, or BY_DRIVER: a call that took a millisecond or more to submit (``kind`` is ``submit``); the
    code of a function or an actor's class that it sent to Ray (``export``: ``code`` as in
    :class:`Attempts`); or what a large argument of its own looked like (``content``: equal values have the
    same check sum in ``code``).
    """

    kind: str
    task: int
    begin: int
    end: int
    bytes: int
    code: str


@dataclass
class Node:
    """What a node had, and when it came and went; ``death``: why it died, "" if it did not."""

    resources: dict[str, float]
    begin: int
    end: int
    node_id: str = ""
    name: str = ""
    death: str = ""


@dataclass
class Actor:
    """An actor: its class, what it held, and when it was there (-1: not yet; it stayed). ``death``: why it
    died, "" if it did not.
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
    """A placement group: its bundles, when it was made, ready (-1: never) and removed (-1: it stayed)."""

    bundles: list[dict[str, float]]
    created: int
    removed: int
    ready: int = -1
    name: str = ""
    strategy: str = "PACK"


@dataclass
class Recorded:
    """A job's record. ``driver``: from when until when its driver ran.

    ``arguments``: by task the objects that it was called with, as (task, index). ``waits``: by task and
    attempt; the driver's task is -1; ``open_waits``: those whose end nobody told: they last still, or ended
    with their task. ``last``: until when the job is on record. ``workers``: when each was launched and
    had started, None if that is not known; ``unused_workers``: node, launch and start of those that ran
    nothing; ``start_slots``: by node how many started at once. ``groups``: the placement groups that
    attempts are in; ``empty_groups``: the others.
    ``passed``: the objects that tasks made and took. ``sendings``: in the order of time. ``modules``: of each
    function the module that it is defined in, "" if that is not known. ``begin_ns``: what all times count
    from, ns since the epoch.
    """

    job_id: str
    driver: tuple[int, int]
    has_driver: bool
    is_traced: bool
    has_ended: bool
    attempts: Attempts
    functions: list[str]
    demands: list[dict[str, float]]
    tasks: int
    arguments: dict[int, list[tuple[int, int]]]
    waits: dict[tuple[int, int], list[Wait]]
    nodes: list[Node]
    workers: list[tuple[int | None, int | None]]
    unused_workers: list[tuple[int, int, int]]
    start_slots: dict[int, int]
    actors: list[Actor]
    groups: list[Group]
    empty_groups: list[Group] = field(default_factory=list)
    open_waits: dict[tuple[int, int], Wait] = field(default_factory=dict)
    last: int = -1
    passed: list[Passed] = field(default_factory=list)
    sendings: list[Sending] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    begin_ns: int = 0

    @cached_property
    def rows_of_task(self) -> list[list[int]]:
        """By task its attempts, in the order of their numbers."""
        found: list[list[int]] = [[] for _ in range(self.tasks)]
        for row, task in enumerate(self.attempts.task):
            found[task].append(row)
        return found
