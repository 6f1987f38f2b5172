"""One Ray session's record in one DuckDB file: opening it and writing to it.

The connection is locked down when the file is opened (no access to other files, no extensions, settings
frozen), so that nothing that reaches it, SQL of users included, can leave the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rayscope.model import Annotation, Attempt, Drop, Edge, Entity, Kind, Span
from rayscope.storage import inferred_ends, rows
from rayscope.storage.errors import StoreError
from rayscope.storage.interruption import current_work
from rayscope.storage.schema import ENTITY_COLUMNS, FORMAT, INSERT_ATTEMPTS, TABLES, VIEWS

#: A checkpoint moves the log into the file and briefly stalls writers; at DuckDB's default of 16 MB it
#: does so every second under load (see docs/explanation/decisions/0002).
CHECKPOINT_THRESHOLD = "128MB"
#: What DuckDB may take for each open session, unless told otherwise.
MEMORY_LIMIT = "320MB"
_VIEWS_HASH = hashlib.sha256("\n".join(VIEWS).encode()).hexdigest()[:16]
_JOIN = "t.task_hi = k.task_hi AND t.task_lo = k.task_lo AND t.attempt = k.attempt"


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
    )


def explain(path: Path, error: Exception) -> StoreError:
    """What an error of DuckDB means for the record at ``path``."""
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
    # Only what is surely no record any more: a damaged file is set aside.
    if any(words in said for words in _DAMAGED):
        return _corrupt(path, text)
    return StoreError(
        f"Could not use {path}: {text}",
        "Rayscope keeps retrying. If it keeps failing, check the folder's permissions and the server's log.",
        "unusable",
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
        #: How often the record was written to. It is kept in it, and tells what was made of its present
        #: content.
        self.writes = 0
        #: Rows of attempts that were written since the file was opened.
        self.rows_written = 0
        self._lock = threading.Lock()
        self._readers: list[duckdb.DuckDBPyConnection] = []
        for one in (path, path.with_name(path.name + ".wal")):
            # DuckDB would make the file that the link names, wherever that is.
            if one.is_dir() or (one.is_symlink() and not os.path.exists(one)):
                raise _corrupt(path, f"{one.name} is a folder, or a broken link.")
        temp = path.with_suffix(".tmp")
        try:
            self._connection = duckdb.connect(
                str(path),
                read_only=read_only,
                config={
                    "memory_limit": memory_limit,
                    "threads": 2,
                    "checkpoint_threshold": CHECKPOINT_THRESHOLD,
                    "temp_directory": str(temp),
                    "max_temp_directory_size": "2GB",
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "allow_community_extensions": "false",
                    "python_enable_replacements": "false",
                    "preserve_insertion_order": "false",
                },
            )
        except duckdb.Error as error:
            raise explain(path, error) from error
        try:
            self._prepare()
            # Last, since it also freezes itself.
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            self._connection.close()
            raise explain(path, error) from error
        except StoreError:
            self._connection.close()
            raise
        self._writer = self._connection.cursor()

    def _prepare(self) -> None:
        connection = self._connection
        known = connection.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'meta'"
        ).fetchone()
        is_new = not (known and known[0])
        if not is_new:
            meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            self._check_format(meta.get("format"))
            self.writes = int(meta.get("writes", 0))
        if self.read_only:
            return
        with self._transaction(connection):
            for statement in TABLES:
                connection.execute(statement)
            # Only when they differ: opening a record to read it must not change it.
            row = connection.execute("SELECT value FROM meta WHERE key = 'views'").fetchone()
            if row is None or row[0] != _VIEWS_HASH:
                for statement in VIEWS:
                    connection.execute(statement)
                connection.execute("DELETE FROM meta WHERE key = 'views'")
                connection.execute("INSERT INTO meta VALUES ('views', ?)", [_VIEWS_HASH])
            if is_new:
                connection.execute("INSERT INTO meta VALUES ('format', ?)", [str(FORMAT)])

    def _check_format(self, found: str | None) -> None:
        if found == str(FORMAT):
            return
        if found is not None and int(found) > FORMAT:
            raise StoreError(
                f"{self.path} was written by a newer Rayscope (format {found}; this version reads {FORMAT}).",
                "Upgrade: pip install -U rayscope",
                "newer",
            )
        raise StoreError(
            f"{self.path} was written by an older Rayscope, in a format that this version does not read.",
            "Read it with the Rayscope that wrote it, or remove its folder.",
            "older",
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
        """A cursor of its own, for one query of one thread; sees the last committed state."""
        with self._lock:
            cursor = self._connection.cursor()
            self._readers.append(cursor)
        work = current_work()
        try:
            with work.querying(cursor) if work is not None else contextlib.nullcontext():
                yield cursor
        finally:
            with self._lock:
                self._readers.remove(cursor)
            cursor.close()

    def interrupt(self) -> None:
        """End what all readers are at: they raise ``duckdb.InterruptException``."""
        with self._lock:
            for cursor in self._readers:
                cursor.interrupt()

    # What the writer thread does. None of it is called by two threads at once.

    @property
    def written(self) -> tuple[int, int]:
        """Another value after each write; the same one means the same content."""
        return self._opened, self.writes

    def count_attempts(self) -> int:
        """How many attempts the record has."""
        row = self._writer.execute("SELECT count(*) FROM attempts").fetchone()
        return int(row[0]) if row else 0

    def load_attempts(self, keys: Iterable[rows.TaskKey]) -> list[tuple[Attempt, int | None]]:
        """The stored attempts among ``keys``, with their call path ids."""
        return self._matching(rows.key_table(keys), _JOIN)

    def load_task_attempts(self, task_ids: Iterable[str]) -> list[tuple[Attempt, int | None]]:
        """All stored attempts of some tasks."""
        keys = rows.key_table((task_id, 0) for task_id in task_ids)
        return self._matching(keys, "t.task_hi = k.task_hi AND t.task_lo = k.task_lo")

    def load_children(self, task_ids: Iterable[str]) -> list[tuple[Attempt, int | None]]:
        """The stored attempts without a call path whose parent is one of ``task_ids``."""
        keys = rows.key_table((task_id, 0) for task_id in task_ids)
        return self._matching(
            keys, "t.parent_hi = k.task_hi AND t.parent_lo = k.task_lo AND t.path_id IS NULL"
        )

    def load_called(self, task_ids: Iterable[str]) -> list[tuple[Attempt, int | None]]:
        """The stored attempts that ``task_ids`` submitted."""
        keys = rows.key_table((task_id, 0) for task_id in task_ids)
        return self._matching(keys, "t.parent_hi = k.task_hi AND t.parent_lo = k.task_lo")

    def has_callers(self) -> bool:
        """Whether the tracer told of any task who called it."""
        return bool(self._writer.execute("SELECT 1 FROM edge_rows WHERE kind = 'caller' LIMIT 1").fetchall())

    def load_callers(self, task_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Some of ``task_ids``, each with its caller: those of which the tracer told that."""
        keys = rows.key_table((task_id, 0) for task_id in task_ids)
        if not keys.num_rows:
            return []
        self._writer.register("wanted", keys)
        try:
            found = self._writer.execute(
                "SELECT task_hi, task_lo, object_hi, object_lo FROM edge_rows "
                "SEMI JOIN wanted USING (task_hi, task_lo) WHERE kind = 'caller'"
            ).fetchall()
        finally:
            self._writer.unregister("wanted")
        return [
            (rows.join_id(high, low) or "", rows.join_id(caller_high, caller_low) or "")
            for high, low, caller_high, caller_low in found
        ]

    def _matching(self, keys: pa.Table, condition: str) -> list[tuple[Attempt, int | None]]:
        if not keys.num_rows:
            return []
        self._writer.register("wanted", keys)
        try:
            table = self._writer.sql(
                f"SELECT t.* FROM attempts t SEMI JOIN wanted k ON {condition}"
            ).to_arrow_table()
        finally:
            self._writer.unregister("wanted")
        return rows.attempts_from_table(table)

    def load_unresolved_parents(self) -> list[str]:
        """Task ids of parents whose children have no call path yet."""
        found = self._writer.execute(
            "SELECT DISTINCT parent_hi, parent_lo FROM attempts "
            "WHERE path_id IS NULL AND parent_hi IS NOT NULL"
        ).fetchall()
        return [rows.join_id(high, low) or "" for high, low in found]

    def load_undefined_retries(self) -> list[str]:
        """Task ids of retries and of actors' restarts without a definition."""
        found = self._writer.execute(
            "SELECT DISTINCT task_hi, task_lo FROM attempts WHERE attempt > 0 AND name IS NULL"
        ).fetchall()
        return [rows.join_id(high, low) or "" for high, low in found]

    def load_moved(self) -> list[str]:
        """The tasks whose callers the tracer told and whose call path is not known yet."""
        found = self._writer.execute(
            "SELECT DISTINCT task_hi, task_lo FROM attempts "
            "WHERE path_id IS NULL AND named_parent IS NOT NULL"
        ).fetchall()
        return [rows.join_id(high, low) or "" for high, low in found]

    def load_paths(self) -> list[tuple[int, int, str, int]]:
        """(path_id, parent_path_id, name, depth) of all call paths."""
        found: list[tuple[int, int, str, int]] = self._writer.execute("FROM paths").fetchall()
        return found

    def load_entities(self, kind: Kind) -> list[Entity]:
        """All entities of a kind."""
        found = self._writer.execute(f"SELECT id, doc FROM {kind}_rows").fetchall()
        return [rows.decode_entity(kind, entity_id, doc) for entity_id, doc in found]

    def load_drops(self) -> list[Drop]:
        """All known losses."""
        return [Drop(*row) for row in self._writer.execute("FROM drops").fetchall()]

    def write(
        self,
        *,
        attempts: Sequence[Attempt] = (),
        path_ids: Sequence[int | None] = (),
        replaced: Sequence[rows.TaskKey] = (),
        spans: Iterable[Span] = (),
        edges: Iterable[Edge] = (),
        annotations: Iterable[Annotation] = (),
        entities: Iterable[Entity] = (),
        drops: Sequence[Drop] = (),
        paths: Sequence[tuple[int, int, str, int]] = (),
        infer_ends: tuple[int, int | None] | None = None,
        forget_ends: bool = False,
    ) -> None:
        """Write one flush in one transaction.

        ``replaced`` are the keys among ``attempts`` that the file already has: their rows are replaced.
        ``infer_ends``: the time and, if it has ended, the session's end, see
        :mod:`rayscope.storage.inferred_ends`; ``forget_ends``: begin by forgetting what was inferred.
        Raises :class:`StoreError`; then nothing of it is written.
        """
        try:
            with self._transaction(self._writer):
                if replaced:
                    self._register("gone", rows.key_table(replaced))
                    self._writer.execute(f"DELETE FROM attempts t USING gone k WHERE {_JOIN}")
                if attempts:
                    self._register("fresh", rows.attempt_table(attempts, path_ids))
                    self._writer.execute(INSERT_ATTEMPTS)
                self._write_set("span_rows", rows.span_table(spans), "begin_ns")
                self._write_set("edge_rows", rows.edge_table(edges), "begin_ns")
                self._write_set("annotation_rows", rows.annotation_table(annotations), "time_ns")
                self._write_entities(entities)
                if paths:
                    self._writer.executemany("INSERT INTO paths VALUES (?, ?, ?, ?)", list(paths))
                if drops:
                    self._writer.execute("DELETE FROM drops")
                    self._writer.executemany(
                        "INSERT INTO drops VALUES (?, ?, ?, ?, ?, ?, ?)", [astuple(d) for d in drops]
                    )
                if forget_ends:
                    inferred_ends.forget(self._writer)
                if infer_ends:
                    inferred_ends.infer(self._writer, *infer_ends)
                self._writer.execute("DELETE FROM meta WHERE key = 'writes'")
                self._writer.execute("INSERT INTO meta VALUES ('writes', ?)", [str(self.writes + 1)])
        except duckdb.Error as error:
            raise explain(self.path, error) from error
        self.writes += 1
        self.rows_written += len(attempts)

    def _register(self, name: str, table: pa.Table) -> None:
        self._writer.register(name, table)

    def _write_set(self, name: str, table: pa.Table, time: str) -> None:
        if not table.num_rows:
            return
        times = table.column(time).to_pylist()
        self._register("fresh_rows", table)
        # A set: only what is not there yet. Equal rows have the same time, so only the row groups of this
        # time range are looked at, and of them only the rows of these very times are compared: one call that
        # began hours ago must not bring in all that came since.
        self._writer.execute(
            f"INSERT INTO {name} SELECT * FROM fresh_rows EXCEPT SELECT * FROM {name} "
            f"WHERE {time} BETWEEN ? AND ? AND {time} IN (SELECT {time} FROM fresh_rows)",
            [min(times), max(times)],
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
        """Keep some texts beside the record (names of sources, Ray's version, ...)."""
        with self._transaction(self._writer):
            for key, value in values.items():
                self._writer.execute("DELETE FROM meta WHERE key = ?", [key])
                self._writer.execute("INSERT INTO meta VALUES (?, ?)", [key, str(value)])

    def checkpoint(self) -> None:
        """Move the log into the file."""
        with contextlib.suppress(duckdb.Error):
            self._writer.execute("CHECKPOINT")

    def close(self) -> None:
        """Checkpoint and close; the file then stands alone."""
        with self._lock, contextlib.suppress(duckdb.Error):
            self._writer.close()
            self._connection.close()


__all__ = ["ENTITY_COLUMNS", "SessionFile"]
