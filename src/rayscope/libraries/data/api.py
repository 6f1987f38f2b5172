"""Routes for Ray Data: all datasets, and a single one with the tasks of its operators."""

from __future__ import annotations

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.ingest.clusters import CurrentClusters
from rayscope.libraries.data import schemas, sql
from rayscope.libraries.data.compute import bottleneck, lanes, least_time_ns, tasks_by_operator
from rayscope.libraries.used import problem
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile

router = Router()
#: Number of time buckets for the running tasks of an operator: more than a lane can show, even on a wide
#: screen.
_MAX_BUCKETS = 240
_MAX_WARNINGS = 100


@router.get("/api/v1/data")
def datasets(
    records: CurrentRecords, clusters: CurrentClusters, session: Session = None, limit: Limit = 100
) -> Json[schemas.DatasetPage]:
    """The datasets that Ray Data executed, newest first, with their operators."""
    name = records.resolve(session)
    items, total = records.read_cached(name, f"datasets {limit}", lambda file: sql.datasets(file, limit))
    return answer(
        {"session": name, "items": items, "total": total, "problem": problem(records, clusters, name, "data")}
    )


@router.get("/api/v1/data/{dataset_id}")
def dataset(records: CurrentRecords, dataset_id: str, session: Session = None) -> Json[schemas.DatasetAnswer]:
    """A dataset: its operators with their tasks, and the operator that limits the throughput."""
    name = records.resolve(session)
    now_ns = records.last_ns(name)
    return answer(
        records.read_cached(
            name, f"dataset {dataset_id}", lambda file: _dataset(file, name, dataset_id, now_ns)
        )
    )


def _dataset(file: SessionFile, session: str, dataset_id: str, now_ns: int) -> schemas.DatasetAnswer:
    items, _ = sql.datasets(file, 1, dataset_id)
    if not items:
        raise NotFound(
            f"Dataset {dataset_id[:80]!r} not found in this session.", what="dataset", id=dataset_id[:80]
        )
    (found,) = items
    # Ray Data's actor records the start of a dataset when it is notified, which may be after its first tasks
    # began. So include all tasks since the previous dataset of the job ended.
    start_ns, end_ns = found["start_ns"] or 0, found["end_ns"] or now_ns
    begin_ns = sql.end_before(file, found["job_id"], start_ns)
    stretch = (found["job_id"], begin_ns, end_ns, now_ns)
    names = [one["name"] for one in found["operators"]]
    by_operator = tasks_by_operator(sql.tasks(file, *stretch), names)
    running = sql.running(file, *stretch, _MAX_BUCKETS)
    by_lane = lanes(running, names)
    starts = sql.actor_starts(file, found["job_id"], begin_ns, end_ns)
    operators: list[schemas.OperatorDetail] = []
    for one in found["operators"]:
        tasks = by_operator.get(one["name"])
        actors, actor_start_ns = starts.get(one["name"], (0, None))
        operators.append(
            {
                **one,
                "tasks": tasks,
                "least_ns": least_time_ns(tasks),
                "running": by_lane.get(one["name"], []),
                "actors": actors,
                "actor_start_ns": actor_start_ns,
            }
        )
    return {
        "session": session,
        **found,
        "operators": operators,
        "warnings": sql.warnings(file, dataset_id, _MAX_WARNINGS),
        "bottleneck": bottleneck(by_operator),
        "begin_ns": running[0]["begin_ns"] if running else None,
        "bucket_ns": running[0]["bucket_ns"] if running else None,
    }
