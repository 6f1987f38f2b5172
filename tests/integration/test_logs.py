"""Logs of a real cluster of two nodes: the output of tasks, its owner, and search."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.recorded import Recorded, talk, texts
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]


def test_a_tasks_own_lines_come_back_exactly(cluster: Recorded) -> None:
    first, first_node, second, second_node, actor = talk(cluster, "second")
    assert first_node
    for task, word in ((first, "alpha"), (second, "omega")):

        def lines(task: str = task) -> Any:
            answer = cluster.request("/api/v1/logs/of", task_id=task)
            parts = answer.json().get("parts") or []
            return parts if {part["stream"] for part in parts} == {"out", "err"} else None

        out, err = wait_until(lines, "the task's lines")
        assert texts(out) == [f"{word} line {number} äöü 雪" for number in range(5)]
        assert texts(err) == [f"{word} complains"]
        assert out["page"]["missing"] == []
    of_actor = wait_until(
        lambda: cluster.request("/api/v1/logs/of", actor_id=actor).json().get("parts"), "the actor's files"
    )
    assert "gamma from the actor" in texts(of_actor[0])

    # A search finds both nodes' lines, and reports which files it read.
    found = cluster.get("/api/v1/logs/search", q="LINE 3", kind="worker_out")
    assert {hit["text"] for hit in found["items"]} >= {"alpha line 3 äöü 雪", "omega line 3 äöü 雪"}
    assert {hit["node_id"] for hit in found["items"]} >= {first_node, second_node}
    # Other tests kill nodes, whose files may still be listed.
    gone = [file for file in found["not_searched"] if file["why"] == "gone"]
    assert found["searched"]["files"] + len(gone) == found["searched"]["of"] > len(gone), found["searched"]
    by_pattern = cluster.get("/api/v1/logs/search", q="^(alpha|omega) line [34]", regex=1)
    assert len({hit["text"] for hit in by_pattern["items"]}) == 4

    # A line's place in its file holds.
    hit = found["items"][0]
    page = cluster.get(
        "/api/v1/logs/file", node_id=hit["node_id"], name=hit["name"], offset=hit["offset"], limit=1
    )
    assert page["lines"][0]["text"] == hit["text"]
    downloaded = cluster.request("/api/v1/logs/download", node_id=hit["node_id"], name=hit["name"])
    assert hit["text"] in downloaded.text
    # (Ray moves the logs of workers that have ended into a folder of the node's.)
    assert hit["name"].replace("/", "_") in downloaded.headers["content-disposition"]


def test_rays_own_logs_have_times_and_levels(cluster: Recorded) -> None:
    answer = cluster.get("/api/v1/logs", kind="gcs,raylet")
    alive = cluster.alive()  # other tests kill nodes
    (name, node) = next(
        (f["name"], f["node_id"])
        for f in answer["files"]
        if f["name"] == "gcs_server.out" and f["node_id"] in alive
    )
    page = cluster.get("/api/v1/logs/file", node_id=node, name=name, limit=50)
    assert page["live"]
    timed = [line for line in page["lines"] if line["time_ns"]]
    assert timed
    assert all(abs(time.time_ns() - line["time_ns"]) < 3600e9 for line in timed)
    assert {line["level"] for line in timed} & {"info", "warning", "error"}
    middle = timed[len(timed) // 2]["time_ns"]
    since = cluster.get("/api/v1/logs/file", node_id=node, name=name, since_ns=middle - 1, limit=50)
    first = next(line for line in since["lines"] if line["time_ns"])
    assert first["time_ns"] >= middle - 1000
    warnings = cluster.get("/api/v1/logs/file", node_id=node, name=name, level="warning")
    assert {line["level"] for line in warnings["lines"]} <= {"warning", "error", "critical"}


def test_names_that_are_none_reach_nothing(cluster: Recorded) -> None:
    node = cluster.get("/api/v1/logs")["nodes"][0]["node_id"]
    hostile = [
        "../../../../../etc/passwd",
        "/etc/passwd",
        "a\0b",
        "%2e%2e/passwd",
        "old/../x",
        "..\\x",
        "x" * 400,
    ]
    for name in hostile:
        for path in ("file", "download"):
            answer = cluster.request(f"/api/v1/logs/{path}", node_id=node, name=name)
            assert answer.status_code == 404, (name, answer.text)
            assert "root:" not in answer.text
    assert cluster.request("/api/v1/logs/file", node_id="../x", name="raylet.out").status_code == 404
