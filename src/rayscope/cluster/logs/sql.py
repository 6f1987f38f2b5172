"""Queries the owners of log files: nodes, and the workers of actors, jobs and tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, cast

from rayscope.cluster.logs import schemas
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import internal
from rayscope.storage.sql.execution import END, START, TASK_ID
from rayscope.storage.sql.lanes import NAME
from rayscope.storage.sql.pages import Row, rows_of
from rayscope.storage.sql.worker_names import job_scripts, worker_names

#: Maximum number of nodes and workers that one answer considers.
_MAX_ROWS = 10_000


def log_nodes(file: SessionFile) -> list[Row]:
    """Each node with its ID, state and address: the head node first, then the live nodes."""
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                "SELECT id AS node_id, state, node_ip, hostname, coalesce(is_head, false) AS is_head, end_ns "
                "FROM node_rows ORDER BY is_head DESC, state = 'ALIVE' DESC, start_ns, id "
                f"LIMIT {_MAX_ROWS}"
            )
        )


def names_of_writers(file: SessionFile, worker_ids: Collection[str]) -> tuple[dict[str, Row], dict[str, str]]:
    """The names that users know workers by, and the scripts of jobs and submissions (:mod:`worker_names`)."""
    with file.reader() as reader:
        return worker_names(reader, worker_ids), job_scripts(reader)


class PrintedLine(NamedTuple):
    """A line in a worker's ``stream`` (``out`` or ``err``), at an offset of a file."""

    worker_id: str
    stream: str
    file: str
    offset: int


def attempts_of_lines(file: SessionFile, lines: Sequence[PrintedLine]) -> list[schemas.PrintingAttempt]:
    """For each line, the ``task_id``, ``attempt`` and ``func_name`` of the attempt that printed it, or None
    if unknown.
    """
    if not lines:
        return []
    clauses = " OR ".join(
        f"(stream = '{stream}' AND ends_with(std{stream}_file, '/' || l.file) "
        f"AND std{stream}_start <= place AND (place < std{stream}_end "
        f"OR ({END} IS NULL AND coalesce(std{stream}_end, 0) <= 0)))"
        for stream in ("out", "err")
    )
    columns = {"worker": "VARCHAR[]", "stream": "VARCHAR[]", "file": "VARCHAR[]", "place": "BIGINT[]"}
    unnested = ", ".join(f"unnest(${name}::{kind}) AS {name}" for name, kind in columns.items())
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"WITH lines AS (SELECT unnest(range({len(lines)})) AS line, {unnested}) "
                "SELECT found.task_id, found.attempt, found.func_name FROM lines LEFT JOIN ("
                f"SELECT line, arg_max({TASK_ID}, {START}) AS task_id, arg_max(attempt, {START}) AS attempt, "
                f"arg_max({NAME}, {START}) AS func_name "
                f"FROM lines l JOIN attempts ON worker_id = worker AND ({clauses}) GROUP BY line"
                ") found USING (line) ORDER BY line",
                dict(zip(columns, map(list, zip(*lines, strict=True)), strict=True)),
            )
        )
    return cast(list[schemas.PrintingAttempt], rows)


def workers_of_actor(file: SessionFile, actor_id: str) -> list[tuple[str, str]]:
    """The (worker, node) pairs that ran an actor, the last one first. Raises NotFound."""
    with file.reader() as reader:
        known = reader.execute(
            "SELECT worker_id, node_id FROM actor_rows WHERE id = ?", [actor_id]
        ).fetchone()
        rows = reader.execute(
            "SELECT worker_id, node_id FROM attempts WHERE actor_id = ? AND worker_id IS NOT NULL "
            f"AND node_id IS NOT NULL GROUP BY ALL ORDER BY max(running_ns) DESC LIMIT {_MAX_ROWS}",
            [actor_id],
        ).fetchall()
    if known is None and not rows:
        raise NotFound(
            f"Actor {actor_id[:80]!r} not found in this session.",
            "GET /api/v1/actors lists the actors.",
            what="actor",
            id=actor_id[:80],
        )
    found = [(known[0], known[1])] if known is not None and known[0] and known[1] else []
    return [*found, *(row for row in rows if row not in found)]


def nodes_of_workers(file: SessionFile, worker_ids: Collection[str]) -> dict[str, str]:
    """The node IDs of recorded workers by worker ID."""
    with file.reader() as reader:
        return dict(
            reader.execute(
                "SELECT id, node_id FROM worker_rows WHERE list_contains(?, id) AND node_id IS NOT NULL",
                [list(worker_ids)],
            ).fetchall()
        )


def life_of_worker(file: SessionFile, worker_id: str) -> tuple[int | None, int | None] | None:
    """When a worker began (or its first attempt, if that was earlier or Ray reported no start) and ended."""
    with file.reader() as reader:
        row = reader.execute(
            "SELECT least(start_ns, (SELECT min(running_ns) FROM attempts WHERE worker_id = id)), end_ns "
            "FROM worker_rows WHERE id = ?",
            [worker_id],
        ).fetchone()
    return None if row is None else (row[0], row[1])


def node_of_worker(file: SessionFile, worker_id: str) -> str:
    """The node on which a worker runs or ran. Raises NotFound."""
    with file.reader() as reader:
        for sql in (
            "SELECT node_id FROM worker_rows WHERE id = ? AND node_id IS NOT NULL",
            "SELECT node_id FROM attempts WHERE worker_id = ? AND node_id IS NOT NULL LIMIT 1",
        ):
            row = reader.execute(sql, [worker_id]).fetchone()
            if row is not None:
                return str(row[0])
    raise NotFound(
        f"Worker {worker_id[:80]!r} not found in this session.",
        "GET /api/v1/workers lists the workers.",
        what="worker",
        id=worker_id[:80],
    )


def job_of_driver(file: SessionFile, worker_id: str) -> str | None:
    """The job of the driver with this worker ID. None if this is no driver, or the job is unknown."""
    with file.reader() as reader:
        row = reader.execute(
            "SELECT j.id FROM worker_rows w JOIN job_rows j "
            f"ON j.id = coalesce(w.job_id, {internal.job_of_driver('w.')}) "
            "WHERE w.id = ? AND w.worker_type = 'DRIVER'",
            [worker_id],
        ).fetchone()
    return None if row is None else str(row[0])


def job_places(file: SessionFile, job_id: str) -> list[Row]:
    """The job with this ID or submission ID, and its aliases: job_id, submission_id, driver_node_id and type.

    Raises NotFound.
    """
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                "SELECT id AS job_id, submission_id, driver_node_id, type FROM job_rows "
                "WHERE id = $1 OR submission_id = $1 OR alias_of = $1 ORDER BY id LIMIT 10",
                [job_id],
            )
        )
    if not found:
        raise NotFound(
            f"Job {job_id[:80]!r} not found in this session.",
            "GET /api/v1/jobs lists the jobs.",
            what="job",
            id=job_id[:80],
        )
    return found


def workers_of_job(file: SessionFile, job_id: str) -> list[tuple[str, str]]:
    """The (worker, node) pairs that ran tasks of a job, those of the last tasks first."""
    with file.reader() as reader:
        return reader.execute(
            "SELECT worker_id, node_id FROM attempts WHERE job_id = ? AND worker_id IS NOT NULL "
            f"AND node_id IS NOT NULL GROUP BY ALL ORDER BY max(running_ns) DESC LIMIT {_MAX_ROWS}",
            [job_id],
        ).fetchall()
