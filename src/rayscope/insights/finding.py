"""What a detector says, and what it looks at. Times are ns since the begin of the job; -1 is not known."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL, CREATION
from rayscope.insights.replay.recorded import Actor, Attempts, Bools, Group, Ints, Recorded, Wait, no_numbers
from rayscope.insights.spans import Span, union_ns
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
    """Something that slows a job down, or that puts it at risk.

    ``function`` or ``actor_class``: where; ``caller``: the function in which it happens, "" in the driver.
    ``cost_ns``: what it costs of the job's time at most, if no replay can tell; ``changes``: what the replay
    changes to predict the saving. ``rows``: the attempts whose time it is, if it is about some: they cost no
    more than what the critical path leads through. ``groups``: the IDs of the placement groups that it is
    about: they cost what was waited for them. ``is_risk``: worth telling even if it costs no time.
    ``numbers``: the evidence, by the names that the texts use. ``filters``: of the view that shows it.
    ``sketch``: code that helps, where the detector's is what the job does already.
    """

    cost_ns: int
    function: str | None = None
    actor_class: str | None = None
    caller: str | None = None
    changes: tuple[Change, ...] = ()
    rows: Ints | None = None
    groups: tuple[str, ...] = ()
    is_risk: bool = False
    confidence: Confidence = "high"
    numbers: Mapping[str, Number] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)
    sketch: str | None = None


class NotEnoughData(Exception):
    """A detector cannot say anything about this job: why."""


class Detector(Protocol):
    """One kind of thing that slows jobs down or puts them at risk.

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
    """A job's record, sorted as detectors ask for it. ``read_series``: reads the machines' metrics.
    ``path_ns``: how much of the critical path is each task's, by its id; None if the path is not known.

    Columns have a number for each attempt; a *row* is the place of an attempt in them.
    """

    def __init__(
        self,
        recorded: Recorded,
        read_series: ReadSeries = lambda metric, labels: {},
        path_ns: Mapping[str, int] | None = None,
    ) -> None:
        self.recorded = recorded
        self._path_ns = path_ns
        self._read_series = read_series
        self.attempts: Attempts[Ints] = recorded.attempts
        self.duration_ns = max(1, recorded.driver[1] - recorded.driver[0])

    def name(self, row: int) -> str:
        """The function of an attempt."""
        number = self.attempts.function[row]
        return self.recorded.functions[number] if number >= 0 else ""

    @cached_property
    def _on_path_ns(self) -> Ints:
        """How much of the critical path is each task's."""
        a, known = self.attempts, self._path_ns or {}
        highs = np.array([int(task_id[:16] or "0", 16) for task_id in known], dtype=np.uint64)
        found = np.zeros(self.recorded.tasks, dtype=np.int64)
        for row in np.flatnonzero(np.isin(a.task_hi, highs)).tolist():
            found[a.task[row]] = known.get(a.task_id(row), 0)
        return found

    def is_on_path(self, rows: Ints) -> Bools:
        """Whether each of some attempts is of a task on the critical path; no, if no path is known."""
        found: Bools = self._on_path_ns[self.attempts.task[rows]] > 0
        return found

    def on_path_ns(self, finding: Finding) -> int | None:
        """How much of the critical path is time of the attempts that a finding is about; None if that is not
        known, or it is not about some. A wait for its placement groups counts too.
        """
        if self._path_ns is None or finding.rows is None:
            return None
        # Without the tracer nobody knows who waited for a group.
        if finding.groups and not self.recorded.is_traced:
            return None
        tasks = np.unique(self.attempts.task[finding.rows])
        # The path does not follow a wait that timed out.
        waits = self.recorded.waits
        named = np.flatnonzero(np.isin(waits.named_task, tasks))
        its = np.unique(np.searchsorted(waits.first_named, named, "right") - 1)
        blocked = int(waits.blocked_ns[its[waits.task[its] == DRIVER]].sum())
        of_tasks = max(int(self._on_path_ns[tasks].sum()), min(blocked, self.duration_ns))
        return of_tasks + self._waited_for_groups_ns(finding.groups)

    def _waited_for_groups_ns(self, groups: Collection[str]) -> int:
        """How long the driver, and tasks on the critical path, waited for placement groups."""
        waits: dict[int, list[Span]] = defaultdict(list)
        for one in self.recorded.group_waits:
            if one.group_id in groups:
                waits[one.task].append((one.begin, one.end if one.end >= 0 else self.recorded.last))
        most = {task: self.duration_ns if task == DRIVER else int(self._on_path_ns[task]) for task in waits}
        return sum(min(union_ns(spans), most[task]) for task, spans in waits.items())

    def caller(self, task: int) -> str:
        """The function that a task runs; "" for the driver."""
        return "" if task == DRIVER else self.name(self.last_rows[task])

    @cached_property
    def own_ns(self) -> Ints:
        """How long each attempt executed without the time that it was blocked; -1 if that is not known."""
        a, rows = self.attempts, self.recorded.waiting_rows
        own = np.where((a.start >= 0) & (a.returned >= 0), np.maximum(a.returned - a.start, 0), -1)
        blocked = np.zeros(len(a), dtype=np.int64)
        np.add.at(blocked, rows[rows >= 0], self.recorded.waits.blocked_ns[rows >= 0])
        return np.where(own >= 0, np.maximum(own - blocked, 0), -1)

    @cached_property
    def _came(self) -> Ints:
        """When each attempt came to its worker: before that loaded code and fetched arguments."""
        a = self.attempts
        return a.start - a.fetching - a.loading

    @cached_property
    def is_warm(self) -> Bools:
        """By attempt whether its worker had begun its function before. Else it may import modules."""
        a = self.attempts
        began = np.flatnonzero(a.start >= 0)
        order = began[np.lexsort((a.start[began], a.function[began], a.worker[began]))]
        is_first = (np.diff(a.worker[order], prepend=-2) != 0) | (np.diff(a.function[order], prepend=-2) != 0)
        # By row in that order, when its worker first began its function.
        first = a.start[order][is_first][np.cumsum(is_first) - 1]
        found = np.zeros(len(a), dtype=np.bool_)
        found[order] = self._came[order] >= first
        return found

    @cached_property
    def is_executing_known(self) -> Bools:
        """By attempt whether the time that it executed has no other time in it: the worker told its end, or
        storing the value after it takes no time. Ray imports what it stores a worker's first value with.
        """
        a = self.attempts
        began = np.flatnonzero(a.start >= 0)
        first = np.full(int(a.worker.max(initial=-1)) + 2, np.iinfo(np.int64).max)
        np.minimum.at(first, a.worker[began], a.start[began])
        first[first == np.iinfo(np.int64).max] = -1
        return (a.returned < a.ended) | (a.start > first[a.worker])

    @cached_property
    def held(self) -> tuple[Ints, Ints]:
        """From when until when each attempt held its worker; until the job's end if no end is on record."""
        a = self.attempts
        given = np.where(a.given >= 0, a.given, a.created)
        begin = np.where(a.start >= 0, np.maximum(self._came, 0), given)
        end = np.maximum(a.returned, a.ended)
        return begin, np.maximum(begin, np.where(end >= 0, end, self.recorded.driver[1]))

    def held_span(self, row: int) -> Span:
        """The same of one attempt."""
        begin, end = self.held
        return int(begin[row]), int(end[row])

    def held_until_next(self, row: int) -> Span:
        """The same, until the next attempt held one if there is one: Ray waits before it tries again."""
        begin, end = self.held_span(row)
        is_last = row == self.last_rows[self.attempts.task[row]]
        return begin, end if is_last else max(end, self.held_span(row + 1)[0])

    @property
    def first_rows(self) -> Ints:
        """By task its first attempt."""
        return self.recorded.first_rows[:-1]

    @cached_property
    def last_rows(self) -> Ints:
        """By task its last attempt."""
        return self.recorded.first_rows[1:] - 1

    @cached_property
    def rows_of_function(self) -> dict[str, Ints]:
        """By function its attempts; creations of actors are ``Class.__init__``."""
        names = [*self.recorded.functions, ""]
        return {names[number]: rows for number, rows in groups(self.attempts.function)}

    @cached_property
    def calls_of_function(self) -> dict[str, Ints]:
        """The same without creations of actors, and without attempts whose own time is not known."""
        is_call = ~self.is_creation & (self.own_ns >= 0)
        return {name: rows[is_call[rows]] for name, rows in self.rows_of_function.items()}

    def may_be_several(self, rows: Ints) -> bool:
        """Whether the attempts of one name may be of several functions: without the tracer nobody knows
        whether two definitions are of the same one.
        """
        return not self.recorded.is_traced and len(np.unique(self.attempts.code.codes[rows])) > 1

    @cached_property
    def _children(self) -> dict[int, Ints]:
        return dict(groups(self.attempts.parent[self.first_rows]))

    def children(self, task: int) -> Ints:
        """The tasks that a task, or DRIVER, submitted, in the order of their submission."""
        none: Ints = no_numbers()
        return self._children.get(task, none)

    @property
    def callers(self) -> Iterable[int]:
        """Tasks, or DRIVER, that submitted others."""
        return self._children

    @cached_property
    def calls_of_actor(self) -> dict[int, Ints]:
        """By actor the attempts of its methods."""
        a = self.attempts
        rows = np.flatnonzero((a.kind == CALL) & (a.actor >= 0))
        return {actor: rows[places] for actor, places in groups(a.actor[rows])}

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
        return self._origins.get(name) if name else None

    @cached_property
    def methods(self) -> set[str]:
        """The functions that are methods of actors."""
        a = self.attempts
        numbers = np.unique(a.function[(a.kind == CALL) & (a.actor >= 0)])
        return {self.recorded.functions[number] if number >= 0 else "" for number in numbers}

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
        of_caller = self._submissions.get(int(self.attempts.parent[self.first_rows[task]]), [])
        place = bisect.bisect_right(of_caller, (created, _LATEST)) - 1
        if place >= 0 and created <= of_caller[place][1]:
            return of_caller[place]
        return created, created

    def loading(self, row: int) -> Span:
        """From when until when an attempt loaded its function's code."""
        a = self.attempts
        end = int(a.start[row] - a.fetching[row])
        return (end - int(a.loading[row]), end) if a.start[row] >= 0 else (0, 0)

    @cached_property
    def cpus(self) -> float:
        """The CPUs of all nodes."""
        return sum(node.resources.get("CPU", 0.0) for node in self.recorded.nodes)

    @cached_property
    def cpus_asked(self) -> Any:
        """By attempt the CPUs that it asks for; what asks for none, or nobody knows for how many, has 0."""
        return self.amounts_of("CPU")

    def amounts_of(self, resource: str) -> Any:
        """The same of another resource."""
        of_demand = [demand.get(resource, 0.0) for demand in self.recorded.demands]
        return np.array([*of_demand, 0.0])[self.attempts.demand]

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
            raise NotEnoughData(
                f"The tracer reported nothing from the job's processes, so nobody knows {unknown}."
            )

    def lifetime(self, actor: Actor) -> Span:
        """From when until when an actor was there."""
        return max(0, actor.begin), actor.end if actor.end >= 0 else self.recorded.last

    def removal(self, group: Group) -> int:
        """When a placement group was removed, or the record's end if it stayed."""
        return group.removed if group.removed >= 0 else self.recorded.last

    def created(self, task: int) -> int:
        """When a task was submitted."""
        return int(self.attempts.created[self.first_rows[task]])

    @cached_property
    def is_creation(self) -> Bools:
        """By attempt whether it makes an actor."""
        found: Bools = self.attempts.kind == CREATION
        return found

    def waits(self, least: int = 1) -> Iterator[tuple[int, list[Wait]]]:
        """Each task, or DRIVER, whose last attempt waited so often at least, with its waits in the order of
        time. Raises NotEnoughData.
        """
        self.require_tracer("their waits")
        last: dict[int, tuple[int, int]] = {}
        for (task, number), count in self.recorded.waits.counts():
            last[task] = number, count  # later ones come later
        for task, (number, count) in last.items():
            if count >= least:
                yield task, self.recorded.waits.of(task, number)


def groups(numbers: Ints) -> Iterator[tuple[int, Ints]]:
    """Each number with the places where it stands, in their order."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order], prepend=-2, append=-2))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield int(numbers[order[begin]]), order[begin:end]


def function_or_class(name: str) -> tuple[str | None, str | None]:
    """A name as a function, or as the class of the actors that it makes, and None for the other."""
    class_name = name.removesuffix(".__init__")
    return (name, None) if class_name == name else (None, class_name)


def blocked_ns(wait: Wait) -> int:
    """How long a wait blocked its task."""
    return wait.summed_ns if wait.summed_ns >= 0 else wait.end - wait.begin
