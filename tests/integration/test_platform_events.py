"""Ray's dashboard watches a Kubernetes API server, and its events reach the record."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RayCluster
from tests.kubernetes_api import EVENTS, REPEATED, KubernetesApi
from tests.waiting import wait_until

from rayscope.ray.gcs import poller
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray, pytest.mark.long]


def test_events_of_kubernetes_are_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "_SIDE_S", 1.0)
    api = KubernetesApi(socket.gethostname())
    server = Server(Settings(data_dir=tmp_path, port=0))
    server.start()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as home, api.serving(Path(home)) as env:
        cluster = RayCluster(Path(home), server.ingest_url, flags=env)

        def events() -> dict[str, dict[str, Any]]:
            params = {"session": cluster.session, "kind": "platform"}
            answer = httpx.get(f"{server.url}/api/v1/events", params=params)
            assert answer.status_code == 200, answer.text
            return {event["id"]: event for event in answer.json()["items"]}

        try:
            cluster.start("--num-cpus=1")
            server.attach(cluster.gcs)
            wait_until(lambda: api.watches >= 2, "the watches of Ray's provider")
            for number in range(len(EVENTS)):
                api.add(number)
            found = wait_until(lambda: len(events()) == len(EVENTS) and events(), "all events")
            api.add(*REPEATED)
            wait_until(lambda: REPEATED[1] in [one["count"] for one in events().values()], "the new count")
            (node_id,) = cluster.alive()
            nodes = {one["title"]: one["node_id"] for one in found.values()}
            assert nodes == {api.hostname: node_id} | dict.fromkeys(nodes.keys() - {api.hostname})
        finally:
            cluster.stop()
            server.stop()
