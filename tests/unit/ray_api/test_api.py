"""Ray's HTTP API about a recorded sample. The integration test compares it with Ray's own answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.datastructures import QueryParams
from tests.running import Running
from tests.story import JOB, SESSION, Story, at
from tests.waiting import wait_until

from rayscope.cluster.logs import files
from rayscope.model import Drop
from rayscope.ray.versions import NEWEST_TESTED, numbers
from rayscope.ray_api import lists, logs
from rayscope.ray_api.lists import parse_list
from rayscope.server.runner import Server

TASKS = f"/ray/{SESSION}/api/v0/tasks"


def rows(running: Running, path: str, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = running.get(path, **params)["data"]["result"]["result"]
    return found


def record_tasks(running: Running, number: int = 3) -> Story:
    story = Story()
    for place in range(number):
        story.task("work", place, place + 1, place + 2)
    running.record(story)
    return story


def test_any_name_of_a_session_will_do(running: Running) -> None:
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    paths = [f"/ray/{name}/api/v0/tasks" for name in (session, session.removeprefix("session_")[:12])]
    first, second, root = (rows(running, path) for path in [*paths, "/api/v0/tasks"])
    assert first == second == root != []
    assert running.get(f"/ray/{session}/api/version")["session_name"] == session
    assert running.get("/api/version")["ray_version"] == NEWEST_TESTED  # the sample does not say


def test_the_root_names_the_live_sessions_to_choose_from(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert running.server.services is not None
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    monkeypatch.setattr(running.server.services.records, "live_here", lambda: [session, "other"])
    answer = running.client.get("/api/v0/tasks")
    assert answer.status_code == 400
    for name in (session, "other"):
        assert f"{running.server.url}/ray/{name}" in answer.json()["msg"]
    assert "2 clusters are live" in running.client.get("/api/jobs/").text
    refused = running.client.post("/api/jobs/")
    assert refused.status_code == 405
    for name in (session, "other"):
        assert f"{running.server.url}/ray/{name}" in refused.text
    # Ray's client asks for this first, and shows no error's text.
    assert running.get("/api/version")["session_name"] == session
    assert rows(running, f"/ray/{session}/api/v0/tasks")


@pytest.mark.parametrize(
    ("version", "has_fallback", "has_topology"),
    [("2.50.1", 0, 0), ("2.55.0", 1, 0), ("2.60.0", 1, 1), (None, 1, 1)],
)
def test_the_fields_are_those_of_the_sessions_ray(
    running: Running,
    monkeypatch: pytest.MonkeyPatch,
    version: str | None,
    has_fallback: bool,
    has_topology: bool,
) -> None:
    assert running.server.services is not None
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    about = running.server.services.catalog.about(session)
    monkeypatch.setattr(about, "ray_version", version)
    (task,) = rows(running, "/api/v0/tasks", detail=True, limit=1)
    assert ("fallback_strategy" in task) == has_fallback
    asked = parse_list(QueryParams("detail=true"), "placement_groups", numbers(version))
    assert ("topology_strategy" in [field.name for field in asked.fields]) == has_topology


def test_long_lists_are_sent_in_pieces(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    record_tasks(fresh, 30)
    short = rows(fresh, TASKS, limit=100)
    assert len(short) == 30
    monkeypatch.setattr(lists, "_ROWS_PER_QUERY", 7)
    monkeypatch.setattr(lists, "_ROWS_PER_PIECE", 3)
    assert rows(fresh, TASKS, limit=10**9) == rows(fresh, TASKS, limit=100) == short
    assert [row["task_id"] for row in short] == sorted(row["task_id"] for row in short)
    assert rows(fresh, TASKS, limit=10**9, detail=True) == rows(fresh, TASKS, limit=100, detail=True)
    assert rows(fresh, TASKS, limit=5) == short[:5]
    assert rows(fresh, TASKS, limit=0) == []


@pytest.mark.parametrize("limit", [100, 10**9])
@pytest.mark.parametrize(
    ("name", "message"), [("MAX_ROWS", "at most 5 rows"), ("_MAX_BYTES", "more than 5 bytes")]
)
def test_lists_have_bounds(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, limit: int, name: str, message: str
) -> None:
    record_tasks(fresh, 8)
    monkeypatch.setattr(lists, name, 5)
    answer = fresh.client.get(TASKS, params={"limit": limit})
    assert answer.status_code == 400
    assert answer.json()["result"] is False
    assert message in answer.json()["msg"]


@pytest.mark.parametrize("limit", ["1_0", " 10", "+10", "1" * 31, "", "٣"])
def test_odd_numbers_are_refused(fresh: Running, limit: str) -> None:
    record_tasks(fresh)
    assert fresh.client.get(TASKS, params={"limit": limit}).status_code == 400


def test_summaries_have_bounds(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story = record_tasks(fresh)
    monkeypatch.setattr(lists, "_MAX_GROUPS", 1)
    assert fresh.client.get(f"{TASKS}/summarize").status_code == 200
    story.task("other", 0, 1, 2)
    fresh.record(story)
    answer = fresh.client.get(f"{TASKS}/summarize?limit=10")
    assert answer.status_code == 400
    assert "at most 1 groups" in answer.json()["msg"]


def test_events_are_filtered_like_other_lists(fresh: Running) -> None:
    story = Story()
    story.entity("node", "c" * 56, 0)
    for place in range(4):
        story.task(f"fails_{place}", place, place + 1, place + 2, failed=True)
    fresh.record(story)
    path = TASKS.replace("tasks", "cluster_events")
    events = rows(fresh, path)
    errors = [event for event in events if event["severity"] == "ERROR"]
    assert len(errors) == 4 < len(events)
    assert [event["time"] for event in events] == sorted((event["time"] for event in events), reverse=True)

    def filtered(key: str, predicate: str, value: str) -> list[dict[str, Any]]:
        return rows(fresh, path, filter_keys=key, filter_predicates=predicate, filter_values=value)

    assert filtered("severity", "=", "error") == filtered("source_type", "=", "TASK") == errors
    assert filtered("severity", "!=", "ERROR") == [event for event in events if event not in errors]
    answer = fresh.get(path, filter_keys="severity", filter_predicates="=", filter_values="ERROR", limit=3)
    counts = [answer["data"]["result"][name] for name in ("total", "num_filtered")]
    assert counts == [len(events), 4]
    refused = {"filter_keys": "message", "filter_predicates": "=", "filter_values": "x"}
    assert fresh.client.get(path, params=refused).status_code == 400


def test_jobs_are_found_by_their_exact_id(fresh: Running) -> None:
    story = Story()
    for place, name in enumerate(("Nightly", "nightly", "NIGHTLY")):
        story.entity("job", f"0{place + 1}000000", 0, 5, submission_id=name, type="SUBMISSION")
    fresh.record(story)
    for name in ("Nightly", "nightly", "NIGHTLY"):
        assert fresh.get(f"/ray/{SESSION}/api/jobs/{name}")["submission_id"] == name
    assert fresh.client.get(f"/ray/{SESSION}/api/jobs/nightLY").status_code == 404
    assert fresh.get(f"/ray/{SESSION}/api/jobs/nightly/logs") == {"logs": ""}  # no driver yet


def test_logs_are_sent_in_pieces(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    node, worker = "c" * 56, "b" * 56
    name = f"worker-{worker}-{JOB}-100.out"
    story.entity("node", node, 0, 5)
    story.entity("worker", worker, 0, 5, node_id=node, pid=100)
    story.entity("job", JOB, 0, 5, submission_id="sub", driver_node_id=node, type="SUBMISSION")
    task_id = story.task("f", 0, 1, 2, node=node, worker=worker)
    fresh.record(story)
    assert fresh.server.services is not None
    store = fresh.server.services.logs.store(SESSION, make=True)
    assert store is not None
    text = "".join(f"\x1b[31m{place} 个\x1b[0m\n" for place in range(200)) + "no end"
    for piece in (".2", ".1"):
        store.append(node, f"{name}{piece}", 0, f"rotated {piece}\n".encode(), 1)
    for file in (name, "job-driver-sub.log"):
        store.append(node, file, 0, text.encode(), 1)
    monkeypatch.setattr(files, "_PIECE_BYTES", 10)
    monkeypatch.setattr(logs, "_CHUNK_BYTES", 10)

    def read(**params: Any) -> str:
        answer = fresh.client.get(TASKS.replace("tasks", "logs/file"), params=params)
        assert answer.status_code == 200
        return answer.text

    lines = text.splitlines(keepends=True)
    for asked in ({"task_id": task_id}, {"pid": 100, "node_id": node}, {"submission_id": "sub"}):
        assert read(**asked, lines=-1) == read(**asked) == text
    for number in (0, 1, 2, 150):
        assert read(task_id=task_id, lines=number) == "".join(lines[len(lines) - number :])
    assert fresh.get(f"/ray/{SESSION}/api/jobs/sub/logs") == {"logs": text}
    monkeypatch.setattr(logs, "_MAX_SEARCHED_BYTES", 6)
    assert read(task_id=task_id) == f"[rayscope: {len(text.encode()) - 6} bytes left out]\nno end"
    assert read(task_id=task_id, lines=-1) == text


def test_colors_are_removed_on_request(fresh: Running) -> None:
    node = "c" * 56
    story = Story()
    story.entity("node", node, 0, 5)
    fresh.record(story)
    assert fresh.server.services is not None
    store = fresh.server.services.logs.store(SESSION, make=True)
    assert store is not None
    store.append(node, "raylet.out", 0, b"\x1b[31mred\x1b[0m\n", 1)
    params = {"node_id": node, "filename": "raylet.out", "filter_ansi_code": True}
    assert fresh.client.get(TASKS.replace("tasks", "logs/file"), params=params).text == "red\n"


def test_lost_events_are_a_partial_failure(fresh: Running) -> None:
    story = record_tasks(fresh)
    assert fresh.get(TASKS)["data"]["result"]["partial_failure_warning"] == ""
    story.batch.drops.append(Drop("node", "buffer_full", 7, at(5)))
    fresh.record(story)

    def warning() -> str:
        text: str = fresh.get(TASKS)["data"]["result"]["partial_failure_warning"]
        return text

    text = wait_until(warning, "a new count of losses")
    assert text == "Task events dropped: 7. Recovered from the GCS: 0."
    assert fresh.get(TASKS.replace("tasks", "nodes"))["data"]["result"]["partial_failure_warning"] == ""


def test_attempts_without_a_definition_are_left_out(fresh: Running) -> None:
    story = Story()
    story.task("known", 0, 1, 2)
    story.task("unknown", 0, 1, 2)
    story.batch.attempts[1].name = story.batch.attempts[1].func_name = None
    fresh.record(story)
    assert [row["name"] for row in rows(fresh, TASKS)] == ["known"]
    summary = fresh.get(f"{TASKS}/summarize")["data"]["result"]
    assert (summary["total"], summary["num_filtered"]) == (1, 1)
    assert summary["result"]["node_id_to_summary"]["cluster"]["total_tasks"] == 1


def test_objects_that_were_never_read_are_a_partial_failure(running: Running) -> None:
    result = running.get("/api/v0/objects")["data"]["result"]
    assert result["result"] == []
    assert "did not read the objects" in result["partial_failure_warning"]


@pytest.mark.parametrize(
    "resource",
    [
        "tasks",
        "actors",
        "nodes",
        "workers",
        "jobs",
        "placement_groups",
        "objects",
        "runtime_envs",
        "cluster_events",
    ],
)
def test_every_list_is_answered_with_nothing_on_record(fresh: Running, resource: str) -> None:
    assert fresh.client.get(f"/api/v0/{resource}").status_code == 404
    record_tasks(fresh)
    for detail in (False, True):
        assert isinstance(rows(fresh, f"/ray/{SESSION}/api/v0/{resource}", detail=detail), list)


def test_a_proxys_path_comes_first(serve: Callable[..., Server], fresh: Running) -> None:
    record_tasks(fresh)
    fresh.server.stop()
    behind = serve(fresh.folder, root_path="/scope")
    for address in (behind.url, behind.url.removesuffix("/scope")):
        answer = fresh.client.get(f"{address}{TASKS}")
        assert len(answer.json()["data"]["result"]["result"]) == 3


def test_other_sites_and_strangers_are_refused(serve: Callable[..., Server], fresh: Running) -> None:
    record_tasks(fresh)
    assert fresh.client.get(TASKS, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert fresh.client.get(TASKS, headers={"Origin": "https://elsewhere.example"}).status_code == 403
    fresh.server.stop()
    guarded = serve(fresh.folder, token="t" * 32)
    for path in (TASKS, f"/ray/{SESSION}/api/version", "/api/v0/tasks", "/api/jobs/", "/api/version"):
        assert fresh.client.get(f"{guarded.url}{path}").status_code == 401
        headers = {"Authorization": f"Bearer {'t' * 32}"}
        assert fresh.client.get(f"{guarded.url}{path}", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        f"/ray/{SESSION}/api/jobs/",
        f"/ray/{SESSION}/api/jobs/a/stop",
        "/api/jobs/",
        "/api/jobs/a",
        "/api/packages/gcs/a.zip",
    ],
)
def test_nothing_can_be_changed(fresh: Running, method: str, path: str) -> None:
    record_tasks(fresh)
    answer = fresh.client.request(method, path)
    assert answer.status_code == 405
    assert "Rayscope only reads" in answer.text


def test_paths_that_are_not_answered_say_so(fresh: Running) -> None:
    record_tasks(fresh)
    answer = fresh.client.get(f"/ray/{SESSION}/api/v0/workers/summarize")
    assert answer.status_code == 404
    assert "does not answer this part" in answer.json()["msg"]
    for path in ("worker/traceback?pid=1", "memory_profile?pid=1", "test/dump"):
        answer = fresh.client.get(f"/ray/{SESSION}/{path}")
        assert answer.status_code == 404
        assert "does not answer this part" in answer.text
    assert fresh.client.get(f"/ray/{SESSION}/nodes?view=x").status_code == 400


def lineage(running: Running, **params: Any) -> tuple[int, list[dict[str, Any]]]:
    result = running.get(f"{TASKS}/summarize", summary_by="lineage", **params)["data"]["result"]
    tree: list[dict[str, Any]] = result["result"]["node_id_to_summary"]["cluster"]["summary"]
    return result["num_filtered"], tree


def count(nodes: list[dict[str, Any]]) -> int:
    return sum(sum(node["state_counts"].values()) for node in nodes)


def test_large_trees_of_tasks_are_cut_but_count_all(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    for place in range(600):
        story.task(f"work {place}", place, place + 1, place + 2)
        story.task("same", place, place + 1, place + 2)
    caller = story.task("deep", 0, 1, 2)
    for place in range(99):
        caller = story.task("deep", place, place + 1, place + 2, parent=caller)
    fresh.record(story)
    total, tree = lineage(fresh)
    assert total == count(tree) == 1300
    assert tree[-1]["name"] == "102 more"
    assert len(next(node for node in tree if node["name"] == "same")["children"]) == 501
    depth, nodes = 0, [node for node in tree if node["name"] == "deep"]
    while nodes:
        depth, nodes = depth + 1, nodes[0]["children"]
    assert depth == 40
    monkeypatch.setattr("rayscope.ray_api.lineage.MAX_ATTEMPTS", 1000)
    total, tree = lineage(fresh, limit=1)
    assert total == count(tree) == 1300
    assert next(node for node in tree if node["name"] == "same")["children"] == []
