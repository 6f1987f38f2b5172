"""A client for the tables of Ray's global control service (GCS).

It uses gRPC with Ray's generated stubs and never joins the cluster: no ``ray.init()``, no driver, and no job
of ours in the tables. Replies are returned as protobuf messages, which :mod:`rayscope.ray.gcs.snapshot`
converts.
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
from rayscope.ray.auth import RayToken
from rayscope.ray.events.schema import compile_messages

_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)
#: The protobuf module of most services.
_PACKAGE = "gcs_service"
#: Tables that are polled: service, method, and the field of the reply that has the rows.
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
#: Fields to set in the requests for tables. Without this one, the GCS would send a request to every driver.
_FIELDS = {"jobs": {"skip_is_running_tasks_field": True}}
_REFUSED_REMEDY = (
    "Set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file with the token that the cluster was started with "
    "(on the head node: ~/.ray/auth_token)."
)


class GcsError(RayscopeError):
    """The GCS could not be read.

    ``code``: ``bad_address``, ``unreachable``, ``unauthenticated``, ``deadline``, ``not_gcs``, or ``failed``.
    ``params``: values in the message (``address``, ``seconds``).
    """

    status = 502
    retry_after_s = 2


@dataclass(frozen=True)
class ClusterInfo:
    """Basic facts about a cluster. ``dashboard_url`` is None if the cluster has no dashboard."""

    session: str
    gcs_address: str
    ray_version: str | None = None
    dashboard_url: str | None = None


@dataclass(frozen=True)
class Table:
    """Serialized rows of a table. ``parse`` converts one to a message."""

    rows: list[bytes]
    parse: Callable[[bytes], Any]


class GcsClient:
    """Reads the GCS of a cluster. Thread-safe.

    Every method raises :class:`GcsError`. The constructor raises it only for an invalid address.

    Args:
        address: ``host:port``, or ``auto`` for the cluster on this machine.
        token: Ray's token, see :mod:`rayscope.ray.auth`. A :class:`RayToken` is read again after a refusal.
        timeout_s: limit for each call, s.
        max_bytes: maximum size of a reply. By default there is none: 100,000 attempts are about 70 MB.
    """

    def __init__(
        self,
        address: str = "auto",
        token: RayToken | str | None = None,
        timeout_s: float = 10,
        max_bytes: int = -1,
    ) -> None:
        # Otherwise gRPC prints every lost connection to our terminal. We report them as GcsError.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        # Imported late: Ray's package takes a second to import, and most CLI commands do not need it.
        import grpc

        try:
            self.address = resolve(address)
        except AddressError as error:
            raise GcsError(error.message, error.remedy, "bad_address") from None
        self.timeout_s = timeout_s
        self._grpc: Any = grpc
        self.token = RayToken.of(token)
        options = (*_OPTIONS, ("grpc.max_receive_message_length", max_bytes))
        self._channel: Any = grpc.insecure_channel(self.address, options=options)
        self._methods: dict[tuple[str, str], Any] = {}

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """gRPC metadata for every call to this cluster: Ray's current token, if there is one."""
        return _metadata(self.token.value)

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
        """The current Ray session of the cluster, which changes when the head node restarts."""
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
        """A value from Ray's internal key-value store, or None if there is none."""
        reply = self._call("InternalKVGcsService", "InternalKVGet", {"key": key, "namespace": namespace})
        return bytes(reply.value) or None

    def put_internal_kv(self, key: bytes, namespace: bytes, value: bytes) -> None:
        """Store a value in Ray's internal key-value store, where it replaces an older one."""
        fields = {"key": key, "namespace": namespace, "value": value, "overwrite": True}
        self._call("InternalKVGcsService", "InternalKVPut", fields)

    def delete_internal_kv(self, key: bytes, namespace: bytes) -> None:
        """Delete a value from Ray's internal key-value store."""
        self._call("InternalKVGcsService", "InternalKVDel", {"key": key, "namespace": namespace})

    def internal_kv_keys(self, prefix: bytes, namespace: bytes) -> list[bytes]:
        """The keys in Ray's internal key-value store that begin with ``prefix``."""
        fields = {"prefix": prefix, "namespace": namespace}
        return list(self._call("InternalKVGcsService", "InternalKVKeys", fields).results)

    def task_events(self) -> Any:
        """``GetTaskEventsReply`` with the attempts in the GCS (100,000 by default), including drivers."""
        request = {"filters": {"exclude_driver": False}}
        # A busy GCS needs several seconds for a reply of 70 MB.
        return self._call("TaskInfoGcsService", "GetTaskEvents", request, timeout_s=max(30, self.timeout_s))

    def internal_config(self) -> dict[str, Any] | None:
        """The ``--system-config`` of the head node, or None if it is not available."""
        try:
            config = json.loads(self._call("InternalKVGcsService", "GetInternalConfig", {}).config)
        except (AttributeError, GcsError, ValueError):  # another version of Ray, or not accessible
            return None
        return config if isinstance(config, dict) else None

    def actors(self) -> Any:
        """``ActorTableData`` of all actors known to the GCS, including dead ones."""
        return self._rows("actors")

    def nodes(self) -> Any:
        """``GcsNodeInfo`` of all nodes, including dead ones."""
        return self._rows("nodes")

    def workers(self) -> Any:
        """``WorkerTableData`` of all workers and drivers, including dead ones."""
        return self._rows("workers")

    def worker(self, worker_id: str) -> Any:
        """``WorkerTableData`` of one worker or driver (hex ID), or None if the GCS has forgotten it."""
        fields = {"worker_id": bytes.fromhex(worker_id)}
        reply = self._call("WorkerInfoGcsService", "GetWorkerInfo", fields, timeout_s=2.0)
        return reply.worker_table_data if reply.HasField("worker_table_data") else None

    def jobs(self) -> Any:
        """``JobTableData`` of all drivers. For submitted jobs it includes details from the job API."""
        return self._rows("jobs")

    def placement_groups(self) -> Any:
        """``PlacementGroupTableData`` of all placement groups, including removed ones."""
        return self._rows("placement_groups")

    def named_actors(self) -> set[tuple[str, str]]:
        """Namespace and name of all live actors that have a name."""
        reply = self._call("ActorInfoGcsService", "ListNamedActors", {"all_namespaces": True})
        return {(one.ray_namespace, one.name) for one in reply.named_actors_list}

    def _rows(self, table: str) -> Any:
        service, method, field = _TABLES[table]
        return getattr(self._call(service, method, _FIELDS.get(table, {})), field)

    def table(self, table: str) -> Table:
        """The serialized rows of a table (``nodes``, ``actors``, ...).

        They are not parsed, because most are unchanged since the last poll.
        """
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

    def rpc(self, service: str, method: str, package: str = _PACKAGE) -> Any:
        """The stub of a method, for callers that use ``metadata`` and ``explain`` themselves.

        ``package``: name of the protobuf module. Raises AttributeError if this Ray has no such service.
        """
        found = self._methods.get((service, method))
        if found is None:
            stubs = importlib.import_module(f"ray.core.generated.{package}_pb2_grpc")
            found = getattr(getattr(stubs, f"{service}Stub")(self._channel), method)
            self._methods[(service, method)] = found
        return found

    def resource_usage(self) -> Any:
        """``ResourceUsageBatchData``: resources of the live nodes, and pending demand by shape."""
        return self._call("NodeResourceInfoGcsService", "GetAllResourceUsage", {}).resource_usage_data

    def draining_nodes(self) -> Any:
        """The draining nodes, as messages with the field ``node_id``."""
        return self._call("NodeResourceInfoGcsService", "GetDrainingNodes", {}).draining_nodes

    def cluster_status(self) -> Any:
        """``GetClusterStatusReply``: the latest state and requests of autoscaler v2."""
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
        """The request for a method, with those of ``fields`` that this version of Ray knows."""
        request_type = getattr(messages, f"{method}Request")
        names = request_type.DESCRIPTOR.fields_by_name
        return request_type(**{name: value for name, value in fields.items() if name in names})

    def _answer(self, rpc: Any, request: Any, method: str, timeout_s: float | None = None) -> Any:
        timeout = self.timeout_s if timeout_s is None else timeout_s
        sent = self.token.value
        started = time.monotonic()
        try:
            try:
                return rpc(request, timeout=timeout, metadata=_metadata(sent))
            except self._grpc.RpcError as error:
                if not (self._is_refused(error) and self.token.renew(sent)):
                    raise
            return rpc(request, timeout=timeout, metadata=self.metadata)
        except self._grpc.RpcError as error:
            raise self.explain(error, method, time.monotonic() - started) from None
        except ValueError as error:  # the channel is closed
            raise GcsError(
                f"Could not query the GCS at {self.address}: {error}",
                "Open a new client.",
                what="gcs_query",
                address=self.address,
                reason=str(error),
            ) from None

    def _check(self, status: Any, method: str) -> None:
        # 0 is OK. 17 is NotFound, for a missing key (``StatusCode`` in Ray's common/status.h).
        if status is not None and status.code not in (0, 17):
            raise GcsError(
                f"The GCS at {self.address} rejected {method}: {status.message or status.code}.",
                "See gcs_server.out in the session's log directory on the head node.",
                what="gcs_rejected",
                address=self.address,
                method=method,
                reason=str(status.message or status.code),
            )

    def _is_refused(self, error: Any) -> bool:
        codes = self._grpc.StatusCode
        return error.code() in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED)

    def explain(self, error: Any, method: str, elapsed_s: float) -> GcsError:
        """The error, with a remedy, for a failed call. ``error`` is gRPC's error."""
        code = error.code()
        details = (error.details() or "").strip()
        codes = self._grpc.StatusCode
        if self._is_refused(error):
            what = "rejected the token" if self.token.value else "requires an authentication token"
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
            what="gcs_answer",
            address=self.address,
            method=method,
            said=f"{code.name}: {_short(details)}",
        )


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


@lru_cache(maxsize=16)
def _raw_reply(status: int, rows: int) -> Any:
    """A reply class whose two fields (by number) stay bytes, so that 100,000 rows are parsed in 10 ms."""
    schema = f"message Reply {{ bytes status = {status}; repeated bytes rows = {rows}; }}"
    return compile_messages(schema)["Reply"]


def _not_http2(details: str) -> bool:
    lowered = details.lower()
    return any(
        sign in lowered for sign in ("http2", "http/1", "settings frame", "trying to connect an http1")
    )


def _short(details: str) -> str:
    """The last part of gRPC's chain of causes, without trailing punctuation."""
    if "Failed to connect to remote host: " in details:
        details = details.rpartition("Failed to connect to remote host: ")[2]
    return details[:200].rstrip(". ") or "no reason given"


def _http_url(address: str) -> str | None:
    if not address or ":" not in address:
        return None
    return address if address.startswith("http") else f"http://{address}"
