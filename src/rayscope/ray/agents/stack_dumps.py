"""Fetches the Python stacks of a process from the agent of its node.

Ray's agent runs ``py-spy dump`` for anyone who calls its ``ReporterService``, as the dashboard does. We pass
only a process ID, so the stacks have no values of variables and no native frames.
"""

from __future__ import annotations

from typing import Any

from rayscope.ray.agents.client import AgentError, agent_address, explain_rpc, open_channel
from rayscope.ray.gcs.client import GcsClient

#: Maximum size of a dump, in bytes. One of a thousand threads has about 1 MB.
_MAX_BYTES = 8 << 20
_GONE_REMEDY = "Take the stacks again."
_PY_SPY_REMEDY = (
    "py-spy is part of ray[default]. Install it there, and start Ray with py-spy's folder on PATH "
    "(activate the environment, or use `rayscope start`)."
)
_PERMISSION_REMEDY = (
    "On the node, run: `sudo chown root:root $(which py-spy) && sudo chmod u+s $(which py-spy)`. In a "
    "container, add SYS_PTRACE (docker run --cap-add=SYS_PTRACE; in Kubernetes, "
    "securityContext.capabilities.add)."
)


#: The stacks of a process could not be read. :class:`AgentError` lists the values of ``code``.
TracebackError = AgentError


class Agent:
    """The agent of one node. Thread-safe; :meth:`close` it after use.

    Raises TracebackError if the node has no agent, and GcsError if the GCS cannot be read.
    """

    def __init__(self, gcs: GcsClient, node_id: str) -> None:
        import grpc
        from ray.core.generated import reporter_pb2, reporter_pb2_grpc

        self.address = agent_address(gcs, node_id).grpc
        self._grpc: Any = grpc
        self._request: Any = reporter_pb2.GetTracebackRequest
        self._gcs = gcs
        self._channel: Any = open_channel(self.address, _MAX_BYTES)
        self._traceback: Any = reporter_pb2_grpc.ReporterServiceStub(self._channel).GetTraceback

    def close(self) -> None:
        """Close the connection. Calls in flight fail."""
        self._channel.close()

    def traceback(self, pid: int, timeout_s: float) -> str:
        """The output of py-spy for a process. Raises TracebackError."""
        try:
            reply = self._traceback(self._request(pid=pid), timeout=timeout_s, metadata=self._gcs.metadata)
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise TracebackError(f"{pid} is not a process.", _GONE_REMEDY, "gone", what="process") from None
        if not reply.success:
            raise explain(reply.output)
        return str(reply.output)


def explain(output: str) -> TracebackError:
    """Return the error for a failed run of py-spy, given the output of Ray's agent."""
    said = output.lower()
    if "py-spy is not installed" in said:
        return TracebackError("py-spy was not found on the node.", _PY_SPY_REMEDY, "no_py_spy")
    if "permission denied" in said or "operation not permitted" in said:
        return TracebackError(
            "py-spy is not allowed to inspect processes on the node.", _PERMISSION_REMEDY, "no_permission"
        )
    gone = ("no such file", "no such process", "is running", "failed to find a python")
    if any(words in said for words in gone):
        return TracebackError("The process has ended.", _GONE_REMEDY, "gone", what="process")
    line = next((line for line in output.splitlines() if line.startswith("Error: ")), "py-spy failed.")
    return TracebackError(
        line.removeprefix("Error: ")[:200],
        "Take the stacks again, or see dashboard_agent.log there.",
        "failed",
        what="py_spy",
        reason=line.removeprefix("Error: ")[:200],
    )
