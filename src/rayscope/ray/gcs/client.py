"""A client for the tables of Ray's global control service (GCS).

It speaks gRPC over Ray's generated stubs and never joins the cluster: no ``ray.init()``, no driver, no
job of ours in the tables. Replies are handed on as protobuf; :mod:`rayscope.ray.gcs.snapshot` reads them.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rayscope.errors import RayscopeError
from rayscope.ray.address import AddressError, resolve
from rayscope.ray.events.schema import compile_messages

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),  # 100,000 attempts are about 70 MB
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)
#: The protobuf file of most services.
_PACKAGE = "gcs_service"
#: Tables that are read again and again: service, method, and the reply's field with the rows.
_TABLES = {
    "nodes": ("NodeInfoGcsService", "GetAllNodeInfo", "node_info_list"),
    "jobs": ("JobInfoGcsService", "GetAllJobInfo", "job_info_list"),
    "actors": ("ActorInfoGcsService", "GetAllActorInfo", "actor_table_data"),
    "workers": ("WorkerInfoGcsService", "GetAllWorkerInfo", "worker_table_data"),
    "placement_groups": (
        "PlacementGroupInfoGcsService",
        "GetAllPlacementGroup",
        "placement_group_table_data",
    ),
}
#: ``is_running_tasks`` would make the GCS ask every driver.
_FIELDS = {"jobs": {"skip_is_running_tasks_field": True}}
_REFUSED_REMEDY = (
    "Set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file with the token that the cluster was started with "
    "(on the head node: ~/.ray/auth_token)."
)


class GcsError(RayscopeError):
    """The GCS could not be read.

    ``code`` is one of ``bad_address``, ``unreachable``, ``unauthenticated``, ``deadline``, ``not_gcs``,
    ``failed``; ``params`` are what the message names besides (``address``, ``seconds``).
    """

    status = 502
    retry_after_s = 2


@dataclass(frozen=True)
class ClusterInfo:
    """What a cluster says about itself. ``dashboard_url`` is None where no dashboard runs."""

    session: str
    gcs_address: str
    ray_version: str | None = None
    dashboard_url: str | None = None


@dataclass(frozen=True)
class Table:
    """The rows of a table as they came, in protobuf's binary form; ``parse`` makes a message of one."""

    rows: list[bytes]
    parse: Callable[[bytes], Any]


class GcsClient:
    """Reads the GCS at ``address`` (``host:port``, or ``auto`` for the one on this machine).

    ``token`` is Ray's (see :mod:`rayscope.ray.auth`), ``timeout_s`` bounds each call. Every method
    raises :class:`GcsError`; the constructor does only for an address that cannot be one. Thread-safe.
    """

    def __init__(self, address: str = "auto", token: str | None = None, timeout_s: float = 10) -> None:
        # gRPC's own log would print each lost connection on our terminal; we report them as GcsError.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        # Imported late: Ray's package costs a second, and the command line's other uses do not need it.
        import grpc

        try:
            self.address = resolve(address)
        except AddressError as error:
            raise GcsError(error.message, error.remedy, "bad_address") from None
        self.timeout_s = timeout_s
        self._grpc: Any = grpc
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._has_token = bool(token)
        self._channel: Any = grpc.insecure_channel(self.address, options=_OPTIONS)
        self._methods: dict[tuple[str, str], Any] = {}

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call to a service of this cluster carries: Ray's token, if there is one."""
        return self._metadata

    def close(self) -> None:
        """Close the connection. Calls in flight fail."""
        self._channel.close()

    def __enter__(self) -> GcsClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cluster_info(self) -> ClusterInfo:
        """Session name, Ray version and dashboard address, from the cluster's internal key-value store."""
        session = self.session_name()
        dashboard = (self.internal_kv(b"dashboard", b"dashboard") or b"").decode(errors="replace")
        return ClusterInfo(session, self.address, self._ray_version(), _http_url(dashboard))

    def session_name(self) -> str:
        """The Ray session that the cluster runs now; another one after a restart of the head node."""
        session = self.internal_kv(b"session_name", b"session")
        if not session:
            raise GcsError(
                f"The service at {self.address} responds like a GCS but names no Ray session.",
                "Wait until the head node has started, then try again.",
                "not_gcs",
                address=self.address,
            )
        return session.decode()

    def _ray_version(self) -> str | None:
        try:
            metadata = json.loads(self.internal_kv(b"CLUSTER_METADATA", b"cluster") or b"{}")
            version = metadata.get("ray_version")
        except (ValueError, AttributeError):
            return None
        return str(version) if version else None

    def internal_kv(self, key: bytes, namespace: bytes) -> bytes | None:
        """One value of Ray's internal key-value store, None if there is none."""
        reply = self._call("InternalKVGcsService", "InternalKVGet", {"key": key, "namespace": namespace})
        return bytes(reply.value) or None

    def task_events(self, *, limit: int | None = None, job_id: str | None = None) -> Any:
        """``GetTaskEventsReply``: all task attempts that the GCS holds (100,000 by its default), drivers too.

        With ``limit`` the rest is counted in ``num_truncated``. ``job_id`` (hex) keeps one job.
        """
        request: dict[str, Any] = {"filters": {"exclude_driver": False}}
        if limit is not None:
            request["limit"] = limit
        if job_id is not None:
            # predicate 0 is EQUAL
            request["filters"]["job_filters"] = [{"job_id": bytes.fromhex(job_id)}]
        # A reply of 70 MB takes a busy GCS several seconds.
        return self._call("TaskInfoGcsService", "GetTaskEvents", request, timeout_s=max(30, self.timeout_s))

    def internal_config(self) -> dict[str, Any] | None:
        """The ``--system-config`` of the head node, None if the cluster does not tell."""
        try:
            told = json.loads(self._call("InternalKVGcsService", "GetInternalConfig", {}).config)
        except (AttributeError, GcsError, ValueError):  # a Ray that has it elsewhere, or keeps it to itself
            return None
        return told if isinstance(told, dict) else None

    def actors(self) -> Any:
        """The ``ActorTableData`` of all actors that the GCS remembers, dead ones too."""
        return self._rows("actors")

    def nodes(self) -> Any:
        """The ``GcsNodeInfo`` of all nodes, dead ones too."""
        return self._rows("nodes")

    def workers(self) -> Any:
        """The ``WorkerTableData`` of all worker processes and drivers, dead ones too."""
        return self._rows("workers")

    def worker(self, worker_id: str) -> Any:
        """The ``WorkerTableData`` of one worker or driver (hex id), None if the GCS has forgotten it."""
        fields = {"worker_id": bytes.fromhex(worker_id)}
        reply = self._call("WorkerInfoGcsService", "GetWorkerInfo", fields, timeout_s=2.0)
        return reply.worker_table_data if reply.HasField("worker_table_data") else None

    def jobs(self) -> Any:
        """The ``JobTableData`` of all drivers, with what the job API knows of those that it started."""
        return self._rows("jobs")

    def placement_groups(self) -> Any:
        """The ``PlacementGroupTableData`` of all placement groups, removed ones too."""
        return self._rows("placement_groups")

    def named_actors(self) -> set[tuple[str, str]]:
        """Namespace and name of all actors that live and have a name."""
        reply = self._call("ActorInfoGcsService", "ListNamedActors", {"all_namespaces": True})
        return {(one.ray_namespace, one.name) for one in reply.named_actors_list}

    def _rows(self, table: str) -> Any:
        service, method, field = _TABLES[table]
        return getattr(self._call(service, method, _FIELDS.get(table, {})), field)

    def table(self, table: str) -> Table:
        """The same rows (``nodes``, ``actors``, ...), not taken apart: most are as they were before."""
        service, method, field = _TABLES[table]
        messages = importlib.import_module(f"ray.core.generated.{_PACKAGE}_pb2")
        reply_type = getattr(messages, f"{method}Reply")
        fields = reply_type.DESCRIPTOR.fields_by_name
        raw = _raw_reply(fields["status"].number, fields[field].number)
        rpc = self._methods.get((service, f"{method} raw"))
        if rpc is None:
            path = f"/{messages.DESCRIPTOR.services_by_name[service].full_name}/{method}"
            rpc = self._methods[(service, f"{method} raw")] = self._channel.unary_unary(
                path, getattr(messages, f"{method}Request").SerializeToString, raw.FromString
            )
        reply = self._answer(rpc, self._request(method, _FIELDS.get(table, {}), messages), method)
        empty = reply_type()
        if reply.status:
            self._check(type(empty.status).FromString(reply.status), method)
        return Table(list(reply.rows), type(getattr(empty, field).add()).FromString)

    def available_resources(self) -> dict[str, dict[str, float]]:
        """Node id (hex) -> resources that are free now."""
        reply = self._call("NodeResourceInfoGcsService", "GetAllAvailableResources", {})
        return {
            bytes(item.node_id).hex(): dict(item.resources_available)
            for item in getattr(reply, "resources_list", ())
        }

    def rpc(self, service: str, method: str, package: str = _PACKAGE) -> Any:
        """One method of a service of Ray's, to be called by whoever knows how (``metadata``, ``explain``).

        ``package``: the protobuf file without its ending. AttributeError where this Ray has no such service.
        """
        found = self._methods.get((service, method))
        if found is None:
            stubs = importlib.import_module(f"ray.core.generated.{package}_pb2_grpc")
            found = getattr(getattr(stubs, f"{service}Stub")(self._channel), method)
            self._methods[(service, method)] = found
        return found

    def resource_usage(self) -> Any:
        """``ResourceUsageBatchData``: the resources of the living nodes, the shapes that wait for some."""
        return self._call("NodeResourceInfoGcsService", "GetAllResourceUsage", {}).resource_usage_data

    def draining_nodes(self) -> Any:
        """Those that are being drained: ``node_id`` and ``draining_deadline_timestamp_ms`` of each."""
        return self._call("NodeResourceInfoGcsService", "GetDrainingNodes", {}).draining_nodes

    def cluster_status(self) -> Any:
        """``GetClusterStatusReply``: what autoscaler v2 last said, and what it is told."""
        return self._call("AutoscalerStateService", "GetClusterStatus", {}, package="autoscaler")

    def _call(
        self,
        service: str,
        method: str,
        fields: dict[str, Any],
        timeout_s: float | None = None,
        package: str = _PACKAGE,
    ) -> Any:
        messages = importlib.import_module(f"ray.core.generated.{package}_pb2")
        request = self._request(method, fields, messages)
        reply = self._answer(self.rpc(service, method, package), request, method, timeout_s)
        self._check(getattr(reply, "status", None), method)
        return reply

    @staticmethod
    def _request(method: str, fields: dict[str, Any], messages: Any) -> Any:
        """A method's request with those of some fields that this Ray knows."""
        request_type = getattr(messages, f"{method}Request")
        names = request_type.DESCRIPTOR.fields_by_name
        return request_type(**{name: value for name, value in fields.items() if name in names})

    def _answer(self, rpc: Any, request: Any, method: str, timeout_s: float | None = None) -> Any:
        timeout = self.timeout_s if timeout_s is None else timeout_s
        started = time.monotonic()
        try:
            return rpc(request, timeout=timeout, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise self.explain(error, method, time.monotonic() - started) from None
        except ValueError as error:  # a closed channel
            raise GcsError(
                f"Could not query the GCS at {self.address}: {error}", "Open a new client."
            ) from None

    def _check(self, status: Any, method: str) -> None:
        # 0 is OK; 17 is NotFound, which a missing key answers (``StatusCode`` in Ray's common/status.h).
        if status is not None and status.code not in (0, 17):
            raise GcsError(
                f"The GCS at {self.address} rejected {method}: {status.message or status.code}.",
                "See gcs_server.out in the session's log directory on the head node.",
            )

    def explain(self, error: Any, method: str, elapsed_s: float) -> GcsError:
        """What a failed call means (gRPC's error), and what to do."""
        code = error.code()
        details = (error.details() or "").strip()
        codes = self._grpc.StatusCode
        if code in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED):
            what = "rejected the token" if self._has_token else "requires an authentication token"
            return GcsError(
                f"The GCS at {self.address} {what}.",
                _REFUSED_REMEDY,
                "unauthenticated",
                address=self.address,
            )
        if code is codes.UNIMPLEMENTED or (code is codes.UNKNOWN and "http" in details.lower()):
            return GcsError(
                f"The service at {self.address} speaks gRPC but is not a Ray GCS (it has no method "
                f"{method}).",
                "Use the GCS address of the head node (usually port 6379).",
                "not_gcs",
                address=self.address,
            )
        if code is codes.DEADLINE_EXCEEDED:
            return GcsError(
                f"The GCS at {self.address} did not respond to {method} within {elapsed_s:.0f} s.",
                "It is overloaded, or a firewall drops the packets. Try again, or run this on the head node.",
                "deadline",
                address=self.address,
                seconds=round(elapsed_s),
            )
        if code is codes.UNAVAILABLE and _not_http2(details):
            return GcsError(
                f"The service at {self.address} is not a Ray GCS (it does not speak gRPC).",
                "Use the GCS address of the head node (usually port 6379), not the dashboard's.",
                "not_gcs",
                address=self.address,
            )
        if code in (codes.UNAVAILABLE, codes.CANCELLED):
            return GcsError(
                f"Could not reach a Ray GCS at {self.address}: {_short(details)}.",
                "Check that the cluster is running, and that this is the address that `ray start "
                "--head` printed (host:port, usually port 6379).",
                "unreachable",
                address=self.address,
            )
        return GcsError(
            f"The GCS at {self.address} answered {method} with {code.name}: {_short(details)}.",
            "See gcs_server.out in the session's log directory on the head node.",
        )


@lru_cache(maxsize=16)
def _raw_reply(status: int, rows: int) -> Any:
    """The class of a reply whose fields (by number) stay bytes: 100,000 rows are read in some 10 ms."""
    schema = f"message Reply {{ bytes status = {status}; repeated bytes rows = {rows}; }}"
    return compile_messages(schema)["Reply"]


def _not_http2(details: str) -> bool:
    lowered = details.lower()
    return any(
        sign in lowered for sign in ("http2", "http/1", "settings frame", "trying to connect an http1")
    )


def _short(details: str) -> str:
    """The last part of gRPC's chain of causes, without its own punctuation."""
    if "Failed to connect to remote host: " in details:
        details = details.rpartition("Failed to connect to remote host: ")[2]
    return details[:200].rstrip(". ") or "no reason given"


def _http_url(address: str) -> str | None:
    if not address or ":" not in address:
        return None
    return address if address.startswith("http") else f"http://{address}"
