"""Everything of a session by its name or the first letters of its id, in one answer."""

from __future__ import annotations

from typing import Any

from tests.running import Running
from tests.story import Story


def _names_by_kind(running: Running, q: str, **params: Any) -> dict[str, list[str]]:
    """Kind -> names of its hits, or ids of those without a name."""
    groups = running.get("/api/v1/find", q=q, **params)["groups"]
    return {group["kind"]: [item["name"] or item["id"] for item in group["items"]] for group in groups}


def _classes() -> Story:
    story = Story()
    story.task("Board.offer", 0, 1, 2, actor="d" * 24)
    story.entity("actor", "d" * 24 + "01000000", 0, class_name="Board")
    return story


def test_nodes_of_one_host_have_distinct_names(fresh: Running) -> None:
    story = Story()
    for letter in "ab":
        story.entity("node", letter * 56, 0, hostname="vm", node_ip="192.0.2.7")
    story.task("f", 0, 1, 2, node="a" * 56)
    fresh.record(story)
    assert sorted(_names_by_kind(fresh, "vm")["node"]) == ["vm · aaaaaa", "vm · bbbbbb"]
    lanes = fresh.get("/api/v1/flow/gantt", by="node")["lanes"]
    assert [lane["label"] for lane in lanes] == ["vm · aaaaaa"]


def test_names_of_every_kind_are_found(fresh: Running) -> None:
    story = Story()
    story.task("load", 0, 1, 2)
    story.task("reload", 0, 1, 3)
    story.task("reload", 0, 1, 4)
    failed = story.task("load", 0, 1, 2, failed=True)
    story.entity("actor", "c" * 32, 0, class_name="Loader", name="the loader", pid=4711)
    story.entity("node", "a" * 56, 0, node_name="loading-dock", node_ip="192.0.2.7")
    story.entity("job", "01000000", 0, entrypoint="python load_all.py")
    story.entity("worker", "b" * 56, 0, pid=4711)
    fresh.record(story)

    found = _names_by_kind(fresh, "LOAD")
    assert found["function"] == [
        "load",
        "reload",
    ]  # prefix matches come before more frequent names
    assert found["actor"] == ["the loader"]
    assert found["node"] == ["loading-dock"]
    assert found["job"] == ["load_all.py"]
    assert "worker" not in found

    tasks = fresh.get("/api/v1/find", q="load", limit=1)["groups"][1]
    assert (tasks["kind"], tasks["total"]) == ("task", 4)
    assert [item["id"] for item in tasks["items"]] == [failed]

    assert list(_names_by_kind(fresh, "the loader")) == ["actor"]
    assert list(found) == ["function", "task", "actor", "node", "job"]  # "load" is a function's whole name
    fresh.record(_classes())
    assert list(_names_by_kind(fresh, "board")) == ["actor", "function", "task"]

    assert _names_by_kind(fresh, "cccc") == {"actor": ["the loader"]}
    assert _names_by_kind(fresh, failed[:20])["task"] == ["load"]
    assert _names_by_kind(fresh, "4711") == {"actor": ["the loader"], "worker": ["b" * 56]}
    assert _names_by_kind(fresh, "%") == {}
    assert _names_by_kind(fresh, " ") == {}
    fresh.error(fresh.client.get("/api/v1/find", params={"q": "x" * 201}), 422)
