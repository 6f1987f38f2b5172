"""The Gantt chart and the critical path of executions whose numbers are known, over the API."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, ORIGIN_NS, Story, at
from tests.waiting import wait_until

from rayscope.model import Edge, Span
from rayscope.storage.sql.filters import TaskFilters
from rayscope.views.gantt import sql as gantt_sql

A = "a" * 56
B = "b" * 56
C = "c" * 56
D = "d" * 56


def bars(picture: dict[str, Any]) -> list[tuple[str, str, int, float, float, int]]:
    """(lane, name, row, begin ms, end ms, attempts) of each bar, in the order of lanes and time."""
    columns = picture["bars"]
    found = []
    for at_, lane in enumerate(columns["lane"]):
        begin, end = columns["begin"][at_] / MS, columns["end"][at_] / MS
        name = picture["names"][columns["name"][at_]]
        lane_id = picture["lanes"][lane]["id"] or picture["lanes"][lane]["kind"]
        found.append((lane_id, name, columns["row"][at_], begin, end, columns["count"][at_]))
    return sorted(found, key=lambda bar: (bar[0], bar[3], bar[2]))


@pytest.fixture
def two_workers() -> Story:
    story = Story()
    first = story.task("make", 0, 10, 110, worker=A)
    story.task("use", 0, 120, 320, worker=A, queued=100)
    outer = story.task("outer", 20, 60, 400, worker=B, failed=True)
    inner = story.task("inner", 70, 90, 390, worker=B, parent=outer)
    story.get(outer, inner, 80, 395)
    story.task("waits", 50)
    story.get(DRIVER, first, 5, 111)
    return story


def test_bars_are_where_the_attempts_held_their_workers(fresh: Running, two_workers: Story) -> None:
    fresh.record(two_workers)
    picture = fresh.get("/api/v1/flow/gantt", by="worker", width=800, since_ns=at(0), until_ns=at(400))
    assert picture["origin_ns"] == picture["begin_ns"] == ORIGIN_NS
    assert [lane["id"] for lane in picture["lanes"]] == [A, B, ""]
    assert [lane["rows"] for lane in picture["lanes"]] == [1, 2, 1]
    assert [lane["attempts"] for lane in picture["lanes"]] == [2, 2, 1]
    assert picture["lanes"][0]["busy_ns"] == 300 * MS
    assert picture["lanes"][0]["pid"] == 100
    placed = [bar for bar in bars(picture) if bar[0] != "not_placed"]
    # While `outer` is blocked, what it waits for runs in the same worker's lane: below it.
    assert placed == [
        (A, "make", 0, 10, 110, 1),
        (A, "use", 0, 120, 320, 1),
        (B, "outer", 0, 60, 400, 1),
        (B, "inner", 1, 90, 390, 1),
    ]
    states = dict(
        zip((picture["names"][n] for n in picture["bars"]["name"]), picture["bars"]["state"], strict=True)
    )
    assert {name: picture["states"][state] for name, state in states.items()} == {
        "make": "finished",
        "use": "finished",
        "outer": "failed",
        "inner": "finished",
        "waits": "waiting",
    }
    assert (picture["attempts"], picture["in_window"], picture["merged"], picture["left_out"]) == (5, 5, 0, 0)


def test_long_bars_show_their_phases(fresh: Running) -> None:
    story = Story()
    story.task("first", 0, 10, 110)
    task_id = story.task("second", 20, 120, 320, queued=100)
    story.get(task_id, story.task("third", 130, 131, 231, worker=B, parent=task_id), 140, 240)
    story.awaits(task_id, 250, 280)
    story.awaits(task_id, 290, 315, awaited=24)  # several suspensions, drawn as one stretch
    story.awaits(task_id, 145, 235, awaited=3)
    fresh.record(story)
    picture = fresh.get("/api/v1/flow/gantt", width=800)
    bar = picture["bars"]["task_id"].index(task_id)
    at_ = picture["details"]["bar"].index(bar)
    details = {name: values[at_] for name, values in picture["details"].items()}
    # From the begin of the bar: submitted 100 ms before it, on its way to the worker for 20 ms.
    assert details == {
        "bar": bar,
        "created": -100 * MS,
        "waiting_node": -100 * MS,
        "queued": -20 * MS,
        "executing": 0,
        "storing": None,
    }
    assert picture["blocked"] == {
        "bar": [bar, bar, bar],
        "begin": [140 * MS, 250 * MS, 290 * MS],
        "end": [240 * MS, 280 * MS, 315 * MS],
        "is_awaiting": [False, True, True],
    }


@pytest.mark.parametrize(
    ("by", "lanes"),
    [
        ("function", {"outer": 1, "inner": 1, "use": 1, "make": 1}),
        ("node", {"a" * 56: 4}),
        ("actor", {"": 4}),
    ],
)
def test_other_lanes(fresh: Running, two_workers: Story, by: str, lanes: dict[str, int]) -> None:
    fresh.record(two_workers)
    picture = fresh.get("/api/v1/flow/gantt", by=by)
    placed = [lane for lane in picture["lanes"] if lane["kind"] != "not_placed"]
    assert {lane["id"]: lane["attempts"] for lane in placed} == lanes
    assert picture["lanes_total"] == len(lanes) + 1


def test_waiting_calls_are_on_the_lane_of_their_actor_and_last_while_they_execute(
    fresh: Running,
) -> None:
    story, actor = Story(), "c" * 24
    for number in range(3):  # each stores its outputs while the next one executes
        begin = 10 + 100 * number
        story.task("Store.put", 0, begin, begin + 180, actor=actor, worker=A)
        story.batch.attempts[-1].phases["execute"] = at(begin + 10), at(begin + 100)
    for _ in range(5):
        story.task("Store.put", 20, actor=actor)
    story.task("other", 20)
    story.entity("actor", actor + JOB, 0, worker_id=A)
    fresh.record(story)
    lane, waiting = fresh.get("/api/v1/flow/gantt", by="worker")["lanes"]
    assert (lane["id"], lane["waiting"], waiting["attempts"]) == (A, 5, 1)
    picture = fresh.get("/api/v1/flow/gantt", by="actor", width=800, since_ns=at(0), until_ns=at(400))
    lane, waiting = picture["lanes"]
    assert (lane["actor_id"], lane["waiting"], lane["rows"], lane["folded"]) == (actor + JOB, 5, 2, 0)
    assert (waiting["kind"], waiting["waiting"], waiting["attempts"]) == ("not_placed", 1, 1)
    assert lane["busy_ns"] == 3 * 90 * MS
    on_lane = [bar for bar in bars(picture) if bar[0] == actor + JOB]
    assert [bar[2:5] for bar in on_lane if bar[2] == 0] == [
        (0, 20, 110),
        (0, 120, 210),
        (0, 220, 310),
    ]
    assert {bar[2:4] for bar in on_lane if bar[2] == 1} == {(1, 20)}
    states = [picture["states"][state] for state in picture["bars"]["state"]]
    assert states.count("waiting") == 6


def test_a_window_and_filters_narrow_it_but_not_the_lanes_or_the_extent(
    fresh: Running, two_workers: Story
) -> None:
    fresh.record(two_workers)
    window = fresh.get("/api/v1/flow/gantt", since_ns=at(330), until_ns=at(350), width=100)
    assert [bar[1] for bar in bars(window) if bar[0] == B] == ["outer", "inner"]
    assert [bar for bar in bars(window) if bar[0] == A] == []
    assert window["lanes"][0]["busy_ns"] == 300 * MS
    assert window["origin_ns"] == ORIGIN_NS
    one = fresh.get("/api/v1/flow/gantt", func_name="use")
    assert [bar[1] for bar in bars(one)] == ["use"]
    some = fresh.get("/api/v1/flow/gantt", lanes=1, lanes_from=1)
    assert [lane["id"] for lane in some["lanes"]] == [B]
    assert {bar[0] for bar in bars(some)} == {B}
    none = fresh.get("/api/v1/flow/gantt", func_name="no such")
    assert (none["attempts"], none["lanes"], none["bars"]["lane"]) == (0, [], [])


def test_bars_too_small_to_see_are_merged_and_counted(fresh: Running) -> None:
    story = Story()
    story.task("long", 0, 0, 1000, worker=B)
    longest = ""
    for number in range(200):
        made = story.task(
            "tiny", 0, 500 + number / 100, 500 + number / 100 + 0.005, worker=A, failed=number == 7
        )
        longest = longest or made
    story.task("rest", 0, 700, 701, worker=A)
    fresh.record(story)
    picture = fresh.get("/api/v1/flow/gantt", width=100)
    # A pixel is 10 ms; the next power of two is 16.8 ms.
    assert picture["resolution_ns"] == 2**24
    merged = [(name, count) for lane, name, _, _, _, count in bars(picture) if lane == A]
    assert ("rest", 1) in merged
    assert sum(count for name, count in merged if name == "tiny") == 200
    assert len(merged) <= 3
    assert sum(picture["bars"]["failed"]) == 1
    assert picture["merged"] == 200
    assert sum(picture["bars"]["busy"]) == round(1001 * MS + 200 * 0.005 * MS)
    near = fresh.get("/api/v1/flow/gantt", width=1000, since_ns=at(500), until_ns=at(502))
    assert len([bar for bar in bars(near) if bar[1] == "tiny"]) == 200
    assert near["merged"] == 0


def test_bars_have_the_largest_peak_memory_of_their_attempts(fresh: Running) -> None:
    story = Story()
    sizes = {
        "long": (500, "own"),
        "shared": (900, "shared"),
        "unknown": (None, "off"),
        "later": (2_000, "own"),
    }
    for begin, (name, memory) in zip((0, 200, 400, 5_000), sizes.items(), strict=True):
        story.task(name, begin, begin, begin + 100, worker=A)
        story.batch.attempts[-1].peak_memory, story.batch.attempts[-1].memory_scope = memory
    for number in range(10):
        story.task("tiny", 600, 600 + number / 100, 600.005 + number / 100, worker=B)
        story.batch.attempts[-1].peak_memory, story.batch.attempts[-1].memory_scope = 10 * number, "own"
    story.batch.attempts[-1].peak_memory = None
    fresh.record(story)
    picture = fresh.get("/api/v1/flow/gantt", width=800, since_ns=at(0), until_ns=at(800))
    columns = picture["bars"]
    names = [picture["names"][at_] for at_ in columns["name"]]
    assert dict(zip(names, columns["peak_memory"], strict=True)) == {
        "long": 500,
        "shared": 900,
        "unknown": None,
        "tiny": 80,
    }
    assert columns["count"][names.index("tiny")] == 10
    assert picture["memory_shared"] == [names.index("shared")]
    assert {lane["id"]: lane["max_memory"] for lane in picture["lanes"]} == {A: 2_000, B: 80}
    assert picture["max_memory"] == 2_000


def test_memory_that_was_not_measured_is_null(fresh: Running, two_workers: Story) -> None:
    fresh.record(two_workers)
    picture = fresh.get("/api/v1/flow/gantt")
    assert (picture["max_memory"], picture["memory_shared"]) == (None, [])
    assert set(picture["bars"]["peak_memory"]) == {None}


def test_utilisation_is_the_mean_number_of_running_attempts(fresh: Running) -> None:
    story = Story()
    story.task("whole", 0, 0, 400)
    story.task("half", 0, 200, 400, worker=C)
    fresh.record(story)
    utilisation = fresh.get("/api/v1/flow/gantt")["utilisation"]
    assert utilisation["bucket_ns"] == MS
    assert utilisation["running"] == [1.0] * 200 + [2.0] * 200
    assert fresh.get("/api/v1/flow/gantt", overview=False)["utilisation"] is None


def test_events_after_the_layout_of_lanes_do_not_count_as_use(fresh: Running) -> None:
    story = Story()
    story.task("whole", 0, 0, 400)
    story.task("runs", 0, 100, worker=C)
    story.task("longer", 0, 200, 600, worker=D)
    story.task("after", 0, 500, 600, worker=D)
    fresh.record(story)
    assert fresh.server.services is not None
    bucket_ns, running = fresh.server.services.records.read(
        fresh.server.services.records.resolve(None),
        lambda file: gantt_sql.utilisation(file, TaskFilters(), at(0), at(400), last_ns=at(10_000)),
    )
    assert bucket_ns == MS
    assert running == [1.0] * 100 + [2.0] * 100 + [3.0] * 200


def test_bad_questions_are_refused(fresh: Running, two_workers: Story) -> None:
    fresh.record(two_workers)
    fresh.error(fresh.client.get("/api/v1/flow/gantt", params={"by": "colour"}), 400)
    fresh.error(fresh.client.get("/api/v1/flow/gantt", params={"since_ns": 5, "until_ns": 5}), 400)
    fresh.error(fresh.client.get("/api/v1/flow/gantt", params={"width": 10**9}), 422)
    fresh.error(fresh.client.get("/api/v1/flow/critical-path", params={"job_id": "02000000"}), 404)


def test_the_critical_path_adds_up_to_the_duration(fresh: Running) -> None:
    story = Story()
    make = story.task("make", 0, 10, 100, worker=B)
    use = story.task("use", 0, 110, 290, worker=C)
    story.batch.attempts[-1].states["PENDING_NODE_ASSIGNMENT"] = at(102)
    story.argument(use, make)
    story.get(DRIVER, use, 5, 300)
    holds = story.task("holds", 305, 306, 330, worker=D)
    last = story.task("last", 310, 332, 400, worker=D)
    story.task("aside", 0, 10, 390, worker=A)
    story.get(DRIVER, last, 311, 402)
    story.entity("job", JOB, 0, 420)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    lanes = [
        (link["name"], link["phase"], (link["begin_ns"] - ORIGIN_NS) / MS, (link["end_ns"] - ORIGIN_NS) / MS)
        for link in path["links"]
    ]
    assert lanes == [
        ("make", "waiting_node", 0, 10),
        ("make", "executing", 10, 100),
        ("use", "waiting_args", 100, 102),
        ("use", "waiting_node", 102, 110),
        ("use", "executing", 110, 290),
        ("driver", "blocked", 290, 300),
        ("driver", "executing", 300, 305),
        ("holds", "waiting_node", 305, 306),
        ("holds", "executing", 306, 330),
        ("last", "waiting_node", 330, 332),
        ("last", "executing", 332, 400),
        ("driver", "blocked", 400, 402),
        ("driver", "executing", 402, 420),
    ]
    assert [link["task_id"] for link in path["links"]][-5:] == [holds, last, last, DRIVER, DRIVER]
    assert (path["duration_ns"], path["job_id"], path["truncated"]) == (420 * MS, JOB, False)
    assert (path["so_far"], path["driver_traced"]) == (False, True)
    assert sum(share["total_ns"] for share in path["functions"]) == 420 * MS
    use_share = path["functions"][0]
    assert (use_share["name"], use_share["total_ns"], use_share["without_ns"]) == ("use", 190 * MS, 230 * MS)
    assert use_share["by_phase"] == {"executing": 180 * MS, "waiting_args": 2 * MS, "waiting_node": 8 * MS}
    assert path["phases"]["executing"] == (90 + 180 + 5 + 24 + 68 + 18) * MS
    # `last` was ready from 310 on, and waited for the worker that `holds` kept busy.
    assert path["held_ns"] == 20 * MS


def test_the_critical_path_is_that_of_the_longest_job_that_ran_tasks(fresh: Running) -> None:
    story = Story()
    jobs = {"02000000": "short", "03000000": "long", "04000000": "never"}
    ids = {job: [("%016x" % (number + 100)) + "f" * 24 + job for number in range(5)] for job in jobs}
    for task_id in ids["02000000"]:
        story.task("short", 0, 10, 100, task_id=task_id, worker=C)
    story.task("long", 0, 10, 400, task_id=ids["03000000"][0], worker=B)
    story.task("never", 0, task_id=ids["04000000"][0])
    for attempt in story.batch.attempts:
        attempt.job_id = attempt.task_id[-8:]
    fresh.record(story)
    assert fresh.get("/api/v1/flow/critical-path")["job_id"] == "03000000"


def test_the_critical_path_goes_through_retries_and_nested_waits(fresh: Running) -> None:
    story = Story()
    outer = story.task("outer", 0, 5, 300, worker=A)
    inner = story.task("inner", 10, 20, 100, worker=B, parent=outer, failed=True)
    story.task("inner", 110, 120, 250, worker=B, parent=outer, task_id=inner, attempt=1)
    story.get(outer, inner, 15, 255)
    story.get(DRIVER, outer, 1, 300)
    story.entity("job", JOB, 0, 300)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path", job_id=JOB)
    lanes = [
        (link["name"], link["attempt"], link["phase"], (link["end_ns"] - link["begin_ns"]) / MS)
        for link in path["links"]
    ]
    assert lanes == [
        ("outer", 0, "waiting_node", 5),
        ("outer", 0, "executing", 5),
        ("inner", 0, "waiting_node", 10),
        ("inner", 0, "executing", 80),
        ("inner", 1, "retrying", 10),
        ("inner", 1, "waiting_node", 10),
        ("inner", 1, "executing", 130),
        ("outer", 0, "blocked", 5),
        ("outer", 0, "executing", 45),
    ]


def test_a_long_path_shows_its_longest_links(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayscope.views.critical_path.api.MAX_LINKS", 5)
    story = Story()
    for number in range(12):
        story.task("queued", 0, 10 * number + 1, 10 * number + 10)
    story.entity("job", JOB, 0, 120)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    assert (path["links_total"], path["duration_ns"]) == (24, 120 * MS)
    begins = [(link["begin_ns"] - ORIGIN_NS) / MS for link in path["links"]]
    assert begins == [1, 11, 21, 31, 41]
    assert path["left_out_ns"] == (120 - 5 * 9) * MS
    assert path["phases"] == {"waiting_node": 12 * MS, "executing": 108 * MS}


def _path(running: Running, **params: Any) -> list[tuple[str, str, float, float]]:
    """(name, phase, begin, end) of each link, in ms of the story."""
    return [
        (link["name"], link["phase"], (link["begin_ns"] - ORIGIN_NS) / MS, (link["end_ns"] - ORIGIN_NS) / MS)
        for link in running.get("/api/v1/flow/critical-path", **params)["links"]
    ]


def test_the_path_of_a_job_that_runs_ends_at_what_its_driver_waits_for(fresh: Running) -> None:
    story = Story()
    story.task("Gateway.forever", 0, 1, worker=D)
    outer = story.task("outer", 0, 0, worker=A)
    inner = story.task("inner", 10, 20, worker=B, parent=outer)
    story.blocks(outer, inner, 15)
    story.blocks(DRIVER, outer, 5)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    assert [(link["name"], link["phase"]) for link in path["links"]] == [
        ("outer", "executing"),
        ("inner", "waiting_node"),
        ("inner", "executing"),
    ]
    assert path["links"][-1]["task_id"] == inner
    assert path["so_far"]


def test_the_path_of_a_job_whose_driver_runs_ends_at_the_driver(fresh: Running) -> None:
    story = Story()
    story.task("Gateway.forever", 0, 1, worker=D)
    work = story.task("work", 0, 5, 50, worker=A)
    story.get(DRIVER, work, 1, 52)
    fresh.record(story)
    path = fresh.get("/api/v1/flow/critical-path")
    assert [(link["name"], link["phase"]) for link in path["links"]] == [
        ("work", "waiting_node"),
        ("work", "executing"),
        ("driver", "blocked"),
        ("driver", "executing"),
    ]
    assert path["so_far"]


def test_tasks_that_never_ended_take_nothing_of_the_path(fresh: Running) -> None:
    """One was awaited for a while in vain, of another only the begin is known, and neither ever ended."""
    story = Story()
    load = story.task("load", 0, 5, 50)
    story.get(DRIVER, load, 1, 52)
    infeasible = story.task("infeasible", 60)
    # (Whatever has not ended by then is ended with the job.)
    story.task("pending", 970, None, 1000, failed=True)
    story.times_out(DRIVER, story.batch.attempts[-1].task_id, 975, 979)
    story.times_out(DRIVER, infeasible, 60, 160)
    story.task("", 10, 20, worker=D)
    story.batch.attempts[-1].name = story.batch.attempts[-1].func_name = None
    # The last wait ends with the driver, and so do they.
    story.times_out(DRIVER, infeasible, 980, 995)
    story.entity("job", JOB, 0, 1000)
    fresh.record(story)
    assert _path(fresh) == [
        ("load", "waiting_node", 0, 5),
        ("load", "executing", 5, 50),
        ("driver", "blocked", 50, 52),
        ("driver", "executing", 52, 60),
        ("driver", "blocked", 60, 160),
        ("driver", "executing", 160, 975),
        ("driver", "blocked", 975, 979),
        ("driver", "executing", 979, 980),
        ("driver", "blocked", 980, 995),
        ("driver", "executing", 995, 1000),
    ]


def test_the_start_of_a_worker_and_the_loading_of_code_are_phases_of_their_own(fresh: Running) -> None:
    story = Story()
    first = story.task("first", 0, 2000, 2500, worker=B, queued=1995)
    story.batch.attempts[-1].phases = {
        "deserialize": (at(2100), at(2130)),
        "execute": (at(2130), at(2400)),
    }
    # A task in an existing worker waits for a node, however long.
    later = story.task("later", 10, 2600, 2700, worker=B, queued=2600)
    story.entity("worker", B, 1990, None, launch_ns=at(400), worker_type="WORKER")
    story.get(DRIVER, [first, later], 1, 2700)
    story.entity("job", JOB, 0, 2700)
    fresh.record(story)
    assert _path(fresh)[:7] == [
        ("first", "waiting_node", 0, 400),
        ("first", "starting_worker", 400, 1995),
        ("first", "queued", 1995, 2000),
        # Loading and unpacking its first call imports modules that all calls need.
        ("first", "starting_worker", 2000, 2130),
        ("first", "executing", 2130, 2400),
        # At the end of the first call Ray imports what it stores values with.
        ("first", "starting_worker", 2400, 2500),
        ("later", "waiting_node", 2500, 2600),
    ]
    of_first = fresh.get(f"/api/v1/tasks/{first}")["scheduling"][0]
    assert (of_first["waiting_node_ns"], of_first["starting_worker_ns"], of_first["loading_ns"]) == (
        400 * MS,
        1595 * MS,
        100 * MS,
    )
    summed = fresh.get("/api/v1/flow/range")["phases"]
    assert (summed["starting_worker"], summed["waiting_node"]) == (1595 * MS, (400 + 2590) * MS)
    stack = fresh.get("/api/v1/flow/stack", at_ns=at(1000))["nodes"]
    assert {(node["name"], node["situation"]) for node in stack if node["count"]} == {
        ("first", "starting_worker"),
        ("later", "waiting_node"),
    }


def test_values_of_a_generator_are_waited_for_while_it_runs(fresh: Running) -> None:
    story = Story()
    stream = story.task("stream", 0, 10, 200)
    for number in range(3):
        begin, end = 50 * number + 1, 50 * number + 40
        story.batch.spans.append(Span(DRIVER, 0, "ray.wait", at(begin), at(end), '{"ready":1}'))
        story.batch.edges.append(Edge(DRIVER, 0, "wait", stream, number + 2, None, at(begin), at(end)))
    story.entity("job", JOB, 0, 150)
    fresh.record(story)
    assert _path(fresh) == [
        ("stream", "waiting_node", 0, 10),
        ("stream", "executing", 10, 140),
        ("driver", "executing", 140, 150),
    ]


def test_of_more_objects_than_are_named_the_last_one_counts(fresh: Running) -> None:
    story = Story()
    named = story.task("many", 0, 5, 10, worker=B)
    story.task("many", 0, 10, 90, worker=B)
    story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(1), at(92), '{"objects":2000,"bytes":2000}'))
    story.batch.edges.append(Edge(DRIVER, 0, "get", named, 1, 1, at(1), at(92)))
    story.entity("job", JOB, 0, 100)
    fresh.record(story)
    assert ("many", "executing", 10, 90) in _path(fresh)


def test_a_driver_without_a_tracer_is_taken_to_wait_for_what_it_submits(fresh: Running) -> None:
    story = Story()
    story.task("first", 0, 10, 50)
    story.task("second", 60, 65, 90)
    story.entity("job", JOB, 0, 200)
    fresh.record(story)
    assert _path(fresh) == [
        ("first", "waiting_node", 0, 10),
        ("first", "executing", 10, 50),
        ("driver", "unknown", 50, 60),
        ("second", "waiting_node", 60, 65),
        ("second", "executing", 65, 90),
        ("driver", "unknown", 90, 200),
    ]
    assert not fresh.get("/api/v1/flow/critical-path")["driver_traced"]


def test_no_time_at_all_and_clocks_that_differ_are_drawn_whole(fresh: Any) -> None:
    story = Story()
    story.task("at once", 0, 0, 0)
    fresh.record(story)
    assert fresh.get("/api/v1/flow/gantt")["in_window"] == 1
    story.task("early", -100, -150, -110)  # its worker's clock is behind that of who submitted it
    fresh.record(story)
    answer = fresh.get("/api/v1/flow/gantt", by="node")
    assert (answer["in_window"], answer["left_out"], answer["origin_ns"]) == (2, 0, at(-150))


def test_lanes_by_call_path_are_the_call_tree_and_fold(fresh: Running) -> None:
    story = Story()
    outer = story.task("outer", 0, 10, 100)
    inner = story.task("inner", 20, 30, 90, parent=outer)
    story.task("leaf", 40, 45, 50, parent=inner)
    story.task("leaf", 40, 50, 60, parent=inner)
    story.task("another", 0, 100, 110)
    story.task("leaf", 0, 110, 120)
    fresh.record(story)

    def lanes(path: str, **params: Any) -> list[tuple[str, int, int, float]]:
        rows = fresh.get(path, by="path", **params)["lanes"]
        return [(one["label"], one["depth"], one["attempts"], one["busy_ns"] / MS) for one in rows]

    assert lanes("/api/v1/flow/gantt") == [
        ("another", 1, 1, 10),
        ("leaf", 1, 1, 10),
        ("outer", 1, 1, 90),
        ("inner", 2, 1, 60),
        ("leaf", 3, 2, 15),
    ]
    assert lanes("/api/v1/flow/gantt", levels=1)[2:] == [("outer", 1, 4, 90 + 60 + 15)]
    assert lanes("/api/v1/flow/gantt", levels=2, lanes_from=2) == [("outer", 1, 1, 90), ("inner", 2, 3, 75)]
    picture = fresh.get("/api/v1/flow/gantt", by="path", levels=2)
    of_lane = [picture["lanes"][lane]["label"] for lane in picture["bars"]["lane"]]
    assert sorted(of_lane) == ["another", "inner", "inner", "inner", "leaf", "outer"]
    assert lanes("/api/v1/flow/range", levels=1)[0] == ("outer", 1, 4, 165)
    fresh.error(fresh.client.get("/api/v1/flow/gantt", params={"by": "path", "levels": 99}), 422)


def test_lanes_added_after_the_layout_are_reported(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.story.ORIGIN_NS", time.time_ns())  # a live session
    monkeypatch.setattr("rayscope.records.response_cache._MIN_TTL_S", 60.0)
    story = Story()
    story.task("early", -1000, -900, -800)
    fresh.record(story)
    before = fresh.get("/api/v1/flow/gantt")
    story.task("late", -500, -400, -300)
    story.task("elsewhere", -500, -400, -300, worker="c" * 56)
    fresh.record(story)
    wait_until(lambda: len(fresh.get("/api/v1/tasks")["items"]) == 3, "what came later")
    found = fresh.get("/api/v1/flow/gantt", width=1500)
    assert (before["attempts"], found["attempts"], found["in_window"], found["left_out"]) == (1, 3, 3, 1)
    assert found["names"] == ["early", "late"] or found["names"] == ["late", "early"]
    assert found["end_ns"] == before["end_ns"] + 500 * MS


def test_a_job_may_be_called_anything(fresh: Running) -> None:
    job = "' OR parent_lo <> '"
    story = Story()
    story.task("theirs", 0, 1, 9)
    story.task("own", 0, 2, 5, job=job, worker="c" * 56, parent=f"{'f' * 40}{job}")
    fresh.record(story)
    for one, name in ((job, "own"), (JOB, "theirs")):
        path = fresh.get("/api/v1/flow/critical-path", job_id=one)
        assert {link["name"] for link in path["links"]} - {"driver"} == {name}
