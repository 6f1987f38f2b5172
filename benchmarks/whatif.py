"""Accuracy of replays: programs run before and after a real change, compared with the predicted saving.

    python benchmarks/whatif.py /tmp/whatif                        # all programs, about 10 minutes
    python benchmarks/whatif.py /tmp/whatif --busy 4 --minutes 9   # next to 4 busy loops, at most 9 minutes
    python benchmarks/whatif.py /tmp/whatif --report               # only the table

Each program runs in a recorded cluster as it is, and then with a real change (its knob turned). The folder
keeps the records, and each run's time in ``runs.jsonl``. Existing runs are not repeated, so an interrupted
call can be repeated. The report requests the what-if for the record of the first run alone, and compares the
predicted range with the real saving, for the timed part of the program.

The aims: a prediction for 9 of 10, the measured saving inside the range in 9 of 10, and a median width of the
range of at most 25 % of the duration.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from common import (
    HERE,
    Http,
    RayscopeServer,
    busy_loops,
    environment,
    header,
    parse_arguments,
    quantile,
    save,
    table,
)
from rayscope.cli import serving
from rayscope.cli.recording import Parts, node_env, system_config
from rayscope.insights.replay.margin import saving_range
from whatif_programs import CPUS, PROGRAMS

RUNS = "runs.jsonl"
#: Aim for the share of what-ifs with a prediction.
MIN_ANSWERED = 0.9
#: Aim for the share of ranges that contain the measured saving.
MIN_COVERED = 0.9
#: Aim for the median width of a range, as a share of the job's duration.
MAX_WIDTH = 0.25


class Cluster:
    """A recorded Ray cluster of one node."""

    def __init__(self, cpus: int, ingest_url: str, home: Path) -> None:
        def port() -> int:
            return serving.free_port("127.0.0.1", random.randrange(20_000, 32_000))

        self.env = {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
        self.env |= node_env(ingest_url, Parts())
        # Like in the tests: reachable from this machine only, and without files in the user's home.
        self.env |= {"RAY_AUTH_MODE": "disabled", "RAY_worker_niceness": "0", "HOME": str(home.parent)}
        # Hide this cluster from programs that search for a cluster on this machine.
        self.env |= {"TMPDIR": str(home.parent), "RAY_TMPDIR": str(home.parent)}
        gcs, self.dashboard_port = port(), port()
        self.env["RAY_ADDRESS"] = f"127.0.0.1:{gcs}"
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--head"]
        command += [
            "--node-ip-address=127.0.0.1",
            f"--port={gcs}",
            f"--temp-dir={home}",
            f"--num-cpus={cpus}",
        ]
        command += ["--min-worker-port=0", "--max-worker-port=0", "--disable-usage-stats"]
        command += [
            "--include-dashboard=true",
            f"--dashboard-port={self.dashboard_port}",
            f"--ray-client-server-port={port()}",
        ]
        command += [f"--object-store-memory={1 << 30}", f"--system-config={json.dumps(system_config())}"]
        env = {key: value for key, value in self.env.items() if key != "RAY_ADDRESS"}
        self._output = (home.parent / f"{home.name}.log").open("w")
        self._process = subprocess.Popen(command, env=env, stdout=self._output, stderr=self._output)
        self.pid = self._process.pid
        deadline = time.monotonic() + 90
        while not any(home.rglob("dashboard_agent_listen_port_*")):
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise RuntimeError(Path(self._output.name).read_text()[-2000:])
            time.sleep(0.5)
        time.sleep(3)

    def run(self, name: str, knob: str) -> tuple[str, float]:
        """Run a program. Returns its job and its duration, s."""
        done = subprocess.run(
            [sys.executable, str(HERE / "whatif_programs.py"), name, knob],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("TOOK ")]
        if not lines:
            raise RuntimeError(f"{name} {knob}: {done.stderr[-2000:]}")
        result = json.loads(lines[0].removeprefix("TOOK "))
        return result["job"], result["seconds"]

    def stop(self) -> None:
        """Stop all of its processes."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()


class Pair(NamedTuple):
    """A program's two runs, before and after the change, and the prediction.

    Durations are in s. ``shift_ns``: saving of the changes that apply to both runs.
    """

    name: str
    busy: int
    before_s: float
    after_s: float
    answer: dict[str, Any]
    shift_ns: int = 0

    @property
    def measured_s(self) -> float:
        """The real saving, s."""
        return self.before_s - self.after_s

    @property
    def range_s(self) -> tuple[float, float] | None:
        """The predicted range of the saving, s. None if there is no prediction."""
        answer = self.answer
        if answer["saving_ns"] is None:
            return None
        low, high = answer["saving_low_ns"], answer["saving_high_ns"]
        if self.shift_ns:
            known = answer["calibration"]
            saving_ns = answer["saving_ns"] - self.shift_ns
            low, high = saving_range(saving_ns, known["error"], known["ray_ns"], known["recorded_ns"])
        return low / 1e9, high / 1e9

    @property
    def is_covered(self) -> bool:
        """Whether the range contains the measured saving."""
        return self.range_s is not None and self.range_s[0] <= self.measured_s <= self.range_s[1]


def read_runs(folder: Path) -> dict[tuple[str, int, int, bool], dict[str, Any]]:
    """The runs so far, by program, busy loops, round, and whether the knob was turned."""
    file = folder / RUNS
    runs = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {(run["name"], run["busy"], run["round"], run["after"]): run for run in runs}


def measure(names: list[str], busy: int, rounds: int, folder: Path, until: float) -> None:
    """Run the missing programs, until a time of the monotonic clock."""
    done = read_runs(folder)
    wanted = [
        (number, name, after)
        for number in range(rounds)
        for name in names
        for after in (False, True)
        if (name, busy, number, after) not in done
    ]
    server = RayscopeServer(folder / "data")
    try:
        for cpus in (CPUS, *sorted({PROGRAMS[name].cpus_after for name in names} - {CPUS})):
            chosen = [one for one in wanted if (PROGRAMS[one[1]].cpus_after if one[2] else CPUS) == cpus]
            if not chosen or time.monotonic() > until:
                continue
            home = folder / f"r{time.time_ns() // 1_000_000_000}"
            cluster = Cluster(cpus, server.ingest_url, home)
            try:
                session = (home / "session_latest").resolve().name
                with busy_loops(busy), (folder / RUNS).open("a") as file:
                    for number, name, after in chosen:
                        if time.monotonic() > until:
                            break
                        job, seconds = cluster.run(name, "after" if after else "before")
                        run = {"name": name, "busy": busy, "round": number, "after": after}
                        print(
                            json.dumps({**run, "session": session, "job": job, "seconds": seconds}), file=file
                        )
                        file.flush()
                        print(f"{name}: {seconds:.2f} s", file=sys.stderr, flush=True)
                server.wait_until_merged(quiet=2)
            finally:
                cluster.stop()
    finally:
        server.stop()


def predict(folder: Path) -> list[Pair]:
    """The predictions for all measured pairs."""
    runs = read_runs(folder)
    server = RayscopeServer(folder / "data")
    pairs = []
    try:
        client = Http(server.url)
        for (name, busy, number, after), before in sorted(runs.items()):
            turned = runs.get((name, busy, number, True))
            if after or turned is None:
                continue
            chosen = PROGRAMS[name]
            question = {"session": before["session"], "job_id": before["job"]}
            answer = client.post("/api/v1/what-if", {**question, "changes": [*chosen.both, *chosen.changes]})
            shift_ns = 0
            if chosen.both and answer["saving_ns"] is not None:
                shift_ns = client.post("/api/v1/what-if", {**question, "changes": chosen.both})["saving_ns"]
            pairs.append(Pair(name, busy, before["seconds"], turned["seconds"], answer, shift_ns))
        client.close()
    finally:
        server.stop()
    return pairs


def report(pairs: list[Pair]) -> bool:
    """Print a table. Returns whether the aims are reached."""
    rows = [_row(pair) for pair in pairs]
    columns = ["Program", "busy", "before", "after", "saved", "predicted", "inside", "width", "replay off by"]
    print(table(columns, rows))
    for busy in [None, *sorted({pair.busy for pair in pairs})]:
        chosen = [pair for pair in pairs if busy in (None, pair.busy)]
        answered = [pair for pair in chosen if pair.range_s is not None]
        covered = sum(pair.is_covered for pair in answered)
        print(
            f"{'All' if busy is None else f'Beside {busy} busy loops'}: {len(answered)} of {len(chosen)} answered, "
            f"{covered} of {len(answered)} ranges hold the measured saving, median width "
            f"{quantile([_width(pair) for pair in answered], 0.5):.0%} of the job, "
            f"{quantile([_width(pair, pair.before_s) for pair in answered], 0.5):.0%} of the timed part."
        )
    answered = [pair for pair in pairs if pair.range_s is not None]
    return (
        len(answered) >= MIN_ANSWERED * len(pairs)
        and sum(pair.is_covered for pair in answered) >= MIN_COVERED * len(answered)
        and quantile([_width(pair) for pair in answered], 0.5) <= MAX_WIDTH
    )


def _width(pair: Pair, whole_s: float = 0.0) -> float:
    """The width of a range as a share of the job, or of another duration."""
    low, high = pair.range_s or (0.0, 0.0)
    return (high - low) / (whole_s or pair.answer["baseline_ns"] / 1e9)


def _row(pair: Pair) -> list[str]:
    error = pair.answer["calibration"]["error"]
    predicted = pair.answer["withheld"] and f"withheld: {pair.answer['withheld']['code']}"
    if pair.range_s is not None:
        predicted = "{:.2f} to {:.2f} s".format(*pair.range_s)
    return [
        pair.name,
        str(pair.busy),
        f"{pair.before_s:.2f} s",
        f"{pair.after_s:.2f} s",
        f"{pair.measured_s:.2f} s",
        predicted,
        "yes" if pair.is_covered else "no" if pair.range_s else "",
        f"{_width(pair):.0%}" if pair.range_s else "",
        "" if error is None else f"{error:+.1%}",
    ]


def main() -> int:
    """Measure, predict, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        help="records and times, which a later call continues (default: a temporary folder)",
    )
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside the programs")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600, help="start no run after so many minutes")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--save", type=Path)
    args = parse_arguments(parser, only=["puts"])
    print(header("What if", ["rayscope", "ray"]))
    folder = args.folder or Path(tempfile.mkdtemp(prefix="rsw-"))
    folder.mkdir(exist_ok=True)
    if not args.report:
        until = time.monotonic() + 60 * args.minutes
        measure(args.only, args.busy, args.rounds, folder, until)
    pairs = predict(folder)
    is_good = report(pairs)
    if args.save:
        found = [{**pair._asdict(), "measured_s": pair.measured_s, "range_s": pair.range_s} for pair in pairs]
        save(args.save, ["rayscope", "ray", "duckdb"], found)
    return 0 if is_good or args.smallest else 1


if __name__ == "__main__":
    sys.exit(main())
