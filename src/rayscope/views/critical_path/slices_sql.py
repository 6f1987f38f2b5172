"""Attempts that ended in a time slice, their waits, and the arguments that they produced, as columns."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from rayscope.storage.rows import join_id, split_id
from rayscope.storage.sql.execution import (
    CREATED,
    CREATED_ACTOR,
    END,
    FIRST_PUT,
    FOREVER,
    INTERRUPTED,
    IS_GROUP_WAIT,
    IS_OPEN_WAIT,
    REACHED,
    RECORDED,
    SUMMED,
    WAITS,
    actors_worker,
    called_name,
    ended_at,
)
from rayscope.views.critical_path.compute import SLACK_NS

_BEGINS = tuple(f"begin_{number}" for number in range(len(RECORDED)))
_EXECUTING = [phase for phase, _ in RECORDED].index("executing")
_STORING = [phase for phase, _ in RECORDED].index("storing")
_KEY = "{'hi': a.task_hi, 'lo': a.task_lo, 'attempt': a.attempt}"
_AWAITED = "awaited.hi AS awaited_hi, awaited.lo AS awaited_lo, awaited.attempt AS awaited_attempt"

#: SQL for the worker on which a call that still waits for its actor will run.
_ACTORS_WORKER = f"CASE WHEN {END} IS NULL THEN {actors_worker('a')} END"
#: SQL condition: the wait ``w`` was for a placement group.
_IS_GROUP = (
    "(w.task_hi, w.task_lo, w.attempt, w.begin_ns) IN (SELECT (task_hi, task_lo, attempt, begin_ns) "
    f"FROM edge_rows WHERE {IS_GROUP_WAIT})"
)


def _longest(last_ns: int) -> str:
    """Return an SQL sort order: the latest end first and, among unfinished attempts, the earliest start
    first.
    """
    return f"{ended_at(last_ns)} DESC, {REACHED} NULLS LAST, {CREATED}"


def select_attempts(where: str, is_guessed: str = "false") -> str:
    """Return SQL for attempts, ordered by their ends. Missing times are ``FOREVER`` or ``-FOREVER``.

    ``is_guessed`` is an SQL condition for attempts that the driver is assumed to have waited for.
    """
    begins = ", ".join(
        f"coalesce({begin}, {-FOREVER}) AS {column}"
        for column, (_, begin) in zip(_BEGINS, RECORDED, strict=True)
    )
    return f"""
SELECT task_hi, task_lo, attempt, coalesce({called_name("a")}, creation, '') AS name, parent_hi, parent_lo,
    coalesce(worker_id, {_ACTORS_WORKER}) AS worker_id,
    coalesce({REACHED}, {FOREVER}) AS reached_ns, {ended_at(FOREVER)} AS end_ns, {begins},
    coalesce(return_bytes, 0) AS return_bytes, coalesce({is_guessed}, false) AS is_guessed
FROM (SELECT *, {CREATED_ACTOR} AS made FROM attempts WHERE {CREATED} IS NOT NULL AND {where}) a
LEFT JOIN (SELECT id, class_name || '.__init__' AS creation FROM actor_rows) r ON r.id = a.made
ORDER BY end_ns, {CREATED}, attempt DESC, task_hi"""


def select_waits(since_ns: int, upto_ns: int, last_ns: int, by_itself: str) -> str:
    """Return SQL for the waits that ended in the slice, ordered by their ends.

    Each row has the attempt that ended the wait, or the awaited attempt if a signal ended it. ``by_itself``
    is an SQL condition for attempts that ended on their own, not because their job ended.
    """
    ended = f"({ended_at(last_ns)} <= e.end_ns + {SLACK_NS} AND {by_itself})"
    # A generator's values are available before the generator ends.
    yielded = f"(w.is_ready AND e.object_index >= 2 AND {REACHED} < e.end_ns)"
    return f"""
WITH waits AS MATERIALIZED (
    SELECT row_number() OVER () AS wait, task_hi, task_lo, attempt, begin_ns, max(end_ns) AS end_ns,
        coalesce(max(TRY(json_extract(extra, '$.ready')::BIGINT)), 1) > 0 AS is_ready,
        coalesce(max({INTERRUPTED}::INTEGER), 0) = 1 AS is_interrupted,
        coalesce(max(TRY(json_extract(extra, '$.objects')::BIGINT)), 0) != 0 AND is_ready
            AND NOT is_interrupted AS has_many,
        count(extra) = 0 AS is_bare
    FROM span_rows
    WHERE {WAITS} AND NOT coalesce({SUMMED}, false) AND end_ns > {since_ns} AND end_ns <= {upto_ns}
    GROUP BY task_hi, task_lo, attempt, begin_ns),
named AS (
    SELECT w.wait, first({_KEY} ORDER BY {ended} != w.is_interrupted DESC, {_longest(last_ns)}) AS awaited
    FROM waits w
    JOIN edge_rows e ON e.task_hi = w.task_hi AND e.task_lo = w.task_lo AND e.attempt = w.attempt
        AND e.begin_ns = w.begin_ns
    JOIN attempts a ON a.task_hi = e.object_hi AND a.task_lo = e.object_lo
    WHERE e.kind IN ('get', 'wait') AND e.object_index < {FIRST_PUT} AND {CREATED} IS NOT NULL
        AND ({ended} OR {yielded} OR w.is_interrupted)
    GROUP BY w.wait),
-- Not all of many objects are named, and none without the tracer: then it was the child that ended last.
unnamed AS MATERIALIZED (
    FROM waits w WHERE has_many OR is_bare AND wait NOT IN (SELECT wait FROM named) AND NOT EXISTS (
        SELECT 1 FROM edge_rows e WHERE e.task_hi = w.task_hi AND e.task_lo = w.task_lo
            AND e.attempt = w.attempt AND e.begin_ns = w.begin_ns)),
children AS (
    SELECT w.wait, arg_max(c.child, c.ended) AS awaited
    FROM (FROM unnamed, (VALUES (0), ({SLACK_NS})) AS clocks(slack)) w
    ASOF JOIN (
        SELECT parent_hi, parent_lo, {ended_at("NULL")} AS ended, {CREATED} AS created, {_KEY} AS child
        FROM attempts a
        WHERE {ended_at("NULL")} IS NOT NULL AND parent_hi IN (SELECT task_hi FROM unnamed)) c
    ON c.parent_hi = w.task_hi AND c.parent_lo = w.task_lo AND w.end_ns + w.slack >= c.ended
    WHERE c.ended > w.begin_ns AND c.created < w.end_ns
    GROUP BY w.wait)
SELECT task_hi, task_lo, attempt, begin_ns, end_ns, is_group, {_AWAITED}
FROM (
    SELECT w.*, coalesce(c.awaited, n.awaited) AS awaited, {_IS_GROUP} AS is_group
    FROM waits w LEFT JOIN named n USING (wait) LEFT JOIN children c USING (wait))
ORDER BY end_ns, begin_ns DESC"""


def select_arguments(since_ns: int, upto_ns: int, last_ns: int) -> str:
    """Return SQL for tasks with arguments that were produced in the slice, ordered by the producers' ends."""
    return f"""
SELECT e.task_hi, e.task_lo, e.attempt, {ended_at(last_ns)} AS end_ns, {_AWAITED.replace("awaited.", "key.")}
FROM edge_rows e
JOIN (SELECT *, {_KEY} AS key FROM attempts a) a ON a.task_hi = e.object_hi AND a.task_lo = e.object_lo
WHERE e.kind = 'argument' AND e.object_index < {FIRST_PUT}
    AND {ended_at(last_ns)} > {since_ns} AND {ended_at(last_ns)} <= {upto_ns}
ORDER BY end_ns"""


def select_open_waits(last_ns: int) -> str:
    """Return SQL for the waits without a recorded end and their targets, ordered by start time.

    Waits for many objects name only some of them. If all of these have ended, the target is a child task that
    has not.
    """
    is_of_task = f"b.object_index < {FIRST_PUT} AND {CREATED} IS NOT NULL"
    return f"""
WITH named AS (
    SELECT b.task_hi, b.task_lo, b.attempt, b.begin_ns, bool_or({IS_GROUP_WAIT}) AS is_group,
        first({_KEY} ORDER BY {_longest(last_ns)}) FILTER ({is_of_task}) AS awaited,
        max({ended_at(last_ns)}) FILTER ({is_of_task}) AS ended
    FROM edge_rows b LEFT JOIN attempts a ON a.task_hi = b.object_hi AND a.task_lo = b.object_lo
    WHERE {IS_OPEN_WAIT}
    GROUP BY b.task_hi, b.task_lo, b.attempt, b.begin_ns),
children AS (
    SELECT parent_hi, parent_lo, first({_KEY} ORDER BY {_longest(last_ns)}) AS child,
        max({ended_at(last_ns)}) AS ended
    FROM attempts a
    WHERE {CREATED} IS NOT NULL AND (parent_hi, parent_lo) IN (SELECT (task_hi, task_lo) FROM named)
    GROUP BY parent_hi, parent_lo)
SELECT task_hi, task_lo, attempt, begin_ns, is_group, {_AWAITED}
FROM (
    SELECT n.* EXCLUDE awaited, CASE WHEN c.ended > n.ended THEN c.child ELSE n.awaited END AS awaited
    FROM named n LEFT JOIN children c ON c.parent_hi = n.task_hi AND c.parent_lo = n.task_lo)
ORDER BY begin_ns"""


def _until(rows: Sequence[int], times_ns: Any, at_ns: int) -> Iterator[int]:
    """Yield the rows whose time is at most ``at_ns``, the last one first. ``rows`` are ordered by time."""
    for place in range(bisect.bisect_right(rows, at_ns, key=times_ns.__getitem__) - 1, -1, -1):
        yield rows[place]


class Rows:
    """Rows in the order of their column ``end_ns``, indexed by task."""

    def __init__(self, table: pa.Table) -> None:
        self._columns = {name: table[name].combine_chunks() for name in table.column_names}
        self.end_ns = self.numbers("end_ns")
        self.number = self.numbers("attempt")
        tasks = self.numbers("task_hi")
        self._by_task = np.argsort(tasks, kind="stable")
        self._tasks = tasks[self._by_task]
        self._of_task: dict[str, list[int]] = {}

    def numbers(self, column: str) -> Any:
        """Return a column without NULLs as a NumPy array."""
        return self._columns[column].to_numpy(zero_copy_only=False)

    def value(self, column: str, row: int) -> Any:
        """Return the value of one cell."""
        return self._columns[column][row].as_py()

    def task(self, row: int, prefix: str = "task") -> str | None:
        """Return the complete hex ID of a row's task, or of its parent with another ``prefix``."""
        return join_id(self.value(f"{prefix}_hi", row), self.value(f"{prefix}_lo", row))

    def of_task(self, task_id: str) -> list[int]:
        """Return the rows of a task."""
        if task_id not in self._of_task:
            high, low = split_id(task_id)
            key = np.uint64(high or 0)
            first, after = self._tasks.searchsorted(key), self._tasks.searchsorted(key, "right")
            rows = self._by_task[first:after].tolist()
            self._of_task[task_id] = [row for row in rows if self.value("task_lo", row) == low]
        return self._of_task[task_id]

    def until(self, rows: Sequence[int], at_ns: int) -> Iterator[int]:
        """Yield the rows that ended by ``at_ns``, the last one first."""
        return _until(rows, self.end_ns, at_ns)

    def awaited(self, row: int) -> tuple[str, int] | None:
        """Return the attempt that a row's wait was for."""
        task_id = self.task(row, "awaited")
        return None if task_id is None else (task_id, self.value("awaited_attempt", row))


class Attempts(Rows):
    """Attempts, also indexed by worker."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table)
        self.reached_ns = self.numbers("reached_ns")
        #: The start times of the phases, in ns: one row per attempt.
        self.begins = np.column_stack([self.numbers(column) for column in _BEGINS])
        self.has_start = self.begins[:, _EXECUTING] > -FOREVER
        #: When an attempt left its function, as recorded by its worker, or else the attempt's end.
        stored_ns = self.begins[:, _STORING]
        self.executed_ns = np.where(stored_ns > -FOREVER, stored_ns, self.end_ns)
        self.guessed: list[int] = np.flatnonzero(self.numbers("is_guessed")).tolist()
        workers = self._columns["worker_id"].dictionary_encode()
        self._workers = {worker: code for code, worker in enumerate(workers.dictionary.to_pylist())}
        self._worker = workers.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self._of_worker: dict[str, list[int]] = {}

    def executed(self, worker: str, upto_ns: int) -> Iterator[int]:
        """Yield the rows of the attempts that left their function on a worker by ``upto_ns``, the last one
        first.
        """
        if worker not in self._of_worker:
            code = self._workers.get(worker)
            rows = np.flatnonzero(self._worker == code) if code is not None else np.array([], dtype=int)
            self._of_worker[worker] = rows[np.argsort(self.executed_ns[rows], kind="stable")].tolist()
        return _until(self._of_worker[worker], self.executed_ns, upto_ns)


class Slice:
    """Attempts that ended in a time slice, and those that were on a worker at its end."""

    def __init__(
        self,
        reader: duckdb.DuckDBPyConnection,
        attempts: str,
        values: dict[str, Any],
        waits: str,
        arguments: str,
    ) -> None:
        self._reader = reader
        self._sql = attempts, waits, arguments
        self._values = values

    def _read(self, sql: str, values: dict[str, Any] | None = None) -> pa.Table:
        return self._reader.sql(sql, params=values or None).to_arrow_table()

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self._read(self._sql[0], self._values))

    @cached_property
    def waits(self) -> Rows:
        return Rows(self._read(self._sql[1]))

    @cached_property
    def arguments(self) -> Rows:
        return Rows(self._read(self._sql[2]))
