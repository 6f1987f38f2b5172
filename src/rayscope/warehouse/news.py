"""Reads session data that a warehouse has and this server lacks, in the form that the writer accepts."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from rayscope.model import Drop, Entity, Kind, RecordBatch, merge_entities
from rayscope.storage.about import About
from rayscope.storage.catalog import RECORD
from rayscope.storage.rows import PART_SCHEMA, ROWS, Tables, batch_tables
from rayscope.storage.schema import ANNOTATION_COLUMNS, EDGE_COLUMNS, SPAN_COLUMNS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter
from rayscope.storage.sql.merge import KEY, SCALAR_COLUMNS, TOGETHER
from rayscope.warehouse.claims import decode_claims
from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.rows_sql import OF_SET
from rayscope.warehouse.schema import UNKNOWN_NS
from rayscope.warehouse.servers import read_members, watermark_ns
from rayscope.warehouse.views_sql import members

_COLUMNS: Mapping[str, Sequence[tuple[str, str]]] = {
    "span_rows": SPAN_COLUMNS,
    "edge_rows": EDGE_COLUMNS,
    "annotation_rows": ANNOTATION_COLUMNS,
}
#: SQL clauses that select the rows of a session that servers other than a given one published after a given
#: time. The rows are not merged, because the record does that.
_NEWS = (
    "WHERE session = {session:String} AND told_ns > {since_ns:Int64} AND told_by != [{server:String}] "
    "SETTINGS optimize_move_to_prewhere = 1"
)
_PARTS = ", ".join(
    [
        *KEY,
        *(name for name, _ in SCALAR_COLUMNS),
        *(member for known, columns in TOGETHER.items() for member in members(known, columns)),
    ]
)
_QUERIES = {
    "attempts": f"SELECT {_PARTS} FROM raw_attempts {_NEWS}",
    **{
        name: f"SELECT {', '.join(column for column, _ in columns)} FROM {OF_SET[name]} {_NEWS}"
        for name, columns in _COLUMNS.items()
    },
}
_ENTITIES = f"SELECT kind, id, source, time_ns, state, said, observed FROM raw_entities {_NEWS}"
_DROPS = (
    "SELECT source, reason, account.count, account.observed_ns, event_type, "
    f"nullIf(account.first_ns, {UNKNOWN_NS}), nullIf(account.last_ns, {UNKNOWN_NS}) FROM raw_drops {_NEWS}"
)


#: Number of rows held in memory at which they are written to the new record.
_FLUSH_AT = 150_000


def make_record(warehouse: Warehouse, about: About, path: Path, work: Path, memory_limit: str) -> int:
    """Create the record of a session from the warehouse, using a folder in ``work``, and count its contents.

    Returns the time up to which everything published is included. Raises StoreError or OSError, including
    FileExistsError if the session has a record by now.
    """
    work.mkdir(parents=True, exist_ok=True)
    until_ns = watermark_ns(read_members(warehouse))
    with tempfile.TemporaryDirectory(dir=work) as folder:
        draft = Path(folder) / RECORD
        writer = SessionWriter(about.session, lambda: SessionFile(draft, memory_limit=memory_limit))
        for batch, tables in read_news(warehouse, about.session, 0, ""):
            writer.add(batch, 0.0, batch_tables(batch, tables))
            if writer.pending >= _FLUSH_AT:
                writer.flush(time.monotonic(), everything=True)
        if about.ended_ns is not None:
            writer.end(about.ended_ns, 0.0)
        while writer.is_due():
            writer.flush(time.monotonic(), everything=True)
        writer.count(about, 0.0, at_once=True)
        writer.open().checkpoint()
        writer.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(draft, path)  # does not replace a record that was created in the meantime
    return until_ns


def read_news(
    warehouse: Warehouse, session: str, since_ns: int, server: str
) -> Iterator[tuple[RecordBatch, Tables]]:
    """Batches of what servers other than ``server`` published about a session after ``since_ns``.

    Raises StoreError.
    """
    parameters = {"session": session, "since_ns": since_ns, "server": server}
    batch = RecordBatch(session)
    batch.entities = _entities(warehouse.rows(_ENTITIES, parameters))
    batch.drops = [Drop(*row) for row in warehouse.rows(_DROPS, parameters)]
    if batch.entities or batch.drops:
        yield batch, {}
    for name in ROWS:
        for table in warehouse.arrow(_QUERIES[name], parameters):
            yield RecordBatch(session), {name: [_as_record_has_it(name, table)]}


def _as_record_has_it(name: str, table: pa.Table) -> pa.Table:
    if name != "attempts":
        return table
    # Drop columns without values.
    fields = [field for field in PART_SCHEMA if table.column(field.name).null_count < table.num_rows]
    return table.select([field.name for field in fields]).cast(pa.schema(fields))


def _entities(rows: Sequence[Sequence[Any]]) -> list[Entity]:
    entities: dict[tuple[Kind, str], Entity] = {}
    for kind, identifier, source, time_ns, state, said, observed in rows:
        values = decode_claims(kind, said)
        part = Entity(kind, identifier)
        if source:
            values.pop("state", None)
            part.transitions[time_ns, state] = values
        else:
            part.fields = values
            if observed["known"]:
                part.observed_ns = observed["observed_ns"]
                part.observed = decode_claims(kind, msgspec.json.decode(observed["said"]))
        merge_entities(entities.setdefault((kind, identifier), Entity(kind, identifier)), part)
    return list(entities.values())
