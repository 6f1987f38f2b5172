"""Compare the record of Ray Serve with what Serve itself reports."""

from __future__ import annotations

from typing import Any

import pytest
from tests.serving import FAILS, MODELS, REQUESTS, SLOW, SLOW_S, TRACEPARENT, WORK_S, Serving, states_of
from tests.waiting import wait_until

from rayscope.tracer.serve import MAX_FAILED

pytestmark = [pytest.mark.ray]


def test_applications_are_as_serve_says(serving: Serving) -> None:
    assert states_of(serving.all) == serving.status
    assert serving.status["shop"]["status"] == "RUNNING"
    assert serving.status["broken"]["status"] == "DEPLOY_FAILED"
    by_name = {app["name"]: app for app in serving.all["items"]}
    (broken,) = by_name["broken"]["deployments"]
    assert broken["status_trigger"] == "REPLICA_STARTUP_FAILED"
    assert broken["message"].endswith("RuntimeError: no such model")
    assert (broken["running_replicas"], broken["target_replicas"]) == (0, 1)
    assert serving.all["problem"] is None
    assert [one["state"] for one in serving.all["proxies"]] == ["HEALTHY"]
    (controller,) = serving.all["controllers"]
    assert controller["health"]["loops_per_second"] > 0
    assert serving.all["total"] == 3


def test_an_application_leads_to_its_replicas_and_their_logs(serving: Serving) -> None:
    front, model = serving.shop["deployments"]
    assert (front["name"], front["is_ingress"], front["calls"]) == ("Front", True, ["shop#Model"])
    assert model["config"]["autoscaling_config"]["max_replicas"] == 3
    assert model["config"]["ray_actor_options"]["runtime_env"] == {"env_vars": {"KEY": "<redacted>"}}
    assert [one["state"] for one in front["history"]][-1] == "HEALTHY"
    assert serving.shop["route_prefix"] == "/shop"
    actors = {one["actor_id"]: one for one in serving.get("/api/v1/actors", limit=1000)["items"]}
    logs = {(one["node_id"], one["log_file"]) for one in serving.shop["replicas"]}

    def logs_are_listed() -> bool:
        files = serving.get("/api/v1/logs", limit=2000)["files"]
        return logs <= {(file["node_id"], file["name"]) for file in files}

    wait_until(logs_are_listed, "the logs, of which one has just begun")
    dead = [one for one in serving.shop["replicas"] if one["state"] == "STOPPED"]
    assert {one["deployment"] for one in dead} == {"Model"}
    assert any("worker process has died" in one["death_reason"] for one in dead)
    for replica in serving.shop["replicas"]:
        actor = actors[replica["actor_id"]]
        assert actor["class_name"] == f"ServeReplica:shop:{replica['deployment']}"
        assert actor["node_id"] == replica["node_id"]


def test_requests_and_errors_are_counted(serving: Serving) -> None:
    assert serving.codes == {"200": REQUESTS - REQUESTS // FAILS, "500": REQUESTS // FAILS}
    serving.wait_for_counts()
    latency = "histogram_quantile(0.5, sum by (deployment, le) (max_over_time("
    latency += "ray_serve_deployment_processing_latency_ms_bucket[1h])))"
    assert WORK_S * 1000 <= serving.values(latency)["Model"] <= 5000
    running = serving.values("max by (deployment) (max_over_time(rayscope_serve_running_replicas[1h]))")
    assert running["Front"] == 1
    assert running["Model"] >= 2
    healthy = serving.values("min by (application) (min_over_time(rayscope_serve_deployment_healthy[1h]))")
    assert healthy["broken"] == 0


def test_batches_and_multiplexed_models_are_measured(serving: Serving) -> None:
    most = 'max_over_time(ray_serve_{}{{application="library"}}[1h])'
    loaded = f"sum by (deployment) ({most.format('num_multiplexed_models')})"
    assert serving.values(loaded) == {"Library": 2}
    models = f"sum by (model_id) ({most.format('registered_multiplexed_model_id')})"
    assert set(serving.values(models)) <= {f"m{each}" for each in range(MODELS)}


def test_slow_requests_are_as_the_program_measured_them(serving: Serving) -> None:
    expected = {one["request_id"]: one for one in serving.slow}
    assert len(expected) == -(-REQUESTS // SLOW)

    def find() -> dict[str, Any]:
        items = serving.get("/api/v1/serve-requests/shop", limit=200)["items"]
        found = {one["request_id"]: one for one in items if one["request_id"] in expected}
        # (The reports of a proxy and a replica about the same request arrive up to five seconds apart.)
        whole = all(one["proxy_ns"] is not None and len(one["steps"]) == 3 for one in found.values())
        return found if found.keys() == expected.keys() and whole else {}

    # A replica's data of its last seconds is lost with it.
    lost = {one["pid"] for one in serving.shop["replicas"] if one["state"] == "STOPPED"}
    for request_id, request in wait_until(find, "the slow requests").items():
        measured = {name: end - begin for name, (begin, end) in _spans(expected[request_id]).items()}
        assert (request["status"], request["traceparent"]) == ("200", TRACEPARENT)
        assert (request["route"], request["method"], request["failed"]) == ("/shop", "GET", False)
        assert request["deployments"] == ["Front", "Model"]
        parts = [request[f"{name}_ns"] for name in ("proxy", "queue", "replica", "downstream")]
        assert sum(parts) == request["total_ns"]
        proxy, front, model = request["steps"]
        # A replica's time has that of its code in it, and the request's that of the replica.
        assert request["total_ns"] >= front["replica_ns"] >= measured["front"] >= measured["model"]
        assert measured["model"] >= SLOW_S * 1e9
        assert front["downstream_ns"] == request["downstream_ns"] >= measured["model"]
        starts = [one["begin_ns"] for one in (proxy, front, model)]
        assert starts == sorted(starts)
        assert "proxy" in proxy["log_file"]
        if model["replica_ns"] is not None or expected[request_id]["pid"] not in lost:
            assert model["replica_ns"] >= measured["model"]
            logs = {one["log_file"] for one in serving.shop["replicas"]}
            assert {front["log_file"], model["log_file"]} <= logs


def test_failed_requests_are_on_record_however_fast_they_failed(serving: Serving) -> None:
    fewest = min(REQUESTS // FAILS, MAX_FAILED)

    def find() -> Any:
        items = serving.get("/api/v1/serve-requests/shop", limit=200, order="failed")["items"]
        # A proxy and a replica report the same request up to five seconds apart.
        whole = [one for one in items if one["proxy_ns"] is not None]
        return whole if len(whole) >= fewest else None

    failed = wait_until(find, "the failed requests")
    assert {(one["status"], one["failed"]) for one in failed} == {("500", True)}
    starts = [one["steps"][0]["begin_ns"] for one in failed]
    assert starts == sorted(starts, reverse=True)


def _spans(times: dict[str, Any]) -> dict[str, list[int]]:
    return {name: times[name] for name in ("client", "front", "model")}


def test_errors_are_counted_by_caller(serving: Serving) -> None:
    def find() -> Any:
        edges = serving.get("/api/v1/serve/shop")["edges"]
        return edges if sum(one["calls"] for one in edges) >= REQUESTS else None

    (edge,) = wait_until(find, "the calls")
    assert (edge["caller"], edge["callee"]) == ("shop#Front", "shop#Model")
    assert (edge["calls"], edge["errors"]) == (REQUESTS, REQUESTS // FAILS)
    # The middle of one of eight buckets for each power of two.
    assert WORK_S * 1e9 * 15 / 16 <= edge["p50_ns"] <= edge["p95_ns"] <= edge["p99_ns"]


def test_an_unhealthy_deployment_fires(serving: Serving) -> None:
    assert serving.wait_for_alert()["application"] == "broken"
