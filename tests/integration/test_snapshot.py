"""Data read from the GCS equals Ray's own state API, field by field, on a live cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import env_without_ray, free_port, start_in_turn
from tests.state_api import sane_ms, state_ms
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.model import Attempt, Entity, RecordBatch
from rayscope.ray.auth import ray_token
from rayscope.ray.common import clean_error, is_nil, phase_of, redact_runtime_env, redact_text
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.discovery import local_gcs_addresses
from rayscope.ray.gcs import snapshot
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.gcs.poller import Poller
from rayscope.ray.jobs_api import JobApi

pytestmark = [pytest.mark.ray]

WORKLOAD = Path(__file__).with_name("snapshot_workload.py")
Row = dict[str, Any]


@dataclass
class Cluster:
    process: subprocess.Popen[str]
    home: Path
    gcs_address: str
    session: str
    dashboard: str
    token: str

    def run_command(self, command: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.strip() == "done":
                return
        raise AssertionError("the workload ended")

    def lists(self) -> dict[str, list[Row]]:
        path = self.home / "lists.json"
        self.run_command(f"list {path}")
        rows: dict[str, list[Row]] = json.loads(path.read_text())
        return rows

    def client(self) -> GcsClient:
        return GcsClient(self.gcs_address, self.token)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Short paths: Ray's sockets live in there, and a socket's path has 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="rs", dir="/tmp", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        environment = env_without_ray() | {"HOME": folder}
        with (home / "err.log").open("w") as errors:
            process = None
            try:
                process = start_in_turn(
                    [sys.executable, str(WORKLOAD), str(home / "ray"), str(free_port())],
                    home,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=environment,
                )
                assert process.stdout is not None
                ready = next((line for line in process.stdout if line.startswith('{"gcs_address"')), None)
                assert ready, (home / "err.log").read_text()[-4000:]
                yield Cluster(process, home, **json.loads(ready))
            finally:
                if process is not None:
                    assert process.stdin is not None
                    process.stdin.close()
                    try:
                        process.wait(TIMEOUT_S)
                    except subprocess.TimeoutExpired:
                        process.kill()


def not_nil(text: str | None) -> str | None:
    return None if text is None or is_nil(text) else text


def ms(time_ns: Any) -> int | None:
    return None if not time_ns else int(time_ns) // 1_000_000


def parsed(text: Any) -> Any:
    return None if text is None else json.loads(text)


def ours_task(attempt: Attempt, spans: Counter[tuple[str, int]]) -> Row:
    name = attempt.name or ""
    if attempt.actor_repr_name and attempt.type == "ACTOR_TASK" and name == attempt.func_name:
        name = f"{attempt.actor_repr_name}.{name.split('.')[-1]}"  # Ray's list does so for display
    log = {
        key: getattr(attempt, key)
        for key in ("stdout_file", "stderr_file", "stdout_start", "stdout_end", "stderr_start", "stderr_end")
        if getattr(attempt, key) is not None
    }
    failed = attempt.error if attempt.state == "FAILED" else None
    return {
        "name": name,
        "func_or_class_name": attempt.func_name or "",
        "type": attempt.type,
        "language": attempt.language,
        "state": attempt.state,
        "job_id": attempt.job_id,
        "actor_id": attempt.actor_id,
        "parent_task_id": attempt.parent_task_id,
        "placement_group_id": attempt.placement_group_id,
        "node_id": attempt.node_id,
        "worker_pid": attempt.worker_pid,
        "required_resources": parsed(attempt.required_resources),
        "label_selector": parsed(attempt.label_selector) or {},
        "runtime_env": attempt.runtime_env,
        "call_site": attempt.call_site,
        "task_log_info": log or None,
        "error_type": failed.type if failed else None,
        "error_message": failed.message if failed else None,
        "events": sorted((state, state_ms(time_ns)) for state, time_ns in attempt.states.items()),
        "spans": spans[(attempt.task_id, attempt.attempt)],
        "phases": {name: [begin / 1e6, end / 1e6] for name, (begin, end) in attempt.phases.items()},
    }


def theirs_task(row: Row) -> Row:
    events = (row["profiling_data"] or {}).get("events", ())
    phases: dict[str, list[int]] = {}
    for event in events:
        phase = phase_of(event["event_name"])
        if phase is not None:
            # A generator stores each of its outputs; the first one is kept. Ray's list has ms as floats.
            interval = [event["start_time"], event["end_time"]]
            phases[phase] = min(phases.get(phase, interval), interval)
    log = dict(row["task_log_info"] or {})
    return {
        **{key: row[key] for key in ("name", "func_or_class_name", "type", "language", "state", "job_id")},
        "actor_id": not_nil(row["actor_id"]),
        "parent_task_id": not_nil(row["parent_task_id"]),
        "placement_group_id": not_nil(row["placement_group_id"]),
        "node_id": not_nil(row["node_id"]),
        "worker_pid": row["worker_pid"] or None,
        "required_resources": row["required_resources"],
        "label_selector": row["label_selector"] or {},
        "runtime_env": redact_runtime_env((row["runtime_env_info"] or {}).get("serialized_runtime_env", "")),
        "call_site": row["call_site"] or None,
        "task_log_info": log or None,
        "error_type": row["error_type"] or None,
        "error_message": row["error_message"],
        "events": sorted((event["state"], int(event["created_ms"])) for event in row["events"]),
        "spans": sum(phase_of(event["event_name"]) is None for event in events),
        "phases": phases,
    }


def ours_entity(entity: Entity) -> Row:
    now = entity.current()

    def value(name: str, default: Any = "") -> Any:
        return now.get(name, default)

    if entity.kind == "actor":
        return {
            **{key: value(key) for key in ("class_name", "state", "name", "ray_namespace", "repr_name")},
            **{key: value(key, None) for key in ("job_id", "node_id", "pid", "placement_group_id")},
            **{key: value(key) for key in ("is_detached", "num_restarts", "call_site")},
            "required_resources": parsed(value("required_resources")),
            "label_selector": parsed(value("label_selector", "{}")),
            "runtime_env": value("runtime_env", None),
            "death_cause": parsed(value("death_cause", None)),
        }
    if entity.kind == "node":
        return {
            **{key: value(key) for key in ("node_ip", "state", "node_name")},
            "is_head_node": value("is_head"),
            "resources_total": parsed(value("resources_total")),
            "labels": parsed(value("labels")),
            "death_message": value("death_message"),
            "start": ms(value("start_ns", None)),
            "end": ms(value("end_ns", None)),
        }
    if entity.kind == "worker":
        return {
            **{key: value(key) for key in ("worker_type", "node_id", "ip", "pid")},
            "is_alive": value("state") == "ALIVE",
            **{key: value(key, None) for key in ("exit_type", "exit_detail")},
            **{key: ms(value(f"{key}_ns", None)) for key in ("start", "end", "launch", "launched")},
        }
    if entity.kind == "job":
        return {
            **{key: value(key, None) for key in ("type", "submission_id", "error_type")},
            "status": value("state"),
            "entrypoint": value("entrypoint"),
            "message": value("message", None),
            "exit_code": value("exit_code", None),
            "runtime_env": value("runtime_env", None),
            "metadata": parsed(value("metadata", "{}")),
            "start": ms(value("start_ns", None)),
            "end": ms(value("end_ns", None)),
        }
    return {
        **{key: value(key) for key in ("name", "state", "is_detached")},
        "creator_job_id": value("job_id"),
        "bundles": parsed(value("bundles")),
        "stats": parsed(value("stats")),
    }


def theirs_entity(kind: str, row: Row) -> Row:
    if kind == "actor":
        cause = row["death_cause"]
        for context in (cause or {}).values():
            context.pop("serialized_exception", None)
        keys = ("class_name", "state", "name", "ray_namespace", "repr_name", "is_detached", "num_restarts")
        return {
            **{key: row[key] for key in keys},
            **{key: not_nil(row[key]) for key in ("job_id", "node_id", "placement_group_id")},
            "pid": row["pid"] or None,
            "call_site": row["call_site"] or "",
            "required_resources": row["required_resources"],
            "label_selector": row["label_selector"] or {},
            "runtime_env": redact_runtime_env(row["serialized_runtime_env"]),
            "death_cause": cause or None,
        }
    if kind == "node":
        message = row["state_message"] or ""
        return {
            **{key: row[key] for key in ("node_ip", "state", "node_name", "is_head_node")},
            "resources_total": row["resources_total"],
            "labels": row["labels"],
            "death_message": message.partition(": ")[2],
            "start": sane_ms(row["start_time_ms"]),
            "end": sane_ms(row["end_time_ms"]),
        }
    if kind == "worker":
        return {
            **{key: row[key] for key in ("worker_type", "node_id", "ip", "pid", "is_alive")},
            "exit_type": row["exit_type"],
            "exit_detail": clean_error(row["exit_detail"] or "") or None,
            "start": sane_ms(row["start_time_ms"]),
            "end": sane_ms(row["end_time_ms"]),
            "launch": sane_ms(row["worker_launch_time_ms"]),
            "launched": sane_ms(row["worker_launched_time_ms"]),
        }
    if kind == "job":
        return {
            "type": str(row["type"]).rpartition(".")[2],
            "submission_id": row["submission_id"],
            "status": str(row["status"]).rpartition(".")[2],
            "entrypoint": redact_text(row["entrypoint"]),
            "message": clean_error(row["message"] or "") or None,
            "error_type": row["error_type"],
            "exit_code": row["driver_exit_code"],
            "runtime_env": redact_runtime_env(json.dumps(row["runtime_env"] or {})),
            "metadata": row["metadata"] or {},
            "start": sane_ms(row["start_time"]),
            "end": sane_ms(row["end_time"]),
        }
    stats = row["stats"]
    return {
        **{key: row[key] for key in ("name", "state", "is_detached", "creator_job_id")},
        "bundles": [
            {
                "index": int(bundle["bundle_id"].get("bundle_index", 0)),
                "resources": bundle["unit_resources"],
                "node_id": not_nil(bundle["node_id"]),
            }
            for bundle in row["bundles"]
        ],
        "stats": {key: value if key == "scheduling_state" else int(value) for key, value in stats.items()},
    }


def by_identity(batch: RecordBatch) -> dict[tuple[str, str], Row]:
    spans = Counter((span.task_id, span.attempt) for span in batch.spans)
    rows = {
        ("task", f"{attempt.task_id}:{attempt.attempt}"): ours_task(attempt, spans)
        for attempt in batch.attempts
    }
    for entity in batch.entities:
        if not entity.fields.get("alias_of") and not entity.fields.get("is_internal"):
            rows[(entity.kind, entity.id)] = ours_entity(entity)
    return rows


def their_identity(kind: str, row: Row) -> str:
    if kind == "task":
        return f"{row['task_id']}:{row['attempt_number']}"
    if kind == "job":
        return str(row["job_id"] or row["submission_id"])
    return str(row[f"{kind}_id"])


def test_every_field_equals_what_the_state_api_says(cluster: Cluster) -> None:
    """Read, ask Ray, read again; values that are the same in both our reads must equal Ray's answer."""
    client, api = cluster.client(), JobApi(cluster.dashboard, cluster.token, session=cluster.session)
    for _ in range(10):
        before = by_identity(snapshot.read(client, cluster.session, api_jobs=api.submissions()))
        lists = cluster.lists()
        after = by_identity(snapshot.read(client, cluster.session, api_jobs=api.submissions()))
        if before == after:
            break
    steady = {key for key in before if before[key] == after.get(key)}
    compared: Counter[str] = Counter()
    differences: list[str] = []
    seen = set()
    for kind, rows in lists.items():
        for row in rows:
            key = (kind, their_identity(kind, row))
            seen.add(key)
            if key not in steady:
                if key not in after and key not in before:
                    differences.append(f"{key}: missing")
                continue
            theirs = theirs_task(row) if kind == "task" else theirs_entity(kind, row)
            for field, value in theirs.items():
                compared[kind] += 1
                if before[key][field] != value:
                    differences.append(f"{key}.{field}: ours {before[key][field]!r}, Ray's {value!r}")
    differences += [f"{key}: Ray does not list it" for key in steady - seen]
    print(f"compared {dict(compared)} fields of {len(seen)} records, {len(differences)} differ")
    assert not differences, "\n".join(differences[:40])
    assert len(steady) >= 0.9 * len(seen)
    assert compared["task"] > 1000
    assert sum(compared.values()) > 1500
    for kind in ("actor", "node", "worker", "job", "placement_group"):
        assert compared[kind] > 0, kind


def test_the_workload_was_worth_reading(cluster: Cluster) -> None:
    batch = snapshot.read(cluster.client(), cluster.session)
    by_name: dict[str, list[Attempt]] = {}
    for attempt in batch.attempts:
        by_name.setdefault(attempt.name or "", []).append(attempt)
    assert sorted(attempt.attempt for attempt in by_name["failing"]) == [0, 1, 2]
    assert "\x1b" not in (by_name["failing"][0].error or ("", "", ""))[2]
    assert by_name["branch-0"][0].phases.keys() == {"deserialize", "execute", "store", "total"}
    assert {attempt.type for attempt in batch.attempts} == {
        "NORMAL_TASK",
        "ACTOR_TASK",
        "ACTOR_CREATION_TASK",
        "DRIVER_TASK",
    }
    actors = [entity.current() for entity in batch.entities if entity.kind == "actor"]
    assert {actor["state"] for actor in actors} >= {"ALIVE", "DEAD"}
    reasons = [str(actor.get("death_reason", "")) for actor in actors]
    assert any("cannot start" in reason for reason in reasons)
    groups = {entity.current()["state"] for entity in batch.entities if entity.kind == "placement_group"}
    assert groups == {"CREATED", "REMOVED", "PENDING"}
    assert batch.unknown == {}
    assert "very-secret" not in repr(batch)
    assert "user:pass" not in repr(batch)


def test_jobs_show_the_submissions_outcome(cluster: Cluster) -> None:
    api = JobApi(cluster.dashboard, cluster.token, session=cluster.session)
    batch = snapshot.read_entities(cluster.client(), cluster.session, api_jobs=api.submissions())
    jobs = {
        str(entity.fields["submission_id"]): entity
        for entity in batch.entities
        if entity.kind == "job" and "submission_id" in entity.fields and "alias_of" not in entity.fields
    }
    assert set(jobs) == {"good-job", "bad-job", "shell-job"}
    assert jobs["good-job"].current()["state"] == "SUCCEEDED"
    assert jobs["bad-job"].current()["state"] == "FAILED"
    assert jobs["bad-job"].current()["exit_code"] == 3
    assert jobs["bad-job"].id != "bad-job"
    assert jobs["shell-job"].id == "shell-job"
    # Without the job API the GCS still has the outcome of jobs with a driver.
    alone = snapshot.read_entities(cluster.client(), cluster.session)
    bad = next(entity for entity in alone.entities if entity.fields.get("submission_id") == "bad-job")
    assert bad.current()["exit_code"] == 3


def test_cluster_info_and_discovery(cluster: Cluster) -> None:
    info = cluster.client().cluster_info()
    assert info.session == cluster.session
    assert info.dashboard_url == cluster.dashboard
    assert info.ray_version
    assert local_gcs_addresses()[cluster.session] == cluster.gcs_address


def test_ray_token_is_found_where_ray_keeps_it(cluster: Cluster) -> None:
    assert cluster.token
    assert ray_token({"HOME": str(cluster.home)}) == cluster.token


@pytest.mark.parametrize("token", [None, "wrong"])
def test_wrong_token_is_named(cluster: Cluster, token: str | None) -> None:
    with pytest.raises(GcsError) as error:
        GcsClient(cluster.gcs_address, token).cluster_info()
    assert error.value.code == "unauthenticated"
    assert "RAY_AUTH_TOKEN" in error.value.remedy
    with pytest.raises(DashboardError) as refused:
        JobApi(cluster.dashboard, token).submissions()
    assert "token" in refused.value.message


def test_wrong_service_is_named(cluster: Cluster) -> None:
    with pytest.raises(GcsError) as web:
        GcsClient(cluster.dashboard.removeprefix("http://"), cluster.token).cluster_info()
    assert web.value.code == "not_gcs"
    node = cluster.client().nodes()[0]
    with pytest.raises(GcsError) as raylet:
        GcsClient(f"{node.node_manager_address}:{node.node_manager_port}", cluster.token).cluster_info()
    assert raylet.value.code == "not_gcs"


def test_poller_hands_on_changes_once(cluster: Cluster) -> None:
    batches: list[RecordBatch] = []
    poller = Poller(cluster.client(), batches.append)
    poller.poll_now()
    full = snapshot.read(cluster.client(), cluster.session)
    assert {(a.task_id, a.attempt) for b in batches for a in b.attempts} >= {
        (a.task_id, a.attempt) for a in full.attempts
    }
    assert poller.status.ok
    assert poller.status.session == cluster.session
    assert poller.status.job_api_error is None
    batches.clear()
    poller.poll_now()
    assert sum(len(batch.attempts) for batch in batches) <= 0.1 * len(full.attempts)
    poller.stop()


def test_poller_thread_and_a_dying_node(cluster: Cluster) -> None:
    """Last: it ends the second node."""
    batches: list[RecordBatch] = []
    poller = Poller(cluster.client(), batches.append, tasks=False).start()
    cluster.run_command("kill-node")

    def dead_nodes() -> list[Entity]:
        return [
            entity
            for batch in list(batches)
            for entity in batch.entities
            if entity.kind == "node" and entity.observed["state"] == "DEAD"
        ]

    dead: list[Entity] = wait_until(dead_nodes, "the death of the node")
    poller.stop()
    assert not poller._task.is_alive
    assert dead[0].observed["death_reason"] in ("EXPECTED_TERMINATION", "UNEXPECTED_TERMINATION")
    assert poller.status.mode == "entities"
    assert not any(batch.attempts for batch in batches)
