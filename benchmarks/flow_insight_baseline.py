"""The PyPI package flow-insight under the same load, for comparison. It is installed into a separate venv.

Setup, and why it is fair:

- Its server (``FastAPIInsightServer.run``, with the default snapshot every 60 s) runs in a separate process.
- A task is three calls of its API: ``call_submit``, ``call_begin``, ``call_end``. (Its decorator adds two
  more per argument; ours gets about 4.5 events per task.) It does not batch: its client sends one ``POST
  /emit`` per record and waits for the response.
- The records are prepared in advance and posted over as many keep-alive connections as ours has. Its own
  synchronous client opens a new connection for each record, so this favors it.
- Rates are reported per period, because each ``call_end`` walks the tree of all calls so far.

Run as a program, it is the load generator: ``python flow_insight_baseline.py URL SECONDS CONNECTIONS``.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common import CACHE, HERE, Http, Watched, environment, quantile, table
from load import FUNCTIONS

VERSION = "1.1.1"
_SERVER = """
import asyncio, sys
from flow_insight import FastAPIInsightServer
server = FastAPIInsightServer(storage_dir=sys.argv[2])
print("started", flush=True)
asyncio.run(server.run("127.0.0.1", int(sys.argv[1])))
"""
#: The calling functions: names of load.py's functions.
_FUNCTIONS = tuple(name.decode() for name in FUNCTIONS[:10])
_FLOW = "01000000"


def python() -> Path:
    """The interpreter of a venv with flow-insight, which is created if necessary."""
    folder = CACHE / f"flow-insight-{VERSION}"
    interpreter = folder / "bin" / "python"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # [standard], as for our own server, so that both use the same HTTP parser and event loop.
        wanted = [f"flow-insight=={VERSION}", "uvicorn[standard]"]
        subprocess.run([str(interpreter), "-m", "pip", "install", "-q", *wanted], check=True)
        (folder / "done").touch()
    return interpreter


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(port: int, storage: Path) -> Watched:
    command = [str(python()), "-u", "-c", _SERVER, str(port), str(storage)]
    server = Watched(
        command, env={k: v for k, v in environment().items() if k != "PYTHONPATH"}, stderr=subprocess.DEVNULL
    )
    server.line()
    threading.Thread(target=_discard, args=(server,), daemon=True).start()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            client = Http(f"http://127.0.0.1:{port}")
            client.get("/ping")
            client.close()
            return server
        except (OSError, RuntimeError):
            time.sleep(0.2)
    raise RuntimeError("flow-insight does not answer")


def _discard(server: Watched) -> None:
    """Read its output, so that it never blocks."""
    for _ in server.popen.stdout or ():
        pass


def records(number: int, connection: int) -> list[bytes]:
    """The three records of one task, ready to post."""
    now = int(time.time() * 1000)
    name = _FUNCTIONS[number % len(_FUNCTIONS)]
    span = f"{connection:04x}{number:012x}"
    common: dict[str, Any] = {"flow_id": _FLOW, "timestamp": now}
    edge = {"source_method": "_main", "target_method": name, "parent_span_id": "_main"}
    kinds = (
        ("call_submit", edge),
        ("call_begin", {**edge, "span_id": span}),
        ("call_end", {"target_method": name, "span_id": span, "duration": 0.01}),
    )
    return [json.dumps({"record_type": kind, "record": {**common, **rest}}).encode() for kind, rest in kinds]


def generate(url: str, seconds: float, connections: int) -> None:
    """Post tasks for a while. Prints the results as JSON."""
    parts = urlsplit(url)
    latencies: list[list[float]] = [[] for _ in range(connections)]
    finished: list[list[float]] = [[] for _ in range(connections)]
    began = time.monotonic()

    def post(index: int) -> None:
        client = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        number = 0
        while time.monotonic() - began < seconds:
            for body in records(number, index):
                asked = time.monotonic()
                client.request("POST", "/emit", body, {"Content-Type": "application/json"})
                response = client.getresponse()
                response.read()
                if response.status != 200:
                    raise RuntimeError(f"answered {response.status}")
                latencies[index].append(time.monotonic() - asked)
            finished[index].append(time.monotonic() - began)
            number += 1
        client.close()

    threads = [threading.Thread(target=post, args=(i,)) for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(
        json.dumps(
            {
                "elapsed": time.monotonic() - began,
                "finished": sorted(at for one in finished for at in one),
                "latencies": [round(value, 5) for one in latencies for value in one],
                "cpu": time.process_time(),
            }
        ),
        flush=True,
    )


def _stored(client: Http) -> tuple[int, int]:
    """Number of tasks in its flame graph, and of snapshots that it can still show."""
    flame = client.get(f"/get_flame_graph_data?flow_id={_FLOW}")
    snapshots = client.get(f"/list_snapshots?flow_id={_FLOW}")

    def count(node: dict[str, Any]) -> int:
        return sum(1 + count(child) for child in node.get("children", ()))

    return count((flame.get("data") or {}).get("root") or flame.get("data") or {}), len(
        snapshots.get("data") or []
    )


def compare(connections: int, seconds: float, ours: dict[str, float]) -> None:
    """Run flow-insight under load, kill and restart it, and print both results side by side."""
    storage = Path(tempfile.mkdtemp(prefix="flow-insight-bench-"))
    port = _free_port()
    try:
        server = _start(port, storage)
        idle = server.rss()
        cpu_began = server.cpu()
        command = [sys.executable, str(HERE / "flow_insight_baseline.py"), f"http://127.0.0.1:{port}"]
        load = Watched([*command, str(seconds), str(connections)])
        said = json.loads(load.line())
        load.stop()
        cpu = server.cpu() - cpu_began
        client = Http(f"http://127.0.0.1:{port}")
        stored, _ = _stored(client)
        client.close()
        peak = server.peak_rss
        server.stop(9)
        again = _start(port, storage)
        client = Http(f"http://127.0.0.1:{port}")
        left, snapshots = _stored(client)
        client.close()
        again.stop()
    finally:
        shutil.rmtree(storage, ignore_errors=True)
    finished = said["finished"]
    tasks = len(finished)
    rate = tasks / said["elapsed"]
    cpu_task = cpu / tasks * 1e6
    print(f"## The same task calls to flow-insight {VERSION}\n")
    print(
        table(
            ["", "Rayscope", f"flow-insight {VERSION}", "ratio"],
            [
                [
                    "tasks/s, stored",
                    f"{ours['tasks_s']:,.0f}",
                    f"{rate:,.0f}",
                    f"**{ours['tasks_s'] / rate:.0f}**",
                ],
                [
                    "server CPU a task",
                    f"{ours['cpu_us_task']:.0f} us",
                    f"{cpu_task:.0f} us",
                    f"**{cpu_task / ours['cpu_us_task']:.0f}**",
                ],
                [
                    "server RSS, peak",
                    f"{ours['rss'] / 2**20:.0f} MiB",
                    f"{peak / 2**20:.0f} MiB (idle {idle / 2**20:.0f})",
                    "",
                ],
                ["tasks stored at the end", f"{ours['tasks']:,.0f}", f"{stored:,} of {tasks:,}", ""],
                [
                    "left after kill -9 and restart",
                    f"{ours['left']:,.0f}",
                    f"{left:,} shown, {snapshots} snapshots on disk",
                    "",
                ],
            ],
        )
    )
    marks = [mark for mark in (500, 1000, 2000, 5000, 10_000, 20_000) if mark <= tasks]
    rows, before, at = [], 0, 0.0
    for mark in marks:
        rows.append([f"{before:,} to {mark:,}", f"{(mark - before) / (finished[mark - 1] - at):,.0f}"])
        before, at = mark, finished[mark - 1]
    if rows:
        print(table(["flow-insight: tasks so far", "tasks/s"], rows))
    latencies = said["latencies"]
    print(
        f"Its answers: p50 {quantile(latencies, 0.5) * 1000:.1f} ms, p95 {quantile(latencies, 0.95) * 1000:.1f} ms, "
        f"max {max(latencies) * 1000:.0f} ms. Load generator's CPU: {said['cpu'] / said['elapsed'] * 100:.0f} % of a core.\n"
    )


if __name__ == "__main__":
    generate(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
