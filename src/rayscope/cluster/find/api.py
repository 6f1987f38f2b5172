"""The route for searching a session, which the command palette of the UI uses."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentRecords, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.find import schemas, sql
from rayscope.cluster.logs.files import CurrentLogs, Logs
from rayscope.cluster.logs.listing import list_files
from rayscope.cluster.logs.writers import matching_files
from rayscope.metrics.service import CurrentMetrics, Metrics
from rayscope.model.writer import writer_title
from rayscope.ray.agents.logs import LogName
from rayscope.records.reader import SessionReader

router = Router()


@router.get("/api/v1/find")
def find(
    records: CurrentRecords,
    metrics: CurrentMetrics,
    logs: CurrentLogs,
    q: Annotated[str, Query(min_length=1, max_length=200)],
    session: Session = None,
    limit: Annotated[int, Query(ge=1, le=50, description="Hits of each kind.")] = 5,
) -> Json[schemas.FindAnswer]:
    """Functions, tasks, actors, nodes, jobs, log files and metrics by name, or by the beginning of an ID."""
    chosen = records.resolve(session)
    text = q.strip()
    found: list[schemas.FoundGroup] = []
    if text:
        found = records.read(chosen, lambda file: sql.find_in_record(file, text, limit))
        found += [_log_files(records, logs, chosen, text, limit), _metrics(metrics, chosen, text, limit)]
    # Groups with an exact match come first: an actor's class comes before functions that begin with its name.
    found.sort(key=lambda each: all((item["name"] or "").lower() != text.lower() for item in each["items"]))
    return answer({"session": chosen, "groups": [each for each in found if each["total"] > 0]})


def _log_files(records: SessionReader, logs: Logs, session: str, text: str, limit: int) -> schemas.FoundGroup:
    """Matching log files. In large clusters, none are searched, to avoid querying every node."""
    _, files = list_files(records, logs, session, None, every=False)
    found = matching_files(records, session, [one for one in files if not one.is_empty], text.lower())
    found.sort(key=lambda each: each[0].order)
    items = [
        sql.hit(
            one.name,
            writer_title(writer, one.about.kind) or one.name,
            _describe_file(one.about),
            node_id=one.node_id,
        )
        for one, writer in found[:limit]
    ]
    return {"kind": "log_file", "items": items, "total": len(found)}


def _describe_file(about: LogName) -> str:
    """The contents of a log file (stdout, stderr or another kind), and the process that wrote it."""
    kind = {"worker_out": "stdout", "worker_err": "stderr"}.get(about.kind, about.kind)
    return f"{kind} · PID {about.pid}" if about.pid is not None else kind


def _metrics(metrics: Metrics, session: str, text: str, limit: int) -> schemas.FoundGroup:
    store = metrics.store(session)
    families = store.families()
    names = sorted(name for name in store.counts() if text.lower() in name.lower())
    items = [sql.hit(name, name, families[name].help if name in families else None) for name in names[:limit]]
    return {"kind": "metric", "items": items, "total": len(names)}
