"""Attempts, spans and entities to Arrow tables for DuckDB, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from rayscope.model import PHASES, STATES, Annotation, Attempt, Edge, Entity, Kind, Span, TaskError
from rayscope.model.attempt import SCALARS
from rayscope.storage.schema import (
    ANNOTATION_COLUMNS,
    ATTEMPT_COLUMNS,
    EDGE_COLUMNS,
    ENTITY_COLUMNS,
    SPAN_COLUMNS,
)

_ARROW = {
    "UBIGINT": pa.uint64(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "UINTEGER": pa.uint32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
}
_STORED_SCALARS = tuple(name for name in SCALARS if name not in ("parent_task_id", "caller_task_id"))
ATTEMPT_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in ATTEMPT_COLUMNS])
SPAN_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in SPAN_COLUMNS])
EDGE_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in EDGE_COLUMNS])
ANNOTATION_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in ANNOTATION_COLUMNS])
KEY_SCHEMA = pa.schema([("task_hi", pa.uint64()), ("task_lo", pa.string()), ("attempt", pa.int32())])

TaskKey = tuple[str, int]


def split_id(task_id: str | None) -> tuple[int | None, str | None]:
    """A task's hex id in its two stored parts. Raises ValueError if it is no hex id of 16+ digits."""
    if not task_id:
        return None, None
    if len(task_id) < 16:
        raise ValueError(f"a task ID has 48 hex digits, not {len(task_id)}")
    return int(task_id[:16], 16), task_id[16:]


def join_id(high: int | None, low: str | None) -> str | None:
    """The inverse of :func:`split_id`."""
    return None if high is None else f"{high:016x}{low or ''}"


def key_table(keys: Iterable[TaskKey]) -> pa.Table:
    """(task id, attempt) pairs as a table to join with."""
    items = list(keys)
    return pa.table(
        [
            [int(task_id[:16], 16) for task_id, _ in items],
            [task_id[16:] for task_id, _ in items],
            [attempt for _, attempt in items],
        ],
        schema=KEY_SCHEMA,
    )


def attempt_table(attempts: Sequence[Attempt], path_ids: Sequence[int | None]) -> pa.Table:
    """Attempts with their call path ids as rows of ``attempts``."""
    parents = [split_id(a.submitter) for a in attempts]
    columns: list[list[Any]] = [
        [int(a.task_id[:16], 16) for a in attempts],
        [a.task_id[16:] for a in attempts],
        [a.attempt for a in attempts],
        states := [a.state for a in attempts],
        states,
        [None] * len(attempts),
        list(path_ids),
        [high for high, _ in parents],
        [low for _, low in parents],
        [a.caller_task_id and (a.parent_task_id or "") for a in attempts],
    ]
    columns += [[getattr(a, name) for a in attempts] for name in _STORED_SCALARS]
    columns += [[a.states.get(state) for a in attempts] for state in STATES]
    for phase in PHASES:
        intervals = [a.phases.get(phase, (None, None)) for a in attempts]
        columns += [[begin for begin, _ in intervals], [end for _, end in intervals]]
    columns += [
        [a.error.time_ns if a.error else None for a in attempts],
        [a.error.type if a.error else None for a in attempts],
        [a.error.message if a.error else None for a in attempts],
        *([a.returned[part] if a.returned else None for a in attempts] for part in range(3)),
    ]
    return pa.table(columns, schema=ATTEMPT_SCHEMA)


def attempts_from_table(table: pa.Table) -> list[tuple[Attempt, int | None]]:
    """Rows of ``attempts`` back to (attempt, call path id)."""
    result = []
    for row in table.to_pylist():
        attempt = Attempt(join_id(row["task_hi"], row["task_lo"]) or "", row["attempt"])
        submitter, named = join_id(row["parent_hi"], row["parent_lo"]), row["named_parent"]
        if named is None:
            attempt.parent_task_id = submitter
        else:
            attempt.caller_task_id, attempt.parent_task_id = submitter, named or None
        for name in _STORED_SCALARS:
            setattr(attempt, name, row[name])
        for state in STATES:
            time_ns = row[f"{state.lower()}_ns"]
            if time_ns is not None:
                attempt.states[state] = time_ns
        for phase in PHASES:
            begin = row[f"{phase}_begin_ns"]
            if begin is not None:
                attempt.phases[phase] = (begin, row[f"{phase}_end_ns"])
        if row["error_ns"] is not None:
            attempt.error = TaskError(row["error_ns"], row["error_type"], row["error_message"])
        if row["returned_ns"] is not None:
            attempt.returned = (row["returned_ns"], row["return_bytes"], row["output_bytes"])
        result.append((attempt, row["path_id"]))
    return result


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
    """Task ids as their two stored columns."""
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
    """A value in its column's type; a value of a wrong type (another Ray's idea of it) becomes NULL."""
    if value is None:
        return None
    try:
        coerced = {"VARCHAR": str, "BIGINT": int, "BOOLEAN": bool}[duck](value)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if duck == "BIGINT" and not -(2**63) <= coerced < 2**63 else coerced


def encode_entity(entity: Entity) -> str:
    """The whole mergeable state of an entity as JSON."""
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
