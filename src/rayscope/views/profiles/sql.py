"""Reads from a record which workers to profile and what ran on them, and the profiles that were taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import END, FOREVER, NOT_DRIVER, START, TASK_ID, function_name
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.pages import Row, Where, equals, rows_of
from rayscope.storage.sql.samples import IS_FOR_PROFILE, IS_MEMORY, MEMORY_SUMS, SAMPLE_SUMS
from rayscope.tracer.sampler import OFF
from rayscope.views.lines.compute import Frame
from rayscope.views.lines.sql import read_frames
from rayscope.views.profiles.compute import UNKNOWN, Running

#: Maximum number of functions that ran on the workers of a profile.
_MAX_FUNCTIONS = 10_000
#: Maximum number of different stacks that are copied from the tracer's samples.
_MAX_STACKS = 20_000
#: Maximum number of different stacks of a profile's memory. 16 workers have less.
_MAX_HELD_STACKS = 50_000
#: How much the clocks of nodes may differ. Profiles by tracers are at least twice as far apart.
_SKEW_NS = 3 * 10**9
#: Maximum number of profiles in a list, the newest first.
MAX_LISTED = 1000


#: SQL for the worker ID of an attempt. That of a driver is the ID of its job, filled up.
_WORKER_ID = f"CASE WHEN {NOT_DRIVER} THEN worker_id ELSE rpad(job_id, 56, 'f') END"


class Worker(NamedTuple):
    """A worker process. ``rank``: its world rank in Ray Train."""

    worker_id: str
    node_id: str
    pid: int
    rank: int | None


def busy_workers(file: SessionFile, filters: TaskFilters, limit: int) -> tuple[list[Worker], int]:
    """The workers that run attempts matching the filters, and how many there are beyond ``limit``.

    Workers of Ray Train run the user's function outside of any task, so they are busy while they live. Those
    of all nodes come in turn. Raises BadQuery.
    """
    where = attempt_filters(filters)
    where.add(f"{START} IS NOT NULL AND {END} IS NULL AND {NOT_DRIVER}")
    trainers = _trainers(filters)
    with file.reader() as reader:
        rows = reader.execute(
            "SELECT worker_id, node_id, pid, rank FROM (SELECT DISTINCT ON (worker_id) * FROM ("
            f"SELECT worker_id, node_id, worker_pid AS pid FROM attempts{where.sql} "
            f"UNION ALL SELECT worker_id, node_id, pid FROM ({_TRAINERS}){trainers.sql})) "
            f"LEFT JOIN (SELECT worker_id, max(rank) AS rank FROM ({_TRAINERS}) GROUP BY 1) "
            "USING (worker_id) "
            "WHERE worker_id IS NOT NULL AND node_id IS NOT NULL AND pid > 0 "
            "AND worker_id NOT IN (SELECT id FROM worker_rows WHERE state = 'DEAD') "
            "ORDER BY row_number() OVER (PARTITION BY node_id ORDER BY rank, worker_id), node_id",
            [*where.values, *trainers.values],
        ).fetchall()
    return [Worker(*row) for row in rows[:limit]], max(0, len(rows) - limit)


def running_drivers(file: SessionFile, filters: TaskFilters, limit: int) -> tuple[list[Worker], int]:
    """The drivers that are connected, or that of a job, and how many there are beyond ``limit``.

    Their worker IDs begin with those of their jobs.
    """
    with file.reader() as reader:
        rows = reader.execute(
            "SELECT id, node_id, pid, NULL FROM worker_rows WHERE worker_type = 'DRIVER' "
            "AND state IS DISTINCT FROM 'DEAD' AND node_id IS NOT NULL AND starts_with(id, ?) ORDER BY id",
            [filters.job_id or ""],
        ).fetchall()
    return [Worker(*row) for row in rows[:limit]], max(0, len(rows) - limit)


#: The workers of Ray Train that are alive.
_TRAINERS = (
    "SELECT a.worker_id, w.node_id, w.pid, a.actor_id, a.job_id, w.world_rank AS rank "
    "FROM train_workers w JOIN actors a USING (actor_id) WHERE w.state = 'ALIVE'"
)


def _trainers(filters: TaskFilters) -> Where:
    where = Where([], [])
    for name, value in filters.active().items():
        if name in ("worker_id", "node_id", "actor_id", "job_id"):
            where.add(equals(name, str(value)), value)
        else:
            where.add("false")
    return where


def functions_of(
    file: SessionFile, filters: TaskFilters, workers: Sequence[str], begin_ns: int, end_ns: int
) -> dict[str, list[Running]]:
    """Worker ID -> the functions whose attempts ran on it between two times."""
    chosen = attempt_filters(filters)
    with file.reader() as reader:
        rows = reader.execute(
            f"SELECT worker_id, coalesce({function_name('attempts')}, '') AS name, count(*), "
            f"any_value({TASK_ID}), any_value(attempt), "
            f"bool_or(rowid IN (SELECT rowid FROM attempts{chosen.sql})), "
            f"sum(least(coalesce({END}, {FOREVER}), ?) - greatest({START}, ?))::DOUBLE "
            f"FROM attempts WHERE list_contains(?, worker_id) AND {START} <= ? "
            f"AND coalesce({END}, {FOREVER}) >= ? GROUP BY 1, 2 ORDER BY 1, 2 LIMIT {_MAX_FUNCTIONS}",
            [*chosen.values, end_ns, begin_ns, list(workers), end_ns, begin_ns],
        ).fetchall()
    functions: dict[str, list[Running]] = defaultdict(list)
    for worker_id, name, attempts, task_id, attempt, is_chosen, ran_ns in rows:
        key = (task_id, attempt) if attempts == 1 else UNKNOWN
        share = ran_ns / max(1, end_ns - begin_ns)
        functions[worker_id].append(Running(name, attempts, key, is_chosen, share))
    return functions


def sampling_tracers(file: SessionFile, workers: Sequence[str]) -> list[str]:
    """Those of the workers whose tracer can take samples."""
    with file.reader() as reader:
        rows = reader.execute(
            "SELECT id FROM worker_rows WHERE list_contains(?, id) "
            f"AND starts_with(tracer, 'on') AND NOT contains(tracer, '{OFF}') ORDER BY id",
            [list(workers)],
        ).fetchall()
    return [worker_id for (worker_id,) in rows]


def traced_samples(
    file: SessionFile, filters: TaskFilters, workers: Sequence[str], begin_ns: int, end_ns: int
) -> list[Row]:
    """The samples that tracers of these workers took for a profile between two times.

    Rows have ``worker_id``, ``task_id``, ``attempt``, ``phase``, ``is_native``, ``samples`` and ``frame_id``.
    """
    where = attempt_filters(filters)
    where.add(f"list_contains(?, {_WORKER_ID})", list(workers))
    reports = f"SELECT * FROM span_rows WHERE {IS_FOR_PROFILE} AND begin_ns BETWEEN ? AND ?"
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"SELECT worker_id, {TASK_ID} AS task_id, attempt, phase, is_native, "
                f"sum(samples)::BIGINT AS samples, frame_id FROM ({SAMPLE_SUMS.format(rows=reports)}) "
                f"JOIN (SELECT task_hi, task_lo, attempt, {_WORKER_ID} AS worker_id "
                f"FROM attempts{where.sql}) USING (task_hi, task_lo, attempt) "
                f"GROUP BY ALL ORDER BY samples DESC LIMIT {_MAX_STACKS}",
                [begin_ns - _SKEW_NS, end_ns + _SKEW_NS, *where.values],
            )
        )


def memory_of(file: SessionFile, profile_id: str) -> tuple[list[tuple[int, int, int]], dict[int, Frame]]:
    """Return the memory of a profile by stack: bytes, allocations, and innermost frame; and the frames."""
    rows = f"SELECT * FROM span_rows WHERE {IS_MEMORY} AND json_extract_string(extra, '$.profile') = ?"
    with file.reader() as reader:
        sums = reader.execute(
            f"{MEMORY_SUMS.format(rows=rows)} ORDER BY size DESC, frame_id LIMIT {_MAX_HELD_STACKS}",
            [profile_id],
        ).fetchall()
        return sums, read_frames(reader, {row[2] for row in sums})


def profile_count(file: SessionFile) -> int:
    """The number of profiles in the record."""
    with file.reader() as reader:
        (count,) = reader.execute("SELECT count(*) FROM profiles").fetchone() or (0,)
    return int(count)


def recorded_profiles(file: SessionFile) -> list[Row]:
    """The profiles in the record, the newest first. ``filters`` and ``workers`` are JSON."""
    with file.reader() as reader:
        return rows_of(
            reader.execute(f"SELECT * FROM profiles ORDER BY begin_ns DESC, profile_id LIMIT {MAX_LISTED}")
        )
