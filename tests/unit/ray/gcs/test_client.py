"""The GCS client: its errors when it cannot read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc
from tests.waiting import TIMEOUT_S

from rayscope.ray.gcs.client import ClusterInfo, GcsClient, GcsError


class Kv(gcs_service_pb2_grpc.InternalKVGcsServiceServicer):  # type: ignore[misc]
    """A GCS's key-value store, as far as we use it."""

    def __init__(self) -> None:
        self.values: dict[tuple[bytes, bytes], bytes] = {}
        self.metadata: list[dict[str, str]] = []
        self.before: Callable[[Any], None] = lambda context: None

    def InternalKVGet(self, request: Any, context: Any) -> Any:
        self.metadata.append(dict(context.invocation_metadata()))
        self.before(context)
        value = self.values.get((request.namespace, request.key))
        if value is None:
            return gcs_service_pb2.InternalKVGetReply(
                status={"code": 17, "message": "Failed to find the key"}
            )
        return gcs_service_pb2.InternalKVGetReply(value=value)


class Workers(gcs_service_pb2_grpc.WorkerInfoGcsServiceServicer):  # type: ignore[misc]
    """Its table of workers."""

    def __init__(self) -> None:
        self.reply = gcs_service_pb2.GetAllWorkerInfoReply()

    def GetAllWorkerInfo(self, request: Any, context: Any) -> Any:
        return self.reply


@pytest.fixture
def server() -> Iterator[tuple[Kv, str, Any]]:
    running = grpc.server(ThreadPoolExecutor(2))
    kv = Kv()
    gcs_service_pb2_grpc.add_InternalKVGcsServiceServicer_to_server(kv, running)
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    yield kv, f"127.0.0.1:{port}", running
    running.stop(None).wait()


def error_of(call: Callable[[], object]) -> GcsError:
    with pytest.raises(GcsError) as error:
        call()
    assert error.value.remedy
    return error.value


def test_cluster_info(server: tuple[Kv, str, Any]) -> None:
    kv, address, _ = server
    kv.values[(b"session", b"session_name")] = b"session_x"
    with GcsClient(address) as client:
        assert client.cluster_info() == ClusterInfo("session_x", address)
    kv.values[(b"dashboard", b"dashboard")] = b"10.0.0.1:8265"
    kv.values[(b"cluster", b"CLUSTER_METADATA")] = b'{"ray_version": "2.60.0"}'
    with GcsClient(address, "secret") as client:
        assert client.cluster_info() == ClusterInfo("session_x", address, "2.60.0", "http://10.0.0.1:8265")
    assert "authorization" not in kv.metadata[0]
    assert kv.metadata[-1]["authorization"] == "Bearer secret"
    kv.values[(b"cluster", b"CLUSTER_METADATA")] = b"[]"
    with GcsClient(address) as client:
        assert client.cluster_info().ray_version is None


def test_no_session_yet(server: tuple[Kv, str, Any]) -> None:
    assert error_of(GcsClient(server[1]).cluster_info).code == "not_gcs"


@pytest.mark.parametrize(("token", "says"), [(None, "requires"), ("secret", "rejected the token")])
def test_token(server: tuple[Kv, str, Any], token: str | None, says: str) -> None:
    server[0].before = lambda context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
    error = error_of(GcsClient(server[1], token).cluster_info)
    assert error.code == "unauthenticated"
    assert says in error.message
    assert "RAY_AUTH_TOKEN" in error.remedy
    assert "secret" not in str(error)


def test_no_such_service(server: tuple[Kv, str, Any]) -> None:
    assert error_of(GcsClient(server[1]).nodes).code == "not_gcs"


def test_deadline(server: tuple[Kv, str, Any]) -> None:
    released = threading.Event()
    server[0].before = lambda context: released.wait(TIMEOUT_S) and None
    error = error_of(GcsClient(server[1], timeout_s=0.2).cluster_info)
    released.set()
    assert error.code == "deadline"


def test_failure_inside(server: tuple[Kv, str, Any]) -> None:
    server[0].before = lambda context: context.abort(grpc.StatusCode.INTERNAL, "oops")
    error = error_of(GcsClient(server[1]).cluster_info)
    assert error.code == "failed"
    assert "oops" in error.message


def test_no_server_at_the_address() -> None:
    error = error_of(GcsClient("127.0.0.1:1", timeout_s=5).cluster_info)
    assert error.code == "unreachable"
    assert "127.0.0.1:1" in error.message


def test_a_web_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        error = error_of(GcsClient(f"127.0.0.1:{listener.getsockname()[1]}", timeout_s=5).cluster_info)
        thread.join()
    assert error.code == "not_gcs"


@pytest.mark.parametrize("address", ["ray://h:1", "http://h:8265", "nonsense"])
def test_bad_addresses(address: str) -> None:
    assert error_of(lambda: GcsClient(address)).code == "bad_address"


def test_closed(server: tuple[Kv, str, Any]) -> None:
    client = GcsClient(server[1])
    client.close()
    error_of(client.cluster_info)


def test_rows_come_as_bytes_and_a_refusal_is_one_too() -> None:
    running, workers = grpc.server(ThreadPoolExecutor(2)), Workers()
    gcs_service_pb2_grpc.add_WorkerInfoGcsServiceServicer_to_server(workers, running)
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    with GcsClient(f"127.0.0.1:{port}") as client:
        assert client.table("workers").rows == []
        for pid in (7, 8):
            workers.reply.worker_table_data.add(pid=pid)
        workers.reply.status.code = 0
        table = client.table("workers")
        assert table.rows == [row.SerializeToString() for row in workers.reply.worker_table_data]
        assert [table.parse(row).pid for row in table.rows] == [row.pid for row in client.workers()] == [7, 8]
        workers.reply.status.code, workers.reply.status.message = 5, "not today"
        assert "not today" in error_of(lambda: client.table("workers")).message
        assert error_of(lambda: client.table("nodes")).code == "not_gcs"
    running.stop(None).wait()
    with GcsClient(f"127.0.0.1:{port}") as client:
        assert error_of(lambda: client.table("workers")).code == "unreachable"
