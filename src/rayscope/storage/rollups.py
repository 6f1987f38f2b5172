"""Precomputed sums over a whole session, stored in its record once it has ended.

Each is an encoded value, stored with the state of the record that it was computed from. It is ignored if the
record has changed since.
"""

from __future__ import annotations

from rayscope.storage.session_file import SessionFile
from rayscope.version import __version__

#: Version of the rollups. Increase it whenever their content changes, so that older ones are ignored.
_VERSION = f"{__version__}/6"


def read_rollup(file: SessionFile, name: str, last_ns: int) -> bytes | None:
    """A rollup, or None if there is none for the current state of the record. ``last_ns``: when the session
    ended.
    """
    with file.reader() as reader:
        found = reader.execute(
            "SELECT body FROM rollups WHERE name = ? AND version = ? AND writes = ? AND last_ns = ?",
            [name, _VERSION, file.writes, last_ns],
        ).fetchone()
    return None if found is None else bytes(found[0])


def write_rollup(file: SessionFile, name: str, last_ns: int, writes: int, body: bytes) -> None:
    """Store a rollup, replacing any older one. ``writes``: ``file.writes`` before it was computed."""
    with file.reader() as reader:
        reader.execute("DELETE FROM rollups WHERE name = ?", [name])
        reader.execute("INSERT INTO rollups VALUES (?, ?, ?, ?, ?)", [name, _VERSION, writes, last_ns, body])
        reader.commit()


def stored_attempts(file: SessionFile) -> int:
    """Number of attempts in the record, including drivers."""
    with file.reader() as reader:
        counted = reader.execute("SELECT count(*) FROM attempts").fetchone()
    return counted[0] if counted else 0
