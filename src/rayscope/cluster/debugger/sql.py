"""Queries about tasks that wait for a debugger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rayscope.storage.rows import split_id
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import END, FIRST_PUT, START, function_name, hex_id, is_driver
from rayscope.storage.sql.pages import Row, rows_of

_TASKS = "(SELECT unnest($high::UBIGINT[]), unnest($low::VARCHAR[]))"
#: A method of an actor holds the resources of the actor.
_RESOURCES = "CASE WHEN a.type = 'ACTOR_TASK' THEN r.required_resources ELSE a.required_resources END"
_FACTS = f"""
SELECT {hex_id("a.task")} AS task_id, a.attempt, a.name, {function_name("a")}, {_RESOURCES},
    a.{END} IS NOT NULL
FROM attempts a LEFT JOIN actor_rows r ON r.id = a.actor_id WHERE (a.task_hi, a.task_lo) IN {_TASKS}
"""
_WAITERS = f"""
SELECT {hex_id("e.object")} AS task_id, count(DISTINCT (e.task_hi, e.task_lo))
FROM edge_rows e LEFT JOIN attempts a
    ON a.task_hi = e.task_hi AND a.task_lo = e.task_lo AND a.attempt = e.attempt
WHERE e.object_index < {FIRST_PUT} AND (e.object_hi, e.object_lo) IN {_TASKS}
    AND (starts_with(e.kind, 'blocked:') OR e.kind = 'argument')
    AND ({is_driver("e.task")} OR (a.{END} IS NULL AND a.task_hi IS NOT NULL))
GROUP BY task_id
"""
#: Workers that wait, as the GCS says, and do not say where because they have no tracer.
_UNTRACED = """
SELECT id FROM worker_rows WHERE state = 'ALIVE' AND paused_threads > 0 AND tracer IS NULL
ORDER BY id LIMIT 500
"""
_ON_WORKERS = f"""
SELECT w.id AS worker_id, w.node_id, w.pid, w.job_id, w.worker_type = 'DRIVER' AS is_driver, a.actor_id,
    a.name, {function_name("a")} AS func_name, {hex_id("a.task")} AS task_id, a.attempt,
    {_RESOURCES} AS resources
FROM worker_rows w LEFT JOIN attempts a ON a.worker_id = w.id AND a.{END} IS NULL
LEFT JOIN actor_rows r ON r.id = a.actor_id
WHERE list_contains($workers, w.id) ORDER BY w.id, a.task_hi, a.task_lo, a.attempt LIMIT 500
"""


#: The attempts of tasks on workers, and the times between which their functions ran (ns).
_RUNS = f"""
SELECT {hex_id("a.task")} AS task_id, a.worker_id, a.attempt, a.{START}, a.{END} FROM attempts a
WHERE (a.task_hi, a.task_lo) IN {_TASKS} AND a.worker_id IS NOT NULL AND a.{START} IS NOT NULL
"""
_PROCESSES = "SELECT id, pid, state, end_ns FROM worker_rows WHERE list_contains($workers, id)"


class Run(NamedTuple):
    """An attempt of a task on a worker, and the times between which its function ran (ns)."""

    task_id: str
    worker_id: str
    attempt: int
    start_ns: int
    end_ns: int | None


class Process(NamedTuple):
    """The process of a worker."""

    pid: int | None
    state: str | None
    end_ns: int | None


class Facts(NamedTuple):
    """The name of an attempt and of its function, the resources that it holds (JSON), and whether it has
    ended.
    """

    name: str | None
    func_name: str | None
    resources: str | None
    has_ended: bool


def facts_of(file: SessionFile, tasks: Sequence[str]) -> dict[tuple[str, int], Facts]:
    """The facts of all attempts of tasks."""
    with file.reader() as reader:
        rows = reader.execute(_FACTS, _keys(tasks)).fetchall()
    return {(task, attempt): Facts(*rest) for task, attempt, *rest in rows}


def runs_of(file: SessionFile, tasks: Sequence[str]) -> list[Run]:
    """The attempts of tasks that have reached a worker."""
    with file.reader() as reader:
        return [Run(*row) for row in reader.execute(_RUNS, _keys(tasks)).fetchall()]


def processes_of(file: SessionFile, workers: Sequence[str]) -> dict[str, Process]:
    """The processes of workers."""
    with file.reader() as reader:
        rows = reader.execute(_PROCESSES, {"workers": workers}).fetchall()
    return {worker: Process(*rest) for worker, *rest in rows}


def waiters_of(file: SessionFile, tasks: Sequence[str]) -> dict[str, int]:
    """For each task, how many tasks and drivers wait for its results."""
    with file.reader() as reader:
        return dict(reader.execute(_WAITERS, _keys(tasks)).fetchall())


def untraced(file: SessionFile) -> list[Row]:
    """The tasks of workers that wait and have no tracer. If a worker runs several, any of them may wait."""
    with file.reader() as reader:
        workers = [worker for (worker,) in reader.execute(_UNTRACED).fetchall()]
        # Usually there are none, and all attempts need not be read.
        return rows_of(reader.execute(_ON_WORKERS, {"workers": workers})) if workers else []


def _keys(tasks: Sequence[str]) -> dict[str, list[Any]]:
    keys = [split_id(task) for task in tasks]
    return {"high": [high for high, _ in keys], "low": [low for _, low in keys]}
