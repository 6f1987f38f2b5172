"""Converts records to Arrow tables for DuckDB, and stored entities back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rayscope.model import (
    PHASES,
    STATES,
    Annotation,
    Attempt,
    Edge,
    Entity,
    Kind,
    RecordBatch,
    Span,
    long_texts,
)
from rayscope.model.attempt import SCALARS
from rayscope.storage.schema import (
    ANNOTATION_COLUMNS,
    EDGE_COLUMNS,
    ENTITY_COLUMNS,
    SPAN_COLUMNS,
)
from rayscope.storage.sql.merge import PART_COLUMNS

_ARROW = {
    "UBIGINT": pa.uint64(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "UINTEGER": pa.uint32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
}
#: Name of a record's table -> Arrow tables of rows for it: parts of attempts, or rows that form a set.
Tables: TypeAlias = Mapping[str, Sequence[pa.Table]]
ROWS = ("attempts", "span_rows", "edge_rows", "annotation_rows")
PART_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in PART_COLUMNS])
SPAN_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in SPAN_COLUMNS])
EDGE_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in EDGE_COLUMNS])
ANNOTATION_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in ANNOTATION_COLUMNS])
_TASK_SCHEMA = pa.schema([("task_hi", pa.uint64()), ("task_lo", pa.string())])
_CALLER_SCHEMA = pa.schema([*_TASK_SCHEMA, ("caller", pa.string())])
_PATH_SCHEMA = pa.schema([("submitter", pa.string()), ("called", pa.string()), ("path_id", pa.int64())])


def split_id(task_id: str | None) -> tuple[int | None, str | None]:
    """Split a task's hex ID into its two stored parts.

    Raises ValueError if it is not a hex ID of at least 16 digits.
    """
    if not task_id:
        return None, None
    if len(task_id) < 16:
        raise ValueError(f"a task ID has 48 hex digits, not {len(task_id)}")
    return int(task_id[:16], 16), task_id[16:]


def join_id(high: int | None, low: str | None) -> str | None:
    """The inverse of :func:`split_id`."""
    return None if high is None else f"{high:016x}{low or ''}"


def task_table(task_ids: Iterable[str]) -> pa.Table:
    """Task IDs as a table, for joins."""
    high, low = _ids(task_ids)
    return pa.table([high, low], schema=_TASK_SCHEMA)


def caller_table(called: Mapping[str, str]) -> pa.Table:
    """Tasks and their callers as a table."""
    high, low = _ids(called)
    return pa.table([high, low, list(called.values())], schema=_CALLER_SCHEMA)


def path_table(paths: Sequence[tuple[str, str, int]]) -> pa.Table:
    """Calls (caller, function) and their paths as a table."""
    columns = list(zip(*paths, strict=True)) or [(), (), ()]
    return pa.table([list(column) for column in columns], schema=_PATH_SCHEMA)


def part_table(attempts: Sequence[Attempt]) -> pa.Table:
    """Attempts as a table of parts to be merged, see :mod:`rayscope.storage.sql.merge`."""
    high, low = _ids([a.task_id for a in attempts])
    columns: dict[str, list[Any]] = {
        "task_hi": high,
        "task_lo": low,
        "attempt": [a.attempt for a in attempts],
        **{name: [getattr(a, name) for a in attempts] for name in SCALARS},
        **{f"{state.lower()}_ns": [a.states.get(state) for a in attempts] for state in STATES},
    }
    for phase in PHASES:
        intervals = [a.phases.get(phase, (None, None)) for a in attempts]
        columns[f"{phase}_begin_ns"] = [begin for begin, _ in intervals]
        columns[f"{phase}_end_ns"] = [end for _, end in intervals]
    for number, name in enumerate(("error_ns", "error_type", "error_message")):
        columns[name] = [None if a.error is None else a.error[number] for a in attempts]
    for number, name in enumerate(("returned_ns", "return_bytes", "output_bytes")):
        columns[name] = [None if a.returned is None else a.returned[number] for a in attempts]
    # Drop columns without values.
    fields = [field for field in PART_SCHEMA if any(value is not None for value in columns[field.name])]
    return pa.table([columns[field.name] for field in fields], schema=pa.schema(fields))


def span_table(spans: Iterable[Span]) -> pa.Table:
    """Spans as rows of ``span_rows``."""
    items = list(spans)
    return pa.table(
        [
            *_ids([span.task_id for span in items]),
            [span.attempt for span in items],
            [span.name for span in items],
            [span.begin_ns for span in items],
            [span.end_ns for span in items],
            [span.extra or None for span in items],
        ],
        schema=SPAN_SCHEMA,
    )


def edge_table(edges: Iterable[Edge]) -> pa.Table:
    """Edges as rows of ``edge_rows``."""
    items = list(edges)
    return pa.table(
        [
            *_ids([edge.task_id for edge in items]),
            [edge.attempt for edge in items],
            [edge.kind for edge in items],
            *_ids([edge.object_task for edge in items]),
            [edge.object_index for edge in items],
            [edge.size for edge in items],
            [edge.begin_ns for edge in items],
            [edge.end_ns for edge in items],
        ],
        schema=EDGE_SCHEMA,
    )


def annotation_table(annotations: Iterable[Annotation]) -> pa.Table:
    """Annotations as rows of ``annotation_rows``."""
    items = list(annotations)
    columns = list(zip(*(item[1:] for item in items), strict=True)) or [()] * (len(ANNOTATION_COLUMNS) - 2)
    ids = _ids([item.task_id for item in items])
    return pa.table([*ids, *map(list, columns)], schema=ANNOTATION_SCHEMA)


def _ids(task_ids: Iterable[str]) -> tuple[list[int | None], list[str | None]]:
    """Split task IDs into their two stored columns."""
    ids = [split_id(task_id) for task_id in task_ids]
    return [high for high, _ in ids], [low for _, low in ids]


def _entity_schema(kind: Kind) -> pa.Schema:
    columns = [("id", "VARCHAR"), ("doc", "VARCHAR"), *ENTITY_COLUMNS[kind]]
    return pa.schema([(name, _ARROW[duck]) for name, duck in columns])


def entity_table(kind: Kind, entities: Sequence[Entity]) -> pa.Table:
    """Entities of one kind as rows of its table."""
    current = [entity.current() for entity in entities]
    columns: list[list[Any]] = [
        [entity.id for entity in entities],
        [encode_entity(entity) for entity in entities],
    ]
    for name, duck in ENTITY_COLUMNS[kind]:
        columns.append([_coerce(values.get(name), duck) for values in current])
    return pa.table(columns, schema=_entity_schema(kind))


def _coerce(value: Any, duck: str) -> Any:
    """Convert a value to its column's type.

    Values of a wrong type (from another version of Ray) become NULL.
    """
    if value is None:
        return None
    try:
        coerced = {"VARCHAR": str, "BIGINT": int, "BOOLEAN": bool, "DOUBLE": float}[duck](value)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if duck == "BIGINT" and not -(2**63) <= coerced < 2**63 else coerced


def encode_entity(entity: Entity) -> str:
    """The complete state of an entity that merging needs, as JSON."""
    transitions = [[time_ns, state, extra] for (time_ns, state), extra in sorted(entity.transitions.items())]
    return msgspec.json.encode([entity.fields, transitions, entity.observed_ns, entity.observed]).decode()


def decode_entity(kind: Kind, entity_id: str, doc: str) -> Entity:
    """The inverse of :func:`encode_entity`."""
    fields, transitions, observed_ns, observed = msgspec.json.decode(doc)
    return Entity(
        kind,
        entity_id,
        fields,
        {(time_ns, state): extra for time_ns, state, extra in transitions},
        observed_ns,
        observed,
    )


def batch_tables(batch: RecordBatch, columns: Tables | None = None) -> dict[str, list[pa.Table]]:
    """A batch's attempts, spans, edges and annotations as tables.

    ``columns``: data from the batch that is in tables already.
    """
    made: dict[str, list[pa.Table]] = {name: [*(columns or {}).get(name, ())] for name in ROWS}
    if batch.attempts:
        made["attempts"].append(part_table(batch.attempts))
    if batch.spans:
        made["span_rows"].append(span_table(batch.spans))
    if batch.edges:
        made["edge_rows"].append(edge_table(batch.edges))
    if batch.annotations:
        made["annotation_rows"].append(annotation_table(batch.annotations))
    return made


def callers(edges: pa.Table) -> Iterator[tuple[str, str]]:
    """Each caller that the tracer reported in rows of ``edge_rows``, as (task, caller)."""
    found = edges.filter(pc.equal(edges.column("kind"), "caller"))
    names = ("task_hi", "task_lo", "object_hi", "object_lo")
    for high, low, caller_high, caller_low in zip(*(found.column(n).to_pylist() for n in names), strict=True):
        yield join_id(high, low) or "", join_id(caller_high, caller_low) or ""


def cut_long_texts(tables: Sequence[pa.Table], batch: RecordBatch) -> list[pa.Table]:
    """Like :func:`rayscope.model.long_texts.cut_long_texts`, for tables."""
    return [_cut(table, batch) for table in tables]


def _cut(table: pa.Table, batch: RecordBatch) -> pa.Table:
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if (
            field.type != pa.string()
            or (pc.max(pc.binary_length(column)).as_py() or 0) <= long_texts.MAX_CHARS
        ):
            continue
        texts, number = long_texts.cut_column(field.name, column.to_pylist())
        batch.unknown[long_texts.CUT] = batch.unknown.get(long_texts.CUT, 0) + number
        table = table.set_column(place, field, [pa.array(texts, pa.string())])
    return table
