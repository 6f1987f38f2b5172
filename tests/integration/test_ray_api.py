"""Ray's own functions and commands, once with Ray's dashboard and once with our record, give the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from ray.job_submission import JobSubmissionClient
from ray.util.state import api as state_api
from ray.util.state.exception import RayStateApiException
from tests.cluster import RayCluster
from tests.story import SESSION, Story
from tests.waiting import wait_until

from rayscope.ray.common import redact_runtime_env
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray]

WORKLOAD = Path(__file__).parent / "workloads" / "ray_api.py"
TOKEN = "token-of-this-server-000000000000"
KINDS = ("tasks", "actors", "nodes", "workers", "jobs", "placement_groups", "objects")
Row = dict[str, Any]
#: Fields that may differ, and why. Ray's value is unknown to us, or ours to Ray.
DIFFERENCES = {
    "profiling_data": "the record has it, and `rayscope export` writes it",
    "runtime_env_info": "without the configuration of the environment, and without secrets",
    "serialized_runtime_env": "without secrets",
    "fallback_strategy": "is not recorded",
    "num_restarts_due_to_lineage_reconstruction": "is not recorded",
    "num_restarts_due_to_node_preemption": "is not recorded",
    "topology_strategy": "is not recorded",
    "topology_assignments": "is not recorded",
    "driver_agent_http_address": "has no use once the cluster is gone",
    "bundles": "without label selectors, which are not recorded",
}
#: -1 as a number of 64 bits, as Ray writes the unknown start of a driver.
_MINUS_ONE = 2**64 - 1


@dataclass
class Cluster(RayCluster):
    """A node, and the driver of the workload."""

    server: Server | None = None

    @property
    def rays(self) -> str:
        return f"http://{self.dashboard}"

    @property
    def ours(self) -> str:
        assert self.server is not None
        return f"{self.server.url}/ray/{self.session}"

    def begin(self) -> None:
        self.start("--num-cpus=3")
        assert self.server is not None
        assert self.server.services is not None
        self.server.services.clusters.attach(self.gcs)
        with (self.home / "driver.log").open("w") as log:
            self.driver = subprocess.Popen(
                [sys.executable, str(WORKLOAD), self.gcs, self.rays],
                env=self.env | {"RAY_ADDRESS": self.gcs},
                cwd=self.home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.processes.append(self.driver)
        assert self.driver.stdout is not None
        assert "ready" in map(str.strip, self.driver.stdout), (self.home / "driver.log").read_text()[-4000:]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HOME", folder)
        # Ray's client would prefer these to the address.
        for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
            patch.delenv(name, raising=False)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
        server.start()
        made = Cluster(Path(folder), server.ingest_url, server=server)
        try:
            made.begin()
            yield made
        finally:
            made.stop()
            server.stop()


def plain(state: Any) -> Row:
    row: Row = asdict(state) if is_dataclass(state) else json.loads(state.json())
    return row


def identity(kind: str, row: Row) -> tuple[Any, ...]:
    if kind == "tasks":
        return row["task_id"], row["attempt_number"]
    if kind == "jobs":
        return row["job_id"], row["submission_id"]
    if kind == "objects":
        return row["object_id"], row["pid"], row["reference_type"]
    return (row[f"{kind.removesuffix('s')}_id"],)


def comparable(name: str, value: Any) -> Any:
    return None if value in ("", {}, -1, _MINUS_ONE) else value


def rows_of(kind: str, address: str, **options: Any) -> dict[tuple[Any, ...], Row]:
    """What Ray's own function returns, with all fields that must be equal."""
    found = getattr(state_api, f"list_{kind}")(address=address, detail=True, limit=10_000, **options)
    return {
        identity(kind, row): {
            name: comparable(name, value) for name, value in row.items() if name not in DIFFERENCES
        }
        for row in map(plain, found)
    }


def differences(theirs: dict[tuple[Any, ...], Row], ours: dict[tuple[Any, ...], Row]) -> list[str]:
    """What Ray knows and we do not, or differently."""
    found = [f"only Ray has {key}" for key in theirs.keys() - ours.keys()]
    found += [f"only we have {key}" for key in ours.keys() - theirs.keys()]
    for key in theirs.keys() & ours.keys():
        found += [
            f"{key}.{name}: {ours[key].get(name)!r}, Ray: {value!r}"
            for name, value in theirs[key].items()
            if value is not None and ours[key].get(name) != value
        ]
    return found


def settled(cluster: Cluster, kind: str, **options: Any) -> None:
    """Wait until our answer equals Ray's; what differs if it never does."""
    seen: list[str] = []

    def equal() -> bool:
        theirs, ours = (rows_of(kind, address, **options) for address in (cluster.rays, cluster.ours))
        seen[:] = differences(theirs, ours)
        return not seen

    try:
        wait_until(equal, kind, pause_s=0.5)
    except AssertionError:
        raise AssertionError("\n".join(seen[:20])) from None


def command(address: str, *arguments: str, **env: str) -> str:
    """The output of one of Ray's commands."""
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", *arguments, "--address", address],
        env={**os.environ, "RAY_LOGGING_LEVEL": "error", **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_a_live_cluster_equal_rays(cluster: Cluster, kind: str) -> None:
    settled(cluster, kind)
    plain_list: Callable[..., list[Any]] = getattr(state_api, f"list_{kind}")

    def equal() -> bool:
        theirs = rows_of(kind, cluster.rays)
        ours = [plain(state) for state in plain_list(address=cluster.ours)]
        return bool(ours) and {identity(kind, row) for row in ours} == theirs.keys()

    wait_until(equal, f"{kind} without details")
    # Without details there are fewer fields, and the same.
    shown = httpx.get(f"{cluster.rays}/api/v0/{kind}").json()["data"]["result"]["result"][0].keys()
    assert httpx.get(f"{cluster.ours}/api/v0/{kind}").json()["data"]["result"]["result"][0].keys() == shown


FILTERS = (
    ("tasks", [("state", "=", "failed")]),
    ("tasks", [("state", "!=", "FINISHED"), ("type", "=", "NORMAL_TASK")]),
    ("tasks", [("name", "=", "Renamed")]),
    ("tasks", [("func_or_class_name", "=", "Named.add")]),
    ("tasks", [("attempt_number", "=", "2")]),
    ("tasks", [("node_id", "=", "none")]),
    ("actors", [("state", "=", "ALIVE")]),
    ("actors", [("class_name", "!=", "Counter")]),
    ("nodes", [("is_head_node", "=", "True")]),
    ("workers", [("is_alive", "=", "False")]),
    ("workers", [("worker_type", "=", "driver")]),
    ("jobs", [("type", "=", "SUBMISSION")]),
    ("placement_groups", [("state", "=", "REMOVED")]),
    ("objects", [("reference_type", "=", "LOCAL_REFERENCE")]),
)


@pytest.mark.parametrize(("kind", "filters"), FILTERS)
def test_filters_select_the_same(cluster: Cluster, kind: str, filters: list[tuple[str, str, str]]) -> None:
    settled(cluster, kind)
    settled(cluster, kind, filters=filters)
    params = {
        f"filter_{part}": [one[at] for one in filters]
        for at, part in enumerate(("keys", "predicates", "values"))
    }
    names = ["num_filtered"]
    if kind != "nodes" and filters != [("is_alive", "=", "False")]:  # Ray counts these after filtering
        names += ["total", "num_after_truncation"]

    def counts(address: str) -> list[int]:
        result = httpx.get(f"{address}/api/v0/{kind}", params={**params, "limit": 1}).json()["data"]["result"]
        return [result[name] for name in names]

    wait_until(lambda: counts(cluster.rays) == counts(cluster.ours), f"equal counts of {kind}")


def test_drivers_are_listed_on_request(cluster: Cluster) -> None:
    settled(cluster, "tasks")
    theirs, ours = (
        {
            (task.task_id, task.type)
            for task in state_api.StateApiClient(address=address).list(
                state_api.StateResource.TASKS,
                options=state_api.ListApiOptions(exclude_driver=False),
                raise_on_missing_output=True,
            )
        }
        for address in (cluster.rays, cluster.ours)
    )
    assert theirs == ours
    assert "DRIVER_TASK" in {kind for _, kind in ours}


@pytest.mark.parametrize("kind", ["tasks", "actors", "objects"])
def test_summaries_equal_rays(cluster: Cluster, kind: str) -> None:
    settled(cluster, kind)
    summarize = getattr(state_api, f"summarize_{kind}")
    assert summarize(address=cluster.ours) == summarize(address=cluster.rays)
    theirs, ours = (
        httpx.get(f"{address}/api/v0/{kind}/summarize").json()["data"]["result"]
        for address in (cluster.rays, cluster.ours)
    )
    assert {**theirs, "partial_failure_warning": ""} == ours


def test_single_items_equal_rays(cluster: Cluster) -> None:
    for kind in KINDS:
        settled(cluster, kind)
    for kind, name in (("tasks", "plain"), ("actors", "it"), ("nodes", None), ("workers", None)):
        rows = rows_of(kind, cluster.ours).values()
        row = next(row for row in rows if name is None or row["name"] == name)
        one = kind.removesuffix("s")
        got = getattr(state_api, f"get_{one}")(row[f"{one}_id"], address=cluster.ours)
        assert plain(got)[f"{one}_id"] == row[f"{one}_id"]
    retried = next(
        row["task_id"] for row in rows_of("tasks", cluster.ours).values() if row["name"] == "fails"
    )
    assert len(state_api.get_task(retried, address=cluster.ours)) == 3
    assert state_api.get_task("a" * 48, address=cluster.ours) is None
    assert state_api.get_job("submitted", address=cluster.ours).status == "SUCCEEDED"


def test_the_job_client_works(cluster: Cluster) -> None:
    settled(cluster, "jobs")
    theirs, ours = (JobSubmissionClient(address) for address in (cluster.rays, cluster.ours))
    jobs = [
        [{**json.loads(job.json()), "driver_agent_http_address": None} for job in client.list_jobs()]
        for client in (theirs, ours)
    ]
    for rows in jobs:
        rows.sort(key=str)
    assert jobs[0] == jobs[1]
    assert ours.get_job_status("submitted") == theirs.get_job_status("submitted")
    assert ours.get_job_info("01000000").entrypoint == theirs.get_job_info("01000000").entrypoint
    assert ours.get_job_logs("submitted") == theirs.get_job_logs("submitted")
    with pytest.raises(RuntimeError, match="404: Job nobody does not exist"):
        ours.get_job_info("nobody")
    with pytest.raises(RuntimeError, match=f"405: Rayscope only reads. Send this .*{cluster.dashboard}"):
        ours.submit_job(entrypoint="echo")
    with pytest.raises(RuntimeError, match="405: Rayscope only reads"):
        ours.stop_job("submitted")


def test_log_files_equal_rays(cluster: Cluster) -> None:
    settled(cluster, "tasks")
    (node,) = rows_of("nodes", cluster.ours).values()
    tasks = rows_of("tasks", cluster.ours).values()
    task = next(row for row in tasks if row["name"] == "renamed")
    requests: tuple[dict[str, Any], ...] = (
        {"node_id": node["node_id"], "filename": "job-driver-submitted.log", "lines": 2},
        {"task_id": task["task_id"]},
        {"node_id": node["node_id"], "pid": task["worker_pid"], "lines": -1},
        {"submission_id": "submitted", "node_id": node["node_id"]},
    )
    for params in requests:
        theirs, ours = (
            httpx.get(f"{address}/api/v0/logs/file", params=params)
            for address in (cluster.rays, cluster.ours)
        )
        assert (ours.status_code, ours.text) == (theirs.status_code, theirs.text) == (200, ours.text), params
        assert ours.text
    for params in (
        {"node_id": node["node_id"], "glob": "*.out"},
        {"node_ip": node["node_ip"], "glob": "worker*"},
    ):
        theirs, ours = (
            httpx.get(f"{address}/api/v0/logs", params=params).json()["data"]["result"]
            for address in (cluster.rays, cluster.ours)
        )
        assert {name: sorted(files) for name, files in theirs.items()} == ours


def test_the_root_answers_for_the_live_session(cluster: Cluster) -> None:
    assert cluster.server is not None
    settled(cluster, "tasks")
    assert rows_of("tasks", cluster.server.url).keys() == rows_of("tasks", cluster.ours).keys()
    assert JobSubmissionClient(cluster.server.url).get_job_logs("submitted")
    assert httpx.get(f"{cluster.server.url}/api/nodes").headers["location"] == "/api/v1/nodes"


def test_events_and_environments_are_listed(cluster: Cluster) -> None:
    events = state_api.list_cluster_events(address=cluster.ours, limit=10_000)
    assert {event["source_type"] for event in events} >= {"NODE", "ACTOR", "TASK"}
    theirs, ours = (
        {
            json.dumps(env["runtime_env"], sort_keys=True)
            for env in state_api.list_runtime_envs(address=address)
        }
        for address in (cluster.rays, cluster.ours)
    )
    assert {redact_runtime_env(env) for env in theirs} <= {redact_runtime_env(env) for env in ours}


#: Fields of nodes and actors in Ray's dashboard that are not recorded, or change all the time.
UNRECORDED = {
    *("rayletSocketName", "objectStoreSocketName", "nodeManagerPort", "objectManagerPort"),
    *("runtimeEnvAgentPort", "metricsAgentPort", "stateSnapshot", "tempDir", "sessionDir", "nodeTypeName"),
    *("storeStats", "coreWorkersStats", "numWorkers", "objectStoreUsedMemory", "objectStoreAvailableMemory"),
    *("port", "processStats", "mem", "fallbackStrategy"),
}
#: Fields of Ray's dashboard that its front end reads of a node, and that are measured all the time.
MEASURED = {
    "now",
    "hostname",
    "ip",
    "cpu",
    "cpus",
    "mem",
    "shm",
    "bootTime",
    "loadAvg",
    "disk",
    "networkSpeed",
}


def ask(address: str, path: str) -> Any:
    return httpx.get(f"{address}/{path}").json()


def lacking(theirs: Any, ours: Any, place: str = "") -> list[str]:
    """The fields of Ray's answer that ours lacks or has with another value."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return [
            problem
            for name, value in theirs.items()
            if name not in UNRECORDED
            for problem in lacking(value, ours.get(name), f"{place}.{name}")
        ]
    return [] if theirs in (None, "") or theirs == ours else [f"{place}: {ours!r}, Ray: {theirs!r}"]


def equals_rays(cluster: Cluster, path: str, read: Callable[[Any], Any]) -> None:
    """Wait until our answer has everything in Ray's. The error lists the missing fields."""
    problems: list[str] = []

    def equal() -> bool:
        problems[:] = lacking(read(ask(cluster.rays, path)), read(ask(cluster.ours, path)))
        return not problems

    try:
        wait_until(equal, path, pause_s=0.5)
    except AssertionError:
        raise AssertionError("\n".join(problems[:20])) from None


def test_nodes_of_the_dashboard_equal_rays(cluster: Cluster) -> None:
    def raylets(answer: Any) -> Any:
        return {node["raylet"]["nodeId"]: node["raylet"] for node in answer["data"]["summary"]}

    equals_rays(cluster, "nodes?view=summary", raylets)
    (node_id,) = raylets(ask(cluster.ours, "nodes?view=summary"))
    equals_rays(cluster, f"nodes/{node_id}", lambda answer: answer["data"]["detail"]["raylet"])
    equals_rays(cluster, "nodes?view=hostNameList", lambda answer: answer)
    equals_rays(cluster, "nodes/nowhere", lambda answer: answer["data"]["detail"].get("actors", {}))

    def measured() -> bool:
        (theirs,), (ours,) = (
            ask(address, "nodes?view=summary")["data"]["summary"] for address in (cluster.rays, cluster.ours)
        )
        return all(type(theirs[name]) is type(ours.get(name)) for name in MEASURED - {"cpu"})

    wait_until(measured, "what Ray measures of the node")
    (theirs,), (ours,) = (
        ask(address, "nodes?view=summary")["data"]["summary"] for address in (cluster.rays, cluster.ours)
    )
    for name in ("hostname", "ip", "bootTime"):
        assert theirs[name] == ours[name]
    assert theirs["mem"][0] == ours["mem"][0]
    assert theirs["disk"]["/"].keys() == ours["disk"]["/"].keys()


def test_actors_of_the_dashboard_equal_rays(cluster: Cluster) -> None:
    def stable(answer: Any) -> Any:
        return {
            actor_id: {name: value for name, value in actor.items() if not name.startswith("num") and value}
            for actor_id, actor in answer["data"]["actors"].items()
        }

    equals_rays(
        cluster, "logical/actors", lambda answer: {key: of(row) for key, row in stable(answer).items()}
    )
    for actor_id in ask(cluster.rays, "logical/actors")["data"]["actors"]:
        equals_rays(cluster, f"logical/actors/{actor_id}", lambda answer: of(answer["data"]["detail"]))
    assert ask(cluster.ours, "logical/actors/nobody") == ask(cluster.rays, "logical/actors/nobody")
    chosen = ask(cluster.ours, f"logical/actors?ids={actor_id}")["data"]["actors"]
    assert chosen.keys() == {actor_id}


def of(actor: Row) -> Row:
    """The fields of an actor that Ray records. Its ``timestamp``, when the GCS wrote them, is not."""
    fields = (
        *("actorId", "jobId", "address", "name", "className", "state", "numRestarts", "pid"),
        *("startTime", "endTime", "reprName", "placementGroupId", "labelSelector", "actorClass"),
        *("exitDetail", "requiredResources", "callSite"),
    )
    return {name: actor[name] for name in fields if name in actor}


def test_the_timeline_equals_rays(cluster: Cluster) -> None:
    path = "api/v0/tasks/timeline?job_id=01000000"

    def times(events: list[Row]) -> dict[str, tuple[float, float]]:
        found = {}
        for event in events:
            if event["ph"] == "X" and re.match("task::|task:(deserialize|execute|store)", event["cat"]):
                args, name = event["args"], event["name"].split(".")[-1]
                about = (
                    args["task_id"],
                    args["attempt_number"],
                    args["actor_id"],
                    args["func_or_class_name"],
                )
                key = " ".join(map(str, (*about, event["cat"], name, event["cname"])))
                found[key] = (event["ts"], event["dur"])
        return found

    equals_rays(cluster, path, lambda answer: dict.fromkeys(times(answer), True))
    theirs, ours = times(ask(cluster.rays, path)), times(ask(cluster.ours, path))
    assert len(theirs) > 20
    # In microseconds, of which Ray writes few digits.
    assert [name for name, found in theirs.items() if found != pytest.approx(ours[name], rel=0, abs=1)] == []


@pytest.mark.parametrize(
    "path",
    [
        "api/serve/applications/",
        "api/v0/runtime_env_redaction",
        "api/authentication_mode",
        "usage_stats_enabled",
    ],
)
def test_answers_without_a_library_equal_rays(cluster: Cluster, path: str) -> None:
    theirs, ours = (ask(address, path) for address in (cluster.rays, cluster.ours))
    if path == "usage_stats_enabled":
        assert theirs["data"].keys() == ours["data"].keys()
    else:
        assert theirs == ours


def test_events_of_the_dashboard_have_rays_fields(cluster: Cluster) -> None:
    answer = ask(cluster.ours, "events?job_id=01000000")
    assert answer["data"]["jobId"] == "01000000"
    labels = {event["label"] for event in answer["data"]["events"]}
    assert labels >= {"TASK_FAILED", "ACTOR_DEAD"}
    assert "global" in ask(cluster.ours, "events")["data"]["events"]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("tasks?limit=-1", 400, "limit must not be negative"),
        ("tasks?limit=x", 400, "limit must be an integer"),
        ("tasks?limit=99999999999999999999999999", 400, "limit is too large"),
        ("tasks?filter_keys=foo&filter_predicates=%3D&filter_values=1", 400, "foo is not supported"),
        ("tasks?filter_keys=state&filter_predicates=~&filter_values=1", 400, "predicate ~ is given"),
        ("tasks?filter_keys=state", 400, "needs a key, a predicate and a value"),
        ("tasks?filter_keys=worker_pid&filter_predicates=%3D&filter_values=x", 400, "must be an integer"),
        ("workers?filter_keys=is_alive&filter_predicates=%3D&filter_values=x", 400, "true or false"),
        ("nothing", 404, "does not answer this part"),
        ("nodes/summarize", 404, "does not answer this part"),
        ("logs", 400, "Please provide at least one of them"),
        ("logs?node_ip=nowhere", 404, "Cannot find matching node_id"),
        ("logs/file?node_id=a", 400, "At least one of them is required"),
        ("logs/file?node_id=a&filename=../../etc/passwd", 404, "Not a valid log file name"),
    ],
)
def test_bad_requests_are_explained(cluster: Cluster, path: str, status: int, message: str) -> None:
    answer = httpx.get(f"{cluster.ours}/api/v0/{path}")
    assert answer.status_code == status
    body = answer.json()
    assert body["result"] is False
    assert body["data"] == {"result": None}
    assert message in body["msg"]


def test_unknown_sessions_and_changes_are_refused(cluster: Cluster) -> None:
    assert cluster.server is not None
    nowhere = f"{cluster.server.url}/ray/nowhere"
    with pytest.raises(RayStateApiException, match="nowhere"):
        state_api.list_tasks(address=nowhere)
    assert httpx.get(f"{nowhere}/api/jobs/").status_code == 404
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = httpx.request(method, f"{cluster.ours}/api/jobs/submitted")
        assert answer.status_code == 405
        assert cluster.dashboard in answer.text
        assert httpx.request(method, f"{nowhere}/api/v0/x").status_code == 404


def test_ended_clusters_answer_as_before(cluster: Cluster) -> None:
    """This comes last, because it ends the cluster."""
    assert cluster.server is not None
    assert cluster.server.services is not None
    services = cluster.server.services
    for kind in KINDS:
        settled(cluster, kind)
    services.object_readings.keep(cluster.session)
    before = {kind: rows_of(kind, cluster.ours) for kind in KINDS}
    store = services.logs.store(cluster.session, make=True)
    (node_id,) = before["nodes"].popitem()[0]
    wait_until(lambda: store and "job-driver-submitted.log" in store.names(node_id), "the copy of the log")
    log = JobSubmissionClient(cluster.ours).get_job_logs("submitted")
    cluster.stop()
    wait_until(lambda: not services.records.is_live(cluster.session), "the end of the session")
    wait_until(
        lambda: {row["state"] for row in rows_of("nodes", cluster.ours).values()} == {"DEAD"},
        "its nodes' ends",
    )
    after = {kind: rows_of(kind, cluster.ours) for kind in KINDS}
    for kind in KINDS:
        assert after[kind].keys() >= before[kind].keys(), kind
    ends = {"state", "end_time_ms", "error_type", "error_message"}
    for key, row in before["tasks"].items():
        changed = {name for name in row if row[name] != after["tasks"][key][name]}
        if row["state"] in ("FINISHED", "FAILED"):
            assert not changed
        else:
            assert changed <= ends
            assert after["tasks"][key]["error_type"] == "WORKER_DIED"
    # The driver may have released some before.
    assert before["objects"].items() <= after["objects"].items()
    assert JobSubmissionClient(cluster.ours).get_job_logs("submitted") == log
    with pytest.raises(RuntimeError, match="405: Rayscope only reads, and this cluster has ended"):
        JobSubmissionClient(cluster.ours).submit_job(entrypoint="echo")
    rays_commands(cluster.ours, after["tasks"].values())


def rays_commands(address: str, tasks: Collection[Row]) -> None:
    """Ray's commands about a cluster that has ended."""
    rows = json.loads(command(address, "list", "tasks", "--format", "json", "--limit", "20000"))
    assert len(rows) == len(tasks)
    failed = json.loads(
        command(address, "list", "tasks", "-f", "state=FAILED", "--format", "json", "--detail")
    )
    assert {row["name"] for row in failed} >= {"fails", "exits", "sleeps", "waits_for_ever"}
    task = next(row["task_id"] for row in tasks if row["name"] == "renamed")
    assert task in command(address, "get", "tasks", task)
    assert "waits_for_ever" in command(address, "summary", "tasks")
    assert "Named" in command(address, "summary", "actors")
    assert "submitted" in command(address, "job", "list")
    assert "succeeded" in command(address, "job", "status", "submitted")
    assert "world" in command(address, "job", "logs", "submitted")


def test_rays_client_signs_in_with_our_token(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    server = serve(token=TOKEN)
    assert server.services is not None
    story = Story()
    story.task("work", 0, 1, 2)
    server.services.writer.submit_records(story.batch, "events")
    assert server.services.writer.flush()
    address = f"{server.url}/ray/{SESSION}"
    mode = {"RAY_AUTH_MODE": "token"}
    assert "work" in command(address, "list", "tasks", **mode, RAY_AUTH_TOKEN=TOKEN)
    with pytest.raises(AssertionError, match="This server requires a token"):
        command(address, "list", "tasks", **mode, RAY_AUTH_TOKEN="another")
