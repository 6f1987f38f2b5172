"""The runtime environments that nodes build, have built, or could not build, from their agents for these.

Nobody else knows: the GCS has a failure only once a task or actor has failed for it, and of one that is being
built nothing.
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

#: Nodes that are asked at a time, how long all of them have, s, and what one may answer, bytes.
_NODES, _TIMEOUT_S, _MAX_BYTES = 32, 2.0, 4 << 20
_PATH = "/get_runtime_envs_info"


class RuntimeEnv(msgspec.Struct, frozen=True):
    """A runtime environment on a node: canonical JSON without secrets, as on record with tasks and actors.

    ``is_built``: None while it is being built. ``runtime_env``: None of an agent that is too busy with one to
    say which. ``error``: why it could not be.
    """

    node_id: str
    runtime_env: str | None
    is_built: bool | None
    error: str | None = None


def read_runtime_envs(client: GcsClient) -> list[RuntimeEnv]:
    """Those of the living nodes, at most 32. Nodes that cannot be reached are left out. Raises GcsError.

    Ray forgets a failure after ten seconds, and tries again if anybody asks.
    """
    nodes: list[tuple[str, str, int]] = [
        (node.node_id.hex(), node.node_manager_address, port)
        for node in client.nodes()
        if node.state == 0 and (port := getattr(node, "runtime_env_agent_port", 0))  # GcsNodeState.ALIVE
    ][:_NODES]
    if not nodes:
        return []
    deadline = time.monotonic() + _TIMEOUT_S
    with ThreadPoolExecutor(len(nodes), "runtime-envs") as pool:
        answers = pool.map(lambda node: _ask(node, client.metadata, deadline), nodes)
        return [one for answer in answers for one in answer]


def _ask(
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
        # Ray's agent downloads on its event loop, and answers nobody meanwhile.
        return [RuntimeEnv(node_id, None, None)]
    except (OSError, http.client.HTTPException, DecodeError):
        return []
    finally:
        connection.close()
    return [_of(node_id, state) for state in states]


def _of(node_id: str, state: Any) -> RuntimeEnv:
    return RuntimeEnv(
        node_id,
        redact_runtime_env(state.runtime_env),
        state.success if state.HasField("success") else None,
        redact_text(clean_error(state.error)) if state.HasField("error") else None,
    )
