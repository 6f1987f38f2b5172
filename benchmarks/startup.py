"""CPU time for starting the command line, relative to a Python that does nothing.

Unlike seconds, the ratio is also meaningful on a busy machine. Each command runs 10 times, in turn with the
others, and the minimum counts.

python benchmarks/startup.py [COMMAND ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from common import environment, header, parse_arguments, table

COMMANDS = ("--help", "tasks --help", "sessions", "tasks")


def cpu_s(arguments: list[str]) -> float:
    """User and system time of one run, s."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**environment(), "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run the commands in turn, and print their CPU times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=list(COMMANDS), metavar="COMMAND")
    parser.add_argument("--rounds", type=int, default=10)
    args = parse_arguments(parser, rounds=1)
    runs = {"python -c pass": ["-c", "pass"]}
    runs |= {f"rayscope {command}": ["-m", "rayscope.cli", *command.split()] for command in args.commands}
    for arguments in runs.values():
        cpu_s(arguments)  # compiles modules that are not compiled yet
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.rounds):
        for name, arguments in runs.items():
            found[name].append(cpu_s(arguments))
    least = min(found["python -c pass"])
    print(header("The start of the command line", ["rayscope"]))
    rows = [[name, f"{min(times):.3f}", f"{min(times) / least:.1f}"] for name, times in found.items()]
    print(table(["Command", "CPU s", "ratio"], rows))


if __name__ == "__main__":
    main()
