"""Finds the agents of Ray's nodes, and explains why one does not respond.

Every node runs a dashboard agent, even without a dashboard. It serves gRPC and HTTP to anyone who can reach
it, with Ray's token if the cluster has one.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from rayscope.errors import RayscopeError
from rayscope.ray.gcs.client import GcsClient

_ADDRESS_KEY = "DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:"
_HOST = re.compile(r"[0-9A-Za-z._%:-]{1,255}")
_REFUSED_REMEDY = "Attach with Ray's token, or set RAY_AUTH_TOKEN for this server."
_AGENT_REMEDY = (
    "If the node is starting, try again. Otherwise, see dashboard_agent.log there. Agents need ray[default] "
    '(`pip install "ray[default]"`), and this server must be able to reach the node\'s ports.'
)


class AgentError(RayscopeError):
    """A request to a node's agent failed.

    ``code``: ``no_agent``, ``unreachable``, ``unauthenticated`` or ``timeout`` for a problem with the agent
    itself, ``no_py_spy`` for a problem with the node, otherwise ``no_permission``, ``gone``, ``failed``,
    ``no_memray``, or ``no_debugger``.
    """

    status = 502

    @property
    def is_of_node(self) -> bool:
        """Whether any other request to this node would fail for the same reason."""
        return self.code in ("no_agent", "unreachable", "unauthenticated", "timeout", "no_py_spy")


class AgentAddress(NamedTuple):
    """Addresses of an agent: ``grpc`` (host:port), and ``http`` (a URL, or None if it is not published)."""

    grpc: str
    http: str | None


def agent_address(gcs: GcsClient, node_id: str) -> AgentAddress:
    """Return the address of a node's agent.

    The agent publishes it once its HTTP server runs. Before that, the address comes from the node table.

    Raises:
        AgentError: the node has no agent.
        GcsError: the GCS could not be read.
    """
    text = gcs.internal_kv(f"{_ADDRESS_KEY}{node_id}".encode(), b"dashboard")
    host: Any = None
    http: Any = None
    port: Any = None
    try:
        host, http, port = json.loads(text or b"null")
    except (TypeError, ValueError):
        for node in gcs.nodes():
            if node.node_id.hex() == node_id and node.state == 0:  # GcsNodeState.ALIVE
                host, port = node.node_manager_address, getattr(node, "metrics_agent_port", 0)
    if not isinstance(host, str) or not _HOST.fullmatch(host) or not _is_port(port):
        raise AgentError(
            "The node has no dashboard agent, or it is not running yet.", _AGENT_REMEDY, "no_agent"
        )
    named = f"[{host}]" if ":" in host else host
    return AgentAddress(f"{named}:{port}", f"http://{named}:{http}" if _is_port(http) else None)


def _is_port(value: Any) -> bool:
    return type(value) is int and 0 < value < 65536


def open_channel(address: str, max_bytes: int) -> Any:
    """A gRPC channel to an agent, for messages of at most ``max_bytes``."""
    import grpc

    options = (("grpc.max_receive_message_length", max_bytes), ("grpc.enable_http_proxy", 0))
    return grpc.insecure_channel(address, options=options)


def explain_rpc(error: Any, timeout_s: float) -> AgentError:
    """The error for a failed call. ``error`` is a ``grpc.RpcError``."""
    import grpc

    code, codes = error.code(), grpc.StatusCode
    if code is codes.DEADLINE_EXCEEDED:
        return AgentError(
            f"The node's agent did not respond within {timeout_s:.0f} s.",
            "The node is overloaded or unreachable. Try again.",
            "timeout",
            what="agent",
            seconds=round(timeout_s),
        )
    if code in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED):
        return AgentError(
            "The node's agent rejected the token.", _REFUSED_REMEDY, "unauthenticated", what="agent"
        )
    if code in (codes.UNAVAILABLE, codes.CANCELLED):
        return AgentError("Could not reach the node's agent.", _AGENT_REMEDY, "unreachable", what="agent")
    if code is codes.UNIMPLEMENTED:
        return AgentError(
            "The service at that port is not a Ray agent.", _AGENT_REMEDY, "no_agent", what="not_agent"
        )
    if code is codes.RESOURCE_EXHAUSTED:
        return AgentError(
            "The answer of the node's agent is too large.",
            "Ask for less: fewer seconds, files, or processes.",
            "failed",
            what="too_large",
        )
    return AgentError(
        f"The node's agent answered {code.name}.", _AGENT_REMEDY, "failed", what="agent", answer=code.name
    )
