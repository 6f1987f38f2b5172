"""Kept logs of a session: compressed copies of log files within a size limit, readable by offset.

sessions/<session>/logs.sqlite has the tables ``files`` (node, name, how far it was read), ``frames`` (parts
of a file, compressed with zstd) and ``crashes`` (a file's crash report). SQLite was chosen because a kill
never leaves a part half stored, deleted space is reused, and file names from other machines never become
paths here.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow

from rayscope.ray.crash_report import CrashReport, find_report
from rayscope.storage.errors import StoreError

FILE_NAME = "logs.sqlite"
#: Maximum size of a frame before compression, bytes.
_FRAME = 256 << 10
#: Size in bytes below which a file's last frame is extended: new data is added, and it is compressed again.
_GROWS = 64 << 10
#: A single file may take at most the size limit divided by this.
_SHARE = 8
#: Beyond the size limit, old frames are deleted until at most this share of the limit is in use.
_ROOM = 0.95
_LAYOUT = """
CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, node_id TEXT NOT NULL, name TEXT NOT NULL,
    is_user INTEGER NOT NULL, seen INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, UNIQUE (node_id, name));
CREATE TABLE IF NOT EXISTS frames (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, begin INTEGER NOT NULL,
    "end" INTEGER NOT NULL, time_ns INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (file, begin));
CREATE INDEX IF NOT EXISTS by_time ON frames (time_ns);
CREATE TABLE IF NOT EXISTS crashes (file INTEGER PRIMARY KEY, begin INTEGER NOT NULL, signal TEXT NOT NULL,
    reason TEXT, is_race INTEGER NOT NULL);
"""
#: Maximum number of crash reports listed.
_MAX_CRASHES = 10_000


class KeptFile(NamedTuple):
    """The kept part of a file.

    Attributes:
        seen: offset up to which the file was read, bytes.
        kept: size of the stored parts before compression, bytes.
        first_ns: when the first bytes arrived.
        last_ns: when the last bytes arrived.
    """

    node_id: str
    name: str
    seen: int
    kept: int
    first_ns: int
    last_ns: int


class LogStore:
    """The kept logs of one session. Thread-safe. Raises StoreError if the file cannot be read or written.

    ``max_bytes``: limit for the compressed size. Beyond it, the oldest parts of Ray's own logs are deleted
    first, then the oldest parts of users' logs.
    """

    def __init__(self, path: Path, max_bytes: int = 1 << 30) -> None:
        self._max_bytes = max_bytes
        self._codec = pyarrow.Codec("zstd", compression_level=3)
        self._lock = threading.RLock()
        try:
            if not path.exists():
                path.touch(mode=0o600)
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_LAYOUT)
            self._bytes = self._scalar("SELECT coalesce(sum(bytes), 0) FROM files")
        except (OSError, sqlite3.Error) as error:
            raise _broken(error) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @property
    def disk_bytes(self) -> int:
        """Compressed size of the kept logs, bytes."""
        return self._bytes

    def files(self, node_id: str | None = None) -> list[KeptFile]:
        """The kept files of one node or of all nodes, ordered by node and name."""
        of_node, values = ("", ()) if node_id is None else ("WHERE node_id = ?", (node_id,))
        return [
            KeptFile(*row)
            for row in self._all(
                'SELECT node_id, name, seen, coalesce((SELECT sum("end" - begin) FROM frames '
                f"WHERE file = files.id), 0), first_ns, last_ns FROM files {of_node} ORDER BY node_id, name",
                *values,
            )
        ]

    def crashes(self) -> list[tuple[str, str, CrashReport]]:
        """The files that have a crash report, as (node, name, crash report), at most 10,000."""
        return [
            (node_id, name, CrashReport(begin, signal, reason, bool(is_race)))
            for node_id, name, begin, signal, reason, is_race in self._all(
                "SELECT node_id, name, begin, signal, reason, is_race FROM crashes JOIN files ON id = file "
                f"ORDER BY last_ns DESC, id LIMIT {_MAX_CRASHES}"
            )
        ]

    def counts(self) -> dict[str, int]:
        """Node ID -> number of its known files."""
        return dict(self._all("SELECT node_id, count(*) FROM files GROUP BY node_id"))

    def names(self, node_id: str) -> set[str]:
        """Names of the known files of one node."""
        return {row[0] for row in self._all("SELECT name FROM files WHERE node_id = ?", node_id)}

    def file(self, node_id: str, name: str) -> KeptFile | None:
        """The kept part of one file, or None if the file is not known."""
        rows = self._all(
            'SELECT node_id, name, seen, coalesce((SELECT sum("end" - begin) FROM frames '
            "WHERE file = files.id), 0), first_ns, last_ns FROM files WHERE node_id = ? AND name = ?",
            node_id,
            name,
        )
        return KeptFile(*rows[0]) if rows else None

    def append(
        self, node_id: str, name: str, begin: int, data: bytes, time_ns: int, *, is_user: bool = True
    ) -> None:
        """Store the bytes of a file from the offset ``begin``, read at ``time_ns``. Bytes already stored are
        skipped.
        """
        with self._lock:
            try:
                with self._db:
                    self._db.execute("BEGIN")
                    self._append(node_id, name, begin, data, time_ns, is_user)
                    self._make_room()
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._bytes = self._scalar("SELECT coalesce(sum(bytes), 0) FROM files")
                raise _broken(error) from error

    def _append(self, node_id: str, name: str, begin: int, data: bytes, time_ns: int, is_user: bool) -> None:
        self._db.execute(
            "INSERT INTO files (node_id, name, is_user, first_ns, last_ns) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET last_ns = excluded.last_ns",
            (node_id, name, is_user, time_ns, time_ns),
        )
        file, seen, held = self._db.execute(
            "SELECT id, seen, bytes FROM files WHERE node_id = ? AND name = ?", (node_id, name)
        ).fetchone()
        if begin < seen:
            data = data[seen - begin :]
            begin = seen
        if not data:
            return
        grown = 0
        last = self._db.execute(
            'SELECT id, begin, "end", data FROM frames WHERE file = ? ORDER BY begin DESC LIMIT 1', (file,)
        ).fetchone()
        if last is not None and last[2] == begin and last[2] - last[1] < _GROWS:
            data = self._unpack(last[3], last[2] - last[1]) + data
            begin = last[1]
            self._db.execute("DELETE FROM frames WHERE id = ?", (last[0],))
            grown -= len(last[3])
        self._note_crash(node_id, name, begin, data)
        for at in range(0, len(data), _FRAME):
            part = data[at : at + _FRAME]
            packed = self._codec.compress(part, asbytes=True)
            self._db.execute(
                'INSERT INTO frames (file, begin, "end", time_ns, data) VALUES (?, ?, ?, ?, ?)',
                (file, begin + at, begin + at + len(part), time_ns, packed),
            )
            grown += len(packed)
        self._count(file, grown, begin + len(data))
        if held + grown > self._max_bytes // _SHARE:
            self._drop("file = ?", (file,), held + grown - self._max_bytes * _ROOM / _SHARE)

    def _note_crash(self, node_id: str, name: str, begin: int, data: bytes) -> None:
        """Store the first crash report in ``data``, which are the bytes of a file from the offset
        ``begin``.
        """
        report = find_report(data)
        if report is not None:
            self._db.execute(
                "INSERT OR IGNORE INTO crashes (file, begin, signal, reason, is_race) "
                "SELECT id, ?, ?, ?, ? FROM files WHERE node_id = ? AND name = ?",
                (begin + report.begin, report.signal, report.reason, report.is_race, node_id, name),
            )

    def _count(self, file: int, grown: int, seen: int) -> None:
        self._bytes += grown
        self._db.execute("UPDATE files SET bytes = bytes + ?, seen = ? WHERE id = ?", (grown, seen, file))

    def _make_room(self) -> None:
        if self._bytes > self._max_bytes:
            self._drop("true", (), self._bytes - self._max_bytes * _ROOM)

    def _drop(self, where: str, values: tuple[int, ...], min_bytes: float) -> None:
        """Delete the oldest frames that match ``where`` until ``min_bytes`` are freed, Ray's own logs
        first.
        """
        chosen = self._db.execute(
            "SELECT frames.id, file, length(data) FROM frames JOIN files ON files.id = file "
            f"WHERE {where} ORDER BY is_user, time_ns, begin",
            values,
        )
        gone = []
        for frame, file, size in chosen:
            if min_bytes <= 0:
                break
            gone.append((frame, file, size))
            min_bytes -= size
        for frame, file, size in gone:
            self._db.execute("DELETE FROM frames WHERE id = ?", (frame,))
            self._db.execute("UPDATE files SET bytes = bytes - ? WHERE id = ?", (size, file))
            self._bytes -= size

    def rename(self, node_id: str, old: str, new: str) -> None:
        """Rename a rotated file. Data that was kept under the new name is deleted."""
        with self._lock:
            self.restart(node_id, new)
            try:
                with self._db:
                    self._db.execute("BEGIN")
                    self._db.execute("DELETE FROM files WHERE node_id = ? AND name = ?", (node_id, new))
                    self._db.execute(
                        "UPDATE files SET name = ? WHERE node_id = ? AND name = ?", (new, node_id, old)
                    )
            except sqlite3.Error as error:
                raise _broken(error) from error

    def restart(self, node_id: str, name: str) -> None:
        """Delete what is kept of a file, because the file began again from the start."""
        with self._lock:
            try:
                row = self._db.execute(
                    "SELECT id, bytes FROM files WHERE node_id = ? AND name = ?", (node_id, name)
                ).fetchone()
                if row is not None:
                    self._db.execute("DELETE FROM frames WHERE file = ?", (row[0],))
                    self._db.execute("DELETE FROM crashes WHERE file = ?", (row[0],))
                    self._db.execute("UPDATE files SET seen = 0, bytes = 0 WHERE id = ?", (row[0],))
                    self._bytes -= row[1]
            except sqlite3.Error as error:
                raise _broken(error) from error

    def read(self, node_id: str, name: str, begin: int, end: int) -> list[tuple[int, bytes]]:
        """The kept parts from ``begin`` up to ``end``, as (offset, bytes), in order.

        Adjacent parts are joined.
        """
        rows = self._all(
            'SELECT frames.begin, frames."end", data FROM frames JOIN files ON files.id = file '
            'WHERE node_id = ? AND name = ? AND "end" > ? AND begin < ? ORDER BY begin',
            node_id,
            name,
            begin,
            end,
        )
        found: list[tuple[int, list[bytes], int]] = []
        for first, last, packed in rows:
            whole = self._unpack(packed, last - first)
            part = whole[max(0, begin - first) : end - first]
            at = max(begin, first)
            if found and found[-1][2] == at:
                found[-1][1].append(part)
                found[-1] = (found[-1][0], found[-1][1], at + len(part))
            else:
                found.append((at, [part], at + len(part)))
        return [(at, b"".join(parts)) for at, parts, _ in found]

    def offset_at(self, node_id: str, name: str, time_ns: int) -> int | None:
        """Offset of the first bytes that were read at ``time_ns`` or later, or None if all are older."""
        rows = self._all(
            "SELECT frames.begin FROM frames JOIN files ON files.id = file "
            "WHERE node_id = ? AND name = ? AND time_ns >= ? ORDER BY begin LIMIT 1",
            node_id,
            name,
            time_ns,
        )
        return int(rows[0][0]) if rows else None

    # The following methods export and import the whole store for the archive.

    def rows(self) -> list[tuple[str, str, bool, int, int, int]]:
        """Every file as (node, name, is_user, seen, first_ns, last_ns), the input of :meth:`fill_files`."""
        found = self._all(
            "SELECT node_id, name, is_user, seen, first_ns, last_ns FROM files ORDER BY node_id, name"
        )
        return [(node, name, bool(is_user), *rest) for node, name, is_user, *rest in found]

    def stretches(self) -> Iterator[tuple[str, str, int, int, int, bytes]]:
        """All kept parts as (node, name, begin, end, time_ns, bytes), the input of :meth:`fill`."""
        for file, node_id, name in self._all("SELECT id, node_id, name FROM files ORDER BY node_id, name"):
            begins = self._all("SELECT begin FROM frames WHERE file = ? ORDER BY begin", file)
            for (begin,) in begins:
                found = self._all(
                    'SELECT "end", time_ns, data FROM frames WHERE file = ? AND begin = ?', file, begin
                )
                for end, time_ns, packed in found:
                    yield node_id, name, begin, end, time_ns, self._unpack(packed, end - begin)

    def fill_files(self, files: Iterable[tuple[str, str, bool, int, int, int]]) -> None:
        """Add files to a new store."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT INTO files (node_id, name, is_user, seen, first_ns, last_ns) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                files,
            )

    def fill(self, stretches: Iterable[tuple[str, str, int, int, int, bytes]]) -> None:
        """Add the kept parts of files to a new store."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            for node_id, name, begin, end, time_ns, data in stretches:
                packed = self._codec.compress(data, asbytes=True)
                self._db.execute(
                    'INSERT INTO frames (file, begin, "end", time_ns, data) '
                    "SELECT id, ?, ?, ?, ? FROM files WHERE node_id = ? AND name = ?",
                    (begin, end, time_ns, packed, node_id, name),
                )
                self._db.execute(
                    "UPDATE files SET bytes = bytes + ? WHERE node_id = ? AND name = ?",
                    (len(packed), node_id, name),
                )
                self._bytes += len(packed)
                self._note_crash(node_id, name, begin, data)

    def _unpack(self, packed: bytes, size: int) -> bytes:
        try:
            return bytes(self._codec.decompress(packed, decompressed_size=size, asbytes=True))
        except (OSError, ValueError) as error:
            raise _broken(error) from error

    def _scalar(self, sql: str) -> int:
        return int(self._db.execute(sql).fetchone()[0])

    def _all(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _broken(error) from error


def _broken(error: Exception) -> StoreError:
    return StoreError(
        f"Could not read or write the kept logs: {str(error)[:200]}.",
        "Free some space, or remove logs.sqlite from the session's folder to start over.",
        "logs",
        what="kept",
        reason=str(error)[:200],
    )
