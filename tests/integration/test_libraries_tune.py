"""Ray Tune's experiments: the record of 20 trials under ASHA, some failing, and of their restoration."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RAY_ENV, run_in_turn

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.long]

PROGRAM = """
import json, os, sys, tempfile
import ray

folder = sys.argv[1]
ray.init(num_cpus=4, include_dashboard=True, _temp_dir=folder, log_to_driver=False)
from ray import tune
from ray.tune.schedulers import ASHAScheduler

def train(config):
    failed = os.path.join(folder, f"failed-{config['lr']}-{config['width']}")
    begin = 0
    if tune.get_checkpoint():
        with tune.get_checkpoint().as_directory() as path:
            begin = json.load(open(os.path.join(path, "step")))
    for step in range(begin, 9):
        if config["width"] == 4 and step == 1:
            count = len(open(failed).read()) if os.path.exists(failed) else 0
            # Those of the second try go on with it; that of 0.5 fails until it is restored.
            if count < (2 if config["lr"] == 0.5 else 1):
                open(failed, "a").write("x")
                raise ValueError("the width is unlucky")
        metrics = {"loss": config["width"] + config["lr"] / (step + 1), "nested": {"step": step}, "text": "no"}
        if config["width"] == 3 and step == 1:
            metrics["nested"]["step"] = float("nan")
        with tempfile.TemporaryDirectory() as made:
            checkpoint = None
            if config["width"] == 4:
                json.dump(step + 1, open(os.path.join(made, "step"), "w"))
                checkpoint = tune.Checkpoint.from_directory(made)
            tune.report(metrics, checkpoint=checkpoint)

def told(results, name):
    best = results.get_best_result()
    trials = [
        {
            "trial_id": trial.trial_id,
            "status": trial.status,
            "failures": trial.run_metadata.num_failures,
            "parameters": trial.config,
            "path": trial.path,
            "last": trial.last_result,
        }
        for trial in results._experiment_analysis.trials
    ]
    return {
        "trials": trials,
        "best": best.metrics["trial_id"],
        "best_loss": best.metrics["loss"],
        "path": results.experiment_path,
        "errors": results.num_errors,
    }

trainable = tune.with_resources(train, {"CPU": 1})
first = tune.Tuner(
    trainable,
    param_space={
        "lr": tune.grid_search([0.1, 0.2, 0.3, 0.4, 0.5]),
        "width": tune.grid_search([1, 2, 3, 4]),
        "api_key": "hush",
        "opt": {"name": "sgd", "layers": [1, 2]},
    },
    tune_config=tune.TuneConfig(
        metric="loss",
        mode="min",
        scheduler=ASHAScheduler(max_t=8, grace_period=2, reduction_factor=2),
        reuse_actors=True,
    ),
    run_config=tune.RunConfig(
        name="asha",
        storage_path=os.path.join(folder, "results"),
        failure_config=tune.FailureConfig(max_failures=1),
        verbose=0,
    ),
).fit()
told_first = told(first, "asha")
second = tune.Tuner.restore(first.experiment_path, trainable, resume_errored=True).fit()
print(json.dumps([told_first, told(second, "asha")], default=str))
"""


def test_the_record_of_an_experiment_and_its_restoration_equals_rays_report(tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    program = tmp_path / "tune.py"
    program.write_text(PROGRAM)
    try:
        with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
            environment = child_env(server.ingest_url) | RAY_ENV | {"RAY_AUTH_MODE": "disabled"}
            ended = run_in_turn([sys.executable, str(program), folder], Path(folder), env=environment)
        assert ended.returncode == 0, ended.stderr[-4000:]
        first, second = json.loads(ended.stdout.strip().splitlines()[-1])
        _compare(server.url, first, second)
    finally:
        server.stop()


def _compare(url: str, first: dict[str, Any], second: dict[str, Any]) -> None:
    def get(path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{url}/api/v1{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    page = get("/tune")
    assert page["problem"] is None
    newest, oldest = page["items"]
    assert (newest["name"], newest["is_restored"], oldest["is_restored"]) == ("asha", True, False)
    assert newest["path"] == oldest["path"] == first["path"]
    assert (oldest["state"], oldest["num_samples"], oldest["trial_count"]) == ("FINISHED", 20, 20)
    assert (oldest["metric"], oldest["mode"]) == ("loss", "min")
    assert oldest["scheduler"] == "AsyncHyperBandScheduler"
    assert oldest["trial_states"] == {"ERROR": 1, "TERMINATED": 19}
    assert first["errors"] == 1
    assert newest["trial_states"] == {"TERMINATED": 20}

    for item, theirs in ((oldest, first), (newest, second)):
        assert item["best_trial_id"] == theirs["best"]
        assert item["best_value"] == theirs["best_loss"]
        answer = get(f"/tune/{item['experiment_id']}")
        assert answer["shown_best_trial_id"] == theirs["best"]
        trials = {one["trial_id"]: one for one in answer["trials"]}
        assert trials.keys() == {one["trial_id"] for one in theirs["trials"]}
        for one in theirs["trials"]:
            _compare_trial(trials[one["trial_id"]], one)
        varying = [one["name"] for one in answer["parameters"] if one["varies"]]
        assert (sorted(varying), answer["results_left_out"]) == (["lr", "width"], 0)

    answer = get(f"/tune/{oldest['experiment_id']}")
    trials = {one["trial_id"]: one for one in answer["trials"]}
    for line in answer["lines"]:
        trial = trials[line["trial_id"]]
        lr, width = trial["parameters"]["lr"], trial["parameters"]["width"]
        assert [at for at, _ in line["points"]] == list(range(1, trial["iterations"] + 1))
        assert [value for _, value in line["points"]] == pytest.approx(
            [width + lr / at for at, _ in line["points"]]
        )
    early = [one for one in trials.values() if one["end_reason"] == "early"]
    assert len(early) == oldest["stopped_early"] > 0
    assert all(one["iterations"] < 8 for one in early)
    reached = [one for one in trials.values() if one["end_reason"] == "criterion"]
    assert reached
    assert all(one["iterations"] == 8 for one in reached)
    # Trials of width 4 fail once and continue from a checkpoint in another actor.
    (failed,) = [one for one in trials.values() if one["state"] == "ERROR"]
    assert (failed["parameters"]["lr"], failed["failures"]) == (0.5, 2)
    assert failed["error"].endswith("ValueError: the width is unlucky")
    assert failed["checkpoints"] > 0
    retried = [one for one in trials.values() if one["failures"] == 1]
    assert len(retried) == 4
    assert all(one["earlier_actor_ids"] for one in retried)

    restored = get(f"/tune/{newest['experiment_id']}")
    assert restored["restored_from"] == oldest["experiment_id"]
    again = {one["trial_id"]: one for one in restored["trials"]}
    # Trials that had ended were not run again and are unchanged.
    ran = [trial_id for trial_id, one in again.items() if one["start_ns"] is not None]
    assert ran == [failed["trial_id"]]
    assert restored["iterations"] == again[failed["trial_id"]]["iterations"] > 1
    # By another metric, the other way round.
    other = get(f"/tune/{oldest['experiment_id']}", metric="nested/step", mode="max")
    best = max(one["value"] for one in other["trials"] if one["value"] is not None)
    chosen = next(one for one in other["trials"] if one["trial_id"] == other["shown_best_trial_id"])
    assert (chosen["value"], chosen["best_value"]) == (best, best)
    # The actors are on record, and nothing of the user's secrets.
    actors = {one["actor_id"] for one in get("/actors", limit="1000")["items"]}
    assert {one["actor_id"] for one in trials.values()} <= actors
    assert "hush" not in json.dumps([page, answer, restored])


def _compare_trial(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    last = theirs["last"]
    assert (ours["state"], ours["failures"]) == (theirs["status"], theirs["failures"])
    assert (ours["path"], ours["iterations"]) == (theirs["path"], last["training_iteration"])
    assert ours["value"] == last["loss"]
    assert ours["time_total_s"] == pytest.approx(last["time_total_s"])
    parameters = theirs["parameters"]
    assert ours["parameters"] == {
        "lr": parameters["lr"],
        "width": parameters["width"],
        "api_key": "<redacted>",
        "opt/name": "sgd",
        "opt/layers": "[1, 2]",
    }
    step = last["nested"]["step"]
    assert ours["metrics"] == {"loss": last["loss"], "nested/step": "nan" if math.isnan(step) else step}
