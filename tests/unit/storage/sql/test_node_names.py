"""An attempt has the same name in every view."""

from __future__ import annotations

from typing import Any

from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at

from rayscope.model import Entity


def _restarted() -> Story:
    """An actor that was restarted at 100: the attempt that restarts it has no definition."""
    story = Story()
    actor = "1" * 24
    store = story.task("Store.__init__", 100, 110, 150, actor=actor)
    story.get(DRIVER, store, 101, 150)
    made = story.batch.attempts[-1]
    made.name = made.func_name = made.parent_task_id = None
    story.batch.entities.append(Entity("actor", made.actor_id or "", {"class_name": "Store"}))
    return story


def test_restarts_of_actors_have_their_name_in_all_views(fresh: Running) -> None:
    fresh.record(_restarted())

    def get_view(view: str, **params: Any) -> Any:
        return fresh.get(f"/api/v1/flow/{view}", **params)

    name = "Store.__init__"
    assert get_view("gantt")["names"] == [name]
    assert [lane["id"] for lane in get_view("gantt", by="function")["lanes"]] == [name]
    assert name in {frame["name"] for frame in get_view("flame")["frames"]}
    assert name in {share["name"] for share in get_view("critical-path")["functions"]}
    assert name in {node["name"] for node in get_view("stack", at_ns=at(120))["nodes"]}
    assert name in {node["name"] for node in get_view("logical")["nodes"]}
    assert [row["name"] for row in get_view("range")["functions"]] == [name]
    assert [row["name"] for row in get_view("range", func_name=name)["functions"]] == [name]
    assert [task["name"] for task in fresh.get("/api/v1/tasks")["items"]] == [name]


def test_a_function_called_driver_is_no_driver(fresh: Running) -> None:
    story = Story()
    inner = story.task("inner", 20, 30, 90)
    called = story.task("driver", 0, 10, 100)
    story.batch.attempts[-2].parent_task_id = called
    story.get(called, inner, 25, 90)
    story.get(DRIVER, called, 0, 100)
    story.entity("job", JOB, 0, 100)
    fresh.record(story)
    shares = fresh.get("/api/v1/flow/critical-path")["functions"]
    assert {
        (share["name"], share["is_driver"]): share["total_ns"] / MS
        for share in shares
        if share["name"] == "driver"
    } == {
        # 10 ms for a node, 10 ms until it submits `inner`, and 10 ms after that has ended.
        ("driver", False): 30,
    }
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(50))
    assert {(node["name"], node["type"]) for node in stack["nodes"]} == {
        ("driver", "DRIVER_TASK"),
        ("driver", "NORMAL_TASK"),
        ("inner", "NORMAL_TASK"),
    }
    assert [[link["type"] for link in chain] for chain in stack["chains"]] == [
        ["DRIVER_TASK", "NORMAL_TASK", "NORMAL_TASK"]
    ]


def test_tasks_whose_events_are_switched_off_are_counted_by_class(fresh: Running) -> None:
    """They have no row: what got their values and what they waited for names them."""
    story, actor = Story(), "e" * 24
    seen = story.task("seen", 0, 10, 100)
    story.entity("actor", actor + JOB, 0, class_name="Replica")
    quiet = [f"{number:016x}" + actor + JOB for number in range(100, 103)]
    story.get(DRIVER, quiet[:2], 20, 90)
    story.argument(quiet[1], seen, when=20)
    story.span(quiet[2], "load", 20, 30)
    story.argument("c" * 16 + "f" * 24 + JOB, seen, when=20)
    story.span("d" * 40 + JOB, "load", 20, 30)  # of a thread, for which Ray invents an id
    fresh.record(story)
    for path in ("/api/v1/summary", "/api/v1/recording"):
        tracing = fresh.get(path)["tracing"]
        assert tracing["tasks_without_events"] == 4
        assert tracing["without_events"] == [
            {"class_name": "Replica", "tasks": 3},
            {"class_name": None, "tasks": 1},
        ]


def test_an_ambiguous_prefix_of_ids_is_refused_and_a_whole_id_is_not(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    for last in "abc":
        story.entity("node", "12345678" + last * 48, 0)
    fresh.record(story)
    assert "matches several nodes" in fresh.error(fresh.client.get("/api/v1/nodes/12345678"), 400)["message"]
    assert fresh.get("/api/v1/nodes/12345678b")["node_id"] == "12345678" + "b" * 48
    assert fresh.get("/api/v1/nodes", node_id="12345678")["total"] == 3
    assert fresh.get("/api/v1/nodes", node_id="12345678a,12345678c")["total"] == 2
    fresh.error(fresh.client.get("/api/v1/nodes/123"), 404)  # too short to mean one


def test_the_beginning_of_a_job_id_will_do_wherever_a_job_is_asked_for(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    story.entity("job", JOB, 0, 100, entrypoint="python /home/me/train.py")
    fresh.record(story)
    assert fresh.get("/api/v1/tasks", job_id=JOB[:4])["total"] == 1
    assert fresh.get("/api/v1/events", job_id=JOB[:4])["total"] >= 1
    assert fresh.get("/api/v1/flow/critical-path", job_id=JOB[:4])["job_id"] == JOB
    assert len(fresh.get("/api/v1/scheduling", job_id=JOB[:4])["items"]) == 1
    assert fresh.get("/api/v1/logs/of", job_id=JOB[:4])["notes"] == ["driver_terminal", "gone"]
    assert fresh.get("/api/v1/memory", job_id=JOB[:4])["live"] is False


def test_a_driver_is_known_by_its_script_and_a_worker_by_its_functions(fresh: Running) -> None:
    story = Story()
    for when, name in enumerate(("load", "clean", "load", "train", "save")):
        story.task(name, when, when, when + 1)
    story.task("wait", 0, 10, 100)
    story.entity("job", JOB, 0, 100, entrypoint="python /home/me/train.py --epochs 3")
    fresh.record(story)
    (lane,) = fresh.get("/api/v1/flow/gantt")["lanes"]
    assert (lane["functions"], lane["functions_total"]) == (["load", "clean", "train"], 5)
    assert fresh.get("/api/v1/flow/gantt", by="node")["lanes"][0]["functions"] == []
    drivers = [node for node in fresh.get("/api/v1/flow/logical")["nodes"] if node["kind"] == "driver"]
    assert [driver["name"] for driver in drivers] == ["train.py"]
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(50))["nodes"]
    assert [node["name"] for node in stack] == ["train.py", "wait"]


def test_the_quantiles_of_a_function_are_those_of_its_attempts(fresh: Running) -> None:
    story = Story()
    for number in range(1, 101):
        story.task("work", 0, 0, number)
    fresh.record(story)
    (row,) = fresh.get("/api/v1/summary")["functions"]
    assert (row["attempts"], row["max_ns"]) == (100, 100_000_000)
    assert (row["p50_ns"], row["p95_ns"]) == (50_500_000, 95_050_000)
