"""One real cluster whose nodes send to different servers: each of these shows what Ray says of the whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RayCluster
from tests.unit.warehouse.http_bridge import bridge
from tests.waiting import wait_until

from rayscope.cli.recording import node_env
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.warehouse import migrate
from rayscope.warehouse.client import connect
from rayscope.warehouse.schema import Layout

pytestmark = [pytest.mark.ray, pytest.mark.long]

PROGRAM = """
import json
from ray.util.state import list_tasks

@ray.remote(resources={"second": 0.01})
def there(number):
    return sum(ray.get([here.remote(n) for n in range(number)]))

@ray.remote(resources={"first": 0.01}, max_retries=0)
def here(number):
    if number == 7:
        raise ValueError("seven")
    return number

@ray.remote(resources={"second": 0.01})
class Counter:
    def add(self, number):
        return number

assert ray.get([there.remote(5) for _ in range(20)]) == [10] * 20
counter = Counter.remote()
ray.get([counter.add.remote(n) for n in range(50)])
try:
    ray.get(here.remote(7))
except ValueError:
    pass
ray.get([there.remote(3) for _ in range(5)])
"""
#: What Ray must say of it: calls by name and state.
EXPECTED = {
    ("there", "FINISHED"): 25,
    ("here", "FINISHED"): 115,
    ("here", "FAILED"): 1,
    ("Counter.__init__", "FINISHED"): 1,
    ("Counter.add", "FINISHED"): 50,
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("chdb") / "engine"
    with connect(f"chdb://{folder}", create=True), bridge(str(folder)) as (port, _):
        url = f"clickhouse://me@127.0.0.1:{port}/fleet"
        with connect(url, create=True) as made:
            migrate.init(made, Layout())
        yield url


@pytest.fixture
def servers(tmp_path: Path, warehouse: str) -> Iterator[list[Server]]:
    made = [Server(Settings(data_dir=tmp_path / name, port=0, warehouse=warehouse)) for name in "abc"]
    try:
        for server in made:
            server.start()
        yield made
    finally:
        for server in made:
            server.stop()


def get(server: Server, path: str) -> Any:
    answer = httpx.get(f"{server.url}{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def calls(server: Server) -> Counter[tuple[str, str]]:
    items = get(server, "/api/v1/tasks?limit=1000")["items"]
    return Counter((row["name"], row["state"]) for row in items if row["type"] != "DRIVER_TASK")


def test_each_server_shows_what_all_nodes_sent(servers: list[Server]) -> None:
    first, second, third = servers
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        cluster = RayCluster(Path(home), first.ingest_url)
        try:
            cluster.start("--num-cpus=2", '--resources={"first": 10}')
            cluster.env |= node_env(second.ingest_url)
            cluster.add_node("second", "--num-cpus=2", '--resources={"second": 10}')
            cluster.env |= node_env(first.ingest_url)
            cluster.run(PROGRAM)
            for server in (first, second):
                assert server.services is not None
                # Each got a part by itself.
                assert server.services.catalog.about(cluster.session).events > 0
                wait_until(lambda server=server: calls(server) == EXPECTED, f"all calls at {server.url}")
            # A server that receives no events opens the live session.
            wait_until(lambda: get(third, "/api/v1/sessions")["items"], "the session is listed")
            assert get(third, "/api/v1/sessions")["items"][0]["state"] == "live"
            wait_until(lambda: calls(third) == EXPECTED, "all calls at the third server")
            assert calls(third) == EXPECTED
            cluster.run(
                "ray.get(ray.remote(lambda: 1).options(name='late', resources={'second': 1}).remote())"
            )
            wait_until(lambda: calls(third)["late", "FINISHED"] == 1, "the third server follows")
        finally:
            cluster.stop()
        for server in servers:
            wait_until(
                lambda server=server: get(server, "/api/v1/sessions")["items"][0]["state"] == "ended",
                "it ends",
            )
    nodes = [get(server, "/api/v1/nodes")["items"] for server in servers]
    assert [len(one) for one in nodes] == [2, 2, 2]
