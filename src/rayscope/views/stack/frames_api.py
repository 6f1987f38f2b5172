"""The Python frames of running workers, below the distributed call stack."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rayscope.api.parameters import CurrentRecords, Filters
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.schemas import Body
from rayscope.ingest.clusters import CurrentClusters
from rayscope.storage.errors import BadQuery
from rayscope.views.stack import frames_schemas, sql
from rayscope.views.stack.api import unit_of
from rayscope.views.stack.compute import Wait, call_stack, nodes_of
from rayscope.views.stack.dump import Dump
from rayscope.views.stack.frames import Busy, choose, has_moved_on, merge
from rayscope.views.stack.sampling import (
    IDLE_DRIVER,
    MAX_WORKERS,
    MOVED_ON,
    NO_PROCESS,
    NOT_RUNNING,
    PROCESS_ENDED,
    Dumps,
    Problem,
    describe_problems,
)

#: The worker ID of a driver is the ID of its job, filled up with this.
_DRIVER_END = "f" * 48
WorkerId = Annotated[str, Field(pattern=r"^[0-9a-f]{56}$")]


class FramesRequest(Body):
    """The workers to sample: all busy ones, those at and below one line of the stack, or the listed ones.

    Drivers are sampled only if they are listed.
    """

    model_config = ConfigDict(extra="forbid")

    session: str | None = Field(None, max_length=200, description="Session name (default: the newest).")
    node: str | None = Field(None, pattern=r"^[0-9a-f]{16}$", description="A node of /api/v1/flow/stack.")
    workers: list[WorkerId] | None = Field(None, min_length=1, max_length=MAX_WORKERS)
    whole: bool = Field(False, description="Include Ray's own frames and idle threads.")


router = Router()


@router.post("/api/v1/flow/stack/frames")
def frames(
    records: CurrentRecords,
    clusters: CurrentClusters,
    dumps: Annotated[Dumps, provide(Dumps)],
    selection: FramesRequest,
    filters: Filters,
) -> Json[frames_schemas.FramesAnswer]:
    """Return the Python stacks of workers that are running something now, merged by line of the stack."""
    session = records.resolve(selection.session)
    if not records.is_live(session):
        raise BadQuery(
            f"{session} has ended, so its processes are gone.", "Choose a live session.", what="stack_ended"
        )
    gcs = clusters.gcs_of(session)
    if gcs is None:
        raise BadQuery(
            f"The cluster of {session} is not connected, so its workers cannot be sampled.",
            "Wait a few seconds, or attach: rayscope attach HOST:PORT.",
            what="stack_not_connected",
        )
    found = records.read(
        session,
        lambda file: sql.in_flight(
            file,
            filters,
            at_ns=None,
            last_ns=records.last_ns(session),
            live=True,
            workers=True,
            drivers=selection.workers or (),
        ),
    )
    units = [unit_of(row) for row in found.units]
    tree = call_stack(units, (Wait(**row) for row in found.waits)).nodes
    if selection.node is not None and all(node.id != selection.node for node in tree):
        raise BadQuery(
            "Nothing on this line is in flight any more.",
            "Use a node of the current stack.",
            what="stack_line",
        )
    asked = None if selection.workers is None else set(selection.workers)
    busy = [_busy(row) for row in found.workers if asked is None or row["worker_id"] in asked]
    drivers = {row["worker_id"]: row for row in found.drivers}
    busy += [
        Busy(row["unit"], worker, row["node_id"], row["worker_pid"], is_driver=True)
        for worker, row in drivers.items()
        if _problem_of(row) is None
    ]
    chosen, places, left_out = choose(tree, nodes_of(units), busy, selection.node, MAX_WORKERS)
    answers = dumps.take(session, gcs, chosen)
    problems: dict[Problem, list[frames_schemas.FramesWorker]] = defaultdict(list)
    good: dict[str, Dump] = {}
    for worker, got in answers.items():
        if isinstance(got, Problem):
            problems[got].append(_named(chosen[worker]))
        else:
            good[worker] = got
    stale = {p for p in places if p.worker in good and has_moved_on(p, good[p.worker].title)}
    current = [place for place in places if place not in stale]
    shown = {place.worker for place in current}
    for worker in good.keys() - shown:
        problems[MOVED_ON].append(_named(chosen[worker]))
    for worker in sorted((asked or set()) - chosen.keys()):
        row = drivers.get(worker, {})
        problem = _problem_of(row) if row or worker.endswith(_DRIVER_END) else None
        problems[problem or NOT_RUNNING].append(
            {"worker_id": worker, "node_id": row.get("node_id"), "pid": row.get("worker_pid")}
        )
    merged, folded = merge(good, current, selection.whole)
    return answer(
        {
            "session": session,
            "at_ns": time.time_ns(),
            "whole": selection.whole,
            "asked": len(chosen),
            "left_out": left_out,
            "nodes": merged,
            "folded_frames": folded,
            "workers": [
                {**_named(chosen[worker]), "title": dump.title}
                for worker, dump in good.items()
                if worker in shown
            ],
            "problems": describe_problems(problems),
        }
    )


def _problem_of(driver: Mapping[str, Any]) -> Problem | None:
    """Return why a driver cannot be sampled, or None if it can. ``driver`` is empty if it is not recorded."""
    if driver.get("has_ended"):
        return PROCESS_ENDED
    if not driver.get("node_id") or not driver.get("worker_pid"):
        return NO_PROCESS
    return IDLE_DRIVER if driver["unit"] is None else None


def _busy(row: dict[str, Any]) -> Busy:
    names = tuple(name for name in (row["task_name"], row["name"]) if name)
    pid, node_id = row["worker_pid"], row["node_id"]
    return Busy(row["unit"], row["worker_id"], node_id, pid, names, row["type"] == "NORMAL_TASK")


def _named(worker: Busy) -> frames_schemas.FramesWorker:
    return {"worker_id": worker.worker, "node_id": worker.node_id, "pid": worker.pid}
