"""The interface of detectors: findings, and the facts that detectors read. Times are ns since the job began;
-1 means unknown.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rayscope.insights import schemas
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL, CREATION
from rayscope.insights.replay.recorded import Actor, Attempts, Bools, Group, Ints, Recorded, Wait, no_numbers
from rayscope.insights.spans import Span, union_ns
from rayscope.model.origin import origin

#: Samples of a metric in chronological order: (ns since the job began, value).
Points = list[tuple[int, float]]
#: Reads the samples of a metric during the job, filtered by labels. Returns them by the number of the node.
ReadSeries = Callable[[str, dict[str, str]], dict[int, Points]]
#: Stands for the driver in place of a task's number.
DRIVER = -1
_LATEST = 1 << 62


@dataclass(frozen=True)
class Finding:
    """Something that slows a job down or puts it at risk.

    ``cost_ns``: the maximum time that it costs the job, used if no replay can predict the saving.
    ``function`` or ``actor_class``: the code that it is about. ``caller``: the function in which it happens,
    "" for the driver. ``changes``: the changes to replay in order to predict the saving. ``rows``: the
    attempts that take the time, if known; the cost is limited to their part of the critical path. ``groups``:
    the IDs of the placement groups that it is about; waits for them count as part of the critical path.
    ``is_risk``: report it even if it costs no time. ``numbers``: the evidence, by the names used in the
    texts. ``filters``: filters with which a view shows it. ``sketch``: replaces the detector's sketch if the
    job already does what the detector's sketch shows.
    """

    cost_ns: int
    function: str | None = None
    actor_class: str | None = None
    caller: str | None = None
    changes: tuple[Change, ...] = ()
    rows: Ints | None = None
    groups: tuple[str, ...] = ()
    is_risk: bool = False
    confidence: schemas.FindingConfidence = "high"
    numbers: Mapping[str, schemas.FindingNumber] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)
    sketch: str | None = None


class NotEnoughData(Exception):
    """The record lacks what a detector needs. The message says what is missing."""


class Detector(Protocol):
    """Looks for one kind of problem that slows jobs down or puts them at risk.

    ``kind``: a stable name; ``title``: a few words; ``advice``: what to do, in a few sentences, with
    ``{name}`` for numbers of the finding; ``sketch``: code that follows the advice; ``doc``: the title of the
    page in Ray's documentation about the problem, or "". The docstring is part of the documentation for
    users. Its first line says what the detector finds. A paragraph that begins with "Limits:" contains the
    thresholds, and one that begins with "Needs:" says what has to be recorded.
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
    """A job's record with the indexes and sums that detectors need.

    ``read_series``: reads the metrics of the nodes. ``path_ns``: how much of the critical path each task
    takes, by task ID; None if the path is unknown.

    Columns have one number for each attempt. A *row* is the index of an attempt in them.
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
        """The name of the function that an attempt runs."""
        number = self.attempts.function[row]
        return self.recorded.functions[number] if number >= 0 else ""

    @cached_property
    def _on_path_ns(self) -> Ints:
        """How much of the critical path each task takes, ns."""
        a, known = self.attempts, self._path_ns or {}
        highs = np.array([int(task_id[:16] or "0", 16) for task_id in known], dtype=np.uint64)
        found = np.zeros(self.recorded.tasks, dtype=np.int64)
        for row in np.flatnonzero(np.isin(a.task_hi, highs)).tolist():
            found[a.task[row]] = known.get(a.task_id(row), 0)
        return found

    def is_on_path(self, rows: Ints) -> Bools:
        """Whether the task of each attempt is on the critical path. False if the path is unknown."""
        found: Bools = self._on_path_ns[self.attempts.task[rows]] > 0
        return found

    def on_path_ns(self, finding: Finding) -> int | None:
        """How much of the critical path the attempts of a finding take, ns, including waits for its placement
        groups. None if the path is unknown or the finding has no attempts.
        """
        if self._path_ns is None or finding.rows is None:
            return None
        # Only the tracer records which tasks waited for a placement group.
        if finding.groups and not self.recorded.is_traced:
            return None
        tasks = np.unique(self.attempts.task[finding.rows])
        # The critical path does not follow waits that timed out, so add the driver's waits for these tasks.
        waits = self.recorded.waits
        named = np.flatnonzero(np.isin(waits.named_task, tasks))
        its = np.unique(np.searchsorted(waits.first_named, named, "right") - 1)
        blocked = int(waits.blocked_ns[its[waits.task[its] == DRIVER]].sum())
        of_tasks = max(int(self._on_path_ns[tasks].sum()), min(blocked, self.duration_ns))
        return of_tasks + self._group_waits_ns(finding.groups)

    def _group_waits_ns(self, groups: Collection[str]) -> int:
        """How long the driver and the tasks on the critical path waited for placement groups."""
        waits: dict[int, list[Span]] = defaultdict(list)
        for one in self.recorded.group_waits:
            if one.group_id in groups:
                waits[one.task].append((one.begin, one.end if one.end >= 0 else self.recorded.last))
        most = {task: self.duration_ns if task == DRIVER else int(self._on_path_ns[task]) for task in waits}
        return sum(min(union_ns(spans), most[task]) for task, spans in waits.items())

    def caller(self, task: int) -> str:
        """The function of a calling task; "" for the driver."""
        return "" if task == DRIVER else self.name(self.last_rows[task])

    @cached_property
    def own_ns(self) -> Ints:
        """How long each attempt executed, excluding the time when it was blocked; -1 if unknown."""
        a, rows = self.attempts, self.recorded.waiting_rows
        own = np.where((a.start >= 0) & (a.returned >= 0), np.maximum(a.returned - a.start, 0), -1)
        # An attempt that was cut off in a wait was blocked from its begin on.
        for (task, number), wait in self.recorded.open_waits.items():
            for row in self.recorded.rows_of_task(task) if task != DRIVER else ():
                if a.number[row] == number and own[row] >= 0:
                    own[row] = min(own[row], max(0, wait.begin - a.start[row]))
        blocked = np.zeros(len(a), dtype=np.int64)
        np.add.at(blocked, rows[rows >= 0], self.recorded.waits.blocked_ns[rows >= 0])
        return np.where(own >= 0, np.maximum(own - blocked, 0), -1)

    @cached_property
    def _arrival_ns(self) -> Ints:
        """When each attempt arrived at its worker, before the worker loaded code and fetched arguments."""
        a = self.attempts
        return a.start - a.fetching - a.loading

    @cached_property
    def is_warm(self) -> Bools:
        """Whether the worker of each attempt had run its function before. If not, the attempt may import
        modules.
        """
        a = self.attempts
        began = np.flatnonzero(a.start >= 0)
        order = began[np.lexsort((a.start[began], a.function[began], a.worker[began]))]
        is_first = (np.diff(a.worker[order], prepend=-2) != 0) | (np.diff(a.function[order], prepend=-2) != 0)
        # For each row in ``order``: when its worker first started the row's function.
        first = a.start[order][is_first][np.cumsum(is_first) - 1]
        found = np.zeros(len(a), dtype=np.bool_)
        found[order] = self._arrival_ns[order] >= first
        return found

    @cached_property
    def is_executing_known(self) -> Bools:
        """Whether each attempt began, and its recorded execution time includes nothing but the execution.
        This is so if the worker reported when the function returned, or if storing the value took no time:
        only before it stores its first value, a worker imports the modules of Ray that it needs for that.
        """
        a = self.attempts
        began = np.flatnonzero(a.start >= 0)
        first = np.full(int(a.worker.max(initial=-1)) + 2, np.iinfo(np.int64).max)
        np.minimum.at(first, a.worker[began], a.start[began])
        first[first == np.iinfo(np.int64).max] = -1
        return (a.ran > 0) & ((a.returned < a.ended) | (a.start > first[a.worker]))

    @cached_property
    def held(self) -> tuple[Ints, Ints]:
        """When each attempt began and ceased to hold its worker. An attempt without an end holds it until the
        job's end.
        """
        a = self.attempts
        given = np.where(a.given >= 0, a.given, a.created)
        begin = np.where(a.start >= 0, np.maximum(self._arrival_ns, 0), given)
        end = np.maximum(a.returned, a.ended)
        return begin, np.maximum(begin, np.where(end >= 0, end, self.recorded.driver[1]))

    def held_span(self, row: int) -> Span:
        """When an attempt began and ceased to hold its worker."""
        begin, end = self.held
        return int(begin[row]), int(end[row])

    def held_until_next(self, row: int) -> Span:
        """Like :meth:`held_span`, but up to when the next attempt of the task got a worker, because Ray waits
        before it retries.
        """
        begin, end = self.held_span(row)
        is_last = row == self.last_rows[self.attempts.task[row]]
        return begin, end if is_last else max(end, self.held_span(row + 1)[0])

    @property
    def first_rows(self) -> Ints:
        """The first attempt of each task."""
        return self.recorded.first_rows[:-1]

    @cached_property
    def last_rows(self) -> Ints:
        """The last attempt of each task."""
        return self.recorded.first_rows[1:] - 1

    @cached_property
    def rows_of_function(self) -> dict[str, Ints]:
        """The attempts of each function. Creations of actors are ``Class.__init__``."""
        names = [*self.recorded.functions, ""]
        return {names[number]: rows for number, rows in groups(self.attempts.function)}

    @cached_property
    def calls_of_function(self) -> dict[str, Ints]:
        """The calls of each function whose execution time is known, without creations of actors."""
        is_call = ~self.is_creation & (self.own_ns >= 0)
        return {name: rows[is_call[rows]] for name, rows in self.rows_of_function.items()}

    def may_be_several(self, rows: Ints) -> bool:
        """Whether attempts with the same function name may belong to several functions. Only the tracer
        records whether two definitions are of the same function.
        """
        return not self.recorded.is_traced and len(np.unique(self.attempts.code.codes[rows])) > 1

    @cached_property
    def _children(self) -> dict[int, Ints]:
        return dict(groups(self.attempts.parent[self.first_rows]))

    def children(self, task: int) -> Ints:
        """The tasks submitted by a task or DRIVER, in the order of submission."""
        none: Ints = no_numbers()
        return self._children.get(task, none)

    @property
    def callers(self) -> Iterable[int]:
        """The tasks that submitted others, including DRIVER."""
        return self._children

    @cached_property
    def calls_of_actor(self) -> dict[int, Ints]:
        """The method calls of each actor."""
        a = self.attempts
        rows = np.flatnonzero((a.kind == CALL) & (a.actor >= 0))
        return {actor: rows[places] for actor, places in groups(a.actor[rows])}

    @cached_property
    def _origins(self) -> dict[str, str]:
        """The origin of each function and class of actors."""
        found = {}
        for function, module in zip(self.recorded.functions, self.recorded.modules, strict=False):
            known = origin(module)
            if known is not None:
                found[function] = known
                found.setdefault(function.rpartition(".")[0], known)
        return found

    def origin(self, name: str) -> str | None:
        """The origin of a function or class of actors: ``user``, a library's name, or None if unknown."""
        return self._origins.get(name) if name else None

    @cached_property
    def methods(self) -> set[str]:
        """The functions that are methods of actors."""
        a = self.attempts
        numbers = np.unique(a.function[(a.kind == CALL) & (a.actor >= 0)])
        return {self.recorded.functions[number] if number >= 0 else "" for number in numbers}

    @cached_property
    def _submissions(self) -> dict[int, list[Span]]:
        """The submissions that took a millisecond or more, by caller."""
        found: dict[int, list[Span]] = defaultdict(list)
        for one in self.recorded.sendings:
            if one.kind == "submit":
                found[one.task].append((one.begin, one.end))
        return found

    def submission(self, task: int) -> Span:
        """When the caller began and finished submitting a task; the same time twice if it took less than 1
        ms.
        """
        created = self.created(task)
        of_caller = self._submissions.get(int(self.attempts.parent[self.first_rows[task]]), [])
        place = bisect.bisect_right(of_caller, (created, _LATEST)) - 1
        if place >= 0 and created <= of_caller[place][1]:
            return of_caller[place]
        return created, created

    def loading(self, row: int) -> Span:
        """When an attempt began and finished loading its function's code."""
        a = self.attempts
        end = int(a.start[row] - a.fetching[row])
        return (end - int(a.loading[row]), end) if a.start[row] >= 0 else (0, 0)

    @cached_property
    def cpus(self) -> float:
        """The total number of CPUs of all nodes."""
        return sum(node.resources.get("CPU", 0.0) for node in self.recorded.nodes)

    @cached_property
    def cpus_asked(self) -> Any:
        """The CPUs requested by each attempt; 0 if it requests none or the number is unknown."""
        return self.amounts_of("CPU")

    def amounts_of(self, resource: str) -> Any:
        """The amount of a resource that each attempt requests; 0 if it requests none or this is unknown."""
        of_demand = [demand.get(resource, 0.0) for demand in self.recorded.demands]
        return np.array([*of_demand, 0.0])[self.attempts.demand]

    def series(self, metric: str, **labels: str) -> dict[int, Points]:
        """The samples of a metric during the job, by node, summed over the series of each node. Raises
        NotEnoughData.

        A series has at most 200 points. Nodes with fewer than two points are left out.
        """
        found = {
            node: points for node, points in self._read_series(metric, labels).items() if len(points) > 1
        }
        if not found:
            raise NotEnoughData(f"There are no samples of {metric} from the job's time.")
        return found

    def require_tracer(self, unknown: str) -> None:
        """Raise NotEnoughData if the job was not traced. ``unknown``: what is missing for that reason."""
        if not self.recorded.is_traced:
            raise NotEnoughData(
                f"The tracer reported nothing from the job's processes, so nobody knows {unknown}."
            )

    def lifetime(self, actor: Actor) -> Span:
        """When an actor began, and when it ended or, if it did not, the end of the record."""
        return max(0, actor.begin), actor.end if actor.end >= 0 else self.recorded.last

    def removal(self, group: Group) -> int:
        """When a placement group was removed, or the end of the record if it was not."""
        return group.removed if group.removed >= 0 else self.recorded.last

    def created(self, task: int) -> int:
        """When a task was submitted."""
        return int(self.attempts.created[self.first_rows[task]])

    @cached_property
    def is_creation(self) -> Bools:
        """Whether each attempt creates an actor."""
        found: Bools = self.attempts.kind == CREATION
        return found

    def waits(self, min_count: int = 1) -> Iterator[tuple[int, list[Wait]]]:
        """Each task (or DRIVER) whose last attempt waited at least ``min_count`` times, with the waits of
        that attempt in chronological order. Raises NotEnoughData.
        """
        self.require_tracer("their waits")
        last: dict[int, tuple[int, int]] = {}
        for (task, number), count in self.recorded.waits.counts():
            last[task] = number, count  # later attempts replace earlier ones
        for task, (number, count) in last.items():
            if count >= min_count:
                yield task, self.recorded.waits.of(task, number)


def groups(numbers: Ints) -> Iterator[tuple[int, Ints]]:
    """Each distinct number with the indexes at which it occurs, in ascending order."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order], prepend=-2, append=-2))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield int(numbers[order[begin]]), order[begin:end]


def function_or_class(name: str) -> tuple[str | None, str | None]:
    """(name, None) for a function, and (None, class name) for the creation of an actor."""
    class_name = name.removesuffix(".__init__")
    return (name, None) if class_name == name else (None, class_name)


def blocked_ns(wait: Wait) -> int:
    """How long a wait blocked its task, ns."""
    return wait.summed_ns if wait.summed_ns >= 0 else wait.end - wait.begin
