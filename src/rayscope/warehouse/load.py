"""Loading the records of a data directory into a warehouse.

A load may be repeated, cut off, and run by several machines at once: what is told twice is merged.
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
from rayscope.warehouse.servers import Teller

#: Rows of an insert: each insert makes a part of its table, and ClickHouse likes few large ones.
_ROWS = 200_000
_ENTITIES = 20_000
_MEMORY = "1GB"


class Loaded(NamedTuple):
    """What a load did. ``rows``: of all tables."""

    rows: int
    attempts: int
    seconds: float


def load(
    warehouse: Warehouse,
    teller: Teller,
    record: Path,
    about: About,
    *,
    again: bool = False,
    complete_ns: int = 0,
    as_of_ns: int = 0,
    work: Path | None = None,
) -> Loaded | None:
    """Load the record of a session, which may be in use. None: the warehouse has it as it is here.

    ``again``: load it even then. ``complete_ns``: the record has all that any server had told by then; 0: it
    may not. ``as_of_ns``: accounts of the session from before that are replaced. ``work``: where the record
    is copied to (None: among the system's temporary files). Raises StoreError.
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
                teller.insert(warehouse, table, batch)
                counted[table] += batch.num_rows
        counted["raw_entities"] = 0
        for batch in _entities(db, about.session, cluster, written_ns):
            teller.insert(warehouse, "raw_entities", batch)
            counted["raw_entities"] += batch.num_rows
    row = session_row(about, about.last_ns, stamp=stamp, complete_ns=complete_ns, as_of_ns=as_of_ns)
    teller.insert(warehouse, "raw_sessions", row)
    if about.label != Label():
        teller.insert(warehouse, "raw_sessions", label_row(about.session, about.label))
    return Loaded(sum(counted.values()) + 1, counted["raw_attempts"], time.monotonic() - began)


def cluster_name(about: About) -> str | None:
    """The cluster of a session, None as long as it is not known."""
    return cluster_of(about) if about.host else None


def _stamp(about: About) -> str:
    """Another text after anything came to a session, or another server knows another part of it."""
    return f"{stamp_of(about)}-{about.attempts}-{about.events}"


def _has(warehouse: Warehouse, session: str, stamp: str) -> bool:
    found = warehouse.rows(
        "SELECT stamp FROM sessions WHERE session = {session:String}", {"session": session}
    )
    return [tuple(row) for row in found] == [(stamp,)]


@contextlib.contextmanager
def _opened(record: Path, work: Path | None) -> Iterator[tuple[duckdb.DuckDBPyConnection, int]]:
    """A copy of a record, read-only, and when it was last written to (ns)."""
    with tempfile.TemporaryDirectory(dir=work, prefix="rayscope-warehouse-") as folder:
        copy = Path(folder) / record.name
        try:
            copy_record(record, copy)
        except OSError as error:  # TimeoutError is one
            raise StoreError(
                f"Could not copy {record}: {error.strerror or 'it is being written'}.",
                "Try again.",
                "warehouse",
            ) from error
        try:
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": _MEMORY,
                "threads": 2,
                "temp_directory": f"{folder}/spill",
            }
            with duckdb.connect(str(copy), config=config) as db:  # not read-only: its log is replayed
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
        while found := cursor.fetchmany(_ENTITIES):
            yield rows_sql.entity_rows(session, cluster, rows_sql.read_entities(kind, found), as_of_ns)


def label_row(session: str, label: Label) -> pa.Table:
    """A row of ``raw_sessions`` with what the operator says of a session, and nothing else."""
    struct = pa.struct(
        [
            ("set_ns", pa.int64()),
            *((name, pa.string()) for name in ("name", "note")),
            ("tags", pa.list_(pa.string())),
        ]
    )
    said = [{**msgspec.structs.asdict(label), "tags": list(label.tags)}]
    return pa.table({"session": pa.array([session], pa.string()), "label": pa.array(said, struct)})


def session_row(
    about: About, last_ns: int, *, stamp: str = "", complete_ns: int = 0, as_of_ns: int = 0
) -> pa.Table:
    """The row of ``raw_sessions``. ``last_ns``: when whoever tells it heard of the session last; ``stamp``:
    of the state of the session that was loaded, '' for none; ``as_of_ns``: see :func:`load`.
    """
    account = {
        # Whoever heard of it last knows it best, also that it has ended.
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
