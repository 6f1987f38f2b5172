"""Turns a job's record into programs for the simulation."""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections import defaultdict

import numpy as np

from rayscope.insights.replay import delays as ray_delays
from rayscope.insights.replay import recorded as record
from rayscope.insights.replay.children import Children
from rayscope.insights.replay.cut import cut
from rayscope.insights.replay.program import (
    CALL,
    COMPUTE,
    CREATION,
    FREE,
    KILL,
    REMOVE,
    RESERVE,
    SUBMIT,
    UNIT,
    UNLIMITED,
    WAIT,
    YIELD,
    Group,
    Programs,
    Wait,
)
from rayscope.insights.replay.recorded import LARGE_BYTES, Recorded
from rayscope.tracer.limits import MAX_OBJECTS
from rayscope.views.critical_path.compute import SLACK_NS

#: Tasks that a task submitted more than this after its end, in ns, must have been submitted by one of its
#: threads.
_THREAD_NS = 5_000_000
#: Fetching a small value is assumed to take this long, in ns.
_LATENCY_NS = 1_000_000
_FOREVER = 1 << 60
DRIVER = "driver"


def build(recorded: Recorded) -> Programs:
    """The programs of all attempts, the driver, and threads."""
    # The programs do not refer to this copy of the record, so it is freed: its lists take a gigabyte for a
    # million attempts.
    return _Builder(cut(recorded)).build()


class _Builder:
    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._attempts = recorded.lists
        self._programs = Programs()
        firsts = recorded.first_rows.tolist()
        self._rows = [range(first, end) for first, end in itertools.pairwise(firsts)]
        # An actor exists from its first creation on, regardless of restarts.
        lasting = [rows[0] if self._attempts.kind[rows[0]] == CREATION else rows[-1] for rows in self._rows]
        #: When the value of each task became known.
        self._known = [self._attempts.ended[row] for row in lasting]
        waits = recorded.waits.all()
        for key, wait in recorded.open_waits.items():
            waits[key] = sorted([*waits.get(key, ()), wait], key=lambda one: one.begin)
        self._waits = {key: _merge_overlapping(of_attempt) for key, of_attempt in waits.items()}
        #: Items yielded by generators that other tasks waited for: (task, index) -> (signal, time).
        self._yielded: dict[tuple[int, int], tuple[int, int]] = {}
        self._children = Children(recorded)
        #: When each wait of a program ended.
        self._ends_of_waits: dict[int, int] = {}
        #: The start and end of the runs of the driver and of threads, and the run of each row's thread if it
        #: has one.
        self._spans: dict[int, tuple[int, int]] = {}
        self._threads: dict[int, int] = {}
        self._marks: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)

    def build(self) -> Programs:
        self._add_functions()
        self._add_places()
        arguments = self._needed_arguments()
        self._correct_ends(arguments)
        ready = self._ready(arguments)
        measured = ray_delays.measure(self._recorded, ready)
        self._programs.slots = measured.slots
        self._add_workers(measured)
        self._add_runs(arguments, measured)
        self._mark_children()
        for key, waits in self._waits.items():
            self._mark_waits(key, waits)
        for (task, _), (signal, time) in self._yielded.items():
            self._marks[self._rows[task][-1]].append((time, 0, YIELD, signal))
        self._mark_ends_of_actors()
        self._write_programs()
        return self._programs

    def _add_functions(self) -> None:
        p = self._programs
        p.functions = [*self._recorded.functions, DRIVER]
        names = sorted({actor.class_name for actor in self._recorded.actors})
        p.classes = names
        p.actor_class = [names.index(actor.class_name) for actor in self._recorded.actors]
        for _ in range(self._recorded.tasks):
            p.add_signal()

    def _add_places(self) -> None:
        """Add the nodes, and the resources that attempts request."""
        p, recorded = self._programs, self._recorded
        demands = [*recorded.demands, *(actor.resources for actor in recorded.actors)]
        demands += [bundle for group in recorded.groups for bundle in group.bundles]
        # Ignore resources that no node ever had, because no attempt that ran can have waited for them.
        had = {name for node in recorded.nodes for name in node.resources} or {
            n for demand in demands for n in demand
        }
        p.resources = [
            "CPU",
            *sorted({name for demand in demands for name in demand if name in had} - {"CPU"}),
        ]
        number = {name: place for place, name in enumerate(p.resources)}
        most = {
            name: max((node.resources.get(name, 0.0) for node in recorded.nodes), default=1e9)
            for name in number
        }

        def needs(demand: dict[str, float]) -> tuple[tuple[int, int], ...]:
            return tuple(
                (number[name], round(min(amount, most[name]) * UNIT))
                for name, amount in sorted(demand.items())
                if name in number
            )

        p.demands = [needs(one) for one in recorded.demands] + [
            needs(one.resources) for one in recorded.actors
        ]
        p.groups = [Group([needs(bundle) for bundle in group.bundles]) for group in recorded.groups]
        present = {
            place: node
            for place, node in enumerate(recorded.nodes)
            if not 0 <= node.end <= recorded.driver[0]
        }
        self._node_places = {place: number for number, place in enumerate(present)}
        unlimited = record.Node(dict.fromkeys(p.resources, 1e9), 0, -1)
        for node in present.values() or [unlimited]:
            p.nodes.append([round(node.resources.get(name, 0.0) * UNIT) for name in p.resources])
            p.node_from.append(node.begin if node.begin > recorded.driver[0] else 0)
            p.node_until.append(node.end if node.end < recorded.driver[1] else -1)

    def _add_workers(self, measured: ray_delays.Delays) -> None:
        p = self._programs
        p.idle_workers, p.worker_starts = [0] * len(p.nodes), [[] for _ in p.nodes]
        for node, idle in measured.idle.items():
            p.idle_workers[self._node_places.get(node, 0)] += idle
        for node, starts in measured.starts.items():
            p.worker_starts[self._node_places.get(node, 0)] += starts
        known = [start for starts in p.worker_starts for start in starts]
        if known:
            took, loading = zip(*known, strict=True)
            p.usual_start = int(statistics.median(took)), int(statistics.median(loading))
        p.start_slots = [UNLIMITED] * len(p.nodes)
        for node, slots in self._recorded.start_slots.items():
            if node in self._node_places:
                p.start_slots[self._node_places[node]] = slots

    def _needed_arguments(self) -> list[tuple[int, ...]]:
        """For each task, the tasks whose values it was called with, if these were ready when it began."""
        attempts = self._attempts
        needed: list[tuple[int, ...]] = [()] * self._recorded.tasks
        for task, objects in self._recorded.arguments.all().items():
            row = self._rows[task][0]
            had = self._had_arguments(row)
            found: dict[int, None] = {}
            if len(set(objects)) >= MAX_OBJECTS:
                call = record.Wait(attempts.created[row], had, False, objects, len(self._rows))
                self._add_unnamed(attempts.parent[row], call)
                objects = call.named
            for made_by, index in objects:
                ended = self._known[made_by]
                if made_by == task or had < 0:
                    continue
                if 0 <= ended <= had + SLACK_NS:
                    found[made_by] = None
                elif index > 1 and self._is_generator(made_by):
                    found[self._yield(made_by, index, had)] = None
            needed[task] = tuple(found)
        return needed

    def _had_arguments(self, row: int) -> int:
        """The latest time by which an attempt must have had its arguments."""
        a = self._attempts
        return a.pending[row] if a.pending[row] > a.created[row] else a.start[row]

    def _is_generator(self, task: int) -> bool:
        return self._attempts.yielded[self._rows[task][-1]] >= 0

    def _yield(self, task: int, index: int, by: int) -> int:
        """The signal for an item of a generator. The item is yielded no later than ``by``."""
        row = self._rows[task][-1]
        begin, end = self._attempts.yielded[row], self._attempts.returned[row]
        known = self._yielded.get((task, index))
        signal = known[0] if known else self._programs.add_signal()
        time = min(by, known[1] if known else _FOREVER)
        if end >= 0:
            time = min(time, end)
        self._yielded[task, index] = signal, max(begin if index == 2 else self._attempts.start[row], time)
        return signal

    def _correct_ends(self, arguments: list[tuple[int, ...]]) -> None:
        """Correct the times at which values became ready, to no later than when a task that needed them
        continued.
        """
        attempts, known = self._attempts, self._known
        for task, needed in enumerate(arguments):
            row = self._rows[task][0]
            had = self._had_arguments(row)
            for made_by in needed:
                if made_by < self._recorded.tasks:
                    known[made_by] = min(known[made_by], had)
        for (by, _), waits in self._waits.items():
            for wait in waits:
                if wait.is_wait or wait.summed_ns >= 0:
                    continue
                self._add_unnamed(by, wait)
                for task, _ in wait.named:
                    if wait.end < known[task] <= wait.end + SLACK_NS:
                        known[task] = wait.end
        for task, rows in enumerate(self._rows):
            if known[task] >= 0:
                last = rows[0] if attempts.kind[rows[0]] == CREATION else rows[-1]
                known[task] = max(known[task], attempts.returned[last])

    def _ready(self, arguments: list[tuple[int, ...]]) -> list[int]:
        """For each attempt, when it had been submitted and had all of its arguments."""
        ready = list(self._attempts.created)
        for task, needed in enumerate(arguments):
            if needed:
                row = self._rows[task][0]
                times = [self._known[one] for one in needed if one < self._recorded.tasks]
                ready[row] = max(ready[row], *times) if times else ready[row]
        return ready

    def _add_runs(self, arguments: list[tuple[int, ...]], measured: ray_delays.Delays) -> None:
        p, a = self._programs, self._recorded.attempts
        rows = np.arange(len(a))
        is_first = np.isin(rows, self._recorded.first_rows[:-1])
        is_last = np.isin(rows, self._recorded.first_rows[1:] - 1)
        has_begun, is_creation = a.start >= 0, a.kind == CREATION
        # The times of calls that wait for an actor's restart already include the restart.
        is_restart = is_creation & ~is_first
        kind = np.where(has_begun | is_creation, a.kind, FREE)
        kind[is_restart | (is_creation & (a.actor < 0))] = FREE
        demand = np.where(a.kind == CALL, -1, a.demand)
        demand = np.where(
            is_creation, np.where(a.actor >= 0, len(self._recorded.demands) + a.actor, -1), demand
        )
        has_signal = (is_last | is_creation) & ~is_restart
        end = np.where(has_signal, np.array(self._known, dtype=np.int64)[a.task], a.ended)
        length = np.where(has_begun, a.returned - a.start, a.ended - a.created)
        has_end = np.where(has_begun, a.returned, a.ended) >= 0
        again = np.where(is_last | is_creation, -1, rows + 1)
        home = np.array([*(self._node_places.get(one, -1) for one in range(len(self._recorded.nodes))), -1])
        usual = ~is_restart
        p.set_runs(
            kind=kind,
            function=a.function,
            attempt=rows,
            has_begun=has_begun.tolist(),
            lead=np.where(has_begun & usual, measured.lead, 0),
            delay=np.where(has_begun & usual, measured.delay, 0),
            startup=np.where(usual, measured.startup, 0),
            transfer=np.where(usual, measured.transfer, 0),
            tail=np.where(has_begun & (a.returned >= 0) & usual, np.maximum(0, end - a.returned), 0),
            alone=np.where(usual, np.where(has_end, np.maximum(0, length), _FOREVER), 0),
            arguments=[
                arguments[task] if first else ()
                for task, first in zip(self._attempts.task, is_first.tolist(), strict=True)
            ],
            signal=np.where(has_signal, a.task, -1),
            again=again,
            again_after=np.where(
                again >= 0, np.maximum(0, np.append(a.created[1:], 0) - np.maximum(a.ended, 0)), 0
            ),
            demand=np.where(has_begun & usual, demand, -1),
            home=np.where(usual, home[a.node], -1),
            group=np.where(((kind <= CREATION) | is_creation) & usual, a.group, -1),
            actor=np.where((is_creation | (kind == CALL)) & usual, a.actor, -1),
        )
        driver = p.add_run(FREE, len(p.functions) - 1)
        p.roots, p.root_begins = [driver], [self._recorded.driver[0]]
        self._marks[driver] = []
        self._spans[driver] = self._recorded.driver
        self._order_calls()

    def _order_calls(self) -> None:
        """Make the calls of one caller arrive at their actor in the order of submission."""
        p, a = self._programs, self._attempts
        last: dict[tuple[int, int], int] = {}
        rows = [row for row in range(len(a.task)) if p.kind[row] == CALL and a.number[row] == 0]
        for row in sorted(rows, key=a.created.__getitem__):
            key = (a.parent[row], a.actor[row])
            before = last.get(key, -1)
            if before >= 0 and a.start[before] <= a.start[row]:
                p.before[row], p.after[before] = before, row
            last[key] = row

    def _run_of(self, task: int, at: int) -> int:
        """The run that represents a task at a given time: one of its attempts, or a thread that outlived the
        attempt.
        """
        p, a = self._programs, self._attempts
        driver = p.roots[0]
        if task < 0:
            return driver
        rows = [row for row in self._rows[task] if 0 <= a.start[row] <= at + _THREAD_NS]
        if not rows:
            return driver
        row = rows[-1]
        if a.returned[row] < 0 or at <= a.returned[row] + _THREAD_NS:
            return row
        known = self._threads.get(row)
        if known is None:
            known = self._threads[row] = p.add_run(FREE, a.function[row])
            self._spans[known] = (a.returned[row], a.returned[row])
            self._marks[row].append((a.returned[row], 2, SUBMIT, known))
        begin, end = self._spans[known]
        self._spans[known] = (begin, max(end, at))
        return known

    def _mark_children(self) -> None:
        a = self._attempts
        for rows in self._rows:
            row = rows[0]
            if a.start[row] < 0 and a.ended[row] < 0:
                continue  # it was cut off before it began
            self._marks[self._run_of(a.parent[row], a.created[row])].append((a.created[row], 1, SUBMIT, row))
        self._mark_groups()

    def _mark_groups(self) -> None:
        """Let the submitter of a placement group's first task create and remove the group, because the real
        creator is not recorded. If this were always the driver, a wait in the driver could block the creation
        forever.
        """
        a = self._attempts
        submitters: dict[int, int] = {}
        for rows in self._rows:
            submitters.setdefault(a.group[rows[0]], a.parent[rows[0]])
        for number, group in enumerate(self._recorded.groups):
            for time, order, step in ((group.created, 0, RESERVE), (group.removed, 3, REMOVE)):
                if time >= 0:
                    run = self._run_of(submitters.get(number, -1), time)
                    self._marks[run].append((time, order, step, number))

    def _mark_ends_of_actors(self) -> None:
        """Let the creator of an actor kill it at its recorded end, so that the actor's resources are
        released.
        """
        a, p = self._attempts, self._programs
        for row, kind in enumerate(a.kind):
            if kind != CREATION or a.number[row] or a.actor[row] < 0:
                continue
            end = self._recorded.actors[a.actor[row]].end
            if 0 <= end < self._recorded.driver[1] and p.demands[p.demand[row]]:
                self._marks[self._run_of(a.parent[row], end)].append((end, 3, KILL, a.actor[row]))

    def _mark_waits(self, key: tuple[int, int], waits: list[record.Wait]) -> None:
        p = self._programs
        loop: _Loop | None = None
        for wait in waits:
            run = self._run_of(key[0], wait.begin)
            if wait.summed_ns >= 0:
                made = self._sum_wait(run, key[0], wait)
            else:
                there = {
                    (task, index): signal
                    for task, index in dict.fromkeys(wait.named)
                    if (signal := self._signal(task, index, wait, key[0])) >= 0
                }
                if wait.is_wait and (
                    max(len(wait.named), wait.objects) > 1 or (loop and loop.continues(wait))
                ):
                    if loop is None or not loop.continues(wait):
                        loop = _Loop(p)
                    made = self._loop_wait(loop, key[0], wait)
                else:
                    left = {
                        one: signal for one, signal in there.items() if not (loop and loop.was_ready(one))
                    }
                    made = self._get_wait(wait, left)
            p.waits.append(made)
            self._marks[run].append((wait.begin, 1, WAIT, len(p.waits) - 1))
            self._ends_of_waits[len(p.waits) - 1] = wait.end

    def _signal(self, task: int, index: int, wait: record.Wait, by: int) -> int:
        """The signal of an object that was ready at the end of a task's wait, or -1."""
        ended = self._known[task]
        row = self._rows[task][0]
        # A thread may have submitted tasks during the wait. The program submits them after the wait, so the
        # wait cannot be for them.
        if self._attempts.created[row] > (wait.begin if self._attempts.parent[row] == by else wait.end):
            return -1
        if index > 1 and self._is_generator(task) and (ended < 0 or ended > wait.end):
            return self._yield(task, index, wait.end)
        return task if 0 <= ended <= wait.end + SLACK_NS else -1

    def _get_wait(self, wait: record.Wait, there: dict[tuple[int, int], int]) -> Wait:
        """A wait for all objects that were ready at its end."""
        times = [self._known[task] if signal == task else wait.end for (task, _), signal in there.items()]
        since = min(wait.end, max([wait.begin, *times]))
        after = wait.end - since
        transfer = (
            max(0, after - _LATENCY_NS)
            if wait.bytes >= LARGE_BYTES or not (wait.named or wait.is_group)
            else 0
        )
        return Wait(tuple(there.values()), after, transfer)

    def _loop_wait(self, loop: _Loop, task: int, wait: record.Wait) -> Wait:
        """A call to ``ray.wait``: it waits until as many additional objects are ready as in the record."""
        named = dict.fromkeys(wait.named)
        if wait.objects > len(named):
            for made_by in self._children.next(task, self._functions_of(wait), wait.begin):
                loop.add((made_by, 1), made_by, self._known[made_by])
        for one, index in named:
            is_yield = index > 1 and self._is_generator(one)
            loop.add((one, index), self._yield(one, index, _FOREVER) if is_yield else one, self._known[one])
        loop.end, loop.named = wait.end, set(named)
        removed = max(0, len(loop.ends) - max(wait.objects, len(named)))
        needed = removed + max(1, wait.ready)
        if wait.ready == 0:
            # The call timed out, so it waited for more objects than were ready by its end.
            needed = max(needed, bisect.bisect_right(loop.ends, wait.end) + 1)
        made = Wait((), counter=loop.counter, needed=needed)
        there = loop.ends[made.needed - 1] if made.needed <= len(loop.ends) else _FOREVER
        if wait.ready == 0 or there > wait.end + SLACK_NS:
            made.timeout_ns = wait.end - wait.begin
        else:
            made.after_ns = wait.end - min(wait.end, max(wait.begin, there))
        return made

    def _functions_of(self, wait: record.Wait) -> set[int]:
        return {self._attempts.function[self._rows[one][0]] for one, _ in wait.named}

    def _add_unnamed(self, task: int, wait: record.Wait) -> None:
        """Add the objects that a large wait did not name, assuming that the same functions created them."""
        if wait.objects > len(wait.named) and wait.named:
            like = self._children.last(task, self._functions_of(wait), wait.begin, wait.objects)
            wait.named = list(dict.fromkeys([*wait.named, *((one, 1) for one in like)]))

    def _sum_wait(self, run: int, task: int, wait: record.Wait) -> Wait:
        """One wait that stands for many short calls: it waits at its end for the children that ended during
        the calls.
        """
        signals = tuple(
            one
            for one in self._children.between(task, wait.begin, wait.end, self._known)
            if self._attempts.created[self._rows[one][0]] <= wait.begin
        )
        blocked = min(wait.summed_ns, wait.end - wait.begin)
        if not signals:
            return Wait((), wait.end - wait.begin)
        self._marks[run].append((wait.begin, 0, COMPUTE, wait.end - wait.begin - blocked))
        return Wait(signals)

    def _write_programs(self) -> None:
        p, a = self._programs, self._attempts
        for run, marks in self._marks.items():
            if run in self._spans:
                begin, end = self._spans[run]
            else:
                begin, end = a.start[run], a.returned[run]
                if p.kind[run] == FREE and begin < 0:
                    continue
            marks.sort()
            steps = []
            now = begin
            wait, wait_begin = 0, begin
            for marked, _, step, number in marks:
                time = marked if end < 0 else min(marked, end)
                if time > now:
                    steps.append((COMPUTE, time - now))
                    now = time
                elif step in (KILL, REMOVE) and wait_begin <= time < now:
                    # Something else did it, because the run was blocked. The wait may even depend on it.
                    other = p.add_run(FREE, p.function[run])
                    p.first[other] = p.add_steps([(COMPUTE, time - wait_begin), (step, number)])
                    steps.insert(wait, (SUBMIT, other))
                    wait += 1
                    continue
                steps.append((step, number))
                if step == WAIT:
                    wait, wait_begin = len(steps) - 1, now
                    now = max(now, self._ends_of_waits[number])
            if end < 0:
                steps.append((COMPUTE, _FOREVER))
            elif end > now:
                steps.append((COMPUTE, end - now))
            p.first[run] = p.add_steps(steps)


class _Loop:
    """Consecutive calls to ``ray.wait`` on the remaining objects of a set, which may grow."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self.counter = programs.counters
        programs.counters += 1
        #: When each object became ready, and these times in ascending order. Objects that never became ready
        #: come last.
        self.known: dict[tuple[int, int], int] = {}
        self.ends: list[int] = []
        #: The objects named by the last call, and when it ended.
        self.named: set[tuple[int, int]] = set()
        self.end = -1

    def continues(self, wait: record.Wait) -> bool:
        """Whether a call belongs to this loop."""
        return not self.named.isdisjoint(wait.named) or (
            wait.objects > len(wait.named) and not self.known.keys().isdisjoint(wait.named)
        )

    def add(self, item: tuple[int, int], signal: int, known: int) -> None:
        """Add an object to the loop's counter."""
        if item not in self.known and self._programs.counted_by[signal] < 0:
            self.known[item] = known if known >= 0 else _FOREVER
            bisect.insort(self.ends, self.known[item])
            self._programs.counted_by[signal] = self.counter

    def was_ready(self, item: tuple[int, int]) -> bool:
        """Whether an object was ready after the last call."""
        return self.known.get(item, _FOREVER) <= self.end + SLACK_NS


def _merge_overlapping(waits: list[record.Wait]) -> list[record.Wait]:
    """Merge overlapping waits, of threads or of coroutines that are awaited together, into one."""
    found: list[record.Wait] = []
    for wait in waits:
        if found and wait.begin < found[-1].end:
            last = found[-1]
            if wait.summed_ns >= 0 or last.summed_ns >= 0:
                last.end = max(last.end, wait.end)
                continue
            last.end = max(last.end, wait.end)
            last.named = last.named + wait.named
            last.bytes += wait.bytes
            last.is_wait = last.is_wait and wait.is_wait
        else:
            found.append(wait)
    return found
