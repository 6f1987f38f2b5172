"""The flame graph of executions whose numbers are known, over HTTP."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.running import Running
from tests.story import JOB, MS, Story, at

from rayscope.model import Span

OTHER_JOB = "02000000"


def test_cpu_time_is_summed_where_it_is_known(fresh: Running) -> None:
    story = _story()
    used = iter([30, 4, 5, 30, 6, None, 20])
    for attempt in story.batch.attempts:
        if attempt.type != "DRIVER_TASK" and (ms := next(used)) is not None:
            attempt.cpu_ns = ms * MS
    fresh.record(story)
    found, frames = _flame(fresh, weight="cpu")
    assert found["total"] == (30 + 4 + 5 + 30 + 6 + 20) * MS
    inner = frames[("train", "load")]
    assert (inner["own"], inner["cpu_ns"], inner["cpu_known"], inner["attempts"]) == (15 * MS, 15 * MS, 3, 4)
    assert (frames[("train",)]["own"], frames[("train",)]["value"]) == (60 * MS, 75 * MS)
    # The second half of the driver's own load, and half of its CPU time.
    found, frames = _flame(fresh, weight="cpu", since_ns=at(330), until_ns=at(400))
    assert (found["total"], frames[("load",)]["cpu_known"]) == (10 * MS, 1)


def _story() -> Story:
    """Two trains that each call two loads (10 ms each) and wait for them, and a load of the driver's own."""
    story = Story()
    for number in range(2):
        begin = 100 * number
        train = story.task("train", begin, begin + 5, begin + 65)
        loads = [
            story.task("load", begin + 10, begin + 20 + 10 * i, begin + 30 + 10 * i, parent=train)
            for i in range(2)
        ]
        story.get(train, loads, begin + 10, begin + 45)
        # Overlaps the wait before: 5 ms more, and no more.
        story.get(train, loads, begin + 30, begin + 50)
    story.task("load", 300, 310, 350)
    return story


def _flame(fresh: Running, **params: Any) -> tuple[dict[str, Any], dict[tuple[str, ...], dict[str, Any]]]:
    """The answer, and its frames by the names from the driver down."""
    found = fresh.get("/api/v1/flow/flame", **params)
    by_id: dict[str, tuple[str, ...]] = {frame["id"]: () for frame in found["ancestors"]}
    named = {}
    for frame in found["frames"]:
        above = by_id.get(frame["parent"])
        name = () if above is None else (*above, frame["name"] or frame["kind"])
        by_id[frame["id"]] = name
        named[name] = frame
    return found, named


def test_memory_adds_up_over_time_where_it_is_known(fresh: Running) -> None:
    story = _story()
    measured = iter(
        [
            (2_000, "own"),
            (500, "own"),
            (900, "shared"),
            (3_000, "own"),
            (None, "off"),
            (None, None),
            (1_000, "own"),
        ]
    )
    for attempt in story.batch.attempts:
        if attempt.type != "DRIVER_TASK":
            attempt.peak_memory, attempt.memory_scope = next(measured)
    fresh.record(story)
    found, frames = _flame(fresh, weight="memory_time")
    # 60 ms of each train, 10 ms of the load that was alone in its process, 40 ms of the driver's own.
    assert found["total"] == 120 + 180 + 5 + 40
    train, inner, outer = frames[("train",)], frames[("train", "load")], frames[("load",)]
    assert (train["own"], train["value"], outer["own"]) == (300, 305, 40)
    assert (train["memory_known"], train["max_memory"], train["p95_memory"]) == (2, 3_000, 2_950)
    assert (inner["memory_byte_seconds"], inner["attempts"]) == (5, 4)
    assert (inner["memory_known"], inner["memory_shared"], inner["max_memory"]) == (1, 1, 900)
    assert frames[()]["max_memory"] is None
    # The second half of the driver's own load.
    found, frames = _flame(fresh, weight="memory_time", since_ns=at(330), until_ns=at(400))
    assert (found["total"], frames[("load",)]["max_memory"]) == (20, 1_000)
    # Other weights have all but the quantile, which takes time.
    inner = _flame(fresh)[1][("train", "load")]
    assert (inner["memory_known"], inner["max_memory"], inner["p95_memory"]) == (1, 900, None)
    around = fresh.get("/api/v1/flow/flame", weight="memory_time", of="load")
    assert (around["own"], around["callees"]["frames"][0]["max_memory"]) == (45, 1_000)


def test_memory_that_was_not_measured_is_not_0(fresh: Running) -> None:
    fresh.record(_story())
    found, frames = _flame(fresh, weight="memory_time")
    assert found["total"] == 0
    assert {(one["memory_known"], one["max_memory"], one["p95_memory"]) for one in frames.values()} == {
        (0, None, None)
    }


def test_widths_are_shares_of_the_critical_path(fresh: Running) -> None:
    """Frames of a function have its share of the critical path, and all frames together have all of it."""
    story = _story()
    story.entity("job", JOB, 0, 400)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    found, _ = _flame(fresh, weight="critical_path")
    assert (found["total"], found["path_job_id"]) == (path["duration_ns"], path["job_id"])
    own: dict[str | None, int] = defaultdict(int)
    for frame in found["frames"]:
        own[frame["name"] if frame["kind"] == "call" else None] += frame["own"]
    of_function: dict[str | None, int] = defaultdict(int)
    for share in path["functions"]:
        of_function[None if share["is_driver"] else share["name"] or None] += share["total_ns"]
    assert {name: ns for name, ns in own.items() if ns} == of_function
    assert of_function.keys() >= {"train", "load"}
    around = fresh.get("/api/v1/flow/flame", weight="critical_path", of="load")
    assert (around["own"], around["total"]) == (of_function["load"], path["duration_ns"])
    for part in ({"since_ns": at(0)}, {"func_name": "load"}, {"baseline_job_id": OTHER_JOB}):
        refused = fresh.client.get("/api/v1/flow/flame", params={"weight": "critical_path", **part})
        assert "whole job" in fresh.error(refused, 400)["message"]


def test_widths_add_up(fresh: Running) -> None:
    story = _story()
    # The time at which the first load returned, the bytes of its value, and the bytes of all its values.
    story.batch.attempts[1].returned = (at(29), 100, 300)
    fresh.record(story)
    found, frames = _flame(fresh)
    assert found["total"] == (2 * (60 - 40) + 4 * 10 + 40) * MS
    assert found["attempts"] == 7
    root, train = frames[()], frames[("train",)]
    assert (root["own"], root["value"]) == (0, found["total"])
    assert (train["own"], train["value"]) == (40 * MS, 80 * MS)
    assert frames[("train", "load")]["value"] == frames[("load",)]["value"] == 40 * MS
    assert (train["duration_ns"], train["blocked_ns"], train["attempts"]) == (120 * MS, 80 * MS, 2)
    assert (train["p50_ns"], train["max_ns"], train["first_ns"]) == (60 * MS, 60 * MS, at(5))
    for frame in found["frames"]:
        below = sum(one["value"] for one in found["frames"] if one["parent"] == frame["id"])
        assert frame["value"] == frame["own"] + below
    # The same as in the phases.
    phases = {row["func_name"]: row for row in fresh.get("/api/v1/scheduling")["items"]}
    assert phases["train"]["executing_ns"] == train["own"]
    assert phases["train"]["blocked_ns"] == train["blocked_ns"]

    assert _flame(fresh, weight="duration")[0]["total"] == (120 + 40 + 40) * MS
    counted, frames = _flame(fresh, weight="count", func_name="load")
    assert counted["total"] == 5
    assert frames[("train",)]["own"] == 0
    assert frames[("train", "load")]["own"] == 4
    returned, frames = _flame(fresh, weight="bytes")
    assert frames[("train", "load")]["own"] == frames[("train",)]["value"] == returned["total"] == 300


def test_running_tasks_count_until_the_last_sign_of_life(fresh: Running) -> None:
    story = Story()
    runs = story.task("runs", 0, 0)
    waits = story.task("waits", 0, 10)
    story.blocks(waits, runs, 30)
    story.task("stays", 0)
    story.task("dies", 0, 20, 90, failed=True)
    fresh.record(story)
    # The session lives, so what runs does so until now: a year after the story.
    assert _flame(fresh)[1][("runs",)]["own"] > 10**15
    _, frames = _flame(fresh, until_ns=at(200))
    assert frames[("runs",)]["own"] == frames[("runs",)]["duration_ns"] == 200 * MS
    assert (frames[("waits",)]["own"], frames[("waits",)]["blocked_ns"]) == (20 * MS, 170 * MS)
    assert (frames[("stays",)]["own"], frames[("stays",)]["attempts"]) == (0, 1)
    dies = frames[("dies",)]
    assert (dies["own"], dies["failed"], frames[("runs",)]["running"]) == (70 * MS, 1, 1)


def test_a_range_clips(fresh: Running) -> None:
    fresh.record(_story())
    found, frames = _flame(fresh, since_ns=at(0), until_ns=at(25))
    # train 5 to 25, blocked from 10 on; the first load from 20 on; the second was made but does not run yet.
    assert frames[("train",)]["own"] == 5 * MS
    assert frames[("train",)]["blocked_ns"] == 15 * MS
    assert (frames[("train", "load")]["own"], frames[("train", "load")]["attempts"]) == (5 * MS, 2)
    assert found["total"] == 10 * MS
    assert frames[("train",)]["max_ns"] == 60 * MS
    halves = [_flame(fresh, **part)[0]["total"] for part in ({"until_ns": at(37)}, {"since_ns": at(37)})]
    assert sum(halves) == _flame(fresh)[0]["total"]


def test_a_range_gets_its_share_of_waits_reported_as_one_sum(fresh: Running) -> None:
    story = Story()
    task = story.task("many", 0, 0, 100)
    story.batch.spans.append(
        Span(task, 0, "ray.get", at(20), at(60), f'{{"calls":5000,"blocked_ns":{20 * MS}}}')
    )
    fresh.record(story)
    for params, own in (({}, 80), ({"until_ns": at(30)}, 25), ({"since_ns": at(60)}, 40)):
        assert _flame(fresh, **params)[1][("many",)]["own"] == own * MS


def test_attempts_without_a_call_path_have_a_frame(fresh: Running) -> None:
    story = Story()
    story.task("known", 0, 0, 10)
    story.task("lost", 0, 0, 20, parent="e" * 32 + "f" * 16)
    fresh.record(story)
    found, frames = _flame(fresh)
    assert found["total"] == 30 * MS
    assert frames[("unknown",)]["kind"] == "unknown"
    assert frames[("unknown", "lost")]["own"] == frames[("unknown",)]["value"] == 20 * MS
    inside, frames = _flame(fresh, focus=frames[("unknown", "lost")]["id"])
    assert [one["kind"] for one in inside["ancestors"]] == ["driver", "unknown"]
    assert len(inside["frames"]) == 1


def test_focus_is_a_subtree(fresh: Running) -> None:
    fresh.record(_story())
    _, frames = _flame(fresh)
    train = frames[("train",)]
    found = fresh.get("/api/v1/flow/flame", focus=train["id"])
    assert [frame["name"] for frame in found["frames"]] == ["train", "load"]
    assert found["ancestors"][0]["id"] == "0"
    assert found["total"] == 120 * MS
    get = fresh.client.get
    fresh.error(get("/api/v1/flow/flame", params={"focus": "123"}), 404)
    for wrong in ({"focus": "x'"}, {"focus": str(2**63)}, {"weight": "heat"}, {"of": "a", "focus": "0"}):
        fresh.error(get("/api/v1/flow/flame", params=wrong), 400)


def test_no_more_than_a_screen_shows_and_nothing_is_lost(fresh: Running) -> None:
    story = Story()
    parent = story.task("parent", 0, 0, 1000)
    for number in range(2600):
        story.task(f"child_{number}", 0, 0, 1 + number / 1000, parent=parent)
    fresh.record(story)
    found, frames = _flame(fresh)
    assert len(found["frames"]) == 2000
    assert found["frames_total"] == 2602
    other = frames[("parent", "other")]
    assert other["folded"] == found["folded"] == 603
    # Nothing larger was left out.
    assert other["max_ns"] < frames[("parent", "child_2599")]["value"]
    assert other["attempts"] == 603
    whole = fresh.client.post(
        "/api/v1/sql", json={"sql": "SELECT sum(duration_ns)::BIGINT FROM tasks"}
    ).json()
    assert found["total"] == whole["rows"][0][0]
    assert sum(frame["own"] for frame in found["frames"]) == found["total"]


def test_sandwich(fresh: Running) -> None:
    story = Story()
    walk = story.task("walk", 0, 0, 10)
    again = story.task("walk", 0, 20, 40, parent=walk)
    story.task("leaf", 0, 50, 53, parent=again)
    story.task("leaf", 0, 60, 61)
    fresh.record(story)
    found = fresh.get("/api/v1/flow/flame", of="walk")
    assert (found["own"], found["value"], found["attempts"], found["total"]) == (30 * MS, 33 * MS, 2, 34 * MS)

    def edges(tree: dict[str, Any]) -> set[tuple[str | None, str | None, int, int]]:
        names = {frame["id"]: frame["name"] or frame["kind"] for frame in tree["frames"]}
        return {
            (names.get(f["parent"]), names[f["id"]], f["own"] // MS, f["value"] // MS) for f in tree["frames"]
        }

    # The inner walk, and the leaf under it, count for the inner call above and once below the outer one.
    assert edges(found["callers"]) == {
        (None, "walk", 30, 33),
        ("walk", "driver", 10, 10),
        ("walk", "walk", 20, 23),
        ("walk", "driver", 20, 23),
    }
    assert edges(found["callees"]) == {
        (None, "walk", 10, 33),
        ("walk", "walk", 20, 23),
        ("walk", "leaf", 3, 3),
    }
    assert fresh.get("/api/v1/flow/flame", of="nobody")["value"] == 0


def test_difference_between_jobs(fresh: Running) -> None:
    story = Story()
    story.task("same", 0, 0, 10)
    story.task("gone", 0, 0, 7)
    story.task("same", 100, 100, 130, job=OTHER_JOB, parent="f" * 40 + OTHER_JOB)
    story.task("new", 100, 100, 105, job=OTHER_JOB, parent="f" * 40 + OTHER_JOB)
    fresh.record(story)
    found, frames = _flame(fresh, baseline_job_id="01000000")
    assert (found["total"], found["baseline_total"]) == (35 * MS, 17 * MS)
    values = {name: (one["value"] // MS, one["baseline_value"] // MS) for name, one in frames.items() if name}
    assert values == {("same",): (30, 10), ("new",): (5, 0), ("gone",): (0, 7)}
    by_time, frames = _flame(fresh, since_ns=at(50), baseline_until_ns=at(50))
    assert (by_time["total"], by_time["baseline_total"]) == (35 * MS, 17 * MS)
    assert _flame(fresh)[1][()]["baseline_value"] is None


def test_a_range_compared_with_another_and_with_the_rest(fresh: Running) -> None:
    story = Story()
    story.task("f", 0, 0, 100)
    story.task("g", 50, 60, 90)
    fresh.record(story)
    span = {"since_ns": at(20), "until_ns": at(70)}
    for more, before in (
        ({"baseline_since_ns": at(80), "baseline_until_ns": at(95)}, {("f",): 15, ("g",): 10}),
        ({"baseline_rest": True}, {("f",): 20 + 30, ("g",): 20}),
    ):
        _, frames = _flame(fresh, **span, **more)
        assert {name: one["value"] / MS for name, one in frames.items() if name} == {("f",): 50, ("g",): 10}
        assert {name: one["baseline_value"] / MS for name, one in frames.items() if name} == before
    for wrong in ({"baseline_rest": True}, {**span, "baseline_rest": True, "baseline_job_id": "01000000"}):
        fresh.error(fresh.client.get("/api/v1/flow/flame", params=wrong), 400)


def test_an_empty_session_has_an_empty_graph(fresh: Running) -> None:
    fresh.record(_story())
    found, _ = _flame(fresh, func_name="nobody")
    assert (found["total"], found["attempts"], len(found["frames"])) == (0, 0, 1)


def test_tasks_that_die_while_blocked_were_blocked_until_then(fresh: Any) -> None:
    story = Story()
    parent = story.task("parent", 0, 0, 100, failed=True)
    story.blocks(parent, story.task("child", 5, 10), since=10)
    fresh.record(story)
    frames = fresh.get("/api/v1/flow/flame", func_name="parent")["frames"]
    (frame,) = [frame for frame in frames if frame["name"] == "parent"]
    assert (frame["executing_ns"], frame["blocked_ns"]) == (10 * MS, 90 * MS)
    # The logical graph says the same.
    nodes = fresh.get("/api/v1/flow/logical", func_name="parent")["nodes"]
    (node,) = [node for node in nodes if node["name"] == "parent"]
    assert node["blocked_ns"] == 90 * MS
    # So do the phases.
    (phases,) = fresh.client.post(
        "/api/v1/sql", json={"sql": "SELECT executing_ns, blocked_ns FROM phases WHERE func_name = 'parent'"}
    ).json()["rows"]
    assert phases == [10 * MS, 90 * MS]
