"""One cluster of two nodes, recorded by one server, for all tests that can share it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import RayCluster
from tests.waiting import wait_until

#: Paths about the whole server.
WITHOUT_SESSION = ("/api/v1/sessions", "/api/v1/prometheus/sd", "/api/v1/alerts/silences")


@dataclass
class Recorded(RayCluster):
    """A cluster, and the server that records it."""

    server: Server | None = None

    @property
    def services(self) -> Any:
        """The services behind the server's routes."""
        assert self.server is not None
        return self.server.services

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    @property
    def address(self) -> str:
        """The address of the GCS."""
        return self.gcs

    @property
    def dashboard_url(self) -> str:
        return f"http://{self.dashboard}"

    def request(self, path: str, **params: Any) -> httpx.Response:
        """Our server's answer about the cluster's session, whatever it is."""
        if path not in WITHOUT_SESSION:
            params["session"] = self.session
        return httpx.get(f"{self.url}{path}", params=params)

    def get(self, path: str, **params: Any) -> Any:
        """Our server's answer, which must be a good one, decoded."""
        answer = self.request(path, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def endpoints(self) -> dict[str, str]:
        """Ray's endpoints of metrics, as our service discovery lists them: node id -> host:port."""
        return {
            target["labels"]["__meta_rayscope_node_id"]: target["targets"][0]
            for target in self.get("/api/v1/prometheus/sd")
            if target["labels"]["__meta_rayscope_session"] == self.session
        }


def samples_at(address: str) -> Iterator[Sample]:
    """The samples at one of Ray's endpoints now."""
    for family in text_string_to_metric_families(httpx.get(f"http://{address}/metrics").text):
        yield from family.samples


PRINTING = """
import sys, time

@ray.remote(num_cpus=0.5)
def talk(word):
    for number in range(5):
        print(f"{word} line {number} äöü 雪")
    print(f"{word} complains", file=sys.stderr)
    return ray.get_runtime_context().get_task_id(), ray.get_runtime_context().get_node_id()

@ray.remote(num_cpus=0.1)
class Speaker:
    def say(self, word):
        print(f"{word} from the actor")
        return ray.get_runtime_context().get_actor_id()

speaker = Speaker.remote()
first = ray.get(talk.remote("alpha"))
second = ray.get(talk.options(resources={RESOURCE: 1}).remote("omega"))
actor = ray.get(speaker.say.remote("gamma"))
print(*first, *second, actor)
time.sleep(4)
"""


def texts(part: dict[str, Any]) -> list[str]:
    """The lines of one part of an answer of `/api/v1/logs/of`."""
    return [line["text"] for line in part["page"]["lines"] if not line["is_mark"]]


def talk(cluster: Recorded, resource: str) -> list[str]:
    """Run a driver that prints from everywhere; return the ids of the printing tasks and actors.

    Those of a task and its node, of another task and its node (which has ``resource``), and of an actor.
    """
    printed = cluster.run(PRINTING.replace("RESOURCE", repr(resource)))
    return printed.strip().splitlines()[-1].split()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Node one has 3 CPUs, node two 2 CPUs, 2 GPUs (that are not there) and 8 of the resource ``second``.

    Nearly all of the resource ``memory`` is node one's: else each would have all of the machine's, and what asks
    for more than half of the cluster's would fit on neither.
    """
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("cluster"), port=0))
    server.start()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        recorded = Recorded(Path(folder), server.ingest_url, server=server)
        try:
            recorded.start("--num-cpus=3")
            recorded.add_node(
                "second", "--num-cpus=2", "--num-gpus=2", "--memory=100000000", '--resources={"second": 8}'
            )
            services = server.services
            assert services is not None
            session = recorded.session
            services.clusters.attach(recorded.gcs)
            wait_until(
                lambda: session in services.catalog.names() and services.clusters.gcs_of(session),
                "the session",
            )
            yield recorded
        finally:
            recorded.stop()
            server.stop()
