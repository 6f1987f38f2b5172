"""One Ray session's record in one DuckDB file: opens it and writes to it.

When the file is opened, the connection is locked down (no access to other files, no extensions, frozen
settings). So no SQL, not even a user's, can reach anything outside the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from rayscope.model import Drop, Entity, Kind
from rayscope.storage import inferred_ends, rows
from rayscope.storage.errors import StoreError
from rayscope.storage.interruption import current_work
from rayscope.storage.schema import ENTITY_COLUMNS, FORMAT, TABLES, VIEWS
from rayscope.storage.sql.execution import PARENT_ID, TASK_ID

#: Size of the log at which DuckDB makes a checkpoint. A checkpoint moves the log into the file and briefly
#: blocks writers. With DuckDB's default of 16 MB, that happens every second under load (see
#: docs/explanation/decisions/0002).
CHECKPOINT_THRESHOLD = "128MB"
#: Default memory limit of DuckDB per open session, shared by queries and the writer. With 320 MB, flushes
#: into a record of ten million tasks failed while a query read all of them.
MEMORY_LIMIT = "512MB"
#: Number of threads per open database. DuckDB 2 would start eight more for reading remote files, but ours are
#: local.
THREADS = {"threads": 2} | ({"async_threads": 0} if int(duckdb.__version__.split(".")[0]) >= 2 else {})
_VIEWS_HASH = hashlib.sha256("\n".join(VIEWS).encode()).hexdigest()[:16]
#: Table whose rows form a set -> the column by which duplicates of a row are looked up.
_SET_TIMES = {"span_rows": "begin_ns", "edge_rows": "begin_ns", "annotation_rows": "time_ns"}


_FULL = ("no space left", "not enough space", "file too large", "disk quota")
_DAMAGED = (
    *("not a valid duckdb database file", "corrupt", "checksum", "while replaying wal", "deserializ"),
    *("could not read enough bytes", "does not match database file"),
)


def _corrupt(path: Path, why: str) -> StoreError:
    return StoreError(
        f"Could not read {path}: {why}",
        "The file is damaged, or not a Rayscope record. Restore it from a backup, or remove its folder.",
        "corrupt",
        file=str(path),
        reason=why,
    )


def explain(path: Path, error: Exception) -> StoreError:
    """The StoreError for an error that DuckDB raised about the record at ``path``."""
    text = str(error).split("\n")[0]
    said = text.lower()
    if "set lock on file" in said:
        return StoreError(
            f"{path} is in use by another process: {text}",
            "Stop the other Rayscope server on this data directory, or use another --data-dir.",
            "locked",
        )
    if any(words in said for words in _FULL):
        return StoreError(
            f"The disk of {path} is full.", "Free some space; recording resumes automatically.", "full"
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreError(
            f"{path} needs more memory than allowed: {text}",
            "Raise RAYSCOPE_MEMORY_LIMIT and restart. No data is lost in the meantime.",
            "memory",
        )
    if (
        "with version number" in said
    ):  # DuckDB 2 needs Python 3.11, and the version for Python 3.10 cannot read its files
        return StoreError(
            f"{path} was written by a newer DuckDB: {text}",
            "Upgrade: pip install -U rayscope duckdb, with Python 3.11 or later. The record stays as it is.",
            "newer",
            what="duckdb",
        )
    # Report only clear cases as damage, because a damaged file is set aside.
    if any(words in said for words in _DAMAGED):
        return _corrupt(path, text)
    return StoreError(
        f"Could not use {path}: {text}",
        "Rayscope keeps retrying. If it keeps failing, check the folder's permissions and the server's log.",
        "unusable",
        what="record",
        file=str(path),
        reason=text,
    )


class SessionFile:
    """A session's DuckDB file, open for one writer thread and any number of readers.

    Raises :class:`StoreError` with code ``locked``, ``corrupt``, ``full``, ``memory``, ``newer``,
    ``older`` or ``unusable``.
    """

    def __init__(self, path: Path, *, memory_limit: str = MEMORY_LIMIT, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._opened = time.monotonic_ns()
        #: Number of writes to the record. It is stored in the record and identifies its content.
        self.writes = 0
        self._lock = threading.Lock()
        self._readers: list[duckdb.DuckDBPyConnection] = []
        for one in (path, path.with_name(path.name + ".wal")):
            # Refuse a dangling link, because DuckDB would create the file that it points to.
            if one.is_dir() or (one.is_symlink() and not os.path.exists(one)):
                raise _corrupt(path, f"{one.name} is a folder, or a broken link.")
        self._connection = self._connect(memory_limit)
        try:
            if not self._prepare() and read_only:
                # Tables of an older version lack columns. Add them, unless the file is not writable.
                self._connection.close()
                with contextlib.suppress(StoreError):
                    SessionFile(path, memory_limit=memory_limit).close()
                self._connection = self._connect(memory_limit)
            # This must come last, because then no setting can be changed any more.
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            self._connection.close()
            raise explain(path, error) from error
        except StoreError:
            self._connection.close()
            raise
        self._writer = self._connection.cursor()

    def _connect(self, memory_limit: str) -> duckdb.DuckDBPyConnection:
        try:
            return duckdb.connect(
                str(self.path),
                read_only=self.read_only,
                config={
                    **THREADS,
                    "memory_limit": memory_limit,
                    "checkpoint_threshold": CHECKPOINT_THRESHOLD,
                    "temp_directory": str(self.path.with_suffix(".tmp")),
                    "max_temp_directory_size": "2GB",
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "allow_community_extensions": "false",
                    "python_enable_replacements": "false",
                    "preserve_insertion_order": "false",
                },
            )
        except duckdb.Error as error:
            raise explain(self.path, error) from error

    def _prepare(self) -> bool:
        """Check the file, and create this version's tables and views if it is writable.

        Returns whether the file has them.
        """
        connection = self._connection
        known = connection.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'meta'"
        ).fetchone()
        is_new = not (known and known[0])
        meta: dict[str, str] = {}
        if not is_new:
            meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            self._check_format(meta.get("format"))
            self.writes = int(meta.get("writes", 0))
        if self.read_only:
            return is_new or meta.get("views") == _VIEWS_HASH
        with self._transaction(connection):
            for statement in TABLES:
                connection.execute(statement)
            # Replace views only if they differ: opening a record for reading must not change it.
            row = connection.execute("SELECT value FROM meta WHERE key = 'views'").fetchone()
            if row is None or row[0] != _VIEWS_HASH:
                for statement in VIEWS:
                    connection.execute(statement)
                connection.execute("DELETE FROM meta WHERE key = 'views'")
                connection.execute("INSERT INTO meta VALUES ('views', ?)", [_VIEWS_HASH])
            if is_new:
                connection.execute("INSERT INTO meta VALUES ('format', ?)", [str(FORMAT)])
        return True

    def _check_format(self, stored: str | None) -> None:
        if stored == str(FORMAT):
            return
        if stored is not None and int(stored) > FORMAT:
            raise StoreError(
                f"{self.path} was written by a newer Rayscope "
                f"(format {stored}; this version reads {FORMAT}).",
                "Upgrade: pip install -U rayscope",
                "newer",
            )
        raise StoreError(
            f"{self.path} was written by an older Rayscope, in a format that this version does not read.",
            "Read it with the Rayscope that wrote it, or remove its folder.",
            "older",
            what="record",
            file=str(self.path),
        )

    @staticmethod
    @contextlib.contextmanager
    def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        connection.execute("BEGIN")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one thread. It sees one consistent state of the record.

        Writes that are not committed are rolled back.
        """
        with self._lock:
            cursor = self._connection.cursor()
            self._readers.append(cursor)
        work = current_work()
        try:
            with work.querying(cursor) if work is not None else contextlib.nullcontext():
                cursor.begin()
                yield cursor
        finally:
            with self._lock:
                self._readers.remove(cursor)
            cursor.close()

    def interrupt(self) -> None:
        """Interrupt all readers. Their queries raise ``duckdb.InterruptException``."""
        with self._lock:
            for cursor in self._readers:
                cursor.interrupt()

    @property
    def written(self) -> tuple[int, int]:
        """A value that changes with each write. Equal values mean equal content."""
        return self._opened, self.writes

    # Methods of the writer's thread, which are never called concurrently.

    def count_attempts(self) -> int:
        """Number of attempts in the record."""
        row = self._writer.execute("SELECT count(*) FROM attempts").fetchone()
        return int(row[0]) if row else 0

    def has_callers(self) -> bool:
        """Whether the tracer reported the caller of any task."""
        return bool(self._writer.execute("SELECT 1 FROM edge_rows WHERE kind = 'caller' LIMIT 1").fetchall())

    def load_awaited(self) -> set[str]:
        """Tasks whose callees have no path yet, or will get a different one."""
        found = self._writer.execute(
            f"SELECT {PARENT_ID} FROM attempts WHERE path_id IS NULL AND parent_hi IS NOT NULL "
            f"UNION SELECT {TASK_ID} FROM attempts WHERE path_id IS NULL AND named_parent IS NOT NULL"
        ).fetchall()
        return {task_id for (task_id,) in found}

    def has_cut_off(self, over: Collection[str]) -> bool:
        """Whether an attempt of this flush that has no end belongs to one of ``over``, the ended workers,
        nodes and jobs.
        """
        if not over:
            return False
        self._register("over", pa.table({"id": list(over)}))
        found = self._writer.execute(
            f"SELECT 1 FROM merged WHERE {inferred_ends.IS_OPEN} AND (worker_id IN (FROM over) "
            "OR node_id IN (FROM over) OR job_id IN (FROM over)) LIMIT 1"
        ).fetchall()
        return bool(found)

    def load_paths(self) -> list[tuple[int, int, str, int]]:
        """All call paths, as (path_id, parent_path_id, the function's full name, depth)."""
        found: list[tuple[int, int, str, int]] = self._writer.execute(
            "SELECT path_id, parent_path_id, coalesce(full_name, name), depth FROM paths"
        ).fetchall()
        return found

    def load_entities(self, kind: Kind) -> list[Entity]:
        """All entities of a kind."""
        found = self._writer.execute(f"SELECT id, doc FROM {kind}_rows").fetchall()
        return [rows.decode_entity(kind, entity_id, doc) for entity_id, doc in found]

    def load_drops(self) -> list[Drop]:
        """All known losses."""
        return [Drop(*row) for row in self._writer.execute("FROM drops").fetchall()]

    @contextlib.contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A transaction for one flush. Raises :class:`StoreError`."""
        try:
            with self._transaction(self._writer):
                yield self._writer
                self._writer.execute("DELETE FROM meta WHERE key = 'writes'")
                self._writer.execute("INSERT INTO meta VALUES ('writes', ?)", [str(self.writes + 1)])
        except duckdb.Error as error:
            raise explain(self.path, error) from error
        self.writes += 1

    def write(
        self,
        *,
        sets: Mapping[str, pa.Table] = MappingProxyType({}),
        entities: Iterable[Entity] = (),
        drops: Sequence[Drop] = (),
        paths: Sequence[tuple[int, int, str, int]] = (),
        infer_ends: tuple[int, int | None] | None = None,
        forget_ends: bool = False,
    ) -> None:
        """Write the changes that accompany a flush of attempts, inside :meth:`writing`.

        Args:
            sets: rows of ``span_rows``, ``edge_rows`` and ``annotation_rows``. Only new ones are inserted.
            entities: entities to replace.
            drops: losses to replace.
            paths: new call paths.
            infer_ends: the current time and the session's end (ns), or None as its end while it is alive. See
                :mod:`rayscope.storage.inferred_ends`.
            forget_ends: whether to undo inferred ends first.
        """
        for name, table in sets.items():
            self._write_set(name, table, _SET_TIMES[name])
        entities = list(entities)
        self._write_entities(entities)
        if infer_ends or any(entity.kind in ("node", "worker") for entity in entities):
            inferred_ends.end_workers(self._writer)
        if paths:
            self._writer.executemany(
                "INSERT INTO paths SELECT $1, $2, coalesce((SELECT name FROM function_names "
                "WHERE full_name = $3), $3), $4, $3",
                list(paths),
            )
        if drops:
            self._writer.execute("DELETE FROM drops")
            self._writer.executemany(
                "INSERT INTO drops VALUES (?, ?, ?, ?, ?, ?, ?)", [astuple(d) for d in drops]
            )
        if forget_ends:
            inferred_ends.forget(self._writer)
        if infer_ends:
            inferred_ends.infer(self._writer, *infer_ends)

    def _register(self, name: str, table: pa.Table) -> None:
        self._writer.register(name, table)

    def _write_set(self, name: str, table: pa.Table, time: str) -> None:
        times = pc.min_max(table.column(time)).as_py()
        self._register("fresh_rows", table)
        # Insert only new rows. Equal rows have equal times, so DuckDB reads only the row groups of this time
        # range and compares only rows with exactly these times. Otherwise a single call that began hours ago
        # would make it compare everything since.
        self._writer.execute(
            f"INSERT INTO {name} SELECT * FROM fresh_rows EXCEPT SELECT * FROM {name} "
            f"WHERE {time} BETWEEN ? AND ? AND {time} IN (SELECT {time} FROM fresh_rows)",
            [times["min"], times["max"]],
        )

    def _write_entities(self, entities: Iterable[Entity]) -> None:
        by_kind: dict[Kind, list[Entity]] = {}
        for entity in entities:
            by_kind.setdefault(entity.kind, []).append(entity)
        for kind, members in by_kind.items():
            self._register("fresh_entities", rows.entity_table(kind, members))
            self._writer.execute(f"DELETE FROM {kind}_rows t USING fresh_entities f WHERE t.id = f.id")
            self._writer.execute(f"INSERT INTO {kind}_rows SELECT * FROM fresh_entities")

    def put_meta(self, values: dict[str, Any]) -> None:
        """Store strings in the record (names of sources, Ray's version, ...)."""
        with self._transaction(self._writer):
            for key, value in values.items():
                self._writer.execute("DELETE FROM meta WHERE key = ?", [key])
                self._writer.execute("INSERT INTO meta VALUES (?, ?)", [key, str(value)])

    def checkpoint(self) -> None:
        """Move the log into the record's file."""
        with contextlib.suppress(duckdb.Error):
            self._writer.execute("CHECKPOINT")

    def close(self) -> None:
        """Checkpoint and close. Afterwards the file needs no log."""
        with self._lock, contextlib.suppress(duckdb.Error):
            self._writer.close()
            self._connection.close()


__all__ = ["ENTITY_COLUMNS", "SessionFile"]
