"""Places of risky calls in the code, and how often they are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rayscope.tracer import emit, risks


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Reports that would go to Ray's worker."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(emit, "report_risk", lambda *one: found.append(one))
    risks._times.clear()
    return found


def module(name: str, file: str = "inner.py") -> Callable[[Callable[[], None]], None]:
    """A function of a module that calls its argument."""
    names = {"__name__": name}
    exec(compile("def call(function):\n    function()", file, "exec"), names)
    call: Callable[[Callable[[], None]], None] = names["call"]  # type: ignore[assignment]
    return call


def note_of(kind: str) -> Callable[[], None]:
    """Return a function that notes ``kind``, as the tracer's wrappers do."""
    names = {"__name__": "rayscope.tracer.hooks", "note": risks.note, "kind": kind}
    exec("def call_note():\n    note(kind)", names)
    call_note: Callable[[], None] = names["call_note"]  # type: ignore[assignment]
    return call_note


def test_the_first_the_tenth_and_the_hundredth_time_are_reported(reported: list[tuple[Any, ...]]) -> None:
    app = module("app", "/home/me/app.py")
    for _ in range(150):
        app(note_of("fork"))
    assert [times for _, _, times in reported] == [1, 9, 90]


@pytest.mark.parametrize(
    ("doer", "is_reported"),
    [
        ("multiprocessing.popen_fork", True),
        ("ray.remote_function", True),
        ("subprocess", False),
        ("pty", False),
        ("ray.data._internal.plan", False),
    ],
)
def test_only_calls_from_user_code_are_reported(
    reported: list[tuple[Any, ...]], doer: str, is_reported: bool
) -> None:
    names = {"__name__": "app", "doer": module(doer), "note": note_of("fork")}
    exec(compile("def load():\n    doer(note)\nload()", "/home/me/app.py", "exec"), names)
    assert reported == ([("fork", "app.py:2 (load)", 1)] if is_reported else [])


def test_places_have_an_end(reported: list[tuple[Any, ...]]) -> None:
    for number in range(300):
        module("app", f"app_{number}.py")(note_of("fork"))
    assert len(reported) == 100
