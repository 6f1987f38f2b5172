"""The list of charts: it can be evaluated, shows Ray's metrics, and is part of Grafana's dashboards."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rayscope.metrics import grafana
from rayscope.metrics.charts import PAGES, Chart
from rayscope.metrics.collectors.cluster import FIGURES
from rayscope.metrics.promql.evaluate import evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Sample
from rayscope.ray.agents.scrape import is_wanted
from rayscope.ray.prometheus_text import TextReader

ROOT = Path(__file__).parents[3]
#: The charts' metrics from a head node of Ray 2.60 while it ran tasks and an actor.
NODE = (Path(__file__).parent / "samples/ray-2.60.prom").read_text()
GPUS = ("ray_node_gpus_utilization", "ray_node_gram_used")
S = 10**9
CHARTS = [chart for page in PAGES for chart in page.charts]


@pytest.fixture(scope="module")
def store() -> SeriesStore:
    """Five minutes of a node's metrics, and of our own."""
    read = TextReader(is_wanted, lambda labels: {**labels, "node_id": "n1", "node_ip": "10.0.0.1"}).read(NODE)
    ours = [Sample(name, (), 5.0) for name in FIGURES]
    # The node that was read has no GPU.
    gpu = (("GpuIndex", "0"), ("node_id", "n1"), ("node_ip", "10.0.0.1"))
    gpus = [Sample(name, gpu, 5.0) for name in GPUS]
    gpus += [
        Sample("ray_resources", (("Name", "GPU"), ("State", state), ("node_id", "n1")), 1.0)
        for state in ("AVAILABLE", "USED")
    ]
    uss = [
        Sample("ray_component_uss_bytes", (("Component", f"ray::{what}"), ("node_id", "n1")), 5.0)
        for what in ("A", "IDLE")
    ]  # not read then
    store = SeriesStore()
    for at in range(0, 300, 5):
        store.append(at * S, [*read.samples, *ours, *gpus, *uss])
    return store


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_chart_shows_the_metrics_of_ray(store: SeriesStore, chart: Chart) -> None:
    job = next(labels["JobId"] for labels in _labels(store, "ray_tasks") if labels.get("JobId"))
    for query in chart.queries:
        expr = query.expr.replace("$node_id", "n1").replace("$job_id", job)
        if query.bold:  # an average of several nodes; the sample has one
            expr = expr.replace(" > 1", " > 0")
        found = evaluate(store, expr, 295 * S, 295 * S, 0).series
        assert found, expr
        for label in re.findall(r"\{\{(\w+)\}\}", query.legend):
            assert all(labels.get(label) for labels, _ in found), (label, found)


def test_the_supervisors_of_submitted_jobs_are_not_counted() -> None:
    """Ray runs one actor for each submitted job, which all lists of actors and tasks leave out."""
    names = ("JobSupervisor", "JobSupervisor.run", "_ray_internal_job_actor_r_1:JobSupervisor.__init__")
    samples = [
        Sample(metric, (("Name", name), ("Source", "gcs"), ("State", state)), 1.0)
        for metric in ("ray_actors", "ray_tasks")
        for name in (*names, "JobSupervisors", "Mine")
        for state in ("ALIVE", "RUNNING", "FINISHED")
    ]
    samples += [
        Sample("ray_component_uss_bytes", (("Component", f"ray::{name}"),), 1.0) for name in (*names, "Mine")
    ]
    store = SeriesStore()
    for at, factor in ((240, 1), (295, 2)):
        store.append(at * S, [each._replace(value=factor * each.value) for each in samples])
    charts = {chart.key: chart.queries[0].expr for chart in CHARTS}
    for key in ("clusterActors", "clusterTasks", "clusterRunning", "clusterTasksEnded", "clusterHeap"):
        found = evaluate(store, charts[key], 295 * S, 295 * S, 0).series
        assert found, key
        assert not [labels for labels, _ in found if "JobSupervisor" in labels.values()], key
        expected = {"clusterTasksEnded": 2 / 55, "clusterHeap": 2, "clusterRunning": 2}.get(key, 4)
        assert [values for _, values in found] == [[pytest.approx(expected)]] * len(found), key


def _labels(store: SeriesStore, name: str) -> list[dict[str, str]]:
    return [labels for labels, _ in evaluate(store, name, 295 * S, 295 * S, 0).series]


def test_every_chart_has_a_key_of_its_own_and_a_known_unit() -> None:
    keys = [chart.key for chart in CHARTS]
    assert len(set(keys)) == len(keys) > 30
    assert {chart.unit for chart in CHARTS} <= grafana._UNITS.keys()
    variables = {f"${name}" for page in PAGES for name, _, _ in page.variables}
    used = {
        name for chart in CHARTS for query in chart.queries for name in re.findall(r"\$[a-z]\w*", query.expr)
    }
    assert used == variables


def test_grafanas_dashboards_are_up_to_date(tmp_path: Path) -> None:
    """Else: `python -m rayscope.metrics.grafana deploy/grafana`."""
    made = {file.name: json.loads(file.read_text()) for file in grafana.write(tmp_path)}
    kept = {file.name: json.loads(file.read_text()) for file in (ROOT / "deploy/grafana").glob("*.json")}
    assert made == kept
    cluster = made["rayscope-cluster.json"]
    places = [tuple(panel["gridPos"].values()) for panel in cluster["panels"]]
    assert len(set(places)) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in (panel["gridPos"] for panel in cluster["panels"]))


def test_prometheus_accepts_our_configuration() -> None:
    promtool = shutil.which("promtool")
    assert promtool
    command = [promtool, "check", "config", str(ROOT / "deploy/prometheus/prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
