"""Rayscope's server for a benchmark: prints its URL, and ends on SIGTERM."""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import threading
from pathlib import Path

from rayscope.server.runner import Server
from rayscope.settings import Settings


def main() -> None:
    """Serve a data directory until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path)
    args = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = Server(Settings(data_dir=args.data_dir, port=0))
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
