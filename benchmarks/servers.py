"""Events per second of one server, and of two that share a warehouse.

    python benchmarks/servers.py                # as root, on Linux: about four minutes
    python benchmarks/servers.py --cores 0.2    # share of a core for each server

On one machine servers, ClickHouse and senders compete, so a cgroup limits each server to a part of a core:
they are the bottleneck, as they would be on separate machines. The warehouse is chDB, ClickHouse's engine,
behind the HTTP server of the tests, in a separate process. The senders post at full speed. The clock stops
once everything is merged and published to the warehouse, and with a shared session, once both servers have
all of it.

A second server is measured twice: with its own sessions, and with half the nodes of the first one's session.
In the latter case each of the two also merges what the other one received, because both show the whole
session.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from common import HERE, Http, RayscopeServer, Watched, environment, header, parse_arguments, table
from ingest import count_tasks
from rayscope.warehouse import migrate
from rayscope.warehouse.client import connect
from rayscope.warehouse.schema import Layout

_CGROUPS = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_BRIDGE = """
import signal, sys
from tests.unit.warehouse.http_bridge import bridge
with bridge(sys.argv[1]) as (port, _):
    print(port, flush=True)
    signal.pause()
"""


class Part:
    """Limits a process to a part of a core with a cgroup. Raises OSError if that is not possible."""

    def __init__(self, name: str, cores: float) -> None:
        self._is_v1 = (_CGROUPS / "cpu").is_dir()
        self._group = _CGROUPS / ("cpu" if self._is_v1 else "") / name
        self._group.mkdir(exist_ok=True)
        quota = int(cores * _PERIOD_US)
        if self._is_v1:
            (self._group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self._group / "cpu.max").write_text(f"{quota} {_PERIOD_US}")

    def take(self, pid: int) -> None:
        """Add a process."""
        threads = os.listdir(f"/proc/{pid}/task") if self._is_v1 else [str(pid)]
        for one in threads:
            (self._group / ("tasks" if self._is_v1 else "cgroup.procs")).write_text(one)

    def remove(self) -> None:
        """Remove the cgroup after the process has ended."""
        with contextlib.suppress(OSError):
            self._group.rmdir()


def is_done(server: RayscopeServer) -> bool:
    """Whether everything received is merged and published."""
    client = Http(server.url)
    health = client.get("/api/health")
    client.close()
    return not health["pending_batches"] and not health["warehouse"]["waiting_rows"]


def measure(folder: Path, servers: int, *, tasks: int, cores: float, together: bool) -> dict[str, float]:
    """Events per second, and CPU usage of ClickHouse and the servers, in cores."""
    folder.mkdir()
    with ExitStack() as stack:
        front = Watched(
            [sys.executable, "-c", _BRIDGE, str(folder / "warehouse")],
            {**environment(), "PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], str(HERE.parent)])},
        )
        stack.callback(front.stop)
        url = f"clickhouse://me@127.0.0.1:{front.line()}/fleet"
        with connect(url, create=True) as warehouse:
            migrate.init(warehouse, Layout())
        running = []
        for number in range(servers):
            part = Part(f"rayscope-{os.getpid()}-{number}", cores)
            stack.callback(part.remove)
            server = RayscopeServer(folder / str(number), RAYSCOPE_WAREHOUSE=url)
            stack.callback(server.stop)
            part.take(server.popen.pid)
            running.append(server)
        time.sleep(3)  # wait until they have found each other
        cpu = [front.cpu(), sum(server.cpu() for server in running)]
        senders = []
        for number, server in enumerate(running):
            command = [sys.executable, str(HERE / "load.py"), server.ingest_url, "--tasks", str(tasks)]
            command += [
                "--seconds",
                "1",
                "--nodes",
                "2",
                "--seed",
                str(number + 1),
                "--prepare",
                str(tasks * 5),
            ]
            session = f"session_2026-01-{1 if together else number + 1:02}_00-00-00_000000_1"
            senders.append(Watched([*command, "--session", session]))
        for sender in senders:
            sender.line()
        began = time.monotonic()
        events = tasks_sent = 0
        for sender in senders:
            while (said := json.loads(sender.line()))["kind"] != "end":
                pass
            if said["error"]:
                raise RuntimeError(said["error"])
            events += said["events"]
            tasks_sent += said["tasks"]
        taken_s = time.monotonic() - began
        while not all(is_done(server) for server in running):
            time.sleep(0.2)
        for server in running if together else ():
            while count_tasks(server.url, session) < tasks_sent:
                time.sleep(0.5)
        seconds = time.monotonic() - began
        used = [front.cpu() - cpu[0], sum(server.cpu() for server in running) - cpu[1]]
        for sender in senders:
            sender.stop()
        return {
            "events": events,
            "taken": events / taken_s,
            "merged": events / seconds,
            "clickhouse": used[0] / seconds,
            "cpu_us": used[1] / events * 1e6,
        }


def main() -> int:
    """Measure one server, then two, then two with one session."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=40_000, help="of each server")
    parser.add_argument("--cores", type=float, default=0.3, help="what each server may use of a core")
    args = parse_arguments(parser, tasks=1000)
    print(header("Several servers", ["rayscope", "duckdb", "chdb-core", "clickhouse-connect"]))
    rows = []
    first = 0.0
    with tempfile.TemporaryDirectory(prefix="rss-") as temp:
        for what, servers, together in (
            ("one server", 1, False),
            ("two servers, a session each", 2, False),
            ("two servers, one session", 2, True),
        ):
            found = measure(
                Path(temp) / str(len(rows)), servers, tasks=args.tasks, cores=args.cores, together=together
            )
            first = first or found["merged"]
            rows.append(
                [
                    what,
                    f"{found['events']:,}",
                    f"{found['taken']:,.0f}",
                    f"{found['merged']:,.0f}",
                    f"{found['merged'] / first:.2f}",
                    f"{found['cpu_us']:.0f} us",
                    f"{found['clickhouse']:.2f} cores",
                ]
            )
    columns = [
        "what",
        "events",
        "answered, 1/s",
        "merged and sent on, 1/s",
        "of one",
        "CPU an event",
        "ClickHouse",
    ]
    print(table(columns, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
