"""The log files of a node, from its agent: which there are, how long they are, and their bytes.

Ray's agent serves them by gRPC (its ``LogService``; ``ray logs`` does the same) and tells a file's size by
HTTP. A name is one that the agent listed before; ``checked_name`` holds back what cannot be one, since an
agent joins names to its folder.
"""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from rayscope.ray.agents.client import AgentError, agent_address, explain_rpc, open_channel
from rayscope.ray.agents.persistent_http import KeptHttp
from rayscope.ray.common import cached_if_short
from rayscope.ray.gcs.client import GcsClient

#: Ray's offsets are 32 bit.
MAX_OFFSET = 2**31 - 1
#: Files that are listed of a node, and letters of a name.
MAX_FILES, _MAX_NAME = 50_000, 400
_MAX_MESSAGE = 16 << 20
_TIMEOUT_S = 10.0
_SIZE_TIMEOUT_S = 3.0
_ERROR_KEY = "log_grpc_status"
_WORKER = re.compile(r"(?:.*/)?\w*worker-([0-9a-f]{56})-([0-9a-f]{8})-(\d+)\.(out|err)(?:\.\d+)?")
_CORE = re.compile(r"(?:.*/)?\w+-core-(worker|driver)-([0-9a-f]+)_(\d+)\.log(?:\.\d+)?")
#: Of a job that was submitted, and our own of one that `rayscope run` started.
_OUR_DRIVER = re.compile(r"driver-([0-9a-f]{8})\.log")
#: Ray's id of a driver's own process: its job, then nothing but f's.
_OF_DRIVER = re.compile(r"([0-9a-f]{8})f{48}")
_DRIVER = re.compile(r"job-driver-(.+)\.log(?:\.\d+)?")
#: The beginnings of names of Ray's own processes -> kind.
_OWN = (
    ("raylet", "raylet"),
    ("gcs_server", "gcs"),
    ("log_monitor", "log_monitor"),
    ("monitor", "autoscaler"),
    ("dashboard_agent", "agent"),
    ("runtime_env", "runtime_env"),
    ("agent", "agent"),
    ("dashboard", "dashboard"),
    ("events/", "event"),
    ("export_events/", "event"),
    ("serve/replica_", "serve_replica"),
)
#: Kinds of what users' code writes; the others are Ray's own.
USER_KINDS = frozenset({"worker_out", "worker_err", "driver", "serve_replica"})
KINDS = tuple(dict.fromkeys((*sorted(USER_KINDS), "core", *(kind for _, kind in _OWN), "other")))


class LogName(NamedTuple):
    """What a file's name tells: its kind, and whose it is where it says that."""

    kind: str
    worker_id: str | None = None
    job_id: str | None = None
    pid: int | None = None
    submission_id: str | None = None


@cached_if_short(MAX_FILES, max_length=_MAX_NAME)
def read_name(name: str) -> LogName:
    """What a file's name tells."""
    if found := _WORKER.fullmatch(name):
        worker, job, pid, stream = found.groups()
        return LogName(f"worker_{stream}", worker, job, int(pid[:10]))
    if found := _CORE.fullmatch(name):
        of_driver = _OF_DRIVER.fullmatch(found[2])
        job = of_driver[1] if of_driver else None
        return LogName("core", found[2] if found[1] == "worker" else None, job, int(found[3][:10]))
    if found := _DRIVER.fullmatch(name):
        return LogName("driver", submission_id=found[1])
    if found := _OUR_DRIVER.fullmatch(name):
        return LogName("driver", job_id=found[1])
    return LogName(next((kind for start, kind in _OWN if name.startswith(start)), "other"))


def rotations(name: str) -> int:
    """How often a file was rotated: 2 for ``worker-1.out.2``."""
    suffix = name.rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() and len(suffix) < 5 else 0


def driver_file(job_id: str) -> str:
    """Our name for what the driver of a job printed that `rayscope run` started."""
    return f"driver-{job_id}.log"


def is_name(name: str) -> bool:
    """Whether a text can be the name of a log file: relative, printable, and it stays inside its folder."""
    return (
        0 < len(name) <= _MAX_NAME
        and name.isprintable()
        and not name.startswith(("/", "~"))
        and "\\" not in name
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )


class LogAgent:
    """The log files of one node. Thread-safe; :meth:`close` it after use.

    Raises AgentError where the node has no agent, GcsError where the GCS cannot be asked.
    """

    def __init__(self, gcs: GcsClient, node_id: str) -> None:
        import grpc
        from ray.core.generated import reporter_pb2

        self.address = agent_address(gcs, node_id)
        self._grpc: Any = grpc
        self._messages: Any = reporter_pb2
        self._metadata = gcs.metadata
        self._lock = threading.Lock()
        self._channel: Any = None
        self._made: Any = None
        self._closed = False
        self._http = None
        if self.address.http is not None:
            parts = urlsplit(self.address.http)
            headers = {"Accept-Encoding": "identity", **dict(self._metadata)}
            self._http = KeptHttp(parts.hostname or "", parts.port or 80, headers)

    @property
    def _stub(self) -> Any:
        """The service; its connection is opened with the first question. Raises AgentError once closed."""
        from ray.core.generated import reporter_pb2_grpc

        with self._lock:
            if self._closed:
                raise _closed()
            if self._made is None:
                self._channel = open_channel(self.address.grpc, _MAX_MESSAGE)
                self._made = reporter_pb2_grpc.LogServiceStub(self._channel)
            return self._made

    def close(self) -> None:
        """Close the connections. Calls in flight fail."""
        with self._lock:
            self._closed = True
            if self._channel is not None:
                self._channel.close()
        if self._http is not None:
            self._http.close()

    def names(self, timeout_s: float = _TIMEOUT_S) -> list[str]:
        """The log files of the node, sorted; what can be no name of one is left out. Raises AgentError."""
        request = self._messages.ListLogsRequest(glob_filter="**/*")
        try:
            reply = self._stub.ListLogs(request, timeout=timeout_s, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise _closed() from None
        listed = (name for name in reply.log_files if not name.endswith("/") and is_name(name))
        return sorted(listed)[:MAX_FILES]

    def read(self, name: str, begin: int, end: int, timeout_s: float = _TIMEOUT_S) -> bytes:
        """The bytes from ``begin`` up to ``end``, fewer where the file ends before. Raises AgentError."""
        end = min(end, MAX_OFFSET)
        if not is_name(name) or begin < 0 or end <= begin:
            return b""
        request = self._messages.StreamLogRequest(
            log_file_name=name, keep_alive=False, lines=-1, start_offset=begin, end_offset=end
        )
        parts = []
        try:
            stream = self._stub.StreamLog(request, timeout=timeout_s, metadata=self._metadata)
            if dict(stream.initial_metadata() or ()).get(_ERROR_KEY):
                stream.cancel()
                raise AgentError("The file no longer exists on the node.", "List the files again.", "gone")
            parts = [bytes(reply.data) for reply in stream]
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise _closed() from None
        return b"".join(parts)[: end - begin]

    def size(self, name: str, at_least: int = 0) -> int:
        """How many bytes a file has (those that Ray's offsets reach). Raises AgentError.

        By HTTP; where that does not answer, by looking which offsets there are, from ``at_least`` on.
        """
        if not is_name(name):
            return 0
        told = self.reported_size(name)
        return told if told is not None else self._found_size(name, at_least)

    def reported_size(self, name: str) -> int | None:
        """How many bytes a file has, by HTTP alone; None where that does not tell. The cheapest question."""
        if self._http is None or self._closed or not is_name(name):
            return None
        with contextlib.suppress(OSError):
            reply = self._http.ask("HEAD", f"/logs/{quote(name)}", _SIZE_TIMEOUT_S)
            if reply.status == 200 and reply.length is not None:
                return min(reply.length, MAX_OFFSET)
        return None

    def _found_size(self, name: str, at_least: int) -> int:
        def is_there(offset: int) -> bool:
            return bool(self.read(name, offset, offset + 1))

        low, step = at_least, 1 << 16  # all below ``low`` is there
        while low + step < MAX_OFFSET and is_there(low + step - 1):
            low += step
            step *= 2
        high = min(low + step, MAX_OFFSET)  # nothing is there from ``high`` on
        while low < high:
            middle = (low + high) // 2
            if is_there(middle):
                low = middle + 1
            else:
                high = middle
        return low


def _closed() -> AgentError:
    return AgentError("The connection to the node's agent was closed.", "Try again.", "unreachable")
