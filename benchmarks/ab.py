"""Compare two commits: the ratios of their benchmark results, with the spread.

    python benchmarks/ab.py OLD NEW                                  # some short benchmarks
    python benchmarks/ab.py OLD NEW startup "decode --rounds 3"      # only these, with options
    python benchmarks/ab.py OLD NEW startup --rounds 8

Each commit is checked out in a temporary worktree, with an environment from its own lock file. The rounds
alternate (old new, new old, ...), so that a slow period of the machine affects both. Each ratio new / old is
from one round.

Both commits run the benchmarks of this checkout. If these fail for one of them, because they import something
that has moved, each commit runs its own. This works since commit a8d745ea.

A figure is a number in a Markdown table that a benchmark prints, named by the start of its row and the head
of its column.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import HERE, machine, now, table

ROOT = HERE.parent
DEFAULT = (
    "startup",
    "decode",
    "ingest --quick --no-flow-insight",
    "views --tasks 10000 --rounds 1",
)
#: Folder of a worktree with the benchmarks of this checkout.
SHARED = "benchmarks"
#: Folder with the commit's own benchmarks.
OWN = "own_benchmarks"
#: Benchmarks that open pages in a browser.
NEEDS_UI = ("frames", "scale")
#: Names of figures in older benchmarks -> their current names.
RENAMED = {"decode": {"parse": "check", "convert": "decode"}}
NUMBER = re.compile(r"\**(-?[\d,]*\d(?:\.\d+)?)\**\s*([^\d\s|(),*/]*)")


class Figure(NamedTuple):
    """Identifies a figure."""

    row: str
    column: str
    unit: str


class Failed(Exception):
    """A benchmark ended with an error; the message is the last line it printed."""


def figures(output: str, renamed: dict[str, str] | None = None) -> dict[Figure, float]:
    """Parse the numbers of all Markdown tables. Repeated names get a number."""
    values: dict[Figure, float] = {}
    columns: list[str] = []
    for line in output.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif not set(line) <= set("|-: "):
            for figure, value in _row(columns, cells, renamed or {}):
                values[_unused(figure, values)] = value
    return values


def _row(columns: list[str], cells: list[str], renamed: dict[str, str]) -> Iterator[tuple[Figure, float]]:
    first = next((at for at, cell in enumerate(cells) if at and NUMBER.match(cell)), len(cells))
    row = ", ".join(renamed.get(cell, cell).replace("*", "") for cell in cells[:first] if cell)
    for column, cell in zip(columns[first:], cells[first:], strict=False):
        parts = cell.split(" / ")
        for number, part in enumerate(parts, 1):
            match = NUMBER.match(part)
            if match:
                unit = match[2] or (NUMBER.match(parts[-1]) or match)[2]
                name = f"{column} ({number})" if len(parts) > 1 else column
                yield Figure(row, name, unit), float(match[1].replace(",", ""))


def _unused(figure: Figure, values: dict[Figure, float]) -> Figure:
    number = 2
    candidate = figure
    while candidate in values:
        candidate = figure._replace(row=f"{figure.row} ({number})")
        number += 1
    return candidate


class Checkout:
    """A commit in a separate worktree, with its own environment."""

    def __init__(self, commit: str, folder: Path) -> None:
        self.folder = folder
        self.title = _git("log", "-1", "--format=%h %s", commit)
        _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
        (folder / SHARED).rename(folder / OWN)
        shutil.copytree(HERE, folder / SHARED)

    def install(self, with_ui: bool) -> None:
        """Install the locked dependencies, like `make setup`."""
        environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(self.folder / ".venv")}
        environment |= {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
        if not with_ui:
            environment["RAYSCOPE_SKIP_UI"] = "1"
        python = ["--python", f"{sys.version_info.major}.{sys.version_info.minor}"]
        command = [sys.executable, "-m", "uv", "sync", "--frozen", "--quiet", *python]
        subprocess.run(command, cwd=self.folder, env=environment, check=True)

    def run(self, benchmark: list[str], folder: str) -> dict[Figure, float]:
        """Run a benchmark. Returns its figures. Raises Failed."""
        name, *options = benchmark
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(self.folder / ".venv/bin/python"), f"{folder}/{name}.py", *options]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit status {done.returncode}"]
            raise Failed(lines[-1])
        return figures(done.stdout, RENAMED.get(name) if folder == OWN else None)

    def remove(self) -> None:
        _git("worktree", "remove", "--force", str(self.folder))


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


Rounds = list[tuple[dict[Figure, float], dict[Figure, float]]]


def measure(
    old: Checkout, new: Checkout, benchmark: list[str], rounds: int
) -> tuple[Rounds, str, list[float]]:
    """The figures of both commits in each round, a note about the scripts, and the load average before each
    run.
    """
    try:
        results, loads = alternate(old, new, benchmark, rounds, SHARED)
    except Failed as error:
        results, loads = alternate(old, new, benchmark, rounds, OWN)
        return results, f"each commit's own script, since this checkout's fails ({error})", loads
    return results, "this checkout's script", loads


def alternate(
    old: Checkout, new: Checkout, benchmark: list[str], rounds: int, folder: str
) -> tuple[Rounds, list[float]]:
    """Run both commits in each round, alternating the order."""
    results: Rounds = []
    loads = []
    for number in range(rounds):
        values = {}
        for checkout in (old, new) if number % 2 == 0 else (new, old):
            loads.append(os.getloadavg()[0])
            values[checkout] = checkout.run(benchmark, folder)
            print(f"  round {number + 1}: {checkout.title}", file=sys.stderr, flush=True)
        results.append((values[old], values[new]))
    return results, loads


def ratios(results: Rounds) -> list[list[str]]:
    """A row for each figure that both commits have in every round and that is never 0."""
    rows = []
    for figure in results[0][0]:
        pairs = [(old.get(figure, 0.0), new.get(figure, 0.0)) for old, new in results]
        if not all(old and new for old, new in pairs):
            continue
        shares = [new / old for old, new in pairs]
        medians = [f"{statistics.median(values):,.6g}" for values in zip(*pairs, strict=True)]
        spread = [f"{share(shares):.2f}" for share in (statistics.median, min, max)]
        rows.append([figure.row, f"{figure.column} [{figure.unit}]".replace(" []", ""), *medians, *spread])
    return rows


def report(old: Checkout, new: Checkout, benchmark: list[str], rounds: int) -> None:
    """Measure a benchmark and print its table."""
    results, script, loads = measure(old, new, benchmark, rounds)
    names = [{figure for values in side for figure in values} for side in zip(*results, strict=True)]
    columns = ["Figure", "of", "old", "new", "new / old", "min", "max"]
    print(f"## {shlex.join(benchmark)}\n\n{len(results)} rounds with {script}. ", end="")
    print(f"Load average before each run: {', '.join(f'{load:.1f}' for load in loads)}.\n")
    print(table(columns, ratios(results)))
    single = len(names[0] ^ names[1])
    if single:
        print(f"{single} figures exist in one of the two commits only.\n")
    sys.stdout.flush()


def main() -> int:
    """Check out both commits, measure, and print. Returns 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("benchmarks", nargs="*", default=DEFAULT, metavar="benchmark")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    benchmarks = [shlex.split(benchmark) for benchmark in options.benchmarks]
    for name, *_ in benchmarks:
        if not (HERE / f"{name}.py").exists():
            parser.error(f"There is no benchmarks/{name}.py")
    status = 0
    checkouts: list[Checkout] = []
    with tempfile.TemporaryDirectory(prefix="rayscope-ab-") as folder:
        try:
            for commit, side in ((options.old, "old"), (options.new, "new")):
                checkouts.append(Checkout(commit, Path(folder) / side))
                checkouts[-1].install(any(name in NEEDS_UI for name, *_ in benchmarks))
            old, new = checkouts
            print(f"# {old.title} -> {new.title}\n\n{now()}, {machine()}, {options.rounds} rounds\n")
            for benchmark in benchmarks:
                try:
                    report(old, new, benchmark, options.rounds)
                except Failed as error:
                    print(f"## {shlex.join(benchmark)}\n\nFailed: {error}\n", flush=True)
                    status = 1
        finally:
            for checkout in checkouts:
                checkout.remove()
    return status


if __name__ == "__main__":
    sys.exit(main())
