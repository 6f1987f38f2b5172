"""An ended session with two hours of metrics of all kinds, which Prometheus' API serves."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.metrics.tsdb.target_labels import NAMES, TargetLabels, Targets
from rayscope.model.metric import Family, Sample, sample
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.running import Running
from tests.story import Story

S = 10**9
#: When the session ended, s; a multiple of a minute.
END_S = 1_790_000_040
BEGIN_S = END_S - 2 * 3600
STEP_S = 15
NODES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
FAMILIES = [
    Family("cpu_seconds_total", "counter", "CPU time by mode.", "s"),
    Family("memory_bytes", "gauge", 'Memory in "use".', "bytes"),
    Family("disk_bytes", "gauge", "Disk in use.", "bytes"),
    Family("cpus", "gauge", "CPUs.", "count"),
    Family("latency_bucket", "histogram", "Latency of requests.", "s"),
    Family("latency_sum", "histogram", "Latency of requests.", "s"),
    Family("latency_count", "histogram", "Latency of requests.", "s"),
    Family("last_success_seconds", "gauge", "Time of the last success.", "s"),
    Family("intermittent", "gauge"),
    Family("extremes", "gauge", "Very large and very small numbers."),
]
#: Series that Ray exports, for its dashboards.
_OF_RAY = {
    "ray_node_cpu_utilization": {"node_id": "node0", "node_ip": NODES[0]},
    "ray_data_current_bytes": {"dataset": "images_1", "operator": "Read"},
    "ray_train_controller_state": {
        "ray_train_run_name": "run",
        "ray_train_run_id": "1a",
        "ray_train_controller_state": "RUNNING",
    },
    "ray_serve_deployment_request_counter_total": {
        "application": "default",
        "deployment": "Model",
        "replica": "r1",
        "route": "/",
        "WorkerId": "w1",
        "model_name": "m",
    },
    "ray_vllm_generation_tokens_total": {"model_name": "m", "WorkerId": "w1"},
}
_BOUNDS = (0.1, 0.5, 1, 5, math.inf)


def history() -> Iterator[tuple[int, list[Sample]]]:
    """The time of each scrape, s, and its samples."""
    dice = random.Random(5)
    counters: dict[tuple[str, ...], float] = {}

    def grown(*key: str, by: float) -> float:
        counters[key] = counters.get(key, 0.0) + by
        return counters[key]

    for number, second in enumerate(range(BEGIN_S, END_S + 1, STEP_S)):
        samples = []
        for node, ip in enumerate(NODES):
            on = {"node_id": f"node{node}", "node_ip": ip}
            if number == 200 + node:  # the node's processes restart
                counters = {key: value for key, value in counters.items() if key[0] != ip}
            for mode in ("user", "system", "idle"):
                value = grown(ip, mode, by=dice.choice([0.5, 3, 7.25, 15]))
                samples.append(sample("cpu_seconds_total", value, mode=mode, **on))
            for kind in ("used", "free", "cached"):
                samples.append(sample("memory_bytes", dice.randrange(10**6, 10**10), type=kind, **on))
            samples.append(sample("disk_bytes", 1e9 + 1e5 * number + dice.random() * 1e4, **on))
            samples.append(sample("cpus", 4 * (node + 1), **on))
            samples.append(sample("last_success_seconds", second - number % 7 * STEP_S, **on))
            for method in ("GET", "POST"):
                total = 0.0
                for bound in _BOUNDS:
                    total += grown(ip, method, str(bound), by=dice.randrange(4))
                    le = "+Inf" if bound == math.inf else str(bound)
                    samples.append(sample("latency_bucket", total, method=method, le=le, **on))
                samples.append(sample("latency_count", total, method=method, **on))
                seconds = grown(ip, method, "sum", by=dice.random())
                samples.append(sample("latency_sum", seconds, method=method, **on))
        for name, labels in _OF_RAY.items():
            value = grown(name, by=dice.randrange(9)) if name.endswith("_total") else number % 9
            samples.append(sample(name, value, **labels))
        if number % 40 < 15:
            samples.append(sample("intermittent", number, quoted='a "b" \\ \n ü'))
        numbers = (1e21, -1e-7, math.inf, 123456789012345678, -0.0, 1 / 3, 1e16, 0.00001)
        samples.append(sample("extremes", numbers[number % len(numbers)]))
        yield second, samples


def openmetrics(session: str) -> str:
    """The same samples in Prometheus' format OpenMetrics, with the labels of the target."""
    targets = TargetLabels(session, lambda: Targets({}))
    lines: dict[str, list[str]] = {}
    for second, samples in history():
        for each in samples:
            (labels,) = targets.add([each.labels], NAMES)
            text = ",".join(f"{name}={_quoted(value)}" for name, value in labels)
            lines.setdefault(each.name, []).append(f"{each.name}{{{text}}} {each.value!r} {second}")
    text = [f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'unknown'}"
            "\n" + "\n".join(rows) for name, rows in lines.items()]  # fmt: skip
    return "\n".join([*text, "# EOF\n"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") + '"'


class Metered:
    """Prometheus' API of the recorded session."""

    def __init__(self, running: Running, session: str) -> None:
        self.running = running
        self.session = session
        self.url = f"{running.server.url}/prometheus/{session}"

    def get(self, path: str, **params: Any) -> httpx.Response:
        return httpx.get(f"{self.url}/api/v1/{path}", params=params)

    def data(self, path: str, **params: Any) -> Any:
        answer = self.get(path, **params)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["status"] == "success"
        return body["data"]

    def error(self, path: str, status: int, **params: Any) -> str:
        """The type of an error, and its text."""
        answer = self.get(path, **params)
        assert answer.status_code == status, answer.text
        body = answer.json()
        assert body.keys() == {"status", "errorType", "error"}
        assert body["status"] == "error"
        return f"{body['errorType']}: {body['error']}"


@contextlib.contextmanager
def ended_session(folder: Path, **settings: Any) -> Iterator[tuple[Running, str, SeriesStore]]:
    """A server, its only session, which has ended, and the file for the session's metrics. Close that file."""
    server = Server(Settings(data_dir=folder, port=0, **settings))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        running = Running(server, client, folder)
        assert server.services is not None
        server.services.metrics.stop()  # what is measured now would hide what is written here
        story = Story()
        story.task("f", 0, 1, 2)
        running.record(story)
        session = story.batch.session
        path = server.services.catalog.path(session).with_name("metrics.duckdb")
        yield running, session, SeriesStore(path, step_s=5, full_s=60)
    server.stop()


@pytest.fixture(scope="session")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metered]:
    with ended_session(tmp_path_factory.mktemp("prometheus")) as (running, session, store):
        for second, samples in history():
            store.append(second * S, samples, families=FAMILIES)
        store.close()
        yield Metered(running, session)
