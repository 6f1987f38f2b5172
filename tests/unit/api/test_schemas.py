"""Every GET path answers about a real record, and its answer matches its schema."""

from __future__ import annotations

from typing import Any

import pytest
from tests import answers
from tests.running import Running
from typing_extensions import TypedDict

#: Request parameters for paths where the newest item of each kind is not enough.
PARAMETERS: dict[str, dict[str, Any]] = {
    "/api/v1/deaths": {"kind": "actor"},
    "/api/v1/find": {"q": "a"},
    "/api/v1/logs/file": {"name": "raylet.out"},
    "/api/v1/memory-lines": {"profile": "a" * 16},
    "/api/v1/logs/search": {"q": "error"},
    "/api/v1/metrics/query": {"expr": "up"},
    "/api/v1/metrics/label-values": {"label": "node_ip"},
    "/api/v1/realtime": {"topic": "cluster"},
}
#: Paths that need a live cluster or prepared data: other tests cover them.
NOT_HERE = {
    "/api/v1/compare",
    "/api/v1/compare/findings",
    "/api/v1/compare/lines",
    "/api/v1/logs/file",
    "/api/v1/dashboards/{name}",
    "/api/v1/data/{dataset_id}",
    "/api/v1/runs/trend",
    "/api/v1/runs/{session}/{job_id}",
    "/api/v1/serve/{application}",
    "/api/v1/serve-requests/{application}",
    "/api/v1/train/{run_id}",
    "/api/v1/tune/{experiment_id}",
}


class Promised(TypedDict):
    """A shape for the test of the comparison itself."""

    session: str


def _paths(running: Running) -> list[str]:
    found = []
    for path, methods in running.get("/openapi.json")["paths"].items():
        answered = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        if answered.get("application/json", {}).get("schema"):
            found.append(path)
    return found


def test_every_answer_has_its_shape(running: Running) -> None:
    ids = {
        name: running.get(f"/api/v1/{path}", **({"internal": True} if path != "tasks" else {}))["items"][0][
            name
        ]
        for path, name in (
            ("tasks", "task_id"),
            ("actors", "actor_id"),
            ("jobs", "job_id"),
            ("nodes", "node_id"),
            ("workers", "worker_id"),
        )
    }
    ids["object_id"] = "a" * 56
    for path in sorted(set(_paths(running)) - NOT_HERE):
        if "{placement_group_id}" in path:
            continue
        asked = PARAMETERS.get(path, {}) | (
            {"on_node": ids["node_id"]} if path.endswith("physical/node") else {}
        )
        asked |= {"task_id": ids["task_id"]} if path == "/api/v1/logs/of" else {}
        before = answers.compared.get(path, 0)
        running.get(path.format(**ids), **asked)
        assert answers.compared[path] == before + 1
    assert not answers.wrong


@pytest.mark.parametrize("body", [b'{"session": "s", "more": 1}', b"{}", b'{"session": 1}'])
def test_an_answer_of_another_shape_is_seen(body: bytes) -> None:
    answers.compare("/api/v1/promised", Promised, body)
    assert "is not of its shape" in answers.wrong.pop()
