"""Rayscope's server for a benchmark: prints its URL, and ends on SIGTERM."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

from rayscope.cli.serving import stop_signals, wait_for_stop
from rayscope.server.runner import Server
from rayscope.settings import Settings


def main() -> None:
    """Serve a data directory until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path)
    args = parser.parse_args()
    server = Server(Settings(data_dir=args.data_dir, port=0))
    with stop_signals() as stops:
        server.start()
        fast = [name for name in ("uvloop", "httptools") if importlib.util.find_spec(name)]
        about = {
            "url": server.url,
            "ingest_url": server.ingest_url,
            "parser": " + ".join(fast) or "asyncio + h11",
        }
        print(json.dumps(about), flush=True)
        wait_for_stop(stops)
        server.stop()


if __name__ == "__main__":
    main()
