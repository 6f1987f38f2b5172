"""kill -9 and SIGTERM at random moments under load: what was acknowledged is recorded, once."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from harness import Load, Server


def kills(rounds: int, number: int = signal.SIGKILL, seed: int = 1) -> list[str]:
    """End the server ``rounds`` times, a third of them while it starts."""
    chance = random.Random(seed)
    faults = []
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        server = Server(Path(folder))
        server.start()
        load = Load(server).start()
        try:
            for at in range(rounds):
                time.sleep(chance.uniform(0.1, 3))
                status = server.kill(number)
                if number == signal.SIGTERM and status != 0:
                    faults.append(f"round {at}: SIGTERM ended the server with {status}")
                if number == signal.SIGKILL and chance.random() < 1 / 3:
                    server.start(wait=False)
                    time.sleep(chance.uniform(0.1, 3))
                    server.kill()
                server.start()
            load.finish()
            faults += load.losses()
            print(
                f"  {rounds} x {signal.Signals(number).name}: {load.acknowledged} batches acknowledged, "
                f"{load.refused} not, {load.tasks} tasks",
                flush=True,
            )
        finally:
            load.abandon()
            server.stop()
    return faults


def terminations(rounds: int) -> list[str]:
    """The same with SIGTERM, which the server must end well at."""
    return kills(rounds, signal.SIGTERM)
