"""Cost of pushing updates to 1,000 WebSocket clients while the recorded session changes.

A separate server process records a simulated session whose tasks keep finishing. Clients in another process
watch the topics `cluster` and `tasks` at the default interval of 2 s. Slow ones sleep after each message.
Reported: CPU of the server with and without clients, messages, and the age of the data on arrival.

    python benchmarks/push.py --clients 1000 --slow 50 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from common import HERE, Watched, environment, header, ms, parse_arguments, quantile, table

_SERVER = """
import sys, threading, time
sys.path.insert(0, sys.argv[2])
import tests.story as story
from pathlib import Path
from rayscope.server.runner import Server
from rayscope.settings import Settings
server = Server(Settings(data_dir=Path(sys.argv[1]), port=0))
server.start()
story.ORIGIN_NS = time.time_ns()
made = 0
def grow():
    global made
    while True:
        told = story.Story(_made=made)
        now = (time.time_ns() - story.ORIGIN_NS) / 1e6
        for number in range(100):
            told.task(f"f{number % 20}", now - 50, now - 40, now, failed=number == 7)
        made = told._made
        server.services.writer.submit_records(told.batch, "events")
        time.sleep(0.5)
threading.Thread(target=grow, daemon=True).start()
time.sleep(3)
print(server.url, server.services.records.resolve(None), flush=True)
for line in sys.stdin:
    print(server.services.realtime.stats(), flush=True)
"""


@dataclass
class Seen:
    """Messages received by one client: ages in s, number of states (after the first) and of changes."""

    ages: list[float] = field(default_factory=list)
    states: int = 0
    changes: int = 0


async def watch(url: str, session: str, seen: Seen, until: float, pause_s: float) -> None:
    import websockets

    topics = [{"topic": topic, "session": session} for topic in ("cluster", "tasks")]
    async with websockets.connect(url, compression=None, max_queue=4, open_timeout=60) as socket:
        await socket.send(json.dumps({"subscribe": topics, "acks": True}))
        first = {"cluster", "tasks"}
        while (rest := until - time.monotonic()) > 0:
            try:
                message = json.loads(await asyncio.wait_for(socket.recv(), rest))
            except asyncio.TimeoutError:
                return
            if message["kind"] in ("state", "change"):
                if message["topic"] in first:
                    first.remove(message["topic"])  # may be as old as the interval
                else:
                    seen.ages.append((time.time_ns() - message["time_ns"]) / 1e9)
                    seen.states += message["kind"] == "state"
                    seen.changes += message["kind"] == "change"
                await socket.send('{"ack":1}')
                if pause_s:
                    await asyncio.sleep(pause_s)


async def clients(url: str, session: str, number: int, slow: int, seconds: float, pause_s: float) -> None:
    """Run the clients in this process. Prints their results as JSON."""
    until = time.monotonic() + seconds + 15
    quick_seen, slow_seen = [Seen() for _ in range(number - slow)], [Seen() for _ in range(slow)]
    tasks = []
    for at, seen in enumerate([*quick_seen, *slow_seen]):
        pause = pause_s if at >= number - slow else 0.0
        tasks.append(asyncio.create_task(watch(url, session, seen, until, pause)))
        await asyncio.sleep(0.004)  # do not connect all at once
    print("connected", flush=True)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    failures = [repr(one) for one in done if isinstance(one, BaseException)]

    def summarize(all_of: list[Seen]) -> dict[str, object]:
        slowest = max((seen for seen in all_of if seen.ages), key=lambda seen: quantile(seen.ages, 0.5))
        ages = [age for seen in all_of for age in seen.ages]
        return {
            "messages": len(ages),
            "states": sum(seen.states for seen in all_of),
            "changes": sum(seen.changes for seen in all_of),
            "p50": quantile(ages, 0.5),
            "p95": quantile(ages, 0.95),
            "max": max(ages),
            "slowest_p50": quantile(slowest.ages, 0.5),
            "slowest_max": max(slowest.ages),
            "least": min(len(seen.ages) for seen in all_of),
        }

    result = {"quick": summarize(quick_seen), "failures": len(failures), "first_failure": failures[:1]}
    if slow:
        result["slow"] = summarize(slow_seen)
    print(json.dumps(result), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--clients", type=int, default=1000)
    options.add_argument("--slow", type=int, default=50, help="how many of them are slow")
    options.add_argument("--pause", type=float, default=5.0, help="how long a slow one sleeps, s")
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--watch", nargs=2, metavar=("URL", "SESSION"), help=argparse.SUPPRESS)
    given = parse_arguments(options, clients=10, slow=2, pause=0.5, seconds=5.0)
    if given.watch:
        asyncio.run(clients(*given.watch, given.clients, given.slow, given.seconds, given.pause))
        return
    print(header("Live push", ["uvicorn", "websockets", "msgspec"]))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _SERVER, folder, str(HERE.parent)]
        server = Watched(command, stdin=subprocess.PIPE)
        url, session = server.line().split()

        def cpu_share(seconds: float) -> float:
            before, began = server.cpu(), time.monotonic()
            time.sleep(seconds)
            return (server.cpu() - before) / (time.monotonic() - began)

        alone = cpu_share(min(20.0, given.seconds))
        watching = subprocess.Popen(
            [
                *(sys.executable, str(Path(__file__))),
                *("--clients", str(given.clients), "--slow", str(given.slow), "--pause", str(given.pause)),
                *("--seconds", str(given.seconds)),
                *("--watch", url.replace("http", "ws") + "/ws/realtime", session),
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert watching.stdout is not None
        watching.stdout.readline()
        time.sleep(3)
        rss = server.rss()
        psutil.cpu_percent()
        with_clients = cpu_share(given.seconds)
        load = psutil.cpu_percent()
        found = json.loads(watching.stdout.readline())
        watching.wait(30)
        server.popen.terminate()
        server.popen.wait(30)
    rows = []
    for name in ("quick", "slow"):
        if name in found:
            one = found[name]
            ages = f"{ms(one['p50'])} / {ms(one['p95'])} / {ms(one['max'])}"
            slowest = f"{ms(one['slowest_p50'])} / {ms(one['slowest_max'])}"
            number = given.slow if name == "slow" else given.clients - given.slow
            rows.append((name, number, one["messages"], one["states"], one["changes"], ages, slowest))
    columns = (
        "clients",
        "number",
        "messages",
        "states",
        "changes",
        "age p50 / p95 / max",
        "slowest p50 / max",
    )
    print(table(columns, rows))
    print(
        f"Server: {alone * 100:.1f} % of a core without clients, {with_clients * 100:.1f} % with them; "
        f"{rss / 2**20:.0f} MiB; the whole machine {load:.0f} % busy. "
        f"Connections that failed: {found['failures']} {found['first_failure']}"
    )


if __name__ == "__main__":
    main()
