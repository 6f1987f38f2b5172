"""Time and size of a report of a large session.

    python benchmarks/report.py --tasks 1000000

Two reports are written: the second one finds the server's caches filled.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
import time

import httpx

from common import RayscopeServer, header, parse_arguments, table
from views import end, generated


def main() -> int:
    """Print the figures. The exit status is 1 if a report is larger than 5 MB."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=1_000_000)
    args = parse_arguments(parser, tasks=2000)
    print(header(f"A report of {args.tasks:,} tasks", ["rayscope", "duckdb"]))
    folder = generated(args.tasks)
    end(folder)
    server = RayscopeServer(folder)
    rows, parts, is_small = [], [], True
    try:
        for which in ("first", "second"):
            began = time.monotonic()
            answer = httpx.get(f"{server.url}/api/v1/report", timeout=300).raise_for_status()
            took = time.monotonic() - began
            data = json.loads(
                gzip.decompress(base64.b64decode(answer.text.split('id="data">')[1].split("<")[0]))
            )
            size = len(answer.content)
            is_small &= size <= 5_000_000
            rows.append((which, f"{took:.1f} s", f"{size / 1e6:.2f} MB", len(data["answers"])))
            parts = [(part["what"], f"{part['shown']:,}", f"{part['total']:,}") for part in data["parts"]]
    finally:
        server.stop()
    print(table(("report", "time", "size", "answers"), rows))
    print(table(("of", "in the report", "in all"), parts))
    return 0 if is_small else 1


if __name__ == "__main__":
    sys.exit(main())
