"""Data from agents: events in either form, and reports about themselves."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import sql_rows

from rayscope.ingest.writer import Writer
from rayscope.model import RecordBatch
from rayscope.server.runner import Server
from rayscope.storage.errors import StoreError
from rayscope.version import __version__

SESSION = "session_2026-07-01_08-00-00_000000_1"
BINARY = {"Content-Type": "application/x-protobuf"}


def test_both_forms_leave_the_same_record(
    serve: Callable[..., Server],
    bodies: list[bytes],
    to_binary: Callable[[bytes], bytes],
    dump: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    forms: list[tuple[dict[str, str], Callable[[bytes], bytes]]] = [
        ({"Content-Type": "application/json"}, bytes),
        (BINARY, to_binary),
        (BINARY | {"Content-Encoding": "deflate"}, lambda body: zlib.compress(to_binary(body), 1)),
        ({"Content-Encoding": "deflate"}, zlib.compress),
    ]
    records = []
    for number, (headers, form) in enumerate(forms):
        server = serve(tmp_path / str(number))
        for body in bodies:
            answer = httpx.post(server.ingest_url, content=form(body), headers=headers)
            assert answer.status_code == 204, answer.text
        assert server.services is not None
        assert server.services.writer.flush()
        (session,) = server.services.catalog.names()
        path = server.services.catalog.path(session)
        server.stop()
        records.append(dump(path))
    assert records[0]["attempts"]
    assert all(record == records[0] for record in records[1:])


@pytest.mark.parametrize(
    ("headers", "content", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, b"[]", 415, "unknown_form"),
        ({"Content-Type": "application/x-protobuf", "Content-Encoding": "br"}, b"", 415, "unknown_form"),
        ({}, b'[{"sessionName":"\xff"}]', 400, "malformed"),
        ({}, b"[" * 100_000, 400, "malformed"),
        ({}, b"[" + b"[" * 100_000 + b"]" * 100_000 + b"]", 400, "malformed"),
        ({}, b'[{"event_id":' + b"[" * 990 + b"]" * 990 + b"}]", 400, "malformed"),
        (BINARY, b"\xff\xff\xff", 400, "malformed"),
        (BINARY, b"[{}]", 400, "malformed"),
        (BINARY | {"Content-Encoding": "deflate"}, b"not packed at all", 400, "malformed"),
        (BINARY | {"Content-Encoding": "deflate"}, zlib.compress(b"x" * 10_000)[:-8], 400, "malformed"),
        (BINARY | {"Content-Encoding": "deflate"}, zlib.compress(b"") + b"more", 400, "malformed"),
        # A few kilobytes that unpack to a gigabyte.
        (BINARY | {"Content-Encoding": "deflate"}, zlib.compress(bytes(1 << 30), 9), 413, "too_large"),
    ],
)
def test_bodies_that_are_no_batch_are_refused(
    running: Any, headers: dict[str, str], content: bytes, status: int, code: str
) -> None:
    answer = running.client.post(running.server.ingest_url, content=content, headers=headers)
    assert running.error(answer, status)["code"] == code
    assert running.get("/api/health")["status"] == "ok"


def report(session: str, node_id: str, **changes: Any) -> dict[str, Any]:
    """An agent's report about itself (see rayscope.agent.report)."""
    return {
        "session": session,
        "node_id": node_id,
        "pid": 11,
        "ray_version": "2.60.0",
        "rayscope_version": "0.1.0",
        "lane": "fast",
        "reason": "",
        "since_ns": 1,
        "time_ns": 10,
        "buffer_limit": 1 << 27,
        "received": 100,
        "sent": 90,
        "raw_bytes": 5000,
        "sent_bytes": 1000,
        "bodies": 3,
        "refused": 0,
        "trouble": "",
        "busy_s": 0.5,
        "cpu_s": 1.5,
        "dropped_attempts": 0,
        "lost": [],
        **changes,
    }


#: The end of a process, with all values that an agent can report.
END = {
    "pid": 7,
    "start_ns": 5 * 10**18,
    "end_ns": 6 * 10**18,
    "source": "pidfd",
    "name": "ray::f",
    "exit_code": None,
    "signal": "SIGKILL",
    **dict.fromkeys(("rss_bytes", "memory_available", "memory_total", "cgroup_limit"), 2**63 - 1),
    **dict.fromkeys(("cgroup_used", "oom_kills", "disk_free", "fds"), 0),
    "kernel_record": "Out of memory: Killed process 7 (ray::f)",
}
#: Samples of a GPU.
GPU_BATCH: dict[str, Any] = {
    "gpu_index": 0,
    "gpu_uuid": "GPU-5b7cf2c4-0000",
    "begin_ns": 5 * 10**18,
    "end_ns": 6 * 10**18,
    "samples": [[0, 167, 50]],
    "looks": [[1000, 2**33, 0, 1000, {"7": [12.5, None]}]],
}
HOSTILE_BATCHES: list[dict[str, Any]] = [
    {"gpu_index": -1},
    {"gpu_uuid": "<script>"},
    {"gpu_uuid": "x" * 81},
    {"begin_ns": 2**63},
    {"problem": "guess"},
    {"samples": [[0, 167, 101]]},
    {"samples": [[-1, 167, 50]]},
    {"samples": [[0, 1, 2]] * 1001},
    {"looks": [[1000, 1, 0, 1000, {"'": [1, 1]}]]},
    {"looks": [[1000, 1, 0, 1000, {"7": [True, 1]}]]},
]
HOSTILE_ENDS: list[dict[str, Any]] = [
    {"pid": "7"},
    {"pid": -1},
    {"pid": 2**63},
    {"start_ns": None},
    {"source": "guess"},
    {"name": "x" * 61},
    {"name": "two\nlines"},
    {"exit_code": 256},
    {"exit_code": 0.5},
    {"signal": "<script>"},
    {"signal": 9},
    {"kernel_record": "x" * 201},
    {"kernel_record": ["x"]},
    {"rss_bytes": 2**63},
    {"fds": True},
]


def send_report(running: Any, said: dict[str, Any]) -> None:
    url = running.server.ingest_url.replace("/ray-events", "/agent")
    answer = running.client.post(url, json=said)
    assert answer.status_code == 204, answer.text


def test_the_lane_of_a_node_and_why(fresh: Any, bodies: list[bytes]) -> None:
    fresh.ingest(*bodies)
    (node,) = fresh.get("/api/v1/nodes")["items"]
    assert (node["lane"], node["lane_code"]) == ("json", "not_installed")
    assert fresh.get("/api/v1/summary")["lanes"]["json"] == 1

    session = fresh.get("/api/v1/summary")["session"]
    send_report(fresh, report(session, node["node_id"]))
    seen = fresh.get("/api/v1/recording")
    assert (seen["lanes"]["fast"], seen["lanes"]["json"], seen["lanes"]["reasons"]) == (1, 0, [])
    (lane,) = seen["nodes"]
    assert (lane["lane"], lane["agent"]["received"], lane["agent"]["waiting"]) == ("fast", 100, 10)

    send_report(
        fresh, report(session, node["node_id"], lane="json", reason="Ray 3 works in another way", time_ns=11)
    )
    node = fresh.get(f"/api/v1/nodes/{node['node_id']}")
    assert (node["lane"], node["lane_code"]) == ("json", "agent_said")
    assert node["lane_reason"] == "Ray 3 works in another way"
    # Its batches of JSON do not make it one that never spoke.
    fresh.ingest(bodies[0])
    assert fresh.get("/api/v1/recording")["lanes"]["reasons"][0]["reason"] == "Ray 3 works in another way"


def test_versions_that_do_not_fit_the_server_are_noted(fresh: Any) -> None:
    for number, version in enumerate(("0.2.0", "0.2.0", __version__, "")):
        node_id = f"{number:056x}"
        send_report(fresh, report("session_x", node_id, rayscope_version=version, ray_version="2.61.1"))
    for path in ("/api/v1/summary", "/api/v1/recording"):
        agents, ray = fresh.get(path, session="session_x")["lanes"]["versions"]
        assert (agents["code"], agents["version"], agents["nodes"]) == ("other_agent", "0.2.0", 2)
        assert (
            agents["message"]
            == f"2 nodes run rayscope-agent 0.2.0, but this server is rayscope {__version__}."
        )
        assert ray["message"] == "Ray 2.61 is newer than the newest tested version (2.60)."
    for number in range(4):
        send_report(fresh, report("session_y", f"{number:056x}", rayscope_version=__version__))
    assert fresh.get("/api/v1/recording", session="session_y")["lanes"]["versions"] == []


def test_a_loss_is_reported_once_with_its_kind_and_times(
    fresh: Any, bodies: list[bytes], wait_for: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.ingest(*bodies)
    session = fresh.get("/api/v1/summary")["session"]
    (node,) = fresh.get("/api/v1/nodes")["items"]
    lost = {"event_type": "TASK_LIFECYCLE_EVENT", "count": 7, "first_ns": 1000, "last_ns": 2000}
    for time_ns in (10, 10, 20):
        send_report(fresh, report(session, node["node_id"], lost=[lost], dropped_attempts=2, time_ns=time_ns))
    send_report(fresh, report(session, node["node_id"], lost=[lost | {"count": 3}], pid=12, time_ns=30))
    fresh.ingest()
    dropped = wait_for(
        lambda: (now := fresh.get("/api/v1/summary")["dropped"])["total"] and now, "the losses"
    )
    losses = sorted((by["source"][-2:], by["reason"], by["event_type"], by["count"]) for by in dropped["by"])
    assert losses == [
        ("11", "agent_buffer_full", "TASK_LIFECYCLE_EVENT", 7),
        ("11", "worker_buffer_full", "", 2),
        ("12", "agent_buffer_full", "TASK_LIFECYCLE_EVENT", 3),
    ]
    assert dropped["total"] == 12
    assert {(by["first_ns"], by["last_ns"]) for by in dropped["by"] if by["event_type"]} == {(1000, 2000)}
    assert (dropped["repaired_total"], dropped["repaired_ns"]) == (0, None)
    # Nothing is written if it is reported again.
    written: list[RecordBatch] = []
    monkeypatch.setattr(
        fresh.server.services.writer, "submit_records", lambda batch, recording: written.append(batch)
    )
    send_report(fresh, report(session, node["node_id"], lost=[lost | {"count": 3}], pid=12, time_ns=40))
    assert written == []
    send_report(fresh, report(session, node["node_id"], lost=[lost | {"count": 4}], pid=12, time_ns=50))
    assert [drop.count for batch in written for drop in batch.drops] == [4]
    # Lost events do not wait to be sent.
    agent = fresh.get("/api/v1/recording")["nodes"][0]["agent"]
    assert (agent["received"], agent["sent"], agent["lost"], agent["waiting"]) == (100, 90, 4, 6)


def test_beyond_the_limit_the_agent_that_was_silent_longest_is_forgotten(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayscope.ingest.agent_reports.MAX_AGENTS", 3)
    for number in range(5):
        send_report(fresh, report("session_x", f"{number:056x}", time_ns=100 + number))
    kept = [int(node["node_id"], 16) for node in fresh.get("/api/v1/recording", session="session_x")["nodes"]]
    assert kept == [2, 3, 4]


def test_an_earlier_session_is_not_reported_as_silent(fresh: Any, bodies: list[bytes]) -> None:
    fresh.ingest(*bodies)
    about = fresh.server.services.catalog.about(fresh.get("/api/v1/summary")["session"])
    about.agents.clear()
    (node,) = fresh.get("/api/v1/nodes")["items"]
    assert (node["lane"], node["lane_code"]) == ("unknown", "not_noted")


def test_ids_and_files_that_are_none_cost_nothing_else(
    serve: Callable[..., Server], sample: Callable[[str], Any], tmp_path: Path
) -> None:
    server = serve()
    for batch in sample("2.60"):
        odd = [event | {"nodeId": "AAAA"} for event in batch]
        httpx.post(server.ingest_url, json=odd).raise_for_status()
    assert server.services is not None
    assert server.services.writer.flush()
    (session,) = server.services.catalog.names()
    assert server.services.catalog.about(session).agents == {}
    tasks = httpx.get(f"{server.url}/api/v1/summary").json()["tasks"]
    server.stop()
    (tmp_path / "data" / "sessions" / session / "agents.json").write_text('{"x": {"lane": 3}}')
    again = serve()
    assert httpx.get(f"{again.url}/api/v1/summary").json()["tasks"] == tasks > 0


def test_reports_of_agents_outlive_the_server(serve: Callable[..., Server], bodies: list[bytes]) -> None:
    server = serve()
    for body in bodies:
        httpx.post(server.ingest_url, content=body).raise_for_status()
    assert server.services is not None
    assert server.services.writer.flush()
    (session,) = server.services.catalog.names()
    (node,) = httpx.get(f"{server.url}/api/v1/nodes").json()["items"]
    url = server.ingest_url.replace("/ray-events", "/agent")
    httpx.post(url, json=report(session, node["node_id"])).raise_for_status()
    server.stop()
    again = serve()
    assert httpx.get(f"{again.url}/api/v1/recording").json()["lanes"]["fast"] == 1


def test_ends_of_processes_are_rows(fresh: Any) -> None:
    node_id = "ab" * 28
    short = {"pid": 8, "start_ns": 1, "end_ns": 2, "source": "none"}
    for ended in ([END, short], [END], []):  # one whose answer was lost is sent again
        send_report(fresh, report(SESSION, node_id, ended=ended, ends_dropped=3))
    rows = sql_rows(fresh.server.url, "SELECT * FROM process_ends ORDER BY pid", SESSION)
    unknown = dict.fromkeys(END) | {"node_id": node_id}
    assert rows == [
        {"process_end_id": f"{node_id}:7:{END['start_ns']}"} | unknown | END,
        {"process_end_id": f"{node_id}:8:1"} | unknown | short,
    ]
    assert all(row["node_id"] == node_id for row in rows)
    assert fresh.server.services.catalog.about(SESSION).agents[node_id].ended == []


def test_ends_of_processes_are_sent_again_if_they_cannot_be_stored(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = fresh.server.ingest_url.replace("/ray-events", "/agent")
    send_report(fresh, report(SESSION, "ab" * 28))
    error = StoreError("The disk is full.")
    monkeypatch.setattr(Writer, "error", property(lambda _: error, lambda *_: None), raising=False)
    answer = fresh.client.post(url, json=report(SESSION, "ab" * 28, ended=[END]))
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"])
    send_report(fresh, report(SESSION, "ab" * 28))  # without ends, there is nothing to store


def test_samples_of_gpus_are_rows(fresh: Any) -> None:
    node_id = "ab" * 28
    grown = GPU_BATCH | {"end_ns": 6 * 10**18 + 1, "samples": [[0, 334, 50]], "ray_index": 1}
    for batch in (GPU_BATCH, grown, GPU_BATCH):
        send_report(fresh, report(SESSION, node_id, gpus=[batch]))
    (row,) = sql_rows(fresh.server.url, "SELECT * FROM gpu_samples", SESSION)
    assert (json.loads(row.pop("samples")), json.loads(row.pop("looks"))) == (
        [[0, 334, 50]],
        GPU_BATCH["looks"],
    )
    expected = {name: value for name, value in grown.items() if name not in ("samples", "looks")}
    assert row == expected | {
        "gpu_sample_id": f"{node_id}:{GPU_BATCH['gpu_uuid']}:{GPU_BATCH['begin_ns']}",
        "node_id": node_id,
        "problem": None,
        "busy_ns": 167 * 10**6,
        "measured_ns": 334 * 10**6,
        "memory_peak_bytes": 2**33,
    }
    assert fresh.server.services.catalog.about(SESSION).agents[node_id].gpus == []


@pytest.mark.parametrize(
    "changes",
    [
        {"node_id": "../../etc"},
        {"node_id": "AB" * 28},
        {"session": "../escape"},
        {"session": ""},
        {"lane": "slow"},
        {"received": -1},
        {"received": 2**63},
        {"busy_s": float("nan")},
        {"lost": [{"event_type": "<script>", "count": 1, "first_ns": 0, "last_ns": 0}]},
        {"lost": [{"event_type": "A", "count": 1, "first_ns": 0, "last_ns": 0}] * 101},
        {"reason": "x" * 501},
        *({"ended": [END | end]} for end in HOSTILE_ENDS),
        {"ended": [END] * 51},
        {"ended": END},
        *({"gpus": [GPU_BATCH | batch]} for batch in HOSTILE_BATCHES),
        {"gpus": [GPU_BATCH] * 9},
    ],
)
def test_a_hostile_report_is_refused(running: Any, changes: dict[str, Any]) -> None:
    said = report("session_x", "ab" * 28) | changes
    url = running.server.ingest_url.replace("/ray-events", "/agent")
    before = len(running.get("/api/v1/sessions")["items"])
    answer = running.client.post(url, content=json.dumps(said))
    running.error(answer, 400)
    assert len(running.get("/api/v1/sessions")["items"]) == before


def test_reports_need_the_key_and_have_a_limit(running: Any) -> None:
    url = running.server.ingest_url.replace("/ray-events", "/agent")
    assert (
        running.client.post(
            url.replace(running.server.services.secrets.ingest_key, "wrong"), json={}
        ).status_code
        == 404
    )
    running.error(running.client.post(url, content=b" " * (513 << 10)), 413)
    running.error(running.client.post(url, content=b"[" * (60 << 10)), 400)
    running.error(running.client.post(url, content=b'{"session":"\xff"}'), 400)
    running.error(running.client.post(url, content=iter([b" " * 300_000] * 2)), 413)
