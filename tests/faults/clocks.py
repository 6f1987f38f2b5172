"""A clock that jumps far ahead and back: all is recorded, nothing is dropped for its age."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import Load, Server, wait_for

#: Loaded by the server's Python at its start. It changes only Python's
#: wall clock. libfaketime changes all clocks of a process; under it, servers with threads sometimes hang.
SHIM = """
import os, time
_ns, _file = time.time_ns, os.environ["FAULTS_CLOCK"]
_known = [0, 0]
def time_ns():
    now = _ns()
    if now - _known[0] > 200_000_000:
        with open(_file) as file:
            _known[:] = now, int(file.read() or 0) * 86_400_000_000_000
    return now + _known[1]
time.time_ns = time_ns
time.time = lambda: time_ns() / 1e9
"""


def clock_jumps(days: int) -> list[str]:
    """Jump ahead and back while the server runs, and start it at each of these times."""
    faults = []
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        clock = Path(folder) / "clock"
        clock.write_text("0")
        (Path(folder) / "sitecustomize.py").write_text(SHIM)
        server = Server(Path(folder) / "data")
        server.env |= {"PYTHONPATH": folder, "FAULTS_CLOCK": str(clock)}
        server.start()
        load = Load(server).start()
        try:
            for jump in (days, -days, 0):
                clock.write_text(str(jump))
                taken = load.acknowledged
                wait_for(lambda taken=taken: load.acknowledged > taken + 5, f"batches at {jump} days")
                server.kill()
                server.start()
                names = [item["session"] for item in server.get("/api/v1/sessions")[1]["items"]]
                if load.session not in names:
                    faults.append(f"at {jump} days the session was dropped")
            load.finish()
            faults += load.losses()
            print(f"  clock: {load.tasks} tasks, answers {load.statuses}", flush=True)
        finally:
            load.abandon()
            server.stop()
    return faults
