"""The simulation of small programs whose answers are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.insights.replay import plain_simulation as plain
from tests.unit.insights.replay.programs import MS, JobBuilder

from rayscope.insights.replay.changes import Change, apply_changes
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
from rayscope.insights.replay.simulation.engine import replay


def test_tasks_take_turns_on_the_cpus() -> None:
    job = JobBuilder(2)
    job.submit_and_get(*(job.task("work", 10) for _ in range(5)))
    assert job.ms() == 30


def test_resources_are_counted_in_parts() -> None:
    job = JobBuilder(1)
    job.submit_and_get(*(job.task("work", 10, cpus=0.3) for _ in range(4)))
    assert job.ms() == 20


def test_a_task_that_asks_for_more_than_is_free_waits_for_all_of_it() -> None:
    job = JobBuilder(4)
    small = [job.task("small", 10 * (1 + place)) for place in range(4)]
    job.submit_and_get(*small, job.task("large", 5, cpus=4))
    assert job.ms() == 45


def test_a_task_runs_on_one_node() -> None:
    job = JobBuilder(1, 1)
    job.driver([(SUBMIT, job.task("large", 5, cpus=2)), (COMPUTE, 1)])
    assert job.replay().given_ns[0] == -1


def test_arguments_are_waited_for() -> None:
    job = JobBuilder(4)
    first = job.task("load", 10)
    second = job.task("work", 5, needs=(first,))
    job.submit_and_get(first, second, job.task("merge", 1, needs=(first, second)))
    assert job.ms() == 16


def test_ray_takes_its_time() -> None:
    job = JobBuilder(1)
    job.submit_and_get(*(job.task("work", 10, lead=3 * MS, delay=2 * MS, tail=1 * MS) for _ in range(2)))
    # The second one's lead passes while the first one runs.
    assert job.ms() == 3 + 2 * (2 + 10 + 1)


def test_a_blocked_task_gives_its_cpus_back() -> None:
    job = JobBuilder(1)
    child = job.task("child", 10)
    parent = job.task("parent", [(COMPUTE, 1), (SUBMIT, child), job.get(child), (COMPUTE, 1)])
    job.submit_and_get(parent)
    assert job.ms() == 12


def test_a_task_that_resumes_does_not_wait_for_cpus() -> None:
    job = JobBuilder(1)
    actor, creation = job.actor("Free")
    call, other = job.call("Free.work", 10, actor), job.task("other", 50)
    parent = job.task("parent", [(SUBMIT, call), job.get(call), (COMPUTE, 1)])
    driver = job.driver(
        [(SUBMIT, creation), (SUBMIT, parent), (COMPUTE, 5), (SUBMIT, other), job.get(parent)]
    )
    replayed = job.replay()
    assert replayed.started_ns[other] == 5 * MS
    assert replayed.ended_ns[driver] == 11 * MS


def test_classes_are_served_fairly() -> None:
    job = JobBuilder(2)
    first = [job.task("many", 10) for _ in range(6)]
    few = job.task("few", 10)
    job.driver([*((SUBMIT, run) for run in first), (COMPUTE, 1), (SUBMIT, few), job.get(*first, few)])
    # It starts as soon as one of the first two has ended.
    assert job.replay().started_ns[few] == 10 * MS


def test_an_actor_runs_one_call_after_the_other() -> None:
    job = JobBuilder(4)
    actor, creation = job.actor("Counter", ms=5)
    calls = [job.call("Counter.add", 10, actor) for _ in range(3)]
    job.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), job.get(*calls)])
    assert job.ms() == 35


@pytest.mark.parametrize(("slots", "ms"), [(2, 20), (UNLIMITED, 10)])
def test_actors_that_run_calls_at_once(slots: int, ms: float) -> None:
    job = JobBuilder(1)
    actor, creation = job.actor("Async", slots=slots)
    calls = [job.call("Async.work", 10, actor) for _ in range(4)]
    job.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), job.get(*calls)])
    assert job.ms() == ms


def test_calls_of_one_caller_come_in_order() -> None:
    job = JobBuilder(4)
    actor, creation = job.actor("Counter")
    slow = job.task("slow", 50)
    first = job.call("Counter.add", 1, actor, needs=(slow,))
    second = job.call("Counter.read", 1, actor)
    job.programs.after[first], job.programs.before[second] = second, first
    job.driver([(SUBMIT, creation), (SUBMIT, slow), (SUBMIT, first), (SUBMIT, second), job.get(second)])
    assert job.ms() == 52


def test_an_actor_keeps_its_cpus_until_it_is_gone() -> None:
    job = JobBuilder(1)
    actor, creation = job.actor("Holder", cpus=1)
    work = job.task("work", 10)
    job.driver(
        [(SUBMIT, creation), (COMPUTE, 1), (SUBMIT, work), (COMPUTE, 20), (KILL, actor), job.get(work)]
    )
    assert job.ms() == 31


def test_an_actor_is_gone_after_its_last_call() -> None:
    job = JobBuilder(1)
    actor, creation = job.actor("Holder", cpus=1)
    call, work = job.call("Holder.hold", 30, actor), job.task("work", 10)
    job.driver(
        [(SUBMIT, creation), (SUBMIT, call), (COMPUTE, 1), (SUBMIT, work), (KILL, actor), job.get(work)]
    )
    assert job.ms() == 40


def test_retries_come_one_after_the_other() -> None:
    job = JobBuilder(1)
    first, second = job.task("flaky", 10), job.task("flaky", 20)
    job.programs.again[first], job.programs.again_after[first] = second, 5 * MS
    job.driver([(SUBMIT, first), job.get(second)])
    assert job.ms() == 35


def test_some_of_many_are_waited_for() -> None:
    job = JobBuilder(8)
    tasks = [job.task("work", ms) for ms in (40, 10, 30, 20)]
    counter = job.count(*tasks)
    steps = [*((SUBMIT, task) for task in tasks)]
    for needed in range(1, 5):
        steps += [job.some(counter, needed), (COMPUTE, 1)]
    job.driver(steps)
    assert job.ms() == 41
    job.programs.alone[tasks[0]] = 5 * MS
    assert job.ms() == 31  # whichever they are


def test_a_wait_gives_up() -> None:
    job = JobBuilder(1)
    slow = job.task("slow", 100)
    job.programs.waits.append(Wait((), counter=job.count(slow), needed=1, timeout_ns=10 * MS))
    job.driver([(SUBMIT, slow), (WAIT, 0), (COMPUTE, 5)])
    assert job.ms() == 15


def test_values_of_a_generator_are_available_before_its_end() -> None:
    job = JobBuilder(2)
    value = job.programs.add_signal()
    generator = job.task("generate", [(COMPUTE, 10), (YIELD, value), (COMPUTE, 90)])
    job.programs.waits.append(Wait((value,), 1 * MS))
    job.driver([(SUBMIT, generator), (WAIT, 0)])
    assert job.ms() == 11


def test_a_placement_group_reserves() -> None:
    job = JobBuilder(2)
    job.programs.groups = [Group([((0, UNIT),), ((0, UNIT),)])]
    inside = [job.task("inside", 10) for _ in range(2)]
    for run in inside:
        job.programs.group[run] = 0
    outside = job.task("outside", 10)
    job.driver(
        [
            (RESERVE, 0),
            *((SUBMIT, run) for run in (*inside, outside)),
            job.get(*inside),
            (COMPUTE, 5),
            (REMOVE, 0),
            job.get(outside),
        ]
    )
    assert job.ms() == 25


def test_nodes_come_and_go() -> None:
    job = JobBuilder(1, 1)
    job.programs.node_from[1] = 10 * MS
    job.submit_and_get(*(job.task("work", 20) for _ in range(3)))
    assert job.ms() == 40
    job.programs.node_until[1] = 25 * MS  # running tasks continue
    assert job.ms() == 40
    job.programs.node_from[1], job.programs.node_until[1] = 0, 5 * MS
    assert job.ms() == 40


def test_a_replay_that_cannot_continue_is_reported() -> None:
    job = JobBuilder(1)
    never = job.task("never", 1)
    job.driver([job.get(never)])
    assert job.replay().is_stuck


def test_threads_run_in_parallel_with_everything() -> None:
    job = JobBuilder(1)
    thread = job.programs.add_run(FREE, 0)
    job.program(thread, [(COMPUTE, 50)])
    job.driver([(SUBMIT, thread), (COMPUTE, 10)])
    assert job.ms() == 10


def test_reserved_cpus_are_added_up() -> None:
    job = JobBuilder(2)
    child = job.task("child", 10)
    parent = job.task("parent", [(COMPUTE, 5), (SUBMIT, child), job.get(child), (COMPUTE, 5)])
    job.submit_and_get(parent)
    assert job.replay().reserved_ns == 20 * MS


def test_workers_start_and_then_run_the_first_in_the_queue() -> None:
    job = JobBuilder(2)
    job.programs.worker_starts = [[(10 * MS, 5 * MS), (20 * MS, 0)]]
    job.programs.start_slots = [1]
    first, second = job.task("work", 10), job.task("work", 10)
    job.submit_and_get(first, second)
    # The second worker starts when the first one has, which is idle again before that is there.
    assert job.ms() == 10 + 5 + 10 + 10
    job.programs.start_slots = [2]
    assert job.ms() == 30
    assert replay(apply_changes(job.programs, [Change("no_startup")])).duration_ns == 10 * MS


def test_idle_workers_are_used_again() -> None:
    job = JobBuilder(4)
    job.programs.worker_starts, job.programs.usual_start = [[(10 * MS, 0)]], (50 * MS, 0)
    first, second = job.task("work", 10), job.task("other", 10)
    job.driver([(SUBMIT, first), job.get(first), (SUBMIT, second), job.get(second)])
    assert job.ms() == 30
    job.programs.idle_workers = [1]
    assert job.ms() == 20


def test_a_replay_stops_when_its_client_is_gone() -> None:
    job = JobBuilder(1)
    job.submit_and_get(*(job.task("work", 1) for _ in range(20_000)))

    def stop(_: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        replay(job.programs, stop)


def test_the_critical_path_is_the_whole_time() -> None:
    job = JobBuilder(1)
    short, long = job.task("short", 10), job.task("long", 30, delay=2 * MS)
    last = job.task("last", 5, needs=(long,))
    driver = job.driver(
        [(COMPUTE, 3), (SUBMIT, short), (SUBMIT, long), (SUBMIT, last), job.get(last), (COMPUTE, 4)]
    )
    replayed = job.replay()
    path = critical_path(job.programs, replayed)
    found = [(job.programs.functions[job.programs.function[link.run]], link.phase) for link in path]
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
    job = JobBuilder(cpus)
    tasks: list[int] = []
    chains: list[int] = []
    for ms in durations:
        needs = data.draw(st.lists(st.sampled_from(range(len(tasks))), max_size=2)) if tasks else []
        tasks.append(job.task("work", ms, needs=tuple(dict.fromkeys(tasks[one] for one in needs))))
        chains.append(ms + max((chains[one] for one in needs), default=0))
    job.submit_and_get(*tasks)
    took = job.ms()
    assert max(max(chains), sum(durations) / cpus) <= took <= sum(durations) / cpus + max(chains)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 6))
def test_equal_independent_tasks_gain_by_cpus(durations: list[int], cpus: int) -> None:
    """(Of unequal tasks, or such that depend on each other, that is not always true.)"""

    def took(cpus: int) -> float:
        job = JobBuilder(cpus)
        job.submit_and_get(*(job.task("work", durations[0]) for _ in durations))
        return job.ms()

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


def engine_job(nodes: list[plain.Node], groups: list[plain.Group], tasks: list[plain.Task]) -> JobBuilder:
    """The same job for the engine: the runs of the tasks come first, in their order."""
    job = JobBuilder(*(node.free for node in nodes))
    p = job.programs
    p.idle_workers = [node.idle_workers for node in nodes]
    p.start_slots = [node.start_slots for node in nodes]
    p.worker_starts = [[(took * MS, load * MS) for took, load in node.starts] for node in nodes]
    p.usual_start = (4 * MS, 2 * MS)
    p.groups = [Group([((0, cpus * UNIT),) for cpus in group.bundles]) for group in groups]
    runs: dict[plain.Task, int] = {}
    for task in tasks:
        steps: list[tuple[int, float]] = [(COMPUTE, task.before_ms)]
        if children := [runs[child] for child in task.children]:
            steps += [*((SUBMIT, child) for child in children), job.get(*children), (COMPUTE, task.after_ms)]
        runs[task] = job.task(
            task.function,
            steps,
            needs=tuple(runs[need] for need in task.needs),
            cpus=task.cpus,
            home=task.home,
            group=task.group,
        )
    job.driver(
        [
            *((RESERVE, number) for number in range(len(groups))),
            *((SUBMIT, run) for run in runs.values()),
            job.get(*runs.values()),
        ]
    )
    return job


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
