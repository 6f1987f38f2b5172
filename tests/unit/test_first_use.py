"""C extensions survive it when many threads use a type for the first time at the same moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "ray" / "samples"
THREADS = """
import sys, threading
from pathlib import Path

sys.setswitchinterval(1e-6)
samples = Path(sys.argv[1])

def at_once(work):
    barrier, failed = threading.Barrier(16), []

    def run():
        barrier.wait()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
"""
PROGRAMS = {
    "manifest": """
from rayscope.archive import manifest
from rayscope.storage.about import About

made = manifest.Manifest("session_1", "cluster", "day", "stamp", 1, "version", About("session_1"), ())
content = manifest.encode(made)
at_once(lambda: manifest.decode("session_1", content))
""",
    "events": """
import json

from rayscope.ray.events import batch
from rayscope.ray.events.batch import Format

binary = (samples / "ray-2.60.binpb").read_bytes()  # a length of four bytes before each batch
bodies = {
    Format.JSON: json.dumps(json.loads((samples / "ray-2.60.json").read_bytes())[0]).encode(),
    Format.BINARY: binary[4 : 4 + int.from_bytes(binary[:4], "big")],
}

def read():
    for format, body in bodies.items():
        checked = batch.check(body, format)
        for session, part in batch.split(checked).items():
            batch.decode([part], format, session)

at_once(read)
""",
    "tables": """
import duckdb
import pyarrow as pa

def read():
    with duckdb.connect() as db:
        db.register("given", pa.table({"a": [1, 2]}))
        db.execute("CREATE TABLE t AS SELECT a, now() AS at, {'x': a} AS d FROM given")
        db.execute("FROM t").to_arrow_table()
        db.execute("FROM t").fetchnumpy()
        db.execute("FROM t").fetchall()

at_once(read)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sixteen_threads_at_once(name: str) -> None:
    """Each process tries once: whatever builds a type at its first use has built it then."""
    for _ in range(15 if name == "manifest" else 3):
        command = [sys.executable, "-X", "faulthandler", "-c", THREADS + PROGRAMS[name], str(SAMPLES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
