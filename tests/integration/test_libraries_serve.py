"""What is told of Ray Serve, beside what Serve says of itself."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import wait_until
from tests.serving import ASKED, FAILS, MODELS, REQUESTS, Serving, states_of

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]


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
    actors = {one["actor_id"]: one for one in serving.get("/api/actors", limit=1000)["items"]}
    files = serving.get("/api/logs", limit=2000)
    names = {(file["node_id"], file["name"]) for file in files["files"]}
    dead = [one for one in serving.shop["replicas"] if one["state"] == "STOPPED"]
    assert {one["deployment"] for one in dead} == {"Model"}
    assert any("worker process has died" in one["death_reason"] for one in dead)
    for replica in serving.shop["replicas"]:
        actor = actors[replica["actor_id"]]
        assert actor["class_name"] == f"ServeReplica:shop:{replica['deployment']}"
        assert actor["node_id"] == replica["node_id"]
        assert (replica["node_id"], replica["log_file"]) in names


def test_requests_and_errors_are_counted(serving: Serving) -> None:
    assert serving.codes == {"200": REQUESTS - REQUESTS // FAILS, "500": REQUESTS // FAILS}
    serving.wait_for_errors()
    latency = "histogram_quantile(0.5, sum by (deployment, le) (max_over_time("
    latency += "ray_serve_deployment_processing_latency_ms_bucket[1h])))"
    assert 50 <= serving.values(latency)["Model"] <= 5000
    running = serving.values("max by (deployment) (max_over_time(rayscope_serve_running_replicas[1h]))")
    assert running["Front"] == 1
    assert running["Model"] >= 2
    healthy = serving.values("min by (application) (min_over_time(rayscope_serve_deployment_healthy[1h]))")
    assert healthy["broken"] == 0


def test_batches_and_multiplexed_models_are_measured(serving: Serving) -> None:
    most = 'max_over_time(ray_serve_{}{{application="library"}}[1h])'
    batches = f"sum by (function_name) ({most.format('actual_batch_size_count')})"
    wait_until(lambda: serving.values(batches) == {"answer": serving.batches}, "the batches")
    requests = f"sum by (deployment) ({most.format('multiplexed_get_model_requests_counter_total')})"
    assert serving.values(requests) == {"Library": ASKED}
    loaded = f"sum by (deployment) ({most.format('num_multiplexed_models')})"
    assert serving.values(loaded) == {"Library": 2}
    models = f"sum by (model_id) ({most.format('registered_multiplexed_model_id')})"
    assert set(serving.values(models)) <= {f"m{each}" for each in range(MODELS)}


def test_an_unhealthy_deployment_fires(serving: Serving) -> None:
    def firing() -> list[Any]:
        found = serving.get("/api/alerts")["items"]
        rules = [one["labels"] for one in found if one["rule"] == "ServeDeploymentUnhealthy"]
        return [one for one in rules if one["application"] == "broken"]

    if not serving.is_over:
        wait_until(firing, "the alert")
