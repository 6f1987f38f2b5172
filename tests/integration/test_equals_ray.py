"""The record made from Ray's events equals Ray's own state API, attempt by attempt, on both lanes.

It does so whichever part of Ray makes the events, and wherever Ray keeps its task table.

Two nodes, one of everything, and more short tasks than Ray's lists return. Ray's side is its whole task
table, converted by Ray's own ``protobuf_to_task_state_dict`` (as ``list_tasks`` does, limited to 10,000
tasks); our side is the SQL views. At first the server does not know the cluster's token, so the tasks are
recorded from events alone. Then it gets the token and reads by itself whatever events do not carry.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from ray.core.generated.common_pb2 import TaskStatus
from tests.cluster import TO_DASHBOARD, WITH_RECORDER, RayCluster
from tests.conftest import sql_rows
from tests.reference import merge_attempts
from tests.state_api import sane_ms, state_ms
from tests.waiting import wait_until

from rayscope.model import Attempt, RecordBatch, TaskError
from rayscope.ray.common import clean_error, is_nil, redact_runtime_env, redact_text
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs.snapshot import read_tasks
from rayscope.ray.gcs.task_table import add_tasks
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray, pytest.mark.long]

WORKLOAD = Path(__file__).parent / "workloads" / "everything.py"
FINISHED, FAILED = TaskStatus.Value("FINISHED"), TaskStatus.Value("FAILED")
TOKEN = "token-of-this-tests-cluster-00000000"
#: More than Ray's lists return (10,000).
SHORT_TASKS = 11_000
#: Variant -> the lane, and Ray's flags. Those of ``WITH_RECORDER`` are the end of the way on which Ray moves
#: task events out of the GCS since 2.58. ``two_tables``: halfway, the GCS and the dashboard keep one each.
VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "fast": ("fast", {}),
    "json": ("json", {}),
    "two_tables": ("fast", TO_DASHBOARD),
    "recorder": ("fast", WITH_RECORDER),
    "recorder_json": ("json", WITH_RECORDER),
}
Row = dict[str, Any]
Key = tuple[str, int]


@dataclass
class Cluster(RayCluster):
    """Two nodes, and the driver that does one of everything."""

    def begin(self) -> None:
        self.start("--num-cpus=3")
        self.add_node("second", "--num-cpus=2", '--resources={"second": 8}')
        command = [
            sys.executable,
            str(WORKLOAD),
            self.gcs,
            f"http://{self.dashboard}",
            str(SHORT_TASKS),
        ]
        with (self.home / "driver.log").open("w") as log:
            self.driver = subprocess.Popen(
                command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.processes.append(self.driver)
        self.answer("ready")

    def answer(self, expected: str) -> None:
        assert self.driver.stdout is not None
        for line in self.driver.stdout:
            if line.strip() == expected:
                return
        raise AssertionError((self.home / "driver.log").read_text()[-4000:])

    def lists(self) -> dict[str, list[Row]]:
        path = self.home / "lists.json"
        assert self.driver.stdin is not None
        self.driver.stdin.write(f"list {path}\n")
        self.driver.stdin.flush()
        self.answer("done")
        rows: dict[str, list[Row]] = json.loads(path.read_text())
        return rows


@dataclass
class Recorded:
    cluster: Cluster
    server: Server

    def rows(self, sql: str) -> list[Row]:
        return sql_rows(self.server.url, sql, self.cluster.session)

    def attempts(self) -> dict[Key, Row]:
        found = self.rows("FROM tasks WHERE type IS DISTINCT FROM 'DRIVER_TASK'")
        return {(row["task_id"], row["attempt"]): row for row in found}

    def summary(self) -> Row:
        found: Row = httpx.get(f"{self.server.url}/api/v1/summary").raise_for_status().json()
        return found


@pytest.fixture(scope="module", params=VARIANTS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    # A short path: Ray's sockets live in there, and a socket's path has 107 characters at most.
    with (
        tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HOME", folder)  # no token of this user's
        for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
            patch.delenv(name, raising=False)
        server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
        server.start()
        lane, flags = VARIANTS[request.param]
        cluster = Cluster(Path(folder), server.ingest_url, lane, TOKEN, flags)
        try:
            cluster.begin()
            yield Recorded(cluster, server)
        finally:
            cluster.stop()
            server.stop()


def ray_tasks(cluster: Cluster) -> dict[Key, Row]:
    from ray.util.state.common import protobuf_to_task_state_dict

    with closing(Dashboard(f"http://{cluster.dashboard}", TOKEN, session=cluster.session)) as dashboard:
        reply, source = read_tasks(cluster.client, dashboard)
    assert source == ("dashboard" if cluster.flags == WITH_RECORDER else "gcs")
    assert not reply.num_status_task_events_dropped
    for event in reply.events_by_task:
        if event.state_updates.state_ts_ns.get(FINISHED) and event.state_updates.state_ts_ns.pop(
            FAILED, None
        ):
            # On a busy machine, Ray declared it failed before it knew that it had finished.
            event.state_updates.ClearField("error_info")
    rows = [protobuf_to_task_state_dict(event) for event in reply.events_by_task]
    return {(row["task_id"], row["attempt_number"]): row for row in rows if row["type"] != "DRIVER_TASK"}


def known(value: Any) -> Any:
    """Ray's nil ids, empty texts and empty maps are unknown."""
    return None if value is None or value in ("", {}) or (isinstance(value, str) and is_nil(value)) else value


def ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else state_ms(time_ns)


def parsed(text: str | None) -> Any:
    return known(json.loads(text)) if text else None


def our_task(row: Row) -> Row:
    same = "name type parent_task_id job_id actor_id node_id worker_id placement_group_id worker_pid"
    logs = "stdout_file stderr_file stdout_start stdout_end stderr_start stderr_end"
    failed = row["reported_state"] == "FAILED"
    return {
        **{name: row[name] for name in same.split()},
        "state": row["reported_state"],
        "func_or_class_name": row["func_name"],
        "language": row["language"],
        "call_site": row["call_site"],
        "runtime_env": row["runtime_env"],
        "required_resources": parsed(row["required_resources"]),
        "label_selector": parsed(row["label_selector"]),
        # Ray reports an error only if the attempt failed in the end.
        "error_type": row["error_type"] if failed else None,
        "error_message": row["error_message"] if failed else None,
        "creation_time_ms": ms(row["pending_args_avail_ns"]),
        "start_time_ms": ms(row["start_ns"]),
        "end_time_ms": ms(row["end_ns"]),
        **{name: row[name] for name in logs.split()},
    }


def their_task(row: Row) -> Row:
    ours_alone = {"runtime_env", "stdout_file", "stderr_file", "stdout_start", "stdout_end", "stderr_start"}
    names = our_task(Counter(reported_state="FAILED")).keys() - ours_alone - {"stderr_end"}
    theirs = {name: known(row.get(name)) for name in names}
    for name in ("creation_time_ms", "start_time_ms", "end_time_ms"):
        theirs[name] = None if theirs[name] is None else int(theirs[name])
    theirs["worker_pid"] = theirs["worker_pid"] or None
    environment = (row["runtime_env_info"] or {}).get("serialized_runtime_env", "")
    return {**theirs, "runtime_env": redact_runtime_env(environment), **(row["task_log_info"] or {})}


def settle(recorded: Recorded) -> tuple[dict[Key, Row], dict[Key, Row]]:
    """Wait until nothing changes on either side; Ray's answer is framed by two equal ones of ours."""

    seen: list[tuple[dict[Key, Row], dict[Key, Row]]] = []

    def steady() -> Any:
        seen[:-1] = []
        seen.append((recorded.attempts(), ray_tasks(recorded.cluster)))
        if recorded.summary()["ingest"]["pending_batches"]:
            seen.clear()
        return seen[-1] if len(seen) == 2 and seen[0] == seen[1] else None

    # Workers report once a second.
    found: tuple[dict[Key, Row], dict[Key, Row]] = wait_until(steady, "both sides at rest", pause_s=3)
    return found


def compare(ours: dict[Key, Row], theirs: dict[Key, Row]) -> dict[Key, list[str]]:
    """The differing attempts with what differs. What Ray does not know and we do is no difference."""
    found: dict[Key, list[str]] = {}
    known_to_us_alone: Counter[str] = Counter()
    for key, row in theirs.items():
        if key not in ours:
            found[key] = [f"{row['name']} {row['state']}: missing"]
            continue
        mine = our_task(ours[key])
        for name, value in their_task(row).items():
            if value is None and mine[name] is not None:
                known_to_us_alone[name] += 1
            elif mine[name] != value:
                found.setdefault(key, []).append(
                    f"{row['name']}.{name}: {mine[name]!r}, Ray: {value!r}"[:500]
                )
    states = Counter(row["state"] for row in theirs.values())
    print(f"\ncompared {len(theirs)} attempts {dict(states)}, {len(found)} differ")
    print(f"fields that only we know: {dict(known_to_us_alone)}")
    for key, what in list(found.items())[:20]:
        print(" ", key, what)
    return found


def test_every_attempt_equals_what_ray_says(recorded: Recorded) -> None:
    ours, theirs = settle(recorded)
    assert recorded.summary()["recording"] == "events"
    differences = compare(ours, theirs)
    # The GCS itself declares failed what still ran on a worker that it killed with its job. No event says
    # so; once the GCS can be read the next test finds the very same there.
    left = {key for key, row in theirs.items() if row["name"] == "left_behind"}
    assert len(left) == 1
    # Likewise how a worker died, if the GCS was quicker to say so than the owner of its task.
    hows = {
        key
        for key, what in differences.items()
        if theirs[key]["error_type"] == "WORKER_DIED"
        and [w.partition(": '', ")[0] for w in what] == [f"{theirs[key]['name']}.error_message"]
    }
    assert differences.keys() - hows <= left
    (key,) = left
    # Its owner, if it lives long enough, is quicker than the GCS to say so.
    assert (ours[key]["reported_state"], theirs[key]["state"]) in (
        ("RUNNING", "FAILED"),
        ("FAILED", "FAILED"),
    )
    # The GCS omits attempts without a definition: restarts of actors.
    extra = [row for key, row in ours.items() if key not in theirs]
    print(f"attempts that only we have: {[(row['func_name'], row['attempt']) for row in extra]}")
    assert all(row["type"] == "ACTOR_CREATION_TASK" and row["attempt"] > 0 for row in extra)
    assert all(row["state"] == "FINISHED" for row in extra)


def test_both_task_tables_hold_the_same(recorded: Recorded) -> None:
    """The GCS's own table, and the dashboard's, which Ray makes from events."""
    if recorded.cluster.flags != TO_DASHBOARD:
        pytest.skip("there is one table")
    settle(recorded)
    dashboard = Dashboard(f"http://{recorded.cluster.dashboard}", TOKEN, session=recorded.cluster.session)
    attempts = []
    for reply in (recorded.cluster.client.task_events(), dashboard.task_events()):
        batch = RecordBatch("session")
        add_tasks(reply.events_by_task, batch)
        found: dict[Key, Attempt] = {}
        for one in batch.attempts:  # what the tracer says of a coroutine is a part of its own
            merge_attempts(
                found.setdefault((one.task_id, one.attempt), Attempt(one.task_id, one.attempt)), one
            )
        attempts.append(found)
    dashboard.close()
    gcs, moved = attempts
    assert gcs.keys() == moved.keys()
    differ: Counter[str] = Counter()
    for key, attempt in gcs.items():
        for one in (attempt, moved[key]):
            if one.error is not None and one.error.type == "WORKER_DIED":
                # Whichever of the owner and the keeper of the table is quicker says how and when.
                one.states["FAILED"], one.error = 0, TaskError(0, "WORKER_DIED", "")
        for name in attempt.__struct_fields__:
            left, right = getattr(attempt, name), getattr(moved[key], name)
            if left != right:
                differ[name] += 1
                if differ[name] < 4:
                    print(name, attempt.name, left, right)
    assert not differ
    # Fields that only events carry, as docs/explanation/record.md says. Call sites are off by default.
    in_tables = {name for one in gcs.values() for name in one.__struct_fields__ if getattr(one, name)}
    lacking = set(Attempt.__struct_fields__) - in_tables - {"call_site"}
    assert lacking == {"module_name", "function_hash", "caller_task_id"}
    names = recorded.rows("SELECT DISTINCT module_name, function_hash FROM tasks WHERE type = 'NORMAL_TASK'")
    assert all(row["module_name"] and row["function_hash"] for row in names)


def test_the_workload_was_worth_comparing(recorded: Recorded) -> None:
    def theirs_with_all_states() -> dict[Key, Row] | None:
        rows = ray_tasks(recorded.cluster)
        return rows if {row["state"] for row in rows.values()} >= {"RUNNING", "FINISHED", "FAILED"} else None

    theirs = wait_until(theirs_with_all_states, "tasks in every state")
    assert len(theirs) > SHORT_TASKS
    types = {row["type"] for row in theirs.values()}
    assert types == {"NORMAL_TASK", "ACTOR_TASK", "ACTOR_CREATION_TASK"}
    errors = {row.get("error_type") for row in theirs.values()} - {None}
    assert errors >= {"TASK_EXECUTION_EXCEPTION", "WORKER_DIED", "TASK_CANCELLED", "ACTOR_DIED"}
    names = {row["name"] for row in theirs.values()}
    shown = {
        "renamed by its user",
        "a call with a name",
        "Named(label 0).ping",
        "short",
        "level_three",
        "in_method",
    }
    assert not {name for name in shown if not any(name in known for known in names)}
    assert {row["job_id"] for row in theirs.values()} == {"01000000", "02000000"}
    assert len({row["node_id"] for row in theirs.values() if row["node_id"]}) == 2
    assert max(row["attempt_number"] for row in theirs.values()) == 2
    for name in ("placement_group_id", "label_selector", "actor_repr_name", "parent_task_id"):
        assert any(known(row[name]) for row in theirs.values()), name
    depth = recorded.rows("SELECT max(depth) AS depth FROM paths")[0]["depth"]
    assert depth == 3  # three levels of nested tasks below the driver
    summary = recorded.summary()
    assert summary["ingest"]["unknown"] == {}
    dropped = summary["dropped"]
    assert (dropped["total"], dropped["spans"], dropped["by"], dropped["unresolved_attempts"]) == (
        0,
        0,
        [],
        0,
    )


def test_both_nodes_used_the_configured_lane(recorded: Recorded) -> None:
    lanes = recorded.summary()["lanes"]
    other = "json" if recorded.cluster.lane == "fast" else "fast"
    assert (lanes[recorded.cluster.lane], lanes[other], lanes["none"]) == (2, 0, 0)
    assert [reason["code"] for reason in lanes["reasons"]] == ["not_installed"] * (other == "fast")


def test_no_secret_is_on_record(recorded: Recorded) -> None:
    everything = "".join(str(recorded.rows(f"FROM {view}")) for view in ("tasks", "actors", "jobs", "spans"))
    assert "PASSWORD" in everything  # the environment is there, its values are not
    assert "s3cret-of-the-workload" not in everything


def whole_ms(time_ns: int | None) -> int | None:
    """Entities have their times in ms from Ray's tables."""
    return None if time_ns is None else time_ns // 1_000_000


def death(text: str | None) -> str | None:
    return clean_error(text) if text else None


#: Kind -> (our row -> comparable, Ray's row -> comparable).
ENTITIES: dict[str, tuple[Callable[[Row], Row], Callable[[Row], Row]]] = {
    "actor": (
        lambda row: {
            **{name: row[name] for name in ("class_name", "state", "job_id", "node_id", "pid", "repr_name")},
            **{name: row[name] for name in ("name", "ray_namespace", "is_detached", "placement_group_id")},
            "required_resources": parsed(row["required_resources"]),
            "num_restarts": row["num_restarts"],
        },
        lambda row: {
            **{name: known(row[name]) for name in ("class_name", "state", "job_id", "node_id", "repr_name")},
            **{name: known(row[name]) for name in ("name", "ray_namespace", "placement_group_id")},
            "is_detached": row["is_detached"],
            "pid": row["pid"] or None,
            "required_resources": known(row["required_resources"]),
            "num_restarts": int(row["num_restarts"]),
        },
    ),
    "node": (
        lambda row: {
            **{name: row[name] for name in ("state", "node_ip", "node_name", "is_head")},
            "resources_total": parsed(row["resources_total"]),
            "labels": parsed(row["labels"]),
            "start": whole_ms(row["start_ns"]),
        },
        lambda row: {
            **{name: row[name] for name in ("state", "node_ip", "node_name", "resources_total")},
            "is_head": row["is_head_node"],
            "labels": known(row["labels"]),
            "start": sane_ms(row["start_time_ms"]),
        },
    ),
    "worker": (
        lambda row: {
            **{name: row[name] for name in ("worker_type", "node_id", "pid", "ip", "exit_type")},
            "alive": row["state"] == "ALIVE",
            "exit_detail": row["exit_detail"] or None,
            "start": whole_ms(row["start_ns"]),
            "end": whole_ms(row["end_ns"]),
        },
        lambda row: {
            **{name: known(row[name]) for name in ("worker_type", "node_id", "pid", "ip", "exit_type")},
            "alive": row["is_alive"],
            "exit_detail": death(row["exit_detail"]),
            "start": sane_ms(row["start_time_ms"]),
            "end": sane_ms(row["end_time_ms"]),
        },
    ),
    "job": (
        lambda row: {
            **{name: row[name] for name in ("state", "type", "entrypoint", "submission_id")},
            "start": whole_ms(row["start_ns"]),
            "end": whole_ms(row["end_ns"]),
        },
        lambda row: {
            "state": str(row["status"]).rpartition(".")[2],
            "type": str(row["type"]).rpartition(".")[2],
            "entrypoint": redact_text(row["entrypoint"]),
            "submission_id": row["submission_id"],
            "start": sane_ms(row["start_time"]),
            "end": sane_ms(row["end_time"]),
        },
    ),
    "placement_group": (
        lambda row: {
            **{name: row[name] for name in ("state", "name", "is_detached", "job_id")},
            "bundles": [(b["index"], b["resources"], b["node_id"]) for b in json.loads(row["bundles"])],
        },
        lambda row: {
            **{name: known(row[name]) for name in ("state", "name")},
            "is_detached": row["is_detached"],
            "job_id": row["creator_job_id"],
            "bundles": [
                (int(b["bundle_id"].get("bundle_index", 0)), b["unit_resources"], known(b["node_id"]))
                for b in row["bundles"]
            ],
        },
    ),
}


def entity_differences(recorded: Recorded, lists: dict[str, list[Row]]) -> list[str]:
    found: list[str] = []
    compared: Counter[str] = Counter()
    for kind, (mine, theirs) in ENTITIES.items():
        ours = {row[f"{kind}_id"]: row for row in recorded.rows(f"FROM {kind}s")}
        for row in lists[kind]:
            identity = row[f"{kind}_id"]
            compared[kind] += 1
            if identity not in ours:
                found.append(f"{kind} {identity}: missing")
                continue
            left, right = mine(ours[identity]), theirs(row)
            found += [
                f"{kind} {identity}.{name}: {left[name]!r}, Ray: {value!r}"
                for name, value in right.items()
                if left[name] != value
            ]
    print("\n  ".join([f"\ncompared {dict(compared)}, {len(found)} fields differ", *found[:10]]))
    assert all(compared[kind] for kind in ENTITIES)
    return found


def test_the_gcs_provides_whatever_events_do_not_carry(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the token, the server finds the cluster by itself and completes what events left open. Then
    entities equal Ray's lists, too."""
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)

    def equal() -> bool:
        return not compare(recorded.attempts(), ray_tasks(recorded.cluster))

    wait_until(equal, "the attempt that was left behind has its end")
    wait_until(lambda: not entity_differences(recorded, recorded.cluster.lists()), "equal entities")
