"""The Python frames of a process, from the agent of the node that it runs on.

Ray's agent runs ``py-spy dump`` for whoever asks it by gRPC (its ``ReporterService``; the dashboard's own
pages do the same). It is asked for one process id and nothing else: no values of variables, no native frames.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rayscope.sources.gcs import GcsClient

#: A dump of a thousand threads is about 1 MB.
_MAX_BYTES = 8 << 20
_ADDRESS_KEY = "DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:"
_HOST = re.compile(r"[0-9A-Za-z._%:-]{1,255}")
_GONE_REMEDY = "Take the frames again."
_REFUSED_REMEDY = "Attach with Ray's token, or set RAY_AUTH_TOKEN for this server."
_AGENT_REMEDY = (
    "While the node starts: try again. Else see dashboard_agent.log there; agents need ray[default] "
    '(`pip install "ray[default]"`), and this server must reach the ports of the node.'
)
_PY_SPY_REMEDY = (
    "py-spy comes with ray[default]. Install it there, and start Ray with the folder that py-spy is in on "
    "PATH (activate the environment, or `rayscope start`)."
)
_PERMISSION_REMEDY = (
    "There: `sudo chown root:root $(which py-spy) && sudo chmod u+s $(which py-spy)`. In a container: give "
    "it SYS_PTRACE (docker run --cap-add=SYS_PTRACE; Kubernetes: securityContext.capabilities.add)."
)


class TracebackError(Exception):
    """The frames of a process cannot be had. ``message`` says why, ``remedy`` what to do.

    ``code``: ``no_agent``, ``unreachable``, ``unauthenticated``, ``timeout`` (all of the node's agent),
    ``no_py_spy``, ``no_permission``, ``gone``, ``failed``.
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy

    @property
    def is_of_node(self) -> bool:
        """Whether the node's other processes would fail alike."""
        return self.code in ("no_agent", "unreachable", "unauthenticated", "timeout", "no_py_spy")


class Agent:
    """The agent of one node. Thread-safe; :meth:`close` it after use.

    Raises TracebackError where the node has none, GcsError where the GCS cannot be asked.
    """

    def __init__(self, gcs: GcsClient, node_id: str) -> None:
        import grpc
        from ray.core.generated import reporter_pb2, reporter_pb2_grpc

        self.address = _address(gcs, node_id)
        self._grpc: Any = grpc
        self._request: Any = reporter_pb2.GetTracebackRequest
        self._metadata = gcs.metadata
        options = (("grpc.max_receive_message_length", _MAX_BYTES), ("grpc.enable_http_proxy", 0))
        self._channel: Any = grpc.insecure_channel(self.address, options=options)
        self._ask: Any = reporter_pb2_grpc.ReporterServiceStub(self._channel).GetTraceback

    def close(self) -> None:
        """Close the connection. Calls in flight fail."""
        self._channel.close()

    def traceback(self, pid: int, timeout_s: float) -> str:
        """What py-spy prints of the process. Raises TracebackError."""
        try:
            reply = self._ask(self._request(pid=pid), timeout=timeout_s, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise self._explain(error, timeout_s) from None
        except ValueError:
            raise TracebackError("gone", f"{pid} is no process.", _GONE_REMEDY) from None
        if not reply.success:
            raise explain(reply.output)
        return str(reply.output)

    def _explain(self, error: Any, timeout_s: float) -> TracebackError:
        code, codes = error.code(), self._grpc.StatusCode
        if code is codes.DEADLINE_EXCEEDED:
            return TracebackError(
                "timeout",
                f"The node's agent did not answer within {timeout_s:.0f} s.",
                "The node is overloaded or unreachable: try again.",
            )
        if code in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED):
            return TracebackError("unauthenticated", "The node's agent refused our token.", _REFUSED_REMEDY)
        if code in (codes.UNAVAILABLE, codes.CANCELLED):
            return TracebackError("unreachable", "The node's agent cannot be reached.", _AGENT_REMEDY)
        if code is codes.UNIMPLEMENTED:
            return TracebackError("no_agent", "What answers there is no agent of Ray's.", _AGENT_REMEDY)
        return TracebackError("failed", f"The node's agent answered {code.name}.", _AGENT_REMEDY)


def _address(gcs: GcsClient, node_id: str) -> str:
    """Where a node's agent serves gRPC: it tells that itself, once its HTTP server runs; else its raylet."""
    told = gcs.internal_kv(f"{_ADDRESS_KEY}{node_id}".encode(), b"dashboard")
    host: Any = None
    port: Any = None
    try:
        host, _, port = json.loads(told or b"null")
    except (TypeError, ValueError):
        for node in gcs.nodes():
            if node.node_id.hex() == node_id and node.state == 0:  # GcsNodeState.ALIVE
                host, port = node.node_manager_address, getattr(node, "metrics_agent_port", 0)
    if (
        not isinstance(host, str)
        or not _HOST.fullmatch(host)
        or type(port) is not int
        or not 0 < port < 65536
    ):
        raise TracebackError("no_agent", "The node has no dashboard agent, or none yet.", _AGENT_REMEDY)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def explain(output: str) -> TracebackError:
    """What it means that py-spy failed, from what Ray's agent says of it."""
    said = output.lower()
    if "py-spy is not installed" in said:
        return TracebackError("no_py_spy", "Ray found no py-spy on the node.", _PY_SPY_REMEDY)
    if "permission denied" in said or "operation not permitted" in said:
        return TracebackError(
            "no_permission", "py-spy may not look into processes on the node.", _PERMISSION_REMEDY
        )
    gone = ("no such file", "no such process", "is running", "failed to find a python")
    if any(words in said for words in gone):
        return TracebackError("gone", "The process has ended meanwhile.", _GONE_REMEDY)
    line = next((line for line in output.splitlines() if line.startswith("Error: ")), "py-spy failed.")
    return TracebackError(
        "failed", line.removeprefix("Error: ")[:200], "Take the frames again; see dashboard_agent.log there."
    )
