"""Applies each change to small programs with known results."""

from __future__ import annotations

import itertools

import pytest
from tests.unit.insights.replay.programs import MS, JobBuilder

from rayscope.insights.replay.changes import BadChange, Change, apply_changes
from rayscope.insights.replay.program import COMPUTE, SUBMIT
from rayscope.insights.replay.simulation.engine import replay


def took(job: JobBuilder, *changes: Change) -> float:
    """How long the job takes with changes, ms. Its own programs are not modified."""
    before = job.ms()
    replayed = replay(apply_changes(job.programs, changes))
    assert not replayed.is_stuck
    assert job.ms() == before
    return replayed.duration_ns / MS


def fan_out(count: int = 4) -> JobBuilder:
    job = JobBuilder(2)
    job.submit_and_get(*(job.task("work", 10, delay=2 * MS, startup=2 * MS) for _ in range(count)))
    return job


@pytest.mark.parametrize(
    ("change", "ms"),
    [
        (Change("speed", "work", 2), 14),
        (Change("speed", "work", 0.5), 44),
        (Change("speed", "driver", 2), 24),
        (Change("cpus", amount=2), 12),
        (Change("nodes", amount=1), 12),
        (Change("num_cpus", "work", 0.5), 12),
        (Change("num_cpus", "work", 2), 48),
        (Change("num_cpus", "work", 0), 12),
        (Change("no_startup"), 20),
        (Change("batch", "work", 2), 22),
    ],
)
def test_changes_of_a_fan_out(change: Change, ms: float) -> None:
    job = fan_out()
    assert job.ms() == 24
    assert took(job, change) == ms


def test_changes_are_made_together() -> None:
    assert took(fan_out(), Change("speed", "work", 2), Change("no_startup"), Change("cpus", amount=2)) == 5


def test_stragglers_take_the_median() -> None:
    job = JobBuilder(8)
    job.submit_and_get(*(job.task("work", ms) for ms in (10, 11, 12, 90)))
    assert took(job, Change("no_stragglers")) == 12


def test_many_long_calls_are_no_stragglers() -> None:
    job = JobBuilder(16)
    job.submit_and_get(*(job.task("work", ms) for ms in (*[10] * 8, 90, 90, 90)))
    assert took(job, Change("no_stragglers")) == 90
    # A finding has made sure that its calls are outliers.
    assert took(job, Change("no_stragglers", "work")) == 10


def test_without_retries_the_last_attempt_is_the_first() -> None:
    job = JobBuilder(1)
    first, second = job.task("flaky", 10), job.task("flaky", 20)
    job.programs.again[first], job.programs.again_after[first] = second, 5 * MS
    job.driver([(SUBMIT, first), job.get(second)])
    assert took(job, Change("no_retries")) == 20


def test_without_retries_no_call_waits_for_those_of_the_first_attempt() -> None:
    job = JobBuilder(1)
    actor, creation = job.actor("Counter", ms=0)
    early, late = job.call("Counter.add", 1, actor), job.call("Counter.add", 1, actor)
    job.programs.after[early], job.programs.before[late] = late, early
    first = job.task("flaky", [(COMPUTE, 10), (SUBMIT, early), job.get(early)])
    second = job.task("flaky", [(COMPUTE, 20), (SUBMIT, late), job.get(late)])
    job.programs.again[first] = second
    job.driver([(SUBMIT, creation), (SUBMIT, first), job.get(second)])
    assert job.ms() == 32
    assert took(job, Change("no_retries")) == 21


def test_without_transfer() -> None:
    job = JobBuilder(1)
    task = job.task("load", 10, delay=3 * MS, transfer=2 * MS)
    job.submit_and_get(task)
    job.programs.waits[0].after_ns, job.programs.waits[0].transfer_ns = 6 * MS, 5 * MS
    assert job.ms() == 19
    assert took(job, Change("no_transfer")) == 12


def test_more_actors_share_the_calls() -> None:
    job = JobBuilder(4)
    actor, creation = job.actor("Counter", ms=0)
    calls = [job.call("Counter.add", 10, actor) for _ in range(6)]
    for before, after in itertools.pairwise(calls):
        job.programs.after[before], job.programs.before[after] = after, before
    job.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), job.get(*calls)])
    assert took(job, Change("actors", "Counter", 2)) == 20


def test_more_actors_of_a_tree_run_its_calls() -> None:
    """Calls that wait for calls of their own class would wait for each other behind the shared queues."""
    job = JobBuilder(4)
    actors = [job.actor("Worker", ms=0) for _ in range(5)]
    leaves = [job.call("Worker.process", 10, actor) for actor, _ in actors[3:] for _ in range(6)]
    middle = [
        job.call("Worker.run", [*((SUBMIT, leaf) for leaf in part), job.get(*part)], actor)
        for (actor, _), part in zip(actors[1:3], (leaves[:6], leaves[6:]), strict=True)
    ]
    root = job.call("Worker.run", [*((SUBMIT, call) for call in middle), job.get(*middle)], actors[0][0])
    creations = [(SUBMIT, creation) for _, creation in actors]
    job.driver([*creations, (SUBMIT, root), job.get(root)])
    assert job.ms() == 60
    # Three of five actors wait, so that two, or three with another one, run 12 calls.
    assert took(job, Change("actors", "Worker", 1)) == 40
    assert took(job, Change("actors", "Worker", 4)) == 20


def test_more_actors_of_a_pool_have_more_calls_in_flight() -> None:
    job = JobBuilder(4)
    actor, creation = job.actor("Counter", ms=0)
    calls = [job.call("Counter.add", 10, actor) for _ in range(6)]
    counter = job.count(*calls)
    steps = [(SUBMIT, creation), (COMPUTE, 1), (SUBMIT, calls[0])]
    for done, call in enumerate(calls[1:], 1):
        steps += [job.some(counter, done), (SUBMIT, call)]
    job.driver([*steps, job.some(counter, 6)])
    assert job.ms() == 61
    assert took(job, Change("actors", "Counter", 1)) == 31


def test_one_get_for_all() -> None:
    job = JobBuilder(4)
    tasks = [job.task("work", 10) for _ in range(4)]
    job.driver([step for task in tasks for step in ((SUBMIT, task), job.get(task), (COMPUTE, 1))])
    assert job.ms() == 44
    assert took(job, Change("one_get", "work")) == 3 + 10 + 1


def test_tasks_that_others_wait_for_in_between_stay() -> None:
    job = JobBuilder(4)
    tasks = [job.task("work", 10) for _ in range(4)]
    between = job.task("between", 10)
    steps = [step for task in tasks[:2] for step in ((SUBMIT, task), job.get(task))]
    steps += [(SUBMIT, between), job.get(between)]
    job.driver(steps + [step for task in tasks[2:] for step in ((SUBMIT, task), job.get(task))])
    assert took(job, Change("one_get", "work")) == 30


def test_batches_of_what_is_gotten_one_by_one() -> None:
    job = JobBuilder(4)
    tasks = [job.task("work", 10, delay=5 * MS) for _ in range(5)]
    job.driver([step for task in tasks for step in ((SUBMIT, task), job.get(task))])
    assert took(job, Change("batch", "work", 2)) == (5 + 20) * 2 + 15


def test_no_batch_waits_for_itself() -> None:
    job = JobBuilder(4)
    first, second = job.task("work", 10), job.task("work", 10)
    between = job.task("between", 5, needs=(first,))
    third = job.task("work", 10, needs=(between,))
    paced = job.task("work", 10)
    steps = [(SUBMIT, first), (SUBMIT, second), (SUBMIT, between), (SUBMIT, third), job.get(between)]
    job.driver([*steps, (SUBMIT, paced), job.get(third, paced)])
    assert job.ms() == 25
    # The first two are one, the others are alone.
    assert took(job, Change("batch", "work", 4)) == 20 + 5 + 10


def test_batches_save_submissions() -> None:
    job = JobBuilder(100)
    tasks = [job.task("work", 1) for _ in range(100)]
    job.driver([*(step for task in tasks for step in ((SUBMIT, task), (COMPUTE, 1))), job.get(*tasks)])
    assert took(job, Change("batch", "work", 10)) == 10 + 9


@pytest.mark.parametrize(
    "change",
    [
        Change("speed", "none", 2),
        Change("actors", "None", 2),
        Change("num_cpus", "none", 2),
        Change("num_cpus", "driver", 2),
        Change("batch", "none", 2),
        Change("one_get", "work"),
        Change("one_get", "none"),
    ],
)
def test_changes_of_missing_parts_are_refused(change: Change) -> None:
    with pytest.raises(BadChange) as raised:
        apply_changes(fan_out().programs, [change])
    assert raised.value.remedy
