"""Origins of the code in the views, for known executions, over HTTP."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, Story, at
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.model import Entity
from rayscope.model.attempt import TaskError
from rayscope.model.origin import origin
from rayscope.storage.sql.origins import operator_of, origin_of

MODULES = {
    "clean": "__main__",
    "load": "ray.dag._internal.planner",
    "split": "ray.dag._internal.planner",
    "Pool.run": "ray.util.multiprocessing",
    "Pool.__init__": "",
    "lost": "",
}
DATA = {"library": "ray.dag", "functions": 2, "attempts": 4}
POOL = {"library": "ray.util", "functions": 2, "attempts": 2}


@pytest.mark.parametrize(
    ("module", "whose"),
    [
        ("", None),
        ("__main__", "user"),
        ("train.steps", "user"),
        ("rayleigh", "user"),
        ("test.unit", "user"),
        ("ray", "ray"),
        ("ray._private.workers", "ray"),
        ("ray.data._internal.map", "ray.data"),
        ("vllm.engine", "vllm"),
        ("statistics", "statistics"),
    ],
)
def test_a_module_has_the_same_origin_in_python_and_in_sql(module: str, whose: str | None) -> None:
    assert origin(module) == whose
    assert duckdb.execute(f"SELECT {origin_of('m')} FROM (SELECT ? AS m)", [module]).fetchone() == (whose,)


@pytest.mark.parametrize(
    ("func", "module", "operator"),
    [
        ("parse", "__main__", None),
        (
            "Data: MapBatches(parse)",
            "ray.data._internal.execution.operators.map_operator",
            "Data: MapBatches(parse)",
        ),
        ("Data: reduce", "ray.data._internal.planner.exchange.shuffle_task_spec", "Data: shuffle"),
        ("MapWorker(Map(a.b)).submit", "ray.data._internal.execution.operators.actor_pool", "Data: Map(a.b)"),
        ("FooterReader.__init__", "ray.data._internal.datasource_v2.formats", "Data: internals"),
        (
            "ServeReplica:shop:Model.handle_request_streaming",
            "ray.serve._private.replica",
            "Serve: shop/Model",
        ),
        (
            "ServeReplica:shop:Model.get_num_ongoing_requests",
            "ray.serve._private.replica",
            "Serve: internals",
        ),
        ("RayTrainWorker.poll_status", "ray.train.v2._internal.execution", "Train: workers"),
        ("TrainController.run", "ray.train.v2._internal.execution", "Train: internals"),
        ("ImplicitFunc.train", "ray.tune.trainable.function_trainable", "Tune: trials"),
        ("SingleAgentEnvRunner.apply", "ray.rllib.env.single_agent_env_runner", "RLlib: env runners"),
        ("_WrappedExecutable.apply", "ray.train._internal.worker_group", "RLlib: learners"),
        ("PPO.train", "ray.rllib.algorithms.ppo.ppo", "RLlib: algorithms"),
        ("Proxy.get", "ray.rllib.utils.actors", "RLlib: internals"),
        ("PoolActor.run_batch", "ray.util.multiprocessing", "ray.util"),
        ("lost", "", None),
    ],
)
def test_a_librarys_function_has_an_operator(func: str, module: str, operator: str | None) -> None:
    found = duckdb.execute(f"SELECT {operator_of('f', 'm')} FROM (SELECT ? AS f, ? AS m)", [func, module])
    assert found.fetchone() == (operator,)


def _stopped() -> Story:
    """Four failures: two calls that Ray Serve cancelled, one that the user did, and an unwanted loss."""
    story = Story()
    driver = Entity("job", JOB, {"entrypoint": "python app.py"}, {(at(0), "RUNNING"): {}})
    story.batch.entities.append(driver)
    for name, module, error in (
        ("get_num_ongoing_requests", "ray.serve._private.replica", "TASK_CANCELLED"),
        ("handle_request", "ray.serve._private.replica", "TASK_CANCELLED"),
        ("check", "app", "TASK_CANCELLED"),
        ("get_num_ongoing_requests", "ray.serve._private.replica", "ACTOR_DIED"),
    ):
        story.task(f"ServeReplica:shop:Model.{name}", 0, 5, 9, failed=True, actor="1" * 24)
        story.batch.attempts[-1].module_name = module
        story.batch.attempts[-1].error = TaskError(at(9), error, "It was cancelled.")
    return story


def test_tasks_of_dask_are_called_after_the_function_in_their_key(fresh: Running) -> None:
    digest = "8d3c3a7f0e1b4c5d9a6b7c8d9e0f1a2b"
    keys = {
        f"load-{digest}": "load",
        "load-0a3c3a7f-12ab-4bcd-8123-abcdefabcdef": "load",
        f"('read-csv-{digest}', 3)": "read-csv",
        f"('sum-chunk-{digest}', 0, 1)": "sum-chunk",
        "total": "total",
    }
    story = Story()
    for key in [*keys, "7"]:
        story.task("dask_task_wrapper", 0, 1, 2)
        attempt = story.batch.attempts[-1]
        attempt.name, attempt.module_name = f"dask:{key}", "ray.util.dask.scheduler"
    fresh.record(story)
    functions = {one["func_name"]: one for one in fresh.get("/api/v1/functions")["items"]}
    assert {name: one["attempts"] for name, one in functions.items()} == {
        "Dask: load": 2,
        "Dask: read-csv": 1,
        "Dask: sum-chunk": 1,
        "Dask: total": 1,
        "dask_task_wrapper": 1,  # a key without a name
    }
    assert functions["Dask: load"]["operator"] == "Dask: load"
    assert fresh.get("/api/v1/tasks", func_name="Dask: load")["total"] == 2
    # They run the user's code.
    mine = {one["func_name"] for one in fresh.get("/api/v1/functions", only="mine")["items"]}
    assert mine == set(functions) - {"dask_task_wrapper"}


def test_tasks_that_a_library_stops_itself_are_no_failures(fresh: Running) -> None:
    fresh.record(_stopped())
    whole = fresh.get("/api/v1/failures", stopped=True)
    left = fresh.get("/api/v1/failures")
    assert (whole["stopped_by_libraries"], left["stopped_by_libraries"]) == (2, 2)
    # No actor of the last one is known to have been ended on purpose.
    assert sum(group["attempts"] for group in whole["items"]) == 4
    assert sum(group["attempts"] for group in left["items"]) == 2
    assert fresh.get("/api/v1/summary")["stopped_by_libraries"] == 2
    # Ray's own states keep it.
    functions = {row["func_name"]: row for row in fresh.get("/api/v1/functions")["items"]}
    stopped = "ServeReplica:shop:Model.get_num_ongoing_requests"
    assert {name: (row["failed"], row["stopped_by_libraries"]) for name, row in functions.items()} == {
        stopped: (2, 1),
        "ServeReplica:shop:Model.handle_request": (1, 1),
        "ServeReplica:shop:Model.check": (1, 0),
    }
    only = fresh.get("/api/v1/functions", state="FAILED", func_name=stopped)["items"]
    assert [(row["failed"], row["stopped_by_libraries"]) for row in only] == [(2, 1)]
    progress = fresh.get(f"/api/v1/jobs/{JOB}/progress")
    assert (progress["states"], progress["stopped_by_libraries"]) == ({"FAILED": 4}, 2)
    assert {row["func_name"]: row["stopped_by_libraries"] for row in progress["functions"]}[stopped] == 1
    assert progress["rest"]["stopped_by_libraries"] == 0
    (job,) = fresh.get("/api/v1/jobs")["items"]
    assert (job["tasks"], job["stopped_by_libraries"]) == ({"FAILED": 4}, 2)


def test_the_command_line_counts_no_failures_that_are_none(fresh: Running) -> None:
    fresh.record(_stopped())
    for command, row in (
        ("jobs", "4/4, 2 failed"),
        ("functions", r"get_num_ongoing_requests +2 +1 "),
        ("sessions", r" 4 +2 "),
    ):
        shown = CliRunner().invoke(app, [command, "--server", fresh.server.url], env={"COLUMNS": "200"})
        assert re.search(row, shown.stdout), shown.output


def _story() -> Story:
    """The driver calls load, which calls split twice, which calls clean each; and a pool, clean, and lost."""
    story = Story()
    load = story.task("load", 0, 10, 100)
    for begin in (20, 40):
        split = story.task("split", begin, begin + 5, begin + 15, parent=load)
        story.task("clean", begin + 6, begin + 8, begin + 12, parent=split)
    story.task("Pool.__init__", 0, 5, 10, actor="1" * 24)
    story.task("Pool.run", 10, 20, 30, actor="1" * 24)
    clean = story.task("clean", 100, 110, 130)
    story.task("load", 111, 112, 120, parent=clean)
    story.task("lost", 100, 110, 120)
    for attempt in story.batch.attempts:
        attempt.module_name = MODULES[attempt.func_name or ""] or None
    return story


def test_functions_have_an_origin_and_those_of_libraries_can_be_left_out(fresh: Running) -> None:
    fresh.record(_story())
    answer = fresh.get("/api/v1/functions")
    assert answer["hidden"] == []
    assert {row["func_name"]: row["origin"] for row in answer["items"]} == {
        "clean": "user",
        "load": "ray.dag",
        "split": "ray.dag",
        # Its module is not known, but that of its class's other method is.
        "Pool.__init__": "ray.util",
        "Pool.run": "ray.util",
        "lost": None,
    }
    mine = fresh.get("/api/v1/functions", only="mine")
    assert {row["func_name"]: row["attempts"] for row in mine["items"]} == {"clean": 3, "lost": 1}
    assert mine["hidden"] == [DATA, POOL]
    # Other filters apply to what is hidden, too.
    assert fresh.get("/api/v1/functions", only="mine", func_name="Pool.run")["hidden"] == [
        {"library": "ray.util", "functions": 1, "attempts": 1}
    ]
    assert {row["func_name"] for row in fresh.get("/api/v1/tasks", only="mine")["items"]} == {"clean", "lost"}
    fresh.error(fresh.client.get("/api/v1/functions", params={"only": "yours"}), 422)


def test_a_users_function_is_told_apart_from_a_librarys_of_the_same_name(fresh: Running) -> None:
    story = Story()
    story.task("load", 0, 10, 20)
    story.task("load", 0, 10, 20)
    story.batch.attempts[0].module_name, story.batch.attempts[1].module_name = "ray.dag", "train"
    fresh.record(story)
    answer = fresh.get("/api/v1/functions", only="mine")
    assert [(row["func_name"], row["origin"], row["attempts"]) for row in answer["items"]] == [
        ("train.load", "user", 1)
    ]


def test_where_no_module_is_known_nothing_is_a_librarys(fresh: Running) -> None:
    story = Story()
    story.task("load", 0, 10, 20)
    fresh.record(story)
    for only in (None, "mine"):
        answer = fresh.get("/api/v1/functions", **({} if only is None else {"only": only}))
        assert [(row["func_name"], row["origin"]) for row in answer["items"]] == [("load", None)]
        assert answer["hidden"] == []


def test_the_gantt_chart_hides_libraries_and_says_so(fresh: Running) -> None:
    fresh.record(_story())
    whole = fresh.get("/api/v1/flow/gantt")
    assert (whole["attempts"], whole["hidden"]) == (10, [])
    mine = fresh.get("/api/v1/flow/gantt", only="mine", by="function")
    assert {lane["id"]: lane["attempts"] for lane in mine["lanes"]} == {"clean": 3, "lost": 1}
    assert mine["attempts"] == mine["in_window"] == 4
    assert mine["hidden"] == [DATA, POOL]


def _flame(fresh: Running, **params: Any) -> tuple[dict[str, Any], dict[tuple[str, ...], dict[str, Any]]]:
    found = fresh.get("/api/v1/flow/flame", weight="count", **params)
    paths: dict[str, tuple[str, ...]] = {}
    for frame in found["frames"]:
        above = paths.get(frame["parent"] or "")
        paths[frame["id"]] = () if above is None else (*above, frame["name"])
    return found, {paths[frame["id"]]: frame for frame in found["frames"]}


def test_the_flame_graph_folds_a_librarys_calls_that_follow_each_other(fresh: Running) -> None:
    fresh.record(_story())
    whole, _ = _flame(fresh)
    assert whole["libraries"] == []
    assert {frame["kind"] for frame in whole["frames"]} == {"driver", "call"}
    folded, frames = _flame(fresh, only="mine")
    assert {path: (frame["kind"], frame["own"], frame["value"]) for path, frame in frames.items()} == {
        (): ("driver", 0, 10),
        ("ray.dag",): ("library", 3, 5),
        # The calls from both calls of split are one call of the library.
        ("ray.dag", "clean"): ("call", 2, 2),
        ("ray.util",): ("library", 2, 2),
        ("clean",): ("call", 1, 2),
        ("clean", "ray.dag"): ("library", 1, 1),
        ("lost",): ("call", 1, 1),
    }
    assert (folded["total"], folded["attempts"]) == (whole["total"], whole["attempts"])
    assert folded["libraries"] == [
        {"library": "ray.dag", "functions": 2},
        {"library": "ray.util", "functions": 2},
    ]
    # A link to a frame that is folded leads to the frame that contains it.
    split = next(frame["id"] for frame in whole["frames"] if frame["name"] == "split")
    focused, _ = _flame(fresh, only="mine", focus=split)
    assert focused["focus"] == frames[("ray.dag",)]["id"]
    around = fresh.get("/api/v1/flow/flame", weight="count", only="mine", of="ray.dag")
    assert (around["total"], around["attempts"]) == (10, 4)
    assert {frame["name"] for frame in around["callees"]["frames"]} == {"ray.dag", "clean"}


def test_calls_whose_path_is_not_known_are_folded_by_library(fresh: Running) -> None:
    story = Story()
    for name in ("load", "split", "clean"):
        story.task(name, 0, 10, 20, parent="9" * 48)
        story.batch.attempts[-1].module_name = MODULES[name]
    fresh.record(story)
    _, frames = _flame(fresh, only="mine")
    assert {path: (frame["kind"], frame["own"]) for path, frame in frames.items()} == {
        (): ("driver", 0),
        (None,): ("unknown", 0),
        (None, "ray.dag"): ("library", 2),
        (None, "clean"): ("call", 1),
    }


def test_a_job_is_compared_with_libraries_folded_in_both(fresh: Running) -> None:
    story = Story()
    other = "02000000"
    story.task("load", 0, 10, 20)
    for _ in range(3):
        story.task("split", 0, 10, 20, parent=DRIVER[:-8] + other, job=other)
    for attempt in story.batch.attempts:
        attempt.module_name = "ray.dag"
    fresh.record(story)
    _, frames = _flame(fresh, only="mine", job_id="01000000", baseline_job_id=other)
    library = frames[("ray.dag",)]
    assert (library["value"], library["baseline_value"]) == (1, 3)


def _logical(fresh: Running, **params: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    answer = fresh.get("/api/v1/flow/logical", **params)
    return answer, {node["id"]: node for node in answer["nodes"]}


def test_the_logical_graph_has_a_node_for_each_library_which_unfolds(fresh: Running) -> None:
    fresh.record(_story())
    whole, nodes = _logical(fresh)
    assert whole["libraries"] == []
    assert not any(node["library"] for node in nodes.values())
    folded, nodes = _logical(fresh, only="mine")
    assert nodes.keys() == {"driver:01000000", "l:ray.dag", "l:ray.util", "f:clean", "f:lost"}
    data = nodes["l:ray.dag"]
    assert (data["kind"], data["name"], data["library"], data["attempts"]) == (
        "library",
        "ray.dag",
        "ray.dag",
        4,
    )
    assert {(call["source"], call["target"]): call["attempts"] for call in folded["calls"]} == {
        ("driver:01000000", "l:ray.dag"): 1,
        ("l:ray.dag", "l:ray.dag"): 2,
        ("l:ray.dag", "f:clean"): 2,
        ("driver:01000000", "l:ray.util"): 2,
        ("driver:01000000", "f:clean"): 1,
        ("f:clean", "l:ray.dag"): 1,
        ("driver:01000000", "f:lost"): 1,
    }
    assert folded["attempts"] == whole["attempts"] == 10
    assert folded["libraries"] == [
        {"library": "ray.dag", "functions": 2, "is_folded": True},
        {"library": "ray.util", "functions": 2, "is_folded": True},
    ]
    unfolded, nodes = _logical(fresh, only="mine", unfold=["ray.util"])
    assert {"c:Pool", "m:Pool.run", "m:Pool.__init__", "l:ray.dag"} < nodes.keys()
    assert "l:ray.util" not in nodes
    assert nodes["c:Pool"]["library"] == "ray.util"
    assert [row["is_folded"] for row in unfolded["libraries"]] == [True, False]
