"""Lists the tasks of a session that wait for a debugger."""

from __future__ import annotations

from rayscope.cluster.debugger import sql
from rayscope.cluster.debugger.debuggees import Debuggee, Debuggees, Held
from rayscope.cluster.debugger.schemas import PausedTask, PausedTasks
from rayscope.cluster.placement.reservations import reservation
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile

_NO_FACTS = sql.Facts(None, None, has_ended=False)


def paused_tasks(records: SessionReader, debuggees: Debuggees, session: str) -> PausedTasks:
    """The tasks of a session that wait for a debugger or have one attached, the longest wait first."""
    found = debuggees.of_session(session)
    items: list[PausedTask] = []
    if found:
        tasks = [held.pause.task_id for _, held in found]

        def read(file: SessionFile) -> tuple[dict[tuple[str, int], sql.Facts], dict[str, int]]:
            return sql.facts_of(file, tasks), sql.waiters_of(file, tasks)

        facts, waiters = records.read(session, read)
        for debuggee, held in found:
            pause = held.pause
            known = facts.get((pause.task_id, pause.attempt), _NO_FACTS)
            # Once a debugger lets it run on, a task may end while the debugger is still attached.
            if not known.has_ended or held.is_waiting:
                limit_s = debuggees.limit_s
                items.append(_item(session, debuggee, held, known, waiters.get(pause.task_id, 0), limit_s))
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
        "job_id": about.job_id or "",
        "task_id": pause.task_id,
        "attempt": pause.attempt,
        "name": known.name,
        "actor_id": about.actor_id,
        "worker_id": about.worker_id or "",
        "node_id": about.node_id or "",
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
