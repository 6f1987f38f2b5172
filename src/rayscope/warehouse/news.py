"""What a warehouse has of a session and this server does not, as a server's writer takes it."""

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
#: Rows of a session that were told after a time, also by others than one server. Not merged: the record does.
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


#: Rows in memory at which a record that is made is written.
_FLUSH_AT = 150_000


def make_record(warehouse: Warehouse, about: About, path: Path, work: Path, memory_limit: str) -> int:
    """Make the record of a session of all that was told of it, by way of a folder in ``work``, and count it.

    Returns up to when all that was told is in it. Raises StoreError, and OSError: FileExistsError if there is
    a record by now.
    """
    work.mkdir(parents=True, exist_ok=True)
    until_ns = watermark_ns(read_members(warehouse))
    with tempfile.TemporaryDirectory(dir=work) as folder:
        made = Path(folder) / RECORD
        writer = SessionWriter(about.session, lambda: SessionFile(made, memory_limit=memory_limit))
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
        os.link(made, path)  # never in the place of one that has begun meanwhile
    return until_ns


def read_news(
    warehouse: Warehouse, session: str, since_ns: int, server: str
) -> Iterator[tuple[RecordBatch, Tables]]:
    """What was told of a session after ``since_ns`` by others than ``server``, some at a time.

    Raises StoreError.
    """
    asked = {"session": session, "since_ns": since_ns, "server": server}
    batch = RecordBatch(session)
    batch.entities = _entities(warehouse.rows(_ENTITIES, asked))
    batch.drops = [Drop(*row) for row in warehouse.rows(_DROPS, asked)]
    if batch.entities or batch.drops:
        yield batch, {}
    for name in ROWS:
        for table in warehouse.arrow(_QUERIES[name], asked):
            yield RecordBatch(session), {name: [_as_record_has_it(name, table)]}


def _as_record_has_it(name: str, table: pa.Table) -> pa.Table:
    if name != "attempts":
        return table
    # What nobody says need not be looked at again.
    told = [field for field in PART_SCHEMA if table.column(field.name).null_count < table.num_rows]
    return table.select([field.name for field in told]).cast(pa.schema(told))


def _entities(found: Sequence[Sequence[Any]]) -> list[Entity]:
    made: dict[tuple[Kind, str], Entity] = {}
    for kind, identifier, source, time_ns, state, said, observed in found:
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
        merge_entities(made.setdefault((kind, identifier), Entity(kind, identifier)), part)
    return list(made.values())
