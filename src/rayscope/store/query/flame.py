"""Sums over attempts by call path, for flame graphs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from rayscope.store.errors import BadQuery
from rayscope.store.flow_sql import CREATED, END, EXECUTING_FROM, FOREVER, START, SUMMED, UNTOLD, WAITS, total
from rayscope.store.query.attempts import attempt_filters
from rayscope.store.query.pages import Where
from rayscope.store.session_file import SessionFile

#: More different call paths than this are not put together at once.
MAX_PATHS = 200_000
_FRAME = re.compile(r"[0-9]{1,19}|unknown(/.*)?", re.DOTALL)
_KEY = "task_hi, task_lo, attempt"


def _by_path(where: Where) -> str:
    """SQL of one row for each call path; ``?``: since, until, until when what runs has run, and the filters'.

    Blocked is the union of an attempt's waits, as in ``flow_sql.phases``; a wait of a running attempt whose
    end nobody told lasts still. Of calls that were told as one sum a range takes its share.
    """
    return f"""
WITH asked AS (SELECT ?::BIGINT AS since, ?::BIGINT AS upto, ?::BIGINT AS last),
chosen AS (
    SELECT {_KEY}, path_id, CASE WHEN path_id IS NULL THEN func_name END AS lone, state, output_bytes,
        {CREATED} AS created, {START} AS began, {END} AS ended, {EXECUTING_FROM} AS runs,
        execute_end_ns, total_end_ns
    FROM attempts{where.sql}),
timed AS (
    SELECT *, CASE WHEN execute_end_ns IS NOT NULL THEN greatest(execute_end_ns, runs)
        WHEN lasts THEN greatest(coalesce(total_end_ns, ended), runs)
        ELSE greatest(ended, runs, total_end_ns) END AS reached
    FROM (SELECT * REPLACE (coalesce(ended, greatest(began, last)) AS ended), ended IS NULL AS lasts
        FROM chosen, asked)),
waits AS (
    SELECT {_KEY}, greatest(begin_ns, since) AS begin_ns, least(end_ns, upto) AS end_ns,
        coalesce({SUMMED}, false) AS is_sum,
        CASE WHEN is_sum THEN (
            least(greatest(0, TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT)), {FOREVER})
            * CASE WHEN begin_ns >= since AND end_ns <= upto THEN 1
                ELSE (least(end_ns, upto) - greatest(begin_ns, since)) / (end_ns - begin_ns) END)::BIGINT
            END AS summed
    FROM span_rows, asked
    WHERE {WAITS} AND end_ns >= since AND begin_ns <= upto
    UNION ALL
    SELECT b.task_hi, b.task_lo, b.attempt, greatest(b.begin_ns, t.since), least(t.ended, t.upto), false, NULL
    FROM (SELECT DISTINCT {_KEY}, begin_ns FROM edge_rows b WHERE {UNTOLD}) b
    JOIN timed t ON b.task_hi = t.task_hi AND b.task_lo = t.task_lo AND b.attempt = t.attempt),
blocked AS (
    SELECT {_KEY},
        {total("coalesce(summed, greatest(0, end_ns - greatest(begin_ns, coalesce(reached, 0))))")} AS blocked
    FROM (SELECT *, max(CASE WHEN NOT is_sum THEN end_ns END) OVER (
            PARTITION BY {_KEY} ORDER BY begin_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM waits)
    GROUP BY {_KEY}),
lasted AS (
    SELECT path_id, lone, state, output_bytes, coalesce(began, created) AS first_ns,
        CASE WHEN began IS NOT NULL THEN greatest(0, ended - began) END AS took,
        CASE WHEN began IS NULL THEN 0
            ELSE greatest(0, least(ended, upto) - greatest(began, since)) END AS inside,
        CASE WHEN runs IS NULL THEN 0
            ELSE greatest(0, least(reached, upto) - greatest(runs, since)) END AS executing,
        least(executing, coalesce(b.blocked, 0)) AS blocked
    FROM timed t
    LEFT JOIN blocked b ON b.task_hi = t.task_hi AND b.task_lo = t.task_lo AND b.attempt = t.attempt)
SELECT path_id, lone, count(*), count(*) FILTER (state = 'FAILED'), count(*) FILTER (state LIKE 'RUNNING%'),
    {total("inside")}, {total("executing - blocked")}, {total("blocked")}, {total("output_bytes")},
    min(first_ns), approx_quantile(took, 0.5)::BIGINT, approx_quantile(took, 0.95)::BIGINT, max(took)
FROM lasted GROUP BY path_id, lone LIMIT {MAX_PATHS + 1}
"""


#: The paths with these ids, and those above them.
_PATHS = """
WITH RECURSIVE up AS (
    SELECT path_id, parent_path_id, name FROM paths WHERE path_id IN (SELECT unnest(?::BIGINT[]))
    UNION
    SELECT p.path_id, p.parent_path_id, p.name FROM paths p JOIN up ON p.path_id = up.parent_path_id)
SELECT path_id, parent_path_id, name FROM up
"""


class PathSums(NamedTuple):
    """By call path: rows (the fields of ``rayscope.flow.flame.Own``), the same of what is compared with, and
    the paths (id, parent's id, name) that these name, with all above them. Ids are decimal texts.
    """

    rows: list[tuple[Any, ...]]
    baseline: list[tuple[Any, ...]] | None
    paths: list[tuple[str, str, str]]


def path_sums(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    last_ns: int,
    baseline: Mapping[str, Any] | None = None,
    focus: str | None = None,
) -> PathSums:
    """Sums over the attempts that ``filters`` leave, by call path; times are clipped to their range.

    ``baseline`` are filters that differ from these. A baseline of another job leaves that job out of the
    first where no job is asked for. ``last_ns``: until when a running attempt has run. Raises BadQuery.
    """
    if focus is not None and (not _FRAME.fullmatch(focus) or (focus.isdigit() and int(focus) >= 2**63)):
        raise BadQuery(f"{focus[:80]!r} is no frame.", "Take the `id` of a frame of /api/flow/flame.")
    where = attempt_filters(filters)
    compared = None
    if baseline:
        compared = {**filters, **baseline}
        if baseline.get("job_id") and not filters.get("job_id"):
            where.add("job_id IS DISTINCT FROM ?", baseline["job_id"])
    with file.reader() as reader:
        rows = _sums(reader, where, filters, last_ns)
        before = None
        if compared is not None:
            before = _sums(reader, attempt_filters(compared), compared, last_ns)
        ids = {int(row[0]) for row in (*rows, *(before or ())) if row[0] is not None}
        if focus is not None and focus.isdigit():
            ids.add(int(focus))
        paths = [
            (str(path), str(parent), name)
            for path, parent, name in reader.execute(_PATHS, [list(ids)]).fetchall()
        ]
    return PathSums(rows, before, paths)


def _sums(
    reader: duckdb.DuckDBPyConnection, where: Where, filters: Mapping[str, Any], last_ns: int
) -> list[tuple[Any, ...]]:
    since, until = filters.get("since_ns"), filters.get("until_ns")
    range_: Sequence[int] = (0 if since is None else since, FOREVER if until is None else until)
    found = reader.execute(_by_path(where), [*range_, last_ns, *where.values]).fetchall()
    if len(found) > MAX_PATHS:
        raise BadQuery(
            f"There are more than {MAX_PATHS} different call paths.",
            "Narrow it with filters: job_id, func_name, since_ns and until_ns.",
        )
    return [(None if path is None else str(path), *rest) for path, *rest in found]
