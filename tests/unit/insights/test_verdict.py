"""The sentence about a job: what bound it, and which remedy it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rayscope.insights.verdict import explain, judge
from rayscope.views.critical_path.compute import Cause

S = 1_000_000_000


def cause(
    phase: str, total_s: float, name: str = "load", held_s: float = 0, *, driver: bool = False
) -> Cause:
    return Cause(phase, name, driver, 1, round(total_s * S), round(held_s * S))


def finding(
    saving_s: float | None,
    kind: str = "stragglers",
    function: str = "load",
    *,
    cost_s: float = 0,
    is_risk: bool = False,
) -> dict[str, Any]:
    return {
        "cost_ns": round(cost_s * S),
        "is_risk": is_risk,
        "kind": kind,
        "title": kind.title(),
        "function": function,
        "actor_class": None,
        **saving(saving_s),
    }


def saving(seconds: float | None) -> dict[str, int | None]:
    """A saving, and a range that reaches from half of it to half as much again."""
    times = {"saving_ns": 1.0, "saving_low_ns": 0.5, "saving_high_ns": 1.5}
    return {name: None if seconds is None else round(each * seconds * S) for name, each in times.items()}


def function(name: str, saving_s: float, *, driver: bool = False) -> dict[str, Any]:
    return {"function": name, "is_driver": driver, **saving(saving_s)}


def verdict(
    causes: Sequence[Cause],
    *,
    calls: Sequence[str] = (),
    findings: Sequence[Mapping[str, Any]] = (),
    functions: Sequence[Mapping[str, Any]] = (),
    options: Sequence[Mapping[str, Any]] = (),
    actors: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The verdict about a job of 100 s."""
    found = judge(
        100 * S,
        causes,
        set(calls),
        [*map(dict, findings)],
        [*map(dict, functions)],
        [*map(dict, options)],
        actors,
    )
    assert found is not None
    return found


def test_a_running_job_is_not_bound_by_what_comes_after_its_last_task_so_far() -> None:
    finishing, load = cause("finishing", 60, driver=True), cause("executing", 30)
    running = judge(100 * S, [finishing, load], set(), [], [], [], so_far=True)
    assert running is not None
    assert running["code"] == "function"
    assert judge(100 * S, [finishing], set(), [], [], [], so_far=True) is None
    assert verdict([finishing, load])["code"] == "finishing"
    assert explain(finishing, 100 * S, so_far=True) == ""
    assert explain(finishing, 100 * S) != ""


def test_a_job_that_took_no_time_has_no_verdict() -> None:
    assert judge(0, [], set(), [], [], []) is None


def test_the_largest_cause_bound_the_job() -> None:
    found = verdict([cause("waiting_node", 60), cause("executing", 40)])
    assert found["text"] == "Bound by resources: tasks waited for them for 1m 00s of 1m 40s."
    assert (found["code"], found["total_ns"], found["share"]) == ("waiting_node", 60 * S, 0.6)
    assert (found["remedy"], found["saving_ns"]) == (None, None)


@pytest.mark.parametrize("phase", ["preparing", "finishing"])
@pytest.mark.parametrize(("took_s", "code"), [(50, "queued"), (51, "itself")])
def test_start_and_end_bind_a_job_only_if_they_are_more_than_half_of_it(
    phase: str, took_s: float, code: str
) -> None:
    found = verdict([cause(phase, took_s), cause("queued", 49)])
    assert found["code"] == (phase if code == "itself" else code)


def test_start_and_end_count_where_there_is_nothing_else() -> None:
    assert verdict([cause("preparing", 40), cause("finishing", 30)])["code"] == "preparing"


@pytest.mark.parametrize(
    ("held_s", "calls", "code"),
    [(30, ["load"], "function"), (31, ["load"], "actor"), (30, [], "function"), (31, [], "cluster")],
)
def test_the_cause_of_most_waits_is_an_actor_or_the_cluster(
    held_s: float, calls: list[str], code: str
) -> None:
    assert verdict([cause("executing", 60, held_s=held_s)], calls=calls)["code"] == code


def test_the_driver_binds_a_job_whatever_waited_for_it() -> None:
    assert verdict([cause("executing", 60, held_s=60, driver=True)])["code"] == "driver"


@pytest.mark.parametrize(("saving_s", "shown"), [(0.99, False), (1.0, True)])
def test_a_remedy_of_less_than_one_percent_is_not_shown(saving_s: float, shown: bool) -> None:
    found = verdict([cause("executing", 60)], findings=[finding(saving_s)])
    assert (found["remedy"] is not None) == shown
    assert ("would save" in found["text"]) == shown


def test_the_finding_that_saves_most_is_the_remedy() -> None:
    findings = [finding(None, "deadlock"), finding(10, "retries"), finding(25, "stragglers", "load")]
    found = verdict([cause("executing", 60)], findings=findings, functions=[function("load", 30)])
    assert (found["remedy"], found["remedy_name"], found["remedy_place"]) == ("finding", "stragglers", "load")
    assert found["text"].endswith(
        "Fixing “Stragglers” (load) would save about 25.0 s, 25% (9 of 10: 12.5 to 37.5 s)."
    )


def test_what_costs_most_comes_first_if_nothing_predicted_saves_half_as_much() -> None:
    stuck = finding(None, "unschedulable", "far", cost_s=90)
    found = verdict([cause("waiting_node", 90)], findings=[stuck], functions=[function("load", 44)])
    assert (found["remedy"], found["remedy_name"], found["remedy_place"]) == (
        "finding",
        "unschedulable",
        "far",
    )
    assert (found["saving_ns"], found["saving_low_ns"]) == (None, None)
    assert found["text"].endswith("Start with “Unschedulable” (far): it costs up to 1m 30s, 90%.")
    more = [finding(None, "hang", "near", cost_s=89), stuck, finding(None, "gap", "there", cost_s=88)]
    assert verdict([cause("waiting_node", 90)], findings=more)["remedy_name"] == "unschedulable"
    for others in ({"findings": [{**stuck, "is_risk": True}]}, {"functions": [function("load", 45)]}):
        given = {"findings": [stuck], "functions": [function("load", 44)], **others}
        assert verdict([cause("waiting_node", 90)], **given)["remedy"] == "function"


def test_a_job_short_of_cpus_is_helped_by_more_of_them() -> None:
    options = [
        {"option": "no_startup", **saving(90)},
        {"option": "twice_the_cpus", **saving(40)},
    ]
    held = cause("executing", 60, held_s=60)
    found = verdict([held], options=options, functions=[function("load", 30)])
    assert (found["remedy"], found["remedy_name"], found["saving_ns"]) == ("option", "twice_the_cpus", 40 * S)
    # An option that removes the bottleneck comes before a finding that saves less.
    starting = cause("starting_worker", 60)
    found = verdict([starting], options=options, findings=[finding(25, "stragglers", "load")])
    assert (found["remedy"], found["remedy_name"], found["saving_ns"]) == ("option", "no_startup", 90 * S)
    # A job that is bound by something else is not.
    found = verdict([held._replace(held_ns=0)], options=options, functions=[function("load", 30)])
    assert (found["remedy"], found["remedy_name"]) == ("function", "load")


def test_the_driver_is_a_remedy_only_where_it_bound_the_job() -> None:
    functions = [function("main.py", 45, driver=True), function("load", 20)]
    bound = verdict([cause("executing", 90, "main.py", driver=True)], functions=functions)
    assert bound["text"].endswith(
        "The driver at half its time would save about 45.0 s, 45% (9 of 10: 22.5 s to 1m 08s)."
    )
    assert bound["remedy_name"] == "main.py"
    other = verdict([cause("executing", 60)], functions=functions)
    assert other["text"].endswith(
        "load at half its time would save about 20.0 s, 20% (9 of 10: 10.0 to 30.0 s)."
    )
    assert verdict([cause("executing", 60)], functions=functions[:1])["remedy"] is None


@pytest.mark.parametrize(
    ("phase", "actors", "took_s", "code", "said"),
    [
        ("executing", 1, 20, "actor", "one actor: load (pid 7 @ vm) ran for 20.0 s of"),
        ("executing", 2, 31, "actor", "one actor: load (pid 7 @ vm) ran for 31.0 s of"),
        ("executing", 2, 30, "actors", "several actors: load (most on pid 7 @ vm) ran for 1m 00s of"),
        ("awaiting", 2, 30, "awaiting", "an async method: load (most on pid 7 @ vm) awaited for 1m 00s of"),
    ],
)
def test_the_actor_with_most_of_the_time_is_named(
    phase: str, actors: int, took_s: float, code: str, said: str
) -> None:
    actor = {"actor_id": "ab" * 16, "pid": 7, "host": "vm", "actors": actors, "total_ns": round(took_s * S)}
    found = verdict([cause(phase, 60, held_s=60)], calls=["load"], actors={"load": actor})
    assert (found["code"], found["actor"]) == (code, actor)
    assert said in found["text"]


def test_large_causes_are_explained() -> None:
    assert explain(cause("queued", 14.9), 100 * S) == ""
    assert explain(cause("queued", 15), 100 * S).startswith("Calls waited 15.0 s in front of a busy worker")
    assert explain(cause("executing", 15), 100 * S).startswith("load itself ran for 15.0 s.")
    assert explain(cause("executing", 15, driver=True), 100 * S).startswith("The driver's own code ran for")
    assert explain(cause("blocked", 15, driver=True), 100 * S).startswith("15.0 s passed after results")
