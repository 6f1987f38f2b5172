"""Where in the code something is done, how often that is told, and what is told of Ray Data."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ray._private import worker

from rayscope.tracer import emit, hooks, risks


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What would go to Ray's worker."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(emit, "risk", lambda *one: found.append(one))
    risks._times.clear()
    risks._issues.clear()
    return found


def module(name: str, file: str = "inner.py") -> Callable[[Callable[[], None]], None]:
    """A function of a module that calls what it is given."""
    names = {"__name__": name}
    exec(compile("def call(function):\n    function()", file, "exec"), names)
    call: Callable[[Callable[[], None]], None] = names["call"]  # type: ignore[assignment]
    return call


def note_of(kind: str) -> Callable[[], None]:
    """Notes it, as the tracer's wrappers do."""
    names = {"__name__": "rayscope.tracer.hooks", "note": risks.note, "kind": kind}
    exec("def tell():\n    note(kind)", names)
    tell: Callable[[], None] = names["tell"]  # type: ignore[assignment]
    return tell


def test_the_first_the_tenth_and_the_hundredth_time_are_told(told: list[tuple[Any, ...]]) -> None:
    app = module("app", "/home/me/app.py")
    for _ in range(150):
        app(note_of("fork"))
    assert [times for _, _, times in told] == [1, 9, 90]


@pytest.mark.parametrize(
    ("doer", "is_told"),
    [
        ("multiprocessing.popen_fork", True),
        ("ray.remote_function", True),
        ("subprocess", False),
        ("pty", False),
        ("ray.data._internal.plan", False),
    ],
)
def test_whose_code_it_is(told: list[tuple[Any, ...]], doer: str, is_told: bool) -> None:
    names = {"__name__": "app", "doer": module(doer), "note": note_of("fork")}
    exec(compile("def load():\n    doer(note)\nload()", "/home/me/app.py", "exec"), names)
    assert told == ([("fork", "app.py:2 (load)", 1)] if is_told else [])


def test_places_have_an_end(told: list[tuple[Any, ...]]) -> None:
    for number in range(300):
        module("app", f"app_{number}.py")(note_of("fork"))
    assert len(told) == 100


class Operator:
    """One of Ray Data's."""

    id, name, metrics = "op_1", "Map(f)", SimpleNamespace()  # Ray 2.50 counts issues in its metrics


class Executor:
    """What its manager of issues asks of an executor."""

    _topology = {Operator(): None}  # noqa: RUF012

    def _get_operator_id(self, operator: Operator, at: int) -> str:
        return f"{operator.name}_{at}"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray Data's own manager of issues, with our wrapper."""
    module = importlib.import_module(hooks._DATA_ISSUES)
    owner = module.IssueDetectorManager
    monkeypatch.setattr(owner, "_report_issues", owner._report_issues)  # what is put back in the end
    hooks._watch_data(module)
    monkeypatch.setattr(emit.state, "on", True)
    monkeypatch.setattr(emit.state, "worker", worker)
    monkeypatch.setattr(emit, "ready", lambda: True)
    made = owner.__new__(owner)
    made.executor, made._operator_event_exporter = Executor(), None
    made._detected_issues, made._detected_issues_lock = set(), threading.Lock()
    return made


def issue(operator: str, kind: Any, message: str) -> Any:
    from ray.data._internal.issue_detection import Issue

    return Issue("dataset", operator, message, kind)


def test_issues_of_ray_data_are_told_once_for_each_operator(
    told: list[tuple[Any, ...]], manager: Any
) -> None:
    from ray.data._internal.issue_detection.issue_detector import IssueType

    manager._report_issues([])
    high = issue("op_1", IssueType.HIGH_MEMORY, "\n\nUses\nmuch memory.\n" + "x" * 2000)
    manager._report_issues([issue("op_1", IssueType.HANGING, "It hangs."), high])
    manager._report_issues(
        [issue("op_1", IssueType.HANGING, "It still hangs."), issue("op_9", "own", "Odd.")]
    )
    assert [(kind, place, times) for kind, place, times, _ in told] == [
        ("data_issue", "Map(f)", 1),
        ("data_issue", "Map(f)", 1),
        ("data_issue", "op_9", 1),
    ]
    values = [one[3] for one in told]
    assert values[0] == {"issue": "hanging", "message": "It hangs."}
    assert values[1]["message"].startswith("Uses much memory. xxx")
    assert len(values[1]["message"]) == 1000
    assert values[2]["issue"] == "own"


def test_issues_have_an_end_and_cost_ray_data_nothing(
    told: list[tuple[Any, ...]], manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager._report_issues([issue(f"op_{number}", "own", "Odd.") for number in range(300)])
    assert len(told) == 100
    monkeypatch.setattr(risks, "_issues", None)  # whatever goes wrong in the tracer
    manager._report_issues([issue("op_1", "own", "Odd.")])
    assert not emit.state.on
