"""Metrics of a live cluster: equal to Ray's own text, and a real Prometheus reads us."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from prometheus_client.samples import Sample
from tests.cluster import free_port
from tests.recorded import Recorded, samples_at
from tests.waiting import TIMEOUT_S, wait_until

PARTS = {"actors", "gpu", "memory", "network", "node", "objects", "ray", "rayscope", "resources", "tasks"}


def latest(cluster: Recorded, name: str, **labels: str) -> dict[str, float]:
    """node id -> value."""
    found = cluster.get("/api/v1/metrics", name=name, label=[f"{k}={v}" for k, v in labels.items()])
    return {item["labels"].get("node_id", ""): item["value"] for item in found["items"]}


def sums(samples: Iterable[Sample]) -> dict[str, float]:
    """The values by name, summed over all labels."""
    totals: dict[str, float] = {}
    for each in samples:
        totals[each.name] = totals.get(each.name, 0.0) + each.value
    return totals


def test_every_built_in_collector_goes_well(cluster: Recorded) -> None:
    def is_well(each: dict[str, Any]) -> bool:
        return each["ok"] and each["error"] is None

    def good() -> Any:
        collectors = {each["name"]: each for each in cluster.get("/api/v1/metrics", limit=1)["collectors"]}
        return collectors.keys() >= PARTS and all(is_well(collectors[name]) for name in PARTS) and collectors

    # A node that another test killed is asked until Ray takes it for dead.
    collectors = wait_until(good, "an answer of every collector")
    assert all(collectors[name]["samples"] > 0 for name in PARTS - {"gpu", "tasks", "actors"})


def test_node_figures_equal_rays_text(cluster: Recorded) -> None:
    wait_until(lambda: cluster.endpoints().keys() == cluster.alive(), "endpoints of the living alone")

    def used_agrees(node_id: str, address: str) -> bool:
        ours, theirs = latest(cluster, "ray_node_mem_used"), sums(samples_at(address))
        return ours.get(node_id) == theirs["ray_node_mem_used"]

    for node_id, address in cluster.endpoints().items():
        wait_until(lambda each=(node_id, address): used_agrees(*each), "the memory that Ray tells")
    total = latest(cluster, "ray_node_mem_total")
    cpus = latest(cluster, "ray_node_cpu_count")
    resources = latest(cluster, "rayscope_resources_total", resource="CPU")
    for node_id, address in cluster.endpoints().items():
        theirs = sums(samples_at(address))
        assert total[node_id] == theirs["ray_node_mem_total"]
        assert cpus[node_id] == theirs["ray_node_cpu_count"]
        assert 0 <= latest(cluster, "ray_node_cpu_utilization")[node_id] <= 100
    alive = cluster.alive()  # other tests kill nodes
    assert sorted(resources[node_id] for node_id in alive) == [2, 3]
    up = latest(cluster, "rayscope_node_up")
    assert {node_id: up[node_id] for node_id in alive} == dict.fromkeys(alive, 1)
    assert not any(value for node_id, value in up.items() if node_id not in alive)


def test_tasks_and_workers_are_counted(cluster: Recorded) -> None:
    before = sum(latest(cluster, "rayscope_function_finished_total", func_name="counted_by_metrics").values())
    cluster.run(
        "@ray.remote\ndef counted_by_metrics(): return 1\n"
        "ray.get([counted_by_metrics.remote() for _ in range(20)])\n"
    )
    wait_until(
        lambda: (
            sum(latest(cluster, "rayscope_function_finished_total", func_name="counted_by_metrics").values())
            == before + 20
        ),
        "20 more",
    )
    pids = {
        int(item["labels"]["pid"])
        for item in cluster.get("/api/v1/metrics", name="rayscope_worker_memory_bytes")["items"]
    }
    assert pids
    assert any(psutil.pid_exists(pid) for pid in pids)


@pytest.fixture
def prometheus(cluster: Recorded, tmp_path: Path) -> Iterator[str]:
    """Debian's Prometheus, configured with our service discovery and our server."""
    config = {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [
            {
                "job_name": "ray",
                "http_sd_configs": [{"url": f"{cluster.url}/api/v1/prometheus/sd", "refresh_interval": "1s"}],
                "relabel_configs": [
                    {"source_labels": [f"__meta_rayscope_{name}"], "target_label": name}
                    for name in ("session", "node_id")
                ],
            },
            {"job_name": "rayscope", "static_configs": [{"targets": [cluster.url.removeprefix("http://")]}]},
        ],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    address = f"127.0.0.1:{free_port()}"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={tmp_path / 'prometheus.yml'}",
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def test_a_real_prometheus_finds_the_nodes_and_reads_us(cluster: Recorded, prometheus: str) -> None:
    def query(expression: str) -> list[dict[str, Any]]:
        try:
            answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": expression})
        except httpx.TransportError:
            return []
        found: list[dict[str, Any]] = answer.json()["data"]["result"] if answer.status_code == 200 else []
        return found

    def up() -> dict[str, str]:
        """By node. Other clusters of this machine share the ports of the autoscaler and the dashboard."""
        ours = {*cluster.endpoints().values(), cluster.url.removeprefix("http://")}
        found = [each for each in query("up") if each["metric"]["instance"] in ours]
        return {each["metric"].get("node_id", "us"): each["value"][1] for each in found}

    expected = dict.fromkeys([*cluster.alive(), "us"], "1")
    wait_until(lambda: up() == expected, f"everything up: {up()}")
    ours = {each["metric"]["session"]: each["value"][1] for each in query("rayscope_session_live == 1")}
    assert cluster.session in ours
    total = latest(cluster, "ray_node_mem_total")
    for each in wait_until(lambda: query("ray_node_mem_total"), "Ray's figures"):
        assert float(each["value"][1]) == total[each["metric"]["node_id"]]


def test_grafana_finds_the_session_its_nodes_and_their_figures(cluster: Recorded) -> None:
    """The requests of the dashboard that Ray ships for nodes, while the cluster runs."""

    def data(path: str, **params: str) -> Any:
        url = f"{cluster.url}/prometheus/{cluster.session}/api/v1/{path}"
        return httpx.get(url, params=params).raise_for_status().json()["data"]

    alive = cluster.endpoints()
    selector = f'ray_node_network_receive_speed{{SessionName="{cluster.session}"}}'

    def instances() -> set[str]:
        return set(data("label/instance/values", **{"match[]": selector}))

    wait_until(lambda: instances() >= set(alive.values()), f"{alive} in {instances()}")
    assert data("label/SessionName/values", **{"match[]": selector}) == [cluster.session]
    for node_id, address in alive.items():
        where = f'{{instance=~"{address}", SessionName=~"{cluster.session}"}}'
        expr = (
            f"sum(ray_node_cpu_utilization{where} * ray_node_cpu_count{where} / 100) by (instance, node_id)"
        )
        (series,) = wait_until(lambda expr=expr: data("query", query=expr)["result"], expr)
        assert series["metric"] == {"instance": address, "node_id": node_id}
        assert 0 <= float(series["value"][1]) <= 1000
