"""Random input from outside: events that are damaged, and requests that the API's description allows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from harness import ROOT, Load, Server, Skip, wait_for


def mutated_events(count: int) -> list[str]:
    """Bodies of both forms with bytes changed, cut and put together again (``mutated_events.py``)."""
    script = Path(__file__).with_name("mutated_events.py")
    if not script.exists():
        raise Skip("there is no mutated_events.py")
    command = [sys.executable, "-m", "tests.faults.mutated_events", "--count", str(count)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    return [f"mutated_events.py ended with {done.returncode}"] if done.returncode else []


def api_fuzzing(examples: int) -> list[str]:
    """Schemathesis with the operator's token: no 500, nothing that the description does not promise."""
    schemathesis = Path(sys.executable).with_name("schemathesis")
    if not schemathesis.exists():
        raise Skip("schemathesis is not installed")
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        server = Server(Path(folder) / "data", sql_timeout_s="2")
        server.start()
        load = Load(server).start()
        try:
            wait_for(lambda: load.acknowledged > 5, "some batches")
            load.finish()
            # It takes a second of CPU to build, and Schemathesis waits 10 s for it.
            httpx.get(f"{server.url}/openapi.json", timeout=120).raise_for_status()
            token = (Path(folder) / "data" / "operator").read_text().strip()
            command = [str(schemathesis), f"--config-file={ROOT / 'tests' / 'schemathesis.toml'}"]
            command += ["run", f"{server.url}/openapi.json", f"--max-examples={examples}"]
            command += ["--header", f"X-Rayscope-Operator: {token}"]
            # Deleted sessions cannot be counted afterwards.
            command += ["--exclude-name", "DELETE /api/v1/sessions/{session}"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            print("  " + "\n  ".join(done.stdout.splitlines()[-12:]), flush=True)
            found = done.stdout.partition("= FAILURES =")[2][:20_000]
            faults = [f"schemathesis: {found or done.stdout[-3000:]}"] if done.returncode else []
            return faults + load.losses()
        finally:
            load.abandon()
            server.stop()
