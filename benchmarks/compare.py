"""Verdicts of comparisons whose truth is known: on numbers made by chance, and on real runs.

    python benchmarks/compare.py simulated            # a few seconds
    python benchmarks/compare.py slower --file /tmp/slower.json    # one function of 20 is slower, 40 minutes
    python benchmarks/compare.py equal --file /tmp/equal.json      # equal runs of 200 functions, 80 minutes
    python benchmarks/compare.py renamed      # one function of 20 has another name, 3 minutes

*simulated*: how often a function that is slower by 5 % or 10 % is found, where the means of functions vary by
2 % from run to run and whole runs by another 3 %.

*slower*: comparisons of 5 and 5 real runs of 20 s; on one side, one function of 20 takes 20 % longer. *equal*:
likewise, with nothing changed. *renamed*: one run on each side, where another function has a new name in each
comparison. Each comparison has runs of its own, and both sides alternate. Finished ones are
kept in ``--file``, so an interrupted *slower* or *equal* continues there.

The exit status is 1 if less is found, or more is wrong, than docs/benchmarks.md promises.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import RayscopeServer, ask_once_ended, header, parse_arguments, table
from rayscope.compare.statistics import compare_functions
from whatif import Cluster

#: Standard deviation of a function's mean from run to run, and of all functions of a run.
OWN_NOISE, COMMON_NOISE = 0.02, 0.03
SLOW = "step_003"
#: Old and new names of functions, the last three of them with little in common.
RENAMED = {
    "load_chunk": "read_chunk",
    "tokenize": "tokenize_text",
    "train_step": "training_step",
    "merge": "merge_parts",
    "clean": "clean_rows",
    "embed": "embed_batch",
    "write": "write_output",
    "fetch": "download",
    "score": "evaluate",
    "shuffle": "permute",
}
CPUS = 2


def program(functions: int, calls: int, seconds: float, factor: float, renamed: str = "") -> None:
    """Use ``seconds`` of CPU time in calls of functions, one of which takes ``factor`` times as long.

    Another has a new name if ``renamed`` is its old one.
    """
    import ray

    ray.init(log_to_driver=False)
    each = seconds / functions / calls

    def spin(number: int, name: str) -> int:
        end = time.thread_time() + each * (factor if name == SLOW else 1)
        while time.thread_time() < end:
            pass
        return number

    made = []
    names = [f"step_{place:03}" for place in range(functions)]
    if functions >= len(RENAMED):
        names[-len(RENAMED) :] = [RENAMED[name] if name == renamed else name for name in RENAMED]
    for name in names:

        def step(number: int, name: str = name) -> int:
            return spin(number, name)

        step.__name__ = step.__qualname__ = name
        made.append(ray.remote(num_cpus=1)(step))
    for number in range(calls):
        ray.get([step.remote(number) for step in made])
    print("JOB", ray.get_runtime_context().get_job_id())


def simulated(seeds: int) -> bool:
    """Print how often a slower function is found in numbers made by chance. Returns whether it is enough."""

    def side(random: np.random.Generator, runs: int, functions: int) -> Any:
        own = random.normal(0, OWN_NOISE, (runs, functions))
        return np.exp(own + random.normal(0, COMMON_NOISE, (runs, 1)))

    rows, is_enough = [], True
    cases = [(5, 0.05, 1, each) for each in (1, 3, 10, 20)] + [(3, 0.10, 1, each) for each in (1, 3, 10, 20)]
    for runs, effect, slower, functions in [*cases, (5, 0.10, 3, 10), (5, 0.10, 6, 20), (5, 1.0, 4, 8)]:
        found = false = 0
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            a, b = side(random, runs, functions), side(random, runs, functions)
            if functions < 8:  # too few to recognize noise of the whole run
                a, b = (np.exp(random.normal(0, OWN_NOISE, (runs, functions))) for _ in range(2))
            b[:, :slower] *= 1 + effect
            verdicts = compare_functions(a, b, np.full(functions, 1 / functions), 0.05).verdicts
            found += verdicts[:slower].count("slower")
            false += sum(verdict in ("slower", "faster") for verdict in verdicts[slower:])
        share = found / (seeds * slower)
        rows.append((f"{runs} + {runs}", f"{effect:.0%}", f"{slower} of {functions}", f"{share:.0%}", false))
        is_enough &= effect < 0.10 or share >= 0.9
    print(table(("runs", "slower by", "functions", f"found in {seeds} seeds", "false rows"), rows))
    return is_enough


class Lab:
    """A server, and a cluster that it records."""

    def __init__(self, folder: Path) -> None:
        self.server = RayscopeServer(folder / "data")
        try:
            self.cluster = Cluster(CPUS, self.server.ingest_url, folder / "r")
        except BaseException:
            self.server.stop()
            raise

    def stop(self) -> None:
        """Stop both."""
        self.cluster.stop()
        self.server.stop()

    def run(self, *arguments: float | str) -> str:
        """Run the program as a job. Returns the job's ID."""
        command = [sys.executable, __file__, "program", *map(str, arguments)]
        done = subprocess.run(command, env=self.cluster.env, capture_output=True, text=True, check=True)
        return done.stdout.split("JOB", 1)[1].split()[0]

    def compare(self, a: list[str], b: list[str]) -> dict[str, Any]:
        """Compare jobs, as soon as all of them have ended on record."""
        sides = "&".join(
            f"{name}={','.join(f'/{job}' for job in side)}" for name, side in (("a", a), ("b", b))
        )

        def ask(http: Any) -> dict[str, Any]:
            answer: dict[str, Any] = http.get(f"/api/v1/compare?{sides}")
            answer["so_far"] = any(one["code"] == "ended" for one in answer["warnings"])
            return answer

        return ask_once_ended(self.server.url, ask)


def real(kind: str, options: argparse.Namespace) -> bool:
    """Compare real runs. Returns whether the verdicts are as promised."""
    functions, calls = (20, 20) if kind == "slower" else (200, 4)
    factor = 1.2 if kind == "slower" else 1.0
    done: list[dict[str, Any]] = json.loads(options.file.read_text()) if options.file.exists() else []
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder))
        try:
            lab.run(functions, 1, 1.0, 1.0)  # the first job starts workers
            while len(done) < options.comparisons:
                a: list[str] = []
                b: list[str] = []
                for _ in range(options.runs):
                    a.append(lab.run(functions, calls, options.seconds * CPUS, 1.0))
                    b.append(lab.run(functions, calls, options.seconds * CPUS, factor))
                done.append(_summary(lab.compare(a, b)))
                options.file.write_text(json.dumps(done, indent=1))
                print(json.dumps(done[-1]), flush=True)
        finally:
            lab.stop()
    named = sum(one["named"] for one in done)
    false = sum(one["false"] for one in done)
    verdicts = [one["verdict"] for one in done]
    rows = [(verdict, verdicts.count(verdict)) for verdict in sorted(set(verdicts))]
    print(table(("verdict on the duration", "comparisons"), rows))
    print(f"The slower function was named in {named} of {len(done)}; {false} other functions in all.")
    if kind == "equal":
        return false + named <= 1 and not {"slower", "faster"} & set(verdicts)
    return named >= 0.9 * len(done) and verdicts.count("cannot_tell") <= 0.1 * len(done)


def renames(options: argparse.Namespace) -> bool:
    """Compare runs in which one function was renamed. Returns whether enough renames are suggested."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder))
        try:
            before = lab.run(20, 5, options.seconds, 1.0)
            for old, new in list(RENAMED.items())[: options.comparisons]:
                answer = lab.compare([before], [lab.run(20, 5, options.seconds, 1.0, old)])
                named = {one["name"]: one["renamed_from"] for one in answer["functions"]}
                rows.append(
                    (old, new, next((was or "-" for name, was in named.items() if name.endswith(new)), ""))
                )
        finally:
            lab.stop()
    print(table(("before", "after", "suggested"), rows))
    right = sum(was.endswith(old) for old, _, was in rows)
    print(f"The right function was suggested in {right} of {len(rows)}.")
    return right >= 0.9 * len(rows)


def _summary(answer: dict[str, Any]) -> dict[str, Any]:
    rows = [one["name"] for one in answer["functions"] if one["verdict"] in ("slower", "faster")]
    slow = next(one for one in answer["functions"] if one["name"].endswith(SLOW))
    return {
        **{key: answer["duration"][key] for key in ("verdict", "ratio", "low", "high", "spread")},
        "common": answer["common"],
        "own_ratio": slow["own_ratio"],
        "p": slow["p"],
        "named": any(name.endswith(SLOW) for name in rows),
        "false": sum(not name.endswith(SLOW) for name in rows),
    }


def main() -> int:
    if sys.argv[1:2] == ["program"]:
        functions, calls, seconds, factor = map(float, sys.argv[2:6])
        program(int(functions), int(calls), seconds, factor, *sys.argv[6:])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "kind", nargs="?", choices=("simulated", "slower", "equal", "renamed"), default="simulated"
    )
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--comparisons", type=int, help="default: 10 of slower runs, 20 of equal ones")
    parser.add_argument("--runs", type=int, default=5, help="on each side")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run")
    parser.add_argument("--file", type=Path, default=Path("compare.json"), help="what is done so far")
    options = parse_arguments(parser, seeds=5, comparisons=1, runs=2, seconds=1.0)
    options.comparisons = options.comparisons or (20 if options.kind == "equal" else 10)
    print(header("Comparisons", ["ray", "scipy"]))
    kinds = {"simulated": lambda: simulated(options.seeds), "renamed": lambda: renames(options)}
    is_good = kinds.get(options.kind, lambda: real(options.kind, options))()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
