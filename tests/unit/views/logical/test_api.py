"""The logical graph of executions whose numbers are known, over HTTP."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at

from rayscope.model import Edge, Entity, Span
from rayscope.storage.sql import data_edges
from rayscope.views.logical import sql as logical_sql

ACTORS = ["c" * 24, "d" * 24]
Graph = dict[str, Any]


def _story() -> Story:
    """Two trains that each call two loads and wait 30 ms for them, and two stores that trains call."""
    story = Story()
    for actor in ACTORS:
        story.task("Store.__init__", 0, 1, 2, actor=actor, task_id="f" * 16 + actor + JOB)
    for number in range(2):
        begin = 100 * (number + 1)
        train = story.task("train", begin, begin + 5, begin + 65)
        loads = [
            story.task("load", begin + 10, begin + 20 + 10 * i, begin + 30 + 10 * i, parent=train)
            for i in range(2)
        ]
        story.get(train, loads, begin + 10, begin + 40)
        put = story.task("Store.put", begin + 50, begin + 52, begin + 60, parent=train, actor=ACTORS[number])
        story.argument(put, loads[0], 1000)
        log = story.task("Store.log", begin + 53, begin + 55, begin + 58, parent=put, actor=ACTORS[0])
        story.task("clean", begin + 58, parent=log)
    story.task("load", 300, 310, 350, failed=True)
    story.task("load", 400, 410, 420, parent="e" * 16 + "f" * 24 + JOB)
    return story


def _calls(graph: Graph) -> dict[tuple[str, str], dict[str, Any]]:
    return {(edge["source"], edge["target"]): edge for edge in graph["calls"]}


def _data(graph: Graph) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    return {
        (edge["source"], edge["target"]): (
            edge["arguments"],
            edge["argument_bytes"],
            edge["gets"],
            edge["get_bytes"],
        )
        for edge in graph["data"]
    }


def _nodes(graph: Graph) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in graph["nodes"]}


def test_the_graph_is_what_ran(fresh: Running) -> None:
    fresh.record(_story())
    found = fresh.get("/api/v1/flow/logical", fold="Store")
    driver = f"driver:{JOB}"
    calls = _calls(found)
    assert {pair: (edge["attempts"], edge["failed"]) for pair, edge in calls.items()} == {
        (driver, "m:Store.__init__"): (2, 0),
        (driver, "f:train"): (2, 0),
        (driver, "f:load"): (1, 1),
        ("unknown", "f:load"): (1, 0),
        ("f:train", "f:load"): (4, 0),
        ("f:train", "m:Store.put"): (2, 0),
        ("m:Store.put", "m:Store.log"): (2, 0),
        ("m:Store.log", "f:clean"): (2, 0),
    }
    assert found["attempts"] == fresh.get("/api/v1/tasks")["total"] == 16
    assert _data(found) == {
        ("f:load", "f:train"): (0, 0, 4, 400),
        ("f:load", "m:Store.put"): (2, 2000, 0, 0),
    }
    nodes = _nodes(found)
    train, store, load = nodes["f:train"], nodes["c:Store"], nodes["f:load"]
    assert (train["duration_ns"], train["blocked_ns"], train["executing_ns"]) == (120 * MS, 60 * MS, 60 * MS)
    assert (train["p50_ns"], train["total_p50_ns"]) == (60 * MS, 65 * MS)
    assert load["states"] == {"FINISHED": 5, "FAILED": 1}
    assert (store["actors"], store["attempts"], store["duration_ns"]) == (2, 6, (2 + 16 + 6) * MS)
    assert nodes["m:Store.put"]["parent"] == "c:Store"
    assert nodes["f:clean"]["states"] == {"PENDING_NODE_ASSIGNMENT": 2}
    to_load = calls[("f:train", "f:load")]
    assert (to_load["p50_ns"], to_load["total_p50_ns"], to_load["total_p95_ns"]) == (
        10 * MS,
        25 * MS,
        30 * MS,
    )
    assert found["folded"] == {
        "functions": 0,
        "attempts": 0,
        "duration_ns": 0,
        "drivers": 0,
        "instances": {},
        "calls": {},
    }


def test_calls_of_a_coroutine_are_its_own_though_ray_names_the_creation_of_its_actor(fresh: Running) -> None:
    story = Story()
    init = story.task("Control.__init__", 0, 1, 2, actor="d" * 24)
    run = story.task("Control.run", 3, 4, 100, actor="d" * 24)
    step = story.task("step", 10, 11, 50, parent=init)
    leaf = story.task("leaf", 20, 21, 30, parent=step)
    story.get(run, step, 10, 50)
    story.batch.edges.append(Edge(step, -1, "caller", run, 0, None, at(10), at(10)))
    fresh.record(story)
    assert ("m:Control.run", "f:step") in _calls(fresh.get("/api/v1/flow/logical"))
    (item,) = fresh.get("/api/v1/tasks", func_name="step")["items"]
    assert (item["parent_task_id"], item["caller_task_id"]) == (init, run)
    for name, known in (("caller_task_id", run), ("parent_task_id", init)):
        assert [one["task_id"] for one in fresh.get("/api/v1/tasks", **{name: known})["items"]] == [step]
    task = fresh.get(f"/api/v1/tasks/{step}")
    assert (task["parent"]["task_id"], task["call_path"]) == (run, ["Control.run", "step"])
    assert [child["task_id"] for child in fresh.get(f"/api/v1/tasks/{run}")["children"]] == [step]
    assert fresh.get(f"/api/v1/tasks/{init}")["children"] == []
    assert fresh.get(f"/api/v1/tasks/{leaf}")["call_path"] == ["Control.run", "step", "leaf"]
    names = {frame["id"]: frame for frame in fresh.get("/api/v1/flow/flame")["frames"]}
    (frame,) = [frame for frame in names.values() if frame["name"] == "step"]
    assert names[frame["parent"]]["name"] == "Control.run"


def test_every_edge_of_the_record_is_in_the_graph(fresh: Running) -> None:
    story = _story()
    maker = story.task("maker", 500, 501, 502)
    taker = story.task("taker", 503, 504, 505)
    # An object that was put, and one whose size only its producer reported.
    put = "01" + maker[2:]
    story.batch.edges.append(Edge(maker, 0, "put", put, 100_000_001, 5000, at(501), at(501)))
    story.batch.edges.append(Edge(taker, 0, "get", put, 100_000_001, None, at(504), at(505)))
    story.batch.edges.append(Edge(maker, 0, "return", maker, 2, 70, at(502), at(502)))
    story.batch.edges.append(Edge(taker, -1, "argument", maker, 2, None, at(503), at(503)))
    story.batch.edges.append(Edge(taker, -1, "nested", maker, 3, None, at(503), at(503)))
    fresh.record(story)
    for filters in ({}, {"func_name": "taker"}, {"func_name": "maker"}):
        found = _data(fresh.get("/api/v1/flow/logical", **filters))
        assert found[("f:maker", "f:taker")] == (1, 70, 1, 5000)
        assert (len(found) == 1) == bool(filters)
    rows = fresh.client.post(
        "/api/v1/sql",
        json={
            "sql": "SELECT count(*), sum(bytes)::BIGINT FROM data_edges "
            "WHERE kind IN ('argument', 'get') AND NOT nested"
        },
    ).json()["rows"]
    data = fresh.get("/api/v1/flow/logical")["data"]
    assert [[sum(edge["objects"] for edge in data), sum(edge["bytes"] for edge in data)]] == rows


def test_instances_are_told_apart(fresh: Running) -> None:
    first, second = (f"{actor}{JOB}" for actor in ACTORS)
    story = _story()
    for attempt in story.batch.attempts:
        if attempt.actor_id == first and attempt.func_name == "Store.put":
            attempt.actor_repr_name = "Store(1)"
    fresh.record(story)
    found = fresh.get("/api/v1/flow/logical", expand=["Store", "NoSuchClass"])
    calls = {pair: edge["attempts"] for pair, edge in _calls(found).items() if "Store" in "".join(pair)}
    assert calls == {
        (f"driver:{JOB}", f"m:Store.__init__@{first}"): 1,
        (f"driver:{JOB}", f"m:Store.__init__@{second}"): 1,
        ("f:train", f"m:Store.put@{first}"): 1,
        ("f:train", f"m:Store.put@{second}"): 1,
        (f"m:Store.put@{first}", f"m:Store.log@{first}"): 1,
        (f"m:Store.put@{second}", f"m:Store.log@{first}"): 1,
        (f"m:Store.log@{first}", "f:clean"): 2,
    }
    nodes = _nodes(found)
    assert nodes["c:Store"]["is_expanded"]
    box = nodes[f"i:Store@{first}"]
    assert (box["parent"], box["actor_id"], box["name"], box["attempts"]) == ("c:Store", first, "Store(1)", 4)
    assert nodes[f"i:Store@{second}"]["name"] is None
    assert nodes[f"m:Store.put@{second}"]["parent"] == f"i:Store@{second}"
    assert _data(found)[("f:load", f"m:Store.put@{second}")] == (1, 1000, 0, 0)
    assert found["attempts"] == 16


def test_a_class_that_calls_itself_opens_as_its_instances(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story()

    def grow(parent: str, number: int) -> None:
        """A binary tree of workers, each with the calls of its caller."""
        actor = f"{number:024x}"
        story.task("Worker.__init__", number, actor=actor, parent=parent)
        for call in range(10 * number):
            story.task(
                "Worker.process", number, number + 1 + call, number + 2 + call, parent=parent, actor=actor
            )
        run = story.task("Worker.run", number, number + 1, number + 2, parent=parent, actor=actor)
        if number < 4:
            grow(run, 2 * number)
            grow(run, 2 * number + 1)

    grow(DRIVER, 1)
    for number in range(2):  # no call within this class
        story.task("Store.put", 50, 51, 52, actor=f"{100 + number:024x}")
    fresh.record(story)
    found = fresh.get("/api/v1/flow/logical")
    nodes = _nodes(found)
    box = nodes["c:Worker"]
    assert (box["is_expanded"], box["actors"]) == (True, 7)
    assert not nodes["c:Store"]["is_expanded"]
    called = {
        (source[-32:-8], target[-32:-8]): edge["attempts"]
        for (source, target), edge in _calls(found).items()
        if source.startswith("m:Worker.run") and target.startswith("m:Worker.process")
    }
    tree = {(f"{up:024x}", f"{down:024x}"): 10 * down for up in (1, 2, 3) for down in (2 * up, 2 * up + 1)}
    assert called == tree

    folded = fresh.get("/api/v1/flow/logical", fold="Worker")
    assert not _nodes(folded)["c:Worker"]["is_expanded"]
    assert _calls(folded)[("m:Worker.run", "m:Worker.run")]["attempts"] == 6
    assert folded["attempts"] == found["attempts"]
    for name, limit in (("MAX_UNASKED", 6), ("MAX_UNASKED_ROWS", 20)):
        with monkeypatch.context() as less:
            less.setattr(logical_sql, name, limit)
            narrowed = fresh.get("/api/v1/flow/logical", since_ns=str(at(0)), until_ns=str(at(10**6 + limit)))
            assert not _nodes(narrowed)["c:Worker"]["is_expanded"], name


def test_calls_of_a_function_are_told_apart(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logical_sql, "MAX_CALLS", 3)
    story = _story()
    loads = [one.task_id for one in story.batch.attempts if one.func_name == "load"]
    trains = [one.task_id for one in story.batch.attempts if one.func_name == "train"]
    fresh.record(story)
    found = fresh.get("/api/v1/flow/logical", expand=["load", "train"], fold="Store")
    # 10, 10, 10, 10, 40 and 10 ms: the longest, and of equals the first.
    failed, (first, second, *others) = loads[4], sorted({*loads} - {loads[4]})
    nodes = _nodes(found)
    calls = {node["task_id"] for node in found["nodes"] if node["parent"] == "f:load"}
    assert calls == {failed, first, second, None}
    assert found["folded"]["calls"] == {"load": len(others)}
    assert nodes["f:load@"]["attempts"] == len(others) == 3
    one = nodes[f"f:load@{failed}"]
    assert (one["kind"], one["name"], one["attempts"], one["states"]) == ("call", "load", 1, {"FAILED": 1})
    assert (one["duration_ns"], one["p50_ns"]) == (40 * MS, 40 * MS)
    box = nodes["f:load"]
    assert (box["kind"], box["is_expanded"], box["attempts"], box["failed"]) == ("function", True, 6, 1)
    assert box["duration_ns"] == 90 * MS
    by = _calls(found)
    assert by[(f"driver:{JOB}", f"f:load@{failed}")]["failed"] == 1
    assert sum(edge["attempts"] for (source, _), edge in by.items() if source == f"f:train@{trains[0]}") == 3
    assert {source for source, target in by if target.startswith("m:Store.put")} == {
        f"f:train@{train}" for train in trains
    }
    # Each train got the values that its own loads returned.
    names = {task: f"f:load@{task if task in calls else ''}" for task in loads}
    got = {pair: sums[2] for pair, sums in _data(found).items() if pair[1].startswith("f:train@")}
    expected: dict[tuple[str, str], int] = {}
    for train, mine in zip(trains, (loads[:2], loads[2:4]), strict=True):
        for load in mine:
            pair = (names[load], f"f:train@{train}")
            expected[pair] = expected.get(pair, 0) + 1
    assert got == expected
    assert found["attempts"] == sum(edge["attempts"] for edge in found["calls"]) == 16
    folded = fresh.get("/api/v1/flow/logical", fold="Store")
    assert {(e["source"].split("@")[0], e["target"].split("@")[0]) for e in found["calls"]} == set(
        _calls(folded)
    )
    only = fresh.get("/api/v1/flow/logical", expand="load", state="FAILED")
    assert {node["task_id"] for node in only["nodes"] if node["kind"] == "call"} == {failed}
    # Only its actors distinguish a method. An unknown name unfolds nothing.
    same = fresh.get("/api/v1/flow/logical", expand=["Store.put", "nobody"], fold="Store")
    assert set(_nodes(same)) == set(_nodes(folded))


def test_filters_pick_the_callees(fresh: Running) -> None:
    fresh.record(_story())
    found = fresh.get("/api/v1/flow/logical", func_name="Store.log")
    assert {pair: edge["attempts"] for pair, edge in _calls(found).items()} == {
        ("m:Store.put", "m:Store.log"): 2
    }
    assert _nodes(found)["m:Store.put"]["attempts"] == 0
    assert found["data"] == []
    # A data edge is shown if one of its ends matches.
    assert set(_data(fresh.get("/api/v1/flow/logical", func_name="train"))) == {("f:load", "f:train")}
    failed = fresh.get("/api/v1/flow/logical", state="FAILED")
    assert failed["attempts"] == 1
    assert fresh.get("/api/v1/flow/logical", type="DRIVER_TASK")["calls"] == []
    assert fresh.get("/api/v1/flow/logical", job_id="02000000")["nodes"] == []
    fresh.error(
        fresh.client.get("/api/v1/flow/logical", params={"expand": [f"C{number}" for number in range(11)]}),
        400,
    )


def test_open_waits_and_running_attempts_count(fresh: Running) -> None:
    story = Story()
    waits = story.task("waits", 0, 10)
    story.blocks(waits, story.task("slow", 20, 30, parent=waits), 40)
    fresh.record(story)
    node = _nodes(fresh.get("/api/v1/flow/logical"))["f:waits"]
    assert node["executing_ns"] == 30 * MS
    assert node["blocked_ns"] == node["duration_ns"] - 30 * MS > 0
    assert node["p50_ns"] == pytest.approx(node["duration_ns"])


def test_waits_that_overlap_count_once_with_or_without_a_reported_end(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story()
    waits = story.task("waits", 0, 0, 100)
    slow = story.task("slow", 5, 10, 90, parent=waits)
    story.get(waits, slow, 20, 60)
    story.blocks(waits, slow, 40)
    fresh.record(story)
    for few, end in ((logical_sql.EXACT_QUANTILES, 200), (-1, 300)):
        monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", few)
        node = _nodes(fresh.get("/api/v1/flow/logical", until_ns=at(end)))["f:waits"]
        assert (node["executing_ns"], node["blocked_ns"]) == (20 * MS, 80 * MS)
    (frame,) = (one for one in fresh.get("/api/v1/flow/flame")["frames"] if one["name"] == "waits")
    assert frame["blocked_ns"] == 80 * MS


def test_many_instances_and_functions_are_folded_and_counted(fresh: Running) -> None:
    story = Story()
    for number in range(60):
        actor = f"{number:024x}"
        for _ in range(2 if number == 59 else 1):
            story.task("Store.put", 0, 1, 2, actor=actor)
    for number in range(600):
        story.task(f"f{number:03d}", 0, 1, 2 + number)
    fresh.record(story)
    found = fresh.get("/api/v1/flow/logical", expand="Store")
    assert len(found["nodes"]) + len(found["calls"]) + len(found["data"]) <= found["limit"] == 500
    assert sum(edge["attempts"] for edge in found["calls"]) == found["attempts"] == 661
    nodes = _nodes(found)
    assert "f:f599" in nodes
    assert "f:f000" not in nodes
    assert (
        sum(node["attempts"] for node in found["nodes"] if node["kind"] not in ("class", "instance")) == 661
    )
    assert nodes["other"]["attempts"] == found["folded"]["attempts"] > 0
    only = fresh.get("/api/v1/flow/logical", expand="Store", func_name="Store.put")
    assert only["folded"]["instances"] == {"Store": 10}
    boxes = [node for node in only["nodes"] if node["kind"] == "instance"]
    assert len(boxes) == 51
    assert {node["actors"] for node in boxes if node["actor_id"] is None} == {10}
    assert {f"{59:024x}{JOB}", None} < {node["actor_id"] for node in boxes}


def test_a_restart_of_an_actor_is_its_constructor(fresh: Running) -> None:
    story = _story()
    actor = f"{ACTORS[0]}{JOB}"
    story.batch.attempts[0].func_name = story.batch.attempts[0].name = None
    story.batch.entities.append(Entity("actor", actor, {"class_name": "Store"}))
    fresh.record(story)
    assert _nodes(fresh.get("/api/v1/flow/logical", fold="Store"))["m:Store.__init__"]["attempts"] == 2


def test_a_large_record_is_summed_up_by_call_path_to_the_same_graph(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: at(1000))  # what runs still has run for as long in both
    story = _story()
    # An actor's second start, which has no definition, and a wait without a reported end.
    again = story.task(
        "Store.__init__", 20, 21, 22, actor=ACTORS[0], task_id="f" * 16 + ACTORS[0] + JOB, attempt=1
    )
    restart = story.batch.attempts[-1]
    restart.name = restart.func_name = restart.parent_task_id = None
    story.batch.entities.append(Entity("actor", again[16:], {"class_name": "Store"}))
    waits = story.task("waits", 400, 405, 460)
    story.blocks(waits, story.task("long", 406, 410, 600, parent=waits), 420)
    fresh.record(story)
    questions: list[dict[str, str]] = [{}, {"func_name": "load"}, {"name": "Store"}, {"state": "FAILED"}]
    few = [fresh.get("/api/v1/flow/logical", fold="Store", **asked) for asked in questions]
    monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", -1)
    for asked, before in zip(questions, few, strict=True):
        found = fresh.get("/api/v1/flow/logical", fold="Store", **asked, until_ns=str(at(10**6)))
        assert found.pop("is_estimated")
        assert not before.pop("is_estimated")
        for part in ("nodes", "calls", "data"):
            found[part].sort(key=lambda one: one["id"])
            before[part].sort(key=lambda one: one["id"])
        assert found == before


def test_objects_that_a_call_does_not_name_are_counted(fresh: Running) -> None:
    story = Story()
    train = story.task("train", 0, 1, 900)
    story.task("load", 2, 3, 13, parent=train)
    for begin, extra in ((20, '{"objects":8000,"unnamed":7744}'), (40, '{"calls":3,"objects":5}')):
        story.batch.spans.append(Span(train, 0, "ray.get", at(begin), at(begin + 10), extra))
    story.span(train, "ray.get", 60, 70)
    fresh.record(story)
    assert fresh.get("/api/v1/flow/logical")["data_unnamed"] == 7749
    assert fresh.get("/api/v1/flow/logical", func_name="train")["data_unnamed"] == 7749
    assert fresh.get("/api/v1/flow/logical", func_name="load")["data_unnamed"] == 0


def test_a_large_record_is_estimated_and_says_so(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_edges, "MAX_EDGE_ROWS", 250)
    monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", 10)
    story = Story()
    train = story.task("train", 0, 1, 900)
    loads = [story.task("load", 2, 3, 13, parent=train) for _ in range(1000)]
    story.get(train, loads, 20, 30)
    fresh.record(story)
    found = fresh.get("/api/v1/flow/logical")
    assert (found["data_sampled"], found["is_estimated"], found["attempts"]) == (4, True, 1001)
    (edge,) = found["data"]
    # Every fourth object by a hash: 250 of them, give or take a few standard deviations (of 13.7).
    assert edge["gets"] % 4 == 0
    assert abs(edge["gets"] - 1000) < 4 * 5 * 13.7
    assert edge["get_bytes"] == edge["gets"] * 100
    assert _nodes(found)["f:load"]["p50_ns"] == 10 * MS
