"""Lists the tasks of a session that wait for a debugger."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.api.responses import error_info
from rayscope.cluster.debugger import sql
from rayscope.cluster.debugger.debuggees import Debuggee, Debuggees, Held
from rayscope.cluster.debugger.legacy import attempt_of, place_of, read_legacy
from rayscope.cluster.debugger.schemas import PausedTask, PausedTasks
from rayscope.cluster.placement.reservations import reservation
from rayscope.ingest.clusters import Clusters
from rayscope.ray.common import headline
from rayscope.ray.gcs.legacy_debugger import LegacyEntry
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.pages import Row

_NO_FACTS = sql.Facts(None, None, None, has_ended=False)


class _Recorded(NamedTuple):
    facts: dict[tuple[str, int], sql.Facts]
    waiters: dict[str, int]
    untraced: list[Row]
    runs: list[sql.Run]
    processes: dict[str, sql.Process]


def paused_tasks(
    records: SessionReader, debuggees: Debuggees, clusters: Clusters, session: str
) -> PausedTasks:
    """The tasks of a session that wait for a debugger or have one attached, the longest wait first.

    Those without a tracer come after them, because it is not known when they began to wait. The last ones are
    those whose processes are gone.
    """
    found = debuggees.of_session(session)
    legacy = read_legacy(records, clusters, session)
    entries = legacy.found.entries
    legacy_tasks = [entry.task_id for entry in entries if entry.task_id is not None]
    tasks = [*(held.pause.task_id for _, held in found), *legacy_tasks]
    is_live = records.is_live(session)

    def read(file: SessionFile) -> _Recorded:
        untraced = sql.untraced(file) if is_live else []
        all_tasks = [*tasks, *(row["task_id"] for row in untraced if row["task_id"])]
        workers = [entry.worker_id for entry in entries if entry.worker_id is not None]
        # Usually there are none, and nothing needs to be read.
        return _Recorded(
            sql.facts_of(file, tasks) if tasks else {},
            sql.waiters_of(file, all_tasks) if all_tasks else {},
            untraced,
            sql.runs_of(file, legacy_tasks) if legacy_tasks else [],
            sql.processes_of(file, workers) if workers else {},
        )

    recorded = records.read(session, read)
    items: list[PausedTask] = []
    for debuggee, held in found:
        known = recorded.facts.get((held.pause.task_id, held.pause.attempt), _NO_FACTS)
        # Once a debugger lets it continue, a task may end while the debugger is still attached.
        if not known.has_ended or held.is_waiting:
            waiters = recorded.waiters.get(held.pause.task_id, 0)
            items.append(_item(session, debuggee, held, known, waiters, debuggees.limit_s))
    items += [_legacy(session, entry, legacy.gcs_address, recorded) for entry in entries]
    items += [
        _untraced(session, row, recorded.waiters.get(row["task_id"], 0))
        for row in recorded.untraced
        if not debuggees.is_traced(row["worker_id"])
    ]
    return {
        "session": session,
        "is_enabled": debuggees.limit_s is not None,
        "limit_s": debuggees.limit_s,
        "legacy_error": error_info(legacy.error),
        "legacy_left_out": legacy.found.left_out,
        "items": sorted(items, key=_order),
    }


def _order(item: PausedTask) -> tuple[bool, bool, int]:
    """Sort key."""
    return item["state"] == "gone", item["since_ns"] is None, item["since_ns"] or 0


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
        "legacy": None,
    }


def _legacy(session: str, entry: LegacyEntry, gcs_address: str, recorded: _Recorded) -> PausedTask:
    process = recorded.processes.get(entry.worker_id or "", sql.Process(None, None, None))
    attempt = attempt_of(entry, recorded.runs)
    known = recorded.facts.get((entry.task_id or "", -1 if attempt is None else attempt), _NO_FACTS)
    is_gone = process.state == "DEAD"
    file, line = place_of(entry)
    return {
        "pause_id": None,
        "state": "gone" if is_gone else "waiting",
        "session": session,
        "job_id": entry.job_id,
        "task_id": entry.task_id,
        "attempt": attempt,
        "name": known.name,
        "func_name": known.func_name,
        "actor_id": entry.actor_id,
        "worker_id": entry.worker_id or "",
        "node_id": entry.node_id,
        "pid": process.pid,
        "is_driver": False,
        "function": None,
        "file": file,
        "line": line,
        "error": headline(entry.traceback) if entry.traceback else None,
        "since_ns": entry.since_ns,
        "release_ns": None,
        "debugger": None,
        "resources": {} if is_gone else dict(reservation(known.resources).resources),
        "waiters": recorded.waiters.get(entry.task_id or "", 0),
        "legacy": {
            "key": entry.key,
            "title": entry.title,
            "address": entry.address,
            "gcs_address": gcs_address,
            "traceback": entry.traceback,
            "ended_ns": process.end_ns if is_gone else None,
        },
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
        "legacy": None,
    }
