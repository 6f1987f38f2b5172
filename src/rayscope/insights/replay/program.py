"""What the simulation runs: each attempt is a program of steps, in flat lists of integers.

Times and durations are ns; a time is since the begin of the job. Amounts of resources are in ten thousandths,
as Ray counts them. -1 stands for none wherever a number names something.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

#: Resources are counted in parts of so many.
UNIT = 10_000
#: The number of the resource ``CPU``: what blocked tasks give back.
CPU = 0

#: Kinds of runs. A ``FREE`` one needs neither resources nor an actor: a driver, or what a thread did.
NORMAL, CREATION, CALL, FREE = range(4)
#: Steps, each with a number: a duration, a run, a wait, a signal, an actor or a placement group.
END, COMPUTE, SUBMIT, WAIT, YIELD, KILL, RESERVE, REMOVE = range(8)

#: How many calls an actor without a limit runs at once.
UNLIMITED = 1 << 30


@dataclass
class Wait:
    """A stretch in which a run is blocked: until all ``signals`` are there, or until ``counter`` has reached
    ``needed``, but not longer than ``timeout_ns``. Then it goes on after ``after_ns``, of which
    ``transfer_ns`` were for fetching values.
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
    """All runs of a job, by number; lists of equal length. A run is one attempt of a task.

    ``lead``: from when its arguments are there until it stands in a queue; ``delay``: from when it is given
    its resources, or its actor's turn, until its first step, of which ``startup`` is for starting an actor's
    worker or loading code and ``transfer`` for fetching arguments; ``tail``: from its last step until its
    value is known.
    ``first``: its first step; -1 if all it does is computing for ``alone``. ``signal``: what its end is known
    by; a run that is tried ``again`` has none. ``before`` and ``after``: of the calls that one caller makes
    of an actor the ones next to it.
    """

    functions: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=lambda: ["CPU"])
    demands: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)

    kind: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    attempt: list[int] = field(default_factory=list)
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

    #: Steps of all programs, one program behind the other.
    step: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    #: Signals: how many there are, the run that gives each, and the counter that counts it.
    signals: int = 0
    counted_by: list[int] = field(default_factory=list)
    counters: int = 0

    #: Actors: how many calls each runs at once, and its class.
    slots: list[int] = field(default_factory=list)
    actor_class: list[int] = field(default_factory=list)
    #: Actors that share their calls: each call goes to the one with the fewest. By class.
    shared: dict[int, list[int]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    #: What each node has, by resource, from when on, and until when (-1: to the end).
    nodes: list[list[int]] = field(default_factory=list)
    node_from: list[int] = field(default_factory=list)
    node_until: list[int] = field(default_factory=list)
    #: By node: the workers that are there from the begin; how long each further one took to start, and then
    #: to load code for its first task; and how many start at once. ``usual_start``: of more of them.
    idle_workers: list[int] = field(default_factory=list)
    worker_starts: list[list[tuple[int, int]]] = field(default_factory=list)
    start_slots: list[int] = field(default_factory=list)
    usual_start: tuple[int, int] = (0, 0)
    #: The drivers. The job ends when they have ended.
    roots: list[int] = field(default_factory=list)
    root_begins: list[int] = field(default_factory=list)

    def copy(self) -> Programs:
        """One whose lists can be changed, item by item."""
        made = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(made, name, value.copy())
        made.nodes = [node.copy() for node in self.nodes]
        made.shared = dict(self.shared)
        return made

    def set_runs(self, **columns: npt.NDArray[np.int64] | list[Any]) -> None:
        """The first runs, by column; what is not given is as usual."""
        for name, column in columns.items():
            setattr(self, name, column if isinstance(column, list) else column.tolist())
        for name, usual in _USUAL.items():
            if name not in columns:
                setattr(self, name, [usual] * len(self.kind))

    def add_run(self, kind: int, function: int, **values: object) -> int:
        """A new run with what is usual, except ``values``. Returns its number."""
        made = len(self.kind)
        self.kind.append(kind)
        self.function.append(function)
        for name, usual in _USUAL.items():
            getattr(self, name).append(values.get(name, usual))
        return made

    def add_signal(self) -> int:
        """A new signal."""
        self.counted_by.append(-1)
        self.signals += 1
        return self.signals - 1

    def add_steps(self, steps: list[tuple[int, int]]) -> int:
        """A new program. Returns its first step."""
        first = len(self.step)
        self.step.extend(step for step, _ in steps)
        self.number.extend(number for _, number in steps)
        self.step.append(END)
        self.number.append(0)
        return first

    def steps_of(self, run: int) -> list[tuple[int, int]]:
        """The program of a run."""
        at = self.first[run]
        if at < 0:
            return [(COMPUTE, self.alone[run])]
        found = []
        while self.step[at] != END:
            found.append((self.step[at], self.number[at]))
            at += 1
        return found

    def own_ns(self, run: int) -> int:
        """How long a run computes by itself."""
        if self.first[run] < 0:
            return self.alone[run]
        return sum(number for step, number in self.steps_of(run) if step == COMPUTE)


_USUAL = {
    "attempt": -1,
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
