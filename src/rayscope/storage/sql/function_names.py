"""SQL of what the logical graph calls attempts and tasks: their functions, classes, and, of what is unfolded,
the instances and calls that they belong to.
"""

from __future__ import annotations

from typing import NamedTuple

from rayscope.storage.sql.execution import function_name, hex_id

#: Whether an attempt is one of an actor.
IS_ACTOR = "type IN ('ACTOR_TASK', 'ACTOR_CREATION_TASK')"


def class_of(name: str) -> str:
    """SQL of the class of a method's name; NULL if it has none. A function's distinct name gives its
    module instead.
    """
    return f"nullif(left({name}, greatest(0, length({name}) - length(split_part({name}, '.', -1)) - 1)), '')"


def with_function(of: str, select: str) -> str:
    """SQL of rows of ``of`` with ``func``, their function."""
    return f"SELECT {select}, {function_name('p')} AS func FROM {of} p"


def tasks_named(which: str, mine: str | None = None) -> str:
    """SQL of task ids, each once, with their function and actor, of the attempts that ``which`` picks; and
    ``is_mine``: whether one of these attempts fulfils that condition.

    Nearly all tasks have a first attempt on record: only the others need to be grouped.
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
    """SQL of the instance or call that a row belongs to: '' in one that is not shown; NULL if its class or
    function is folded. ``task``: see :func:`shown_id`.
    """
    return (
        f"CASE WHEN {class_of(func)} IN (SELECT unnest(unfolded) FROM asked) THEN "
        f"CASE WHEN {actor} IN (SELECT unnest(actors) FROM asked) THEN {actor} ELSE '' END "
        f"WHEN {func} IN (SELECT unnest(unfolded) FROM asked) THEN "
        f"coalesce({task}, '') END"
    )


def shown_id(task: str) -> str:
    """SQL of a task's id if it is one of those that are shown, else NULL."""
    # Put together for few tasks only: a subquery with IN would do so for all.
    identifier = hex_id(task)
    return (
        f"CASE WHEN list_contains((SELECT highs FROM asked), {task}_hi) THEN "
        f"CASE WHEN list_contains((SELECT tasks FROM asked), {identifier}) THEN {identifier} END END"
    )


class Unfolded(NamedTuple):
    """What is unfolded, the actors and tasks that are shown of it, and the first parts of the tasks' ids."""

    unfolded: list[str]
    actors: list[str]
    tasks: list[str]
    highs: list[int]


#: SQL of the CTE ``asked``, but for its end. ``?``: :class:`Unfolded`.
UNFOLDED = (
    "asked AS (SELECT ?::VARCHAR[] AS unfolded, ?::VARCHAR[] AS actors, ?::VARCHAR[] AS tasks, "
    "?::UBIGINT[] AS highs"
)
FOLDED = Unfolded([], [], [], [])
