"""Fetches the Python stacks of a process from the agent of its node, at one moment or over some seconds.

Ray's agent runs ``py-spy`` and ``memray`` for anyone who calls its ``ReporterService``, as the dashboard
does. Unlike the dashboard's, these requests need no ``RAY_DASHBOARD_ENABLE_PROFILING``. The stacks have no
values of variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rayscope.ray.agents.client import AgentError, agent_address, explain_rpc, open_channel
from rayscope.ray.agents.memory_profiles import explain_memray
from rayscope.ray.gcs.client import GcsClient

#: Maximum size of a dump, in bytes. One of a thousand threads has about 1 MB.
_MAX_BYTES = 8 << 20
#: Time that a profile may take beyond its length, in seconds.
_PROFILE_OVERHEAD_S = 20.0
#: The same for memray, whose report takes up to three seconds per second. If we gave up before it detaches,
#: it would stay switched on in the process.
_MEMRAY_OVERHEAD_S = 240.0
#: Time before which memray has not attached to a process, in seconds.
_MIN_ATTACH_S = 0.5
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
        self._messages: Any = reporter_pb2
        self._gcs = gcs
        self._channel: Any = open_channel(self.address, _MAX_BYTES)
        self._stub: Any = reporter_pb2_grpc.ReporterServiceStub(self._channel)

    def close(self) -> None:
        """Close the connection. Calls in flight fail."""
        self._channel.close()

    def traceback(self, pid: int, timeout_s: float) -> str:
        """The output of ``py-spy dump`` for a process. Raises TracebackError."""
        try:
            request = self._messages.GetTracebackRequest(pid=pid)
        except ValueError:
            raise TracebackError(f"{pid} is not a process.", _GONE_REMEDY, "gone", what="process") from None
        return self._output(
            lambda: self._stub.GetTraceback(request, **self._options(timeout_s)), timeout_s, explain
        )

    def start_profile(self, pid: int, seconds: int, *, native: bool) -> RunningProfile:
        """Start to profile a process, at 100 samples per second. ``native``: with frames of C and C++.

        Samples of threads that wait are included, unless Ray is too old for that.
        """
        fields = {"pid": pid, "duration": seconds, "format": "raw", "native": native}
        if "idle" in self._messages.CpuProfilingRequest.DESCRIPTOR.fields_by_name:
            fields["idle"] = True
        timeout_s = seconds + _PROFILE_OVERHEAD_S
        request = self._messages.CpuProfilingRequest(**fields)
        future = self._stub.CpuProfiling.future(request, **self._options(timeout_s))
        return RunningProfile(future, lambda: self._output(future.result, timeout_s, explain))

    def start_memory_profile(self, pid: int, seconds: int, *, leaks: bool) -> RunningProfile:
        """Start to record the allocations of a process with memray.

        The report is about the peak. ``leaks``: it is about what was not freed until the end. This needs
        each object of Python, because Python keeps the memory of small ones for others.
        """
        fields = {"pid": pid, "duration": seconds, "format": "flamegraph", "leaks": leaks}
        timeout_s = seconds + _MEMRAY_OVERHEAD_S
        request = self._messages.MemoryProfilingRequest(**fields, trace_python_allocators=leaks)
        future = self._stub.MemoryProfiling.future(request, **self._options(timeout_s))
        return RunningProfile(future, lambda: self._output(future.result, timeout_s, explain_memray))

    def _options(self, timeout_s: float) -> dict[str, Any]:
        return {"timeout": timeout_s, "metadata": self._gcs.metadata}

    def _output(
        self, wait: Callable[[], Any], timeout_s: float, explain_output: Callable[[str], AgentError]
    ) -> str:
        try:
            reply = wait()
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        if not reply.success:
            raise explain_output(reply.output)
        return str(reply.output)


class RunningProfile:
    """A profile that is being taken. ``seconds``: how long the tool ran, with its start, once it ended."""

    def __init__(self, future: Any, wait: Callable[[], str]) -> None:
        self._began = time.monotonic()
        self._future = future
        self._wait = wait
        self.seconds: float | None = None
        future.add_done_callback(lambda _: self._note_end())

    def wait(self) -> str:
        """Return the output of ``py-spy record --format raw`` or ``memray flamegraph`` at its end.

        Raises TracebackError.
        """
        try:
            return self._wait()
        finally:
            self._note_end()  # gRPC wakes us before it calls its callbacks

    def may_be_attached(self) -> bool:
        """Whether memray may still record after a failure: it did not detach, or the call broke off."""
        error = self._future.exception()
        if error is None:
            return bool(self._future.result().warning)
        broke_off = error.code().name in ("DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED")
        return broke_off and (self.seconds or 0) >= _MIN_ATTACH_S

    def detach_problem(self) -> AgentError | None:
        """Return why memray did not detach, or None. Its report covers the time until then."""
        warning = self._future.result().warning
        return explain_memray(warning) if warning else None

    def _note_end(self) -> None:
        if self.seconds is None:
            self.seconds = time.monotonic() - self._began


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
