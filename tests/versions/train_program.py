"""A training with PyTorch by two workers on a dataset of Ray Data, in a cluster of its own.

``train_program.py TEMP_DIR``: prints ``results`` and Ray's data about the run as JSON, then waits for
a line and ends.
"""

import json
import os
import sys
import tempfile
import urllib.request
from typing import Any

import numpy as np
import ray
import ray.data
import ray.train
import ray.train.torch
import torch

EPOCHS, ROWS = 2, 200


def scale(batch: dict[str, Any]) -> dict[str, Any]:
    """Numbers from 0 to 1, and the line that the model is to find."""
    x = (batch["id"] / ROWS).astype(np.float32)
    return {"x": x, "y": 3 * x + 1}


def train(config: dict[str, float]) -> None:
    """The loop of one worker."""
    rank = ray.train.get_context().get_world_rank()
    model = ray.train.torch.prepare_model(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    shard = ray.train.get_dataset_shard("train")
    for epoch in range(EPOCHS):
        rows, losses = 0, []
        for batch in shard.iter_torch_batches(batch_size=25):
            loss = torch.nn.functional.mse_loss(model(batch["x"][:, None]), batch["y"][:, None])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            rows += len(batch["x"])
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if rank == 0:
                torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
                checkpoint = ray.train.Checkpoint.from_directory(folder)
            metrics = {"loss": sum(losses) / len(losses), "epoch": epoch, "rows": rows}
            ray.train.report(metrics, checkpoint=checkpoint)


def main() -> None:
    """Train, print the results, wait."""
    folder = sys.argv[1]
    context = ray.init(num_cpus=4, _temp_dir=folder, log_to_driver=False, dashboard_port=0)
    ray.data.DataContext.get_current().enable_progress_bars = False
    result = ray.train.torch.TorchTrainer(
        train,
        train_loop_config={"lr": 0.1},
        datasets={"train": ray.data.range(ROWS, override_num_blocks=4).map_batches(scale)},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(name="line", storage_path=os.path.join(folder, "results")),
    ).fit()
    with urllib.request.urlopen(f"http://{context.dashboard_url}/api/train/v2/runs/v1", timeout=60) as answer:
        runs = json.load(answer)["train_runs"]
    results = {
        "job": ray.get_runtime_context().get_job_id(),
        "metrics": result.metrics,
        "checkpoint": result.checkpoint.path,
        "checkpoints": [[checkpoint.path, metrics] for checkpoint, metrics in result.best_checkpoints],
        "error": None if result.error is None else str(result.error),
        "runs": runs,
    }
    print("results", json.dumps(results), flush=True)
    sys.stdin.readline()
    ray.shutdown()


if __name__ == "__main__":
    main()
