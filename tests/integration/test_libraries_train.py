"""Ray Train's runs: the record of a program with two workers, a failure and a restart."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RAY_ENV, run_in_turn
from tests.waiting import wait_until

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from rayscope.settings import Settings

PROGRAM = """
import json, os, sys, tempfile, time, urllib.request
import ray

folder = sys.argv[1]
context = ray.init(num_cpus=3, include_dashboard=True, _temp_dir=folder, log_to_driver=False)
import ray.data, ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

ray.data.DataContext.get_current().enable_progress_bars = False
failed = os.path.join(folder, "failed")

def train(config):
    rank = ray.train.get_context().get_world_rank()
    shard = ray.train.get_dataset_shard("train")
    for step in range(3):
        rows = sum(len(batch["id"]) for batch in shard.iter_batches(batch_size=20))
        if step == 1 and rank == 1:
            time.sleep(0.5)
            if not os.path.exists(failed):
                open(failed, "w").close()
                raise ValueError("the disk is full")
        metrics = {"loss": 1 / (step + 1), "rows": rows, "rank": rank, "text": "left out"}
        if step == 2 and rank == 1:
            metrics["loss"] = float("nan")
        checkpoint = None
        with tempfile.TemporaryDirectory() as made:
            if step == 2 and rank == 0:
                checkpoint = ray.train.Checkpoint.from_directory(made)
            ray.train.report(metrics, checkpoint=checkpoint)

result = DataParallelTrainer(
    train,
    train_loop_config={"lr": 0.1, "api_key": "hush"},
    datasets={"train": ray.data.range(100, override_num_blocks=4)},
    scaling_config=ray.train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
    run_config=ray.train.RunConfig(
        name="digits",
        storage_path=os.path.join(folder, "results"),
        failure_config=ray.train.FailureConfig(max_failures=1),
    ),
).fit()
with urllib.request.urlopen(f"http://{context.dashboard_url}/api/train/v2/runs/v1", timeout=60) as answer:
    told = json.load(answer)
print(json.dumps({"metrics": result.metrics, "checkpoint": result.checkpoint.path, "runs": told["train_runs"]}))
"""


@pytest.mark.long
def test_the_record_of_a_run_that_fails_once_equals_rays_report(tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    try:
        with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
            environment = child_env(server.ingest_url) | RAY_ENV | {"RAY_AUTH_MODE": "disabled"}
            ended = run_in_turn([sys.executable, str(program), folder], Path(folder), env=environment)
        assert ended.returncode == 0, ended.stderr[-4000:]
        printed = json.loads(ended.stdout.strip().splitlines()[-1])
        _compare(server.url, printed)
    finally:
        server.stop()


def _compare(url: str, printed: dict[str, Any]) -> None:
    def get(path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{url}/api/v1{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    (theirs,) = printed["runs"]
    # (Until the server knows that the cluster has ended, it misses the dashboard.)
    wait_until(lambda: get("/train")["problem"] is None, "the end of the cluster")
    page = get("/train")
    (ours,) = page["items"]
    assert (ours["run_id"], ours["name"], ours["job_id"]) == (theirs["id"], "digits", theirs["job_id"])
    assert (ours["state"], theirs["status"]) == ("FINISHED", "FINISHED")
    assert (ours["start_ns"], ours["end_ns"]) == (theirs["start_time_ns"], theirs["end_time_ns"])
    assert (ours["attempt_count"], ours["failed_attempts"], ours["worker_count"]) == (2, 1, 2)

    run = get(f"/train/{ours['run_id']}")
    their_attempts = sorted(theirs["attempts"], key=lambda one: one["start_time_ns"])
    assert [one["state"] for one in run["attempts"]] == ["ERRORED", "FINISHED"]
    for one, attempt in zip(run["attempts"], their_attempts, strict=True):
        assert (one["attempt_id"], one["state"]) == (attempt["attempt_id"], attempt["status"])
        assert (one["start_ns"], one["end_ns"]) == (attempt["start_time_ns"], attempt["end_time_ns"])
        assert one["status_detail"] == attempt["status_detail"]
    assert "the disk is full" in run["attempts"][0]["status_detail"]
    assert [one["reports"] for one in run["attempts"]] == [1, 3]
    for worker, their_worker in zip(run["workers"], their_attempts[1]["workers"], strict=True):
        for name in ("world_rank", "local_rank", "actor_id", "node_id", "pid"):
            assert worker[name] == their_worker[name]
        assert their_worker["log_file_path"].endswith(f"/logs/{worker['log_file']}")
    assert json.loads(run["settings"]["train_loop_config"]) == {"lr": 0.1, "api_key": "<redacted>"}

    # The reported numbers, and where a worker reported a value that is not a number.
    lines = {
        (metric["name"], line["rank"]): [value for _, value in line["points"]]
        for metric in run["metrics"]
        for line in metric["lines"]
    }
    assert {name for name, _ in lines} == {"loss", "rows", "rank"}
    assert lines["loss", 0] == pytest.approx([1, 1 / 2, 1 / 3])
    assert lines["loss", 1] == pytest.approx([1, 1 / 2])
    assert printed["metrics"]["loss"] == lines["loss", 0][-1]
    assert [a + b for a, b in zip(lines["rows", 0], lines["rows", 1], strict=True)] == [100, 100, 100]
    loss = next(metric for metric in run["metrics"] if metric["name"] == "loss")
    assert (loss["not_finite_step"], loss["not_finite_rank"]) == (2, 1)
    (checkpoint,) = run["checkpoints"]
    assert (checkpoint["step"], checkpoint["path"]) == (2, printed["checkpoint"])

    cells = {(cell["rank"], cell["column"]): cell for cell in run["cells"]}
    assert len(cells) == 6
    for cell in cells.values():
        assert 0 < cell["data_ns"] <= cell["own_ns"]
    # Rank 1 slept half a second before its second report, and rank 0 waited for it in its own.
    slow, fast = cells[1, 1], cells[0, 1]
    assert slow["own_ns"] - slow["data_ns"] > 0.45e9
    assert fast["own_ns"] - fast["data_ns"] < 0.4e9 < fast["report_ns"]
