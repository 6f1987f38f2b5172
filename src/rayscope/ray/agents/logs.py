"""Reads the log files of a node from its agent: their names, sizes and bytes.

Ray's agent serves them by gRPC (its ``LogService``, which ``ray logs`` uses) and reports sizes by HTTP. The
agent opens any path below its log folder, so :func:`is_name` rejects names that could not have been listed.
"""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from rayscope.ray.agents.client import AgentError, agent_address, explain_rpc, open_channel
from rayscope.ray.agents.persistent_http import PersistentHttp
from rayscope.ray.common import cached_if_short
from rayscope.ray.gcs.client import GcsClient

#: Largest offset in a file, in bytes: Ray's offsets are 32-bit integers.
MAX_OFFSET = 2**31 - 1
#: Maximum number of files listed per node.
MAX_FILES = 50_000
#: Maximum number of characters in a file's name.
_MAX_NAME = 400
_MAX_MESSAGE = 16 << 20
_TIMEOUT_S = 10.0
_SIZE_TIMEOUT_S = 3.0
_ERROR_KEY = "log_grpc_status"
_WORKER = re.compile(r"(?:.*/)?\w*worker-([0-9a-f]{56})-([0-9a-f]{8})-(\d+)\.(out|err)(?:\.\d+)?")
_CORE = re.compile(r"(?:.*/)?\w+-core-(worker|driver)-([0-9a-f]+)_(\d+)\.log(?:\.\d+)?")
#: The log of a driver that `rayscope run` started. Rayscope chose this name, not Ray.
_OUR_DRIVER = re.compile(r"driver-([0-9a-f]{8})\.log")
#: Ray's worker ID of a driver: the job's ID, then only f's.
_OF_DRIVER = re.compile(r"([0-9a-f]{8})f{48}")
_DRIVER = re.compile(r"job-driver-(.+)\.log(?:\.\d+)?")
#: Prefix of a log file's name -> kind, for Ray's own processes.
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
#: Kinds of logs that user code writes. The others are written by Ray.
USER_KINDS = frozenset({"worker_out", "worker_err", "driver", "serve_replica"})
KINDS = tuple(dict.fromkeys((*sorted(USER_KINDS), "core", *(kind for _, kind in _OWN), "other")))


class LogName(NamedTuple):
    """The parts of a file's name: its kind, and the worker, job, process and submission it belongs to."""

    kind: str
    worker_id: str | None = None
    job_id: str | None = None
    pid: int | None = None
    submission_id: str | None = None


@cached_if_short(MAX_FILES, max_length=_MAX_NAME)
def read_name(name: str) -> LogName:
    """Parse the name of a log file."""
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
    """The number of times a file was rotated: 2 for ``worker-1.out.2``."""
    suffix = name.rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() and len(suffix) < 5 else 0


def driver_file(job_id: str) -> str:
    """Return our name for the log of a driver that `rayscope run` started."""
    return f"driver-{job_id}.log"


def is_name(name: str) -> bool:
    """Whether a string can be the name of a log file: relative, printable, and inside its folder."""
    return (
        0 < len(name) <= _MAX_NAME
        and name.isprintable()
        and not name.startswith(("/", "~"))
        and "\\" not in name
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )


class LogAgent:
    """The log files of one node. Thread-safe; :meth:`close` it after use.

    Raises AgentError if the node has no agent, and GcsError if the GCS cannot be read.
    """

    def __init__(self, gcs: GcsClient, node_id: str) -> None:
        import grpc
        from ray.core.generated import reporter_pb2

        self.address = agent_address(gcs, node_id)
        self._grpc: Any = grpc
        self._messages: Any = reporter_pb2
        self._gcs = gcs
        self._lock = threading.Lock()
        self._channel: Any = None
        self._made: Any = None
        self._closed = False
        self._http = None
        if self.address.http is not None:
            parts = urlsplit(self.address.http)
            self._http = PersistentHttp(
                parts.hostname or "", parts.port or 80, {"Accept-Encoding": "identity"}
            )

    @property
    def _stub(self) -> Any:
        """The gRPC service, connected on first use. Raises AgentError after :meth:`close`."""
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
        """The names of the node's log files, sorted. Skips invalid names. Raises AgentError."""
        request = self._messages.ListLogsRequest(glob_filter="**/*")
        try:
            reply = self._stub.ListLogs(request, timeout=timeout_s, metadata=self._gcs.metadata)
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise _closed() from None
        names = (name for name in reply.log_files if not name.endswith("/") and is_name(name))
        return sorted(names)[:MAX_FILES]

    def read(self, name: str, begin: int, end: int, timeout_s: float = _TIMEOUT_S) -> bytes:
        """The bytes from ``begin`` up to ``end``, or fewer at the end of the file. Raises AgentError."""
        end = min(end, MAX_OFFSET)
        if not is_name(name) or begin < 0 or end <= begin:
            return b""
        request = self._messages.StreamLogRequest(
            log_file_name=name, keep_alive=False, lines=-1, start_offset=begin, end_offset=end
        )
        parts = []
        try:
            stream = self._stub.StreamLog(request, timeout=timeout_s, metadata=self._gcs.metadata)
            if dict(stream.initial_metadata() or ()).get(_ERROR_KEY):
                stream.cancel()
                raise AgentError(
                    "The file no longer exists on the node.", "List the files again.", "gone", what="log_file"
                )
            parts = [bytes(reply.data) for reply in stream]
        except self._grpc.RpcError as error:
            raise explain_rpc(error, timeout_s) from None
        except ValueError:
            raise _closed() from None
        return b"".join(parts)[: end - begin]

    def size(self, name: str, at_least: int = 0) -> int:
        """Size of a file in bytes, at most ``MAX_OFFSET``. Raises AgentError.

        The size is requested over HTTP. If that fails, a binary search finds the end of the file. It starts
        at ``at_least``, a size that the file is known to have reached.
        """
        if not is_name(name):
            return 0
        size = self.reported_size(name)
        return size if size is not None else self._search_size(name, at_least)

    def reported_size(self, name: str) -> int | None:
        """Size of a file in bytes as reported over HTTP, or None if unknown. This is the cheapest way to get
        it.
        """
        if self._http is None or self._closed or not is_name(name):
            return None
        with contextlib.suppress(OSError):
            reply = self._http.request(
                "HEAD", f"/logs/{quote(name)}", _SIZE_TIMEOUT_S, dict(self._gcs.metadata)
            )
            if reply.status == 200 and reply.length is not None:
                return min(reply.length, MAX_OFFSET)
        return None

    def _search_size(self, name: str, at_least: int) -> int:
        def is_there(offset: int) -> bool:
            return bool(self.read(name, offset, offset + 1))

        low, step = at_least, 1 << 16  # all bytes below ``low`` exist
        while low + step < MAX_OFFSET and is_there(low + step - 1):
            low += step
            step *= 2
        high = min(low + step, MAX_OFFSET)  # no byte at or after ``high`` exists
        while low < high:
            middle = (low + high) // 2
            if is_there(middle):
                low = middle + 1
            else:
                high = middle
        return low


def _closed() -> AgentError:
    return AgentError(
        "The connection to the node's agent was closed.", "Try again.", "unreachable", what="agent_closed"
    )
