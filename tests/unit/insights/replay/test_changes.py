"""What each change makes of small programs whose answers are known."""

from __future__ import annotations

import itertools

import pytest
from tests.unit.insights.replay.programs import MS, Made

from rayscope.insights.replay.changes import BadChange, Change, change
from rayscope.insights.replay.engine import replay
from rayscope.insights.replay.program import COMPUTE, SUBMIT


def took(made: Made, *changes: Change) -> float:
    """How long it takes with changes, ms. The program that they are made of stays as it is."""
    before = made.ms()
    replayed = replay(change(made.programs, changes))
    assert not replayed.is_stuck
    assert made.ms() == before
    return replayed.duration_ns / MS


def fan_out(count: int = 4) -> Made:
    made = Made(2)
    made.submit_and_get(*(made.task("work", 10, delay=2 * MS, startup=2 * MS) for _ in range(count)))
    return made


@pytest.mark.parametrize(
    ("asked", "ms"),
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
def test_changes_of_a_fan_out(asked: Change, ms: float) -> None:
    made = fan_out()
    assert made.ms() == 24
    assert took(made, asked) == ms


def test_changes_are_made_together() -> None:
    assert took(fan_out(), Change("speed", "work", 2), Change("no_startup"), Change("cpus", amount=2)) == 5


def test_stragglers_take_the_median() -> None:
    made = Made(8)
    made.submit_and_get(*(made.task("work", ms) for ms in (10, 11, 12, 90)))
    assert took(made, Change("no_stragglers")) == 12


def test_without_retries_the_last_attempt_is_the_first() -> None:
    made = Made(1)
    first, second = made.task("flaky", 10), made.task("flaky", 20)
    made.programs.again[first], made.programs.again_after[first] = second, 5 * MS
    made.driver([(SUBMIT, first), made.get(second)])
    assert took(made, Change("no_retries")) == 20


def test_without_retries_no_call_waits_for_those_of_the_first_attempt() -> None:
    made = Made(1)
    actor, creation = made.actor("Counter", ms=0)
    early, late = made.call("Counter.add", 1, actor), made.call("Counter.add", 1, actor)
    made.programs.after[early], made.programs.before[late] = late, early
    first = made.task("flaky", [(COMPUTE, 10), (SUBMIT, early), made.get(early)])
    second = made.task("flaky", [(COMPUTE, 20), (SUBMIT, late), made.get(late)])
    made.programs.again[first] = second
    made.driver([(SUBMIT, creation), (SUBMIT, first), made.get(second)])
    assert made.ms() == 32
    assert took(made, Change("no_retries")) == 21


def test_without_transfer() -> None:
    made = Made(1)
    task = made.task("load", 10, delay=3 * MS, transfer=2 * MS)
    made.submit_and_get(task)
    made.programs.waits[0].after_ns, made.programs.waits[0].transfer_ns = 6 * MS, 5 * MS
    assert made.ms() == 19
    assert took(made, Change("no_transfer")) == 12


def test_more_actors_share_the_calls() -> None:
    made = Made(4)
    actor, creation = made.actor("Counter", ms=0)
    calls = [made.call("Counter.add", 10, actor) for _ in range(6)]
    for before, after in itertools.pairwise(calls):
        made.programs.after[before], made.programs.before[after] = after, before
    made.driver([(SUBMIT, creation), *((SUBMIT, call) for call in calls), made.get(*calls)])
    assert took(made, Change("actors", "Counter", 2)) == 20


def test_more_actors_of_a_pool_have_more_calls_in_flight() -> None:
    made = Made(4)
    actor, creation = made.actor("Counter", ms=0)
    calls = [made.call("Counter.add", 10, actor) for _ in range(6)]
    counter = made.count(*calls)
    steps = [(SUBMIT, creation), (COMPUTE, 1), (SUBMIT, calls[0])]
    for done, call in enumerate(calls[1:], 1):
        steps += [made.some(counter, done), (SUBMIT, call)]
    made.driver([*steps, made.some(counter, 6)])
    assert made.ms() == 61
    assert took(made, Change("actors", "Counter", 1)) == 31


def test_one_get_for_all() -> None:
    made = Made(4)
    tasks = [made.task("work", 10) for _ in range(4)]
    made.driver([step for task in tasks for step in ((SUBMIT, task), made.get(task), (COMPUTE, 1))])
    assert made.ms() == 44
    assert took(made, Change("one_get", "work")) == 3 + 10 + 1


def test_what_others_wait_for_in_between_stays() -> None:
    made = Made(4)
    tasks = [made.task("work", 10) for _ in range(4)]
    between = made.task("between", 10)
    steps = [step for task in tasks[:2] for step in ((SUBMIT, task), made.get(task))]
    steps += [(SUBMIT, between), made.get(between)]
    made.driver(steps + [step for task in tasks[2:] for step in ((SUBMIT, task), made.get(task))])
    assert took(made, Change("one_get", "work")) == 30


def test_batches_of_what_is_gotten_one_by_one() -> None:
    made = Made(4)
    tasks = [made.task("work", 10, delay=5 * MS) for _ in range(5)]
    made.driver([step for task in tasks for step in ((SUBMIT, task), made.get(task))])
    assert took(made, Change("batch", "work", 2)) == (5 + 20) * 2 + 15


def test_no_batch_waits_for_itself() -> None:
    made = Made(4)
    first, second = made.task("work", 10), made.task("work", 10)
    between = made.task("between", 5, needs=(first,))
    third = made.task("work", 10, needs=(between,))
    paced = made.task("work", 10)
    steps = [(SUBMIT, first), (SUBMIT, second), (SUBMIT, between), (SUBMIT, third), made.get(between)]
    made.driver([*steps, (SUBMIT, paced), made.get(third, paced)])
    assert made.ms() == 25
    # The first two are one, the others are alone.
    assert took(made, Change("batch", "work", 4)) == 20 + 5 + 10


def test_batches_save_submissions() -> None:
    made = Made(100)
    tasks = [made.task("work", 1) for _ in range(100)]
    made.driver([*(step for task in tasks for step in ((SUBMIT, task), (COMPUTE, 1))), made.get(*tasks)])
    assert took(made, Change("batch", "work", 10)) == 10 + 9


@pytest.mark.parametrize(
    "asked",
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
def test_what_there_is_not_cannot_change(asked: Change) -> None:
    with pytest.raises(BadChange) as raised:
        change(fan_out().programs, [asked])
    assert raised.value.remedy
