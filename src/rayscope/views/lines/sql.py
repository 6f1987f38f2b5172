"""Reads the samples of stacks of attempts from a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import duckdb

from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import TaskFilters, attempt_filters, is_task
from rayscope.storage.sql.pages import Where
from rayscope.storage.sql.samples import FRAMES, IS_PROFILE, IS_SAMPLES, LINES, SAMPLE_SUMS
from rayscope.views.lines.compute import MAX_DEPTH, Frame, Sum
from rayscope.views.lines.schemas import SampledLine

#: With more reports than this, every n-th is read.
MAX_REPORTS = 200_000
#: Maximum number of different stacks, and of frames in them.
MAX_STACKS = 50_000
MAX_FRAMES = 500_000


class Sampled(NamedTuple):
    """The samples of some attempts.

    ``reports_read`` of all ``reports`` were read. ``hz``: the rates in them. ``workers``: numbers of
    processes that ran the attempts, by what their tracer did: ``sampled``, ``off`` or ``untraced``.
    """

    sums: list[Sum]
    frames: dict[int, Frame]
    attempts: int
    reports: int
    reports_read: int
    hz: list[float]
    first_ns: int | None
    last_ns: int | None
    workers: dict[str, int]


def read_samples(
    file: SessionFile,
    filters: TaskFilters,
    task_id: str | None,
    attempt: int | None,
    profile: str | None = None,
) -> Sampled:
    """Return the samples of the attempts that match the filters, in the filters' time range.

    They are the tracer's, or those of a profile. Without any filter, a profile includes unknown attempts.
    Raises BadQuery.
    """
    where = _attempts(filters, task_id, attempt)
    within = Where([IS_SAMPLES], [])
    source = "span_rows SEMI JOIN sampled USING (task_hi, task_lo, attempt)"
    if profile is not None:
        within = Where([IS_PROFILE, "json_extract_string(extra, '$.profile') = ?"], [profile])
        if task_id is None and attempt is None and not filters.active():
            source = "span_rows"
    if filters.since_ns is not None:
        within.add("end_ns >= ?", filters.since_ns)
    if filters.until_ns is not None:
        within.add("begin_ns <= ?", filters.until_ns)
    with file.reader() as reader:
        reader.execute(
            "CREATE OR REPLACE TEMP TABLE sampled AS SELECT task_hi, task_lo, attempt, worker_id "
            f"FROM attempts{where.sql}",
            where.values,
        )
        reports, attempts, first_ns, last_ns = reader.execute(
            "SELECT count(*), count(DISTINCT (task_hi, task_lo, attempt)) FILTER (task_hi IS NOT NULL), "
            f"min(begin_ns), max(end_ns) FROM {source}{within.sql}",
            within.values,
        ).fetchone() or (0, 0, None, None)
        step = -(-reports // MAX_REPORTS) or 1
        within.add(f"hash(rowid) % {step} = 0")
        chosen = f"FROM {source}{within.sql}"
        rows = reader.execute(
            "SELECT phase, is_native, frame_id, sum(samples)::BIGINT AS samples, list(DISTINCT hz) "
            f"FROM ({SAMPLE_SUMS.format(rows=f'SELECT * {chosen}')}) "
            f"GROUP BY phase, is_native, frame_id ORDER BY samples DESC LIMIT {MAX_STACKS + 1}",
            within.values,
        ).fetchall()
        if len(rows) > MAX_STACKS:
            raise BadQuery(
                f"The samples have more than {MAX_STACKS} different stacks.",
                "Narrow it with filters: job_id, func_name, since_ns and until_ns.",
                what="sampled_stacks",
                limit=MAX_STACKS,
            )
        read = reports
        if step > 1:
            (read,) = reader.execute(f"SELECT count(*) {chosen}", within.values).fetchone() or (0,)
        return Sampled(
            [Sum(*row[:4]) for row in rows],
            read_frames(reader, {row[2] for row in rows}),
            attempts,
            reports,
            read,
            sorted({hz for row in rows for hz in row[4]}),
            first_ns,
            last_ns,
            _workers(reader),
        )


def _attempts(filters: TaskFilters, task_id: str | None, attempt: int | None) -> Where:
    if task_id is None:
        where = attempt_filters(filters)
    else:
        where = Where([], [])
        is_this, values = is_task("task", task_id)
        where.add(is_this, *values)
    if attempt is not None:
        where.add("attempt = ?", attempt)
    return where


def read_frames(reader: duckdb.DuckDBPyConnection, innermost: set[int]) -> dict[int, Frame]:
    """Return the frames of the stacks with these innermost frames, by number."""
    if not any(innermost):
        return {}
    rows = reader.execute(
        f"WITH RECURSIVE known AS MATERIALIZED ({FRAMES}), used AS ("
        "SELECT unnest(?::BIGINT[]) AS frame_id, 1 AS depth UNION "
        f"SELECT caller_id, depth + 1 FROM used JOIN known USING (frame_id) WHERE depth < {MAX_DEPTH}) "
        f"SELECT frame_id, caller_id, text FROM known SEMI JOIN used USING (frame_id) LIMIT {MAX_FRAMES}",
        [list(innermost)],
    ).fetchall()
    return {number: Frame(caller, text) for number, caller, text in rows}


def read_source(file: SessionFile, lines: Iterable[SampledLine]) -> dict[str, str]:
    """Return the texts of lines as far as they are known, by the texts of their frames."""
    places = [place_text(line) for line in lines]
    with file.reader() as reader:
        return dict(reader.execute(LINES, [places]).fetchall())


def place_text(line: SampledLine) -> str:
    """The text of a line's frames."""
    return f"{line['file']}:{line['line']} {line['function']}"


def _workers(reader: duckdb.DuckDBPyConnection) -> dict[str, int]:
    rows = reader.execute(
        "SELECT CASE WHEN tracer IS NULL OR NOT starts_with(tracer, 'on') THEN 'untraced' "
        "WHEN tracer LIKE '%without%samples%' THEN 'off' ELSE 'sampled' END, count(*) "
        "FROM worker_rows WHERE id IN (SELECT worker_id FROM sampled) GROUP BY 1"
    ).fetchall()
    return dict(rows)
