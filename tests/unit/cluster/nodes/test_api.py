"""Nodes with what they use, sorted and filtered by it; one node in full; all of them as cells."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.running import Running
from tests.story import SESSION, Story, at

from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Sample
from rayscope.model.usage import Usage
from rayscope.ray.agents.usage import UsageFeed
from rayscope.ray.gcs.client import GcsClient

SAMPLES = Path(__file__).parents[2] / "ray" / "samples"
NODES = [f"{number:056x}" for number in range(1, 6)]


def set_last_usage(fresh: Running, accounts: dict[str, Any]) -> None:
    """Set the last usage reports that the server got before the cluster ended."""
    assert fresh.server.services is not None
    feed = UsageFeed(GcsClient("127.0.0.1:1"))
    for time_ns, (node_id, account) in enumerate(accounts.items(), 1):
        feed.take(node_id, json.dumps(account), time_ns)
    fresh.server.services.clusters._last_usage[SESSION] = Usage(
        nodes=feed.usage().nodes, error="Gone.", remedy="None.", code="deadline", params={"seconds": 3}
    )


def test_sorted_and_filtered_by_what_they_use(fresh: Running) -> None:
    story = Story()
    for number, node in enumerate(NODES):
        story.entity("node", node, number, hostname=f"host{number}", node_ip=f"10.0.0.{number}")
        story.entity("worker", f"{number:02d}" * 28, number, node_id=node, pid=100 + number)
    story.entity("worker", "99" * 28, 0, 5, node_id=NODES[0], pid=100)  # dead: its pid is another's now
    fresh.record(story)
    mem = [1000, 600, 40.0, 400]
    process = {"pid": 100, "cpuPercent": 150.0, "memoryInfo": {"rss": 77}, "cmdline": ["ray::f"], "numFds": 5}
    cpus = {NODES[0]: 10.0, NODES[1]: 90.0, NODES[2]: 50.0, NODES[3]: 70.0}
    set_last_usage(
        fresh, {node: {"cpu": cpu, "mem": mem, "workers": [process]} for node, cpu in cpus.items()}
    )

    everything = fresh.get("/api/v1/nodes", sort="-cpu_percent")["items"]
    assert [node["hostname"] for node in everything] == ["host1", "host3", "host2", "host0", "host4"]
    first, last = everything[0]["usage"], everything[-1]
    assert (first["cpu_percent"], first["mem_percent"], first["mem_used_bytes"]) == (90.0, 40.0, 400)
    assert first["gpu_percent"] is None
    assert first["current"] is False
    # Nothing is known about the last node, and the reason is reported.
    assert (last["usage"], last["usage_missing"], last["usage_remedy"]) == (None, "Gone.", "None.")
    assert (last["usage_code"], last["usage_params"]) == ("deadline", {"seconds": 3})
    assert everything[0]["usage_code"] is None
    assert [node["workers"] for node in everything] == [1] * 5
    pages, cursor = [], None
    while True:
        page = fresh.get(
            "/api/v1/nodes", sort="-cpu_percent", limit=2, **({"cursor": cursor} if cursor else {})
        )
        pages += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert pages == everything
    # Filters come before limits.
    busy = fresh.get("/api/v1/nodes", at_least="cpu_percent:50,mem_percent:40", sort="cpu_percent", limit=1)
    assert (busy["total"], busy["items"][0]["hostname"]) == (3, "host2")
    assert fresh.get("/api/v1/nodes", at_least="cpu_percent:50", q="host3")["total"] == 1
    for wrong in ("cpu_percent", "cpu_percent:much", "hostname:3", "cpu_percent:nan", "doc:1"):
        fresh.error(fresh.client.get("/api/v1/nodes", params={"at_least": wrong}), 400)

    workers = fresh.get("/api/v1/workers", sort="-memory_bytes")["items"]
    alive, dead = f"{0:02d}" * 28, "99" * 28
    by_id = {worker["worker_id"]: worker for worker in workers}
    assert (by_id[alive]["cpu_percent"], by_id[alive]["memory_bytes"], by_id[alive]["num_fds"]) == (
        150,
        77,
        5,
    )
    assert by_id[dead]["memory_bytes"] is None
    assert workers[0]["worker_id"] == alive
    for worker in (alive, dead):
        assert by_id[worker].items() <= fresh.get(f"/api/v1/workers/{worker}").items()


def test_workers_of_a_dead_node_are_dead_and_use_nothing(fresh: Running) -> None:
    story = Story()
    process = {"pid": 100, "cpuPercent": 150.0, "memoryInfo": {"rss": 77}, "cmdline": ["ray::f"], "numFds": 5}
    for number, node in enumerate(NODES[:2]):
        story.entity("node", node, 0, 60 if number == 0 else None)
        story.entity("worker", f"{number:02d}" * 28, 1, node_id=node, pid=100)
    fresh.record(story)
    set_last_usage(fresh, {node: {"cpu": 1.0, "workers": [process]} for node in NODES[:2]})
    workers = fresh.get("/api/v1/workers", sort="worker_id")["items"]
    assert [(one["state"], one["end_ns"], one["memory_bytes"]) for one in workers] == [
        ("DEAD", at(60), None),
        ("ALIVE", None, 77),
    ]
    assert fresh.get("/api/v1/workers", state="ALIVE")["total"] == 1
    assert [node["workers"] for node in fresh.get("/api/v1/nodes", sort="node_id")["items"]] == [None, 1]
    shown = fresh.get(f"/api/v1/workers/{'00' * 28}")
    assert (shown["state"], shown["memory_bytes"]) == ("DEAD", None)


def test_a_node_counts_the_attempts_that_run_there(fresh: Running) -> None:
    story = Story()
    for node in NODES[:2]:
        story.entity("node", node, 0)
    story.entity("worker", "01" * 28, 0, node_id=NODES[1], pid=101)
    waits = story.task("waits", 0, 1, node=NODES[0])
    story.blocks(waits, story.task("runs", 2, 3, parent=waits, node=NODES[0]), 4)
    story.task("has ended", 0, 1, 2, node=NODES[0])
    story.task("queues", 0)
    fresh.record(story)
    services: Any = fresh.server.services
    services.records.is_live = lambda _: True
    services.catalog.about(SESSION).last_ns += 1
    assert {node["node_id"]: node["running"] for node in fresh.get("/api/v1/nodes")["items"]} == {
        NODES[0]: 2,
        NODES[1]: 0,
    }
    assert [fresh.get(f"/api/v1/nodes/{node}")["running"] for node in NODES[:2]] == [2, 0]


def test_workers_say_whether_their_attempts_are_traced(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODES[0], 0)
    for number, tracer in enumerate(("on", "off: ValueError", None)):
        worker = f"{number:02d}" * 28
        story.entity(
            "worker", worker, 0, node_id=NODES[0], pid=number, **({"tracer": tracer} if tracer else {})
        )
        story.task("runs", 2, 3, node=NODES[0], worker=worker)
    fresh.record(story)
    services: Any = fresh.server.services
    services.records.is_live = lambda _: True
    services.catalog.about(SESSION).last_ns += 1
    workers = fresh.get("/api/v1/workers", sort="worker_id")["items"]
    assert [one["is_traced"] for worker in workers for one in worker["attempts"]] == [True, False, False]


def test_one_node_in_full(fresh: Running) -> None:
    sample = json.loads((SAMPLES / "usage-gpu.json").read_text())
    node, worker, actor = NODES[0], "b" * 56, "c" * 24
    story = Story()
    story.entity("node", node, 0, hostname="gpus")
    story.entity("worker", worker, 0, node_id=node, pid=sample["pid"])
    story.task("Model.__init__", 0, 1, 2, actor=actor, node=node, worker=worker, resources='{"GPU":1}')
    running = story.task("Model.step", 3, 4, actor=actor, node=node, worker=worker)
    fresh.record(story)
    set_last_usage(fresh, {node: sample["json"]})
    answer = fresh.get(f"/api/v1/nodes/{node}")
    (one,) = answer["workers"]
    assert one["memory_bytes"] == next(
        w["memoryInfo"]["rss"] for w in sample["json"]["workers"] if w["pid"] == sample["pid"]
    )
    assert [attempt["task_id"] for attempt in one["attempts"]] == [running]
    (holder,) = answer["by"]
    assert (holder["kind"], holder["count"], holder["resources"]) == ("actor", 1, {"GPU": 1.0})
    first, second = answer["gpus"]
    assert [(p["pid"], p["worker_id"]) for p in first["processes"]] == [
        (sample["pid"], worker),
        (4242, None),  # of another program
    ]
    assert first["processes"][0]["memory_bytes"] == one["gpu_memory_bytes"] == 30720 << 20
    assert second["processes"] == []
    assert {process["name"] for process in answer["processes"]} >= {"raylet", "agent", "gcs"}
    assert answer["resources"] is None  # the cluster is gone
    fresh.error(fresh.client.get("/api/v1/nodes/nonsense"), 404)
    status = fresh.get("/api/v1/cluster/status")
    assert (status["resources"], status["pending"], status["time_ns"]) == ({}, [], None)


def test_a_large_cluster_in_little_room(fresh: Running) -> None:
    story = Story()
    nodes = [f"{number:056x}" for number in range(1000)]
    for number, node in enumerate(nodes):
        story.entity(
            "node", node, 0, hostname=f"ip-10-0-{number // 256}-{number % 256}", node_name=f"n{number}"
        )
        for slot in range(10):
            place = number * 10 + slot
            story.entity("worker", f"{place + 1:016x}" + "e" * 40, 0, node_id=node, pid=10_000 + place)
    story.task("step", 0, 1, node=nodes[7], worker=f"{75:016x}" + "e" * 40)
    story.entity("node", "d" * 56, 0, 1, node_name="gone", death_reason="UNEXPECTED_TERMINATION")
    fresh.record(story)
    accounts = {}
    for number, node in enumerate(nodes):
        processes = [
            {"pid": 10_000 + number * 10 + slot, "cpuPercent": 12.3, "memoryInfo": {"rss": 123_456_789}}
            for slot in range(10)
        ]
        accounts[node] = {"cpu": 12.5, "mem": [100, 60, 40, 40], "workers": processes}
    set_last_usage(fresh, accounts)
    answer = fresh.client.get("/api/v1/nodes/cells")
    assert len(answer.content) < 1_000_000
    picture = answer.json()
    assert (picture["nodes_total"], picture["workers_total"], picture["workers_left_out"]) == (
        1000,
        10_000,
        0,
    )
    assert len(picture["nodes"]["node_id"]) == 1000
    assert {len(column) for column in picture["workers"].values()} == {10_000}
    measured = picture["measured"]
    assert set(measured["cpu"]) == {12.3}
    assert set(measured["memory"]) == {123_456_789}
    assert set(measured["nodes"]["memory"]) == {40.0}
    assert set(measured["nodes"]["gpu"]) == {-1}
    place = picture["workers"]["function"].index(0)
    assert picture["functions"] == ["step"]
    assert picture["nodes"]["node_id"][picture["workers"]["node"][place]] == nodes[7]
    assert [node["node_id"] for node in picture["dead"]] == ["d" * 56]


def test_the_metrics_of_an_ended_session_show_the_last_usage(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODES[0], 0, hostname="old")
    story.entity("node", NODES[1], 0, hostname="untold")
    story.task("f", 0, 1, 2, node=NODES[0])
    services = fresh.server.services
    assert services is not None
    last_ns = time.time_ns()
    # Written before the server knows of the session: a file is for one writer.
    path = services.catalog.folder / SESSION / "metrics.duckdb"
    path.parent.mkdir(parents=True)
    store = SeriesStore(path)
    labels = (("node_id", NODES[0]),)
    figures = {
        "ray_node_cpu_utilization": 37.5,
        "ray_node_mem_used": 25.0,
        "ray_node_mem_total": 100.0,
        "ray_node_network_send_speed": 7.0,
        "ray_object_store_used_memory": 10.0,
        "ray_object_store_available_memory": 30.0,
    }
    for time_ns, part in ((last_ns - 70 * 10**9, 0.5), (last_ns - 60 * 10**9, 1.0)):
        store.append(time_ns, [Sample(name, labels, value * part) for name, value in figures.items()])
    store.close()
    fresh.record(story)
    by_name = {node["hostname"]: node for node in fresh.get("/api/v1/nodes")["items"]}
    usage = by_name["old"]["usage"]
    assert (usage["cpu_percent"], usage["mem_percent"], usage["disk_percent"]) == (37.5, 25.0, None)
    assert (usage["net_sent_bytes_s"], usage["net_recv_bytes_s"]) == (7.0, None)
    assert (usage["object_store_percent"], usage["object_store_total_bytes"]) == (25.0, 40)
    assert (usage["current"], usage["usage_ns"]) == (False, last_ns - 60 * 10**9)
    assert by_name["untold"]["usage"] is None
    assert by_name["untold"]["usage_missing"]
    assert by_name["untold"]["usage_code"] == "usage_unheard"
