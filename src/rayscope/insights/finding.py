"""What a detector says, and what it looks at. Times are ns since the begin of the job; -1 is not known."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL, CREATION
from rayscope.insights.replay.recorded import Actor, Attempts, Group, Recorded, Wait
from rayscope.insights.spans import Span
from rayscope.model.origin import origin

Confidence = Literal["high", "medium", "low"]
Number = int | float | str
#: Samples of a metric, in the order of time: (ns since the begin of the job, value).
Points = list[tuple[int, float]]
#: A metric's samples in the job's time, of the series with some labels, by the number of their node.
ReadSeries = Callable[[str, dict[str, str]], dict[int, Points]]
#: The driver, where a task is asked for.
DRIVER = -1
_LATEST = 1 << 62


@dataclass(frozen=True)
class Finding:
    """Something that slows a job down.

    ``function`` or ``actor_class``: where; ``caller``: the function in which it happens, "" in the driver.
    ``cost_ns``: what it costs of the job's time at most, if no replay can tell; ``changes``: what the replay
    changes to predict the saving. ``numbers``: the evidence, by the names that the texts use.
    ``filters``: of the view that shows it.
    """

    cost_ns: int
    function: str | None = None
    actor_class: str | None = None
    caller: str | None = None
    changes: tuple[Change, ...] = ()
    confidence: Confidence = "high"
    numbers: Mapping[str, Number] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)


class NotEnoughData(Exception):
    """A detector cannot say anything about this job: why."""


class Detector(Protocol):
    """One kind of thing that slows jobs down.

    ``kind``: a stable name; ``title``: a few words; ``advice``: what to do, in a few sentences, with
    ``{name}`` for numbers of the finding; ``sketch``: code that does it; ``doc``: Ray's page about it, "" if
    there is none. The docstring is what its users read: what it finds, on the first line; a paragraph that
    begins with "Limits:", from which sizes on; and one that begins with "Needs:", what has to be on record.
    """

    kind: str
    title: str
    advice: str
    sketch: str
    doc: str

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The findings in a job. Raises NotEnoughData."""
        ...


class Facts:
    """A job's record, sorted as detectors ask for it. ``read_series``: reads the machines' metrics."""

    def __init__(self, recorded: Recorded, read_series: ReadSeries = lambda metric, labels: {}) -> None:
        self.recorded = recorded
        self._read_series = read_series
        self.attempts: Attempts = recorded.attempts
        self.duration_ns = max(1, recorded.driver[1] - recorded.driver[0])

    def name(self, row: int) -> str:
        """The function of an attempt."""
        number = self.attempts.function[row]
        return self.recorded.functions[number] if number >= 0 else ""

    def caller(self, task: int) -> str:
        """The function that a task runs; "" for the driver."""
        return "" if task == DRIVER else self.name(self.rows_of_task[task][-1])

    def own_ns(self, row: int) -> int:
        """How long an attempt executed without the time that it was blocked; -1 if that is not known."""
        return self._own_ns[row]

    @cached_property
    def _own_ns(self) -> list[int]:
        a = self.attempts
        own = [
            max(0, end - start) if start >= 0 and end >= 0 else -1
            for start, end in zip(a.start, a.returned, strict=True)
        ]
        for (task, number), waits in self.recorded.waits.items():
            for row in self.rows_of_task[task] if task != DRIVER else ():
                if a.number[row] == number and own[row] > 0:
                    own[row] = max(0, own[row] - sum(blocked_ns(wait) for wait in waits))
        return own

    @cached_property
    def _first_starts(self) -> dict[tuple[int, int], int]:
        """When each worker first began each function."""
        a = self.attempts
        found: dict[tuple[int, int], int] = {}
        for worker, function, start in zip(a.worker, a.function, a.start, strict=True):
            if start >= 0:
                key = worker, function
                found[key] = min(start, found.get(key, start))
        return found

    def is_warm(self, row: int) -> bool:
        """Whether an attempt came to a worker that had begun its function before. Else it imports modules."""
        a = self.attempts
        came = a.start[row] - a.fetching[row] - a.loading[row]
        return a.start[row] >= 0 and came >= self._first_starts[a.worker[row], a.function[row]]

    @cached_property
    def _new_workers(self) -> dict[int, int]:
        """When each worker first began anything."""
        found: dict[int, int] = {}
        for (worker, _), start in self._first_starts.items():
            found[worker] = min(start, found.get(worker, start))
        return found

    def is_executing_known(self, row: int) -> bool:
        """Whether the time that an attempt executed has no other time in it: the worker told its end, or
        storing the value after it takes no time. Ray imports what it stores a worker's first value with.
        """
        a = self.attempts
        return a.returned[row] < a.ended[row] or a.start[row] > self._new_workers.get(a.worker[row], -1)

    def held(self, row: int) -> tuple[int, int]:
        """From when until when an attempt held its worker; until the job's end if it has no end on record."""
        a = self.attempts
        if a.start[row] >= 0:
            begin = max(0, a.start[row] - a.loading[row] - a.fetching[row])
        else:
            begin = a.given[row] if a.given[row] >= 0 else a.created[row]
        end = max(a.returned[row], a.ended[row])
        return begin, max(begin, end if end >= 0 else self.recorded.driver[1])

    def held_until_next(self, row: int) -> tuple[int, int]:
        """The same, until the next attempt held one if there is one: Ray waits before it tries again."""
        begin, end = self.held(row)
        later = [one for one in self.rows_of_task[self.attempts.task[row]] if one > row]
        return begin, max(end, self.held(later[0])[0]) if later else end

    @property
    def rows_of_task(self) -> list[list[int]]:
        """By task its attempts."""
        return self.recorded.rows_of_task

    @cached_property
    def rows_of_function(self) -> dict[str, list[int]]:
        """By function its attempts; creations of actors are ``Class.__init__``."""
        found: dict[str, list[int]] = defaultdict(list)
        for row in range(len(self.attempts.task)):
            found[self.name(row)].append(row)
        return dict(found)

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """By task, or DRIVER, the tasks that it submitted, in the order of their submission."""
        found: dict[int, list[int]] = defaultdict(list)
        for task, rows in enumerate(self.rows_of_task):
            found[self.attempts.parent[rows[0]]].append(task)
        for tasks in found.values():
            tasks.sort(key=lambda task: self.attempts.created[self.rows_of_task[task][0]])
        return dict(found)

    @cached_property
    def calls_of_actor(self) -> dict[int, list[int]]:
        """By actor the attempts of its methods."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, kind in enumerate(self.attempts.kind):
            if kind == CALL and self.attempts.actor[row] >= 0:
                found[self.attempts.actor[row]].append(row)
        return dict(found)

    @cached_property
    def _origins(self) -> dict[str, str]:
        """By function, and by class of actors, whose it is."""
        found = {}
        for function, module in zip(self.recorded.functions, self.recorded.modules, strict=False):
            known = origin(module)
            if known is not None:
                found[function] = known
                found.setdefault(function.rpartition(".")[0], known)
        return found

    def origin(self, name: str) -> str | None:
        """Whose a function or class of actors is: ``user``, a library's name, or None if it is not known."""
        return self._origins.get(name)

    @cached_property
    def methods(self) -> set[str]:
        """The functions that are methods of actors."""
        return {self.name(row) for rows in self.calls_of_actor.values() for row in rows}

    @cached_property
    def _submissions(self) -> dict[int, list[Span]]:
        """By caller, or DRIVER, its submissions that took long."""
        found: dict[int, list[Span]] = defaultdict(list)
        for one in self.recorded.sendings:
            if one.kind == "submit":
                found[one.task].append((one.begin, one.end))
        return found

    def submission(self, task: int) -> Span:
        """From when until when a task's caller submitted it. Below a millisecond it took no time."""
        created = self.created(task)
        of_caller = self._submissions.get(self.attempts.parent[self.rows_of_task[task][0]], [])
        place = bisect.bisect_right(of_caller, (created, _LATEST)) - 1
        if place >= 0 and created <= of_caller[place][1]:
            return of_caller[place]
        return created, created

    def loading(self, row: int) -> Span:
        """From when until when an attempt loaded its function's code."""
        a = self.attempts
        end = a.start[row] - a.fetching[row]
        return (end - a.loading[row], end) if a.start[row] >= 0 else (0, 0)

    @cached_property
    def cpus(self) -> float:
        """The CPUs of all nodes."""
        return sum(node.resources.get("CPU", 0.0) for node in self.recorded.nodes)

    def series(self, metric: str, **labels: str) -> dict[int, Points]:
        """A metric in the job's time by node, the series of a node added up. Raises NotEnoughData.

        A series has 200 points at most. Nodes with less than two are left out.
        """
        found = {
            node: points for node, points in self._read_series(metric, labels).items() if len(points) > 1
        }
        if not found:
            raise NotEnoughData(f"There are no samples of {metric} from the job's time.")
        return found

    def require_tracer(self, unknown: str) -> None:
        """Raise NotEnoughData unless the job was traced: what is ``unknown`` of its processes then."""
        if not self.recorded.is_traced:
            raise NotEnoughData(f"The tracer was not in the job's processes, so nobody knows {unknown}.")

    def lifetime(self, actor: Actor) -> Span:
        """From when until when an actor was there."""
        return max(0, actor.begin), actor.end if actor.end >= 0 else self.recorded.last

    def removal(self, group: Group) -> int:
        """When a placement group was removed, or the record's end if it stayed."""
        return group.removed if group.removed >= 0 else self.recorded.last

    def created(self, task: int) -> int:
        """When a task was submitted."""
        return self.attempts.created[self.rows_of_task[task][0]]

    def is_creation(self, row: int) -> bool:
        """Whether an attempt makes an actor."""
        return self.attempts.kind[row] == CREATION

    def waits(self) -> Iterable[tuple[int, list[Wait]]]:
        """Each task, or DRIVER, with the waits of its last attempt in the order of time.

        Raises NotEnoughData.
        """
        self.require_tracer("their waits")
        last: dict[int, int] = {}
        for task, number in self.recorded.waits:
            last[task] = max(number, last.get(task, 0))
        for task, number in last.items():
            yield task, self.recorded.waits[task, number]


def function_or_class(name: str) -> tuple[str | None, str | None]:
    """A name as a function, or as the class of the actors that it makes, and None for the other."""
    class_name = name.removesuffix(".__init__")
    return (name, None) if class_name == name else (None, class_name)


def blocked_ns(wait: Wait) -> int:
    """How long a wait blocked its task."""
    return wait.summed_ns if wait.summed_ns >= 0 else wait.end - wait.begin
