"""Lists: filters before limits, right totals, pages that neither repeat nor skip, and hostile parameters."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from tests.story import JOB, Story, at

from rayscope.model import Entity

SORTS = ("created_ns", "start_ns", "end_ns", "duration_ns", "name", "state")


def pages(running: Any, path: str, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = running.get(path, **params, **cursor)
        found += page["items"]
        if page["next"] is None:
            return found
        assert len(page["items"]) == params["limit"]
        cursor = {"cursor": page["next"]}


def keys(items: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(item["task_id"], item["attempt"]) for item in items]


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{name}" for name in SORTS)])
def test_every_sort_in_pages(running: Any, sort: str) -> None:
    everything = running.get("/api/v1/tasks", limit=1000)
    found = pages(running, "/api/v1/tasks", sort=sort, limit=7)
    assert len(found) == everything["total"] > 30
    assert sorted(keys(found)) == sorted(keys(everything["items"]))
    name = sort.removeprefix("-")
    unknown: Any = "" if name in ("name", "state") else -1
    values = [unknown if item[name] is None else item[name] for item in found]
    known = [value for value in values if value != unknown]
    assert known == sorted(known, reverse=sort.startswith("-"))


def test_peak_memory_of_attempts_and_functions(fresh: Any) -> None:
    story = Story()
    for name, peak, scope in (("small", 50, "own"), ("large", 400, "shared"), ("untold", None, "off")):
        story.task(name, 10, 20, 30)
        attempt = story.batch.attempts[-1]
        attempt.func_name = "f"
        attempt.peak_memory, attempt.memory_scope = peak, scope
        attempt.start_memory = None if peak is None else 40
    fresh.record(story)
    items = fresh.get("/api/v1/tasks", sort="-peak_memory")["items"]
    fields = ("name", "peak_memory", "start_memory", "memory_scope")
    assert [tuple(item[field] for field in fields) for item in items] == [
        ("large", 400, 40, "shared"),
        ("small", 50, 40, "own"),
        ("untold", None, None, "off"),
    ]
    detail = fresh.get(f"/api/v1/tasks/{items[0]['task_id']}")["attempts"][0]
    assert (detail["peak_memory"], detail["memory_scope"]) == (400, "shared")
    (function,) = fresh.get("/api/v1/functions")["items"]
    assert [function[f"{one}_memory"] for one in ("p50", "p95", "max")] == [225, 382, 400]


def test_filters_come_before_limits_and_totals(running: Any) -> None:
    everything = running.get("/api/v1/tasks", limit=1000)["items"]
    assert {item["type"] for item in everything} == {"NORMAL_TASK", "ACTOR_TASK", "ACTOR_CREATION_TASK"}
    for name in ("job_id", "func_name", "state", "type", "node_id", "worker_id", "actor_id", "error_type"):
        for value in {item[name] for item in everything if item[name]}:
            page = running.get("/api/v1/tasks", **{name: value}, limit=1)
            matching = [item for item in everything if item[name] == value]
            assert page["total"] == len(matching), (name, value)
            assert keys(pages(running, "/api/v1/tasks", **{name: value}, limit=2)) == keys(matching)
    both = running.get("/api/v1/tasks", state="failed,FINISHED", limit=1000)["items"]
    assert keys(both) == keys([item for item in everything if item["state"] in ("FAILED", "FINISHED")])
    inner = running.get("/api/v1/tasks", name="INNE", limit=1000)["items"]
    assert keys(inner) == keys([item for item in everything if item["name"] == "inner"])
    parent = inner[0]["parent_task_id"]
    children = running.get("/api/v1/tasks", parent_task_id=parent)["items"]
    assert keys(children) == keys([item for item in everything if item["parent_task_id"] == parent])
    prefix = inner[0]["task_id"][:10]
    assert {item["task_id"] for item in running.get("/api/v1/tasks", q=prefix)["items"]} == {
        inner[0]["task_id"]
    }
    times = sorted(item["created_ns"] for item in everything)
    middle = times[len(times) // 2]
    until = running.get("/api/v1/tasks", until_ns=middle, limit=1000)["items"]
    assert keys(until) == keys([item for item in everything if item["created_ns"] <= middle])
    since = running.get("/api/v1/tasks", since_ns=middle, limit=1000)["items"]
    assert keys(since) == keys([i for i in everything if i["end_ns"] is None or i["end_ns"] >= middle])


@pytest.mark.parametrize(
    ("path", "params", "known"),
    [
        ("tasks", {"state": "RUNING"}, "RUNNING_IN_RAY_GET"),
        ("tasks", {"type": "TASK"}, "ACTOR_TASK"),
        ("failures", {"type": "x"}, "NORMAL_TASK"),
        ("actors", {"state": "GONE"}, "DEAD"),
        ("jobs", {"state": "ALIVE"}, "SUCCEEDED"),
        ("nodes", {"state": "ALIVE,x"}, "DEAD"),
        ("workers", {"state": "x"}, "ALIVE"),
        ("placement-groups", {"state": "x"}, "RESCHEDULING"),
    ],
)
def test_unknown_values_of_a_filter_are_refused_with_the_known_ones(
    running: Any, path: str, params: dict[str, str], known: str
) -> None:
    (value,) = (text.rpartition(",")[2] for text in params.values())
    problem = running.error(running.client.get(f"/api/v1/{path}", params=params), 400)
    assert repr(value.upper()) in problem["message"]
    assert known in problem["remedy"]


def test_pages_hold_still_while_rows_arrive(fresh: Any, make_batches: Callable[..., list[bytes]]) -> None:
    events = make_batches(1)[0].count(b'"eventType"')
    batches = make_batches(400, size=40 * events, spread=0)  # 40 whole tasks each
    half = len(batches) // 2
    fresh.ingest(*batches[:half])
    before = keys(fresh.get("/api/v1/tasks", limit=1000)["items"])
    found = keys(fresh.get("/api/v1/tasks", limit=50)["items"])
    cursor = fresh.get("/api/v1/tasks", limit=50)["next"]
    for batch in batches[half:]:
        fresh.ingest(batch)
        if cursor is not None:
            page = fresh.get("/api/v1/tasks", limit=50, cursor=cursor)
            found += keys(page["items"])
            cursor = page["next"]
    while cursor is not None:
        page = fresh.get("/api/v1/tasks", limit=50, cursor=cursor)
        found += keys(page["items"])
        cursor = page["next"]
    assert len(set(found)) == len(found)
    assert set(before) <= set(found)


@pytest.mark.parametrize("path", ["actors", "nodes", "workers", "jobs", "placement-groups"])
def test_entities_page_and_sort_by_every_column(running: Any, path: str) -> None:
    everything = running.get(f"/api/v1/{path}", limit=1000)
    identity = f"{path.removesuffix('s')}_id"
    ids = sorted(item[identity] for item in everything["items"])
    assert len(set(ids)) == len(ids) == everything["total"]
    assert bool(ids) == (path != "placement-groups")  # no event reports those
    # The record has no columns of these: they are computed, or measured.
    computed = ("lane", "usage", "tasks", "stopped_by", "actor_class", "actor_name", "functions", "script")
    computed += ("running", "blocked", "attempts", "gpus", "gpu_")
    columns = [name for item in everything["items"][:1] for name in item if not name.startswith(computed)]
    for name in columns:
        for sort in (name, f"-{name}"):
            found = pages(running, f"/api/v1/{path}", sort=sort, limit=3)
            assert sorted(item[identity] for item in found) == ids
    for item in everything["items"]:
        one = running.get(f"/api/v1/{path}/{item[identity]}")
        # The session may have ended since the list was read.
        now = ("running", "workers" if path == "nodes" else "blocked", "attempts")
        lasting = {name: value for name, value in item.items() if name not in now}
        assert {name: one[name] for name in lasting} == lasting  # of a node there is more
    for state in {item["state"] for item in everything["items"]}:
        matching = [item for item in everything["items"] if item["state"] == state]
        assert running.get(f"/api/v1/{path}", state=state, limit=1)["total"] == len(matching)


@pytest.mark.parametrize("path", ["actors", "nodes", "workers", "jobs"])
def test_a_range_leaves_what_lived_in_it(running: Any, path: str) -> None:
    everything = running.get(f"/api/v1/{path}", limit=1000, internal=True)["items"]
    starts = [item["start_ns"] for item in everything if item["start_ns"]] or [1]
    middle = sorted(starts)[len(starts) // 2]
    for since, until in ((0, middle), (middle, middle), (max(starts) + 1, 2**62)):
        lived = [
            item
            for item in everything
            if (item["end_ns"] or 2**63) >= since and (item["start_ns"] or 0) <= until
        ]
        found = running.get(f"/api/v1/{path}", since_ns=since, until_ns=until, internal=True)
        assert found["total"] == len(lived)


def test_placement_groups_of_a_range(fresh: Any) -> None:
    story = Story()
    for number, (name, steps) in enumerate(
        {"gone": {40: "REMOVED"}, "lives": {20: "CREATED"}, "late": {90: "CREATED"}}.items()
    ):
        group = Entity("placement_group", f"{number:036x}", {"name": name, "created_ns": at(min(steps) - 10)})
        group.transitions |= {(at(when), state): {} for when, state in steps.items()}
        story.batch.entities.append(group)
    fresh.record(story)

    def names(**times: int) -> set[str]:
        return {row["name"] for row in fresh.get("/api/v1/placement-groups", **times)["items"]}

    assert names() == {"gone", "lives", "late"}
    assert names(since_ns=at(40)) == {"gone", "lives", "late"}
    assert names(since_ns=at(41)) == {"lives", "late"}
    assert names(until_ns=at(79)) == {"gone", "lives"}


def test_a_node_is_found_by_its_name(fresh: Any) -> None:
    story = Story()
    nodes = {"a1" * 28: "worker-7", "b2" * 28: "head", "c3" * 28: "twin", "d4" * 28: "twin"}
    for node_id, host in nodes.items():
        story.entity("node", node_id, 0, hostname=host, node_ip="10.0.0.1")
        story.entity("worker", node_id[::-1], 0, node_id=node_id, worker_type="WORKER")
        story.task(f"on_{node_id[:2]}", 0, 1, 2, node=node_id)
    fresh.record(story)

    def nodes_of(path: str, node: str) -> list[str]:
        return [row["node_id"] for row in fresh.get(path, node_id=node)["items"]]

    for path in ("/api/v1/tasks", "/api/v1/workers", "/api/v1/nodes"):
        assert nodes_of(path, "worker-7") == nodes_of(path, "a1a1") == ["a1" * 28]
    assert fresh.get("/api/v1/nodes/worker-7")["node_id"] == "a1" * 28
    assert {event["node_id"] for event in fresh.get("/api/v1/events", node_id="head")["items"]} == {"b2" * 28}
    assert sorted(nodes_of("/api/v1/workers", "head,worker-7")) == ["a1" * 28, "b2" * 28]
    refused = fresh.error(fresh.client.get("/api/v1/tasks", params={"node_id": "twin"}), 400)
    assert "c3c3c3c3c3c3 (ALIVE), d4d4d4d4d4d4 (ALIVE)" in refused["message"]
    assert nodes_of("/api/v1/tasks", "nobody") == []


def test_functions_are_those_of_the_attempts_in_a_range(running: Any) -> None:
    whole = running.get("/api/v1/functions", limit=1000)["items"]
    assert whole[:50] == running.get("/api/v1/summary")["functions"]
    tasks = running.get("/api/v1/tasks", limit=1000, sort="created_ns")
    middle = tasks["items"][tasks["total"] // 2]["created_ns"]
    for times in ({"until_ns": middle}, {"since_ns": middle + 1}):
        found = running.get("/api/v1/functions", limit=1000, **times)["items"]
        scheduled = running.get("/api/v1/scheduling", limit=1000, **times)["items"]
        total = running.get("/api/v1/tasks", limit=1, **times)["total"]
        assert 0 < sum(item["attempts"] for item in found) == total
        assert sum(item["attempts"] for item in scheduled) == total


def test_workers_are_found_by_the_class_of_their_actor(running: Any) -> None:
    actor = running.get("/api/v1/actors", limit=1000)["items"][0]
    found = running.get("/api/v1/workers", class_name=actor["class_name"].lower(), internal=True)["items"]
    assert actor["worker_id"] in [worker["worker_id"] for worker in found]
    assert running.get("/api/v1/workers", class_name="no such class", internal=True)["total"] == 0


HOSTILE = [
    *(
        "' OR 1=1 --",
        '"; DROP TABLE attempts; --',
        "%",
        "_",
        "\\",
        "%' ESCAPE 'x",
        "\0",
        "a\0b",
        "é\U0001f600",
    ),
    *(
        "../../etc/passwd",
        "a" * 500,
        "[]",
        "{}",
        "NULL",
        "-1",
        "1e999",
        "0x10",
        "-" + "f" * 47,
        "f" * 48,
        "1_0" * 16,
    ),
]
FILTERS = (
    *("job_id", "name", "func_name", "state", "type", "node_id", "worker_id", "actor_id", "parent_task_id"),
    *("placement_group_id", "error_type", "q", "session", "sort", "cursor", "limit", "since_ns", "until_ns"),
)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:30])
def test_hostile_parameters_find_nothing_and_break_nothing(
    running: Any, table_sums: Callable[[], dict[str, int]], value: str
) -> None:
    before = table_sums()
    for name in FILTERS:
        answer = running.client.get("/api/v1/tasks", params={name: value})
        if answer.status_code == 200:
            page = answer.json()
            free_text = name in ("name", "q") and value == "_"  # is in some names
            assert page["items"] == [] or free_text or name in ("limit", "since_ns", "until_ns"), (name, page)
        else:
            running.error(answer, answer.status_code)
            assert answer.status_code in (400, 404, 422), (name, answer.text)
    for path in ("tasks", "actors", "nodes", "workers", "jobs", "placement-groups"):
        answer = running.client.get(f"/api/v1/{path}/{value.replace('/', '%2F')}".replace("\0", "%00"))
        assert answer.status_code in (400, 404), (path, answer.text)
    for path in ("actors", "nodes", "workers", "jobs", "placement-groups"):
        for name in ("state", "name", "q", "sort", "cursor", "job_id", "type"):
            answer = running.client.get(f"/api/v1/{path}", params={name: value})
            assert answer.status_code in (200, 400, 422), (path, name, answer.text)
    assert table_sums() == before


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["-created_ns"],
        ["-created_ns", "x", 1, "a", 0, 0],
        ["-created_ns", 1, "x", "a", 0, 0],
        ["-created_ns", 1, 1, "a", 0, "not a number"],
        ["-created_ns", 1, -1, "a", 0, 0],
        ["-created_ns", 2**70, 2**70, "a", 2**70, 2**70],
        ["-created_ns", 1, 1, 1, 1, 1],
        ["-created_ns", None, None, None, None, None],
        ["name", "x", 1, "a", 0, 0],
        {"a": 1},
    ],
    ids=str,
)
def test_made_up_cursors_are_refused(running: Any, values: Any) -> None:
    cursor = urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")
    running.error(running.client.get("/api/v1/tasks", params={"cursor": cursor}), 400)
    running.error(running.client.get("/api/v1/actors", params={"cursor": cursor}), 400)


def test_errors_have_a_remedy(running: Any) -> None:
    for path, status in (
        ("/api/v1/tasks?sort=secret", 400),
        ("/api/v1/tasks?limit=0", 422),
        ("/api/v1/tasks?limit=1001", 422),
        ("/api/v1/tasks?since_ns=x", 422),
        ("/api/v1/tasks?session=nowhere", 404),
        ("/api/v1/tasks/" + "0" * 48, 404),
        ("/api/v1/tasks/xyz", 400),
        ("/api/v1/actors/nobody", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/sessions?cursor=nowhere", 400),
    ):
        running.error(running.client.get(path), status)
    for path, what, id in (
        ("/api/v1/tasks?session=nowhere", "session", "nowhere"),
        ("/api/v1/tasks/" + "0" * 48, "task", "0" * 48),
        ("/api/v1/actors/nobody", "actor", "nobody"),
        ("/api/v1/placement-groups/none", "placement_group", "none"),
        ("/api/v1/logs/of?job_id=none", "job", "none"),
    ):
        error = running.error(running.client.get(path), 404)
        assert (error["code"], error["params"]) == ("not_found", {"what": what, "id": id})
    running.error(running.client.post("/api/v1/sql", json={}), 422)
    running.error(running.client.post("/api/v1/sql", content=b"{"), 422)
    operator = {"X-Rayscope-Operator": running.server.services.secrets.operator_token}
    odd = running.client.post("/api/v1/clusters", json={"address": "not an address"}, headers=operator)
    running.error(odd, 502)


def test_a_task_in_full(running: Any) -> None:
    inner = running.get("/api/v1/tasks", name="inner", limit=1)["items"][0]
    task = running.get(f"/api/v1/tasks/{inner['task_id'].upper()}")
    assert task["call_path"] == ["outer", "inner"]
    assert task["parent"]["name"] == "outer"
    (attempt,) = task["attempts"]
    assert [state["state"] for state in attempt["states"]][-1] == "FINISHED"
    assert {phase["name"] for phase in attempt["phases"]} == {"deserialize", "execute", "store", "total"}
    parent = running.get(f"/api/v1/tasks/{task['parent']['task_id']}")
    assert parent["children_total"] == 3
    assert inner["task_id"] in {child["task_id"] for child in parent["children"]}
    fails = running.get("/api/v1/tasks", name="fails", state="FAILED")["items"][0]
    error = running.get(f"/api/v1/tasks/{fails['task_id']}")["attempts"][0]["error"]
    assert error["type"] == "TASK_EXECUTION_EXCEPTION"
    assert "boom" in error["message"]
    assert "\x1b" not in error["message"]


def test_a_task_is_found_by_how_its_id_begins(fresh: Any) -> None:
    story = Story()
    ids = [
        story.task("one", 0, 1, 2, task_id="deadbeef" + "0" * 32 + JOB),
        story.task("two", 0, 1, 2, task_id="deadbe0f" + "0" * 32 + JOB),
    ]
    child = story.task("child", 1, 2, 3, parent=ids[0])
    init = story.task("A.__init__", 0, 1, 2, actor="c" * 24, task_id="f" * 16 + "c" * 24 + JOB)
    fresh.record(story)
    for said in ("deadbeef", "DEADBEEF…", ids[0][:20], ids[0]):
        found = fresh.get(f"/api/v1/tasks/{said}")
        assert (found["task_id"], [c["task_id"] for c in found["children"]]) == (ids[0], [child])
    assert fresh.get(f"/api/v1/tasks/…{init[-12:]}")["task_id"] == init  # as the UI shows it
    assert fresh.get("/api/v1/logs/of", task_id="deadbeef") == fresh.get("/api/v1/logs/of", task_id=ids[0])
    assert keys(fresh.get("/api/v1/tasks", parent_task_id="deadbeef")["items"]) == [(child, 0)]
    error = fresh.error(fresh.client.get("/api/v1/tasks/deadbe"), 400)
    assert "2 tasks" in error["message"]
    assert all(
        f"{task_id} ({name})" in error["remedy"] for task_id, name in zip(ids, ("one", "two"), strict=True)
    )
    fresh.error(fresh.client.get("/api/v1/tasks/beef"), 404)
    for wrong in ("dea", "deadbeefs", "0" * 49, "%25"):
        fresh.error(fresh.client.get(f"/api/v1/tasks/{wrong}"), 400)
