"""Loss counters in a node's Prometheus text."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rayscope.model import Drop
from rayscope.ray.agents.drops import parse_drops, read_agent_drops

# As Ray 2.60 serves it, labels shortened.
TEXT = """\
# HELP ray_aggregator_agent_queue_dropped_events_total Total number of events dropped because ...
# TYPE ray_aggregator_agent_queue_dropped_events_total counter
ray_aggregator_agent_queue_dropped_events_total{consumer="http_service",event_type="TASK_LIFECYCLE"} 1.5e+06
ray_aggregator_agent_queue_dropped_events_total{consumer="http_service",event_type="a } b"} 7
ray_aggregator_agent_publish_failures_total{consumer="http_service"} 3.0 1795262625358
ray_aggregator_agent_events_buffer_add_failures_total_total 2
ray_aggregator_agent_gcs_task_metadata_buffer_dropped_attempts_total{} 4
ray_aggregator_agent_events_received_total{ip="10.0.0.1"} 100
ray_aggregator_agent_filtered_events_total 100
ray_aggregator_agent_published_events_total 100
ray_aggregator_agent_publish_latency_seconds_bucket{le="0.001"} 100
ray_node_cpu_utilization 5
"""


def test_losses_and_nothing_else() -> None:
    drops = parse_drops(TEXT.splitlines(), "agent h:1", 9)
    assert drops == [
        Drop("agent h:1", "events_buffer_add_failures", 2, 9),
        Drop("agent h:1", "gcs_task_metadata_buffer_dropped_attempts", 4, 9),
        Drop("agent h:1", "publish_failures", 3, 9),
        Drop("agent h:1", "queue_dropped_events", 1_500_007, 9),
    ]


def test_zero_and_nonsense_are_no_losses() -> None:
    name = "ray_aggregator_agent_publish_failures_total"
    assert parse_drops([f"{name} 0.0", f"{name}", f"{name} x", f"{name}{{", "ray_"], "a", 1) == []


@pytest.fixture
def agent() -> Iterator[HTTPServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = TEXT.encode()
            self.send_response(200 if self.path == "/metrics" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_from_an_agent(agent: HTTPServer) -> None:
    port = agent.server_port
    drops = read_agent_drops("127.0.0.1", port)
    assert {drop.source for drop in drops} == {f"agent 127.0.0.1:{port}"}
    assert len(drops) == 4


def test_an_agent_that_is_gone() -> None:
    assert read_agent_drops("127.0.0.1", 1, timeout_s=0.5) == []
