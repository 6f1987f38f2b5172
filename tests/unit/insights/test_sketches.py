"""The sketches of findings: code that Ray runs, with the names of the program."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from rayscope.insights import detect, sketches
from rayscope.insights.finding import Detector

NUMBERS: dict[str, Any] = {
    "batch": 10,
    "memory_bytes": 1000,
    "needed": 2.0,
    "parts": 4,
    "more": 4,
    "less": 0.5,
    "node_id": "ab",
}
#: These are no Python of their own: commands, and a line of a function.
OTHERS = ("head_overloaded", "slow_node", "serialization")


@pytest.mark.parametrize("detector", detect.load(), ids=lambda detector: detector.kind)
@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("load", "load"),
        ("pk.ingest.load", "load"),
        ("<lambda> (train.py:12)", "work"),
        ("Board.offer", "board.offer"),
        ("pk.main.DataBoard.offer (main.py:3)", "data_board.offer"),
    ],
)
def test_a_sketch_is_python_and_calls_methods_on_their_actors(
    detector: Detector, name: str, called: str
) -> None:
    names = {"function": name, "taker": name, "name": name, "actor_class": "Board", "caller": ""}
    sketch = sketches.write(detector.sketch, {**names, **NUMBERS}, {name} if "offer" in name else set())
    if detector.kind not in OTHERS:
        ast.parse(sketch)
    assert "Board.offer" not in sketch
    if "{function}.remote" in detector.sketch or "{function}.options" in detector.sketch:
        assert f"{called}." in sketch


def test_a_remote_function_becomes_a_method() -> None:
    sketch = sketches.write(
        "@ray.remote\ndef {function}(item):\n    return 1", {"function": "Board.offer"}, {"Board.offer"}
    )
    assert sketch == "@ray.remote\nclass Board:\n    def offer(self, item):\n        return 1"
