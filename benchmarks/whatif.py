"""Does a replay predict what a change brings? Programs run before and after a real change.

    python benchmarks/whatif.py                        # all of whatif_programs.py, about 10 minutes
    python benchmarks/whatif.py --only fan_out nested  # some of them

Each program runs in a recorded cluster as it is, and then with its knob really turned. The what-if is asked of the record
of the first run alone. It tells how long the whole job would take; the saving, taken off the time of the part that
is timed, is compared with what that part really took. The aim: 8 of 10 predictions are within 20 %.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import HERE, Http, RayscopeServer, ask_once_ended, environment, header, quantile, save, table
from rayscope.cli import serving
from rayscope.cli.recording import Parts, node_env, system_config
from whatif_programs import CPUS, PROGRAMS

WITHIN = 0.2


class Cluster:
    """A recorded Ray cluster of one node."""

    def __init__(self, cpus: int, ingest_url: str, home: Path) -> None:
        def port() -> int:
            return serving.free_port("127.0.0.1", random.randrange(20_000, 32_000))

        self.env = {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
        self.env |= node_env(ingest_url, Parts())
        # As tests do: reached from this machine alone, and with nothing of it in the user's home.
        self.env |= {"RAY_AUTH_MODE": "disabled", "RAY_worker_niceness": "0", "HOME": str(home.parent)}
        # Who looks for a cluster on this machine must not find this one.
        self.env |= {"TMPDIR": str(home.parent), "RAY_TMPDIR": str(home.parent)}
        gcs = port()
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
            f"--dashboard-port={port()}",
            f"--ray-client-server-port={port()}",
        ]
        command += [f"--object-store-memory={1 << 30}", f"--system-config={json.dumps(system_config())}"]
        env = {key: value for key, value in self.env.items() if key != "RAY_ADDRESS"}
        self._output = (home.parent / f"{home.name}.log").open("w")
        self._process = subprocess.Popen(command, env=env, stdout=self._output, stderr=self._output)
        deadline = time.monotonic() + 90
        while not any(home.rglob("dashboard_agent_listen_port_*")):
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise RuntimeError(Path(self._output.name).read_text()[-2000:])
            time.sleep(0.5)
        time.sleep(3)

    def run(self, name: str, knob: str) -> tuple[str, float]:
        """Run a program. Returns its job and how long it took, s."""
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
        told = json.loads(lines[0].removeprefix("TOOK "))
        return told["job"], told["seconds"]

    def stop(self) -> None:
        """End it with all of its processes."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()


def ask(url: str, job: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    """What changes would bring to a job of the newest session that has ended."""

    def predict(client: Http) -> Any:
        session = client.get("/api/sessions")["items"][0]["session"]
        return client.post("/api/whatif", {"session": session, "job_id": job, "changes": changes})

    return ask_once_ended(url, predict)


def measure(names: list[str], rounds: int, folder: Path) -> list[dict[str, Any]]:
    """Run all programs, before and after, and ask."""
    server = RayscopeServer(folder / "data")
    results: dict[str, dict[str, Any]] = {
        name: {"name": name, "before": [], "after": [], "asked": []} for name in names
    }
    try:
        for cpus in sorted({CPUS, *(PROGRAMS[name].cpus_after for name in names)}):
            cluster = Cluster(cpus, server.ingest_url, folder / f"r{cpus}")
            try:
                for name in names:
                    result, chosen = results[name], PROGRAMS[name]
                    for _ in range(rounds):
                        if cpus == CPUS:
                            job, seconds = cluster.run(name, "before")
                            result["before"].append(seconds)
                            server.wait_until_merged(quiet=2)
                            asked = ask(server.url, job, [*chosen.both, *chosen.changes])
                            if chosen.both and asked["predicted_ns"] is not None:
                                without = ask(server.url, job, chosen.both)["predicted_ns"]
                                asked["saving_ns"] = without - asked["predicted_ns"]
                            result["asked"].append(asked)
                        if cpus == chosen.cpus_after:
                            result["after"].append(cluster.run(name, "after")[1])
                    print(f"{name} on {cpus} CPUs", file=sys.stderr, flush=True)
            finally:
                cluster.stop()
    finally:
        server.stop()
    return [judge(result) for result in results.values()]


def judge(result: dict[str, Any]) -> dict[str, Any]:
    """What was predicted beside what was measured; medians of several rounds."""
    before, after = quantile(result["before"], 0.5), quantile(result["after"], 0.5)
    errors = [one["calibration"]["error"] for one in result["asked"]]
    predicted = [
        seconds / max(0.001, seconds - asked["saving_ns"] / 1e9)
        for seconds, asked in zip(result["before"], result["asked"], strict=True)
        if asked["saving_ns"] is not None
    ]
    speedup, measured = quantile(predicted, 0.5) or None, before / after
    return {
        "name": result["name"],
        "before_s": before,
        "after_s": after,
        "measured": measured,
        "predicted": speedup,
        "off": speedup / measured - 1 if speedup else None,
        "calibration": errors,
        "withheld": [asked["withheld"] and asked["withheld"]["code"] for asked in result["asked"]],
    }


def main() -> int:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a new folder for the records")
    parser.add_argument("--save", type=Path)
    args = parser.parse_args()
    print(header("What if", ["rayscope", "ray"]))
    folder = args.keep or Path(tempfile.mkdtemp(prefix="rsw-"))
    folder.mkdir(exist_ok=True)
    try:
        found = measure(args.only, args.rounds, folder)
    finally:
        if args.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    rows = [
        [
            one["name"],
            f"{one['before_s']:.2f} s",
            f"{one['after_s']:.2f} s",
            f"{one['measured']:.2f}",
            f"{one['predicted']:.2f}" if one["predicted"] else f"withheld: {one['withheld'][0]}",
            f"{one['off']:+.0%}" if one["off"] is not None else "",
            ", ".join("none" if error is None else f"{1 + error:.3f}" for error in one["calibration"]),
        ]
        for one in found
    ]
    columns = [
        "Program",
        "before",
        "after",
        "speed-up measured",
        "predicted",
        "off by",
        "replayed / recorded",
    ]
    print(table(columns, rows))
    good = sum(one["off"] is not None and abs(one["off"]) <= WITHIN for one in found)
    errors = [abs(error) for one in found for error in one["calibration"] if error is not None]
    print(f"{good} of {len(found)} predictions are within {WITHIN:.0%}.")
    print(
        f"Calibration: off by {quantile(errors, 0.5):.1%} in the median, {max(errors, default=0):.1%} at most."
    )
    if args.save:
        save(args.save, ["rayscope", "ray", "duckdb"], found)
    return 0 if good >= 0.8 * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
