"""PPO of RLlib on CartPole, by hand and in Ray Tune, in a cluster of its own.

``rllib_program.py TEMP_DIR``: prints ``results`` and the results of ``train`` in Ray Tune as JSON, then waits
for a line and ends.
"""

import json
import os
import sys
from collections.abc import Iterator
from numbers import Real
from typing import Any

import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPO, PPOConfig

ITERATIONS = 2
METRIC = "env_runners/episode_return_mean"


def settings() -> PPOConfig:
    """One env runner and one learner, each an actor, and little to learn from."""
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=1, rollout_fragment_length=100)
        .learners(num_learners=1, num_cpus_per_learner=1)
        .training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)
    )


def numbers(result: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers in a result; names of nested ones are joined with "/"."""
    for name, value in result.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{name}/")
        elif isinstance(value, Real) and not isinstance(value, bool):
            yield f"{prefix}{name}", float(value)


def main() -> None:
    """Train by hand and in Ray Tune, print the results, wait."""
    folder = sys.argv[1]
    ray.init(num_cpus=4, _temp_dir=folder, log_to_driver=False, dashboard_port=0)
    algorithm = settings().build_algo()
    for _ in range(ITERATIONS):
        algorithm.train()
    algorithm.stop()
    results = tune.Tuner(
        PPO,
        param_space=settings(),
        tune_config=tune.TuneConfig(metric=METRIC, mode="max"),
        run_config=tune.RunConfig(
            name="cart",
            storage_path=os.path.join(folder, "results"),
            stop={"training_iteration": ITERATIONS},
            verbose=0,
        ),
    ).fit()
    (trial,) = results._experiment_analysis.trials
    payload = {
        "job": ray.get_runtime_context().get_job_id(),
        "trial_id": trial.trial_id,
        "state": trial.status,
        "path": results[0].path,
        "errors": results.num_errors,
        "last": dict(numbers(results[0].metrics)),
        "returns": [float(value) for value in results[0].metrics_dataframe[METRIC]],
    }
    print("results", json.dumps(payload), flush=True)
    sys.stdin.readline()
    ray.shutdown()


if __name__ == "__main__":
    main()
