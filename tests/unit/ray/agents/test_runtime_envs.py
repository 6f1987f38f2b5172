"""Runtime environments on nodes: built, being built, or failed, and why."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from ray.core.generated import runtime_env_agent_pb2 as messages

from rayscope.cluster.nodes.demand import Place
from rayscope.cluster.nodes.status import pending_of
from rayscope.model.usage import Resources
from rayscope.ray.agents.runtime_envs import RuntimeEnv, read_runtime_envs

NODE = "01" * 28
FAILED = "Traceback:\n  pip failed\nERROR: https://me:secret@index/ has no package nowhere"


class Agent(BaseHTTPRequestHandler):
    """Answers as Ray's runtime environment agent does, to those who show the token."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        reply = messages.GetRuntimeEnvsInfoReply(total=3)
        reply.runtime_env_states.add(runtime_env='{"pip": ["slow"]}', ref_cnt=1)
        reply.runtime_env_states.add(runtime_env='{"env_vars": {"A": "b"}}', ref_cnt=1, success=True)
        reply.runtime_env_states.add(runtime_env='{"pip": ["nowhere"]}', success=False, error=FAILED)
        known = self.headers.get("authorization") == "Bearer token" and self.path == "/get_runtime_envs_info"
        body = reply.SerializeToString() if known else b""
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), Agent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def gcs(*ports: int, token: str = "token", state: int = 0) -> Any:
    nodes = [
        SimpleNamespace(
            node_id=bytes.fromhex(NODE),
            node_manager_address="127.0.0.1",
            runtime_env_agent_port=port,
            state=state,
        )
        for port in ports
    ]
    return SimpleNamespace(nodes=lambda: nodes, metadata=(("authorization", f"Bearer {token}"),))


def test_reports_of_agents_without_secrets(port: int) -> None:
    assert read_runtime_envs(gcs(port, 1)) == [  # no process listens at port 1
        RuntimeEnv(NODE, '{"pip":["slow"]}', None),
        RuntimeEnv(NODE, '{"env_vars":{"A":"<redacted>"}}', True),
        RuntimeEnv(NODE, '{"pip":["nowhere"]}', False, FAILED.replace("me:secret", "<redacted>")),
    ]
    assert read_runtime_envs(gcs(port, token="wrong")) == []
    assert read_runtime_envs(gcs(port, state=1)) == []  # it is dead
    assert read_runtime_envs(gcs()) == []


@pytest.mark.parametrize(
    ("runtime_env", "code"),
    [
        ('{"pip":["slow"]}', "runtime_env"),
        ('{"pip":["nowhere"]}', "runtime_env_failed"),
        ('{"env_vars":{"A":"<redacted>"}}', "busy"),
        ('{"pip":["unknown"]}', "busy"),
        (None, "busy"),
    ],
)
def test_why_something_waits(port: int, runtime_env: str | None, code: str) -> None:
    row = {
        **dict.fromkeys(("id", "job_id", "since_ns", "label_selector", "placement_group_id")),
        "kind": "task",
        "name": "f",
        "count": 1,
        "state": "PENDING_NODE_ASSIGNMENT",
        "required_resources": '{"CPU":1.0}',
        "runtime_env": runtime_env,
    }
    # While an environment is built, the task that waits for it has taken the CPU already.
    places = [Place(NODE, {"CPU": 1.0}, {"CPU": 0.0})]
    (pending,) = pending_of([row], Resources(time_ns=1), places, read_runtime_envs(gcs(port)))
    reason = pending["reason"]
    assert (reason["code"], reason["never"]) == (code, False)
    if code == "runtime_env_failed":
        assert reason["error"].endswith("has no package nowhere")
