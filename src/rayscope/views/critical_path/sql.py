"""The record of a job for the walk along its critical path, read one time slice after another."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import duckdb

from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.rows import join_id, split_id
from rayscope.storage.sql.execution import (
    CREATED,
    END,
    FASTEST_START_NS,
    FIRST_TASK_NS,
    FOREVER,
    IS_AWAITING,
    IS_DRIVER_TRACED,
    NOT_DRIVER,
    REACHED,
    RECORDED,
    ended_at,
)
from rayscope.storage.sql.function_names import by_function
from rayscope.storage.sql.jobs import no_tasks
from rayscope.views.critical_path.compute import SLACK_NS, stretches
from rayscope.views.critical_path.slices_sql import (
    Attempts,
    Slice,
    select_arguments,
    select_attempts,
    select_open_waits,
    select_waits,
)

#: Approximate number of attempts that end in each slice.
SLICE_ATTEMPTS = 100_000
#: Approximate number of attempts from which the boundaries between slices are computed.
_SAMPLED = 500_000
#: Number of slices kept in memory. A walk alternates between neighbors.
_KEPT_SLICES = 2
#: On a busy machine, an attempt's owner may record its end up to this much later than the worker does, in ns.
_LATE_NS = 1_000_000_000
_PHASES = tuple(name for name, _ in RECORDED)
#: A worker's first task of a function also imports the modules that the function needs. That time counts as
#: starting the worker.
_FIRST_PHASES = tuple(
    "starting_worker" if _PHASES.index("loading") <= place < _PHASES.index("executing") else name
    for place, name in enumerate(_PHASES)
)
#: At the end of a worker's very first task, Ray imports its serializers, which takes about 0.4 s of CPU time.
#: So storing counts as starting the worker, unless the value is so large that storing takes that long anyway.
_NEW_WORKER_PHASES = tuple("starting_worker" if name == "storing" else name for name in _FIRST_PHASES)
_LARGE_VALUE_BYTES = 10 << 20


class PathAttempt(NamedTuple):
    """An attempt on the path; see :class:`rayscope.views.critical_path.compute.Attempt`."""

    task_id: str
    attempt: int
    name: str
    begins: list[tuple[str, int]]
    end_ns: int
    parent_task_id: str | None
    worker_id: str | None


class PathWait(NamedTuple):
    """A wait of an attempt. ``awaited`` is the last awaited attempt to end, as (task ID, attempt).

    Waits for a placement group have the phase of waiting for resources.
    """

    begin_ns: int
    end_ns: int
    awaited: tuple[str, int] | None
    phase: str = "blocked"


class Extent(NamedTuple):
    """Whether a job has ended, its start time, and its end time (the end so far if it is running), in ns."""

    ended: bool
    begin_ns: int
    end_ns: int


class PathReader:
    """The record of one job, read step by step.

    ``driver`` is its driver as an attempt, which begins with the job at ``begin_ns``. ``ended`` is whether
    the job has ended. A job that has not ended lasts until ``last_ns`` in a ``live`` session, or else until
    its last recorded event. Running attempts last until ``last_ns``. If ``extent`` is passed, the job's start
    and end are not looked up.

    ``traced`` is whether the driver's waits are recorded. A driver without a tracer is assumed to have waited
    for each attempt that it submitted. Raises NotFound if there is no record of the job.

    A walk goes back in time and asks for attempts that ended shortly before. So the record is read in time
    slices, each of them when a walk reaches it.
    """

    def __init__(
        self,
        reader: duckdb.DuckDBPyConnection,
        last_ns: int,
        job_id: str,
        *,
        live: bool,
        extent: Extent | None = None,
    ) -> None:
        self._reader = reader
        self.last_ns = last_ns
        self._slices: dict[int, Slice] = {}
        self._tasks: dict[str, list[PathAttempt]] = {}
        self._job_id = job_id
        self._driver_id = DRIVER_PREFIX + job_id
        self.ended, self.begin_ns, self._end_ns = extent or self._extent(live)
        self.traced = self._is_traced()
        own = "executing" if self.traced else "unknown"
        self.driver = PathAttempt(
            self._driver_id, 0, "driver", [(own, self.begin_ns)], self._end_ns, None, None
        )

    def _extent(self, live: bool) -> Extent:
        high, low = split_id(self._driver_id)
        of_job = {"job": self._job_id, "high": high, "low": low}
        begin_ns, heard_ns, driver_end, job_end = self._reader.execute(
            f"SELECT least(min({CREATED}), min(coalesce(running_ns, {CREATED})), "
            "(SELECT min(start_ns) FROM job_rows WHERE id = $job AND start_ns > 0)), "
            f"greatest(max(greatest({END}, {REACHED}, {CREATED})), "
            "(SELECT max(end_ns) FROM span_rows WHERE task_hi = $high AND task_lo = $low)), "
            f"max({END}) FILTER (type = 'DRIVER_TASK'), "
            "(SELECT max(end_ns) FROM job_rows WHERE id = $job AND end_ns > 0) "
            "FROM attempts WHERE job_id IS NOT DISTINCT FROM $job",
            of_job,
        ).fetchall()[0]
        if begin_ns is None:
            raise no_tasks(self._job_id)
        ended = driver_end if driver_end is not None else job_end
        if ended is not None:
            return Extent(True, begin_ns, max(begin_ns, ended))
        return Extent(False, begin_ns, self.last_ns if live else max(begin_ns, heard_ns or begin_ns))

    def _is_traced(self) -> bool:
        high, low = split_id(self._driver_id)
        found = self._reader.execute(
            f"SELECT {IS_DRIVER_TRACED}", {"job": self._job_id, "high": high, "low": low}
        ).fetchall()
        return bool(found[0][0])

    @cached_property
    def _bounds(self) -> list[int]:
        """The boundaries between the slices, in ns."""
        ((count,),) = self._reader.execute("SELECT count(*) FROM attempts").fetchall()
        slices = 1 + count // SLICE_ATTEMPTS
        parts = [number / slices for number in range(1, slices)]
        sample = f"hash(task_hi) % {1 + count // _SAMPLED} = 0"
        found = self._reader.execute(
            f"SELECT DISTINCT unnest(quantile_disc({END}, {parts})) AS bound FROM attempts WHERE {sample} "
            "ORDER BY bound"
        ).fetchall()
        return [bound for (bound,) in found if bound is not None]

    def _slice(self, number: int) -> Slice:
        """Return a slice. Slice 0 is the earliest."""
        if number not in self._slices:
            if len(self._slices) == _KEPT_SLICES:
                del self._slices[next(iter(self._slices))]
            bounds = [-FOREVER, *self._bounds, FOREVER]
            self._slices[number] = self._new_slice(bounds[number], bounds[number + 1])
        return self._slices[number]

    def _new_slice(self, since_ns: int, upto_ns: int) -> Slice:
        # The driver's end stops everything that is still running.
        by_itself = f"(finished_ns IS NOT NULL OR {END} < {self._end_ns if self.ended else FOREVER})"
        is_guessed, values = "false", {}
        if not self.traced:
            is_guessed = f"parent_hi = $high AND parent_lo = $low AND {by_itself}"
            values = dict(zip(("high", "low"), split_id(self._driver_id), strict=True))
        # Include retries that were still waiting for a worker, because callers ask for a task's last attempt.
        has_begun = f"({REACHED} < {upto_ns} OR attempt > 0 AND {CREATED} < {upto_ns})"
        ended = ended_at(FOREVER)
        # DuckDB skips parts of the table by the condition on the column alone.
        within = (
            f"({END} IS NULL OR {END} > {since_ns}) AND {ended} > {since_ns} "
            f"AND ({ended} <= {upto_ns} OR {has_begun})"
        )
        return Slice(
            self._reader,
            select_attempts(f"{NOT_DRIVER} AND {within}", is_guessed),
            values,
            select_waits(since_ns, upto_ns, self.last_ns, by_itself),
            select_arguments(since_ns, upto_ns, self.last_ns),
        )

    def _slice_at(self, at_ns: int) -> Slice:
        return self._slice(bisect.bisect_left(self._bounds, at_ns))

    def _slices_back(self, upto_ns: int, since_ns: int) -> Iterator[Slice]:
        """Yield the slices with attempts that ended between the two times, the latest slice first."""
        for number in range(bisect.bisect_left(self._bounds, upto_ns), -1, -1):
            yield self._slice(number)
            if number and self._bounds[number - 1] <= since_ns:
                return

    def running(self, task_id: str, at_ns: int) -> PathAttempt | None:
        """Return the attempt of a task that was running at ``at_ns``, or the last that began before it."""
        if task_id.startswith(DRIVER_PREFIX):
            return self.driver if task_id == self._driver_id else None
        attempts = self._slice_at(at_ns).attempts
        rows = attempts.of_task(task_id)
        row = max(rows, key=lambda row: (attempts.begins[row, 0] <= at_ns, attempts.number[row]), default=-1)
        if row >= 0 and (attempts.begins[row, 0] <= at_ns or attempts.number[row] == 0):
            return self._attempt(attempts, row)
        return max(
            self._attempts_of(task_id),
            key=lambda attempt: (attempt.begins[0][1] <= at_ns, attempt.attempt),
            default=None,
        )

    def retried(self, attempt: PathAttempt) -> PathAttempt | None:
        """Return the previous attempt of the same task."""
        earlier = [other for other in self._attempts_of(attempt.task_id) if other.attempt < attempt.attempt]
        return max(earlier, key=lambda other: other.attempt, default=None)

    def argument(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        """Return the attempt that ended last by ``before_ns`` among those that produced an argument."""
        for part in self._slices_back(before_ns, attempt.begins[0][1]):
            arguments = part.arguments
            for row in arguments.until(arguments.of_task(attempt.task_id), before_ns):
                return self._find_attempt(arguments.awaited(row), before_ns)
        return None

    def before(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        """Return the last attempt to end by ``before_ns`` of those that reached the same worker earlier.

        Calls that were suspended are left out, because others run on their actor meanwhile.
        """
        worker = attempt.worker_id
        if worker is None:
            return None
        for part in self._slices_back(before_ns + _LATE_NS, _since(attempt, before_ns)):
            attempts = part.attempts
            for row in attempts.executed(worker, before_ns + SLACK_NS):
                # A call without a recorded start may have reached the worker late, so it counts only if it
                # ended by ``before_ns``.
                reached_ns = attempts.reached_ns[row] if attempts.has_start[row] else attempts.end_ns[row] - 1
                if reached_ns < before_ns and not _is(attempt, attempts, row):
                    if worker in self._async_workers and self._was_suspended(attempts, row):
                        continue
                    return self._attempt(attempts, row)
        return None

    @cached_property
    def _async_workers(self) -> set[str | None]:
        """The workers on which calls of async methods were suspended."""
        found = self._reader.execute(
            "SELECT DISTINCT worker_id FROM attempts "
            f"SEMI JOIN (SELECT task_hi, task_lo FROM span_rows WHERE {IS_AWAITING}) "
            "USING (task_hi, task_lo)"
        ).fetchall()
        return {worker for (worker,) in found}

    def _was_suspended(self, attempts: Attempts, row: int) -> bool:
        """Return whether a call of an async method was suspended while it ran."""
        high, low = split_id(attempts.task(row) or "")
        found = self._reader.execute(
            f"SELECT 1 FROM span_rows WHERE task_hi = $high AND task_lo = $low AND {IS_AWAITING} LIMIT 1",
            {"high": high, "low": low},
        ).fetchall()
        return bool(found)

    def wait(self, attempt: PathAttempt, before_ns: int) -> PathWait | None:
        """Return an attempt's latest wait to end by ``before_ns``, of those that began earlier."""
        if attempt is self.driver and not self.traced:
            return self._guess(before_ns)
        if attempt.end_ns <= before_ns:
            for begin, awaited, phase in reversed(
                self._open_waits.get((attempt.task_id, attempt.attempt), [])
            ):
                # Skip waits that began after the attempt's end. A Ray Train worker's waits in reports are
                # recorded with the creation of its actor.
                if begin < attempt.end_ns:
                    return PathWait(begin, attempt.end_ns, awaited, phase)
        for part in self._slices_back(before_ns, _since(attempt, before_ns)):
            waits = part.waits
            for row in waits.until(waits.of_task(attempt.task_id), before_ns):
                begin = waits.value("begin_ns", row)
                if begin < before_ns and waits.number[row] == attempt.attempt:
                    phase = "waiting_node" if waits.value("is_group", row) else "blocked"
                    return PathWait(begin, int(waits.end_ns[row]), waits.awaited(row), phase)
        return None

    def _guess(self, before_ns: int) -> PathWait | None:
        """Return an untraced driver's latest wait. It is assumed to wait for each attempt that it submits."""
        for part in self._slices_back(before_ns, self.begin_ns):
            attempts = part.attempts
            for row in attempts.until(attempts.guessed, before_ns):
                begin = int(attempts.begins[row, 0])
                if begin < before_ns:
                    key = attempts.task(row) or "", int(attempts.number[row])
                    return PathWait(begin, int(attempts.end_ns[row]), key)
        return None

    def awaited(self, attempt: PathAttempt, wait: PathWait, before_ns: int) -> PathAttempt | None:
        """Return the attempt that ended a wait, or None if the wait timed out.

        If the wait was interrupted, the awaited attempt lasted longer than the wait. It is returned as if it
        had ended with the wait, so that the path follows the attempt's own open wait.
        """
        found = self._find_attempt(wait.awaited, wait.end_ns)
        return found and found._replace(end_ns=min(found.end_ns, wait.end_ns))

    def _find_attempt(self, key: tuple[str, int] | None, near_ns: int) -> PathAttempt | None:
        """Return an attempt by its task and number. This is fastest if it ended near ``near_ns``."""
        if key is None:
            return None
        task_id, number = key
        attempts = self._slice_at(near_ns).attempts
        for row in attempts.of_task(task_id):
            if attempts.number[row] == number:
                return self._attempt(attempts, row)
        return next((other for other in self._attempts_of(task_id) if other.attempt == number), None)

    def _attempts_of(self, task_id: str) -> list[PathAttempt]:
        """Return all attempts of a task."""
        if task_id not in self._tasks:
            high, low = split_id(task_id)
            found = self._reader.sql(
                select_attempts("task_hi = $high AND task_lo = $low"), params={"high": high, "low": low}
            )
            attempts = Attempts(found.to_arrow_table())
            self._tasks[task_id] = [self._attempt(attempts, row) for row in range(len(attempts.end_ns))]
        return self._tasks[task_id]

    @cached_property
    def _open_waits(self) -> dict[tuple[str, int], list[tuple[int, tuple[str, int] | None, str]]]:
        """Waits without a recorded end, by attempt, ordered by time, as (begin, awaited attempt, phase)."""
        found = defaultdict(list)
        for high, low, attempt, begin, is_group, *awaited in self._reader.execute(
            select_open_waits(self.last_ns)
        ).fetchall():
            task_id = join_id(*awaited[:2])
            key = None if task_id is None else (task_id, awaited[2])
            phase = "waiting_node" if is_group else "blocked"
            found[join_id(high, low) or "", attempt].append((begin, key, phase))
        return found

    def _attempt(self, attempts: Attempts, row: int) -> PathAttempt:
        name, worker = attempts.value("name", row), attempts.value("worker_id", row)
        phases = self._phases(attempts, row, worker, name)
        begins = [
            (phase, begin)
            for phase, begin in zip(phases, attempts.begins[row].tolist(), strict=True)
            if begin != -FOREVER
        ]
        if worker is not None and (started := self._worker_start(worker, begins)) is not None:
            begins.insert([phase for phase, _ in begins].index("waiting_node") + 1, started)
        end = int(attempts.end_ns[row])
        return PathAttempt(
            attempts.task(row) or "",
            int(attempts.number[row]),
            name,
            begins,
            self.last_ns if end == FOREVER else end,
            attempts.task(row, "parent"),
            worker,
        )

    def _phases(self, attempts: Attempts, row: int, worker: str | None, name: str) -> tuple[str, ...]:
        """Return the names of an attempt's phases. First imports of modules count as starting the worker."""
        reached_ns = attempts.reached_ns[row]
        if reached_ns >= self._first.get((worker, name), -FOREVER):
            return _PHASES
        is_new = reached_ns < self._first_of_all.get(worker, -FOREVER)
        is_large = attempts.value("return_bytes", row) > _LARGE_VALUE_BYTES
        return _NEW_WORKER_PHASES if is_new and not is_large else _FIRST_PHASES

    def _worker_start(self, worker: str, begins: list[tuple[str, int]]) -> tuple[str, int] | None:
        """Return the phase in which an attempt's worker started, or None.

        See :func:`execution.with_worker_starts`.
        """
        waited = next((begin for phase, begin in begins if phase == "waiting_node"), None)
        assigned = next((begin for phase, begin in begins if not phase.startswith("waiting")), None)
        if waited is None or assigned is None or assigned - waited <= FASTEST_START_NS:
            return None
        known = self._started.get(worker)
        if known is None or not max(waited, assigned - FIRST_TASK_NS) <= known[1] <= assigned:
            return None
        return "starting_worker", min(known[1], max(waited, known[0]))

    @cached_property
    def _first(self) -> dict[tuple[str | None, str], int]:
        """When each worker first executed each function, in ns, by (worker, function)."""
        first = "min(coalesce(execute_begin_ns, running_ns)) AS first_ns"
        calls = by_function("worker_id", first, "worker_id IS NOT NULL AND running_ns IS NOT NULL")
        found = self._reader.execute(
            f"SELECT worker_id, coalesce(func, ''), min(first_ns) FROM ({calls}) GROUP BY ALL"
        ).fetchall()
        return {(worker, name): first_ns for worker, name, first_ns in found}

    @cached_property
    def _first_of_all(self) -> dict[str | None, int]:
        """When each worker first executed anything, in ns, by worker."""
        found: dict[str | None, int] = {}
        for (worker, _), first_ns in self._first.items():
            found[worker] = min(first_ns, found.get(worker, first_ns))
        return found

    @cached_property
    def _started(self) -> dict[str, tuple[int, int]]:
        """When each worker was launched and when its start was complete, in ns, by worker."""
        found = self._reader.execute(
            "SELECT id, launch_ns, start_ns FROM worker_rows WHERE launch_ns > 0 AND start_ns > 0"
        ).fetchall()
        return {worker: (launched, started) for worker, launched, started in found}


def _is(attempt: PathAttempt, attempts: Attempts, row: int) -> bool:
    return int(attempts.number[row]) == attempt.attempt and attempts.task(row) == attempt.task_id


def _since(attempt: PathAttempt, before_ns: int) -> int:
    """Return the time when the phase that the attempt was in at ``before_ns`` started.

    Attempts that ended before this time do not explain the phase.
    """
    return max((begin for _, begin in stretches(attempt) if begin < before_ns), default=before_ns)
