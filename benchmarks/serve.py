"""Rayscope's server for a benchmark: prints its URL, and ends on SIGTERM."""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
import threading
from pathlib import Path

from rayscope.server.runner import Server
from rayscope.settings import Settings


def main() -> None:
    """Serve the data directory given as the argument."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = Server(Settings(data_dir=Path(sys.argv[1]), port=0))
    server.start()
    fast = [name for name in ("uvloop", "httptools") if importlib.util.find_spec(name)]
    about = {
        "url": server.url,
        "ingest_url": server.ingest_url,
        "parser": " + ".join(fast) or "asyncio + h11",
    }
    print(json.dumps(about), flush=True)
    stopped.wait()
    server.stop()


if __name__ == "__main__":
    main()
