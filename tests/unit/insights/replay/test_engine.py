"""The simulation of small programs whose answers are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.insights.replay import plain_simulation as plain
from tests.unit.insights.replay.programs import MS, Made

from rayscope.insights.replay.changes import Change, change
from rayscope.insights.replay.engine import replay
from rayscope.insights.replay.path import critical_path
from rayscope.insights.replay.program import (
    COMPUTE,
    FREE,
    KILL,
    REMOVE,
    RESERVE,
    SUBMIT,
    UNIT,
    UNLIMITED,
    WAIT,
    YIELD,
    Group,
    Wait,
)


def test_tasks_take_turns_on_the_cpus() -> None:
    made = Made(2)
    made.submit_and_get(*(made.task("work", 10) for _ in range(5)))
    assert made.ms() == 30


def test_resources_are_counted_in_parts() -> None:
    made = Made(1)
    made.submit_and_get(*(made.task("work", 10, cpus=0.3) for _ in range(4)))
    assert made.ms() == 20


def test_a_task_that_asks_for_more_than_is_free_waits_for_all_of_it() -> None:
    made = Made(4)
    small = [made.task("small", 10 * (1 + place)) for place in range(4)]
    made.submit_and_get(*small, made.task("large", 5, cpus=4))
    assert made.ms() == 45


def test_a_task_runs_on_one_node() -> None:
    made = Made(1, 1)
    made.driver([(SUBMIT, made.task("large", 5, cpus=2)), (COMPUTE, 1)])
    assert made.replay().given_ns[0] == -1


def test_arguments_are_waited_for() -> None:
    made = Made(4)
    first = made.task("load", 10)
    second = made.task("work", 5, needs=(first,))
    made.submit_and_get(first, second, made.task("merge", 1, needs=(first, second)))
    assert made.ms() == 16


def test_ray_takes_its_time() -> None:
    made = Made(1)
    made.submit_and_get(*(made.task("work", 10, lead=3 * MS, delay=2 * MS, tail=1 * MS) for _ in range(2)))
    # The second one's lead passes while the first one runs.
    assert made.ms() == 3 + 2 * (2 + 10 + 1)


def test_a_blocked_task_gives_its_cpus_back() -> None:
    made = Made(1)
    child = made.task("child", 10)
    parent = made.task("parent", [(COMPUTE, 1), (SUBMIT, child), made.get(child), (COMPUTE, 1)])
    made.submit_and_get(parent)
    assert made.ms() == 12


def test_a_task_that_goes_on_does_not_wait_for_cpus() -> None:
    made = Made(1)
    actor, creation = made.actor("Free")
    call, other = made.call("Free.work", 10, actor), made.task("other", 50)
    parent = made.task("parent", [(SUBMIT, call), made.get(call), (COMPUTE, 1)])
    driver = made.driver(
        [(SUBMIT, creation), (SUBMIT, parent), (COMPUTE, 5), (SUBMIT, other), made.get(parent)]
    )
    replayed = made.replay()
    assert replayed.started_ns[other] == 5 * MS
    assert replayed.ended_ns[driver] == 11 * MS


def test_classes_are_served_fairly() -> None:
    made = Made(2)
    many = [made.task("many", 10) for _ in range(6)]
    few = made.task("few", 10)
    made.driver([*((SUBMIT, run) for run in many), (COMPUTE, 1), (SUBMIT, few), made.get(*many, few)])
    # It comes as soon as one of the first two has ended.
    assert made.replay().started_ns[few] == 10 * MS


def test_an_actor_runs_one_call_after_the_other() -> None:
    made = Made(4)
    actor, creation = made.actor("Counter", ms=5)
    calls = [made.call("Counter.add", 10, actor) for _ in range(3)]
    made.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), made.get(*calls)])
    assert made.ms() == 35


@pytest.mark.parametrize(("slots", "ms"), [(2, 20), (UNLIMITED, 10)])
def test_actors_that_run_calls_at_once(slots: int, ms: float) -> None:
    made = Made(1)
    actor, creation = made.actor("Async", slots=slots)
    calls = [made.call("Async.work", 10, actor) for _ in range(4)]
    made.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), made.get(*calls)])
    assert made.ms() == ms


def test_calls_of_one_caller_come_in_order() -> None:
    made = Made(4)
    actor, creation = made.actor("Counter")
    slow = made.task("slow", 50)
    first = made.call("Counter.add", 1, actor, needs=(slow,))
    second = made.call("Counter.read", 1, actor)
    made.programs.after[first], made.programs.before[second] = second, first
    made.driver([(SUBMIT, creation), (SUBMIT, slow), (SUBMIT, first), (SUBMIT, second), made.get(second)])
    assert made.ms() == 52


def test_an_actor_keeps_its_cpus_until_it_is_gone() -> None:
    made = Made(1)
    actor, creation = made.actor("Holder", cpus=1)
    work = made.task("work", 10)
    made.driver(
        [(SUBMIT, creation), (COMPUTE, 1), (SUBMIT, work), (COMPUTE, 20), (KILL, actor), made.get(work)]
    )
    assert made.ms() == 31


def test_an_actor_is_gone_after_its_last_call() -> None:
    made = Made(1)
    actor, creation = made.actor("Holder", cpus=1)
    call, work = made.call("Holder.hold", 30, actor), made.task("work", 10)
    made.driver(
        [(SUBMIT, creation), (SUBMIT, call), (COMPUTE, 1), (SUBMIT, work), (KILL, actor), made.get(work)]
    )
    assert made.ms() == 40


def test_retries_come_one_after_the_other() -> None:
    made = Made(1)
    first, second = made.task("flaky", 10), made.task("flaky", 20)
    made.programs.again[first], made.programs.again_after[first] = second, 5 * MS
    made.driver([(SUBMIT, first), made.get(second)])
    assert made.ms() == 35


def test_some_of_many_are_waited_for() -> None:
    made = Made(8)
    tasks = [made.task("work", ms) for ms in (40, 10, 30, 20)]
    counter = made.count(*tasks)
    steps = [*((SUBMIT, task) for task in tasks)]
    for needed in range(1, 5):
        steps += [made.some(counter, needed), (COMPUTE, 1)]
    made.driver(steps)
    assert made.ms() == 41
    made.programs.alone[tasks[0]] = 5 * MS
    assert made.ms() == 31  # whichever they are


def test_a_wait_gives_up() -> None:
    made = Made(1)
    slow = made.task("slow", 100)
    made.programs.waits.append(Wait((), counter=made.count(slow), needed=1, timeout_ns=10 * MS))
    made.driver([(SUBMIT, slow), (WAIT, 0), (COMPUTE, 5)])
    assert made.ms() == 15


def test_what_a_generator_yields_is_there_before_its_end() -> None:
    made = Made(2)
    value = made.programs.add_signal()
    generator = made.task("generate", [(COMPUTE, 10), (YIELD, value), (COMPUTE, 90)])
    made.programs.waits.append(Wait((value,), 1 * MS))
    made.driver([(SUBMIT, generator), (WAIT, 0)])
    assert made.ms() == 11


def test_a_placement_group_reserves() -> None:
    made = Made(2)
    made.programs.groups = [Group([((0, UNIT),), ((0, UNIT),)])]
    inside = [made.task("inside", 10) for _ in range(2)]
    for run in inside:
        made.programs.group[run] = 0
    outside = made.task("outside", 10)
    made.driver(
        [
            (RESERVE, 0),
            *((SUBMIT, run) for run in (*inside, outside)),
            made.get(*inside),
            (COMPUTE, 5),
            (REMOVE, 0),
            made.get(outside),
        ]
    )
    assert made.ms() == 25


def test_nodes_come_and_go() -> None:
    made = Made(1, 1)
    made.programs.node_from[1] = 10 * MS
    made.submit_and_get(*(made.task("work", 20) for _ in range(3)))
    assert made.ms() == 40
    made.programs.node_until[1] = 25 * MS  # what runs there goes on
    assert made.ms() == 40
    made.programs.node_from[1], made.programs.node_until[1] = 0, 5 * MS
    assert made.ms() == 40


def test_what_cannot_go_on_is_told() -> None:
    made = Made(1)
    never = made.task("never", 1)
    made.driver([made.get(never)])
    assert made.replay().is_stuck


def test_threads_run_beside_everything() -> None:
    made = Made(1)
    thread = made.programs.add_run(FREE, 0)
    made.program(thread, [(COMPUTE, 50)])
    made.driver([(SUBMIT, thread), (COMPUTE, 10)])
    assert made.ms() == 10


def test_reserved_cpus_are_added_up() -> None:
    made = Made(2)
    child = made.task("child", 10)
    parent = made.task("parent", [(COMPUTE, 5), (SUBMIT, child), made.get(child), (COMPUTE, 5)])
    made.submit_and_get(parent)
    assert made.replay().reserved_ns == 20 * MS


def test_workers_start_and_then_run_whoever_comes_first() -> None:
    made = Made(2)
    made.programs.worker_starts = [[(10 * MS, 5 * MS), (20 * MS, 0)]]
    made.programs.start_slots = [1]
    first, second = made.task("work", 10), made.task("work", 10)
    made.submit_and_get(first, second)
    # The second worker starts when the first one has, which is idle again before that is there.
    assert made.ms() == 10 + 5 + 10 + 10
    made.programs.start_slots = [2]
    assert made.ms() == 30
    assert replay(change(made.programs, [Change("no_startup")])).duration_ns == 10 * MS


def test_idle_workers_are_used_again() -> None:
    made = Made(4)
    made.programs.worker_starts, made.programs.usual_start = [[(10 * MS, 0)]], (50 * MS, 0)
    first, second = made.task("work", 10), made.task("other", 10)
    made.driver([(SUBMIT, first), made.get(first), (SUBMIT, second), made.get(second)])
    assert made.ms() == 30
    made.programs.idle_workers = [1]
    assert made.ms() == 20


def test_who_asks_no_more_is_not_answered() -> None:
    made = Made(1)
    made.submit_and_get(*(made.task("work", 1) for _ in range(20_000)))

    def stop(_: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        replay(made.programs, stop)


def test_the_critical_path_is_the_whole_time() -> None:
    made = Made(1)
    short, long = made.task("short", 10), made.task("long", 30, delay=2 * MS)
    last = made.task("last", 5, needs=(long,))
    driver = made.driver(
        [(COMPUTE, 3), (SUBMIT, short), (SUBMIT, long), (SUBMIT, last), made.get(last), (COMPUTE, 4)]
    )
    replayed = made.replay()
    path = critical_path(made.programs, replayed)
    found = [(made.programs.functions[made.programs.function[link.run]], link.phase) for link in path]
    assert found == [
        ("driver", "executing"),
        ("short", "executing"),
        ("long", "starting"),
        ("long", "executing"),
        ("last", "executing"),
        ("driver", "executing"),
    ]
    assert [link.begin_ns for link in path] == [0, *(link.end_ns for link in path[:-1])]
    assert path[-1].end_ns == replayed.ended_ns[driver] == 54 * MS


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
    st.integers(1, 6),
    st.data(),
)
def test_no_schedule_beats_the_bounds(durations: list[int], cpus: int, data: st.DataObject) -> None:
    """Greedy dispatch: no shorter than the longest chain or the work by CPUs, and not longer than both together."""
    made = Made(cpus)
    tasks: list[int] = []
    chains: list[int] = []
    for ms in durations:
        needs = data.draw(st.lists(st.sampled_from(range(len(tasks))), max_size=2)) if tasks else []
        tasks.append(made.task("work", ms, needs=tuple(dict.fromkeys(tasks[one] for one in needs))))
        chains.append(ms + max((chains[one] for one in needs), default=0))
    made.submit_and_get(*tasks)
    took = made.ms()
    assert max(max(chains), sum(durations) / cpus) <= took <= sum(durations) / cpus + max(chains)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 6))
def test_equal_independent_tasks_gain_by_cpus(durations: list[int], cpus: int) -> None:
    """(Of unequal tasks, or such that depend on each other, that is not always true.)"""

    def took(cpus: int) -> float:
        made = Made(cpus)
        made.submit_and_get(*(made.task("work", durations[0]) for _ in durations))
        return made.ms()

    assert took(cpus + 1) <= took(cpus) == durations[0] * -(-len(durations) // cpus)


MAX_NODES = 3
TIMES = st.integers(0, 9)
NODES = st.builds(
    plain.Node,
    free=st.integers(1, 4),
    idle_workers=st.integers(0, 2),
    starts=st.lists(st.tuples(TIMES, TIMES), max_size=3),
    start_slots=st.integers(1, 2),
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[plain.Node], list[plain.Group], list[plain.Task]]:
    """Up to 3 nodes, 2 groups and 12 tasks, some of which need values of others or have children."""
    nodes = draw(st.lists(NODES, min_size=2, max_size=MAX_NODES))
    for node in nodes:
        node.usual_start = (4, 2)
    bundles = st.lists(st.integers(1, 2), min_size=1, max_size=2)
    groups = draw(st.lists(st.builds(plain.Group, bundles), max_size=2))
    tasks: list[plain.Task] = []
    for _ in range(draw(st.integers(1, 12))):
        earlier = st.lists(st.sampled_from(tasks), max_size=2, unique_by=id) if tasks else st.just([])
        tasks.append(
            plain.Task(
                draw(st.sampled_from("fgh")),
                draw(TIMES),
                draw(TIMES),
                cpus=draw(st.integers(1, 2)),
                group=draw(st.integers(-1, len(groups) - 1)),
                home=draw(st.integers(-1, len(nodes) - 1)),
                needs=draw(earlier),
                children=draw(earlier),
            )
        )
    return nodes, groups, tasks


def engine_job(nodes: list[plain.Node], groups: list[plain.Group], tasks: list[plain.Task]) -> Made:
    """The same job for the engine: the runs of the tasks come first, in their order."""
    made = Made(*(node.free for node in nodes))
    p = made.programs
    p.idle_workers = [node.idle_workers for node in nodes]
    p.start_slots = [node.start_slots for node in nodes]
    p.worker_starts = [[(took * MS, load * MS) for took, load in node.starts] for node in nodes]
    p.usual_start = (4 * MS, 2 * MS)
    p.groups = [Group([((0, cpus * UNIT),) for cpus in group.bundles]) for group in groups]
    runs: dict[plain.Task, int] = {}
    for task in tasks:
        steps: list[tuple[int, float]] = [(COMPUTE, task.before_ms)]
        if children := [runs[child] for child in task.children]:
            steps += [*((SUBMIT, child) for child in children), made.get(*children), (COMPUTE, task.after_ms)]
        runs[task] = made.task(
            task.function,
            steps,
            needs=tuple(runs[need] for need in task.needs),
            cpus=task.cpus,
            home=task.home,
            group=task.group,
        )
    made.driver(
        [
            *((RESERVE, number) for number in range(len(groups))),
            *((SUBMIT, run) for run in runs.values()),
            made.get(*runs.values()),
        ]
    )
    return made


@given(jobs())
def test_the_engine_does_what_a_plain_simulation_does(
    job: tuple[list[plain.Node], list[plain.Group], list[plain.Task]],
) -> None:
    nodes, groups, tasks = job
    replayed = engine_job(nodes, groups, tasks).replay()
    expected = plain.Simulation(nodes, groups).run(tasks)
    count = len(tasks)
    assert replayed.is_stuck == (expected is None)
    times = [(task.given, task.started, task.ended) for task in tasks]
    assert [
        tuple(each // MS if each >= 0 else -1 for each in run)
        for run in zip(
            replayed.given_ns[:count], replayed.started_ns[:count], replayed.ended_ns[:count], strict=True
        )
    ] == times
    if expected is not None:
        assert replayed.duration_ns == expected * MS
