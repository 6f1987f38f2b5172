"""Insights and what-ifs of records with known numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, SESSION, Story, at

from rayscope.client import Client
from rayscope.errors import RayscopeError
from rayscope.model import Edge, Entity, Span

A = "a1" * 28
B = "b2" * 28
C = "c3" * 28
ONE_CPU = '{"CPU":1.0}'


def cluster(story: Story, cpus: int, end: float | None) -> None:
    """A node, and a job that lasted so long, or runs still."""
    story.entity("node", "a" * 56, -1000, resources_total=json.dumps({"CPU": float(cpus)}), is_head=True)
    story.entity("job", JOB, 0, end)


def fan_out(tasks: int = 6, cpus: int = 2) -> Story:
    """Tasks of 100 ms on some CPUs, all submitted at once and then waited for, in 20 ms more."""
    story = Story()
    found = []
    for number in range(tasks):
        started = 10 + 100 * (number // cpus)
        worker = f"{number % cpus:056x}"
        found.append(story.task("work", 10, started, started + 100, worker=worker, resources=ONE_CPU))
    end = 10 + 100 * -(-tasks // cpus)
    story.get(DRIVER, found, 10, end)
    cluster(story, cpus, end + 10)
    return story


def post_whatif(running: Running, *changes: dict[str, Any], **more: Any) -> Any:
    answer = running.client.post("/api/v1/what-if", json={"changes": list(changes), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def faster(function: str, times: float) -> dict[str, Any]:
    return {"kind": "speed", "function": function, "times": times}


def test_what_to_optimize_first(fresh: Running) -> None:
    fresh.record(fan_out())
    found = fresh.get("/api/v1/insights")
    assert (found["job_id"], found["attempts"], found["withheld"], found["so_far"]) == (JOB, 6, None, False)
    assert found["calibration"] == {
        "recorded_ns": 320 * MS,
        "replayed_ns": 320 * MS,
        "error": 0.0,
        "ray_ns": 0,
    }
    assert found["utilisation"] == pytest.approx(600 / 640)
    assert [
        (one["function"], one["is_driver"], one["attempts"], one["own_ns"], one["saving_ns"])
        for one in found["functions"]
    ] == [("work", False, 6, 600 * MS, 150 * MS), ("driver", True, 1, 20 * MS, 10 * MS)]
    options = {one["option"]: one["saving_ns"] / MS for one in found["options"]}
    assert options == {
        "twice_the_cpus": 100,
        "no_startup": 0,
        "no_stragglers": 0,
        "no_retries": 0,
        "no_transfer": 0,
    }
    assert found["options"][0]["option"] == "twice_the_cpus"
    assert sum(one["total_ns"] for one in found["causes"]) == 320 * MS
    assert [(one["phase"], one["name"], one["total_ns"] / MS) for one in found["causes"]] == [
        ("executing", "work", 300),
        ("preparing", "driver", 10),
        ("finishing", "driver", 10),
    ]
    assert found["verdict"]["text"] == (
        "Bound by the size of the cluster: work ran for 300 ms of 320 ms while other tasks waited for room. "
        "Twice the CPUs would save about 100 ms, 31% (9 of 10: 80.0 to 120 ms)."
    )


def test_what_never_began_cannot_be_faster(fresh: Running) -> None:
    story = fan_out()
    story.task("stuck", 10, None, 200, failed=True)
    fresh.record(story)
    functions = fresh.get("/api/v1/insights")["functions"]
    assert [one["function"] for one in functions] == ["work", "driver"]


def test_what_if(fresh: Running) -> None:
    fresh.record(fan_out())
    found = post_whatif(fresh, faster("work", 2))
    assert (found["baseline_ns"], found["predicted_ns"], found["saving_ns"]) == (320 * MS, 170 * MS, 150 * MS)
    assert (found["saving_low_ns"], found["saving_high_ns"]) == (120 * MS, 180 * MS)
    assert found["speedup"] == pytest.approx(320 / 170)
    assert (found["utilisation_before"], found["utilisation"]) == (
        pytest.approx(600 / 640),
        pytest.approx(300 / 340),
    )
    assert [(one["function"], one["phase"], one["duration_ns"] / MS) for one in found["path"]] == [
        ("driver", "executing", 10),
        *[("work", "executing", 50)] * 3,
        ("driver", "executing", 10),
    ]
    assert all((one["task_id"] is None) == one["is_driver"] for one in found["path"])
    assert [(one["function"], one["total_ns"] / MS) for one in found["functions"]] == [
        ("work", 150),
        ("driver", 20),
    ]
    together = post_whatif(fresh, faster("work", 2), {"kind": "cpus", "count": 4}, job_id=JOB)
    assert together["predicted_ns"] == 70 * MS
    assert post_whatif(fresh, {"kind": "num_cpus", "function": "work", "num_cpus": 2})["speedup"] < 1


def test_the_actor_with_the_most_time_on_the_path_is_named(fresh: Running) -> None:
    story = Story()
    begin = 0
    for actor, length in ((A, 100), (B, 900)):
        call = story.task("Board.offer", begin, begin, begin + length, actor=actor[:24], worker=actor)
        story.get(DRIVER, call, begin, begin + length)
        begin += length
    cluster(story, 2, begin)
    fresh.record(story)
    verdict = fresh.get("/api/v1/insights")["verdict"]
    assert verdict["actor"] == {
        "actor_id": B[:24] + JOB,
        "pid": 100,
        "node_id": "a" * 56,
        "host": "a" * 8,
        "actors": 2,
        "total_ns": 900 * MS,
    }
    assert verdict["text"].startswith("Bound by one function: Board.offer (pid 100 @ aaaaaaaa) ran for")
    causes = fresh.get("/api/v1/flow/critical-path")["causes"]
    assert causes[0]["actor"] == verdict["actor"]


def test_one_actor_is_the_bottleneck(fresh: Running) -> None:
    story = Story()
    actor = "ac" * 12
    made = story.task("Board.__init__", 0, 10, 20, actor=actor)
    calls = [
        story.task("Board.offer", 20, 20 + 50 * place, 70 + 50 * place, actor=actor) for place in range(6)
    ]
    story.entity("actor", actor + JOB, 20, class_name="Board", job_id=JOB, required_resources="{}")
    story.get(DRIVER, [made, *calls], 20, 320)
    cluster(story, 4, 330)
    fresh.record(story)
    insights = fresh.get("/api/v1/insights")
    assert insights["functions"][0]["saving_ns"] == 150 * MS
    assert (insights["verdict"]["code"], insights["verdict"]["name"]) == ("actor", "Board.offer")
    found = post_whatif(fresh, {"kind": "actors", "class_name": "Board", "count": 2})
    assert found["saving_ns"] == pytest.approx(200 * MS, abs=5 * MS)


def test_an_actor_that_runs_two_calls_at_once(fresh: Running) -> None:
    story = Story()
    actor = "ac" * 12
    story.task("Pair.__init__", 0, 0, 20, actor=actor)
    calls = [
        story.task("Pair.work", 20, 20 + 50 * (place // 2), 70 + 50 * (place // 2), actor=actor)
        for place in range(8)
    ]
    story.entity("actor", actor + JOB, 20, class_name="Pair", job_id=JOB, required_resources="{}")
    story.get(DRIVER, calls, 20, 220)
    cluster(story, 4, 220)
    fresh.record(story)
    assert fresh.get("/api/v1/insights")["calibration"]["error"] == pytest.approx(0, abs=0.01)
    assert post_whatif(fresh, faster("Pair.work", 2))["saving_ns"] == pytest.approx(100 * MS, abs=2 * MS)


def test_a_get_of_more_than_it_names(fresh: Running) -> None:
    story = Story()
    tasks = [
        story.task("work", 0, 100 * place, 100 * place + 100, worker=A, resources=ONE_CPU)
        for place in range(5)
    ]
    story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(10), at(500), '{"objects":5,"unnamed":4}'))
    story.batch.edges.append(Edge(DRIVER, 0, "get", tasks[0], 1, 100, at(10), at(500)))
    cluster(story, 1, 500)
    fresh.record(story)
    assert post_whatif(fresh, faster("work", 2))["predicted_ns"] == pytest.approx(250 * MS, abs=2 * MS)


def test_nested_tasks_retries_and_arguments(fresh: Running) -> None:
    story = Story()
    outer = story.task("outer", 0, 0, 120, worker=A, resources=ONE_CPU)
    inner = story.task("inner", 10, 10, 60, parent=outer, worker=B, resources=ONE_CPU, failed=True)
    story.task("inner", 70, 70, 110, parent=outer, worker=B, resources=ONE_CPU, attempt=1, task_id=inner)
    story.get(outer, inner, 10, 110)
    last = story.task("last", 0, 120, 160, worker=C, resources=ONE_CPU)
    story.batch.attempts[-1].states["PENDING_NODE_ASSIGNMENT"] = at(120)
    story.argument(last, outer)
    story.get(DRIVER, last, 0, 160)
    cluster(story, 1, 165)
    fresh.record(story)
    found = fresh.get("/api/v1/insights")
    assert found["calibration"]["error"] == pytest.approx(0, abs=0.01)
    # The first attempt, 50 ms, and the 10 ms until the next.
    assert next(one for one in found["options"] if one["option"] == "no_retries")["saving_ns"] == 60 * MS
    assert post_whatif(fresh, faster("inner", 2))["saving_ns"] == (25 + 20) * MS


def test_a_loop_that_waits_for_some(fresh: Running) -> None:
    """Three tasks run at a time; the first one that is ready makes room for another one."""
    story = Story()
    lengths = [30, 60, 90, 50, 20]
    tasks: list[str] = []
    begins = [0.0, 0.0, 0.0, 30.0, 60.0]
    for begin, length in zip(begins, lengths, strict=True):
        tasks.append(
            story.task("work", begin, begin, begin + length, worker=f"{len(tasks):056x}", resources=ONE_CPU)
        )
    for begin, end, of in (
        (0, 30, [0, 1, 2]),
        (30, 60, [1, 2, 3]),
        (60, 80, [2, 3, 4]),
        (80, 81, [2, 3]),
        (81, 90, [2]),
    ):
        story.batch.spans.append(Span(DRIVER, 0, "ray.wait", at(begin), at(end), '{"ready":1}'))
        story.batch.edges += [Edge(DRIVER, 0, "wait", tasks[one], 1, None, at(begin), at(end)) for one in of]
    cluster(story, 3, 100)
    fresh.record(story)
    found = fresh.get("/api/v1/insights")
    assert found["calibration"]["error"] == pytest.approx(0, abs=0.02)
    assert post_whatif(fresh, faster("work", 2))["predicted_ns"] == pytest.approx(55 * MS, abs=2 * MS)


def test_a_loop_whose_waits_time_out(fresh: Running) -> None:
    """Calls of ray.wait name two of three objects. An ended task of the same function looks like the third."""
    story = Story()
    early = story.task("work", 0, 0, 100, worker=A, resources=ONE_CPU)
    late = story.task("work", 0, 0, 1000, worker=B, resources=ONE_CPU)
    for begin in range(0, 1000, 100):
        of, extra = ((early, late), 0) if begin == 0 else ((late,), 1)
        outcome = {"ready": int(begin in (0, 900)), "objects": len(of) + extra, "unnamed": extra}
        story.batch.spans.append(Span(DRIVER, 0, "ray.wait", at(begin), at(begin + 100), json.dumps(outcome)))
        story.batch.edges += [Edge(DRIVER, 0, "wait", one, 1, None, at(begin), at(begin + 100)) for one in of]
    cluster(story, 2, 1010)
    fresh.record(story)
    assert fresh.get("/api/v1/insights")["calibration"]["error"] == pytest.approx(0, abs=0.02)


def test_a_placement_group_that_a_task_makes_while_the_driver_waits(fresh: Running) -> None:
    story = Story()
    group = "9" * 28 + JOB
    outer = story.task("outer", 0, 0, 500, worker=A)
    inner = story.task("inner", 100, 100, 400, parent=outer, worker=B, resources=ONE_CPU)
    story.batch.attempts[-1].placement_group_id = group
    story.get(outer, inner, 100, 400)
    story.get(DRIVER, outer, 0, 500)
    made = Entity("placement_group", group, {"job_id": JOB, "bundles": '[{"resources":{"CPU":1.0}}]'})
    made.fields["created_ns"] = at(50)
    story.batch.entities.append(made)
    cluster(story, 2, 510)
    fresh.record(story)
    found = fresh.get("/api/v1/insights")
    assert (found["withheld"], found["calibration"]["error"]) == (None, pytest.approx(0, abs=0.01))


@pytest.mark.parametrize("kind", ["actor", "placement_group"])
def test_room_that_something_else_makes_while_the_driver_waits(fresh: Running, kind: str) -> None:
    story = Story()
    actor, group = "8" * 24, "9" * 28 + JOB
    story.task("Holder.__init__", 0, 0, 100, actor=actor, worker=A, resources=ONE_CPU)
    story.get(DRIVER, story.task("Holder.hold", 0, 100, 120, actor=actor, worker=A), 0, 120)
    if kind == "placement_group":
        story.batch.attempts[0].placement_group_id = group
        made = Entity(kind, group, {"job_id": JOB, "bundles": '[{"resources":{"CPU":1.0}}]'})
        made.fields["created_ns"] = at(0)
        made.observed_ns, made.observed = at(200), {"state": "REMOVED"}
        story.batch.entities.append(made)
    until = 200 if kind == "actor" else None
    story.entity("actor", actor + JOB, 0, until, class_name="Holder", job_id=JOB, required_resources=ONE_CPU)
    story.get(DRIVER, story.task("late", 150, 200, 500, worker=B, resources=ONE_CPU), 150, 500)
    cluster(story, 1, 510)
    fresh.record(story)
    found = fresh.get("/api/v1/insights")
    assert (found["withheld"], found["calibration"]["error"]) == (None, pytest.approx(0, abs=0.01))


def test_why_nothing_is_predicted(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 0, 100, job="02000000", parent="f" * 40 + "02000000")
    story.entity("job", "02000000", 0, 110)
    for number in range(4):
        story.task(
            "lost", 0, 0, 10, job="03000000", parent="1" * 40 + "03000000", task_id=f"{number:040x}03000000"
        )
    fresh.record(story)
    for job, code in (("02000000", "not_traced"), ("03000000", "no_driver")):
        found = fresh.get("/api/v1/insights", job_id=job)
        assert (found["withheld"]["code"], found["functions"], found["options"]) == (code, [], [])
        found = post_whatif(fresh, {"kind": "no_startup"}, job_id=job)
        assert found["withheld"]["code"] == code
        assert (found["predicted_ns"], found["saving_ns"], found["path"]) == (None, None, [])


def test_a_job_whose_nodes_all_ended_before_it(fresh: Running) -> None:
    """The clocks of nodes differ."""
    story = Story()
    story.entity("node", "a" * 56, -1000, -500, resources_total=json.dumps({"CPU": 2.0}))
    story.entity("job", JOB, 0, 120)
    story.get(DRIVER, [story.task("work", 0, 10, 110, resources=ONE_CPU)], 0, 110)
    fresh.record(story)
    assert fresh.get("/api/v1/insights")["calibration"]["recorded_ns"] == 120 * MS
    assert post_whatif(fresh, faster("work", 2))["saving_ns"] == pytest.approx(50 * MS, abs=5 * MS)


def test_too_many_attempts(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    story = fan_out()
    story.task("never", 10, None, None, resources='{"TPU":1.0}')
    fresh.record(story)
    monkeypatch.setattr("rayscope.insights.gains.MAX_ATTEMPTS", 5)
    found = fresh.get("/api/v1/insights")
    assert (found["withheld"]["code"], found["calibration"]["recorded_ns"]) == ("takes_long", 320 * MS)
    assert [(one["kind"], one["saving_ns"]) for one in found["findings"]] == [("unschedulable", None)]
    assert found["verdict"]["code"] == "cluster"
    monkeypatch.setattr("rayscope.insights.gains.MAX_READ", 5)
    assert post_whatif(fresh, {"kind": "no_startup"})["withheld"]["code"] == "too_large"


def one_after_the_other(cpus: int) -> Story:
    """Six tasks of 100 ms that ran as if on two CPUs, though there were more: the reason is unknown."""
    story = fan_out()
    story.batch.entities.clear()
    cluster(story, cpus, 320)
    return story


def test_a_replay_that_is_off_predicts_a_wide_range(fresh: Running) -> None:
    fresh.record(one_after_the_other(3))
    found = post_whatif(fresh, faster("work", 2))
    error = found["calibration"]["error"]
    assert (found["withheld"], -0.5 < error < -0.15) == (None, True)
    margin = found["saving_ns"] - found["saving_low_ns"]
    assert margin == pytest.approx((0.2 - error) * found["saving_ns"] + found["calibration"]["ray_ns"])
    assert found["saving_high_ns"] == min(found["saving_ns"] + margin, 320 * MS)


def test_a_replay_that_is_far_off_predicts_nothing(fresh: Running) -> None:
    fresh.record(one_after_the_other(64))
    found = fresh.get("/api/v1/insights")
    assert found["withheld"]["code"] == "inaccurate"
    assert abs(found["calibration"]["error"]) > 0.5
    assert "50%" in found["withheld"]["message"]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [faster("work", 2)] * 21,
        [faster("work", -1)],
        [faster("work", 0)],
        [{"kind": "speed", "function": "work", "times": "NaN"}],
        [{"kind": "speed", "function": "", "times": 2}],
        [{"kind": "speed", "function": "x" * 501, "times": 2}],
        [{"kind": "speed", "times": 2}],
        [{"kind": "speed", "function": "work", "times": 2, "more": 1}],
        [{"kind": "cpus", "count": 0}],
        [{"kind": "cpus", "count": 10**9}],
        [{"kind": "nodes", "count": 10**6}],
        [{"kind": "actors", "class_name": "A", "count": -3}],
        [{"kind": "batch", "function": "work", "size": 1}],
        [{"kind": "num_cpus", "function": "work", "num_cpus": -1}],
        [{"kind": "wishes"}],
        [17],
    ],
)
def test_bodies_that_make_no_sense(fresh: Running, changes: list[Any]) -> None:
    fresh.record(fan_out())
    answer = fresh.client.post("/api/v1/what-if", json={"changes": changes})
    assert fresh.error(answer, 422)["code"] == "invalid_parameter"


@pytest.mark.parametrize(
    "change",
    [
        faster("nobody", 2),
        {"kind": "actors", "class_name": "Nobody", "count": 2},
        {"kind": "one_get", "function": "work"},
        {"kind": "batch", "function": "nobody", "size": 2},
    ],
)
def test_changes_of_what_there_is_not(fresh: Running, change: dict[str, Any]) -> None:
    fresh.record(fan_out())
    answer = fresh.client.post("/api/v1/what-if", json={"changes": [change]})
    assert fresh.error(answer, 400)["code"] == "bad_change"


def test_unknown_jobs_and_sessions(fresh: Running) -> None:
    fresh.error(fresh.client.get("/api/v1/insights"), 404)
    fresh.record(fan_out())
    fresh.error(fresh.client.get("/api/v1/insights", params={"job_id": "77000000"}), 404)
    body = {"session": "session_none", "changes": [{"kind": "no_startup"}]}
    fresh.error(fresh.client.post("/api/v1/what-if", json=body), 404)


def test_the_client_asks(fresh: Running) -> None:
    fresh.record(fan_out())
    with Client(fresh.server.url) as client:
        assert client.insights()["calibration"]["error"] == 0
        assert client.whatif([{"kind": "cpus", "count": 2}], job_id=JOB)["saving_ns"] == 100 * MS
        with pytest.raises(RayscopeError):
            client.whatif([])


def a_long_wait(ended: str, end: float = 10_000) -> Story:
    """A driver that waits for a task, and runs still, or was killed, or was stopped by a signal."""
    story = Story()
    done = story.task("load", 0, 100, 1000, resources=ONE_CPU)
    story.get(DRIVER, done, 0, 1000)
    stuck = story.task("stuck", 1000, 1100, resources=ONE_CPU, worker="c" * 56)
    story.blocks(DRIVER, stuck, 1000)
    if ended == "stopped":
        story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(1000), at(end - 500), '{"interrupted":1}'))
        story.batch.edges.append(Edge(DRIVER, 0, "wait", stuck, 1, None, at(1000), at(end - 500)))
    cluster(story, 2, None if ended == "running" else end)
    story.entity("worker", "d" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")
    return story


@pytest.mark.parametrize("ended", ["running", "killed", "stopped"])
def test_a_job_waits_for_what_runs_until_it_is_stopped_and_afterwards(fresh: Running, ended: str) -> None:
    fresh.record(a_long_wait(ended))
    if ended == "running":
        services: Any = fresh.server.services
        services.catalog.about(SESSION).last_ns = 2**62
        services.records.last_ns = lambda session: at(10_000)
    found = fresh.get("/api/v1/insights")
    assert (found["so_far"], found["end_ns"]) == (ended == "running", at(10_000))
    assert sum(cause["total_ns"] for cause in found["causes"]) == found["calibration"]["recorded_ns"]
    assert (found["verdict"]["code"], found["verdict"]["name"]) == ("function", "stuck")
    assert found["verdict"]["share"] == pytest.approx(0.84 if ended == "stopped" else 0.89)
    assert found["withheld"] is None
    assert found["calibration"]["error"] == pytest.approx(0, abs=0.05)
    (explained,) = [cause["text"] for cause in found["causes"] if cause["text"]]
    assert explained.startswith("stuck itself ran for 8.")
    # The driver itself did nothing: its half takes nothing off.
    savings = {one["function"]: one["saving_ns"] / MS for one in found["functions"]}
    assert savings["stuck"] == pytest.approx(4450, rel=0.1)
    assert savings.get("driver", 0) < 500


def test_a_stopped_job_is_bound_by_what_the_chain_of_its_waits_leads_to(fresh: Running) -> None:
    """A signal interrupts the driver's wait. The waits below it stay open until the workers are killed."""
    story = Story()
    outer = story.task("Outer.run", 10, 20, actor="c" * 24, worker="c" * 56)
    inner = story.task("Inner.run", 30, 40, parent=outer, actor="d" * 24, worker="d" * 56)
    story.blocks(outer, inner, 45)
    story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(15), at(9_000), '{"interrupted":1}'))
    story.batch.edges.append(Edge(DRIVER, 0, "wait", outer, 1, None, at(15), at(9_000)))
    cluster(story, 2, 10_000)
    story.entity("worker", "e" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")
    fresh.record(story)
    verdict = fresh.get("/api/v1/insights")["verdict"]
    assert (verdict["code"], verdict["name"]) == ("function", "Inner.run")
    assert verdict["share"] == pytest.approx(0.896)


def test_a_slow_actor_is_named_while_most_of_its_calls_wait(fresh: Running) -> None:
    """The job is stopped during the fourth call of the slow actor. The calls behind it never begin."""
    story = Story()
    for number, took in enumerate((500, 500, 500, 3000)):
        actor, worker = str(number) * 24, str(number) * 56
        story.entity("actor", actor + JOB, 0, worker_id=worker, class_name="Store", pid=number)
        calls = []
        for begin in range(100, 100 + 10 * took, took):
            ended = begin + took if begin + took <= 10_000 else None
            started = begin if begin < 10_000 else None
            calls.append(story.task("Store.put", 50, started, ended, actor=actor, queued=60, worker=worker))
            if ended is not None:
                story.batch.attempts[-1].phases["execute"] = at(begin), at(ended - 1)
        story.blocks(DRIVER, calls[-1], 70)
    cluster(story, 2, 10_000)
    story.entity("worker", "e" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")
    fresh.record(story)
    findings = {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}
    assert "straggler" not in findings
    assert findings["actor_bottleneck"]["numbers"]["actor"].startswith("33333333 ")


def test_the_calls_of_a_busy_actor_are_all_on_the_path(fresh: Running) -> None:
    """The driver has little CPU time: it records each end 200 ms after the worker has begun the next call."""
    story, actor = Story(), "c" * 24
    story.entity("node", "a" * 56, -1000, resources_total=json.dumps({"CPU": 2.0}), is_head=True)
    calls = []
    for number in range(5):
        begin = 100 + 1000 * number
        calls.append(story.task("Store.put", 10, begin, begin + 1200, actor=actor, queued=15))
        story.batch.attempts[-1].phases["execute"] = at(begin), at(begin + 999)
    story.get(DRIVER, calls, 12, 5_300)
    story.entity("job", JOB, 0, 5_310)
    fresh.record(story)
    causes = fresh.get("/api/v1/flow/critical-path")["causes"]
    executing = [one for one in causes if one["phase"] == "executing" and not one["is_driver"]]
    assert [(one["name"], one["total_ns"] / MS) for one in executing] == [
        ("Store.put", pytest.approx(5000, abs=10))
    ]
    assert sum(one["total_ns"] for one in causes if one["phase"] == "queued") <= 100 * MS


@pytest.mark.parametrize(
    ("lasted", "code", "said"), [(9, "actor", "one actor"), (4, "actors", "several actors")]
)
def test_one_actor_is_named_if_it_took_most_of_the_time(
    fresh: Running, lasted: int, code: str, said: str
) -> None:
    """Calls of three actors, one after the other. A sentence about one actor gives its own time."""
    story, at_ms = Story(), 100
    for number, took in enumerate((3000, 1000 * lasted, 3000)):
        actor = str(number) * 24
        story.entity("actor", actor + JOB, 0, worker_id=str(number) * 56, class_name="Store", pid=number)
        calls = [
            story.task(
                "Store.put",
                at_ms,
                begin,
                begin + took / 4,
                actor=actor,
                queued=at_ms,
                worker=str(number) * 56,
            )
            for begin in (at_ms + took / 4 * part for part in range(4))
        ]
        story.get(DRIVER, calls, at_ms, at_ms + took)
        at_ms += took
    cluster(story, 2, at_ms)
    fresh.record(story)
    verdict = fresh.get("/api/v1/insights")["verdict"]
    assert verdict["code"] == code
    assert said in verdict["text"]
    assert verdict["actor"]["actors"] == 3
    assert verdict["total_ns"] / MS == pytest.approx(9000 if code == "actor" else 10_000, rel=0.02)


def test_an_open_wait_whose_named_calls_have_ended_is_for_the_calls_that_go_on(fresh: Running) -> None:
    """The start of a call that has just ended may be unknown yet; those before it on its actor explain its wait."""
    story, actor = Story(), "c" * 24
    story.entity("node", "a" * 56, -1000, resources_total=json.dumps({"CPU": 2.0}), is_head=True)
    story.entity("actor", actor + JOB, 0, worker_id="b" * 56)
    named = story.task("Store.put", 10, 20, 120, actor=actor)
    for number in range(1, 5):
        story.task("Store.put", 10, 20 + 100 * number, 120 + 100 * number, actor=actor, queued=15)
    del story.batch.attempts[-1].states["RUNNING"]
    story.task("Store.put", 10, actor=actor)
    story.blocks(DRIVER, named, 12)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    executing = sum(
        one["total_ns"] for one in path["causes"] if one["phase"] == "executing" and not one["is_driver"]
    )
    assert executing == 4 * 100 * MS


def test_many_short_calls_of_one_actor_bind_a_running_job(fresh: Running) -> None:
    """The starts of the newest calls are not known yet. The driver's wait names some of the calls only."""
    story, actor = Story(), "c" * 24
    calls, took = 200, 20
    cluster(story, 2, None)
    story.entity("actor", actor + JOB, 0, worker_id="b" * 56)
    named = []
    for number in range(calls):
        begin = 20 + took * number
        named.append(story.task("Store.put", 10, begin, begin + took, actor=actor, queued=15))
    for attempt in story.batch.attempts[-30:]:
        del attempt.states["RUNNING"]
    for _ in range(500):
        story.task("Store.put", 10, actor=actor, queued=15)
    for task_id in named[:16]:
        story.blocks(DRIVER, task_id, 12)
    fresh.record(story)
    services: Any = fresh.server.services
    services.catalog.about(SESSION).last_ns = 2**62
    services.records.last_ns = lambda session: at(20 + took * calls)
    found = fresh.get("/api/v1/insights")
    assert (found["so_far"], found["withheld"]) == (True, None)
    assert (found["verdict"]["code"], found["verdict"]["name"]) == ("actor", "Store.put")
    assert "straggler" not in [one["kind"] for one in found["findings"]]
    assert found["functions"][0]["function"] == "Store.put"
    assert found["functions"][0]["saving_ns"] == pytest.approx(calls * took * MS / 2, rel=0.2)
