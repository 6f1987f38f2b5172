"""One measured Ray cluster: starts it, runs the workloads, prints the results, and stops it.

See overhead.py.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable

import psutil
import ray

GROUPS = ("driver", "workers", "agent", "gcs", "raylet", "other", "ours")
_QUIET_S = 2.0
_LONGEST_DRAIN_S = 90.0


@ray.remote
def noop() -> None:
    """Do nothing."""


@ray.remote
def busy(milliseconds: float) -> None:
    """Use a CPU for a fixed amount of CPU time."""
    until = time.thread_time() + milliseconds / 1000
    while time.thread_time() < until:
        pass


@ray.remote
def take(value: bytes) -> None:
    """Take an argument."""


@ray.remote(num_cpus=0)
class Actor:
    """Has a method that does nothing."""

    def noop(self) -> None:
        """Do nothing."""


def _group(process: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    if command.startswith("ray::DashboardAgent") or "dashboard/agent.py" in command:
        return "agent"
    if "gcs_server" in command.split(" ")[0]:
        return "gcs"
    if command.split(" ")[0].endswith("/raylet"):
        return "raylet"
    if "default_worker.py" in command or command.startswith(
        ("ray::IDLE", "ray::noop", "ray::busy", "ray::take", "ray::Actor")
    ):
        return "workers"
    return "other"


def cpu(ours: int) -> Counter[str]:
    """CPU seconds so far by group of processes. ``ours``: PID of the receiver of the events, or 0."""
    me = psutil.Process()
    found: Counter[str] = Counter()
    for process in me.children(recursive=True):
        try:
            times = process.cpu_times()
            found[_group(process)] += times.user + times.system
        except psutil.Error:
            continue
    times = me.cpu_times()
    found["driver"] = times.user + times.system
    if ours:
        times = psutil.Process(ours).cpu_times()
        found["ours"] = times.user + times.system
    return found


def _settle(ours: int) -> None:
    """Wait until the agent and the receiver of its events are idle."""
    deadline = time.monotonic() + _LONGEST_DRAIN_S
    quiet_since = time.monotonic()
    before, at = cpu(ours), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now, now_at = cpu(ours), time.monotonic()
        used = sum(now[group] - before[group] for group in ("agent", "ours", "workers", "driver")) / (
            now_at - at
        )
        before, at = now, now_at
        if used > 0.12:
            quiet_since = now_at
        elif now_at - quiet_since >= _QUIET_S:
            return


def _measure(
    name: str, tasks: int, run: Callable[[], None], ours: int, idle: Counter[str]
) -> dict[str, object]:
    before, began = cpu(ours), time.monotonic()
    run()
    seconds = time.monotonic() - began
    _settle(ours)
    window = time.monotonic() - began
    after = cpu(ours)
    net = {
        group: max(0.0, after[group] - before[group] - idle[group] * window) / tasks * 1e6 for group in GROUPS
    }
    return {"workload": name, "tasks": tasks, "seconds": seconds, "window": window, "cpu_us": net}


def main() -> None:
    """Run one variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--temp", required=True)
    parser.add_argument("--waves", type=int, default=5)
    parser.add_argument("--wave", type=int, default=1000)
    parser.add_argument("--busy", type=int, default=500)
    parser.add_argument("--ours", type=int, default=0)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--only", default="", help="workloads whose name has this")
    args = parser.parse_args()
    if args.one_core:
        os.sched_setaffinity(0, {0})  # inherited by all processes started here
    ray.init(
        num_cpus=1 if args.one_core else 2, _temp_dir=args.temp, log_to_driver=False, logging_level="ERROR"
    )
    actors = [Actor.remote() for _ in range(2)]

    def tasks() -> None:
        for _ in range(args.waves):
            ray.get([noop.remote() for _ in range(args.wave)])

    def calls() -> None:
        for _ in range(args.waves):
            ray.get([actors[i % 2].noop.remote() for i in range(args.wave)])

    def work() -> None:
        ray.get([busy.remote(10) for _ in range(args.busy)])

    megabytes = [ray.put(bytes(1_000_000)) for _ in range(20)]

    def arguments() -> None:
        for _ in range(args.waves):
            ray.get([take.remote(megabytes[i % 20]) for i in range(args.wave // 5)])

    def gets() -> None:
        for _ in range(args.waves * args.wave // 5):
            ray.get(noop.remote())

    # Warm up: start workers, load functions, and let the cluster's start settle.
    ray.get([noop.remote() for _ in range(300)])
    ray.get([actor.noop.remote() for actor in actors for _ in range(100)])
    ray.get([busy.remote(1) for _ in range(20)])
    ray.get([take.remote(value) for value in megabytes])
    time.sleep(2)
    _settle(args.ours)
    before, began = cpu(args.ours), time.monotonic()
    time.sleep(3)
    took = time.monotonic() - began
    after = cpu(args.ours)
    idle: Counter[str] = Counter({group: (after[group] - before[group]) / took for group in GROUPS})
    workloads = [
        ("no-op tasks", args.waves * args.wave, tasks),
        ("no-op actor calls", args.waves * args.wave, calls),
        ("10 ms tasks", args.busy, work),
        ("1 MB arguments", args.waves * (args.wave // 5), arguments),
        ("ray.get in a loop", args.waves * args.wave // 5, gets),
    ]
    results = [
        _measure(name, count, run, args.ours, idle) for name, count, run in workloads if args.only in name
    ]
    print("RESULT " + json.dumps({"results": results, "idle": dict(idle)}), flush=True)
    # Exit even if the cluster does not stop.
    threading.Timer(60, os._exit, (1,)).start()
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
