"""The tracer's reports about trials and results of Ray Tune, which must not notice it."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.tracer import emit, tune
from rayscope.tracer.emit import state
from rayscope.tracer.hooks import _safe
from rayscope.tracer.libraries import wrap_methods


class Odd(float):
    """A number of the user's that does not like to be one."""

    def __float__(self) -> float:
        raise RuntimeError("mine")


def test_parameters_are_plain_values_and_of_all_others_their_types() -> None:
    config = {
        "lr": 0.1,
        "on": True,
        "none": None,
        "layers": [3, 4],
        "opt": {"name": "sgd", "beta": {"one": 2**70}},
        "data": object(),
        "odd": Odd(1),
        object(): 1,
        "inf": float("inf"),
    }
    assert tune._parameters(config) == {
        "lr": 0.1,
        "on": True,
        "layers": "[3, 4]",
        "opt/name": "sgd",
        "opt/beta/one": float(2**70),
        "data": "<object>",
        "odd": "<Odd>",
        "inf": "inf",
    }
    assert len(tune._parameters({f"p{at}": at for at in range(99)})) == 64
    assert (
        sum(len(str(one)) for one in tune._parameters({f"p{at}": "x" * 999 for at in range(60)}).values())
        <= 4_000
    )
    parameters = {f"p{at}": at for at in range(99)} | {"opt": {"lr": 0.5}, "layers": [1, 2]}
    assert list(tune._parameters(parameters, {"opt/lr": 0.5, "layers/0": 1}))[:3] == [
        "opt/lr",
        "layers",
        "p0",
    ]
    deep: Any = {}
    for _ in range(5_000):
        deep = {"in": deep}
    for odd in (None, 5, [], deep):
        assert tune._parameters(odd) == {}


def test_metrics_are_the_users_numbers_that_of_the_experiment_first() -> None:
    result = {f"m{at}": at for at in range(40)} | {
        "loss": float("nan"),
        "time_total_s": 3.5,
        "config": {"lr": 1},
        "trial_id": "a",
        "nested": {"acc": 1},
    }
    found = tune._metrics(result, "nested/acc")
    assert next(iter(found.items())) == ("nested/acc", 1.0)
    assert len(found) == 32
    assert not {"time_total_s", "config/lr", "trial_id"} & found.keys()
    assert tune._metrics({"loss": float("nan"), "time_total_s": 3.5}, "time_total_s") == {
        "time_total_s": 3.5,
        "loss": "nan",
    }


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Reports that would go to Ray's worker."""
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(emit, "report", lambda name, values: found.append((name, values)))
    monkeypatch.setattr(emit, "report_always", lambda name, values: found.append((name, values)))
    monkeypatch.setattr(emit, "ready", lambda: True)
    monkeypatch.setattr(state, "on", True)
    return found


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray Tune's own controller, with our wrappers, that runs nothing."""
    module = importlib.import_module("ray.tune.execution.tune_controller")
    owner = module.TuneController
    hooks = tune.hooks(_safe)
    for name in hooks:
        monkeypatch.setattr(owner, name, getattr(owner, name))  # what is put back in the end
    wrap_methods("TuneController", hooks)(module)
    storage = SimpleNamespace(
        experiment_dir_name="exp",
        experiment_fs_path="/results/exp",
        storage_filesystem=None,
        experiment_driver_staging_path="/tmp",
    )
    monkeypatch.setenv("TUNE_MAX_PENDING_TRIALS_PG", "8")
    monkeypatch.setattr(owner, "_create_checkpoint_manager", lambda self: None)
    return owner(storage=storage, metric="loss", resource_manager_factory=lambda: None)


def trial(number: int) -> Any:
    from ray.tune.experiment import Trial

    made = Trial("train", trial_id=f"abc_{number:05}", config={"lr": number}, stub=True)
    made.create_placement_group_factory = lambda: None
    return made


def test_a_trial_from_its_start_over_a_failure_to_its_end(
    reported: list[tuple[str, dict[str, Any]]], controller: Any
) -> None:
    one = trial(0)
    controller.add_trial(one)
    assert reported == []  # an experiment that is not set up yet, as when it is restored
    controller.setup_experiments([SimpleNamespace(public_spec={})], 1)
    (name, experiment), (_, first) = reported
    assert (name, experiment["state"], experiment["name"]) == ("rayscope.tune_experiment", "RUNNING", "exp")
    assert (experiment["metric"], experiment["mode"], experiment["samples"]) == ("loss", "", 1)
    assert (experiment["scheduler"], experiment["search"]) == ("FIFOScheduler", "BasicVariantGenerator")
    assert first["trials"] == [
        {"trial": "abc_00000", "name": "train_abc_00000", "state": "PENDING", "parameters": {"lr": 0}}
    ]

    def status(new_state: str, actor: bytes | None = None) -> dict[str, Any]:
        reported.clear()
        handle = actor and SimpleNamespace(_actor_id=actor)
        one.temporary_state.ray_actor = handle
        controller._set_trial_status(one, new_state)
        ((_, event),) = reported
        (snapshot,) = event["trials"]
        return dict(snapshot)

    running = status("RUNNING", b"\x01")
    assert (running["actors"], running["start"] > 0, "end" in running) == (["01"], True, False)
    reported.clear()
    controller._schedule_trial_stop(one, ValueError("x" * 9_000 + "the end"))
    ((_, event),) = reported
    (failed,) = event["trials"]
    assert (failed["state"], len(failed["error"]), failed["error"][-7:]) == ("ERROR", 4_000, "the end")
    assert "end" not in status("PENDING")
    again = status("RUNNING", b"\x02")
    assert (again["actors"], again["start"], again["state"]) == (["01", "02"], running["start"], "RUNNING")
    reported.clear()
    controller._scheduler_alg.on_trial_result = lambda *_: "STOP"
    controller._process_trial_result(one, {"loss": 0.5, "training_iteration": 2, "time_total_s": 1.5})
    assert reported == [
        (
            "rayscope.tune_result",
            {
                "experiment": experiment["experiment"],
                "trial": "abc_00000",
                "n": 2,
                "seconds": 1.5,
                "values": {"loss": 0.5},
            },
        )
    ]
    over = status("TERMINATED")
    assert (over["why"], over["values"], over["n"]) == ("early", {"loss": 0.5}, 2)
    assert over["end"] >= over["start"]


def test_trials_that_reach_a_limit_were_not_stopped_early(controller: Any) -> None:
    one = trial(0)
    one.stopping_criterion = {"nested/acc": 0.9}
    assert not tune._is_at_limit(controller, one, {"nested": {"acc": 0.8}})
    assert tune._is_at_limit(controller, one, {"nested": {"acc": 0.9}})
    controller._scheduler_alg = SimpleNamespace(_time_attr="training_iteration", _max_t=5)
    assert tune._is_at_limit(controller, one, {"training_iteration": 5})
    assert not tune._is_at_limit(controller, one, {"training_iteration": 4, "nested": {}})


def test_nothing_is_added_to_what_ray_tune_saves(reported: Any, controller: Any) -> None:
    before = set(vars(controller))
    controller.setup_experiments([SimpleNamespace(public_spec={})], 1)
    assert set(vars(controller)) == before


def test_parts_missing_in_a_version_of_ray_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "missing", ())
    wrap_methods("TuneController", tune.hooks(_safe))(SimpleNamespace(TuneController=object))
    assert len(state.missing) == len(tune.hooks(_safe))
