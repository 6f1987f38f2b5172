"""The parts of a difference, renamed functions, and facts that differ."""

from __future__ import annotations

import random

import pytest

from rayscope.compare.difference import OTHERS, differences, renamed, same_beginning, waterfall
from rayscope.compare.run import Cause
from rayscope.runs.sql import FunctionFigures

FIGURES = FunctionFigures("train", 20, 0, 20, 1e9, 1 << 30, 2 << 30, 20 << 30, None, None, None, None)


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_sum_to_the_difference(seed: int) -> None:
    chance = random.Random(seed)

    def side() -> dict[Cause, int]:
        return {
            Cause("executing", f"step_{number}"): chance.randrange(10**12)
            for number in range(60)
            if chance.random() < 0.7
        }

    a, b = side(), side()
    parts = waterfall(a, b)
    assert sum(part.change_ns for part in parts) == sum(b.values()) - sum(a.values())
    assert (sum(part.a_ns for part in parts), sum(part.b_ns for part in parts)) == (
        sum(a.values()),
        sum(b.values()),
    )
    assert parts[-1].cause.phase == OTHERS
    changes = [abs(part.change_ns) for part in parts[:-1]]
    assert changes == sorted(changes, reverse=True)


def test_a_renamed_function_is_suggested() -> None:
    gone = {"load_rows": FIGURES, "old_check": FIGURES._replace(attempts=1, mean_ns=1e6)}
    new = {
        "load_batches": FIGURES._replace(mean_ns=1.2e9),
        "report": FIGURES._replace(attempts=400, mean_ns=5e6),
    }
    assert renamed(gone, new) == [("load_rows", "load_batches")]


def test_the_name_does_not_matter_if_the_figures_are_nearly_the_same() -> None:
    assert renamed({"load": FIGURES}, {"fetch": FIGURES._replace(mean_ns=1.1e9)}) == [("load", "fetch")]
    assert renamed({"load": FIGURES}, {"fetch": FIGURES._replace(mean_ns=3e9)}, 3.0) == [("load", "fetch")]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("load_all", FIGURES._replace(attempts=4000)),
        ("load_all", FIGURES._replace(mean_ns=1e6)),
        ("fetch", FIGURES._replace(mean_ns=2e9)),
        ("Trainer.step", FIGURES),
    ],
)
def test_a_function_that_differs_in_one_respect_is_another(name: str, other: FunctionFigures) -> None:
    assert renamed({"load": FIGURES}, {name: other}) == []


def test_only_facts_that_differ_are_listed() -> None:
    a = [{"ray": "2.59", "lr": "1"}, {"ray": "2.60", "lr": "1"}]
    b = [{"ray": "2.60", "lr": "1", "new": "yes"}, {"ray": "2.59", "lr": "1", "new": "yes"}]
    assert differences(a, b) == [("new", None, ["yes"])]
    assert differences(a, [a[0]]) == [("ray", ["2.59", "2.60"], ["2.59"])]


def test_values_begin_alike_up_to_a_whole_word() -> None:
    assert same_beginning(["train.py --rows 100", "train.py --rows 120"]) == len("train.py --rows ")
    assert same_beginning(["torch", "torchvision"]) == 0
