"""Pairs of programs, one of them with a risk that costs no time. Each is a driver of the running Ray.

python benchmarks/detector_programs_risks.py NAME_bad
"""

from __future__ import annotations

import multiprocessing
import os
import pty
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import ray
from ray import cloudpickle


class Table:
    """An object of the program that contains a reference."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref


@ray.remote(num_cpus=0.5)
def total(table: Any) -> int:
    if isinstance(table, bytes):
        table = cloudpickle.loads(table)
    return sum(ray.get(table.ref))


def out_of_band_reference_bad() -> None:
    pickled = cloudpickle.dumps(Table(ray.put(list(range(1000)))))
    print(sum(ray.get([total.remote(pickled) for _ in range(10)])))


def out_of_band_reference_good() -> None:
    """References inside objects, passed through an actor, ray.put and results; and an actor's handle in code."""

    @ray.remote(num_cpus=0)
    class Keeper:
        def keep(self, table: Table) -> list[Table]:
            self.table = table
            return [table]

    keeper = Keeper.remote()

    @ray.remote(num_cpus=0.5)
    def add_kept(table: Table) -> int:
        return sum(ray.get(ray.get(keeper.keep.remote(table))[0].ref))

    table = Table(ray.put(list(range(1000))))
    boxed = ray.put([table])
    print(ray.get(total.remote(table)), ray.get(add_kept.remote(table)), sum(ray.get(ray.get(boxed)[0].ref)))


def captured_reference_bad() -> None:
    """A function captures a reference."""
    ref = ray.put(list(range(1000)))

    @ray.remote(num_cpus=0.5)
    def add() -> int:
        return sum(ray.get(ref))

    print(ray.get(add.remote()))


def forked_process_bad() -> None:
    @ray.remote(num_cpus=0.5)
    def squares() -> int:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            return sum(pool.map(abs, range(10)))

    print(ray.get(squares.remote()))
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def forked_process_good() -> None:
    """The same without a fork, and other programs started in all possible ways."""

    @ray.remote(num_cpus=0.5)
    def squares() -> int:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            return sum(pool.map(abs, range(10)))

    @ray.remote(num_cpus=0.5)
    def run_programs() -> int:
        subprocess.run(["true"], check=True)
        subprocess.run(["true"], check=True, preexec_fn=os.setpgrp)
        os.system("true")
        return pty.spawn(["true"])

    print(ray.get(squares.remote()), ray.get(run_programs.remote()), ray.get(run_programs.remote()))


def map_rows(rows: int, hanging: int | None = None) -> int:
    """A dataset of ``rows`` blocks, one of which may hang for a while, which Ray Data detects."""
    import ray.data
    from ray.data._internal.issue_detection import (
        HangingExecutionIssueDetector,
        HangingExecutionIssueDetectorConfig,
    )

    def look_up(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(20 if row["id"] == hanging else row["id"] % 10 / 10)
        return row

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.issue_detectors_config.detectors = []
    ray.data.range(8, override_num_blocks=8).materialize()  # starts the workers
    context.issue_detectors_config.detectors = [HangingExecutionIssueDetector]
    context.issue_detectors_config.hanging_detector_config = HangingExecutionIssueDetectorConfig(
        detection_time_interval_s=0.5
    )
    return int(ray.data.range(rows, override_num_blocks=rows).map(look_up).materialize().count())


def data_issue_bad() -> None:
    print(map_rows(30, hanging=29))


def data_issue_good() -> None:
    print(map_rows(30))


if __name__ == "__main__":
    ray.init(log_to_driver=False)
    print("JOB", ray.get_runtime_context().get_job_id())
    globals()[sys.argv[1]]()
