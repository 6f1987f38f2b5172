"""Ray Serve, Data and Train in the form of Ray's dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayscope.libraries.data import sql as data_sql
from rayscope.libraries.serve import schemas as serve_schemas
from rayscope.libraries.serve import sql as serve_sql
from rayscope.libraries.train import sql as train_sql
from rayscope.libraries.train.schemas import TrainRunItem
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.pages import rows_of

_MAX_APPLICATIONS = 200
_MAX_REPLICAS = 1_000
_MAX_DATASETS = 1_000
_MAX_RUNS = 100
_MAX_WORKERS = 1_000
#: Ray reads these from Prometheus. Without it, they are 0 there, too. The front end needs numbers.
_DATASET_METRICS = {
    "ray_data_output_rows": ("max",),
    "ray_data_spilled_bytes": ("max",),
    "ray_data_current_bytes": ("value", "max"),
    "ray_data_cpu_usage_cores": ("value", "max"),
    "ray_data_gpu_usage_cores": ("value", "max"),
    "ray_data_memory_usage_bytes": ("value", "max"),
}


def serve(file: SessionFile) -> dict[str, Any]:
    """The applications that were not deleted before the end, with their deployments and replicas."""
    controllers = serve_sql.controllers(file)
    items, _ = serve_sql.applications(file, _MAX_APPLICATIONS)
    shown = [item["name"] for item in items if item["state"] != "DELETED" or item["end_known_by"]]
    answer: dict[str, Any] = {
        "controller_info": {},
        "proxies": {
            proxy["node_id"]: {**_actor(proxy), "node_id": proxy["node_id"], "status": proxy["state"]}
            for proxy in serve_sql.proxies(file)
        },
        "applications": {name: _application(file, name) for name in shown},
        "target_capacity": None,
    }
    for controller in controllers[:1]:
        answer["controller_info"] = {**_actor(controller), "node_id": controller["node_id"]}
        answer["proxy_location"] = controller["proxy_location"]
        answer["http_options"] = controller["http_options"]
        # The front end needs the port.
        answer["grpc_options"] = controller["grpc_options"] or {"port": None}
    return answer


def _actor(row: Any) -> dict[str, Any]:
    return {
        "node_ip": row["node_ip"],
        "node_instance_id": None,
        "actor_id": row["actor_id"],
        "actor_name": row.get("name"),
        "worker_id": row["worker_id"],
        "log_file_path": f"/{row['log_file']}" if row["log_file"] else None,
    }


def _application(file: SessionFile, name: str) -> dict[str, Any]:
    item = serve_sql.application(file, name)
    replicas, _ = serve_sql.replicas(file, name, _MAX_REPLICAS)
    return {
        "name": name,
        "route_prefix": item["route_prefix"],
        "docs_path": item["docs_path"],
        "status": item["state"],
        "message": item["message"] or "",
        "last_deployed_time_s": (item["deployed_ns"] or 0) / 1e9,
        "deployed_app_config": item["config"],
        "source": item["source"],
        "deployments": {
            deployment["name"]: _deployment(
                deployment, [replica for replica in replicas if replica["deployment"] == deployment["name"]]
            )
            for deployment in item["deployments"]
        },
    }


def _deployment(
    item: serve_schemas.ServeDeployment, replicas: list[serve_schemas.ServeReplica]
) -> dict[str, Any]:
    # Replicas that died before the end of the session are not among the current ones.
    dead = [replica for replica in replicas if replica["state"] == "STOPPED" and not replica["end_known_by"]]
    return {
        "name": item["name"],
        "status": item["state"],
        "status_trigger": item["status_trigger"],
        "message": item["message"] or "",
        "deployment_config": item["config"] or {"name": item["name"]},
        "target_num_replicas": item["target_replicas"],
        "required_resources": item["required_resources"] or {},
        "replicas": [_replica(replica) for replica in replicas if replica not in dead],
        "recent_dead_replicas": [_replica(replica) for replica in dead],
    }


def _replica(replica: serve_schemas.ServeReplica) -> dict[str, Any]:
    return {
        **_actor(replica),
        "node_id": replica["node_id"],
        "replica_id": replica["replica_id"],
        "state": replica["state"],
        "pid": replica["pid"],
        "start_time_s": (replica["start_ns"] or 0) / 1e9,
    }


def datasets(file: SessionFile, job_id: str) -> dict[str, Any]:
    """The datasets of a job, newest first."""
    items, _ = data_sql.datasets(file, _MAX_DATASETS, job_id=job_id)
    nothing = {name: dict.fromkeys(kinds, 0) for name, kinds in _DATASET_METRICS.items()}
    return {
        "datasets": [
            {
                "dataset": item["dataset_id"],
                "job_id": item["job_id"],
                **_progress(item),
                "total_rows": item["total_rows"] or 0,
                "start_time": (item["start_ns"] or 0) / 1e9,
                "end_time": item["end_ns"] / 1e9 if item["end_ns"] else None,
                **nothing,
                "operators": [
                    {
                        "operator": operator["operator_id"],
                        "name": operator["name"],
                        **_progress(operator),
                        "queued_blocks": operator["queued_blocks"] or 0,
                        **nothing,
                    }
                    for operator in item["operators"]
                ],
            }
            for item in items
        ]
    }


def _progress(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "state": "UNKNOWN" if item["state"] is None else item["state"],
        "progress": item["progress"] or 0,
        "total": item["total"] or 0,
    }


def train(file: SessionFile) -> dict[str, Any]:
    """The runs of Ray Train, newest first."""
    items, _ = train_sql.runs(file, _MAX_RUNS)
    return {"train_runs": [_run(file, item) for item in items]}


def _run(file: SessionFile, item: TrainRunItem) -> dict[str, Any]:
    run = train_sql.run(file, item["run_id"])
    settings = {} if run is None else {name: _decoded(text) for name, text in run["settings"].items()}
    return {
        "id": item["run_id"],
        "name": item["name"],
        "job_id": item["job_id"],
        "controller_actor_id": run["controller_actor_id"] if run else None,
        "status": item["state"],
        "status_detail": item["status_detail"],
        "start_time_ns": item["start_ns"],
        "end_time_ns": item["end_ns"],
        "controller_log_file_path": run["controller_log_file"] if run else None,
        "framework_versions": settings.pop("framework_versions", {}),
        "run_settings": settings,
        "attempts": [
            {
                "run_id": item["run_id"],
                "attempt_id": attempt["attempt_id"],
                "status": attempt["state"],
                "status_detail": attempt["status_detail"],
                "start_time_ns": attempt["start_ns"],
                "end_time_ns": attempt["end_ns"],
                "workers": _workers(file, attempt["attempt_id"]),
            }
            for attempt in train_sql.attempts(file, item["run_id"])
        ],
        "job_details": None,
    }


def _workers(file: SessionFile, attempt_id: str) -> list[dict[str, Any]]:
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                "SELECT world_rank, local_rank, node_rank, actor_id, node_id, node_ip, pid, gpu_ids, "
                "state AS status, resources, log_path AS log_file_path FROM train_worker_rows "
                f"WHERE attempt_id = ? ORDER BY world_rank LIMIT {_MAX_WORKERS}",
                [attempt_id],
            )
        )
    return [
        {
            **row,
            "gpu_ids": _decoded(row["gpu_ids"]) or [],
            "resources": {"resources": _decoded(row["resources"]) or {}},
            "processStats": None,
            "gpus": [],
        }
        for row in rows
    ]


def _decoded(text: str | None) -> Any:
    return msgspec.json.decode(text) if text else None
