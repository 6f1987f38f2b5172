"""The use of a GPU that Rayscope shows, compared with a known use, on a machine with an NVIDIA GPU.

    python benchmarks/gpus.py               # about 3 minutes
    python benchmarks/gpus.py --seconds 60  # longer tasks

Tasks keep a GPU busy for 20, 50 and 80 % of each cycle, first with a whole GPU each, then two processes with
half a GPU each. It needs torch or cupy. Without one of them, or without a GPU, it prints why and does nothing.
The exit status is 1 if a share is off by more than 5 points (10 for half a GPU), or unknown.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import Http, RayscopeServer, environment, header, parse_arguments, table

DUTIES = (20, 50, 80)
#: Largest error of the share of a whole GPU, and of half a GPU, in percentage points.
WHOLE, HALF = 5.0, 10.0
#: Memory that each task takes, in bytes.
MEMORY = 1 << 30
#: Prints the ID of each task, and how busy it really kept the GPU, in percent.
PROGRAM = """
import json, sys, time
import ray

library, seconds, duties, memory = json.loads(sys.argv[1])

def use(percent):
    if library == "torch":
        import torch
        held = torch.empty(memory, dtype=torch.uint8, device="cuda")
        values = torch.rand(4096, 4096, device="cuda")
        multiply, wait = (lambda: values @ values), torch.cuda.synchronize
    else:
        import cupy
        held = cupy.empty(memory, dtype=cupy.uint8)
        values = cupy.random.rand(4096, 4096, dtype=cupy.float32)
        multiply, wait = (lambda: values @ values), cupy.cuda.Device().synchronize
    multiply(), wait()
    begin, busy = time.monotonic(), 0.0
    while (now := time.monotonic()) < begin + seconds:
        while time.monotonic() < now + 0.5 * percent / 100:
            for _ in range(5):
                multiply()
            wait()
        used = time.monotonic() - now
        busy += used
        time.sleep(max(0, 0.5 - used))
    return ray.get_runtime_context().get_task_id(), 100 * busy / (time.monotonic() - begin)

def report(kind, percent, result):
    print("TASK " + json.dumps([kind, percent, *result]), flush=True)

ray.init()
for percent in duties:
    report("whole", percent, ray.get(ray.remote(num_gpus=1)(use).remote(percent)))
halves = [ray.remote(num_gpus=0.5, max_calls=1)(use).remote(percent) for percent in duties[:2]]
for percent, result in zip(duties, ray.get(halves)):
    report("half", percent, result)
time.sleep(12)  # until the last samples are sent
"""


def missing() -> str | None:
    """The reason why nothing can be measured here, or None."""
    try:
        nvml: Any = importlib.import_module("ray._private.thirdparty.pynvml")
        nvml.nvmlInit()
        if not nvml.nvmlDeviceGetCount():
            return "no GPU"
    except Exception:  # no driver
        return "no GPU"
    return None if _library() else "neither torch nor cupy"


def _library() -> str | None:
    return next((name for name in ("torch", "cupy") if importlib.util.find_spec(name)), None)


def _run(seconds: float, duties: list[int], folder: Path) -> list[list[Any]]:
    """Run the program in a recorded cluster. Returns (kind, intended percent, task ID, real percent)."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", str(program)]
    done = subprocess.run(
        [*command, json.dumps([_library(), seconds, duties, MEMORY])],
        env={**environment(), "RAYSCOPE_DATA_DIR": str(folder / "data")},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TASK ")]
    return [json.loads(line.removeprefix("TASK ")) for line in lines]


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="duration of each task")
    args = parse_arguments(parser, seconds=5)
    print(header("Use of GPUs", ("rayscope", "ray", "nvidia-ml-py", "torch", "cupy")))
    if (reason := missing()) is not None:
        print(f"not run: {reason}")
        return 0
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = _run(args.seconds, list(DUTIES), folder)
        server = RayscopeServer(folder / "data")
        client = Http(server.url)
        try:
            for kind, percent, task_id, truth in tasks:
                (attempt,) = client.get(f"/api/v1/tasks/{task_id}")["attempts"]
                busy, measured = attempt["gpu_busy_ns"], attempt["gpu_measured_ns"]
                shown = 100 * busy / measured if busy is not None and measured else None
                is_right = shown is not None and abs(shown - truth) <= (WHOLE if kind == "whole" else HALF)
                wrong += not is_right
                memory = attempt["gpu_memory_peak_bytes"]
                rows.append(
                    [
                        f"{kind}, {percent} %",
                        f"{truth:.1f} %",
                        "unknown" if shown is None else f"{shown:.1f} %",
                        attempt["gpu_scope"],
                        "-" if not measured else f"{100 * measured / attempt['gpu_held_ns']:.0f} %",
                        "-" if memory is None else f"{memory / 2**30:.2f} GiB",
                        "yes" if is_right else "NO",
                    ]
                )
        finally:
            client.close()
            server.stop()
    print(table(("GPU, duty", "real", "shown", "scope", "measured", "peak memory", "right"), rows))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
