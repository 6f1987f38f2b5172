"""Calls in flight at a time, over the API: numbers of a known execution."""

from __future__ import annotations

from typing import Any

import pytest
from tests.story import DRIVER, JOB, MS, SESSION, Story, at


def _story() -> Story:
    """The driver waits for two outers, each of which waits for its leaves; and nobody for the loner."""
    story = Story()
    outers = [story.task("outer", 0, 10, 500, worker=f"{n}" * 56) for n in range(2)]
    for number, outer in enumerate(outers):
        leaves = [story.task("leaf", 20, 30, 100 + n, parent=outer) for n in range(3)]
        leaves.append(story.task("leaf", 20, parent=outer, queued=25))
        story.get(outer, leaves, 40 + number, 450)
    story.get(DRIVER, outers, 5, 600)
    story.task("loner", 0, 50, 700)
    early = story.task("early", 0, 1, 20)
    story.task("orphan", 10, 60, 300, parent=early)
    story.task("lost", 10, 60, 300, parent="12" * 24)
    final = story.task("final", 0, None, None)
    story.argument(final, outers[0])
    return story


def _lines(answer: Any) -> list[tuple[Any, ...]]:
    """(depth, name, situation, count, deepest) of each node, in the order of the tree."""
    return [(n["depth"], n["name"], n["situation"], n["count"], n["deepest"]) for n in answer["nodes"]]


def test_like_branches_are_one_and_the_deepest_is_what_the_job_waits_for(fresh: Any) -> None:
    fresh.record(_story())
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(90))
    assert stack["in_flight"] == 14
    assert stack["left_out"] == stack["folded_nodes"] == 0
    assert _lines(stack) == [
        (0, "driver", "blocked", 0, 0),
        (1, "outer", "blocked", 2, 0),
        (2, "leaf", "running", 6, 6),
        (2, "leaf", "queued", 2, 2),
        (1, "early", "ended", 0, 0),
        (2, "orphan", "running", 1, 0),
        # It waits for an outer, but nobody for it.
        (1, "final", "waiting_node", 1, 0),
        (1, "loner", "running", 1, 0),
        (0, "", "unknown", 0, 0),
        (1, "lost", "running", 1, 0),
    ]
    driver, outer, leaf, queued = stack["nodes"][:4]
    assert (outer["oldest_ns"], outer["newest_ns"]) == (at(40), at(41))
    assert (leaf["oldest_ns"], leaf["newest_ns"]) == (at(30), at(30))
    assert driver["oldest_ns"] == at(5)
    assert (queued["oldest_ns"], queued["total"]) == (at(25), 2)
    assert outer["total"] == 10
    assert len(leaf["examples"]) == 5
    assert leaf["examples"][0]["worker_pid"] == 100
    assert [(b["name"], b["count"], b["node"]) for b in driver["blocked_on"]] == [("outer", 2, outer["id"])]
    assert [(b["name"], b["situation"], b["count"]) for b in outer["blocked_on"]] == [
        ("leaf", "running", 6),
        ("leaf", "queued", 2),
    ]
    assert [[(s["name"], s["count"]) for s in chain] for chain in stack["chains"]] == [
        [("driver", 1), ("outer", 2), ("leaf", 6)],
        [("driver", 1), ("outer", 2), ("leaf", 2)],
    ]
    awaited = [n["name"] for n in stack["nodes"] if n["awaited"]]
    assert awaited == ["driver", "outer", "leaf", "leaf"]


def test_calls_behind_a_blocked_event_loop_do_not_run(fresh: Any) -> None:
    """Ray reports them as running. Those of another actor, and those that began before, may do so."""
    story, actor = Story(), "1" * 24
    slow = story.task("slow", 0, 20, worker="c" * 56)
    before = {"actor": actor, "worker": "d" * 56}
    story.task("Api.wait", 0, 10, **before)
    blocking = story.task("Api.blocking", 0, 12, **before)
    for number in range(3):
        story.task("Api.ping", 30, 31 + number, **before)
    story.task("Other.ping", 30, 31, actor="2" * 24, worker="e" * 56)
    story.blocks(blocking, slow, 25)
    loop = story.batch.edges[-1]._replace(kind="blocks_loop", object_task=blocking, object_index=2**32 - 1)
    story.batch.edges.append(loop)
    fresh.record(story)
    nodes = fresh.get("/api/v1/flow/stack", at_ns=at(90))["nodes"]
    assert {(n["name"], n["situation"], n["count"]) for n in nodes if n["count"]} == {
        ("Api.wait", "running", 1),
        ("Api.blocking", "blocked", 1),
        ("Api.ping", "queued", 3),
        ("Other.ping", "running", 1),
        ("slow", "running", 1),
    }


def test_an_attempt_is_where_its_states_say_at_each_time(fresh: Any) -> None:
    story = Story()
    task = story.task("step", 0, 30, 100, queued=20)
    made = story.batch.attempts[-1]
    made.states["PENDING_NODE_ASSIGNMENT"] = at(10)
    made.states["GETTING_AND_PINNING_ARGS"] = at(25)
    story.get(task, "ab" * 24, 50, 60)
    story.task("dead", 0, 5, 70)
    story.blocks(story.task("stuck", 75, 80), story.task("held", 75), 90)
    fresh.record(story)

    def situation(ms: float) -> tuple[str, int] | None:
        nodes = fresh.get("/api/v1/flow/stack", at_ns=at(ms), func_name="step")["nodes"]
        return next(((n["situation"], n["oldest_ns"]) for n in nodes if n["name"] == "step"), None)

    assert [situation(ms) for ms in (5, 15, 22, 27, 40, 50, 60, 99)] == [
        ("waiting_args", at(0)),
        ("waiting_node", at(10)),
        ("queued", at(20)),
        ("fetching", at(25)),
        ("running", at(30)),
        ("blocked", at(50)),
        ("running", at(30)),
        ("running", at(30)),
    ]
    assert situation(100) is None
    later = fresh.get("/api/v1/flow/stack", at_ns=at(95), func_name="stuck")["nodes"]
    stuck = next(n for n in later if n["name"] == "stuck")
    assert (stuck["situation"], stuck["blocked_on"][0]["name"]) == ("blocked", "held")


def test_a_call_whose_worker_was_done_with_it_is_in_flight_no_more(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner reports its end and its name seconds later, but its worker still stores what the other made."""
    story = Story()
    node, worker = "a" * 56, "b" * 56
    story.entity("node", node, 0)
    story.entity("worker", worker, 0, node_id=node, pid=100)
    for name, total_end in (("ended", 35), ("stores", None)):
        story.task(name, 0, 10)
        made = story.batch.attempts[-1]
        made.name = made.func_name = made.type = None if name == "ended" else name
        made.type = "NORMAL_TASK"
        made.phases = {"execute": (at(15), at(30))}
        if total_end is not None:
            made.phases["total"] = (at(10), at(total_end))
    story.task("called", 20, 22, 90, parent=story.batch.attempts[0].task_id)
    fresh.record(story)
    monkeypatch.setattr(fresh.server.services.records, "is_live", lambda _: True)

    def lines(ms: float) -> set[tuple[str, str]]:
        stack = fresh.get("/api/v1/flow/stack", at_ns=at(ms))
        return {(line["name"], line["situation"]) for line in stack["nodes"]} - {("driver", "running")}

    assert lines(34) == {("", "storing"), ("stores", "storing"), ("called", "running")}
    assert lines(50) == {("", "ended"), ("stores", "storing"), ("called", "running")}
    placed = fresh.get("/api/v1/flow/physical", at_ns=at(95))
    assert (placed["functions"], placed["workers"]["running"]) == (["stores"], [1])
    fresh.server.services.catalog.about(SESSION).last_ns = at(95)
    (shown,) = fresh.get("/api/v1/workers")["items"]
    assert [(one["name"], one["situation"]) for one in shown["attempts"]] == [("stores", "storing")]
    assert [node["running"] for node in fresh.get("/api/v1/nodes")["items"]] == [1]
    gantt = fresh.get("/api/v1/flow/gantt", by="function")
    assert {end - at(0) + gantt["origin_ns"] for end in gantt["bars"]["end"]} >= {35 * MS, 90 * MS}
    activity = fresh.get("/api/v1/flow/activity", buckets=19)
    assert (activity["begin_ns"], activity["running"][-1]) == (at(0), 1)


def test_an_argument_that_is_not_made_is_waited_for(fresh: Any) -> None:
    story = Story()
    first = story.task("first", 0, 5, 100)
    for _ in range(3):
        second = story.task("second", 0)
        story.batch.attempts[-1].states = {"PENDING_ARGS_AVAIL": at(0)}
        story.argument(second, first)
    story.get(DRIVER, second, 1, 200)
    fresh.record(story)
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(50))
    assert [[(s["name"], s["count"]) for s in chain] for chain in stack["chains"]] == [
        [("driver", 1), ("second", 3), ("first", 1)]
    ]
    assert {n["name"]: n["deepest"] for n in stack["nodes"]} == {"driver": 0, "second": 0, "first": 1}


def test_nothing_blocks_a_job_whose_driver_runs(fresh: Any) -> None:
    story = _story()
    story.task("Gateway.forever", 0, 1, worker="9" * 56)
    fresh.record(story)
    # The driver has got what it waited for; the rest runs on by itself.
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(650))
    assert {n["name"] for n in stack["nodes"] if n["count"]} >= {"Gateway.forever", "loner", "leaf"}
    assert {(n["deepest"], n["awaited"]) for n in stack["nodes"]} == {(0, False)}


def test_filters_leave_the_callers_in_sight(fresh: Any) -> None:
    fresh.record(_story())
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(90), func_name="orphan")
    assert stack["in_flight"] == 1
    assert [(n["name"], n["count"], n["others"]) for n in stack["nodes"]] == [
        ("driver", 0, 1),
        ("early", 0, 1),
        ("orphan", 1, 0),
    ]
    leaves = fresh.get("/api/v1/flow/stack", at_ns=at(90), func_name="leaf")
    assert leaves["in_flight"] == 8
    assert [(n["name"], n["count"]) for n in leaves["nodes"]][:2] == [("driver", 0), ("outer", 0)]
    assert fresh.get("/api/v1/flow/stack", at_ns=at(90), job_id="77000000")["nodes"] == []
    assert fresh.get("/api/v1/flow/stack", at_ns=at(-1))["in_flight"] == 0


def test_without_a_time_it_is_now_or_when_the_last_was_in_flight(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story()
    story.task("only", 0, 10, 100)
    fresh.record(story)
    live = fresh.get("/api/v1/flow/stack")
    assert live["live"]
    assert live["in_flight"] == 0
    monkeypatch.setattr("rayscope.ingest.clusters.LIVE_NS", 0)
    over = fresh.get("/api/v1/flow/stack")
    assert (over["live"], over["at_ns"], over["in_flight"]) == (False, at(100) - 1, 1)
    assert fresh.get("/api/v1/flow/stack", func_name="none")["at_ns"] is None


def test_activity_is_the_mean_over_each_part(fresh: Any) -> None:
    story = Story()
    story.task("a", 0, 25, 100)
    story.task("b", 50, 50, 75, failed=True)
    fresh.record(story)
    stack = fresh.get("/api/v1/flow/activity", buckets=4)
    assert (stack["begin_ns"], stack["end_ns"], stack["bucket_ns"]) == (at(0), at(100), 25_000_000)
    assert stack["in_flight"] == [1, 1, 2, 1]
    assert stack["running"] == [0, 1, 2, 1]
    assert stack["failed"] == [0, 0, 0, 1]
    assert fresh.get("/api/v1/flow/activity", buckets=8, func_name="b")["running"] == [1] * 8
    assert fresh.get("/api/v1/flow/activity", func_name="none")["in_flight"] == []
    fresh.error(fresh.client.get("/api/v1/flow/activity", params={"buckets": 5000}), 422)
    fresh.error(fresh.client.get("/api/v1/flow/stack", params={"parent_task_id": "x"}), 400)


def test_a_story_of_one_job_is_a_stack_of_that_driver(fresh: Any) -> None:
    story = Story()
    other = "02000000"
    for job, count in ((JOB, 1), (other, 2)):
        for _ in range(count):
            story.task("work", 0, 10, 100, parent="f" * 40 + job, job=job)
    fresh.record(story)
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(50))
    assert [(n["depth"], n["name"], n["total"]) for n in stack["nodes"]] == [
        (0, "driver", 2),
        (1, "work", 2),
        (0, "driver", 1),
        (1, "work", 1),
    ]


def test_any_number_of_ended_callers_is_looked_up(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    levels = 70
    above = story.task("f0", 0, 0, 50)
    for level in range(1, levels):
        above = story.task(f"f{level}", level / 10, level / 10, 50)
        story.batch.attempts[-1].parent_task_id = story.batch.attempts[-2].task_id
    story.task("leaf", 10, 20, 100, parent=above)
    fresh.record(story)
    monkeypatch.setattr("rayscope.views.stack.sql._CLIMB_S", 60)
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(60))
    assert [node["name"] for node in stack["nodes"]] == ["driver", *(f"f{n}" for n in range(levels)), "leaf"]
    assert not stack["callers_left_out"]
    monkeypatch.setattr("rayscope.views.stack.sql._CLIMB_S", 0)
    cut = fresh.get("/api/v1/flow/stack", at_ns=at(61))
    assert len(cut["nodes"]) == 1 + 50 + 1  # those that were found, under one of unknown callers
    assert cut["callers_left_out"]
