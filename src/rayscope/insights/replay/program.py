"""The input of the simulation: each attempt is a program of steps, in flat lists of integers.

Times and durations are in ns; times count from the start of the job. Amounts of resources are in
ten-thousandths, as in Ray. -1 means none wherever a number refers to something.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

#: Amounts of resources are multiples of 1 / UNIT.
UNIT = 10_000
#: The number of the resource ``CPU``, which blocked tasks release.
CPU = 0

#: Kind of a run: a normal task.
NORMAL = 0
#: Kind of a run: the creation of an actor.
CREATION = 1
#: Kind of a run: a method call of an actor.
CALL = 2
#: Kind of a run that needs neither resources nor an actor: a driver or a thread.
FREE = 3
#: Kind of a step: the end of a program. It has no argument.
END = 0
#: Kind of a step: compute. Its argument is the duration, in ns.
COMPUTE = 1
#: Kind of a step: submit a run, which is its argument.
SUBMIT = 2
#: Kind of step: block in a wait. The wait is the argument of the step.
WAIT = 3
#: Kind of a step: set a signal, which is its argument.
YIELD = 4
#: Kind of a step: kill an actor, which is its argument.
KILL = 5
#: Kind of a step: reserve a placement group, which is its argument.
RESERVE = 6
#: Kind of a step: remove a placement group, which is its argument.
REMOVE = 7

#: Stands for "no limit" as the number of calls that an actor runs at once.
UNLIMITED = 1 << 30


@dataclass
class Wait:
    """A step that blocks a run until all ``signals`` are set, or until ``counter`` reaches ``needed``, but no
    longer than ``timeout_ns``. Then the run continues after ``after_ns``, of which ``transfer_ns`` is for
    fetching values.
    """

    signals: tuple[int, ...]
    after_ns: int = 0
    transfer_ns: int = 0
    counter: int = -1
    needed: int = 0
    timeout_ns: int = -1


@dataclass
class Group:
    """A placement group: its bundles, each as (resource, amount) pairs."""

    bundles: list[tuple[tuple[int, int], ...]]


@dataclass
class Programs:
    """All runs of a job, as lists of equal length. A run is one attempt of a task.

    ``lead``: the time from when a run has its arguments until it is queued. ``delay``: the time from when it
    gets its resources, or its actor's turn, until its first step, including ``startup`` for starting an
    actor's worker or loading code, and ``transfer`` for fetching arguments. ``tail``: the time from its last
    step until its value is known. ``first``: the index of its first step, or -1 if it only computes for
    ``alone``. ``signal``: the signal set at its end; -1 if it is followed by the retry ``again``. ``before``
    and ``after``: the previous and next call by the same caller to the same actor.
    """

    functions: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=lambda: ["CPU"])
    demands: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)

    kind: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    attempt: list[int] = field(default_factory=list)
    has_begun: list[bool] = field(default_factory=list)
    lead: list[int] = field(default_factory=list)
    delay: list[int] = field(default_factory=list)
    startup: list[int] = field(default_factory=list)
    transfer: list[int] = field(default_factory=list)
    tail: list[int] = field(default_factory=list)
    factor: list[float] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    arguments: list[tuple[int, ...]] = field(default_factory=list)
    signal: list[int] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    again_after: list[int] = field(default_factory=list)
    demand: list[int] = field(default_factory=list)
    home: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    actor: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    #: The steps of all programs, one program after the other.
    step: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    #: Signals: how many there are, and the counter that counts each of them.
    signals: int = 0
    counted_by: list[int] = field(default_factory=list)
    counters: int = 0

    #: Actors: how many calls each runs at once, and its class.
    slots: list[int] = field(default_factory=list)
    actor_class: list[int] = field(default_factory=list)
    #: By class, actors that share their calls: each call goes to the actor with the shortest queue.
    shared: dict[int, list[int]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    #: The resources of each node, and when it joins and leaves (-1: never).
    nodes: list[list[int]] = field(default_factory=list)
    node_from: list[int] = field(default_factory=list)
    node_until: list[int] = field(default_factory=list)
    #: For each node: its workers at the start; how long each further one takes to start, and then to load
    #: code for its first task; and how many can start at once. ``usual_start`` applies to further workers
    #: after these.
    idle_workers: list[int] = field(default_factory=list)
    worker_starts: list[list[tuple[int, int]]] = field(default_factory=list)
    start_slots: list[int] = field(default_factory=list)
    usual_start: tuple[int, int] = (0, 0)
    #: The drivers. The job ends when all of them have ended.
    roots: list[int] = field(default_factory=list)
    root_begins: list[int] = field(default_factory=list)

    def copy(self) -> Programs:
        """A copy whose lists can be changed independently."""
        copied = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(copied, name, value.copy())
        copied.nodes = [node.copy() for node in self.nodes]
        copied.shared = dict(self.shared)
        return copied

    def set_runs(self, **columns: npt.NDArray[np.int64] | list[Any]) -> None:
        """Set all runs by column. Columns that are not passed get their defaults."""
        for name, column in columns.items():
            setattr(self, name, column if isinstance(column, list) else column.tolist())
        for name, default in _DEFAULTS.items():
            if name not in columns:
                setattr(self, name, [default] * len(self.kind))

    def add_run(self, kind: int, function: int, **values: object) -> int:
        """Add a run with default values except ``values``. Returns its number."""
        number = len(self.kind)
        self.kind.append(kind)
        self.function.append(function)
        for name, default in _DEFAULTS.items():
            getattr(self, name).append(values.get(name, default))
        return number

    def add_signal(self) -> int:
        """Add a signal. Returns its number."""
        self.counted_by.append(-1)
        self.signals += 1
        return self.signals - 1

    def add_steps(self, steps: list[tuple[int, int]]) -> int:
        """Add the steps of a program. Returns the index of the first one."""
        first = len(self.step)
        self.step.extend(step for step, _ in steps)
        self.number.extend(number for _, number in steps)
        self.step.append(END)
        self.number.append(0)
        return first

    def steps_of(self, run: int) -> list[tuple[int, int]]:
        """The steps of a run."""
        at = self.first[run]
        if at < 0:
            return [(COMPUTE, self.alone[run])]
        found = []
        while self.step[at] != END:
            found.append((self.step[at], self.number[at]))
            at += 1
        return found

    def own_ns(self, run: int) -> int:
        """How long a run itself computes, ns. An attempt that never began only waits."""
        if not self.has_begun[run]:
            return 0
        if self.first[run] < 0:
            return self.alone[run]
        return sum(number for step, number in self.steps_of(run) if step == COMPUTE)


_DEFAULTS = {
    "attempt": -1,
    "has_begun": True,
    "lead": 0,
    "delay": 0,
    "startup": 0,
    "transfer": 0,
    "tail": 0,
    "factor": 1.0,
    "first": -1,
    "alone": 0,
    "arguments": (),
    "signal": -1,
    "again": -1,
    "again_after": 0,
    "demand": -1,
    "home": -1,
    "group": -1,
    "actor": -1,
    "before": -1,
    "after": -1,
}
