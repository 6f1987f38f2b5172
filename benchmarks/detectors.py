"""Quality of the detectors, measured with pairs of programs, one of which has a problem.

    python benchmarks/detectors.py                      # all of detector_programs*.py, about 20 minutes
    python benchmarks/detectors.py --only get_in_loop   # some of them
    python benchmarks/detectors.py --good --busy 4      # only the good ones, next to four busy loops

Each program runs in a recorded cluster. Prints the findings in both programs of each pair, the share of bad
programs that were recognized (recall; the aim is 95 %), false findings in good ones (the aim is none), and
the error of the unchanged replays.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import (
    HERE,
    Http,
    RayscopeServer,
    ask_once_ended,
    busy_loops,
    header,
    parse_arguments,
    quantile,
    save,
    table,
)
from whatif import Cluster

#: Less severe findings are reported, but are no reason to change a program.
GRAVE = ("critical", "warning")


def pairs() -> dict[str, Path]:
    """Names of all pairs, with their files."""
    found = {}
    for file in sorted(HERE.glob("detector_programs*.py")):
        names = re.findall(r"^def (\w+)_(bad|good)\(\)", file.read_text(), re.MULTILINE)
        for name in dict.fromkeys(name for name, _ in names):
            if {(name, "bad"), (name, "good")} <= set(names):
                found[name] = file
    return found


def run(cluster: Cluster, file: Path, name: str) -> dict[str, str]:
    """Run a program. Returns its job and, if it had its own cluster, the session of that."""
    command = [sys.executable, str(file), name]
    done = subprocess.run(command, env=cluster.env, capture_output=True, text=True, timeout=300)
    said = dict(line.split() for line in done.stdout.splitlines() if line.startswith(("JOB ", "SESSION ")))
    if "JOB" not in said:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    return said


def ask(url: str, session: str, job: str) -> dict[str, Any]:
    """The insights of a job that has ended."""
    return ask_once_ended(url, lambda client: client.get(f"/api/v1/insights?session={session}&job_id={job}"))


def measure(chosen: dict[str, Path], folder: Path, halves: Sequence[str]) -> list[dict[str, Any]]:
    """Run these programs of each pair, and request their insights."""
    server = RayscopeServer(folder / "data")
    results = []
    try:
        cluster = Cluster(2, server.ingest_url, folder / "r")
        try:
            own = Http(server.url).get("/api/v1/sessions")["items"][0]["session"]
            for name, file in chosen.items():
                result: dict[str, Any] = {"name": name}
                for half in halves:
                    try:
                        said = run(cluster, file, f"{name}_{half}")
                        with contextlib.suppress(RuntimeError):  # Ray Data's detached actors never rest
                            server.wait_until_merged(timeout=30, quiet=2)
                        answer = ask(server.url, said.get("SESSION", own), said["JOB"])
                    except (RuntimeError, subprocess.TimeoutExpired) as error:
                        print(f"{name}_{half}: {str(error)[-500:]}", file=sys.stderr, flush=True)
                        continue
                    result[half] = [(one["kind"], one["severity"]) for one in answer["findings"]]
                    result[f"{half}_error"] = answer["calibration"]["error"]
                    print(f"{name}_{half}: {result[half]}", file=sys.stderr, flush=True)
                results.append(result)
        finally:
            cluster.stop()
    finally:
        server.stop()
    return results


def report(results: list[dict[str, Any]]) -> str:
    """A table of all pairs, and the totals."""

    def words(findings: list[tuple[str, str]] | None) -> str:
        return (
            "did not run"
            if findings is None
            else ", ".join(f"{kind} ({how})" for kind, how in findings) or "-"
        )

    found = [one for one in results if any(kind == one["name"] for kind, _ in one.get("bad", ()))]
    false = [
        (one["name"], kind)
        for one in results
        for kind, how in one.get("good", ())
        if how in GRAVE or kind == one["name"]
    ]
    errors = [
        abs(one[key]) for one in results for key in ("bad_error", "good_error") if one.get(key) is not None
    ]
    rows = [(one["name"], words(one.get("bad")), words(one.get("good"))) for one in results]
    has_bad = sum("bad" in one for one in results)
    lines = [
        table(("pair", "found in the bad one", "found in the good one"), rows),
        f"\nrecall {len(found)} of {has_bad} ({len(found) / max(1, has_bad):.0%})",
        f"false findings in good programs: {len(false)} {false or ''}",
    ]
    if errors:
        lines.append(
            f"unchanged replays are off by {quantile(errors, 0.5):.1%} in the median, "
            f"p90 {quantile(errors, 0.9):.1%} ({len(errors)} programs)"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the pairs and print the findings."""
    known = pairs()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=sorted(known), metavar="NAME")
    parser.add_argument("--good", action="store_true", help="run only the good program of each pair")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="busy loops beside the programs")
    parser.add_argument("--save", type=Path, help="write the results to this file, as JSON")
    args = parse_arguments(parser, only=["get_in_loop"])
    print(header("Detectors", ("ray", "duckdb")))
    halves = ("good",) if args.good else ("bad", "good")
    chosen = {name: known[name] for name in args.only or known}
    with (
        tempfile.TemporaryDirectory(prefix="rsd", ignore_cleanup_errors=True) as folder,
        busy_loops(args.busy),
    ):
        results = measure(chosen, Path(folder), halves)
    print(report(results))
    if args.save:
        save(args.save, ("ray", "duckdb"), results)


if __name__ == "__main__":
    main()
