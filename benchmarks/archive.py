"""Time to seal a session into an archive, and to open it on another server.

    python benchmarks/ingest.py --rate 20000 --data-dir /tmp/million
    python benchmarks/archive.py /tmp/million

The newest session of the data directory is pushed into a folder (so no network is measured), pushed again,
and opened by a server with an empty data directory: the first view fetches the record, the second one uses
it. For comparison, the first view on the server that recorded the session is measured, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import httpx

from common import RayscopeServer, header, parse_arguments, table
from rayscope.archive import seal
from rayscope.archive.location import Location
from rayscope.storage.catalog import Catalog
from views import generated

_VIEWS = (
    ("tasks", "/api/v1/tasks?limit=50"),
    ("logical graph", "/api/v1/flow/logical"),
    ("Gantt chart", "/api/v1/flow/gantt"),
)


def _seconds(url: str, session: str) -> float:
    began = time.monotonic()
    httpx.get(httpx.URL(url).copy_merge_params({"session": session}), timeout=600).raise_for_status()
    return time.monotonic() - began


def _wait_for(server: RayscopeServer, session: str) -> None:
    while not any(
        item["session"] == session for item in httpx.get(f"{server.url}/api/v1/sessions").json()["items"]
    ):
        time.sleep(0.2)


def main() -> int:
    """Push, push again, and open on another server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path, nargs="?", help="default: a generated record")
    args = parse_arguments(parser)
    data_dir = args.data_dir or generated(10_000)
    print(header("The archive", ["rayscope", "duckdb", "pyarrow"]))
    catalog = Catalog(data_dir, read_only=True)
    session = catalog.names()[0]
    about = catalog.about(session)
    with tempfile.TemporaryDirectory(prefix="rsa-") as temp:
        home = Path(temp)
        location = Location(f"file://{home / 'archive'}")
        began = time.monotonic()
        manifest = seal.push(location, catalog.folder / session, about, home / "work")
        pushed = time.monotonic() - began
        began = time.monotonic()
        seal.push(location, catalog.folder / session, about, home / "work")
        again = time.monotonic() - began
        os.environ["RAYSCOPE_ARCHIVE"] = f"file://{home / 'archive'}"
        os.environ["RAYSCOPE_ARCHIVE_AFTER_MIN"] = "600"
        took: dict[str, list[float]] = {}
        for folder in (data_dir, home / "other"):
            server = RayscopeServer(folder)
            try:
                _wait_for(server, session)
                for name, path in _VIEWS:
                    times = took.setdefault(name, [])
                    times += [_seconds(f"{server.url}{path}", session) for _ in range(2)]
            finally:
                server.stop()
    size = manifest.bytes
    print(
        table(
            ["what", "figure"],
            [
                ["attempts", f"{about.attempts:,}"],
                ["on disk", f"{catalog.disk_bytes(session) / 2**20:.0f} MiB"],
                [
                    "in the archive",
                    f"{size / 2**20:.0f} MiB, {size / max(1, about.attempts):.0f} bytes an attempt",
                ],
                ["push, with reading back", f"{pushed:.1f} s"],
                ["push of the same again", f"{again:.1f} s"],
            ],
        )
    )
    print()
    rows = [[name, *(f"{one:.2f} s" for one in times)] for name, times in took.items()]
    print(
        table(
            ["view", "where it was recorded", "again", "from the archive (the first one fetches)", "again"],
            rows,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
