"""A training run whose ranks wait for a stuck one: its alert takes a profile that names that rank."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RAY_ENV, start_in_turn
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.cli.recording import child_env, with_py_spy
from rayscope.server.runner import Server
from rayscope.settings import Settings

PROGRAM = """
import os, queue, sys
import ray

folder = sys.argv[1]
ray.init(num_cpus=3, include_dashboard=True, _temp_dir=folder, log_to_driver=False)
import ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

def load():
    return queue.Queue().get()

def train(config):
    rank = ray.train.get_context().get_world_rank()
    for step in range(1000):
        if step == 8 and rank == 1:
            load()
        ray.train.report({"step": step})

DataParallelTrainer(
    train,
    scaling_config=ray.train.ScalingConfig(num_workers=3, resources_per_worker={"CPU": 0.5}),
    run_config=ray.train.RunConfig(name="stuck", storage_path=os.path.join(folder, "results")),
).fit()
"""
#: The built-in rule with less patience: 12 s.
RULES = """
groups:
- name: mine
  interval: 1s
  rules:
  - {alert: TrainingRunStalled, expr: rayscope_train_overdue_ratio > 0.2, annotations: {rayscope_profile: 2s}}
"""


@pytest.mark.long
def test_the_profile_of_an_alert_names_the_rank_that_the_others_wait_for(tmp_path: Path) -> None:
    (tmp_path / "data" / "alerts").mkdir(parents=True)
    (tmp_path / "data" / "alerts" / "mine.yml").write_text(RULES)
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
            env = with_py_spy(child_env(server.ingest_url) | RAY_ENV | {"RAY_AUTH_MODE": "disabled"})
            with (tmp_path / "out").open("w") as out:
                command = [sys.executable, str(program), folder]
                job = start_in_turn(command, Path(folder), env=env, stdout=out, stderr=out)
            try:
                _check(server.url, job, tmp_path / "out")
            finally:
                job.terminate()
                job.wait(TIMEOUT_S)
    finally:
        server.stop()


def _check(url: str, job: subprocess.Popen[str], out: Path) -> None:
    def get(path: str) -> Any:
        return httpx.get(f"{url}/api/v1{path}").json()

    def fired() -> Any:
        assert job.poll() is None, out.read_text()
        return next((item for item in get("/alerts").get("items", ()) if item["profile"]), None)

    alert = wait_until(fired, "the alert")
    assert (alert["rule"], alert["profile"]["problem"]) == ("TrainingRunStalled", None)
    assert alert["labels"]["run"] == "stuck"

    def taken() -> Any:
        (item,) = get("/profiles")["items"]
        return None if item["is_running"] else item

    profile = wait_until(taken, "the profile")
    assert (profile["profile_id"], profile["taken_by"]) == (
        alert["profile"]["profile_id"],
        "TrainingRunStalled",
    )
    assert profile["filters"] == {"job_id": alert["labels"]["job_id"]}
    ranks = {worker["worker_id"]: worker["rank"] for worker in profile["workers"]}
    waiting, stuck = (
        group for group in profile["stacks"] if None not in {ranks[worker] for worker in group["worker_ids"]}
    )
    assert sorted(ranks[worker] for worker in waiting["worker_ids"]) == [0, 2]
    assert [ranks[worker] for worker in stuck["worker_ids"]] == [1]

    def lines(group: Any) -> list[str]:
        return [
            PROGRAM.splitlines()[int(frame.split(":")[1].split()[0]) - 1].strip()
            for frame in group["frames"]
            if "train.py:" in frame.split()[0] and "/train/" not in frame
        ]

    assert lines(waiting) == ['ray.train.report({"step": step})']
    assert lines(stuck) == ["return queue.Queue().get()", "load()"]
