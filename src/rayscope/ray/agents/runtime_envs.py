"""Runtime environments that nodes are building, have built, or failed to build.

They are read from the runtime environment agents. The GCS does not know environments that are being built,
and learns of a failure only once a task or actor has failed because of it.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from rayscope.ray.common import clean_error, redact_runtime_env, redact_text
from rayscope.ray.gcs.client import GcsClient

#: Maximum number of nodes queried per call.
_MAX_NODES = 32
#: Time limit for all nodes together, in seconds.
_TIMEOUT_S = 2.0
#: Maximum size of one response, in bytes.
_MAX_BYTES = 4 << 20
_PATH = "/get_runtime_envs_info"


class RuntimeEnv(msgspec.Struct, frozen=True):
    """A runtime environment on a node.

    Attributes:
        node_id: hex ID of the node.
        runtime_env: canonical JSON without secrets, as recorded with tasks and actors. None if the agent is
            too busy to respond.
        is_built: whether it was built, None while it is being built.
        error: why it could not be built, or None.
    """

    node_id: str
    runtime_env: str | None
    is_built: bool | None
    error: str | None = None


def read_runtime_envs(client: GcsClient) -> list[RuntimeEnv]:
    """Runtime environments of at most 32 live nodes. Unreachable nodes are skipped. Raises GcsError.

    Ray forgets a failure after ten seconds and retries on the next request.
    """
    nodes: list[tuple[str, str, int]] = [
        (node.node_id.hex(), node.node_manager_address, port)
        for node in client.nodes()
        if node.state == 0 and (port := getattr(node, "runtime_env_agent_port", 0))  # GcsNodeState.ALIVE
    ][:_MAX_NODES]
    if not nodes:
        return []
    deadline = time.monotonic() + _TIMEOUT_S
    with ThreadPoolExecutor(len(nodes), "runtime-envs") as pool:
        answers = pool.map(lambda node: _read_node(node, client.metadata, deadline), nodes)
        return [one for answer in answers for one in answer]


def _read_node(
    node: tuple[str, str, int], metadata: Iterable[tuple[str, str]], deadline: float
) -> list[RuntimeEnv]:
    from google.protobuf.message import DecodeError
    from ray.core.generated import runtime_env_agent_pb2 as messages

    node_id, host, port = node
    timeout_s = max(0.1, deadline - time.monotonic())
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        request = messages.GetRuntimeEnvsInfoRequest(limit=10_000)
        connection.request("POST", _PATH, request.SerializeToString(), dict(metadata))
        reply = connection.getresponse()
        body = reply.read(_MAX_BYTES)
        if reply.status != 200:
            return []
        states = messages.GetRuntimeEnvsInfoReply.FromString(body).runtime_env_states
    except TimeoutError:
        # Ray's agent blocks its event loop while it downloads, so it does not respond until it is done.
        return [RuntimeEnv(node_id, None, None)]
    except (OSError, http.client.HTTPException, DecodeError):
        return []
    finally:
        connection.close()
    return [_parse(node_id, state) for state in states]


def _parse(node_id: str, state: Any) -> RuntimeEnv:
    return RuntimeEnv(
        node_id,
        redact_runtime_env(state.runtime_env),
        state.success if state.HasField("success") else None,
        redact_text(clean_error(state.error)) if state.HasField("error") else None,
    )
