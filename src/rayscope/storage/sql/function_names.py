"""SQL for the names under which the logical graph shows attempts and tasks: their function or class and, if
that is unfolded, the instance or call that they belong to.
"""

from __future__ import annotations

from typing import NamedTuple

from rayscope.storage.sql.execution import (
    CREATED_ACTOR,
    called_name,
    creation_name,
    function_name,
    hex_id,
)

#: SQL: whether an attempt belongs to an actor.
IS_ACTOR = "type IN ('ACTOR_TASK', 'ACTOR_CREATION_TASK')"


def class_of(name: str) -> str:
    """SQL for the class in a method's name, or NULL if there is none.

    If the name is a function with its module, this is the module.
    """
    return f"nullif(left({name}, greatest(0, length({name}) - length(split_part({name}, '.', -1)) - 1)), '')"


def with_function(of: str, select: str) -> str:
    """SQL for the rows of ``of`` with their function as ``func``."""
    return f"SELECT {select}, {function_name('p')} AS func FROM {of} p"


def by_function(keys: str, sums: str, where: str) -> str:
    """SQL for groups of the attempts selected by ``where``: the columns ``keys`` and ``sums``, and ``func``,
    the function's name.

    A function can have several groups, because attempts are grouped by call path: numbers are compared faster
    than names. Only attempts without a path need an expression for their function's name.
    """
    return f"""
SELECT g.* EXCLUDE (path_id, lone, made), coalesce(p.name, g.lone, {creation_name("g.made")}) AS func
FROM (
    SELECT path_id, NULL AS lone, NULL AS made, {keys}, {sums} FROM attempts
    WHERE {where} AND path_id IS NOT NULL GROUP BY path_id, {keys}
    UNION ALL
    SELECT NULL, {called_name("attempts")} AS lone, {CREATED_ACTOR} AS made, {keys}, {sums} FROM attempts
    WHERE {where} AND path_id IS NULL GROUP BY lone, made, {keys}) g
LEFT JOIN paths p ON p.path_id = g.path_id
"""


def tasks_named(which: str, mine: str | None = None) -> str:
    """SQL for the distinct task IDs of the attempts selected by ``which``, with their function, actor and
    ``is_mine``.

    ``is_mine``: whether any of a task's selected attempts fulfills the condition ``mine``. The record has the
    first attempt of nearly all tasks, so only the other tasks need grouping.
    """
    key = "p.task_hi, p.task_lo, p.actor_id, p.is_mine"
    again = f"FROM attempts WHERE attempt != 0 AND {which}"
    task = "hash(task_hi, task_lo)"
    matches = "NULL" if mine is None else f"{mine} OR {task} IN (SELECT {task} {again} AND {mine})"
    first = with_function(
        f"(SELECT *, {matches} AS is_mine FROM attempts WHERE attempt = 0 AND {which})", key
    )
    later = with_function(f"(SELECT *, {mine or 'NULL'} AS is_mine {again})", key)
    return f"""
{first}
UNION ALL
SELECT task_hi, task_lo, any_value(actor_id), bool_or(is_mine), any_value(func) FROM ({later}) l
WHERE NOT EXISTS (
    SELECT 1 FROM attempts f WHERE f.attempt = 0 AND f.task_hi = l.task_hi AND f.task_lo = l.task_lo
        AND f.task_hi IN (SELECT task_hi FROM attempts WHERE attempt != 0))
GROUP BY task_hi, task_lo
"""


def box_of(func: str, actor: str, task: str) -> str:
    """SQL for the instance or call that a row belongs to.

    It is '' if the instance or call is not shown, and NULL if its class or function is folded. ``task``: SQL
    of :func:`shown_id`.
    """
    return (
        f"CASE WHEN {class_of(func)} IN (SELECT unnest(unfolded) FROM asked) THEN "
        f"CASE WHEN {actor} IN (SELECT unnest(actors) FROM asked) THEN {actor} ELSE '' END "
        f"WHEN {func} IN (SELECT unnest(unfolded) FROM asked) THEN "
        f"coalesce({task}, '') END"
    )


def shown_id(task: str) -> str:
    """SQL for a task's ID if the task is shown on its own, otherwise NULL."""
    # The test of ``highs`` makes DuckDB build the ID for few tasks only. A subquery with IN would build it
    # for all.
    identifier = hex_id(task)
    return (
        f"CASE WHEN list_contains((SELECT highs FROM asked), {task}_hi) THEN "
        f"CASE WHEN list_contains((SELECT tasks FROM asked), {identifier}) THEN {identifier} END END"
    )


class Unfolded(NamedTuple):
    """Unfolded functions and classes, the actors and tasks of them that are shown, and the first parts of the
    tasks' IDs.
    """

    unfolded: list[str]
    actors: list[str]
    tasks: list[str]
    highs: list[int]


#: SQL for the CTE ``asked``, without its closing parenthesis. The parameters ``?`` are the fields of
#: :class:`Unfolded`.
UNFOLDED = (
    "asked AS (SELECT ?::VARCHAR[] AS unfolded, ?::VARCHAR[] AS actors, ?::VARCHAR[] AS tasks, "
    "?::UBIGINT[] AS highs"
)
