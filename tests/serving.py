"""A cluster with Ray Serve under load, and a server that records it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import free_port
from tests.recorded import Recorded, samples_at
from tests.waiting import TIMEOUT_S, wait_until

REQUESTS = int(os.environ.get("RAYSCOPE_TEST_REQUESTS", "300"))
#: How long ``Model`` works on a request, s.
WORK_S = 0.02
#: One of this many requests fails.
FAILS = 10
#: One of this many requests takes ``SLOW_S``.
SLOW = REQUESTS // 5
#: How long ``Model`` works on a slow request, s.
SLOW_S = 1.0
#: Requests to the application ``library``, spread over its models.
LIBRARY_CALLS = 60
MODELS = 3
#: The span of the client of the application ``shop`` (W3C Trace Context).
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
PROGRAM = """
import itertools, json, os, sys, time, urllib.error, urllib.request
from concurrent.futures import ThreadPoolExecutor
from ray import serve

@serve.deployment(
    autoscaling_config={"min_replicas": 2, "max_replicas": 3, "target_ongoing_requests": 2,
                        "upscale_delay_s": 1, "metrics_interval_s": 1, "look_back_period_s": 2},
    ray_actor_options={"num_cpus": 0.1, "runtime_env": {"env_vars": {"KEY": "s3cret"}}},
)
class Model:
    def __call__(self, number):
        began = time.time_ns()
        time.sleep(SLOW_S if number % SLOW == 1 else WORK_S)
        if number % FAILS == 0:
            raise ValueError("bad weights")
        return {"number": number, "pid": os.getpid(), "model": [began, time.time_ns()]}

    def die(self):
        os._exit(1)

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Front:
    def __init__(self, model):
        self.model, self.numbers = model, itertools.count()

    async def __call__(self, request):
        began = time.time_ns()
        result = await self.model.remote(next(self.numbers))
        return {**result, "front": [began, time.time_ns()]}

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Broken:
    def __init__(self):
        raise RuntimeError("no such model")

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Library:
    @serve.multiplexed(max_num_models_per_replica=2)
    async def load(self, name):
        return name

    @serve.batch(max_batch_size=4, batch_wait_timeout_s=0.05)
    async def answer(self, names):
        return [name.upper() for name in names]

    async def __call__(self):
        return await self.answer(await self.load(serve.get_multiplexed_model_id()))

serve.start(http_options={"port": PORT})
serve.run(Front.bind(Model.bind()), name="shop", route_prefix="/shop")
library = serve.run(Library.bind(), name="library", route_prefix=None)
try:
    serve.run(Broken.bind(), name="broken", route_prefix="/broken")
except RuntimeError:
    pass

slow = []

def ask(_):
    began = time.time_ns()
    try:
        request = urllib.request.Request("http://127.0.0.1:PORT/shop", headers={"traceparent": "TRACEPARENT"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            result = json.load(answer) | {"request_id": answer.headers["X-Request-ID"]}
            if result["number"] % SLOW == 1:
                slow.append(result | {"client": [began, time.time_ns()]})
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code

def ask_library():
    count = LIBRARY_CALLS // 2
    responses = [library.options(multiplexed_model_id=f"m{each % MODELS}").remote() for each in range(count)]
    assert [one.result() for one in responses] == [f"M{each % MODELS}" for each in range(count)]

ask_library()
# Few clients: a slow request delays the others, and a process reports only its 20 slowest hops of 5 s.
with ThreadPoolExecutor(6) as pool:
    codes = list(pool.map(ask, range(REQUESTS)))
ask_library()
try:
    serve.get_deployment_handle("Model", "shop").die.remote().result(timeout_s=10)
except Exception:
    pass
counts = {str(code): codes.count(code) for code in set(codes)}
print(json.dumps({"codes": counts, "slow": slow}), flush=True)
for line in sys.stdin:
    if line == "call\\n":
        serve.get_deployment_handle("Model", "shop").remote(2).result()
        print("{}", flush=True)
    elif line == "status\\n":
        result = {name: {"status": app.status, "deployments": {
            each: {"status": one.status, "replica_states": one.replica_states}
            for each, one in app.deployments.items()}} for name, app in serve.status().applications.items()}
        print(json.dumps(result), flush=True)
    else:
        serve.shutdown()
        break
"""


@dataclass
class Serving(Recorded):
    """The applications ``shop``, ``library`` and ``broken``.

    ``codes``: how often HTTP answered with each status. ``slow``: begin and end of each slow request by the
    clocks of ``client``, ``front`` and ``model``, ns, its ``request_id``, and the ``pid`` of the replica of
    ``Model``. ``status``: ``serve.status()``, once ``/api/v1/serve`` (``all``) reported the same, and ``shop``:
    its report about that application at that time.
    """

    codes: dict[str, int] = field(default_factory=dict)
    slow: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    all: dict[str, Any] = field(default_factory=dict)
    shop: dict[str, Any] = field(default_factory=dict)
    alert: dict[str, str] = field(default_factory=dict)
    is_over: bool = False

    def launch(self) -> None:
        """Start the program, and wait until it has handled its requests and printed its state."""
        program = PROGRAM.replace("PORT", str(free_port()))
        names = ("REQUESTS", "WORK_S", "FAILS", "SLOW_S", "SLOW", "LIBRARY_CALLS", "MODELS", "TRACEPARENT")
        for name in names:
            program = program.replace(name, str(globals()[name]))
        self.driver = self.start_driver(program)
        state = self._line()
        self.codes, self.slow = state["codes"], state["slow"]
        wait_until(self._agrees, "the state that Serve tells")
        wait_until(self._is_measured, "the latency of Model in Ray's own metrics", pause_s=0.5)
        self.shop = self.get("/api/v1/serve/shop")

    def _line(self) -> Any:
        assert self.driver.stdout is not None
        lines: list[str] = []
        for line in self.driver.stdout:
            lines.append(line)
            if line.startswith("{"):
                return json.loads(line)
        raise AssertionError("".join(lines))

    def _ask_driver(self, question: str) -> Any:
        assert self.driver.stdin is not None
        self.driver.stdin.write(f"{question}\n")
        self.driver.stdin.flush()
        return self._line()

    def _agrees(self) -> bool:
        self.status, self.all = self._ask_driver("status"), self.get("/api/v1/serve")
        # (The replica that died is replaced.)
        is_steady = self.status["shop"]["deployments"]["Model"]["status"] == "HEALTHY"
        died = any("STOPPED" in one["replicas"] for one in self._model())
        return is_steady and died and states_of(self.all) == self.status

    def _is_measured(self) -> bool:
        """Whether Ray has a latency of ``Model``, after another call of it, from the driver, if not.

        A replica that dies takes along what it measured in its last 10 s, and Ray's agent may lose reports of
        the others on a busy node.
        """
        (address,) = self.endpoints().values()
        for sample in samples_at(address):
            is_latency = sample.name == "ray_serve_deployment_processing_latency_ms_count"
            if is_latency and sample.labels["deployment"] == "Model":
                return True
        self._ask_driver("call")
        return False

    def _model(self) -> list[dict[str, Any]]:
        return [one for app in self.all["items"] for one in app["deployments"] if one["name"] == "Model"]

    def values(self, expr: str) -> dict[str, float]:
        """The newest value of each series by what its first label says, once there is one."""

        def look() -> dict[str, float]:
            found: dict[str, float] = {}
            for series in self.get("/api/v1/metrics/query", expr=expr)["series"]:
                values = [one for one in series["values"] if one is not None]
                if values:
                    found[next(iter(series["labels"].values()), "")] = values[-1]
            return found

        found: dict[str, float] = wait_until(look, expr)
        return found

    def wait_for_count(self, counter: str, deployment: str) -> None:
        """Wait until we say of a deployment's counter what Ray's own endpoint says.

        On a busy node Ray's own count can be wrong: a worker sends Ray's agent the increments since the last
        time, which is lost when the agent does not answer in time. (Once the cluster is gone, :meth:`finish` has
        waited for it.)
        """
        if self.is_over:
            return
        counted = f"max_over_time({counter}_total[1h]) or max_over_time({counter}[1h])"
        (address,) = self.endpoints().values()

        def agree() -> bool:
            ours = self.values(f"sum by (deployment) ({counted})").get(deployment, 0.0)
            rays = sum(
                sample.value
                for sample in samples_at(address)
                if sample.name in (counter, f"{counter}_total") and sample.labels["deployment"] == deployment
            )
            return 0 < ours == rays

        wait_until(agree, f"{counter} of {deployment}")

    def wait_for_counts(self) -> None:
        """Wait for the counts of the applications that Ray has: failures, requests, batches, and models."""
        self.wait_for_count("ray_serve_deployment_error_counter", "Front")
        self.wait_for_count("ray_serve_deployment_processing_latency_ms_count", "Model")
        self.wait_for_count("ray_serve_actual_batch_size_count", "Library")
        self.wait_for_count("ray_serve_multiplexed_get_model_requests_counter", "Library")

    def wait_for_alert(self) -> dict[str, str]:
        """The labels of the alert about the application ``broken``, once it has fired."""

        def firing() -> Any:
            labels = [
                item["labels"]
                for item in self.get("/api/v1/alerts")["items"]
                if item["rule"] == "ServeDeploymentUnhealthy"
            ]
            return next((each for each in labels if each["application"] == "broken"), None)

        self.alert = self.alert or wait_until(firing, "the alert")
        return self.alert

    def finish(self) -> None:
        """Shut Serve down, then the whole cluster. Errors and alerts are on record by then."""
        if self.is_over:
            return
        self.wait_for_alert()
        self.wait_for_counts()  # Ray reports them each 10 s or so
        assert self.driver.stdin is not None
        self.driver.stdin.write("shutdown\n")
        self.driver.stdin.flush()
        gone = {"DELETED"}
        wait_until(
            lambda: {one["state"] for one in self.get("/api/v1/serve")["items"]} == gone, "the end of Serve"
        )
        self.driver.wait(TIMEOUT_S)
        self.stop()
        self.is_over = True
        wait_until(
            lambda: self.get("/api/v1/sessions")["items"][0]["state"] == "ended", "the end of the cluster"
        )


def states_of(answer: dict[str, Any]) -> dict[str, Any]:
    """What ``/api/v1/serve`` tells, as ``serve.status()`` says it: of replicas those that live."""
    return {
        app["name"]: {
            "status": app["state"],
            "deployments": {
                one["name"]: {
                    "status": one["state"],
                    "replica_states": {
                        state: count for state, count in one["replicas"].items() if state != "STOPPED"
                    },
                }
                for one in app["deployments"]
            },
        }
        for app in answer["items"]
    }


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The requests are answered, and one replica of ``Model`` has died."""
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("serving"), port=0))
    server.start()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        recorded = Serving(Path(folder), server.ingest_url, server=server)
        try:
            recorded.start("--num-cpus=4")
            services = server.services
            assert services is not None
            services.clusters.attach(recorded.gcs)
            wait_until(lambda: recorded.session in services.catalog.names(), "the session")
            recorded.launch()
            yield recorded
        finally:
            recorded.stop()
            server.stop()
