"""Records platform events as Ray exports them: ``ray-VERSION-platform.json`` and ``.binpb`` in the samples.

python -m tests.record_platform_events

A real cluster runs Ray's ``PlatformEventsHead`` with its Kubernetes provider, which watches
``tests/kubernetes_api.py``. The cluster's agent sends the events to a server in this process, once in each
form. The module has a process of its own: in the dashboard it exports only if the node's agent was up before it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import ray
from ray.dashboard.modules.platform_events.platform_event_head import PlatformEventsHead

from tests.cluster import RayCluster
from tests.kubernetes_api import EVENTS, REPEATED, KubernetesApi, event_of
from tests.waiting import wait_until

SAMPLES = Path(__file__).parent / "unit" / "ray" / "samples"


class Receiver(BaseHTTPRequestHandler):
    """Keeps the batches with platform events."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        """Keep a batch."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b"kubelet" in body or b"controller" in body:
            self.bodies.append(body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def export(gcs: str) -> None:
    """Run Ray's module for platform events for the cluster at this address."""
    config: Any = SimpleNamespace(gcs_address=gcs, cluster_id_hex=None)
    asyncio.run(PlatformEventsHead(config).run())


def record(lane: str) -> list[bytes]:
    """Record the events as sent by an agent with this lane: ``fast`` (binary) or ``json``."""
    Receiver.bodies.clear()
    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    api = KubernetesApi()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as home, api.serving(Path(home)) as env:
        cluster = RayCluster(Path(home), f"http://127.0.0.1:{receiver.server_port}/", lane=lane)
        try:
            cluster.start("--num-cpus=1")
            wait_until(lambda: any(Path(home).rglob("dashboard_agent_listen_port_*")), "the agent")
            for number in range(len(EVENTS)):
                api.add(number)
            command = [sys.executable, "-m", "tests.record_platform_events", cluster.gcs]
            cluster.processes.append(subprocess.Popen(command, env=cluster.env | env, text=True))
            last = [event_of(number)["reason"].encode() for number in (-2, -1)]
            wait_until(lambda: all(text in b"".join(Receiver.bodies) for text in last), "the events")
            api.add(*REPEATED)
            wait_until(lambda: sum(b"BackOff" in body for body in Receiver.bodies) > 1, "the repeated event")
        finally:
            cluster.stop()
            receiver.shutdown()
    return list(Receiver.bodies)


def main() -> None:
    """Record both forms."""
    name = f"ray-{'.'.join(ray.__version__.split('.')[:2])}-platform"
    batches = [json.loads(body) for body in record("json")]
    (SAMPLES / f"{name}.json").write_text(json.dumps(batches, indent=1) + "\n")
    parts = [len(body).to_bytes(4, "big") + body for body in record("fast")]
    (SAMPLES / f"{name}.binpb").write_bytes(b"".join(parts))


if __name__ == "__main__":
    if sys.argv[1:]:
        export(sys.argv[1])
    else:
        main()
