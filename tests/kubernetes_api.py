"""A small Kubernetes API server: what Ray's provider of platform events asks, with the events of one cluster.

The events are those of kubelet, the scheduler and KubeRay, in their words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

NAMESPACE = "ray"
CLUSTER = "demo"
#: The pod of the head node, whose name is the host name in it.
HEAD = "demo-head"
WORKER = "demo-workers-worker-x7k2p"
_TERMINATED = (
    "&ContainerStateTerminated{ExitCode:137,Signal:0,Reason:OOMKilled,Message:,"
    "StartedAt:2026-07-01 08:00:00 +0000 UTC,FinishedAt:2026-07-01 08:05:00 +0000 UTC,ContainerID:containerd://1,}"
)
#: Reason, type, component, object, message and count of each event.
EVENTS = (
    ("Scheduled", "Normal", "default-scheduler", HEAD, f"Successfully assigned ray/{HEAD} to node-1", 1),
    ("Started", "Normal", "kubelet", HEAD, "Started container ray-head", 1),
    (
        "FailedScheduling",
        "Warning",
        "default-scheduler",
        WORKER,
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: "
        "3 No preemption victims found for incoming pod.",
        4,
    ),
    (
        "Failed",
        "Warning",
        "kubelet",
        WORKER,
        'Failed to pull image "ray:typo": rpc error: code = NotFound desc = not found: ErrImagePull',
        2,
    ),
    ("BackOff", "Normal", "kubelet", WORKER, 'Back-off pulling image "ray:typo"', 3),
    (
        "BackOff",
        "Warning",
        "kubelet",
        HEAD,
        f"Back-off restarting failed container ray-head in pod {HEAD}_ray(0f3a)",
        5,
    ),
    ("Unhealthy", "Warning", "kubelet", HEAD, "Readiness probe failed: command timed out after 2s", 1),
    ("Killing", "Normal", "kubelet", HEAD, "Stopping container ray-head", 1),
    (
        "Evicted",
        "Warning",
        "kubelet",
        WORKER,
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 82Mi.",
        1,
    ),
    ("Preempted", "Normal", "default-scheduler", WORKER, "Preempted by pod 5c1f on node node-2", 1),
    (
        "OOMKilling",
        "Warning",
        "kernel-monitor",
        WORKER,
        "Memory cgroup out of memory: Killed process 4711",
        1,
    ),
    (
        "DeletedWorkerPod",
        "Normal",
        "raycluster-controller",
        CLUSTER,
        f"Deleted worker Pod ray/{WORKER}; Pod status: Failed; Pod restart policy: Never; "
        f"Ray container terminated status: {_TERMINATED}",
        1,
    ),
)

#: Arguments of :meth:`KubernetesApi.add` that report the crash loop again, with a larger count.
REPEATED = (5, 12)


def event_of(number: int, hostname: str = HEAD, count: int | None = None) -> dict[str, Any]:
    """An event in Kubernetes' form. ``hostname``: the name of the head node's pod."""
    reason, kind, component, name, message, times = EVENTS[number]
    times = count or times
    minute = number + times
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{name}.{number:x}",
            "namespace": NAMESPACE,
            "uid": f"00000000-0000-4000-8000-{number:012x}",
            "resourceVersion": str(100 + minute),
        },
        "involvedObject": {
            "kind": "RayCluster" if name == CLUSTER else "Pod",
            "namespace": NAMESPACE,
            "name": name.replace(HEAD, hostname),
        },
        "reason": reason,
        "message": message,
        "source": {"component": component, "host": "node-1"},
        "type": kind,
        "count": times,
        "firstTimestamp": f"2026-07-01T08:{number:02}:00Z",
        "lastTimestamp": f"2026-07-01T08:{minute:02}:00Z",
    }


class KubernetesApi:
    """The server. Each watch gets all :attr:`events`, also those that are added while it is open."""

    def __init__(self, hostname: str = HEAD) -> None:
        self.hostname = hostname
        self.events: list[dict[str, Any]] = []
        self.added = threading.Condition()
        self.is_over = False
        #: Number of open watches of events.
        self.watches = 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                # Chunks, without which Kubernetes' client waits for 64 KiB.
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for item in api.answer(url.path, query):
                    line = json.dumps(item).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def answer(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        """The answer to a request: one object, or one for each change of a watched list."""
        empty = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
        if path.endswith("/rayclusters/" + CLUSTER):
            yield {"metadata": {"name": CLUSTER, "ownerReferences": []}}
        elif "watch" not in query:
            pods = [self.hostname, WORKER] if path.endswith("/pods") else []
            yield empty | {"items": [{"metadata": {"name": pod}} for pod in pods]}
        elif path.endswith("/events"):
            kind = dict(part.split("=") for part in query["fieldSelector"].split(","))["involvedObject.kind"]
            self.watches += 1
            seen = 0
            while not self.is_over:
                with self.added:
                    self.added.wait_for(lambda seen=seen: self.is_over or len(self.events) > seen, 60)
                    fresh, seen = self.events[seen:], len(self.events)
                for event in fresh:
                    if event["involvedObject"]["kind"] == kind:
                        yield {"type": "ADDED", "object": event}
        else:
            with self.added:
                self.added.wait_for(lambda: self.is_over, 60)

    def add(self, number: int, count: int | None = None) -> None:
        """Report an event, or report it again with a larger count."""
        with self.added:
            self.events.append(event_of(number, self.hostname, count))
            self.added.notify_all()

    @contextmanager
    def serving(self, folder: Path) -> Iterator[dict[str, str]]:
        """Run the server. Yields the environment in which Ray's dashboard watches it."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        config = folder / "kubeconfig"
        cluster = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        config.write_text(
            json.dumps(
                {
                    "current-context": "test",
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                    "clusters": [{"name": "test", "cluster": cluster}],
                    "users": [{"name": "test", "user": {}}],
                }
            )
        )
        try:
            yield {
                "RAY_DASHBOARD_INGEST_PLATFORM_EVENTS": "1",
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "RAY_CLUSTER_NAME": CLUSTER,
                "RAY_CLUSTER_NAMESPACE": NAMESPACE,
                "KUBECONFIG": str(config),
            }
        finally:
            with self.added:
                self.is_over = True
                self.added.notify_all()
            self._server.shutdown()
            self._server.server_close()
            thread.join()
