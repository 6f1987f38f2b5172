"""Which attempt a stack of a worker belongs to."""

from __future__ import annotations

import pytest

from rayscope.ray.agents.cpu_profiles import Stack
from rayscope.tracer.sampler import frame_number
from rayscope.views.profiles.compute import UNKNOWN, Running, add_up, group_stacks, most_frequent, owner

FIT = Running("Trainer.fit", 1, ("a" * 48, 0), True, 1.0)
EVALUATE = Running("Trainer.evaluate", 1, ("b" * 48, 1), False, 1.0)
SHORT = Running("short", 20, UNKNOWN, True, 0.1)


@pytest.mark.parametrize(
    ("frames", "functions", "function"),
    [
        (("a.py:1 anything",), [FIT], FIT),  # nothing else ran
        (("a.py:1 Trainer.fit", "a.py:9 evaluate"), [FIT, EVALUATE], FIT),  # the outermost decides
        (("a.py:1 decorated", "a.py:9 evaluate"), [FIT, EVALUATE], EVALUATE),
        (("a.py:1 anything",), [FIT, EVALUATE], None),
        (("a.py:1 fit",), [FIT, Running("Model.fit", 1, ("c" * 48, 0), True, 1.0)], None),
        (("a.py:1 short",), [FIT, SHORT], SHORT),
        (("a.py:1 anything",), [SHORT], None),  # of a thread that runs outside of tasks
        (("a.py:1 anything",), [], None),
    ],
)
def test_the_function_of_a_stack(
    frames: tuple[str, ...], functions: list[Running], function: Running | None
) -> None:
    assert owner(frames, functions) == function


def test_samples_of_several_attempts_and_of_unknown_ones() -> None:
    stacks = [
        (0, ("a.py:1 Trainer.fit", "a.py:2 step"), 50),
        (0, ("a.py:7 Trainer.evaluate",), 30),
        (2, ("a.py:1 Trainer.fit",), 10),
        (0, ("a.py:1 short",), 5),
        (0, ("b.py:1 thread",), 4),
    ]
    sums = add_up(stacks, [FIT, EVALUATE, SHORT])
    fit = frame_number(0, "a.py:1 Trainer.fit")
    step = frame_number(fit, "a.py:2 step")
    assert sums.by_attempt[FIT.key] == {(0, step): 50, (2, fit): 10}
    assert sums.frames[step] == (fit, "a.py:2 step")
    # One of 20 attempts, and a thread of any of them. Evaluation is not chosen.
    assert sums.by_attempt[UNKNOWN].total() == 9
    assert EVALUATE.key not in sums.by_attempt
    assert sums.samples == 69


def test_the_rarest_stacks_are_left_out_beyond_the_limit() -> None:
    stacks = [(0, (f"a.py:{at} f", "a.py:1 g"), 100 - at) for at in range(10)]
    sums = add_up(stacks, [FIT], max_frames=7)
    assert sums.samples == 100 + 99 + 98
    assert len(sums.frames) == 6


def test_the_most_frequent_stack_is_of_a_chosen_function() -> None:
    stacks = [Stack(0, ("a.py:7 evaluate",), 90), Stack(0, ("a.py:1 fit",), 10)]
    assert most_frequent(stacks, [FIT, EVALUATE]) == stacks[1]
    assert most_frequent(stacks[:1], [FIT, EVALUATE]) is None


def test_workers_are_grouped_by_equal_stacks() -> None:
    waiting, deep = ("a.py:1 train", "a.py:2 all_reduce"), tuple(f"a.py:{at} f" for at in range(20))
    groups = group_stacks(
        {
            "odd": (Stack(0, deep, 30), 30),
            "first": (Stack(2, waiting, 10), 20),
            "second": (Stack(2, waiting, 20), 20),
        }
    )
    assert groups == [
        {
            "phase": "ray.get",
            "frames": ["a.py:2 all_reduce", "a.py:1 train"],
            "frames_left_out": 0,
            "share": 0.75,
            "worker_ids": ["first", "second"],
        },
        {
            "phase": "executing",
            "frames": [f"a.py:{at} f" for at in range(19, 3, -1)],
            "frames_left_out": 4,
            "share": 1.0,
            "worker_ids": ["odd"],
        },
    ]
