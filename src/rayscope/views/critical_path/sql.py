"""What the walk along the critical path asks of a record: one attempt, wait or producer after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import duckdb

from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.errors import NotFound
from rayscope.storage.rows import join_id, split_id
from rayscope.storage.sql.execution import (
    CREATED,
    END,
    FASTEST_START_NS,
    FIRST_PUT,
    FIRST_TASK_NS,
    FOREVER,
    NOT_DRIVER,
    REACHED,
    RECORDED,
    SUMMED,
    WAITS,
    function_name,
    still_blocked,
)

#: So many waits, or attempts of a worker, are read at once.
_WAITS = 500
#: So many tasks at most are noted as waiting for others.
_KNOWN = 300_000
#: States of one attempt may be told by two clocks.
_SLACK_NS = 50_000_000
_END = f"coalesce({END}, $last)"
_BEGINS = ", ".join(begin for _, begin in RECORDED)
_FIELDS = (
    f"a.task_hi, a.task_lo, a.attempt, coalesce({function_name('a')}, ''), a.parent_hi, a.parent_lo, "
    f"a.worker_id, {REACHED}, {_BEGINS}, {_END}"
)
_ROW = f"row({_FIELDS})"
_PHASES = tuple(name for name, _ in RECORDED)
#: Of those that have not ended: first what runs, the oldest of it.
_LONGEST = f"{_END} DESC, {REACHED} NULLS LAST, {CREATED}"


class PathAttempt(NamedTuple):
    """An attempt on the path; see :class:`rayscope.views.critical_path.compute.Attempt`."""

    task_id: str
    attempt: int
    name: str
    begins: list[tuple[str, int]]
    end_ns: int
    parent_task_id: str | None
    worker_id: str | None
    reached_ns: int


class PathWait(NamedTuple):
    """A wait of an attempt's, and who of the awaited ended last."""

    begin_ns: int
    end_ns: int
    awaited: PathAttempt | None


class PathReader:
    """The record of one job, asked step by step. ``last_ns``: until when a running attempt has run.

    ``job_id`` is the given one or that with the most attempts, ``driver`` its driver as an attempt, which
    begins with the job at ``begin_ns``. ``ended``: whether the job has; one that has not ends at ``last_ns``
    in a ``live`` session, else when the last of it was heard of. ``traced``: whether it is known when the
    driver waited, and for whom; another one is taken to have waited for each attempt that it submitted.
    Raises NotFound where nothing is on record.
    """

    def __init__(
        self, reader: duckdb.DuckDBPyConnection, last_ns: int, job_id: str | None, *, live: bool
    ) -> None:
        self._reader = reader
        self._last_ns = last_ns
        self._waits: dict[tuple[str, int], list[PathWait]] = {}
        self._whole: set[tuple[str, int]] = set()
        self._held: dict[str, list[PathAttempt]] = {}
        self._whole_workers: set[str] = set()
        self._started: dict[str, Any] = {}
        self._waiting = self._some(
            f"SELECT task_hi FROM span_rows WHERE {WAITS} "
            "UNION SELECT task_hi FROM edge_rows WHERE starts_with(kind, 'blocked:')"
        )
        self._given = self._some("SELECT DISTINCT task_hi FROM edge_rows WHERE kind = 'argument'")
        if job_id is None:
            most = reader.execute(
                f"SELECT job_id FROM attempts WHERE {NOT_DRIVER} GROUP BY job_id "
                "ORDER BY count(*) DESC, job_id LIMIT 1"
            ).fetchone()
            if most is None:
                raise NotFound("No tasks recorded yet.", "GET /api/jobs lists the jobs.")
            job_id = most[0]
        self.job_id = job_id
        self._driver_id = DRIVER_PREFIX + (job_id or "")
        self.ended, self.begin_ns, self._end_ns = self._extent(live)
        # What runs when the driver ends is ended by that.
        self._by_itself = f"(finished_ns IS NOT NULL OR {END} < {self._end_ns if self.ended else FOREVER})"
        self.traced = self._is_traced()
        own = "executing" if self.traced else "unknown"
        self.driver = PathAttempt(
            self._driver_id, 0, "driver", [(own, self.begin_ns)], self._end_ns, None, None, self.begin_ns
        )

    def _extent(self, live: bool) -> tuple[bool, int, int]:
        """Whether the job has ended, when it began and when it ended."""
        high, low = split_id(self._driver_id)
        of_job = {"job": self.job_id, "high": high, "low": low}
        begun, heard, driver_end, job_end = self._reader.execute(
            f"SELECT least(min({CREATED}), min(coalesce(running_ns, {CREATED})), "
            "(SELECT min(start_ns) FROM job_rows WHERE id = $job AND start_ns > 0)), "
            f"greatest(max(greatest({END}, {REACHED}, {CREATED})), "
            "(SELECT max(end_ns) FROM span_rows WHERE task_hi = $high AND task_lo = $low)), "
            f"max({END}) FILTER (type = 'DRIVER_TASK'), "
            "(SELECT max(end_ns) FROM job_rows WHERE id = $job AND end_ns > 0) "
            "FROM attempts WHERE job_id IS NOT DISTINCT FROM $job",
            of_job,
        ).fetchall()[0]
        if begun is None:
            raise NotFound(
                f"No tasks recorded for job {(self.job_id or '')[:80]!r}.", "GET /api/jobs lists the jobs."
            )
        ended = driver_end if driver_end is not None else job_end
        if ended is not None:
            return True, begun, max(begun, ended)
        return False, begun, self._last_ns if live else max(begun, heard or begun)

    def _is_traced(self) -> bool:
        """Whether the tracer was in the driver: it said so, or told of a wait."""
        high, low = split_id(self._driver_id)
        found = self._reader.execute(
            "SELECT EXISTS (SELECT 1 FROM worker_rows WHERE worker_type = 'DRIVER' AND job_id = $job "
            "AND starts_with(tracer, 'on')) OR EXISTS (SELECT 1 FROM span_rows WHERE task_hi = $high "
            f"AND task_lo = $low AND {WAITS}) OR EXISTS (SELECT 1 FROM edge_rows WHERE task_hi = $high "
            "AND task_lo = $low AND starts_with(kind, 'blocked:'))",
            {"job": self.job_id, "high": high, "low": low},
        ).fetchone()
        return bool(found and found[0])

    def _one(self, sql: str, **values: Any) -> PathAttempt | None:
        row = self._reader.execute(sql, {**values, "last": self._last_ns}).fetchone()
        return None if row is None or row[0] is None else self._attempt(row[0])

    def _some(self, sql: str) -> set[int] | None:
        """The tasks that a query tells, or None if they are too many: the others need not be asked about."""
        rows = self._reader.execute(f"{sql} LIMIT {_KNOWN + 1}").fetchall()
        return None if len(rows) > _KNOWN else {high for (high,) in rows}

    def running(self, task_id: str, at_ns: int) -> PathAttempt | None:
        """The attempt of a task that ran at a time, or the last that began before it."""
        if task_id.startswith(DRIVER_PREFIX):
            return self.driver if task_id == self._driver_id else None
        high, low = split_id(task_id)
        return self._one(
            f"SELECT {_ROW} FROM attempts a WHERE task_hi = $high AND task_lo = $low "
            f"AND {CREATED} IS NOT NULL ORDER BY {CREATED} > $at, attempt DESC LIMIT 1",
            high=high,
            low=low,
            at=at_ns,
        )

    def retried(self, attempt: PathAttempt) -> PathAttempt | None:
        """The attempt of the same task before this one."""
        high, low = split_id(attempt.task_id)
        return self._one(
            f"SELECT {_ROW} FROM attempts a WHERE task_hi = $high AND task_lo = $low AND attempt < $attempt "
            f"AND {CREATED} IS NOT NULL ORDER BY attempt DESC LIMIT 1",
            high=high,
            low=low,
            attempt=attempt.attempt,
        )

    def argument(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        """Of the tasks that made an attempt's arguments, the attempt that ended last, not after a time."""
        high, low = split_id(attempt.task_id)
        if self._given is not None and high not in self._given:
            return None
        return self._one(
            f"SELECT arg_max({_ROW}, {_END}) FROM edge_rows e JOIN attempts a ON a.task_hi = e.object_hi "
            "AND a.task_lo = e.object_lo WHERE e.task_hi = $high AND e.task_lo = $low "
            f"AND e.kind = 'argument' AND e.object_index < {FIRST_PUT} AND {_END} <= $before",
            high=high,
            low=low,
            before=before_ns,
        )

    def before(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        """The attempt that ended last on the same worker, of those that came before it.

        A walk goes back in time: what came to the worker later than it asks for now, it asks for no more.
        """
        worker = attempt.worker_id
        if worker is None:
            return None
        while True:
            known = self._held.get(worker)
            while known and (known[-1].end_ns > before_ns + _SLACK_NS or known[-1].reached_ns >= before_ns):
                known.pop()
            if known:
                return known[-1]
            if known is not None and worker in self._whole_workers:
                return None
            rows = self._reader.execute(
                f"SELECT {_ROW} FROM attempts a WHERE rowid IN (SELECT rowid FROM attempts "
                f"WHERE worker_id = $worker AND {NOT_DRIVER} "
                f"AND {END} <= $before + {_SLACK_NS} AND {REACHED} < $before "
                f"ORDER BY {END} DESC, attempt LIMIT {_WAITS}) ORDER BY {END} DESC, attempt",
                {"worker": worker, "before": before_ns, "last": self._last_ns},
            ).fetchall()
            if len(rows) < _WAITS:
                self._whole_workers.add(worker)
            self._held[worker] = [self._attempt(row) for (row,) in reversed(rows)]

    def wait(self, attempt: PathAttempt, before_ns: int) -> PathWait | None:
        """Of the waits of an attempt that began before a time the one that ended last, not after it."""
        is_guessed = attempt is self.driver and not self.traced
        if not is_guessed and self._waiting is not None and split_id(attempt.task_id)[0] not in self._waiting:
            return None
        key = (attempt.task_id, attempt.attempt)
        load = self._guess if is_guessed else self._load
        known = self._waits.get(key)
        if known is None:
            known = self._waits[key] = load(attempt, before_ns)
            if not is_guessed:
                known += self._still_blocked(attempt)
        while True:
            while known and (known[-1].end_ns > before_ns or known[-1].begin_ns >= before_ns):
                known.pop()
            if known:
                return known[-1]
            if key in self._whole:
                return None
            known.extend(load(attempt, before_ns))

    def awaited(self, attempt: PathAttempt, wait: PathWait, before_ns: int) -> PathAttempt | None:
        """The attempt that ended a wait; None if it timed out."""
        return wait.awaited

    def _guess(self, attempt: PathAttempt, before_ns: int) -> list[PathWait]:
        """Waits of a driver that nobody traced: for each attempt that it submitted and that ended."""
        high, low = split_id(attempt.task_id)
        rows = self._reader.execute(
            f"SELECT {CREATED}, {END}, {_ROW} FROM attempts a WHERE parent_hi = $high AND parent_lo = $low "
            f"AND {END} <= $before AND {CREATED} < $before AND {NOT_DRIVER} AND {self._by_itself} "
            f"ORDER BY {END} DESC, {CREATED} DESC LIMIT {_WAITS}",
            {"high": high, "low": low, "before": before_ns, "last": self._last_ns},
        ).fetchall()
        if len(rows) < _WAITS:
            self._whole.add((attempt.task_id, attempt.attempt))
        return [PathWait(begin, end, self._attempt(row)) for begin, end, row in reversed(rows)]

    def _load(self, attempt: PathAttempt, before_ns: int) -> list[PathWait]:
        """The waits before a time, the latest last, and for whom: some hundred at once."""
        high, low = split_id(attempt.task_id)
        of = {"high": high, "low": low, "attempt": attempt.attempt}
        rows = self._reader.execute(
            "SELECT begin_ns, max(end_ns), max(TRY(json_extract(extra, '$.objects')::BIGINT)), "
            "coalesce(max(TRY(json_extract(extra, '$.ready')::BIGINT)), 1) > 0 "
            "FROM span_rows WHERE task_hi = $high AND task_lo = $low "
            f"AND attempt = $attempt AND {WAITS} AND NOT coalesce({SUMMED}, false) "
            "AND end_ns <= $before AND begin_ns < $before "
            f"GROUP BY begin_ns ORDER BY 2 DESC, begin_ns LIMIT {_WAITS}",
            {**of, "before": before_ns},
        ).fetchall()
        if len(rows) < _WAITS:
            self._whole.add((attempt.task_id, attempt.attempt))
        kinds = "e.kind IN ('get', 'wait')"
        ended = f"{_END} <= e.end_ns + {_SLACK_NS} AND {self._by_itself}"
        awaited = self._awaited(of, [begin for begin, *_ in rows], kinds, ended)
        # What a generator yields is there before it ends.
        still = [begin for begin, _, _, is_ready in rows if is_ready and begin not in awaited]
        yielded = "e.object_index >= 2 AND (e.kind = 'get' OR list_contains($ready, e.begin_ns))"
        awaited |= self._awaited(of, still, f"{kinds} AND {yielded}", f"{REACHED} < e.end_ns", ready=still)
        # Not all of many objects are named: then it was the child that ended last.
        many = [(begin, end) for begin, end, objects, is_ready in rows if objects and is_ready]
        awaited |= self._last_children(of, many)
        return [PathWait(begin, end, awaited.get(begin)) for begin, end, *_ in reversed(rows)]

    def _last_children(self, of: dict[str, Any], waits: list[tuple[int, int]]) -> dict[int, PathAttempt]:
        """For each wait by its begin, what ended last in it of what the waiter submitted."""
        if not waits:
            return {}
        found = self._reader.execute(
            "SELECT w.begin_ns, c.child FROM (SELECT unnest($begins::BIGINT[]) AS begin_ns, "
            "unnest($ends::BIGINT[]) AS end_ns) w ASOF JOIN ("
            f"SELECT {END} AS ended, {_ROW} AS child FROM attempts a "
            f"WHERE parent_hi = $high AND parent_lo = $low AND {END} IS NOT NULL) c "
            f"ON w.end_ns + {_SLACK_NS} >= c.ended WHERE c.ended > w.begin_ns",
            {
                "high": of["high"],
                "low": of["low"],
                "begins": [begin for begin, _ in waits],
                "ends": [end for _, end in waits],
                "last": self._last_ns,
            },
        ).fetchall()
        return {begin: self._attempt(row) for begin, row in found}

    def _still_blocked(self, attempt: PathAttempt) -> list[PathWait]:
        """The waits whose end nobody told: until the attempt's end."""
        high, low = split_id(attempt.task_id)
        of = {"high": high, "low": low, "attempt": attempt.attempt}
        begins = [
            begin
            for (begin,) in self._reader.execute(
                "SELECT DISTINCT begin_ns FROM "
                f"({still_blocked('b.task_hi = $high AND b.task_lo = $low AND b.attempt = $attempt')}) "
                f"ORDER BY begin_ns LIMIT {_WAITS}",
                of,
            ).fetchall()
        ]
        awaited = self._awaited(of, begins, "starts_with(e.kind, 'blocked:')", "true")
        return [PathWait(begin, attempt.end_ns, awaited.get(begin)) for begin in begins]

    def _awaited(
        self, of: dict[str, Any], begins: list[int], kind: str, ended: str, **values: Any
    ) -> dict[int, PathAttempt]:
        """For each wait by its begin, the attempt that ended last of those that ``ended`` (SQL) picks."""
        if not begins:
            return {}
        found = self._reader.execute(
            f"SELECT e.begin_ns, first({_ROW} ORDER BY {_LONGEST}) FROM edge_rows e JOIN attempts a "
            "ON a.task_hi = e.object_hi AND a.task_lo = e.object_lo "
            "WHERE e.task_hi = $high AND e.task_lo = $low AND e.attempt = $attempt "
            f"AND {kind} AND e.object_index < {FIRST_PUT} AND {CREATED} IS NOT NULL AND {ended} "
            "AND e.begin_ns IN (SELECT unnest($begins::BIGINT[])) GROUP BY e.begin_ns",
            {**of, "begins": begins, "last": self._last_ns, **values},
        ).fetchall()
        return {begin: self._attempt(row) for begin, row in found if row is not None}

    def _attempt(self, row: Any) -> PathAttempt:
        values = list(row.values()) if isinstance(row, dict) else list(row)
        high, low, attempt, name, parent_high, parent_low, worker, reached, *times, end = values
        begins = [(phase, time) for phase, time in zip(_PHASES, times, strict=True) if time is not None]
        if worker is not None and (started := self._worker_start(worker, dict(begins[::-1]))) is not None:
            begins.insert([phase for phase, _ in begins].index("waiting_node") + 1, started)
        return PathAttempt(
            join_id(high, low) or "",
            attempt,
            name,
            begins,
            end,
            join_id(parent_high, parent_low),
            worker,
            reached or 0,
        )

    def _worker_start(self, worker: str, begins: dict[str, int]) -> tuple[str, int] | None:
        """The phase in which an attempt's worker started; see :func:`flow_sql.with_worker_starts`."""
        waited = begins.get("waiting_node")
        given = begins.get("queued", begins.get("loading", begins.get("fetching", begins.get("executing"))))
        if waited is None or given is None or given - waited <= FASTEST_START_NS:
            return None
        if worker not in self._started:
            self._started[worker] = self._reader.execute(
                "SELECT launch_ns, start_ns FROM worker_rows WHERE id = $worker AND launch_ns > 0 "
                "AND start_ns > 0",
                {"worker": worker},
            ).fetchone()
        known = self._started[worker]
        if known is None or not max(waited, given - FIRST_TASK_NS) <= known[1] <= given:
            return None
        return "starting_worker", min(known[1], max(waited, known[0]))
