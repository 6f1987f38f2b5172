"""Lists the tasks of a session that wait for a debugger."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.cluster.debugger import sql
from rayscope.cluster.debugger.debuggees import Debuggee, Debuggees, Held
from rayscope.cluster.debugger.schemas import PausedTask, PausedTasks
from rayscope.cluster.placement.reservations import reservation
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.pages import Row

_NO_FACTS = sql.Facts(None, None, None, has_ended=False)


class _Recorded(NamedTuple):
    facts: dict[tuple[str, int], sql.Facts]
    waiters: dict[str, int]
    untraced: list[Row]


def paused_tasks(records: SessionReader, debuggees: Debuggees, session: str) -> PausedTasks:
    """The tasks of a session that wait for a debugger or have one attached, the longest wait first.

    Those without a tracer come last, because it is not known when they began to wait.
    """
    found = debuggees.of_session(session)
    tasks = [held.pause.task_id for _, held in found]
    is_live = records.is_live(session)

    def read(file: SessionFile) -> _Recorded:
        untraced = sql.untraced(file) if is_live else []
        all_tasks = [*tasks, *(row["task_id"] for row in untraced if row["task_id"])]
        if not all_tasks:
            return _Recorded({}, {}, untraced)
        return _Recorded(sql.facts_of(file, tasks), sql.waiters_of(file, all_tasks), untraced)

    recorded = records.read(session, read)
    items: list[PausedTask] = []
    for debuggee, held in found:
        known = recorded.facts.get((held.pause.task_id, held.pause.attempt), _NO_FACTS)
        # Once a debugger lets it continue, a task may end while the debugger is still attached.
        if not known.has_ended or held.is_waiting:
            waiters = recorded.waiters.get(held.pause.task_id, 0)
            items.append(_item(session, debuggee, held, known, waiters, debuggees.limit_s))
    items += [
        _untraced(session, row, recorded.waiters.get(row["task_id"], 0))
        for row in recorded.untraced
        if not debuggees.is_traced(row["worker_id"])
    ]
    return {
        "session": session,
        "is_enabled": debuggees.limit_s is not None,
        "limit_s": debuggees.limit_s,
        "items": items,
    }


def _item(
    session: str, debuggee: Debuggee, held: Held, known: sql.Facts, waiters: int, limit_s: float | None
) -> PausedTask:
    pause, about, debugger = held.pause, debuggee.about, debuggee.debugger
    return {
        "pause_id": pause.id,
        "state": "waiting" if held.is_waiting else "stopped" if debuggee.stopped else "running",
        "session": session,
        "job_id": about.job_id,
        "task_id": pause.task_id,
        "attempt": pause.attempt,
        "name": known.name,
        "func_name": known.func_name,
        "actor_id": about.actor_id,
        "worker_id": about.worker_id or "",
        "node_id": about.node_id,
        "pid": about.pid,
        "is_driver": about.is_driver,
        "function": pause.function,
        "file": pause.file,
        "line": pause.line,
        "error": pause.error,
        "since_ns": pause.since_ns,
        "release_ns": None if limit_s is None else debuggee.used_ns + int(limit_s * 1e9),
        "debugger": None if debugger is None else debugger.address,
        "resources": dict(reservation(known.resources).resources),
        "waiters": waiters,
    }


def _untraced(session: str, row: Row, waiters: int) -> PausedTask:
    return {
        "pause_id": None,
        "state": "waiting",
        "session": session,
        "job_id": row["job_id"],
        "task_id": row["task_id"],
        "attempt": row["attempt"],
        "name": row["name"],
        "func_name": row["func_name"],
        "actor_id": row["actor_id"],
        "worker_id": row["worker_id"],
        "node_id": row["node_id"],
        "pid": row["pid"],
        "is_driver": row["is_driver"],
        "function": None,
        "file": None,
        "line": None,
        "error": None,
        "since_ns": None,
        "release_ns": None,
        "debugger": None,
        "resources": dict(reservation(row["resources"]).resources),
        "waiters": waiters,
    }
