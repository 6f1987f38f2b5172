"""Samples of stacks: shares of lines compared with known ones, what is kept apart, and what sampling costs.

    python benchmarks/profiling.py               # 60 s for each program, about 10 minutes
    python benchmarks/profiling.py --seconds 20
    python benchmarks/profiling.py --only cost

Each program measures by itself how long it was at its slow line, and is sampled 20 times per second:

- ``loop``: a loop in Python, which is also in another line;
- ``thread``: the same in a thread that the task started and waits for;
- ``async``: the same in a method of an async actor, between two awaits that do not wait;
- ``native``: a product of matrices in NumPy, and a loop in Python.

``apart``: two calls run at once, each in a function of its own, in two threads, or in two coroutines. A sample of a
call is right if it is in the call's own function.

``cost``: the CPU time of a worker without samples, with 1 per second, with 20, and with the 100 of a profile on
demand. Its call waits in 20 nested functions, beside four threads that wait. ``busy``: the worker computes, and the
work done is compared. ``py-spy``: the same while py-spy profiles it as Ray's agent does, also with native frames.
``bytes``: the size of a record of samples as 1,000 workers send them in an hour.

The aims: a difference of at most 5 points, 95 % kept apart, at most 0.5 % of a core with 1 sample per second and
2 % with 20, and 200 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from common import RayscopeServer, header, parse_arguments, table
from rayscope.model import RecordBatch, Span
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter
from rayscope.tracer import demand
from rayscope.tracer.sampler import MAX_HZ, frame_number
from rayscope.views.lines.compute import margin
from whatif import Cluster

PROGRAMS = (
    "loop",
    "thread",
    "async",
    "native",
    "apart threads",
    "apart coroutines",
    "cost",
    "busy",
    "py-spy",
)
RATES = (0, 1, 20, 100)
#: Options of py-spy by kind of profile.
PY_SPY = {"none": None, "Python": [], "native": ["--native"]}
#: The aims: largest difference in points, smallest share kept apart, largest record in MB.
MAX_POINTS = 5.0
MIN_APART = 0.95
MAX_MB = 200
#: Largest share of a core by rate.
MAX_COST = {1: 0.005, 20: 0.02}


def slow(number: int) -> int:
    """Compute, in one line."""
    return sum(each * each for each in range(number))


def quick(number: int) -> int:
    """Compute, in another line."""
    return sum(each + each for each in range(number))


class Work:
    """Alternates between :func:`slow` and :func:`quick`, and measures both."""

    def __init__(self) -> None:
        self.slow_s = self.all_s = 0.0
        self._random = random.Random(1)

    def turn(self, matrix: Any = None) -> None:
        """Spend about two thirds of a few milliseconds at the slow line."""
        began = time.perf_counter()
        number = self._random.randrange(10_000, 40_000)
        matrix @ matrix if matrix is not None else slow(2 * number)
        slow_end = time.perf_counter()
        quick(number)
        self.slow_s += slow_end - began
        self.all_s += time.perf_counter() - began

    def run(self, seconds: float, matrix: Any = None) -> None:
        """Alternate for some time."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            self.turn(matrix)


def nested(depth: int, seconds: float) -> None:
    """Wait in nested functions."""
    if depth:
        nested(depth - 1, seconds)
    else:
        time.sleep(seconds)


def program(kind: str, seconds: float) -> None:
    """Run a program. Prints the function that it ran in, and the share of time at its slow line."""
    import numpy as np
    import ray

    ray.init(log_to_driver=False)

    def sampled(hz: int) -> dict[str, Any]:
        usual = hz if hz <= MAX_HZ else 1
        return {"runtime_env": {"env_vars": {"RAYSCOPE_TRACE_SAMPLES": str(usual)}}}

    def ask(hz: int) -> None:
        """Ask this process for a profile, as a server does, if it is to take more samples than usual."""
        worker = ray._private.worker.global_worker
        if hz > MAX_HZ:
            begin = time.time() + demand.EVERY_S + 1
            request = {
                "workers": [worker.core_worker.get_worker_id().hex()],
                "begin": begin,
                "end": begin + seconds,
            }
            worker.gcs_client.internal_kv_put(
                demand.PREFIX + b"benchmark", json.dumps(request).encode(), True, demand.NAMESPACE
            )
            time.sleep(demand.EVERY_S + 1)

    def loop() -> float:
        work = Work()
        work.run(seconds)
        return work.slow_s / work.all_s

    def thread() -> float:
        work = Work()
        started = threading.Thread(target=work.run, args=(seconds,))
        started.start()
        started.join()
        return work.slow_s / work.all_s

    def native() -> float:
        work = Work()
        work.run(seconds, np.random.default_rng(0).random((400, 400)))
        return work.slow_s / work.all_s

    def waits(hz: int) -> tuple[int, float]:
        for _ in range(4):
            threading.Thread(target=time.sleep, args=(seconds + 10,), daemon=True).start()
        time.sleep(1)
        ask(hz)
        began = time.process_time()
        nested(20, seconds)
        return hz, (time.process_time() - began) / seconds

    def computes(hz: int) -> tuple[int, float]:
        ask(hz)
        until, turns = time.process_time() + seconds, 0
        while time.process_time() < until:
            slow(10_000)
            turns += 1
        return hz, turns / seconds

    def profiled(options: list[str] | None) -> float:
        """The work that is done per second while py-spy profiles this process with options, or without py-spy."""
        py_spy = str(Path(sys.executable).parent / "py-spy")
        command = [py_spy, "record", "-p", str(os.getpid()), "-d", str(int(seconds) + 2), "-f", "raw"]
        output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        tool = None
        if options is not None:
            tool = subprocess.Popen([*command, "-o", os.devnull, "--idle", *options], **output)
        time.sleep(2)
        until, turns = time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            slow(10_000)
            turns += 1
        if tool is not None and tool.wait():
            raise RuntimeError("py-spy failed")
        return turns / seconds

    class Async:
        """Its calls run as coroutines."""

        async def loop(self) -> float:
            """Alternate."""
            work = Work()
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                work.turn()
                await asyncio.sleep(0)
            return work.slow_s / work.all_s

        async def first(self) -> None:
            """Compute in one function."""
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                slow(20_000)
                await asyncio.sleep(0.001)

        async def second(self) -> None:
            """Compute in another."""
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                quick(20_000)
                await asyncio.sleep(0.001)

    class Threaded:
        """Its calls run in threads."""

        def first(self) -> None:
            """Compute in one function."""
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                slow(20_000)

        def second(self) -> None:
            """Compute in another."""
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                quick(20_000)

    result: Any
    if kind in ("loop", "thread", "native"):
        function = {"loop": loop, "thread": thread, "native": native}[kind]
        result = ray.get(ray.remote(function).options(name=f"alternating {kind}", **sampled(20)).remote())
    elif kind == "async":
        result = ray.get(
            ray.remote(Async)
            .options(**sampled(20))
            .remote()
            .loop.options(name=f"alternating {kind}")
            .remote()
        )
    elif kind.startswith("apart"):
        of = ray.remote(Async) if kind.endswith("coroutines") else ray.remote(Threaded)
        options = sampled(20) if kind.endswith("coroutines") else {**sampled(20), "max_concurrency": 2}
        actor = of.options(**options).remote()
        names = [f"{kind} {which}" for which in ("first", "second")]
        result = ray.get([getattr(actor, name.split()[-1]).options(name=name).remote() for name in names])
    elif kind == "py-spy":
        measured = ray.remote(profiled)
        result = {name: ray.get(measured.remote(options)) for name, options in PY_SPY.items()}
    else:
        measured = ray.remote(waits if kind == "cost" else computes)
        result = [ray.get(measured.options(**sampled(hz)).remote(hz)) for hz in RATES]
    print("RESULT", json.dumps(result), flush=True)
    time.sleep(2)  # A driver that leaves at once can lose the last second of its workers.


def lines_of(server: RayscopeServer, name: str) -> Any:
    """The lines of the tasks of a name."""
    answer = httpx.get(f"{server.url}/api/v1/lines", params={"name": name}, timeout=60)
    answer.raise_for_status()
    return answer.json()


def share(lines: Any, function: str) -> tuple[float, float]:
    """The share of a function in the samples of its caller, in points, and the margin of that share.

    Without the caller there are also samples of what Ray did before, and of the task that waits for a thread.
    """
    samples = {
        name: sum(
            line["total_samples"] for line in lines["lines"] if line["function"].rpartition(".")[2] == name
        )
        for name in (function, "turn")
    }
    of = samples["turn"] or lines["samples"]
    return 100 * samples[function] / max(1, of), margin(samples[function], of)


def compare(server: RayscopeServer, results: dict[str, Any]) -> Iterator[tuple[bool, list[Any]]]:
    """For each program, whether it met its aim, and a row of the table."""
    for kind, result in results.items():
        if kind.startswith("apart"):
            for which, own, other in (("first", "slow", "quick"), ("second", "quick", "slow")):
                lines = lines_of(server, f"{kind} {which}")
                right, wrong = share(lines, own)[0], share(lines, other)[0]
                apart = right / max(1e-9, right + wrong)
                yield apart >= MIN_APART, [f"{kind}: {which}", lines["samples"], "", f"{apart:.1%} apart", ""]
        elif kind in ("loop", "thread", "async", "native"):
            lines = lines_of(server, f"alternating {kind}")
            # The line of the product is in the function that also calls the others.
            if kind == "native":
                quick_share, points = share(lines, "quick")
                measured = 100 - quick_share
                native = sum(each["native_samples"] for each in lines["phases"]) / lines["samples"]
                note = f"{native:.0%} native"
            else:
                (measured, points), note = share(lines, "slow"), ""
            error = abs(measured - 100 * result)
            row = [kind, lines["samples"], f"{100 * result:.1f}", f"{measured:.1f} ± {points:.1f}"]
            yield error <= MAX_POINTS, [*row, f"{error:.1f} points {note}"]


def costs(results: dict[str, Any]) -> Iterator[tuple[bool, list[Any]]]:
    """The costs of sampling by rate, and whether they are within the aims."""
    for kind in ("cost", "busy"):
        values = dict(results.get(kind, ()))
        for hz in RATES[1:] if values else ():
            if kind == "cost":
                used = values[hz] - values[0]
                yield (
                    used <= MAX_COST.get(hz, 1.0),
                    [kind, hz, f"{values[0]:.2%}", f"{values[hz]:.2%}", f"{used:+.2%}"],
                )
            else:
                lost = 1 - values[hz] / values[0]
                yield (
                    True,
                    [kind, hz, f"{values[0]:.0f} turns/s", f"{values[hz]:.0f} turns/s", f"{lost:+.2%}"],
                )


def costs_of_py_spy(results: dict[str, Any]) -> Iterator[tuple[bool, list[Any]]]:
    """The share of work that is lost to py-spy. There is no aim."""
    values = results.get("py-spy", {})
    for name in list(values)[1:]:
        without, with_it = values["none"], values[name]
        row = [f"py-spy, {name}", 100, f"{without:.0f} turns/s", f"{with_it:.0f} turns/s"]
        yield True, [*row, f"{1 - with_it / without:+.2%}"]


def record_bytes(workers: int, reports: int, folder: Path) -> int:
    """The size of a record with the samples of workers that run one task each.

    Each report has ten samples of 4 to 8 stacks of 12 to 30 frames. A worker meets new stacks throughout.
    """
    rng = random.Random(1)
    session = "session_2026-01-01_00-00-00_000000_1"
    writer = SessionWriter(session, lambda: SessionFile(folder / "bytes.duckdb"))
    origin, sent = 1_760_000_000 * 10**9, [set[int]() for _ in range(workers)]
    read = [set[str]() for _ in range(workers)]

    def stack() -> list[str]:
        files = (
            "train/loop.py",
            "models/transformer/attention.py",
            "torch/nn/modules/module.py",
            "data/load.py",
        )
        depth = rng.randrange(12, 30)
        # Many stacks begin alike, and differ in their last frames.
        steady = [f"{files[at % 4]}:{100 + at} Trainer.function_{at}" for at in range(depth - 3)]
        return [
            *steady,
            *(f"{rng.choice(files)}:{rng.randrange(40)} Model.step_{rng.randrange(9)}" for _ in "abc"),
        ]

    def frames_of(texts: list[str]) -> list[list[Any]]:
        frames, number = [], 0
        for text in texts:
            caller, number = number, frame_number(number, text)
            frames.append([number, caller, text])
        return frames

    stacks = [frames_of(stack()) for _ in range(3000)]
    for report in range(reports):
        batch = RecordBatch(session)
        for worker in range(workers):
            at = origin + report * 10**10 + worker * 10**6
            sums: list[list[int]] = []
            frames: list[list[Any]] = []
            for count in (3, 2, 2, 1, 1, 1)[: rng.randrange(4, 7)]:
                chosen = stacks[min(int(rng.expovariate(1 / 300)), len(stacks) - 1)]
                frames += [frame for frame in chosen if frame[0] not in sent[worker]]
                sent[worker].update(frame[0] for frame in chosen)
                sums.append([0, 0, count, chosen[-1][0]])
            extra = json.dumps({"hz": 1.0, "samples": sums}, separators=(",", ":"))
            task = f"{worker:016x}{'f' * 24}01000000"
            batch.spans.append(Span(task, 0, "rayscope.samples", at, at + 10**10, extra))
            if frames:
                lines = {frame[2]: f"value = self.compute(batch, step={len(frame[2])})" for frame in frames}
                new = [entry for entry in lines.items() if entry[0] not in read[worker]]
                read[worker].update(lines)
                for name, entries in (("frames", frames), ("lines", new)):
                    extra = json.dumps({name: entries}, separators=(",", ":"))
                    batch.spans.append(Span("", 0, f"rayscope.{name}", at, at, extra))
        writer.add(batch, 0.0)
        if report % 20 == 19:
            writer.flush(0.0, everything=True)
    writer.flush(0.0, everything=True)
    file = writer.open()
    file.checkpoint()
    file.close()
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> int:
    """Run the programs in a recorded cluster, compare, and print."""
    if sys.argv[1:2] == ["--program"]:
        program(sys.argv[2], float(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="for each program")
    parser.add_argument("--workers", type=int, default=1000, help="of the record whose size is measured")
    parser.add_argument("--only", nargs="*", default=(*PROGRAMS, "bytes"), choices=(*PROGRAMS, "bytes"))
    args = parse_arguments(parser, seconds=4, workers=5)
    print(header("Samples of stacks", ["ray", "rayscope"]))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="rsp-", ignore_cleanup_errors=True) as folder:
        if "bytes" in args.only:
            os.mkdir(f"{folder}/bytes")
            size = record_bytes(args.workers, 360, Path(folder) / "bytes") / 1e6
            print(
                f"The samples of {args.workers} workers in an hour take {size:.1f} MB (at most {MAX_MB}).\n"
            )
        chosen = [kind for kind in PROGRAMS if kind in args.only]
        if not chosen:
            return 0 if size <= MAX_MB else 1
        server = RayscopeServer(Path(folder) / "data")
        cluster = Cluster(2, server.ingest_url, Path(folder) / "ray")
        try:
            for kind in chosen:
                command = [sys.executable, __file__, "--program", kind, str(args.seconds)]
                done = subprocess.run(command, env=cluster.env, capture_output=True, text=True, timeout=900)
                lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
                if not lines:
                    raise RuntimeError(f"{kind}: {done.stderr[-2000:]}")
                results[kind] = json.loads(lines[0].removeprefix("RESULT "))
            server.wait_until_merged()
            compared = list(compare(server, results))
        finally:
            cluster.stop()
            server.stop()
    measured = [*costs(results), *costs_of_py_spy(results)]
    heads = ["program", "samples", "true, %", "sampled, %", "difference"]
    print(table(heads, [row for _, row in compared]))
    print(
        table(["worker", "samples per second", "without", "with", "difference"], [row for _, row in measured])
    )
    met = [is_met for is_met, _ in (*compared, *measured)]
    print(f"{sum(met)} of {len(met)} met their aims.")
    return 0 if all(met) or args.seconds < 20 else 1


if __name__ == "__main__":
    sys.exit(main())
