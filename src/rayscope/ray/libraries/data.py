"""Ray Data's datasets and their operators, from ``/api/data/datasets/{job}`` of the dashboard.

Values that the dashboard would read from Prometheus are zero in the response. Rows, bytes and back pressure
are therefore recorded from Ray's own series (``ray_data_*``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rayscope.model import Entity
from rayscope.model.entity import Value
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.libraries.values import TIMEOUT_S, rows, seconds_to_ns, whole
from rayscope.ray.protobuf import known

#: Namespace and name of the actor that keeps the state of all datasets of a cluster.
ACTOR = ("_dataset_stats_actor", "datasets_stats_actor")
#: How long after a driver's end its datasets are still read, in ns.
_AFTERWARDS_NS = 30 * 10**9
#: Maximum number of jobs queried per read. The newest ones are queried.
_MAX_JOBS = 100
_MAX_DATASETS = 1_000
#: Maximum number of operators per dataset.
_MAX_OPERATORS = 1_000


def read(dashboard: Dashboard, client: GcsClient, now_ns: int) -> list[Entity]:
    """All datasets, with operators, of jobs that are running or have just ended. Raises DashboardError."""
    jobs = [
        job.job_id.hex()
        for job in client.jobs()
        if not job.is_dead or job.end_time * 10**6 > now_ns - _AFTERWARDS_NS
    ]
    found: list[Entity] = []
    for job_id in jobs[-_MAX_JOBS:]:
        answer = dashboard.get(f"/api/data/datasets/{quote(job_id, safe='')}", TIMEOUT_S)
        datasets = answer.get("datasets") if isinstance(answer, dict) else None
        if not isinstance(datasets, list):
            raise dashboard.unexpected("no list of datasets")
        for row in rows(datasets[:_MAX_DATASETS]):
            if row.get("dataset"):
                found += _dataset(row, job_id, now_ns)
    return found


def _dataset(row: Mapping[str, Any], job_id: str, now_ns: int) -> list[Entity]:
    """Return a dataset, followed by its operators."""
    identity = str(row["dataset"])
    observed: dict[str, Value | None] = {
        **_progress(row),
        "start_ns": seconds_to_ns(row.get("start_time")),
        "end_ns": seconds_to_ns(row.get("end_time")),
    }
    fields: dict[str, Value] = {"name": dataset_name(identity), "job_id": job_id}
    operators = [one for one in rows(row.get("operators")) if one.get("operator")]
    return [
        Entity("dataset", identity, fields, {}, now_ns, known(observed)),
        *(
            Entity(
                "dataset_operator",
                f"{identity}/{one['operator']}",
                {
                    "name": str(one.get("name") or one["operator"]),
                    "dataset_id": identity,
                    "job_id": job_id,
                    "position": _position(str(one["operator"]), place),
                },
                {},
                now_ns,
                known({**_progress(one), "queued_blocks": whole(one.get("queued_blocks"))}),
            )
            for place, one in enumerate(operators[:_MAX_OPERATORS])
        ),
    ]


def _position(operator: str, place: int) -> int:
    """An operator's position in the plan: the number at the end of its ID. Ray's list is not in order."""
    number = operator.rpartition("_")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else place


def _progress(row: Mapping[str, Any]) -> dict[str, Value | None]:
    counts = {name: whole(row.get(name)) for name in ("progress", "total", "total_rows")}
    return {"state": str(row.get("state") or ""), **counts}


def dataset_name(identity: str) -> str:
    """``train_4`` for ``dataset_train_4``: the user's name and the number of the execution."""
    return identity.removeprefix("dataset_")
