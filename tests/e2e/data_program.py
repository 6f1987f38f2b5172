"""Pipelines of Ray Data in a cluster of their own: a union, one with a task that hangs, one with a slow operator and
an actor pool, and a shuffle.

``data_program.py TEMP_DIR``: prints ``stats`` and what Ray Data says of its datasets, as JSON; waits for a line; ends.
"""

import contextlib
import io
import json
import logging
import sys
import time
from typing import Any

import ray
import ray.data
from ray.data._internal.issue_detection import (
    HangingExecutionIssueDetector,
    HangingExecutionIssueDetectorConfig,
    issue_detector_manager,
)

ROWS = 600
BLOCKS = 12
#: How long one batch hangs, s.
HANGS_S = 8
Batch = dict[str, Any]


def parse(batch: Batch) -> Batch:
    """The batch."""
    return batch


def wait(batch: Batch) -> Batch:
    """The batch, once other workers have begun as well."""
    time.sleep(0.5)
    return batch


def crunch(batch: Batch) -> Batch:
    """The batch, after a while."""
    time.sleep(0.8)
    return batch


def left(batch: Batch) -> Batch:
    """The batch."""
    return batch


def right(batch: Batch) -> Batch:
    """The batch."""
    return batch


def look_up(batch: Batch) -> Batch:
    """The batch; the last of them hangs for a while."""
    if batch["id"][-1] == ROWS - 1:
        time.sleep(HANGS_S)
    return batch


class Warned(logging.Handler):
    """Keeps what Ray Data warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.messages.append(record.getMessage())


class Embed:
    """Runs in a pool of actors."""

    def __call__(self, batch: Batch) -> Batch:
        """The batch."""
        return batch


def numbers(operator: Any) -> ray.data.Dataset:
    """A dataset of one operator."""
    return ray.data.range(ROWS, override_num_blocks=BLOCKS).map_batches(operator)


def unite() -> str:
    """Run a dataset of two pipelines; returns its plan in Ray's words."""
    dataset = numbers(left).union(numbers(right))
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        dataset.explain()
    dataset.materialize()
    return plan.getvalue()


def hang() -> list[str]:
    """Run a dataset with a task that hangs; returns what Ray Data warns of meanwhile."""
    warned = Warned()
    logging.getLogger(issue_detector_manager.__name__).addHandler(warned)
    settings = ray.data.DataContext.get_current().issue_detectors_config
    # (By default Ray Data does not look for tasks that hang.)
    before, settings.detectors = settings.detectors, [HangingExecutionIssueDetector]
    settings.hanging_detector_config = HangingExecutionIssueDetectorConfig(
        op_task_stats_min_count=5, op_task_stats_std_factor=3, detection_time_interval_s=0.5
    )
    numbers(look_up).materialize()
    settings.detectors = before
    return warned.messages


def main() -> None:
    """Run all datasets, print their results, wait."""
    ray.init(num_cpus=4, _temp_dir=sys.argv[1], log_to_driver=False, dashboard_port=0)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # Each worker imports Ray Data with its first task, which takes seconds.
    numbers(wait).materialize()
    plan, warned = unite(), hang()
    dataset = ray.data.range(ROWS, override_num_blocks=BLOCKS)
    dataset = dataset.map_batches(parse, num_cpus=0.5).map_batches(crunch, num_cpus=2)
    dataset = dataset.map_batches(Embed, concurrency=1, num_cpus=0.5).materialize()
    shuffled = ray.data.range(ROWS, override_num_blocks=4).map_batches(parse).random_shuffle().materialize()
    results = {
        "rows": [dataset.count(), shuffled.count()],
        "stats": [dataset.stats(), shuffled.stats()],
        "plan": plan,
        "warned": warned,
    }
    print("stats", json.dumps(results), flush=True)
    sys.stdin.readline()
    ray.shutdown()


if __name__ == "__main__":
    main()
