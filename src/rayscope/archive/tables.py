"""Converts the files of a session to Parquet tables and back.

A file's tables are sealed unchanged, so that a restored file gives the same results.
docs/reference/archive.md describes the tables for readers of the archive.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rayscope.metrics.tsdb import file as metrics_file
from rayscope.storage.catalog import RECORD
from rayscope.storage.copying import copy_record
from rayscope.storage.errors import StoreError
from rayscope.storage.log_archive import FILE_NAME as LOGS
from rayscope.storage.log_archive import LogStore
from rayscope.storage.schema import ADDED_COLUMNS, TABLE_NAMES
from rayscope.storage.session_file import SessionFile, explain

#: Number of rows per row group, which is the smallest unit that readers of a table can read.
_ROW_GROUP = 100_000
_MEMORY = "1GB"
#: Maximum size of a row group in bytes. It is limited because a row group is decoded as a whole. Rayscope
#: writes no larger ones.
_MAX_ROW_GROUP_BYTES = 1 << 30
#: Maximum number of rows of a row group. Rayscope writes about 100,000.
_MAX_ROW_GROUP_ROWS = 4 << 20
#: Maximum size in bytes of a Parquet file's footer, which describes its row groups and columns.
_MAX_FOOTER_BYTES = 64 << 20
#: Order of the rows of each table, so that readers need few row groups, and equal rows result in equal files.
_ORDER = {
    "attempts": "created_at_ns, task_hi, task_lo, attempt",
    "span_rows": "begin_ns, task_hi, task_lo, attempt, name, end_ns",
    "edge_rows": "begin_ns, task_hi, task_lo, attempt, kind, object_hi, object_index",
    "annotation_rows": "time_ns, task_hi, task_lo, attempt, kind, name",
}
#: Maximum number of bytes of logs held in memory at once.
_LOG_BATCH = 16 << 20
_LOG_FILES = pa.schema(
    [
        ("node_id", pa.string()),
        ("name", pa.string()),
        ("is_user", pa.bool_()),
        ("seen", pa.int64()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
    ]
)
_LOG_STRETCHES = pa.schema(
    [
        ("node_id", pa.string()),
        ("name", pa.string()),
        ("begin_byte", pa.int64()),
        ("end_byte", pa.int64()),
        ("time_ns", pa.int64()),
        ("data", pa.binary()),
    ]
)


class Table(NamedTuple):
    """A table as a local Parquet file."""

    name: str
    rows: int
    path: Path


Tables = Mapping[str, Path]


def check_table(path: Path, rows: int) -> int:
    """Return the size of a table before compression in bytes, read from its footer.

    Raises StoreError if the number of rows is not ``rows``, or a row group is larger than any that Rayscope
    writes.
    """
    try:
        with path.open("rb") as file:
            file.seek(-8, 2)
            footer_bytes = int.from_bytes(file.read(4), "little")
        if footer_bytes > _MAX_FOOTER_BYTES:
            raise _unusable(path, "its description is too large")
        about = pq.read_metadata(path)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise _unusable(path, str(error)[:200]) from error
    if about.num_rows != rows or sum(group.num_rows for group in groups) != rows:
        raise _unusable(path, f"it has {about.num_rows} rows, its manifest says {rows}")
    sizes = [_unpacked_bytes(group) for group in groups]
    if max(sizes, default=0) > _MAX_ROW_GROUP_BYTES:
        raise _unusable(path, f"a row group takes {max(sizes) >> 20} MiB unpacked")
    if any(group.num_rows > _MAX_ROW_GROUP_ROWS for group in groups):
        raise _unusable(path, f"a row group has more than {_MAX_ROW_GROUP_ROWS} rows")
    return sum(sizes)


def _unpacked_bytes(group: pq.RowGroupMetaData) -> int:
    columns = (group.column(number) for number in range(group.num_columns))
    return int(max(group.total_byte_size, sum(column.total_uncompressed_size for column in columns)))


def _unusable(path: Path, why: str) -> StoreError:
    return StoreError(
        f"The archived table {path.stem} cannot be used: {why}.",
        "Seal the session again where it is still on record: rayscope archive push.",
        "archive",
        what="table",
        table=path.stem,
        reason=why,
    )


class Part(NamedTuple):
    """Converts one of a session's files to tables and back.

    ``seal(file, folder)`` yields the tables with rows, each as a file in ``folder`` that may be deleted
    before the next one. ``restore(tables, file)`` creates the file. Tables that are missing from ``tables``
    get no rows.
    """

    file: str
    seal: Callable[[Path, Path], Iterator[Table]]
    restore: Callable[[Tables, Path], None]


def _text(path: Path) -> str:
    """Return a path as an SQL literal."""
    return "'" + str(path).replace("'", "''") + "'"


@contextlib.contextmanager
def _copied(source: Path, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a copy of a DuckDB file that other processes may have open and write to."""
    copy = folder / source.name
    try:
        copy_record(source, copy)
    except OSError as error:  # includes TimeoutError
        raise StoreError(
            f"Could not copy {source}: {error}", "Try again.", "archive", what="copy", reason=str(error)
        ) from error
    try:
        with duckdb.connect(
            str(copy), config={"memory_limit": _MEMORY, "threads": 2, "temp_directory": str(folder / "spill")}
        ) as db:
            yield db
    except duckdb.Error as error:
        raise explain(source, error) from error
    finally:
        for name in (copy.name, f"{copy.name}.wal"):
            (folder / name).unlink(missing_ok=True)


def _write(db: duckdb.DuckDBPyConnection, name: str, query: str, folder: Path) -> Table | None:
    path = folder / f"{name}.parquet"
    order = f" ORDER BY {_ORDER.get(name, 'ALL')}"
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
    counted = db.execute(f"COPY ({query}{order}) TO {_text(path)} ({options})").fetchone()
    rows = int(counted[0]) if counted else 0
    return Table(name, rows, path) if rows else None


def _seal_record(file: Path, folder: Path) -> Iterator[Table]:
    with _copied(file, folder) as db:
        for name in TABLE_NAMES:
            if table := _write(db, name, f"FROM {name}", folder):
                yield table


def _restore_record(tables: Tables, file: Path) -> None:
    SessionFile(file).close()  # creates the tables and views of this version
    with _filling(file) as db:
        for name in TABLE_NAMES:
            if name in tables:
                _check_columns(db, tables[name], _types(db, name), ADDED_COLUMNS.get(name, ()))
                db.execute(f"TRUNCATE {name}")
                db.execute(f"INSERT INTO {name} BY NAME {_rows_of(tables[name])}")


def _seal_metrics(file: Path, folder: Path) -> Iterator[Table]:
    with _copied(file, folder) as db:
        for name, query in metrics_file.sealed_tables(db).items():
            if table := _write(db, name, query, folder):
                yield table


def _restore_metrics(tables: Tables, file: Path) -> None:
    metrics_file.MetricsFile(file).close()
    with _filling(file) as db:
        for name, columns in metrics_file.sealed_columns().items():
            if name in tables:
                _check_columns(db, tables[name], columns, metrics_file.ADDED_COLUMNS)
        metrics_file.fill(db, {name: _rows_of(path) for name, path in tables.items()})


@contextlib.contextmanager
def _filling(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Fill a new DuckDB file with whole tables in one transaction."""
    try:
        with duckdb.connect(
            str(file),
            config={"memory_limit": _MEMORY, "threads": 2, "preserve_insertion_order": "false"},
        ) as db:
            db.execute("SET checkpoint_threshold = '1TB'")
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
            db.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise explain(file, error) from error


def _types(db: duckdb.DuckDBPyConnection, rows: str) -> dict[str, str]:
    """Return the type of each column of a table or query."""
    return {name: kind for name, kind, *_ in db.execute(f"DESCRIBE {rows}").fetchall()}


def _check_columns(
    db: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str], added: Collection[str]
) -> None:
    """Raise StoreError unless a table has these columns, without some of ``added`` if it is old."""
    found = _types(db, _rows_of(path))
    for name, kind in found.items():
        if columns.get(name) != kind:
            raise _unusable(path, f"its column {name[:80]!r} is not one of this version, or no {kind[:80]}")
    if missing := [name for name in columns if name not in found and name not in added]:
        raise _unusable(path, f"it has no column {missing[0]!r}")


def _rows_of(path: Path) -> str:
    return f"FROM read_parquet({_text(path)}, hive_partitioning = false)"


def _seal_logs(file: Path, folder: Path) -> Iterator[Table]:
    store = LogStore(file)
    try:
        files = store.rows()
        if not files:
            return
        path = folder / "log_files.parquet"
        columns = [list(column) for column in zip(*files, strict=True)]
        pq.write_table(pa.table(columns, schema=_LOG_FILES), path, compression="zstd")
        yield Table("log_files", len(files), path)
        path = folder / "log_stretches.parquet"
        rows = 0
        with pq.ParquetWriter(path, _LOG_STRETCHES, compression="zstd", use_dictionary=False) as writer:
            for batch in _batches(store):
                writer.write_batch(batch)
                rows += batch.num_rows
        if rows:
            yield Table("log_stretches", rows, path)
    finally:
        store.close()


def _batches(store: LogStore) -> Iterator[pa.RecordBatch]:
    held: list[tuple[str, str, int, int, int, bytes]] = []
    size = 0
    for stretch in store.stretches():
        held.append(stretch)
        size += len(stretch[-1])
        if size >= _LOG_BATCH:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(rows: list[tuple[str, str, int, int, int, bytes]]) -> pa.RecordBatch:
    return pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=_LOG_STRETCHES)


def _restore_logs(tables: Tables, file: Path) -> None:
    store = LogStore(file)
    try:
        if "log_files" in tables:
            files = pq.read_table(tables["log_files"])
            if not files.schema.equals(_LOG_FILES):
                raise _unusable(tables["log_files"], "it has other columns")
            store.fill_files(zip(*(column.to_pylist() for column in files.columns), strict=True))
        if "log_stretches" in tables:
            with pq.ParquetFile(tables["log_stretches"]) as stretches:
                if not stretches.schema_arrow.equals(_LOG_STRETCHES):
                    raise _unusable(tables["log_stretches"], "it has other columns")
                for batch in stretches.iter_batches(batch_size=256):
                    rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
                    if any(end - begin != len(data) for _, _, begin, end, _, data in rows):
                        raise _unusable(tables["log_stretches"], "a part has another size than it says")
                    store.fill(rows)
    except (pa.ArrowException, sqlite3.Error) as error:
        raise StoreError(
            f"The archived logs cannot be read: {str(error)[:200]}",
            "Check them: rayscope archive verify.",
            what="archived_logs",
            reason=str(error)[:200],
        ) from error
    finally:
        store.close()


PARTS = {
    "record": Part(RECORD, _seal_record, _restore_record),
    "metrics": Part(metrics_file.FILE_NAME, _seal_metrics, _restore_metrics),
    "logs": Part(LOGS, _seal_logs, _restore_logs),
}
#: Part -> the names of its tables.
TABLES_OF_PARTS: Mapping[str, Collection[str]] = {
    "record": TABLE_NAMES,
    "metrics": tuple(metrics_file.sealed_columns()),
    "logs": ("log_files", "log_stretches"),
}
#: The small files of a session, which are sealed unchanged. The content of about.json is in the manifest.
SMALL_FILES = ("agents.json", "objects.msgpack", "alerts.json")
