"""Sums of a whole session that views are made of, kept in its record once it has ended.

Each is an encoded value with the state of the record it was made from. One of another state is not read.
"""

from __future__ import annotations

from rayscope.storage.session_file import SessionFile
from rayscope.version import __version__

#: Raise the number when what a rollup holds changes.
_VERSION = f"{__version__}/4"


def read_rollup(file: SessionFile, name: str, last_ns: int) -> bytes | None:
    """The rollup of that name, if it is of what is on record now. ``last_ns``: when the session ended."""
    with file.reader() as reader:
        found = reader.execute(
            "SELECT body FROM rollups WHERE name = ? AND version = ? AND writes = ? AND last_ns = ?",
            [name, _VERSION, file.writes, last_ns],
        ).fetchone()
    return None if found is None else bytes(found[0])


def write_rollup(file: SessionFile, name: str, last_ns: int, writes: int, body: bytes) -> None:
    """Put a rollup in place of an older one. ``writes``: ``file.writes`` before it was made."""
    with file.reader() as reader:
        reader.execute("DELETE FROM rollups WHERE name = ?", [name])
        reader.execute("INSERT INTO rollups VALUES (?, ?, ?, ?, ?)", [name, _VERSION, writes, last_ns, body])
        reader.commit()


def stored_attempts(file: SessionFile) -> int:
    """How many attempts are on record, drivers included."""
    with file.reader() as reader:
        counted = reader.execute("SELECT count(*) FROM attempts").fetchone()
    return counted[0] if counted else 0
