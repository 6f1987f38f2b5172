"""Ray Train's runs, their attempts and workers, from ``/api/train/v2/runs/v1`` of the dashboard.

Ray Train tracks only drivers with ``RAY_TRAIN_ENABLE_STATE_TRACKING=1``. Older versions of Ray report no
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rayscope.model import Entity
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.model.entity import Value
from rayscope.ray.common import redact_settings
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.libraries.values import TIMEOUT_S, rows, text, whole
from rayscope.ray.protobuf import known

#: Namespace and name of the actor that keeps the state of all runs of a cluster.
ACTOR = ("_train_state_actor", "train_v2_state_actor")
#: Maximum number of runs read. The newest ones are read.
_MAX_RUNS = 500
#: Maximum number of attempts per run.
_MAX_ATTEMPTS = 100
#: Maximum number of workers per attempt.
_MAX_WORKERS = 10_000
#: Maximum number of characters in an ID.
_MAX_ID = 200
#: Maximum number of characters in a string.
_MAX_TEXT = 2_000
#: Maximum number of characters in an error.
_MAX_DETAIL = 60_000
_ERRORS: tuple[type[Exception], ...] = (*DECODE_ERRORS, OverflowError)
_SETTINGS = ("train_loop_config", "scaling_config", "backend_config", "datasets", "data_config", "run_config")


def read(dashboard: Dashboard, _: GcsClient, now_ns: int) -> list[Entity]:
    """The newest 500 runs, each with its attempts and their workers. Raises DashboardError."""
    answer = dashboard.get("/api/train/v2/runs/v1", TIMEOUT_S)
    runs = answer.get("train_runs") if isinstance(answer, dict) else None
    if not isinstance(runs, list):
        raise dashboard.unexpected("no list of training runs")
    return [entity for row in rows(runs[:_MAX_RUNS]) for entity in _run(row, now_ns)]


def _run(row: Mapping[str, Any], now_ns: int) -> Iterator[Entity]:
    run_id = text(row.get("id"), _MAX_ID)
    if run_id is None:
        return
    job_id = text(row.get("job_id"), _MAX_ID)
    fields: dict[str, Value | None] = {
        "name": text(row.get("name"), _MAX_TEXT),
        "job_id": job_id,
        "controller_actor_id": text(row.get("controller_actor_id"), _MAX_ID),
        "controller_log_path": text(row.get("controller_log_file_path"), _MAX_TEXT),
        "framework_versions": _json(row.get("framework_versions")),
        **_settings(row.get("run_settings")),
    }
    yield Entity("train_run", run_id, known(fields), {}, now_ns, known(_status(row)))
    for attempt in rows(row.get("attempts"))[-_MAX_ATTEMPTS:]:
        yield from _attempt(attempt, run_id, job_id, now_ns)


def _attempt(row: Mapping[str, Any], run_id: str, job_id: str | None, now_ns: int) -> Iterator[Entity]:
    attempt_id = text(row.get("attempt_id"), _MAX_ID)
    if attempt_id is None:
        return
    of: dict[str, Value | None] = {"run_id": run_id, "job_id": job_id}
    status = _status(row)
    yield Entity("train_attempt", attempt_id, known(of), {}, now_ns, known(status))
    for worker in rows(row.get("workers"))[:_MAX_WORKERS]:
        rank = whole(worker.get("world_rank"))
        if rank is None:
            continue
        gpus = worker.get("gpu_ids")
        resources = worker.get("resources")
        fields: dict[str, Value | None] = {
            **of,
            "attempt_id": attempt_id,
            "world_rank": rank,
            "local_rank": whole(worker.get("local_rank")),
            "node_rank": whole(worker.get("node_rank")),
            "actor_id": text(worker.get("actor_id"), _MAX_ID),
            "node_id": text(worker.get("node_id"), _MAX_ID),
            "node_ip": text(worker.get("node_ip"), _MAX_ID),
            "pid": whole(worker.get("pid")),
            "gpu_ids": _json([one for one in gpus if isinstance(one, int)])
            if isinstance(gpus, list)
            else None,
            "resources": _json(resources.get("resources")) if isinstance(resources, dict) else None,
            "log_path": text(worker.get("log_file_path"), _MAX_TEXT),
        }
        # Ray does not report when a worker ends: it ends with its attempt.
        observed: dict[str, Value | None] = {"state": text(worker.get("status"), _MAX_ID), "end_ns": None}
        if observed["state"] == "DEAD":
            observed["end_ns"] = status["end_ns"]
        yield Entity("train_worker", f"{attempt_id}/{rank}", known(fields), {}, now_ns, known(observed))


def _status(row: Mapping[str, Any]) -> dict[str, Value | None]:
    return {
        "state": text(row.get("status"), _MAX_ID),
        "status_detail": text(row.get("status_detail"), _MAX_DETAIL),
        "start_ns": whole(row.get("start_time_ns")),
        "end_ns": whole(row.get("end_time_ns")),
    }


def _settings(settings: Any) -> dict[str, Value | None]:
    """Each part of the settings as JSON, without secrets."""
    return {name: _json(settings.get(name)) for name in _SETTINGS} if isinstance(settings, dict) else {}


def _json(value: Any) -> str | None:
    """``value`` as JSON, or None if it is empty. (A record drops JSON of more than 65,536 characters.)"""
    try:
        return msgspec.json.encode(redact_settings(value)).decode() if value else None
    except _ERRORS:  # an unpaired surrogate, or nested too deeply
        return None
