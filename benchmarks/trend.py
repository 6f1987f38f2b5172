"""Steps in series whose truth is known: how often they are found, and how often one is found where none is.

    python benchmarks/trend.py                       # a few seconds
    python benchmarks/trend.py --tasks 1000000       # how long the summary of such a run takes, and its parts
    python benchmarks/trend.py --otava /tmp/otava/bin/otava    # beside Apache Otava, on the same CSV files

Each series has 60 runs with a noise of 2 %. In *step*, the second part is slower by 5 %, from the 11th to 50th
run on; it counts as found if one step is within one run of its place. In *flat*, nothing changes.
Install Otava with ``python -m venv /tmp/otava && /tmp/otava/bin/pip install apache-otava``.

The exit status is 1 if less is found, or more is wrong, than docs/benchmarks.md promises.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from common import header, ms, parse_arguments, table
from rayscope.runs.changes import find_steps
from rayscope.runs.summary import summarize
from rayscope.storage.catalog import Catalog
from views import SESSION, generated

RUNS = 60
NOISE = 0.02
STEP = 0.05
#: The first run after a step is one of these.
FIRST = 10
LAST = 50
KINDS = ("step", "flat")
#: The share of steps that the docs promise to find.
MIN_NEAR = 0.9
#: The points in each flat series that the docs allow.
MAX_FALSE = 1 / 20


def series(seed: int, *, is_flat: bool) -> tuple[list[float], int]:
    """The durations of 60 runs in s, and the position of the first slower one."""
    random = np.random.default_rng(seed)
    place = int(random.integers(FIRST, LAST))
    logs = random.normal(0, NOISE, RUNS)
    if not is_flat:
        logs[place:] += np.log1p(STEP)
    return [100 * float(value) for value in np.exp(logs)], place


def rayscope(values: list[float]) -> list[int]:
    """The places of the steps that Rayscope finds."""
    return [step.at for step in find_steps([value * 1e9 for value in values])]


def otava(program: Path, all_values: list[list[float]]) -> list[list[int]]:
    """The places of the change points that Otava finds in each series."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        start = datetime(2026, 1, 1, tzinfo=timezone.utc)
        columns = [f"s{number}" for number in range(len(all_values))]
        with (home / "runs.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["time", *columns])
            for run in range(RUNS):
                time = (start + timedelta(days=run)).isoformat()
                rows.writerow([time, *(values[run] for values in all_values)])
        tests = {
            "runs": {
                "type": "csv",
                "file": str(home / "runs.csv"),
                "time_column": "time",
                "attributes": [],
                "metrics": {name: {"direction": -1} for name in columns},
                "csv_options": {"delimiter": ",", "quote_char": '"'},
            }
        }
        (home / "otava.yaml").write_text(json.dumps({"tests": tests}))
        command = [
            *(str(program), "analyze", "--config-file", str(home / "otava.yaml"), "runs"),
            *("--since", "2025-12-01", "--output", "json"),
        ]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        places: dict[str, list[int]] = {name: [] for name in columns}
        for change in json.loads(printed)["runs"]:
            day = datetime.fromtimestamp(change["time"], timezone.utc)
            for one in change["changes"]:
                places[one["metric"]].append((day - start).days)
        return list(places.values())


def summary(tasks: int) -> None:
    """Print how long the summary of a run with this many tasks takes, on a fresh connection and again."""
    catalog = Catalog(generated(tasks), read_only=True)
    about = catalog.about(SESSION)
    with catalog.reading(SESSION) as file:
        with file.reader() as reader:
            ((job_id, last_ns),) = reader.execute(
                "SELECT job_id, max(ended_at_ns) FROM attempts WHERE job_id IS NOT NULL GROUP BY job_id LIMIT 1"
            ).fetchall()
        rows = []
        for name in ("first", "again"):
            began, cpu = time.monotonic(), time.process_time()
            found, functions = summarize(file, about, job_id, last_ns, 0, "events")
            took, cpu = time.monotonic() - began, time.process_time() - cpu
            rows.append((name, f"{found.attempts:,}", len(functions), ms(took), ms(cpu)))
    print(table(("", "attempts", "functions", "took", "CPU"), rows))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--tasks", type=int, help="of a run that is summarized instead")
    parser.add_argument("--otava", type=Path, help="Apache Otava's program")
    options = parse_arguments(parser, seeds=20)
    print(header("Steps in series", ["scipy", "apache-otava"]))
    if options.tasks:
        summary(options.tasks)
        return 0
    cases = {kind: [series(seed, is_flat=kind == "flat") for seed in range(options.seeds)] for kind in KINDS}
    tools: dict[str, Callable[[list[list[float]]], list[list[int]]]] = {
        "Rayscope": lambda all_values: [rayscope(values) for values in all_values]
    }
    if options.otava:
        tools["Apache Otava"] = lambda all_values: otava(options.otava, all_values)
    rows, is_good = [], True
    for name, find in tools.items():
        places = {kind: find([values for values, _ in made]) for kind, made in cases.items()}
        steps = list(zip(places["step"], (place for _, place in cases["step"]), strict=True))
        near = sum(any(abs(one - place) <= 1 for one in found) for found, place in steps) / len(steps)
        more = sum(len(found) - any(abs(one - place) <= 1 for one in found) for found, place in steps)
        false = sum(map(len, places["flat"]))
        rows.append((name, f"{near:.1%}", more, false))
        if name == "Rayscope":
            is_good = near >= MIN_NEAR and false <= MAX_FALSE * options.seeds
    columns = ("", "within one run of its place", "other points", "points in flat series")
    print(table(columns, rows))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
