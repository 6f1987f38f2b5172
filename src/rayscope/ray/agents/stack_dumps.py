"""The Python frames of a process, from the agent of the node that it runs on.

Ray's agent runs ``py-spy dump`` for whoever asks it by gRPC (its ``ReporterService``; the dashboard's own
pages do the same). It is asked for one process id and nothing else: no values of variables, no native frames.
"""

from __future__ import annotations

from typing import Any

from rayscope.ray.agents.client import AgentError, agent_address, explain_rpc, open_channel
from rayscope.ray.gcs.client import GcsClient

#: A dump of a thousand threads is about 1 MB.
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


#: ``code``: of the agent itself (see ``node_agent``), ``no_py_spy``, ``no_permission``, ``gone``, ``failed``.
TracebackError = AgentError


class Agent:
    """The agent of one node. Thread-safe; :meth:`close` it after use.

    Raises TracebackError where the node has none, GcsError where the GCS cannot be asked.
    """

    def __init__(self, gcs: GcsClient, node_id: str) -> None:
        import grpc
        from ray.core.generated import reporter_pb2, reporter_pb2_grpc

        self.address = agent_address(gcs, node_id).grpc
        self._grpc: Any = grpc
        self._request: Any = reporter_pb2.GetTracebackRequest
        self._metadata = gcs.metadata
        self._channel: Any = open_channel(self.address, _MAX_BYTES)
        self._ask: Any = reporter_pb2_grpc.ReporterServiceStub(self._channel).GetTraceback

    def close(self) -> None:
        """Close the connection. Calls in flight fail."""
        self._channel.close()

    def traceback(self, pid: int, timeout_s: float) -> str:
        """What py-spy prints of the process. Raises TracebackError."""
        try:
            reply = self._ask(self._request(pid=pid), timeout=timeout_s, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise TracebackError(f"{pid} is not a process.", _GONE_REMEDY, "gone") from None
        if not reply.success:
            raise explain(reply.output)
        return str(reply.output)


def explain(output: str) -> TracebackError:
    """What it means that py-spy failed, from what Ray's agent says of it."""
    said = output.lower()
    if "py-spy is not installed" in said:
        return TracebackError("py-spy was not found on the node.", _PY_SPY_REMEDY, "no_py_spy")
    if "permission denied" in said or "operation not permitted" in said:
        return TracebackError(
            "py-spy is not allowed to inspect processes on the node.", _PERMISSION_REMEDY, "no_permission"
        )
    gone = ("no such file", "no such process", "is running", "failed to find a python")
    if any(words in said for words in gone):
        return TracebackError("The process has ended.", _GONE_REMEDY, "gone")
    line = next((line for line in output.splitlines() if line.startswith("Error: ")), "py-spy failed.")
    return TracebackError(
        line.removeprefix("Error: ")[:200],
        "Take the stacks again, or see dashboard_agent.log there.",
        "failed",
    )
