"""Converts a record to rows for the tables of a warehouse, using DuckDB's SQL and Arrow tables.

Parameters of all queries: ``$session``, ``$cluster`` (NULL if unknown). Queries for accounts also have
``$as_of_ns``, the time of the record's last change: the newest account takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from rayscope.model import Entity, Kind
from rayscope.model.entity import order_observed
from rayscope.storage import rows
from rayscope.storage.attempts import AS_PARTS
from rayscope.storage.schema import ANNOTATION_COLUMNS, EDGE_COLUMNS, ENTITY_COLUMNS, SPAN_COLUMNS
from rayscope.storage.sql.execution import CREATED_ACTOR, END, creation_name
from rayscope.storage.sql.merge import FIRST, KEY, PART_COLUMNS, SCALAR_COLUMNS, TOGETHER
from rayscope.warehouse.claims import encode_claims
from rayscope.warehouse.schema import UNKNOWN_NS, group_name

_WHOSE = "$session::VARCHAR AS session, $cluster::VARCHAR AS cluster"
_NO_NAME = "NULL::VARCHAR AS creation_name"
_NOTHING_INFERRED = (
    f"struct_pack(as_of_ns := 0::BIGINT, known_by := '', state := '', end_ns := {UNKNOWN_NS}::BIGINT, "
    f"failed_ns := {UNKNOWN_NS}::BIGINT) AS inferred"
)
_NO_PATH = f"struct_pack(as_of_ns := {UNKNOWN_NS}::BIGINT, path_id := 0::BIGINT) AS path"


def _group(known: str, columns: Sequence[str]) -> str:
    """SQL for a group of :data:`rayscope.storage.sql.merge.TOGETHER` as a tuple of the warehouse."""
    types = dict(PART_COLUMNS)
    members = [
        f"unknown := ({known} IS NULL)::UTINYINT",
        f"late := ({FIRST.get(known, 'false')})::UTINYINT",
    ]
    for name in columns:
        nothing = "''" if types[name] == "VARCHAR" else "0::BIGINT"
        members += [f"{name}_unknown := ({name} IS NULL)::UTINYINT", f"{name} := coalesce({name}, {nothing})"]
    return f"struct_pack({', '.join(members)}) AS {group_name(known)}"


_PARTS = ", ".join(
    [
        *KEY,
        *(name for name, _ in SCALAR_COLUMNS),
        *(_group(known, columns) for known, columns in TOGETHER.items()),
    ]
)


def of_parts(parts: str) -> str:
    """Query for the rows of ``raw_attempts`` from a table of parts, which may lack columns without values."""
    nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in PART_COLUMNS)
    return (
        f"SELECT {_WHOSE}, {_PARTS}, {_NO_NAME}, {_NOTHING_INFERRED}, {_NO_PATH} "
        f"FROM (SELECT {nothing} WHERE false UNION ALL BY NAME FROM {parts})"
    )


_MADE_BY_RECORD = f"""
    CASE WHEN {CREATED_ACTOR} IS NOT NULL THEN {creation_name("attempts.actor_id")} END AS creation_name,
    struct_pack(as_of_ns := $as_of_ns::BIGINT, known_by := coalesce(end_known_by, ''),
        state := CASE WHEN end_known_by IS NULL THEN '' ELSE coalesce(state, '') END,
        end_ns := CASE WHEN end_known_by IS NULL THEN {UNKNOWN_NS} ELSE coalesce({END}, {UNKNOWN_NS}) END,
        failed_ns := coalesce(failed_ns, {UNKNOWN_NS})) AS inferred,
    struct_pack(as_of_ns := CASE WHEN path_id IS NULL THEN {UNKNOWN_NS} ELSE $as_of_ns END,
        path_id := coalesce(path_id, 0)) AS path"""
#: Query for the rows of ``raw_attempts`` from the attempts of a record.
ATTEMPTS = (
    f"SELECT {_WHOSE}, {_PARTS}, creation_name, inferred, path "
    f"FROM (SELECT {AS_PARTS}, {_MADE_BY_RECORD} FROM attempts)"
)


def _of_set(table: str, columns: Sequence[tuple[str, str]]) -> str:
    return f"SELECT {_WHOSE}, {', '.join(name for name, _ in columns)} FROM {table}"


#: Table of a record that is a set of rows -> the warehouse's table.
OF_SET: Mapping[str, str] = {
    "span_rows": "raw_spans",
    "edge_rows": "raw_edges",
    "annotation_rows": "raw_annotations",
}
#: Table of the warehouse -> query for its rows. Rows of missing tables are created in Python.
FROM_RECORD: Mapping[str, str] = {
    "raw_attempts": ATTEMPTS,
    "raw_spans": _of_set("span_rows", SPAN_COLUMNS),
    "raw_edges": _of_set("edge_rows", EDGE_COLUMNS),
    "raw_annotations": _of_set("annotation_rows", ANNOTATION_COLUMNS),
    "raw_paths": f"SELECT {_WHOSE}, path_id, parent_path_id, name, depth FROM paths",
    "raw_drops": f"""SELECT {_WHOSE}, coalesce(source, '') AS source, coalesce(reason, '') AS reason,
    coalesce(event_type, '') AS event_type, struct_pack(count := coalesce(count, 0),
        observed_ns := coalesce(observed_ns, 0), first_ns := coalesce(first_ns, {UNKNOWN_NS}),
        last_ns := coalesce(last_ns, {UNKNOWN_NS})) AS account
FROM drops""",
}


class InferredEnd(NamedTuple):
    """An entity's end as inferred by a record: how it is known, the state, and the time if known."""

    known_by: str
    state: str
    end_ns: int | None


_OBSERVED = pa.struct(
    [
        ("known", pa.uint8()),
        ("is_final", pa.uint8()),
        ("has_exit", pa.uint8()),  # how much is known about the end, 0 to 3
        ("time_ns", pa.int64()),
        ("state", pa.string()),
        ("observed_ns", pa.int64()),
        ("canonical", pa.string()),
        ("said", pa.string()),
    ]
)
_INFERRED = pa.struct(
    [("as_of_ns", pa.int64()), ("known_by", pa.string()), ("state", pa.string()), ("end_ns", pa.int64())]
)
_ENTITY_SCHEMA = pa.schema(
    [
        ("session", pa.string()),
        ("cluster", pa.string()),
        ("kind", pa.string()),
        ("id", pa.string()),
        ("source", pa.uint8()),
        ("time_ns", pa.int64()),
        ("state", pa.string()),
        ("said", pa.map_(pa.string(), pa.string())),
        ("observed", _OBSERVED),
        ("inferred", _INFERRED),
    ]
)
_NOT_OBSERVED = (0, 0, 0, 0, "", 0, "", "")


def entity_rows(
    session: str, cluster: str | None, entities: Iterable[tuple[Entity, InferredEnd | None]], as_of_ns: int
) -> pa.Table:
    """Rows of ``raw_entities``: one for each entity, and one for each of its transitions."""
    nothing = (0, "", "", UNKNOWN_NS)
    members: list[tuple[Any, ...]] = []
    for entity, ended in entities:
        whose = (session, cluster, entity.kind, entity.id)
        inferred = (as_of_ns, "", "", UNKNOWN_NS)
        if ended is not None:
            end_ns = UNKNOWN_NS if ended.end_ns is None else ended.end_ns
            inferred = (as_of_ns, ended.known_by, ended.state, end_ns)
        fields = list(encode_claims(entity.kind, entity.fields).items())
        members.append((*whose, 0, 0, "", fields, _observed(entity), inferred))
        for (time_ns, state), extra in entity.transitions.items():
            said = encode_claims(entity.kind, {**extra, "state": state})
            members.append((*whose, 1, time_ns, state, list(said.items()), _NOT_OBSERVED, nothing))
    columns = list(zip(*members, strict=True)) or [()] * len(_ENTITY_SCHEMA)
    arrays = [
        _structs(values, field.type)
        if pa.types.is_struct(field.type)
        else pa.array(list(values), type=field.type)
        for values, field in zip(columns, _ENTITY_SCHEMA, strict=True)
    ]
    return pa.table(arrays, schema=_ENTITY_SCHEMA)


def _structs(values: Sequence[tuple[Any, ...]], type_: pa.StructType) -> pa.Array:
    members = list(zip(*values, strict=True)) or [()] * type_.num_fields
    return pa.StructArray.from_arrays(
        [pa.array(list(member), type=field.type) for member, field in zip(members, type_, strict=True)],
        fields=list(type_),
    )


def _observed(entity: Entity) -> tuple[Any, ...]:
    if not entity.observed:
        return _NOT_OBSERVED
    (is_final, certainty, time_ns, state), observed_ns, canonical = order_observed(entity)
    said = msgspec.json.encode(encode_claims(entity.kind, entity.observed)).decode()
    return 1, int(is_final), certainty, time_ns, state, observed_ns, canonical, said


def of_entities(kind: Kind) -> str:
    """Query of a record for the entities of a kind. Pass its rows to :func:`read_entities`."""
    columns = dict(ENTITY_COLUMNS[kind])
    end = [name if name in columns else "NULL" for name in ("state", "end_ns", "end_known_by")]
    return f"SELECT id, doc, {', '.join(end)} FROM {kind}_rows ORDER BY id"


def read_entities(kind: Kind, records: Iterable[Sequence[Any]]) -> list[tuple[Entity, InferredEnd | None]]:
    """Entities, each with the end that the record inferred, if any."""
    members: list[tuple[Entity, InferredEnd | None]] = []
    for identifier, doc, state, end_ns, known_by in records:
        entity = rows.decode_entity(kind, identifier, doc)
        is_inferred = known_by is not None and entity.current().get("end_known_by") != known_by
        members.append((entity, InferredEnd(known_by, state, end_ns) if is_inferred else None))
    return members
