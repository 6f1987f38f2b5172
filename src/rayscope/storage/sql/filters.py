"""Filters for task attempts, as SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from rayscope.model import CUT_OFF, STATES, TASK_TYPES
from rayscope.storage.errors import BadQuery
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import CREATED, END, FOREVER, NOT_DRIVER, ended_at
from rayscope.storage.sql.origins import IS_MINE, OF_OPERATOR, HiddenLibrary, is_operator, libraries
from rayscope.storage.sql.pages import Where, choices, equals, like

_TASK_ID = re.compile(r"[0-9a-f]{4,48}")
#: Maximum length of an error's message in lists, in characters.
MESSAGE_CHARS = 500
_EQUALS = (
    "job_id",
    "node_id",
    "worker_id",
    "actor_id",
    "placement_group_id",
    "error_type",
)


def is_task(prefix: str, task_id: str) -> tuple[str, list[Any]]:
    """SQL, with its values, that tests whether a stored task ID equals ``task_id`` or begins with it.

    ``task_id`` may also be an ellipsis followed by the end of an ID: the UI abbreviates IDs like this if all
    begin alike. Raises BadQuery.
    """
    text = task_id.strip().lower()
    digits = text.strip("…")
    if not _TASK_ID.fullmatch(digits):
        raise BadQuery(
            f"{task_id[:80]!r} is not a task ID.",
            "Use its 48 hex digits, or the first 4 or more.",
            what="task_id",
            text=task_id[:80],
        )
    if text.startswith("…"):
        return f"ends_with({prefix}_lo, ?)", [digits]
    low, high = (int(digits[:16].ljust(16, fill), 16) for fill in "0f")
    return f"({prefix}_hi BETWEEN ? AND ? AND starts_with({prefix}_lo, ?))", [low, high, digits[16:]]


def restart_of(condition: str) -> str:
    """SQL for a condition on the name of an unnamed restart of an actor, which is made of the actor's
    class.
    """
    return (
        "(name IS NULL AND type = 'ACTOR_CREATION_TASK' AND actor_id IN "
        f"(SELECT id FROM actor_rows WHERE class_name || '.__init__' {condition}))"
    )


_LIKE = "ILIKE ? ESCAPE '\\'"
#: SQL that searches a task's displayed name, and Ray's name if that differs. ``?``: the pattern, three times.
_NAME_LIKE = f"({SHOWN_NAME} {_LIKE} OR (distinct_name IS NOT NULL AND name {_LIKE}) OR {restart_of(_LIKE)})"


@dataclass(frozen=True)
class TaskFilters:
    """Filters for task attempts. None or "" means no filter.

    Attributes:
        name: a part of the name.
        func_name: a function (a name that several functions share selects all of them), or an operator of a
            library ("Serve: shop/Model").
        state: one or several states, joined by commas. ``type`` accepts several values, too.
        annotation: an annotation that the attempt has, as NAME or NAME=VALUE.
        q: a part of the name, or a prefix of the task ID.
        only: ``mine`` excludes internals of libraries.
        since_ns: only attempts that were in flight between this and ``until_ns``.
    """

    job_id: str | None = None
    name: str | None = None
    func_name: str | None = None
    state: str | None = None
    type: str | None = None
    node_id: str | None = None
    worker_id: str | None = None
    actor_id: str | None = None
    parent_task_id: str | None = None
    caller_task_id: str | None = None
    placement_group_id: str | None = None
    error_type: str | None = None
    annotation: str | None = None
    q: str | None = None
    only: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None

    def active(self) -> dict[str, str | int]:
        """Name -> value of the filters that are set."""
        return {name: value for name, value in vars(self).items() if value not in (None, "")}

    def without_range(self) -> TaskFilters:
        """The same filters without the time range."""
        return replace(self, since_ns=None, until_ns=None)

    def with_libraries(self) -> TaskFilters:
        """The same filters, without excluding internals of libraries."""
        return replace(self, only=None)


def attempt_filters(filters: TaskFilters) -> Where:
    """The conditions on rows of ``attempts`` for a request's filters. Raises BadQuery."""
    where = Where([], [])
    if filters.type != "DRIVER_TASK":
        # A driver is a job, not a task. Ray's own list of tasks excludes drivers, too.
        where.add(NOT_DRIVER)
    for name in _EQUALS:
        if value := getattr(filters, name):
            where.add(equals(name, value), value)
    if filters.type:
        where.add("list_contains(?, type)", choices("type", filters.type, TASK_TYPES))
    if filters.func_name and is_operator(filters.func_name):
        where.add(OF_OPERATOR, *[filters.func_name] * 2)
    elif filters.func_name:
        is_named = f"(func_name = ? OR distinct_name = ? OR {restart_of('= ?')})"
        where.add(is_named, *[filters.func_name] * 3)
    if filters.state:
        states = choices("state", filters.state, (*STATES, CUT_OFF, "NIL"))
        where.add("list_contains(?, coalesce(state, 'NIL'))", states)
    if filters.name:
        where.add(_NAME_LIKE, *[like(filters.name)] * 3)
    if filters.caller_task_id:
        is_caller, values = is_task("parent", filters.caller_task_id)
        where.add(is_caller, *values)
    if filters.parent_task_id:
        text = filters.parent_task_id.strip().lower()
        is_parent, values = is_task("parent", text)
        alike = "ends_with" if text.startswith("…") else "starts_with"
        where.add(
            f"CASE WHEN named_parent IS NULL THEN {is_parent} ELSE {alike}(named_parent, ?) END",
            *values,
            text.strip("…"),
        )
    if filters.annotation:
        _annotated(where, filters.annotation)
    if filters.q:
        _search(where, filters.q.strip())
    if filters.only == "mine":
        where.add(IS_MINE)
    if filters.since_ns is not None:
        where.add(f"coalesce({END}, {FOREVER}) >= ?", filters.since_ns)
    if filters.until_ns is not None:
        where.add(f"{CREATED} <= ?", filters.until_ns)
    return where


def hidden_libraries(file: SessionFile, filters: TaskFilters) -> list[HiddenLibrary]:
    """The libraries whose attempts ``only=mine`` excludes, or an empty list without ``only``. Raises
    BadQuery.
    """
    if not filters.only:
        return []
    with file.reader() as reader:
        return libraries(reader, attempt_filters(filters.with_libraries()))


def _annotated(where: Where, text: str) -> None:
    """Add the condition for an annotation ``NAME`` or ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    where.add(
        "EXISTS (SELECT 1 FROM annotation_rows n WHERE n.task_hi = attempts.task_hi AND "
        "n.task_lo = attempts.task_lo AND n.attempt = attempts.attempt AND n.name = ? "
        "AND (? = '' OR n.value = ?))",
        name,
        equals,
        value,
    )


def _search(where: Where, text: str) -> None:
    digits = text.lower()
    if len(digits) < 4 or any(char not in "0123456789abcdef" for char in digits) or len(digits) > 48:
        where.add(_NAME_LIKE, *[like(text)] * 3)
        return
    low = int(digits[:16].ljust(16, "0"), 16)
    high = int(digits[:16].ljust(16, "f"), 16)
    where.add(
        f"({_NAME_LIKE} OR (task_hi BETWEEN ? AND ? AND starts_with(task_lo, ?)))",
        *[like(text)] * 3,
        low,
        high,
        digits[16:],
    )


def default_time(
    reader: duckdb.DuckDBPyConnection, filters: TaskFilters, last_ns: int, live: bool
) -> int | None:
    """The time (ns) for which to show attempts by default.

    For a live session, this is ``last_ns`` (now). Otherwise it is the last time at which an attempt selected
    by ``filters`` was in flight, or None if there are none.
    """
    if live:
        return last_ns
    where = attempt_filters(filters)
    where.add(NOT_DRIVER)
    where.add(f"{ended_at(FOREVER)} > {CREATED}")
    last = f"coalesce({ended_at('NULL')} - 1, greatest({int(last_ns)}, {CREATED}))"
    found = reader.execute(
        f"SELECT max({last}) FROM attempts{where.sql}",
        where.values,
    ).fetchone()
    return found[0] if found else None
