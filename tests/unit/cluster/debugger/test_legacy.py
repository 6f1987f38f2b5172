"""Tasks that wait for Ray's legacy debugger: entries in the GCS that any task may have written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc
from tests.running import Running
from tests.story import DRIVER, JOB, SESSION, Story, at

from rayscope.ray.gcs import legacy_debugger
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.gcs.legacy_debugger import LegacyEntry, read_entries

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"
WORKER = "c" * 56
#: As Ray 2.50 to 2.60 write it.
ENTRY = {
    "proctitle": "ray::train",
    "pdb_address": "localhost:40000",
    "filename": "/app/train.py",
    "lineno": 9,
    "traceback": "NoneType: None\n",
    "timestamp": at(15) / 1e9,
    "job_id": JOB,
    "node_id": "a" * 56,
    "worker_id": WORKER,
    "actor_id": None,
    "task_id": "b" * 48,
}


class Store(gcs_service_pb2_grpc.InternalKVGcsServiceServicer):  # type: ignore[misc]
    """A GCS's key-value store."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.calls = 0
        self.fails = False

    def add(self, key: str, value: Any) -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.values[f"RAY_PDB_{key}".encode()] = text

    def InternalKVKeys(self, request: Any, context: Any) -> Any:
        assert (request.prefix, request.namespace) == (b"RAY_PDB_", b"ray_pdb")
        self.calls += 1
        if self.fails:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "late")
        return gcs_service_pb2.InternalKVKeysReply(results=list(self.values))

    def InternalKVGet(self, request: Any, context: Any) -> Any:
        assert request.namespace == b"ray_pdb"
        return gcs_service_pb2.InternalKVGetReply(value=self.values[request.key])


@pytest.fixture
def store() -> Iterator[tuple[Store, GcsClient]]:
    made, server = Store(), grpc.server(ThreadPoolExecutor(4))
    gcs_service_pb2_grpc.add_InternalKVGcsServiceServicer_to_server(made, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with GcsClient(f"127.0.0.1:{port}") as client:
        yield made, client
    server.stop(None).wait()


def read(store: tuple[Store, GcsClient]) -> tuple[list[LegacyEntry], int]:
    found = read_entries(store[1])
    return list(found.entries), found.left_out


def test_what_ray_writes(store: tuple[Store, GcsClient]) -> None:
    store[0].add("1", ENTRY)
    store[0].add("CONTINUE_1", {"job_id": JOB})
    (entry,), left_out = read(store)
    assert left_out == 0
    assert (entry.key, entry.title, entry.address) == ("1", "ray::train", "localhost:40000")
    assert (entry.file, entry.line, entry.traceback) == ("/app/train.py", 9, None)
    assert (entry.job_id, entry.worker_id, entry.actor_id) == (JOB, WORKER, None)
    assert abs((entry.since_ns or 0) - at(15)) < 1000


@pytest.mark.parametrize(
    "value",
    [b"", b"no JSON", b"[]", b"3", b"\xff\xfe", b"[" * 200_000, b"1" * 10_000, b"x" * (2 << 20)],
)
def test_an_unreadable_entry_is_counted(store: tuple[Store, GcsClient], value: bytes) -> None:
    store[0].add("bad", value)
    store[0].add("good", ENTRY)
    entries, left_out = read(store)
    assert [entry.key for entry in entries] == ["good"]
    # An empty value is the same as a key that has been removed.
    assert left_out == (1 if value else 0)


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("filename", "\ud800" + "x" * 999, "?" + "x" * 299),
        ("filename", ["/app"], None),
        ("lineno", -1, None),
        ("lineno", True, None),
        ("lineno", "9", None),
        ("timestamp", float("nan"), None),
        ("timestamp", float("inf"), None),
        ("timestamp", 1e300, None),
        ("timestamp", 10**400, None),
        ("timestamp", -5, None),
        ("timestamp", "now", None),
        ("task_id", "'; DROP TABLE attempts; --", None),
        ("task_id", "b" * 47, None),
        ("task_id", "B" * 48, None),
        ("worker_id", "f" * 56, None),
        ("node_id", {"a": "b"}, None),
        ("pdb_address", 7, None),
    ],
)
def test_an_invalid_field_is_unknown(
    store: tuple[Store, GcsClient], field: str, value: Any, read_as: str | None
) -> None:
    store[0].add("1", {**ENTRY, field: value})
    (entry,), left_out = read(store)
    names = {"filename": "file", "lineno": "line", "timestamp": "since_ns", "pdb_address": "address"}
    assert getattr(entry, names.get(field, field)) == read_as
    assert (entry.title, left_out) == ("ray::train", 0)


def test_number_and_size_are_limited(store: tuple[Store, GcsClient], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(120):
        store[0].add(f"{number:03}", {**ENTRY, "traceback": "x" * 500_000 + "\nValueError: no"})
    monkeypatch.setattr(legacy_debugger, "_TOTAL_S", 600.0)
    entries, left_out = read(store)
    assert (len(entries), left_out) == (100, 20)
    assert all(len(entry.traceback or "") == 8000 for entry in entries)
    assert (entries[0].traceback or "").endswith("\nValueError: no")
    monkeypatch.setattr(legacy_debugger, "_TOTAL_S", 0.0)
    assert read(store) == ([], 120)


@pytest.fixture
def on(fresh: Running, store: tuple[Store, GcsClient], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that is connected to the store."""
    services: Any = fresh.server.services
    monkeypatch.setattr(services.clusters, "gcs_of", lambda session: store[1])
    return fresh


def test_the_list_has_them_with_what_is_recorded(on: Any, store: tuple[Store, GcsClient]) -> None:
    story = Story()
    task = story.task("train", 0, 10, worker=WORKER, resources='{"CPU": 2}')
    story.blocks(DRIVER, task, 20)
    story.entity("worker", WORKER, 5, node_id="a" * 56, worker_type="WORKER", pid=123)
    story.entity("worker", "d" * 56, 5, 500, node_id="a" * 56, worker_type="WORKER", pid=124)
    on.record(story)
    frame = '  File "/app/{}.py", line {}, in f\n'
    error = f"Traceback:\n{frame.format('a', 3)}{frame.format('b', 4)}ValueError: {HOSTILE}"
    store[0].add("1", {**ENTRY, "task_id": task, "traceback": error, "proctitle": HOSTILE})
    store[0].add("2", {**ENTRY, "task_id": task, "worker_id": "d" * 56})
    # It waited before this attempt began.
    store[0].add("3", {**ENTRY, "task_id": task, "timestamp": at(9) / 1e9})
    store[0].add("4", b"no JSON")
    answer = on.get("/api/v1/paused-tasks", session=SESSION)
    assert (answer["legacy_error"], answer["legacy_left_out"]) == (None, 1)
    third, first, second = answer["items"]
    assert {item["pause_id"] for item in answer["items"]} == {None}
    assert (first["state"], first["name"], first["attempt"], first["pid"]) == ("waiting", "train", 0, 123)
    assert (first["resources"], first["waiters"]) == ({"CPU": 2.0}, 1)
    assert (first["file"], first["line"], third["file"], third["line"]) == (
        *("/app/b.py", 4),
        *("/app/train.py", 9),
    )
    assert first["error"] == f"ValueError: {HOSTILE}"
    assert first["legacy"]["title"] == HOSTILE
    assert first["legacy"]["gcs_address"] == store[1].address
    assert (second["state"], second["name"], second["attempt"]) == ("gone", None, None)
    assert second["legacy"]["ended_ns"] == at(500)
    assert (third["state"], third["name"], third["attempt"], third["resources"]) == (
        "waiting",
        None,
        None,
        {},
    )
    assert on.client.post("/api/v1/paused-tasks/1/release").status_code in (403, 404)


def test_the_list_is_shared_and_says_why_it_is_unknown(
    on: Any, store: tuple[Store, GcsClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    on.record(Story())
    services: Any = on.server.services
    monkeypatch.setattr("rayscope.records.response_cache._MIN_TTL_S", 600.0)
    for _ in range(5):
        assert on.get("/api/v1/paused-tasks", session=SESSION)["legacy_error"] is None
    assert store[0].calls == 1
    services.records.forget(SESSION)
    store[0].fails = True
    assert on.get("/api/v1/paused-tasks", session=SESSION)["legacy_error"]["code"] == "deadline"
    monkeypatch.setattr(services.clusters, "gcs_of", lambda session: None)
    assert on.get("/api/v1/paused-tasks", session=SESSION)["legacy_error"]["code"] == "not_connected"
