"""Loads the records of a data directory into a warehouse.

Loading may be repeated, interrupted, or run on several machines at once, because rows that already exist are
merged.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import pyarrow as pa

from rayscope.archive.manifest import cluster_of, stamp_of
from rayscope.model import KINDS
from rayscope.storage.about import About, Label
from rayscope.storage.copying import copy_record
from rayscope.storage.errors import StoreError
from rayscope.storage.session_file import explain
from rayscope.warehouse import rows_sql
from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.schema import UNKNOWN_NS
from rayscope.warehouse.servers import Publisher

#: Number of rows per insert. Each insert creates a part, and ClickHouse works best with few large parts.
_ROWS = 200_000
#: Number of entities per insert.
_ENTITIES = 20_000
_MEMORY = "1GB"


class LoadResult(NamedTuple):
    """The result of a load. ``rows``: number of rows in all tables together."""

    rows: int
    attempts: int
    seconds: float


def load(
    warehouse: Warehouse,
    publisher: Publisher,
    record: Path,
    about: About,
    *,
    again: bool = False,
    complete_ns: int = 0,
    as_of_ns: int = 0,
    work: Path | None = None,
) -> LoadResult | None:
    """Load the record of a session, which may be in use. Raises StoreError.

    Args:
        warehouse: where to load it.
        publisher: inserts the rows.
        record: the record's file.
        about: what is known about the session.
        again: load the record even if the warehouse has it in its current state.
        complete_ns: the record contains everything that any server had published by then. 0 if unknown.
        as_of_ns: accounts of the session up to this time are replaced.
        work: folder for a copy of the record, None for a temporary folder.

    Returns:
        None if the warehouse already has the record in its current state.
    """
    stamp = _stamp(about)
    if not again and _has(warehouse, about.session, stamp):
        return None
    began = time.monotonic()
    counted = dict.fromkeys(rows_sql.FROM_RECORD, 0)
    cluster = cluster_name(about)
    with _opened(record, work) as (db, written_ns):
        parameters = {"session": about.session, "cluster": cluster, "as_of_ns": written_ns}
        for table, query in rows_sql.FROM_RECORD.items():
            for batch in _batches(db, query, parameters):
                publisher.insert(warehouse, table, batch)
                counted[table] += batch.num_rows
        counted["raw_entities"] = 0
        for batch in _entities(db, about.session, cluster, written_ns):
            publisher.insert(warehouse, "raw_entities", batch)
            counted["raw_entities"] += batch.num_rows
    row = session_row(about, about.last_ns, stamp=stamp, complete_ns=complete_ns, as_of_ns=as_of_ns)
    publisher.insert(warehouse, "raw_sessions", row)
    if about.label != Label():
        publisher.insert(warehouse, "raw_sessions", label_row(about.session, about.label))
    return LoadResult(sum(counted.values()) + 1, counted["raw_attempts"], time.monotonic() - began)


def cluster_name(about: About) -> str | None:
    """The cluster of a session, or None while it is unknown."""
    return cluster_of(about) if about.host else None


def _stamp(about: About) -> str:
    """A string that changes with the record, and with what this server knows about the session."""
    return f"{stamp_of(about)}-{about.attempts}-{about.events}"


def _has(warehouse: Warehouse, session: str, stamp: str) -> bool:
    rows = warehouse.rows("SELECT stamp FROM sessions WHERE session = {session:String}", {"session": session})
    return [tuple(row) for row in rows] == [(stamp,)]


@contextlib.contextmanager
def _opened(record: Path, work: Path | None) -> Iterator[tuple[duckdb.DuckDBPyConnection, int]]:
    """Open a copy of a record. Also returns when the record was last written (ns)."""
    with tempfile.TemporaryDirectory(dir=work, prefix="rayscope-warehouse-") as folder:
        copy = Path(folder) / record.name
        try:
            copy_record(record, copy)
        except OSError as error:  # includes TimeoutError
            raise StoreError(
                f"Could not copy {record}: {error.strerror or 'it is being written'}.",
                "Try again.",
                "warehouse",
                what="copy",
                path=str(record),
            ) from error
        try:
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": _MEMORY,
                "threads": 2,
                "temp_directory": f"{folder}/spill",
            }
            with duckdb.connect(str(copy), config=config) as db:  # writable, so that its log can be replayed
                last = db.execute("SELECT value::BIGINT FROM meta WHERE key = 'last_ns'").fetchall()
                yield db, int(last[0][0]) if last else 0
        except duckdb.Error as error:
            raise explain(record, error) from error


def _batches(db: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, Any]) -> Iterator[pa.Table]:
    used = {name: value for name, value in parameters.items() if f"${name}" in query}
    for batch in db.cursor().sql(query, params=used).to_arrow_reader(_ROWS):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


def _entities(
    db: duckdb.DuckDBPyConnection, session: str, cluster: str | None, as_of_ns: int
) -> Iterator[pa.Table]:
    for kind in KINDS:
        cursor = db.cursor().execute(rows_sql.of_entities(kind))
        while rows := cursor.fetchmany(_ENTITIES):
            yield rows_sql.entity_rows(session, cluster, rows_sql.read_entities(kind, rows), as_of_ns)


def label_row(session: str, label: Label) -> pa.Table:
    """A row of ``raw_sessions`` with only the operator's label of a session."""
    struct = pa.struct(
        [
            ("set_ns", pa.int64()),
            *((name, pa.string()) for name in ("name", "note")),
            ("tags", pa.list_(pa.string())),
        ]
    )
    labels = [{**msgspec.structs.asdict(label), "tags": list(label.tags)}]
    return pa.table({"session": pa.array([session], pa.string()), "label": pa.array(labels, struct)})


def session_row(
    about: About, last_ns: int, *, stamp: str = "", complete_ns: int = 0, as_of_ns: int = 0
) -> pa.Table:
    """A row of ``raw_sessions``.

    Args:
        about: what is known about the session.
        last_ns: when the publishing server last heard from the session.
        stamp: state of the session when it was loaded, '' if it was not loaded.
        complete_ns: see :func:`load`.
        as_of_ns: see :func:`load`.
    """
    account = {
        # The server that heard from the session last is the most reliable one, also about the session's end.
        "as_of_ns": max(last_ns, about.ended_ns or 0, as_of_ns),
        "loaded_ns": time.time_ns(),
        "ended_ns": UNKNOWN_NS if about.ended_ns is None else about.ended_ns,
        "stamp": stamp,
        "name": about.name or "",
        "script": about.script or "",
        "ray_version": about.ray_version or "",
        "tasks": about.tasks,
        "attempts": about.attempts,
        "failed": about.failed,
        "actors": about.actors,
        "nodes": about.nodes,
        "jobs": about.jobs,
        "dropped": about.dropped_total,
        "note": about.label.note,
        "tags": list(about.label.tags),
        "complete_ns": complete_ns,
        "about": msgspec.json.encode(msgspec.structs.replace(about, agents={})).decode(),
    }
    types = {str: pa.string(), int: pa.int64(), list: pa.list_(pa.string())}
    struct = pa.struct([(name, types[type(value)]) for name, value in account.items()])
    return pa.table(
        {
            "session": pa.array([about.session], pa.string()),
            "cluster": pa.array([cluster_name(about)], pa.string()),
            "first_ns": pa.array([about.first_ns or None], pa.int64()),
            "last_ns": pa.array([last_ns], pa.int64()),
            "account": pa.array([account], struct),
        }
    )
