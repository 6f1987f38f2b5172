"""Repeat the tests on a slow machine, and show which of them fail.

    python tools/flaky.py --parts ui unit --surroundings alone busy

Each finished run is a line of `.flaky/runs.jsonl` with its commit. Runs that are already in the file for this
commit are not repeated, so an interrupted call continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / ".flaky" / "runs.jsonl"
SURROUNDINGS = ("alone", "busy", "one-core", "quarter")
#: Maximum CPU use by other programs for the surrounding "alone", in %.
QUIET_PERCENT = 15.0
#: How long to measure that use, in seconds.
LOOK_S = 5.0
#: CPU time per period in the surrounding "quarter", in µs.
QUOTA_US = 25_000
#: Length of the period, in µs.
PERIOD_US = 100_000


@dataclass(frozen=True)
class Part:
    """Tests that run together. In ``command``, ``{report}`` is the path of the report."""

    repeats: int
    command: tuple[str, ...]


_PYTEST = (sys.executable, "-m", "pytest", "-q", "--junitxml={report}", "-m", "not long")
PARTS = {
    "ui": Part(
        10,
        (sys.executable, "hatch_build.py", "npm", "test", "--", "--reporter=json", "--outputFile={report}"),
    ),
    "unit": Part(5, (*_PYTEST, "-n", "2", "tests/unit", "tests/test_architecture.py")),
    # The same options as `make test-py`.
    "ray": Part(
        3,
        (
            *_PYTEST,
            *("-n", "3", "--dist", "loadgroup", "--no-loadscope-reorder"),
            *("tests/e2e", "tests/integration"),
        ),
    ),
}


@dataclass(frozen=True)
class Run:
    """One run of a part. ``failed`` has the first line of the message of each failed test."""

    commit: str
    part: str
    surrounding: str
    began: str
    seconds: float
    load: float
    tests: list[str]
    failed: dict[str, str]


class NotAvailable(Exception):
    """This machine does not support the surrounding. The message has the reason."""


# Reports


def read_report(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the tests in a report (pytest's JUnit XML or vitest's JSON), and the messages of failed ones."""
    return _vitest(json.loads(text)) if text.startswith("{") else _junit(text)


def _junit(text: str) -> tuple[list[str], dict[str, str]]:
    tests: list[str] = []
    failed: dict[str, str] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        if case.find("skipped") is not None:
            continue
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        tests.append(name)
        for trouble in (*case.findall("failure"), *case.findall("error")):
            failed.setdefault(name, _first_line(trouble.get("message") or ""))
    return sorted(set(tests)), failed


def _vitest(report: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    tests: list[str] = []
    failed = {}
    for file in report["testResults"]:
        path = os.path.relpath(file["name"], ROOT)
        for test in file["assertionResults"]:
            if test["status"] not in ("passed", "failed"):
                continue
            name = f"{path}: {test['fullName'].strip()}"
            tests.append(name)
            if test["status"] == "failed":
                failed[name] = _first_line("\n".join(test["failureMessages"]))
        if file["status"] == "failed" and not file["assertionResults"]:  # it could not be imported
            tests.append(path)
            failed[path] = _first_line(file["message"])
    return sorted(set(tests)), failed


def _first_line(message: str) -> str:
    return (message.strip().splitlines() or [""])[0][:300]


# Recorded runs


def read_runs(path: Path, commit: str) -> list[Run]:
    """Return the runs of ``commit``. A line that is incomplete after an interruption is left out."""
    if not path.exists():
        return []
    runs = []
    for line in path.read_text().splitlines():
        try:
            runs.append(Run(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return [run for run in runs if run.commit == commit]


def missing(runs: Iterable[Run], part: str, surrounding: str, repeats: int) -> int:
    """Return how many of ``repeats`` runs are not recorded yet."""
    return max(0, repeats - sum((run.part, run.surrounding) == (part, surrounding) for run in runs))


def append(path: Path, run: Run) -> None:
    path.parent.mkdir(exist_ok=True)
    cut_off = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("a") as file:
        file.write("\n" * cut_off + json.dumps(asdict(run)) + "\n")


# The tables


def totals(runs: Sequence[Run], not_run: dict[tuple[str, str], str]) -> list[list[str]]:
    """Return a row per part and surrounding: runs, tests, and failures, or why there was no run."""
    rows = [["Part", "Surrounding", "Runs", "Tests", "Failures"]]
    for name, part in PARTS.items():
        for surrounding in SURROUNDINGS:
            mine = [run for run in runs if (run.part, run.surrounding) == (name, surrounding)]
            why = not_run.get((name, surrounding), "")
            if mine:
                failures = sum(len(run.failed) for run in mine)
                tests = max(len(run.tests) for run in mine)
                row = [f"{len(mine)} of {part.repeats}", str(tests), str(failures)]
            else:
                row = [f"not run{why and f': {why}'}"]
            rows.append([name, surrounding, *row])
    return rows


def by_test(runs: Sequence[Run], *, every: bool = False) -> list[list[str]]:
    """Return a row per failed test (or ``every`` test): failures and runs in each surrounding."""
    rows = [["Test", *SURROUNDINGS]]
    names = {name for run in runs for name in ((*run.tests, *run.failed) if every else run.failed)}
    for name in sorted(names):
        row = [name]
        for surrounding in SURROUNDINGS:
            mine = [
                run for run in runs if run.surrounding == surrounding and name in (*run.tests, *run.failed)
            ]
            row.append(f"{sum(name in run.failed for run in mine)} of {len(mine)}" if mine else "not run")
        rows.append(row)
    return rows


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Align columns. The last cell of a row may be longer than its column."""
    widths = [
        max((len(row[column]) for row in rows if column < len(row) - 1), default=0)
        for column in range(max(map(len, rows)))
    ]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    )


# Surroundings: each yields a function that a child process calls before it runs the tests


@contextmanager
def surrounding_of(name: str) -> Iterator[Callable[[], None] | None]:
    if name == "busy":
        with _busy_loops(2 * (os.cpu_count() or 1)):
            yield None
    elif name == "quarter":
        with _quarter_of_a_cpu() as enter:
            yield enter
    elif name == "one-core":
        if not hasattr(os, "sched_setaffinity"):
            raise NotAvailable("this system cannot bind a process to a core")
        core = min(os.sched_getaffinity(0))
        yield lambda: os.sched_setaffinity(0, {core})
    else:
        if (busy := psutil.cpu_percent(LOOK_S)) > QUIET_PERCENT:
            raise NotAvailable(f"other programs use {busy:.0f}% of the CPUs")
        yield None


@contextmanager
def _busy_loops(number: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def _quarter_of_a_cpu() -> Iterator[Callable[[], None]]:
    group, limits = _new_cgroup()
    try:
        _limit(group, limits)
        yield lambda: _join(group)
    finally:
        _remove(group)


def _limit(group: Path, limits: dict[str, str]) -> None:
    try:
        for file, text in limits.items():
            (group / file).write_text(text)
        # Whether processes may enter the group is only known after one has tried.
        subprocess.run([sys.executable, "-c", ""], check=True, preexec_fn=lambda: _join(group))
    except (OSError, subprocess.SubprocessError) as error:
        raise NotAvailable(f"the cgroup cannot be used: {error}") from error


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _new_cgroup() -> tuple[Path, dict[str, str]]:
    """Create a control group below or next to this process's. Returns its limits by file."""
    name = f"rayscope-flaky-{os.getpid()}"
    mount, own = _own_cgroup(Path("/proc/self/cgroup").read_text() if sys.platform == "linux" else "")
    is_v2 = (mount / "cgroup.controllers").exists()
    # In v2, a group with processes cannot limit its children, so the new one is a sibling.
    for parent in (own, own.parent):
        subtree = parent / "cgroup.subtree_control"
        if parent.is_relative_to(mount) and (not is_v2 or "cpu" in subtree.read_text().split()):
            try:
                (parent / name).mkdir()
            except OSError as error:
                raise NotAvailable(f"no cgroup can be made: {error}") from error
            limit_v2 = {"cpu.max": f"{QUOTA_US} {PERIOD_US}"}
            limit_v1 = {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(QUOTA_US)}
            return parent / name, limit_v2 if is_v2 else limit_v1
    raise NotAvailable("no cgroup here may limit the CPU")


def _own_cgroup(memberships: str, mounts: Path = Path("/sys/fs/cgroup")) -> tuple[Path, Path]:
    """Return the mount of the CPU controller, and this process's group there (`/proc/self/cgroup`)."""
    paths: dict[str, str] = {}
    for line in memberships.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    mount = mounts if (mounts / "cgroup.controllers").exists() else mounts / "cpu"
    own_path = paths.get("" if mount == mounts else "cpu")
    if own_path is None or not mount.is_dir():
        raise NotAvailable("there is no cgroup of the CPU")
    own = mount / own_path.lstrip("/")
    return mount, own if own.is_dir() else mount  # in a container, the path may be that of the host


def _remove(group: Path) -> None:
    """Remove the group, and kill what the tests left running in it."""
    deadline = time.monotonic() + 60
    while pids := (group / "cgroup.procs").read_text().split():
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
        if time.monotonic() > deadline:
            raise SystemExit(f"{group} still holds the processes {', '.join(pids)}: end them and remove it.")
        time.sleep(0.2)
    group.rmdir()


# Running


def run_once(commit: str, part: str, surrounding: str) -> Run:
    """Run ``part`` in ``surrounding``. Raises `NotAvailable`."""
    with tempfile.TemporaryDirectory() as folder, surrounding_of(surrounding) as enter:
        report = Path(folder, "report")
        command = [argument.format(report=report) for argument in PARTS[part].command]
        load, began, start = os.getloadavg()[0], time.strftime("%Y-%m-%dT%H:%M:%S%z"), time.monotonic()
        ended = subprocess.run(command, cwd=ROOT, preexec_fn=enter)
        seconds = round(time.monotonic() - start, 1)
        tests, failed = read_report(report.read_text()) if report.exists() else ([], {})
    if ended.returncode and not failed:
        failed = {f"({part}: the run as a whole)": f"exit status {ended.returncode}"}
    return Run(commit, part, surrounding, began, seconds, round(load, 2), tests, failed)


def commit_of_tree() -> str:
    """Return the checkout's commit. Raises SystemExit if there are other changes, as a run needs a commit."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    if git("status", "--porcelain", "--untracked-files=no"):
        raise SystemExit("Commit your changes first: each run is kept with its commit.")
    return git("rev-parse", "HEAD")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--surroundings", nargs="+", choices=SURROUNDINGS, default=list(SURROUNDINGS))
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of the runs (%(default)s)")
    parser.add_argument("--all", action="store_true", help="show every test, not only those that failed")
    parser.add_argument("--table", action="store_true", help="run nothing, show what is on record")
    chosen = parser.parse_args(arguments)
    commit = commit_of_tree()
    not_run: dict[tuple[str, str], str] = {}
    for part in [] if chosen.table else chosen.parts:
        for surrounding in chosen.surroundings:
            left = missing(read_runs(chosen.runs, commit), part, surrounding, PARTS[part].repeats)
            try:
                for number in range(left, 0, -1):
                    print(f"{part}, {surrounding}: {number} to go", flush=True)
                    append(chosen.runs, run_once(commit, part, surrounding))
            except NotAvailable as error:
                not_run[part, surrounding] = str(error)
    runs = read_runs(chosen.runs, commit)
    print(
        f"\nCommit {commit}\n\n{aligned(totals(runs, not_run))}\n\n{aligned(by_test(runs, every=chosen.all))}"
    )
    return 1 if any(run.failed for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
