"""Attempts, their spans, and the data that they exchanged, as rows on lanes, for files of other programs.

Everything is first written to narrow temporary tables (which attempts, in which order, on which lane and
row), and then read in batches, so that Python never holds more than one batch.
"""

from __future__ import annotations

import contextlib
import heapq
from array import array
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import ERROR_SUMMARY
from rayscope.storage.sql.execution import (
    CREATED,
    DRIVER_HI,
    DRIVER_LO,
    END,
    FUNCTION,
    IS_OPEN_WAIT,
    NAMED_PARENT_ID,
    NOT_DRIVER,
    PARENT_ID,
    REACHED,
    START,
    hex_id,
    is_driver,
    moved,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.node_names import unique_node_name
from rayscope.storage.sql.pages import Row, Where, rows_of
from rayscope.storage.sql.samples import ABOUT_SAMPLES

BATCH = 20_000
#: Maximum number of rows for waits. Waits that do not fit are left out.
WAIT_ROWS = 200
#: Maximum number of data arrows that begin at one attempt.
MAX_ARROWS = 1_000
#: Maximum number of annotations of one attempt.
_MAX_NOTES = 50
_TASK = "hash(task_hi, task_lo)"
_LANE = "coalesce(worker_id, 'node ' || node_id, '')"
#: When a worker finished an attempt, as reported by the worker. Otherwise, when the owner received the
#: result, or now.
_DONE = f"greatest({REACHED}, coalesce(total_end_ns, execute_end_ns, {END}, $last))"
#: Attempts of lanes on which attempts overlap. Only these are assigned to rows in Python. The others stay in
#: row 0.
_OVERLAPS = """
SELECT lane, ordinal, begin_ns, end_ns FROM placed WHERE lane IN (
    SELECT lane FROM (SELECT lane, begin_ns, max(end_ns) OVER (
            PARTITION BY lane ORDER BY begin_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached FROM placed WHERE begin_ns IS NOT NULL)
    WHERE begin_ns < reached)
ORDER BY lane, begin_ns, end_ns, ordinal
"""
_WAITS = """
SELECT 0, ordinal, created_ns, coalesce(begin_ns, end_ns) FROM placed
WHERE created_ns < coalesce(begin_ns, end_ns) ORDER BY created_ns, ordinal
"""
_CALLERS = """
CREATE TEMP TABLE callers AS
SELECT c.ordinal, arg_max(p.ordinal, p.attempt) AS caller
FROM placed c JOIN placed p
    ON p.task = c.parent AND p.begin_ns <= c.created_ns AND p.end_ns >= c.created_ns
GROUP BY c.ordinal
"""
_INNER = f"""
CREATE TEMP TABLE inners AS
SELECT row_number() OVER (ORDER BY ordinal, begin_ns, end_ns DESC, name) AS seq, * FROM (
    SELECT p.ordinal, s.begin_ns, s.end_ns, s.name, s.rowid AS row_id
    FROM span_rows s JOIN placed p ON p.task = hash(s.task_hi, s.task_lo) AND p.attempt = s.attempt
    WHERE p.begin_ns IS NOT NULL AND NOT {ABOUT_SAMPLES}
    UNION ALL
    SELECT p.ordinal, b.begin_ns, p.end_ns, b.name, NULL FROM (
        SELECT DISTINCT task_hi, task_lo, attempt, begin_ns, substr(kind, 9) AS name
        FROM edge_rows b WHERE {IS_OPEN_WAIT}) b
    JOIN placed p ON p.task = hash(b.task_hi, b.task_lo) AND p.attempt = b.attempt
    WHERE p.begin_ns <= b.begin_ns AND p.end_ns >= b.begin_ns)
"""
#: Data arrows. Each leads from the last attempt of the producing task to the attempt that consumed the data.
#: For an argument, that is the last attempt of the consuming task.
_MOVED = f"""
CREATE TEMP TABLE arrows AS
WITH last AS (
    SELECT task, arg_max(ordinal, attempt) AS ordinal FROM placed WHERE begin_ns IS NOT NULL GROUP BY task),
moves AS (
    SELECT hash(producer_hi, producer_lo) AS made, hash(consumer_hi, consumer_lo) AS taken, kind, begin_ns
    FROM ({moved("true", "true")}) m
    WHERE kind IN ('argument', 'get') AND NOT nested AND producer_hi IS NOT NULL),
pairs AS (
    SELECT f.ordinal AS source, t.ordinal AS target, kind,
        CASE WHEN kind = 'get' THEN m.begin_ns END AS at_ns
    FROM moves m JOIN last f ON f.task = m.made JOIN placed t ON t.task = m.taken AND t.begin_ns IS NOT NULL
    JOIN last l ON l.task = m.taken
    WHERE CASE WHEN kind = 'get' THEN m.begin_ns BETWEEN t.begin_ns AND t.end_ns
        ELSE t.ordinal = l.ordinal END)
SELECT row_number() OVER () AS id, *, row_number() OVER (PARTITION BY source ORDER BY target, at_ns) AS nth
FROM (
    SELECT source, target, kind, CASE WHEN bool_or(i.ordinal IS NOT NULL) THEN p.at_ns END AS at_ns
    FROM pairs p LEFT JOIN inners i ON i.ordinal = p.target AND i.begin_ns = p.at_ns
    WHERE source != target GROUP BY source, target, kind, p.at_ns)
"""
_ATTEMPTS = f"""
SELECT p.ordinal, p.lane, r.row, r.wait_row, p.created_ns, p.begin_ns, p.end_ns,
    cp.lane AS caller_lane, cr.row AS caller_row,
    coalesce(a.task_id, '{DRIVER_PREFIX}' || p.job_id) AS task_id, p.attempt,
    coalesce(a.name, w.class_name || '.__init__', CASE WHEN p.row_id IS NULL THEN 'driver' END, '') AS name,
    coalesce(a.func_name, w.class_name || '.__init__', '') AS func_name,
    coalesce(a.type, CASE WHEN p.row_id IS NULL THEN 'DRIVER_TASK' END) AS type, a.state AS state,
    coalesce(a.job_id, p.job_id) AS job_id, a.actor_id, a.caller_task_id, a.parent_task_id,
    a.node_id, a.worker_id,
    a.worker_pid, a.error_type, a.error_summary, a.start_ns, a.finish_ns, a.node_assignment_ns,
    a.submitted_ns, a.execute_begin_ns, a.execute_end_ns, a.output_bytes, gives.ids AS gives,
    takes.ids AS takes, notes.notes AS notes
FROM placed p
JOIN places r ON r.ordinal = p.ordinal
LEFT JOIN (
    SELECT rowid AS row_id, {hex_id("task")} AS task_id, {SHOWN_NAME} AS name, {FUNCTION} AS func_name, type,
        coalesce(state, 'NIL') AS state, job_id, actor_id, {PARENT_ID} AS caller_task_id,
        {NAMED_PARENT_ID} AS parent_task_id, node_id,
        worker_id, worker_pid, error_type, {ERROR_SUMMARY}, {START} AS start_ns, {END} AS finish_ns,
        pending_node_assignment_ns AS node_assignment_ns, submitted_to_worker_ns AS submitted_ns,
        execute_begin_ns, execute_end_ns, output_bytes
    FROM attempts WHERE rowid BETWEEN $row_from AND $row_to) a ON a.row_id = p.row_id
LEFT JOIN actor_rows w ON a.func_name IS NULL AND a.type = 'ACTOR_CREATION_TASK' AND w.id = a.actor_id
LEFT JOIN callers c ON c.ordinal = p.ordinal
LEFT JOIN placed cp ON cp.ordinal = c.caller
LEFT JOIN places cr ON cr.ordinal = c.caller
LEFT JOIN (SELECT source, list(id) AS ids FROM arrows WHERE nth <= {MAX_ARROWS}
    AND source BETWEEN $begin AND $end GROUP BY source) gives ON gives.source = p.ordinal
LEFT JOIN (SELECT target, list({{'id': id, 'at_ns': at_ns}}) AS ids FROM arrows WHERE nth <= {MAX_ARROWS}
    AND target BETWEEN $begin AND $end GROUP BY target) takes ON takes.target = p.ordinal
LEFT JOIN (
    SELECT q.ordinal, max({{'time': n.time_ns, 'name': n.name, 'value': n.value}}, {_MAX_NOTES}) AS notes
    FROM annotation_rows n JOIN placed q
        ON q.task = hash(n.task_hi, n.task_lo) AND q.attempt = n.attempt
    WHERE n.kind = 'annotation' AND q.ordinal BETWEEN $begin AND $end GROUP BY q.ordinal
) notes ON notes.ordinal = p.ordinal
WHERE p.ordinal BETWEEN $begin AND $end ORDER BY p.ordinal
"""
_SPANS = """
SELECT i.ordinal, i.name, i.begin_ns, i.end_ns, s.extra FROM inners i
LEFT JOIN (SELECT rowid AS row_id, extra FROM span_rows WHERE rowid BETWEEN $row_from AND $row_to) s
    ON s.row_id = i.row_id
WHERE i.seq BETWEEN $begin AND $end ORDER BY i.seq
"""
_COUNTERS = """
SELECT p.lane, n.name, n.time_ns, n.number FROM annotation_rows n
JOIN placed p ON p.task = hash(n.task_hi, n.task_lo) AND p.attempt = n.attempt
WHERE n.kind = 'counter' AND n.number IS NOT NULL AND p.lane IS NOT NULL ORDER BY p.lane, n.name, n.time_ns
"""


class Timeline:
    """The part of a session to draw, as it was when this object was created. Use it in a ``with`` block.

    All drawn items lie between ``begin_ns`` and ``end_ns``, which are None if there are none. ``attempts`` is
    the number of drawn attempts. ``left_out`` counts the omitted items by kind. If there are more than
    ``max_attempts`` attempts, the workers with the most are left out. None means no limit.
    """

    def __init__(
        self,
        reader: duckdb.DuckDBPyConnection,
        filters: TaskFilters,
        *,
        last_ns: int,
        by_lane: bool,
        max_attempts: int | None = None,
    ) -> None:
        self._reader = reader
        self.left_out: dict[str, int] = {}
        where = attempt_filters(filters)
        where.add(NOT_DRIVER)
        self._place(where, int(last_ns), by_lane, max_attempts)
        self._pack()
        for statement in (_CALLERS, _INNER, _MOVED):
            reader.execute(statement)
        self._count()

    def _fetch_one(self, sql: str, values: Any = None) -> tuple[Any, ...]:
        return self._reader.execute(sql, values).fetchone() or ()

    def _place(self, where: Where, last: int, by_lane: bool, max_attempts: int | None) -> None:
        reader = self._reader
        chosen = f"FROM attempts{where.sql}"
        reader.execute(
            f"CREATE TEMP TABLE lanes AS SELECT (row_number() OVER (ORDER BY node_id, pid, key))::INTEGER "
            f"AS lane, *, NULL::VARCHAR AS job_id FROM (SELECT {_LANE} AS key, max(node_id) AS node_id, "
            "max(worker_id) AS worker_id, max(worker_pid) AS pid, max(actor_id) AS actor_id, "
            f"max(actor_repr_name) AS repr_name, count(*) AS attempts {chosen} AND {REACHED} IS NOT NULL "
            "GROUP BY key)",
            where.values,
        )
        self._drivers(chosen, where, last)
        if max_attempts is not None:
            crowd = "SELECT lane, sum(attempts) OVER (ORDER BY attempts, lane) AS upto FROM lanes"
            crowd = f"lane IN (SELECT lane FROM ({crowd}) WHERE upto > {int(max_attempts)})"
            workers, attempts = self._fetch_one(
                f"SELECT count(*) FILTER (job_id IS NULL), sum(attempts) FROM lanes WHERE {crowd}"
            )
            self.left_out.update(workers=workers, attempts_of_these_workers=int(attempts or 0))
            reader.execute(f"DELETE FROM lanes WHERE {crowd}")
            (self.left_out["attempts_without_worker"],) = self._fetch_one(
                f"SELECT count(*) {chosen} AND {REACHED} IS NULL AND {CREATED} IS NOT NULL", where.values
            )
        order = "lane, " if by_lane else ""
        reader.execute(
            f"CREATE TEMP TABLE placed AS SELECT row_number() OVER (ORDER BY {order}coalesce(begin_ns, "
            "created_ns), begin_ns IS NULL, end_ns, task, attempt) AS ordinal, * FROM ("
            f"SELECT row_id, task, attempt, parent, lane, least(created, reached) AS created_ns, "
            f"reached AS begin_ns, coalesce(done, greatest(created, ended)) AS end_ns, NULL AS job_id FROM ("
            f"SELECT rowid AS row_id, {_TASK} AS task, attempt, "
            f"CASE WHEN parent_hi IS NOT NULL THEN hash(parent_hi, parent_lo) END AS parent, {_LANE} AS key, "
            f"{CREATED} AS created, {REACHED} AS reached, {_DONE.replace('$last', str(last))} AS done, "
            f"coalesce({END}, {last}) AS ended {chosen}) LEFT JOIN lanes USING (key) "
            "WHERE created IS NOT NULL AND (lane IS NOT NULL OR reached IS NULL) UNION ALL "
            f"SELECT NULL, hash({DRIVER_HI}::UBIGINT, '{DRIVER_LO}' || d.job_id), 0, NULL, l.lane, "
            "d.begin_ns, d.begin_ns, d.end_ns, d.job_id FROM drivers d JOIN lanes l ON l.job_id = d.job_id)",
            where.values,
        )
        all_of_them, timeless = self._fetch_one(
            f"SELECT count(*), count(*) FILTER ({CREATED} IS NULL) {chosen}", where.values
        )
        self.left_out["attempts_without_times"] = timeless
        omitted = ("attempts_without_times", "attempts_of_these_workers", "attempts_without_worker")
        self.attempts = all_of_them - sum(self.left_out.get(name, 0) for name in omitted)

    def _drivers(self, chosen: str, where: Where, last: int) -> None:
        """Add the drivers that called the chosen attempts. Each is a lane with a single slice."""
        self._reader.execute(
            "CREATE TEMP TABLE drivers AS SELECT c.job_id, greatest(coalesce(j.end_ns, a.end_ns, "
            f"{last}), c.upto) AS end_ns, least(coalesce(a.start_ns, j.start_ns), c.since) AS begin_ns, "
            "j.driver_node_id AS node_id, j.driver_pid AS pid FROM ("
            f"SELECT substr(parent_lo, {len(DRIVER_LO) + 1}) AS job_id, min({CREATED}) AS since, "
            f"max({CREATED}) AS upto {chosen} AND {is_driver('parent')} AND {CREATED} IS NOT NULL "
            "GROUP BY 1) c LEFT JOIN job_rows j ON j.id = c.job_id LEFT JOIN ("
            f"SELECT job_id, max({END}) AS end_ns, min({START}) AS start_ns FROM attempts "
            "WHERE type = 'DRIVER_TASK' GROUP BY job_id) a ON a.job_id = c.job_id",
            where.values,
        )
        self._reader.execute(
            "INSERT INTO lanes SELECT (row_number() OVER (ORDER BY begin_ns, job_id) + "
            "(SELECT coalesce(max(lane), 0) FROM lanes))::INTEGER, NULL, node_id, NULL, pid, NULL, NULL, 0, "
            "job_id FROM drivers"
        )

    def _pack(self) -> None:
        """Assign each attempt to a row of its lane, and each wait to a row of the waits. None overlap."""
        tables = {}
        for table, sql, max_rows in (("packed", _OVERLAPS, None), ("waiting", _WAITS, WAIT_ROWS)):
            ordinals, rows = array("q"), array("i")
            packing, of_lane = Packing(max_rows), None
            self._reader.execute(sql)
            while found := self._reader.fetchmany(BATCH):
                for lane, ordinal, begin, end in found:
                    if lane != of_lane:
                        packing, of_lane = Packing(max_rows), lane
                    ordinals.append(ordinal)
                    rows.append(packing.place(begin, end))
            tables[table] = pa.table(
                {"ordinal": pa.array(ordinals, pa.int64()), "row": pa.array(rows, pa.int32())}
            )
        for table, content in tables.items():
            self._reader.register(table, content)
        self._reader.execute(
            "CREATE TEMP TABLE places AS SELECT ordinal, coalesce(k.row, 0) AS row, "
            "nullif(w.row, -1) AS wait_row FROM placed LEFT JOIN packed k USING (ordinal) "
            "LEFT JOIN waiting w USING (ordinal)"
        )
        for table in tables:
            self._reader.unregister(table)
        (self.left_out["waits"],) = self._fetch_one(
            "SELECT count(*) FROM placed JOIN places USING (ordinal) "
            "WHERE begin_ns IS NOT NULL AND created_ns < begin_ns AND wait_row IS NULL"
        )

    def _count(self) -> None:
        self.begin_ns, self.end_ns, self._last = self._fetch_one(
            "SELECT min(least(created_ns, begin_ns)), max(end_ns), coalesce(max(ordinal), 0) FROM placed"
        )
        (self._spans,) = self._fetch_one("SELECT coalesce(max(seq), 0) FROM inners")
        (self.left_out["data_arrows"],) = self._fetch_one(
            f"SELECT count(*) FROM arrows WHERE nth > {MAX_ARROWS}"
        )
        (self.left_out["call_arrows"],) = self._fetch_one(
            "SELECT count(*) FROM placed WHERE row_id IS NOT NULL AND ordinal NOT IN "
            "(SELECT ordinal FROM callers)"
        )

    def lanes(self) -> list[Row]:
        """Return the lanes in order with their labels' fields. Only lanes of drivers have ``job_id``."""
        return rows_of(
            self._reader.execute(
                f"SELECT l.lane, l.node_id, {unique_node_name('n')} AS node_name, "
                "n.is_head, l.worker_id, l.pid, l.actor_id, a.class_name, "
                "coalesce(nullif(a.name, ''), l.repr_name) AS actor_name, l.job_id, j.entrypoint "
                "FROM lanes l LEFT JOIN node_rows n ON n.id = l.node_id "
                "LEFT JOIN actor_rows a ON a.id = l.actor_id LEFT JOIN job_rows j ON j.id = l.job_id "
                "ORDER BY l.lane"
            )
        )

    def drawn(self) -> Iterator[Row]:
        """Yield the attempts and drivers in order, with the fields of ``formats.draw.Attempt``."""
        yield from self._batches(_ATTEMPTS, "placed", "ordinal", self._last)

    def spans(self) -> Iterator[Row]:
        """Yield the spans inside the attempts, in the order of the attempts and then by time.

        Each row has ``ordinal``, ``name``, ``begin_ns``, ``end_ns``, and ``extra``.
        """
        yield from self._batches(_SPANS, "inners", "seq", self._spans)

    def _batches(self, sql: str, table: str, key: str, last: int) -> Iterator[Row]:
        for begin in range(1, last + 1, BATCH):
            part = {"begin": begin, "end": begin + BATCH - 1}
            low, high = self._fetch_one(
                f"SELECT min(row_id), max(row_id) FROM {table} WHERE {key} BETWEEN $begin AND $end", part
            )
            bounds = {"row_from": -1 if low is None else low, "row_to": -1 if high is None else high}
            yield from rows_of(self._reader.execute(sql, {**part, **bounds}))

    def counters(self) -> Iterator[tuple[int, str, int, float]]:
        """Yield the values that user code's counters had. Read all of them before you read anything else.

        Each item is (lane, name, time in ns, value).
        """
        self._reader.execute(_COUNTERS)
        while found := self._reader.fetchmany(BATCH):
            yield from found


class Packing:
    """Assigns rows to intervals that arrive ordered by start time. The intervals of a row do not overlap."""

    def __init__(self, max_rows: int | None = None) -> None:
        self._max_rows = max_rows
        self._free: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self._rows = 0

    def place(self, begin: int, end: int) -> int:
        """Return the lowest free row for an interval, or -1 if all ``max_rows`` rows are occupied."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            row = heapq.heappop(self._free)
        elif self._max_rows is None or self._rows < self._max_rows:
            row = self._rows
            self._rows += 1
        else:
            return -1
        heapq.heappush(self._busy, (end, row))
        return row


@contextlib.contextmanager
def timeline(
    file: SessionFile,
    filters: TaskFilters,
    *,
    last_ns: int,
    by_lane: bool = False,
    max_attempts: int | None = None,
) -> Iterator[Timeline]:
    """Provide the attempts that match ``filters``, for drawing. Raises BadQuery.

    Running attempts last until ``last_ns``. With ``by_lane`` they are ordered by lane and then by time, and
    otherwise only by time.
    """
    with file.reader() as reader:
        yield Timeline(reader, filters, last_ns=last_ns, by_lane=by_lane, max_attempts=max_attempts)
