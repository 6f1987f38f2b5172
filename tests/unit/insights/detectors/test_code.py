"""Ray's anti-patterns in records with known numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at

from rayscope.model import Edge, Span

#: Objects of ray.put, and those that Ray makes of arguments by value.
FIRST_PUT = 100_000_001
LARGE = 5_000_000


def ended(story: Story, end: float = 1000, store: float = 1e9) -> Story:
    """On one node with two CPUs; the job lasted so long."""
    resources = json.dumps({"CPU": 2.0, "object_store_memory": store})
    story.entity("node", "a" * 56, -1000, resources_total=resources, is_head=True)
    story.entity("worker", "d" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")
    story.entity("job", JOB, 0, end)
    return story


def span(story: Story, task: str, name: str, begin: float, end: float, **extra: Any) -> None:
    story.batch.spans.append(Span(task, 0, name, at(begin), at(end), json.dumps(extra) if extra else ""))


def edge(story: Story, task: str, kind: str, of: str, index: int, size: int | None, *when: float) -> None:
    attempt = -1 if kind in ("argument", "nested") else 0
    story.batch.edges.append(Edge(task, attempt, kind, of, index, size, at(when[0]), at(when[-1])))


def by_value(
    story: Story, task: str, index: int, submitted: tuple[float, float], size: int, what: int
) -> None:
    """A task got a large value by value, which took its caller so long to pass."""
    span(story, DRIVER, "submit_task", *submitted)
    edge(story, task, "fetched", DRIVER, FIRST_PUT + index, size, submitted[1] + 1)
    span(story, task, "content", submitted[1] + 1, submitted[1] + 1, bytes=size, check_sum=what)


def loads_until(story: Story, loaded: float, end: float) -> None:
    """The last task of the story loaded code before it began."""
    story.batch.attempts[-1].phases |= {
        "deserialize": (at(loaded), at(loaded)),
        "execute": (at(loaded), at(end)),
    }


def returns(story: Story, size: int, end: float) -> None:
    """Set the return value of the story's last task."""
    story.batch.attempts[-1].returned = at(end), size, size


def find(fresh: Running, story: Story, kind: str) -> dict[str, Any] | None:
    """The one finding of a kind, if there is one."""
    fresh.record(story)
    answer = fresh.get("/api/v1/insights")
    assert not [one for one in answer["silent"] if one["kind"] == kind]
    found = [one for one in answer["findings"] if one["kind"] == kind]
    assert len(found) <= 1
    return found[0] if found else None


def calls_with_a_table(contents: list[int]) -> Story:
    """Calls that were submitted in 20 ms each, with values of one size."""
    story = Story()
    for place, what in enumerate(contents):
        begin = 10 + 20 * place
        task = story.task("count", begin + 19, begin + 30, begin + 40)
        by_value(story, task, place, (begin, begin + 20), LARGE, what)
    return ended(story)


def test_one_value_for_many_calls(fresh: Running) -> None:
    found = find(fresh, calls_with_a_table([7] * 6), "large_argument")
    assert found is not None
    assert (found["function"], found["caller"], found["saving_ns"]) == ("count", "", None)
    assert found["cost_ns"] == 5 * 20 * MS
    assert found["numbers"] == {"calls": 6, "argument_bytes": LARGE, "copying_ns": 100 * MS}
    assert found["advice"].startswith("6 calls of count got the same value of 5 MB by value")


def test_values_of_one_size_that_differ(fresh: Running) -> None:
    assert find(fresh, calls_with_a_table([1, 2, 3, 4, 5, 6, 1, 2]), "large_argument") is None


def values_on_their_way(to_maker: bool, argument: int = LARGE + 1) -> Story:
    """Each value is got in 30 ms from when it was there, and passed on in 20 ms."""
    story = Story()
    for place in range(3):
        begin = 10 + 200 * place
        made = story.task("make", begin, begin + 1, begin + 50)
        returns(story, LARGE, begin + 50)
        if to_maker:
            by_value(story, made, 100 + place, (begin - 1, begin), LARGE, place)
        story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(begin + 2), at(begin + 80)))
        edge(story, DRIVER, "get", made, 1, LARGE, begin + 2, begin + 80)
        task = story.task("count", begin + 100, begin + 110, begin + 120)
        by_value(story, task, place, (begin + 81, begin + 101), argument, 100 + place)
    return ended(story)


def test_values_that_the_driver_passes_on(fresh: Running) -> None:
    found = find(fresh, values_on_their_way(to_maker=False), "unnecessary_get")
    assert found is not None
    assert (found["function"], found["cost_ns"]) == ("make", 3 * (30 + 20) * MS)
    assert (found["numbers"]["taker"], found["numbers"]["calls"]) == ("count", 3)


def test_values_of_the_size_of_what_they_are_made_of(fresh: Running) -> None:
    """The next call may get the next input: it has the size of all inputs."""
    assert find(fresh, values_on_their_way(to_maker=True), "unnecessary_get") is None


def test_arguments_of_another_size_are_other_values(fresh: Running) -> None:
    assert find(fresh, values_on_their_way(to_maker=False, argument=LARGE * 2), "unnecessary_get") is None


def loop_of_values(sizes: list[int]) -> Story:
    """A loop that gets each value and passes one of the same size to the next call."""
    story = Story()
    for place, size in enumerate(sizes):
        begin = 10 + 100 * place
        made = story.task("grow", begin, begin + 5, begin + 60, resources=json.dumps({"CPU": 1.0}))
        if place:
            by_value(story, made, place, (begin - 5, begin), sizes[place - 1], place)
        returns(story, size, begin + 60)
        story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(begin + 1), at(begin + 80)))
        edge(story, DRIVER, "get", made, 1, size, begin + 1, begin + 80)
    return ended(story)


def test_a_loop_in_which_each_call_needs_the_value_of_the_one_before(fresh: Running) -> None:
    """It must be a loop: what can be said is that the values need not come to the driver."""
    story = loop_of_values([LARGE + 1000 * place for place in range(6)])
    assert find(fresh, story, "get_in_loop") is None
    assert [one["kind"] for one in fresh.get("/api/v1/insights")["findings"]] == ["unnecessary_get"]


def test_a_loop_over_values_of_one_size(fresh: Running) -> None:
    """Each call may as well get an input of its own."""
    assert find(fresh, loop_of_values([LARGE] * 6), "get_in_loop") is not None


@pytest.mark.parametrize(("held", "is_alone"), [(0.5, True), (0.0, False)])
def test_a_loop_costs_no_more_than_what_fits_beside_the_actors(
    fresh: Running, held: float, is_alone: bool
) -> None:
    """On two CPUs, half a CPU that an actor holds leaves room for one call at a time."""
    story = loop_of_values([LARGE] * 6)
    actor, resources = "ac" * 12, json.dumps({"CPU": held})
    story.task("Counter.__init__", 0, 1, 2, actor=actor, resources=resources)
    story.entity("actor", actor + JOB, 2, class_name="Counter", job_id=JOB, required_resources=resources)
    found = find(fresh, story, "get_in_loop")
    assert found is not None
    one_by_one = 6 * 79 - 6 * 59  # the waits without the calls themselves, ms
    assert (found["cost_ns"] == one_by_one * MS) == is_alone
    assert found["cost_ns"] >= one_by_one * MS


def definitions(codes: list[str]) -> Story:
    """Calls on one worker that each take 15 ms to load code; the driver exported each code in 5 ms."""
    story = Story()
    for place, code in enumerate(codes):
        begin = 10 + 40 * place
        story.task("double", begin + 5, begin + 6, begin + 36)
        made = story.batch.attempts[-1]
        made.function_hash = code
        if code not in codes[:place]:
            span(story, DRIVER, "export", begin, begin + 5, code=code, bytes=900)
            loads_until(story, begin + 21, begin + 36)
    return ended(story)


def test_a_function_that_is_defined_for_each_call(fresh: Running) -> None:
    found = find(fresh, definitions([f"{number:032x}" for number in range(8)]), "redefined_function")
    assert found is not None
    assert (found["function"], found["numbers"]["definitions"], found["numbers"]["calls"]) == ("double", 8, 8)
    # All but the first definition, and all but the first that the worker loaded.
    assert found["cost_ns"] == 7 * (5 + 15) * MS


def test_few_functions_of_one_name(fresh: Running) -> None:
    story = definitions([f"{number % 4:032x}" for number in range(8)])
    assert find(fresh, story, "redefined_function") is None


def with_code(size: int) -> Story:
    story = Story()
    span(story, DRIVER, "export", 10, 60, code="c" * 32, bytes=size)
    for place in range(4):
        story.task("look_up", 60, 70, 300, worker=f"{place:056x}")
        story.batch.attempts[-1].function_hash = "c" * 32
        loads_until(story, 170, 300)
    return ended(story)


def test_a_function_with_a_large_object_in_it(fresh: Running) -> None:
    found = find(fresh, with_code(40_000_000), "large_closure")
    assert found is not None
    # The export, and what four workers loaded at the same time.
    assert (found["function"], found["cost_ns"]) == ("look_up", (50 + 100) * MS)
    assert found["numbers"] == {"code_bytes": 40_000_000, "workers": 4, "loading_ns": 400 * MS}


def test_functions_that_are_only_code(fresh: Running) -> None:
    assert find(fresh, with_code(90_000), "large_closure") is None


def puts(returned_bytes: int, blocked: float = 20) -> Story:
    story = Story()
    for place in range(5):
        begin = 10 + 100 * place
        task = story.task("load", begin, begin, begin + 50)
        returns(story, returned_bytes, begin + 50)
        edge(story, task, "put", task, FIRST_PUT, 16, begin + 40)
        story.get(DRIVER, task, begin + 1, begin + 52)
        story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(begin + 52), at(begin + 52 + blocked)))
        edge(story, DRIVER, "get", task, FIRST_PUT, 16, begin + 52, begin + 52 + blocked)
    return ended(story)


def test_references_instead_of_results(fresh: Running) -> None:
    found = find(fresh, puts(268), "return_put")
    assert found is not None
    assert (found["function"], found["cost_ns"], found["numbers"]["calls"]) == ("load", 5 * 20 * MS, 5)
    assert (found["severity"], found["is_risk"]) == ("warning", False)


def test_references_that_cost_no_time_are_a_risk_and_come_last(fresh: Running) -> None:
    found = find(fresh, puts(268, blocked=0), "return_put")
    assert found is not None
    assert (found["cost_ns"], found["severity"], found["is_risk"]) == (0, "info", True)
    all_of_them = fresh.get("/api/v1/insights")["findings"]
    assert len(all_of_them) > 1
    assert [one["kind"] for one in all_of_them if one["is_risk"]] == [all_of_them[-1]["kind"]]


def test_objects_put_by_one_task_and_returned_by_another(fresh: Running) -> None:
    """A task that returns None passed the reference to no other task."""
    assert find(fresh, puts(15), "return_put") is None


def sums(gets: int, between: int = 0) -> Story:
    """Two tasks that each get two nested values, the first 5 ms after they were made, in ``gets`` calls with
    ``between`` ms of work between them.
    """
    story = Story()
    for place in range(2):
        begin = 10 + 300 * place
        parts = [story.task("part", begin, begin + 10, begin + 110, worker=f"{n:056x}") for n in range(2)]
        task = story.task("add", begin + 1, begin + 12, begin + 170, worker="c" * 56)
        for number, part in enumerate(parts):
            edge(story, task, "nested", part, 1, None, begin + 1)
            is_later = gets > 1 and number > 0
            since, until = (
                (begin + 115 + between, begin + 118 + between) if is_later else (begin + 12, begin + 115)
            )
            if number < gets:
                story.batch.spans.append(Span(task, 0, "ray.get", at(since), at(until)))
            edge(story, task, "get", part, 1, 16, since, until)
        story.get(DRIVER, task, begin + 2, begin + 171)
    return ended(story)


def test_tasks_that_wait_for_what_they_were_given(fresh: Running) -> None:
    found = find(fresh, sums(gets=1), "nested_get")
    assert found is not None
    assert (found["function"], found["cost_ns"]) == ("add", 2 * 5 * MS)
    assert found["numbers"] == {"calls": 2, "blocked_ns": 2 * 103 * MS, "workers": 0}


@pytest.mark.parametrize(("between", "is_found"), [(0, True), (30, False)])
def test_tasks_that_take_one_value_after_the_other(fresh: Running, between: int, is_found: bool) -> None:
    found = find(fresh, sums(2, between), "nested_get")
    assert (found is not None) is is_found
    if found is not None:
        assert found["cost_ns"] == 2 * 8 * MS


def large_get(store: float) -> Story:
    story = Story()
    tasks = [story.task("array", 10, 20, 100, worker=f"{place:056x}") for place in range(10)]
    story.batch.spans.append(Span(DRIVER, 0, "ray.get", at(30), at(400)))
    for task in tasks:
        edge(story, DRIVER, "get", task, 1, 10_000_000, 30, 400)
    return ended(story, store=store)


def test_more_than_the_object_store_holds(fresh: Running) -> None:
    found = find(fresh, large_get(store=1e8), "many_objects_get")
    assert found is not None
    assert (found["function"], found["cost_ns"]) == ("array", 300 * MS)
    assert found["numbers"] == {
        "objects": 10,
        "got_bytes": 100_000_000,
        "store_bytes": 100_000_000,
        "gets": 1,
    }


def test_values_in_the_object_store(fresh: Running) -> None:
    assert find(fresh, large_get(store=2e8), "many_objects_get") is None


@pytest.mark.parametrize(
    ("kind", "span_name", "number"),
    [
        ("forked_process", "fork", "forks"),
        ("out_of_band_reference", "pickled_reference", "references"),
    ],
)
def test_risks_by_function_and_place(fresh: Running, kind: str, span_name: str, number: str) -> None:
    story = Story()
    for begin in (10, 100):
        task = story.task("load", begin, begin + 1, begin + 50)
        span(story, task, span_name, begin + 2, begin + 2, place="app.py:7 (load)", times=1)
    span(story, task, span_name, 102, 102, place="app.py:7 (load)", times=9)
    span(story, DRIVER, span_name, 200, 200, place="app.py:20", times=1)
    # What else may be in a record under this name: of the user's own (rayscope.span), and of others.
    span(story, DRIVER, span_name, 300, 310, user={"place": "app.py:1", "times": 1})
    span(story, DRIVER, span_name, 300, 310)
    span(story, DRIVER, span_name, 300, 310, place="app.py:1", times="often")
    fresh.record(ended(story))
    found = [one for one in fresh.get("/api/v1/insights")["findings"] if one["kind"] == kind]
    assert [(one["function"], one["numbers"]) for one in found] == [
        ("load", {"place": "app.py:7 (load)", number: 11}),
        (None, {"place": "app.py:20", number: 1}),
    ]
    assert {(one["severity"], one["is_risk"], one["cost_ns"]) for one in found} == {("info", True, 0)}
    assert (found[0]["filters"], found[1]["filters"]) == ({"func_name": "load"}, {})
    assert "at app.py:7 (load): at least 11" in found[0]["advice"]


def test_issues_of_ray_data_by_operator(fresh: Running) -> None:
    story = Story()
    story.task("_map_task", 1, 2, 900)
    story.batch.attempts[-1].module_name = "ray.data._internal.map"
    for begin, issue, message in (
        (10, "hanging", "A task {of} Map(f) runs for 9 s."),
        (20, "hanging", "A task of Map(f) runs for 19 s."),
        (30, "high memory", "Map(f) uses 4.1GiB."),
    ):
        values = {"place": "Map(f)", "times": 1, "issue": issue, "message": message}
        span(story, DRIVER, "data_issue", begin, begin, **values)
    # Ray assigns a thread of an actor its own task.
    span(story, "ef" * 20 + JOB, "data_issue", 40, 40, place="Sort", times=1, issue="hanging", message="No.")
    span(story, DRIVER, "data_issue", 50, 60, user={"place": "Sort", "times": 1})
    fresh.record(ended(story))
    found = [one for one in fresh.get("/api/v1/insights")["findings"] if one["kind"] == "data_issue"]
    assert [(one["numbers"]["operator"], one["numbers"]["issue"]) for one in found] == [
        ("Map(f)", "hanging"),
        ("Map(f)", "high memory"),
        ("Sort", "hanging"),
    ]
    assert found[0]["advice"].endswith("Map(f) (hanging): A task {of} Map(f) runs for 9 s.")
    assert {(one["severity"], one["is_risk"], one["origin"]) for one in found} == {("info", True, None)}
