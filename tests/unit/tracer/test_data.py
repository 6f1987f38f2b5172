"""Reports about Ray Data: which operators pass blocks to which, and what its detectors find."""

from __future__ import annotations

import importlib
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from ray._private import worker

from rayscope.tracer import data, emit, risks
from rayscope.tracer.hooks import _safe
from rayscope.tracer.libraries import wrap_methods

ISSUES = "ray.data._internal.issue_detection.issue_detector_manager"


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Reports that would go to Ray's worker."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(emit, "report_risk", lambda *one: found.append(one))
    monkeypatch.setattr(emit, "report_plan", lambda *one: found.append(one))
    monkeypatch.setattr(emit, "ready", lambda: True)
    monkeypatch.setattr(emit.state, "on", True)
    monkeypatch.setattr(emit.state, "worker", worker)
    risks._issues.clear()
    return found


class Operator:
    """One of Ray Data's."""

    id, name, metrics = "op_1", "Map(f)", SimpleNamespace()  # Ray 2.50 counts issues in its metrics


class Executor:
    """The parts of an executor that its issue manager uses."""

    _topology = {Operator(): None}  # noqa: RUF012

    def _get_operator_id(self, operator: Operator, at: int) -> str:
        return f"{operator.name}_{at}"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray Data's own manager of issues, with our wrapper."""
    module = importlib.import_module(ISSUES)
    owner = module.IssueDetectorManager
    monkeypatch.setattr(owner, "_report_issues", owner._report_issues)  # what is put back in the end
    wrap_methods("IssueDetectorManager", {"_report_issues": data._before(_safe(data._note_issues))})(module)
    made = owner.__new__(owner)
    made.executor, made._operator_event_exporter = Executor(), None
    made._detected_issues, made._detected_issues_lock = set(), threading.Lock()
    return made


def issue(operator: str, kind: Any, message: str, dataset: str = "train_1") -> Any:
    from ray.data._internal.issue_detection import Issue

    return Issue(dataset, operator, message, kind)


def test_issues_of_ray_data_are_reported_once_for_each_dataset_and_operator(
    messages: list[tuple[Any, ...]], manager: Any
) -> None:
    from ray.data._internal.issue_detection.issue_detector import IssueType

    manager._report_issues([])
    high = issue("op_1", IssueType.HIGH_MEMORY, "\n\nUses\nmuch memory.\n" + "x" * 2000)
    manager._report_issues([issue("op_1", IssueType.HANGING, "It hangs."), high])
    manager._report_issues(
        [issue("op_1", IssueType.HANGING, "It still hangs."), issue("op_9", "own", "Odd.", "train_2")]
    )
    assert [(kind, place, times) for kind, place, times, _ in messages] == [
        ("data_issue", "Map(f)", 1),
        ("data_issue", "Map(f)", 1),
        ("data_issue", "op_9", 1),
    ]
    values = [one[3] for one in messages]
    assert values[0] == {"dataset": "train_1", "issue": "hanging", "message": "It hangs."}
    assert values[1]["message"].startswith("Uses much memory. xxx")
    assert len(values[1]["message"]) == 1000
    assert (values[2]["dataset"], values[2]["issue"]) == ("train_2", "own")


def test_issues_have_an_end_and_cost_ray_data_nothing(
    messages: list[tuple[Any, ...]], manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager._report_issues([issue(f"op_{number}", "own", "Odd.") for number in range(300)])
    assert len(messages) == 100
    monkeypatch.setattr(risks, "_issues", None)  # whatever goes wrong in the tracer
    manager._report_issues([issue("op_1", "own", "Odd.")])
    assert not emit.state.on


@pytest.mark.parametrize("is_static", [True, False], ids=["a function", "a method, as in older versions"])
def test_plans_are_reported_as_ray_data_registers_them(
    messages: list[tuple[Any, ...]], is_static: bool
) -> None:
    def register(*args: Any) -> int:
        return len(args)

    owner = type("_StatsManager", (), {"register": staticmethod(register) if is_static else register})
    hooks = {"register": data._before(_safe(data._note_plan))}
    wrap_methods("_StatsManager", hooks)(SimpleNamespace(_StatsManager=owner))
    inputs = {"Read_0": [], "Read_1": [], "Union_2": ["Read_0", "Read_1"], "Map_3": ["Union_2", "elsewhere"]}
    operators = [SimpleNamespace(id=one, input_dependencies=given) for one, given in inputs.items()]
    topology = SimpleNamespace(operators=operators)
    caller = owner if is_static else owner()
    assert caller.register("train_1", list(inputs), topology, None) == 5 - is_static
    assert messages == [("train_1", list(inputs), [[], [], [0, 1], [2]])]
    assert caller.register("train_2", [], SimpleNamespace(operators=operators * 100), None) == 5 - is_static
    assert caller.register("train_3", [], None, None) == 5 - is_static
    assert len(messages) == 1
    assert emit.state.on
