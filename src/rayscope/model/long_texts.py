"""Limits the length of strings in a record. Users choose names, errors and environments, which can be
arbitrarily long.

Without the limit, a single string of several megabytes would freeze every page that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TypeVar

from rayscope.model.attempt import Attempt
from rayscope.model.entity import Value
from rayscope.model.records import Annotation, RecordBatch, Span

MAX_CHARS = 1 << 16
#: Name under which truncated strings are counted.
CUT = f"text of more than {MAX_CHARS:,} characters"

#: Fields of an attempt that are truncated. Those in ``_JSON`` are dropped instead, because truncated JSON is
#: invalid.
_NAMES = (
    "name",
    "func_name",
    "module_name",
    "function_hash",
    "call_site",
    "actor_repr_name",
    "stdout_file",
    "stderr_file",
    "job_id",
    "actor_id",
    "placement_group_id",
    "node_id",
    "worker_id",
)
_JSON = ("required_resources", "label_selector", "runtime_env")
_texts = attrgetter(*_NAMES, *_JSON)
T = TypeVar("T", Span, Annotation)


def cut_long_texts(batch: RecordBatch) -> None:
    """Truncate a batch's strings longer than :data:`MAX_CHARS`, and count them in its ``unknown``."""
    number = 0
    for attempt in batch.attempts:
        error = attempt.error
        if error is not None and len(error.message) > MAX_CHARS:
            # Keep the end, as Ray does: it names the error.
            attempt.error = error._replace(message="…" + error.message[1 - MAX_CHARS :])
            number += 1
        for text in _texts(attempt):
            if text is not None and len(text) > MAX_CHARS:
                number += _cut_fields(attempt)
                break
    for entity in batch.entities:
        entity.id = entity.id[:MAX_CHARS]
        for values in (entity.fields, entity.observed, *entity.transitions.values()):
            number += _cut_values(values)
    batch.spans, spans = _cut_tuples(batch.spans)
    batch.annotations, annotations = _cut_tuples(batch.annotations)
    number += spans + annotations
    if number:
        batch.unknown[CUT] = batch.unknown.get(CUT, 0) + number


def cut_column(name: str, texts: Sequence[str | None]) -> tuple[list[str | None], int]:
    """Truncate long strings in a column of attempts or spans. Returns the column and their number."""
    cut = [_cut_as(name, text) if text is not None and len(text) > MAX_CHARS else text for text in texts]
    return cut, sum(text is not None and len(text) > MAX_CHARS for text in texts)


def _cut_as(name: str, text: str) -> str | None:
    if name in (*_JSON, "extra"):
        return None
    # Keep the end of an error, as Ray does: it names the error.
    return "…" + text[1 - MAX_CHARS :] if name == "error_message" else _cut(text)


def _cut(text: str) -> str:
    return text[: MAX_CHARS - 1] + "…"


def _cut_fields(attempt: Attempt) -> int:
    number = 0
    for name in (*_NAMES, *_JSON):
        text = getattr(attempt, name)
        if text is not None and len(text) > MAX_CHARS:
            setattr(attempt, name, _cut(text) if name in _NAMES else None)
            number += 1
    return number


def _cut_values(values: dict[str, Value]) -> int:
    long = [name for name, value in values.items() if isinstance(value, str) and len(value) > MAX_CHARS]
    for name in long:
        text = str(values.pop(name))
        if text[0] not in "{[":  # truncated JSON is invalid
            values[name] = _cut(text)
    return len(long)


def _cut_tuples(records: list[T]) -> tuple[list[T], int]:
    """Truncate long strings of spans or annotations. Returns all records, and how many of them had any."""
    long = {at for at, one in enumerate(records) if _is_long(one)}
    if not long:
        return records, 0
    return [_shortened(one) if at in long else one for at, one in enumerate(records)], len(long)


def _is_long(record: Iterable[object]) -> bool:
    return any(isinstance(part, str) and len(part) > MAX_CHARS for part in record)


def _shortened(record: T) -> T:
    if isinstance(record, Span):
        extra = "" if len(record.extra) > MAX_CHARS else record.extra  # truncated JSON is invalid
        return record._replace(name=record.name[:MAX_CHARS], extra=extra)
    return record._replace(name=record.name[:MAX_CHARS], value=record.value[:MAX_CHARS])
