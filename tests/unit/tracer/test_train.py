"""The tracer's reports about a worker of Ray Train, which must not notice it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.tracer import train
from rayscope.tracer.emit import state
from rayscope.tracer.libraries import wrap_methods


def test_the_numbers_among_the_metrics() -> None:
    class Odd(dict[Any, Any]):
        def items(self) -> Any:
            raise RuntimeError("mine")

    metrics = {
        "loss": float("nan"),
        "best": -float("inf"),
        "half": Fraction(1, 2),
        "on": True,
        5: 7,
        "t": "x",
    }
    expected = {"loss": "nan", "best": "-inf", "half": 0.5, "on": 1.0, "5": 7.0}
    assert train._numbers(metrics) == expected
    assert len(train._numbers({f"m{at}": at for at in range(99)})) == 32
    assert max(map(len, train._numbers({"x" * 999: 1}))) == 100
    # A number that does not fit a float ends the reported numbers, and nothing else.
    assert train._numbers({"a": 1, "b": 10**400, "c": 2}) == {"a": 1.0}
    for odd in (None, 5, [], Odd()):
        assert train._numbers(odd) == {}


def test_waiting_for_data_is_counted_once_and_iterators_behave_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    class Batches:
        def __init__(self, inner: Any = None) -> None:
            self.inner = inner

        def __iter__(self) -> Iterator[int]:
            return self.batches()

        def batches(self) -> Iterator[int]:
            try:
                for value in range(3) if self.inner is None else self.inner:
                    if self.inner is None:
                        time.sleep(0.02)
                    yield value
            finally:
                closed.append(self.inner is None)

    monkeypatch.setattr(Batches, "__iter__", train._iterate(Batches.__iter__))
    monkeypatch.setattr(state, "on", True)
    monkeypatch.setattr(train._waits, "ns", 0)
    monkeypatch.setattr(train._worker, "has_data", False)
    assert list(Batches()) == [0, 1, 2]
    assert train._waits.ns == 0  # no worker of Ray Train
    monkeypatch.setattr(train._worker, "has_data", True)
    began = time.perf_counter_ns()
    assert list(Batches(Batches())) == [0, 1, 2]
    assert 60e6 <= train._waits.ns <= time.perf_counter_ns() - began
    closed.clear()
    for _ in Batches(Batches()):
        break
    assert closed == [False, True] or closed == [True, False]


def test_parts_missing_in_a_version_of_ray_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "missing", ())
    wrap_methods("TrainContext", {"report": lambda original: original})(SimpleNamespace())
    assert state.missing == ("TrainContext.report",)
