"""Placement at a time, over the API: numbers of a known execution, and the size of a large one."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from tests.story import DRIVER, JOB, SESSION, Story, at
from tests.waiting import wait_until

from rayscope.cluster.placement import snapshot
from rayscope.cluster.placement import sql as placement_sql
from rayscope.model import Entity

HEAD, SIDE = "1a" * 28, "2b" * 28
WORKER_1 = "c1" * 28
WORKER_2 = "d2" * 28
WORKER_3 = "e3" * 28
DRIVER_WORKER = JOB + "f" * 48
ACTOR = "ab" * 12
GROUP = "9c" * 18
IN_GROUP = f'{{"CPU_group_0_{GROUP}":2,"CPU_group_{GROUP}":2,"bundle_group_{GROUP}":0.001}}'


def _story() -> Story:
    """A head with a driver and a worker; a side node, from 50 to 800, with a worker and an actor in a bundle."""
    story = Story()
    cpus = {"CPU": 4.0, "memory": 8e9, "node:head": 1.0}
    story.entity("node", HEAD, 0, node_name="head", is_head=True, resources_total=json.dumps(cpus))
    story.entity("node", SIDE, 50, 800, node_name="side", resources_total='{"CPU":4.0,"GPU":2.0}')
    story.entity("job", JOB, 0, driver_node_id=HEAD)
    story.entity("worker", DRIVER_WORKER, 0, node_id=HEAD, worker_type="DRIVER", pid=1, job_id=JOB)
    story.entity("worker", WORKER_1, 10, node_id=HEAD, worker_type="WORKER", pid=2)
    story.entity("worker", WORKER_2, 60, node_id=SIDE, worker_type="WORKER", pid=3)
    story.entity("worker", WORKER_3, 60, 600, node_id=SIDE, worker_type="WORKER", pid=4)
    story.entity(
        "actor", ACTOR + JOB, 100, 600, class_name="Model", worker_id=WORKER_3, required_resources=IN_GROUP
    )
    bundles = [{"index": 0, "node_id": SIDE, "resources": {"CPU": 2.0, "GPU": 1.0}}]
    story.batch.entities.append(
        Entity(
            "placement_group",
            GROUP,
            {"name": "train", "job_id": JOB, "created_ns": at(70)},
            {(at(700), "REMOVED"): {}},
            at(90),
            {"state": "CREATED", "bundles": json.dumps(bundles)},
        )
    )
    outer = story.task("outer", 0, 20, 900, node=HEAD, worker=WORKER_1, resources='{"CPU":1.0}')
    inner = story.task("inner", 100, 200, 400, node=SIDE, worker=WORKER_2, resources='{"CPU":1.0,"GPU":1.0}')
    story.get(outer, inner, 300, 450)
    story.get(DRIVER, outer, 310, 900)
    story.task("Model.__init__", 90, 100, 120, node=SIDE, worker=WORKER_3, actor=ACTOR, resources=IN_GROUP)
    steps = [
        story.task("Model.step", 150, 210 + n, 500, node=SIDE, worker=WORKER_3, actor=ACTOR) for n in range(3)
    ]
    story.task("Model.stop", 150, 205, 500, node=SIDE, worker=WORKER_3, actor=ACTOR)
    story.annotate(steps[0], "loss", "0.5", when=220)
    story.annotate(steps[1], "loss", "0.25", when=350)
    later = story.task("later", 400, 460, 470, node=HEAD, worker=WORKER_1)
    for taker, size, when in ((later, 700, 461), (later, 700, 462), (steps[0], 9999, 215)):
        story.fetched(taker, inner, size, when)
    return story


def _placement(fresh: Any, **params: Any) -> Any:
    """The answer about a time, its nodes and bundles as rows."""
    picture = fresh.get("/api/v1/flow/physical", **params)
    amounts = [*picture.pop("amounts"), None]  # -1 is none
    groups = picture.pop("groups")
    for name in ("nodes", "bundles"):
        columns = picture[name]
        picture[name] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for node in picture["nodes"]:
        node.update(total=amounts[node["total"]], used=amounts[node["used"]])
    for bundle in picture["bundles"]:
        group = groups[bundle["group"]]
        bundle.update(
            group=group["placement_group_id"], name=group["name"], resources=amounts[bundle["resources"]]
        )
    return picture


def _workers(answer: Any) -> dict[int, dict[str, Any]]:
    """The workers of an answer by pid, each with what its places stand for."""
    columns = answer["workers"]
    by_pid = {}
    for number, pid in enumerate(columns["pid"]):

        def value(name: str, table: str, at: int = number) -> Any:
            place = columns[name][at] if columns[name] else -1  # no worker has an annotation
            return None if place < 0 else answer[table][place]

        by_pid[pid] = {
            "key": columns["key"][number],
            "node": answer["nodes"][columns["node"][number]]["name"],
            "kind": value("kind", "kinds"),
            "class": value("actor_class", "classes"),
            "state": value("actor_state", "states"),
            "function": value("function", "functions"),
            "running": columns["running"][number],
            "blocked": columns["blocked"][number],
            "reserved": value("reserved", "reserved"),
            "value": value("annotation", "values"),
            "bundle": None if columns["bundle"][number] < 0 else answer["bundles"][columns["bundle"][number]],
        }
    return by_pid


def test_each_worker_is_where_it_was_with_what_it_ran_and_held(fresh: Any) -> None:
    fresh.record(_story())
    picture = _placement(fresh, at_ns=at(250), annotation_name="loss")
    head, side = picture["nodes"]
    assert (head["name"], head["is_head"], head["total"]) == ("head", True, {"CPU": 4.0, "memory": 8e9})
    assert (head["used"], head["workers"], head["running"]) == ({"CPU": 1.0}, 2, 1)
    # The bundle as a whole, not what the actor in it has of it; and the task outside of it.
    assert side["used"] == {"CPU": 3.0, "GPU": 2.0}
    assert (side["workers"], side["actors"], side["running"]) == (2, 1, 5)
    workers = _workers(picture)
    assert set(workers) == {1, 2, 3, 4}
    assert (workers[1]["kind"], workers[1]["node"], workers[1]["running"]) == ("DRIVER", "head", 0)
    assert workers[1]["key"] == DRIVER_WORKER[:16]
    assert (workers[2]["function"], workers[2]["reserved"], workers[2]["blocked"]) == ("outer", {"CPU": 1}, 0)
    assert (workers[3]["function"], workers[3]["reserved"]) == ("inner", {"CPU": 1, "GPU": 1})
    actor = workers[4]
    assert (actor["class"], actor["state"], actor["function"]) == ("Model", "ALIVE", "Model.step")
    assert (actor["running"], actor["reserved"], actor["value"]) == (4, {"CPU": 2}, "0.5")
    assert (actor["bundle"]["name"], actor["bundle"]["index"]) == ("train", 0)
    assert picture["annotations"] == ["loss"]
    assert picture["workers_left_out"] == 0


def test_entities_outside_their_lifetime_are_not_shown(fresh: Any) -> None:
    fresh.record(_story())
    early = _placement(fresh, at_ns=at(40))
    assert [node["name"] for node in early["nodes"]] == ["head"]
    assert set(_workers(early)) == {1, 2}
    made = _placement(fresh, at_ns=at(110))
    assert _workers(made)[4]["state"] == "PENDING_CREATION"
    assert _workers(made)[4]["function"] == "Model.__init__"
    # While a task is blocked Ray has its CPUs back.
    blocked = _placement(fresh, at_ns=at(350), annotation_name="loss")
    assert (_workers(blocked)[2]["blocked"], _workers(blocked)[2]["reserved"]) == (1, {})
    assert blocked["nodes"][0]["used"] == {}
    # The driver is blocked too, but it is no attempt.
    assert (_workers(blocked)[1]["blocked"], blocked["nodes"][0]["blocked"]) == (1, 1)
    assert _workers(_placement(fresh, at_ns=at(305)))[1]["blocked"] == 0
    assert _workers(blocked)[4]["value"] == "0.25"
    late = _placement(fresh, at_ns=at(650))
    assert set(_workers(late)) == {1, 2, 3}
    assert late["nodes"][1]["used"] == {"CPU": 2.0, "GPU": 1.0}
    assert _placement(fresh, at_ns=at(750))["bundles"] == []
    assert [n["name"] for n in _placement(fresh, at_ns=at(850))["nodes"]] == ["head"]


def test_a_bundle_does_not_revive_a_node_that_has_ended(fresh: Any) -> None:
    story = _story()
    (side,) = (one for one in story.batch.entities if one.id == SIDE)
    side.transitions[(at(650), "DEAD")] = {"end_ns": at(650)}
    del side.transitions[(at(800), "DEAD")]
    fresh.record(story)
    picture = _placement(fresh, at_ns=at(640))
    assert [(bundle["name"], bundle["node"]) for bundle in picture["bundles"]] == [("train", 1)]
    picture = _placement(fresh, at_ns=at(660))
    assert [(node["name"], node["is_known"]) for node in picture["nodes"]] == [("head", True)]
    assert (picture["bundles"], picture["bundles_total"]) == ([], 0)
    answer = fresh.client.get("/api/v1/flow/physical/node", params={"on_node": SIDE, "at_ns": at(660)})
    fresh.error(answer, 404)


@pytest.mark.parametrize(
    ("known", "with_method", "last"),
    [
        ({}, False, "PENDING_CREATION"),
        ({}, True, "ALIVE"),
        ({"transitions": {(at(20), "ALIVE"): {}, (at(90), "RESTARTING"): {}}}, False, "PENDING_CREATION"),
        ({"transitions": {(at(20), "ALIVE"): {}, (at(200), "ALIVE"): {}}}, False, "ALIVE"),
        ({"observed_ns": at(200), "observed": {"state": "ALIVE"}}, False, "ALIVE"),
        ({"observed_ns": at(200), "observed": {"state": "RESTARTING"}}, False, "PENDING_CREATION"),
    ],
)
def test_an_actor_that_works_or_is_said_to_live_was_made(
    known: dict[str, Any], with_method: bool, last: str, fresh: Any
) -> None:
    """It was made once from 10 to 20, and again from 100 on, with no reported end."""
    story = Story()
    story.batch.entities.append(Entity("actor", ACTOR + JOB, {"class_name": "Model"}, **known))
    made = story.task("Model.__init__", 0, 10, 20, node=HEAD, worker=WORKER_1, actor=ACTOR)
    story.task("Model.__init__", 20, 100, node=HEAD, worker=WORKER_2, actor=ACTOR, attempt=1, task_id=made)
    if with_method:
        story.task("Model.step", 0, 30, 40, node=HEAD, worker=WORKER_1, actor=ACTOR)
        story.task("Model.step", 0, 200, node=HEAD, worker=WORKER_2, actor=ACTOR)
    fresh.record(story)
    answers = [_placement(fresh, at_ns=at(when)) for when in (199, 250)]
    assert [answer["states"] for answer in answers] == [["PENDING_CREATION"], [last]]


def test_filters_pick_what_counts_as_running_and_bytes_are_those_made_so_far(fresh: Any) -> None:
    story = _story()
    story.batch.attempts[1].returned = (at(390), 700, 900)
    fresh.record(story)
    picture = _placement(fresh, at_ns=at(250), func_name="inner", with_bytes=True)
    assert [(n["running"], n["used"].get("CPU")) for n in picture["nodes"]] == [(0, 1.0), (1, 3.0)]
    assert picture["workers"]["bytes"] == [0, 0, 0, 0]
    picture = _placement(fresh, at_ns=at(395), with_bytes=True)
    assert picture["nodes"][1]["bytes"] == 900


def test_one_node_in_full(fresh: Any) -> None:
    fresh.record(_story())
    picture = fresh.get("/api/v1/flow/physical/node", at_ns=at(250), on_node=SIDE)
    assert picture["node"]["used"] == {"CPU": 3.0, "GPU": 2.0}
    assert picture["end_ns"] == at(800)
    (bundle,) = picture["bundles"]
    assert bundle["resources"] == {"CPU": 2.0, "GPU": 1.0}
    two, three = picture["workers"]
    assert [(a["name"], a["since_ns"]) for a in two["attempts"]] == [("inner", at(200))]
    assert (three["worker_id"], three["actor_id"], three["bundle"]) == (WORKER_3, ACTOR + JOB, 0)
    assert [a["name"] for a in three["attempts"]] == ["Model.stop", "Model.step", "Model.step", "Model.step"]
    answer = fresh.client.get("/api/v1/flow/physical/node", params={"on_node": SIDE, "at_ns": at(900)})
    fresh.error(answer, 404)
    fresh.error(fresh.client.get("/api/v1/flow/physical/node"), 400)


def test_objects_count_once_for_each_node_that_took_them(fresh: Any) -> None:
    fresh.record(_story())
    picture = fresh.get("/api/v1/flow/transfers", until_ns=at(455))
    assert [(p["source"], p["target"], p["objects"], p["bytes"]) for p in picture["pairs"]] == [
        (SIDE, HEAD, 1, 100)
    ]
    picture = fresh.get("/api/v1/flow/transfers", span_ns=545 * 10**6, until_ns=at(1000))
    assert [(p["objects"], p["bytes"]) for p in picture["pairs"]] == [(1, 700)]
    assert (picture["pairs_total"], picture["objects"], picture["bytes"], picture["sampled"]) == (
        1,
        1,
        700,
        1,
    )
    assert fresh.get("/api/v1/flow/transfers", until_ns=at(250))["pairs"] == []
    fresh.error(fresh.client.get("/api/v1/flow/transfers", params={"span_ns": 0}), 422)


def test_values_that_an_attempt_took_stay_where_it_ran(fresh: Any) -> None:
    story = Story()
    story.entity("job", JOB, 0, driver_node_id=SIDE)
    made = story.task("made", 0, 10, 20, node=HEAD, worker=WORKER_1)
    taker = story.task("taker", 20, 30, 60, node=SIDE, worker=WORKER_2, failed=True)
    story.task("taker", 60, 70, 90, node=HEAD, worker=WORKER_1, task_id=taker, attempt=1)
    story.get(taker, made, 35, 40)
    story.get(taker, made, 75, 80, attempt=1)
    other = story.task("other", 0, 10, 20, node=HEAD, worker=WORKER_1)
    back = story.task("back", 20, 30, 60, node=HEAD, worker=WORKER_1, failed=True)
    story.task("back", 60, 70, 90, node=SIDE, worker=WORKER_2, task_id=back, attempt=1)
    story.get(back, other, 35, 40)
    fresh.record(story)
    picture = fresh.get("/api/v1/flow/transfers", until_ns=at(100))
    assert [(p["source"], p["target"], p["objects"], p["bytes"]) for p in picture["pairs"]] == [
        (HEAD, SIDE, 1, 100)
    ]
    driver = Story()
    driver.get(DRIVER, other, 91, 92)
    fresh.record(driver)
    picture = fresh.get("/api/v1/flow/transfers", until_ns=at(110))
    assert [(p["source"], p["target"], p["objects"]) for p in picture["pairs"]] == [(HEAD, SIDE, 2)]


def test_without_any_record_of_nodes_workers_are_those_that_ran(fresh: Any) -> None:
    story = Story()
    story.task("alone", 0, 10, 100)
    fresh.record(story)
    picture = _placement(fresh, at_ns=at(50))
    (node,) = picture["nodes"]
    assert (node["is_known"], node["total"], node["workers"], node["running"]) == (False, None, 1, 1)


def test_a_thousand_nodes_fit(fresh: Any) -> None:
    story = Story()
    for number in range(1000):
        node = f"{number:056x}"[::-1]
        story.entity(
            "node", node, 0, node_name=f"10.0.{number // 250}.{number % 250}", node_ip="10.0.0.1",
            resources_total='{"CPU":16.0,"GPU":8.0,"memory":68719476736.0,"object_store_memory":3e10}',
        )  # fmt: skip
        for slot in range(8):
            worker = f"{number * 8 + slot:056x}"[::-1]
            story.entity("worker", worker, 0, node_id=node, worker_type="WORKER", pid=100_000 + slot)
            story.task(
                f"function_{slot}", 0, 1, 1000, node=node, worker=worker, resources='{"CPU":2.0,"GPU":1.0}'
            )
    fresh.record(story)
    answer = fresh.client.get("/api/v1/flow/physical", params={"at_ns": at(500), "with_bytes": True})
    assert len(answer.content) < 1_000_000
    picture = answer.json()
    assert (picture["nodes_total"], picture["workers_total"], picture["workers_left_out"]) == (1000, 8000, 0)
    assert len(picture["workers"]["key"]) == len(set(picture["workers"]["key"])) == 8000
    assert {picture["amounts"][used]["CPU"] for used in picture["nodes"]["used"]} == {16.0}


def test_the_snapshot_of_now_is_made_once_and_equals_the_single_answers(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(_story())
    fresh.server.services.catalog.about(SESSION).last_ns = time.time_ns()
    queries: list[Any] = []

    def read_placement(*args: Any, **more: Any) -> Any:
        queries.append(more)
        return placement_sql.read_placement(*args, **more)

    monkeypatch.setattr(snapshot, "sql", SimpleNamespace(read_placement=read_placement))
    cells = fresh.get("/api/v1/nodes/cells")
    shared = fresh.get("/api/v1/flow/physical")
    assert len(queries) == 1
    assert cells["at_ns"] == shared["at_ns"]
    # A filter that leaves all of it is asked of the record itself.
    alone = fresh.get("/api/v1/flow/physical", until_ns=2**62)
    assert len(queries) == 1
    assert alone.pop("at_ns") >= shared.pop("at_ns")
    assert alone == shared
    assert shared["nodes"]["name"] == cells["nodes"]["name"] == ["head"]
    for name in ("key", "node", "kind", "pid", "actor_class", "function", "running"):
        assert cells["workers"][name] == shared["workers"][name]
    assert shared["live"]
    assert shared["workers"]["pid"] == [1, 2]


@pytest.mark.parametrize("reported", [True, False], ids=["job reported", "job not reported"])
def test_rays_own_tasks_are_told_apart_and_not_counted(fresh: Any, reported: bool) -> None:
    story = _story()
    own, agent = "09000000", "f4" * 28
    supervisor = "cd" * 12 + own
    # Ray's dashboard is a driver of its own, and each submitted job has an actor of that job.
    driver = {"job_id": own} if reported else {}
    story.entity("job", own, 20, is_internal=True)
    story.entity("worker", own + "f" * 48, 20, node_id=HEAD, worker_type="DRIVER", pid=7, **driver)
    story.entity("worker", agent, 30, node_id=HEAD, worker_type="WORKER", pid=8)
    story.entity(
        "actor",
        supervisor,
        30,
        class_name="JobSupervisor",
        name="_ray_internal_job_actor_raysubmit_1",
        ray_namespace="SUPERVISOR_ACTOR_RAY_NAMESPACE",
        job_id=own,
        worker_id=agent,
        required_resources='{"CPU":1.0}',
    )
    fresh.record(story)

    picture = _placement(fresh, at_ns=at(40))
    head = picture["nodes"][0]
    assert (head["workers"], head["actors"], head["internal"]) == (2, 0, 2)
    assert dict(zip(picture["workers"]["pid"], picture["workers"]["is_internal"], strict=True)) == {
        1: False,
        2: False,
        7: True,
        8: True,
    }
    assert head["used"]["CPU"] == 2.0, "what it reserves is gone for others: outer's CPU and its own"

    cells = fresh.get("/api/v1/nodes/cells")["nodes"]
    assert (cells["workers"][0], cells["internal"][0]) == (2, 2)
    assert sum(fresh.get("/api/v1/nodes/cells")["workers"]["is_internal"]) == 2

    nodes = {node["node_id"]: node["workers"] for node in fresh.get("/api/v1/nodes")["items"]}
    assert nodes[HEAD] == 2
    detail = fresh.get(f"/api/v1/nodes/{HEAD}")
    assert (detail["workers_total"], sum(not one["is_internal"] for one in detail["workers"])) == (4, 2)
    # A collector of metrics may have counted just before the story was on record.
    wait_until(lambda: sum(fresh.get("/api/v1/cluster")["workers"].values()) == 4, "the workers")

    for path, kind, mine, theirs in (("actors", "actor", 1, 1), ("workers", "worker", 4, 2)):
        plain = fresh.get(f"/api/v1/{path}")
        assert (plain["total"], plain["internal_hidden"]) == (mine, theirs)
        whole = fresh.get(f"/api/v1/{path}", internal="true")
        assert (whole["total"], whole["internal_hidden"]) == (mine + theirs, 0)
        marked = {item[f"{kind}_id"] for item in whole["items"] if item["is_internal"]}
        assert marked == ({supervisor} if kind == "actor" else {own + "f" * 48, agent})
        detail = fresh.get(f"/api/v1/{path}/{min(marked)}")
        assert detail["is_internal"] is True
