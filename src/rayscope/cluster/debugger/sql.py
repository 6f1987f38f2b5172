"""Queries about tasks that wait for a debugger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import END, FIRST_PUT, hex_id, is_driver

#: A method of an actor holds the resources of the actor.
_FACTS = f"""
SELECT {hex_id("t.task")} AS task_id, t.attempt, t.name,
    CASE WHEN t.type = 'ACTOR_TASK' THEN r.required_resources ELSE t.required_resources END,
    t.{END} IS NOT NULL
FROM attempts t LEFT JOIN actor_rows r ON r.id = t.actor_id
WHERE list_contains($tasks, {hex_id("t.task")})
"""
_WAITERS = f"""
SELECT {hex_id("e.object")} AS task_id, count(DISTINCT (e.task_hi, e.task_lo))
FROM edge_rows e LEFT JOIN attempts a
    ON a.task_hi = e.task_hi AND a.task_lo = e.task_lo AND a.attempt = e.attempt
WHERE e.object_index < {FIRST_PUT} AND list_contains($tasks, {hex_id("e.object")})
    AND (starts_with(e.kind, 'blocked:') OR e.kind = 'argument')
    AND ({is_driver("e.task")} OR (a.{END} IS NULL AND a.task_hi IS NOT NULL))
GROUP BY task_id
"""


class Facts(NamedTuple):
    """The name of an attempt, the resources that it holds (JSON), and whether it has ended."""

    name: str | None
    resources: str | None
    has_ended: bool


def facts_of(file: SessionFile, tasks: Sequence[str]) -> dict[tuple[str, int], Facts]:
    """The facts of all attempts of tasks."""
    with file.reader() as reader:
        rows = reader.execute(_FACTS, {"tasks": list(tasks)}).fetchall()
    return {(task, attempt): Facts(*rest) for task, attempt, *rest in rows}


def waiters_of(file: SessionFile, tasks: Sequence[str]) -> dict[str, int]:
    """For each task, how many tasks and drivers wait for its results."""
    with file.reader() as reader:
        return dict(reader.execute(_WAITERS, {"tasks": list(tasks)}).fetchall())
