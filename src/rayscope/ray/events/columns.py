"""Converts task events to columns, for the decoders of both formats: parts of attempts, and spans.

Each kind of event arrives as a table with one row per event. Apart from the few events of the tracer, no
event becomes a Python object. The results are rows for DuckDB that still have to be merged: parts of attempts
have the columns ``task_hi``, ``task_lo``, ``attempt``, and some of the columns listed in
:mod:`rayscope.storage.sql.merge`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rayscope.model import PHASES, Attempt, RecordBatch
from rayscope.ray.common import STORE, TRACED, canonical_json, clean_error, is_nil, phase_of
from rayscope.ray.events import tracer
from rayscope.ray.events.schema import enum_names
from rayscope.ray.events.tasks import count, hex_id

TASK_ID_BYTES = 24
_WORKER_ID_BYTES = 28
#: The first eight bytes of the ID of an actor's creation task, or of a driver task. In the latter the next
#: twelve bytes have all bits set, too.
_ALL_BITS_SET = np.uint64(2**64 - 1)
#: Times must be before this, the last full second that fits into 64 bits, in ns. Timestamps in JSON have the
#: same limit, see :mod:`rayscope.ray.timestamps`.
END_NS = 9_223_372_036 * 10**9
_STATES = enum_names("TaskStatus")
FAILED = next(number for number, name in _STATES.items() if name == "FAILED")
#: Codes for the entries of a profile: an index into ``PHASES``, or one of the next two constants.
_SPAN = len(PHASES)
_TRACED = len(PHASES) + 1
_STORE = PHASES.index("store")

Array = npt.NDArray[Any]
#: Columns of one kind of event by name, with one value per event.
Fields = Mapping[str, pa.Array]


@dataclass
class SessionEvents:
    """The decoded events of one session: tasks in columns, everything else as records."""

    session: str
    #: Parts of attempts. ``spans`` are rows of ``span_rows``.
    attempts: list[pa.Table] = field(default_factory=list)
    spans: list[pa.Table] = field(default_factory=list)
    records: RecordBatch = field(init=False)
    #: Unreadable events, as received.
    invalid: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.records = RecordBatch(self.session)

    def set_aside(self, raw: bytes, why: str) -> None:
        """Count and keep an unreadable event. ``why`` is the error."""
        self.invalid.append(raw)
        count(self.records, f"invalid event: {why}"[:200])


#: Row of an unreadable event -> its error.
Unreadable = dict[int, str]


def add_definitions(fields: Fields, events: SessionEvents) -> Unreadable:
    """Add task definitions, which submitters send. Returns the unreadable events, which are skipped.

    Fields: ``task_id``, ``job_id``, ``actor_id``, ``parent_task_id`` and ``placement_group_id`` (bytes),
    ``attempt``, and the other parts of a definition as in :class:`rayscope.model.Attempt`. An empty
    ``required_resources`` or ``label_selector`` means that JSON cannot represent the value.
    """
    length, parent = pc.binary_length(fields["task_id"]), fields["parent_task_id"]
    unreadable = _rows(pc.not_equal(length, TASK_ID_BYTES), "a task ID that is not 24 bytes long")
    odd = pc.indices_nonzero(pc.not_equal(pc.binary_length(parent), TASK_ID_BYTES)).to_pylist()
    for row in odd:
        if hex_id(parent[row].as_py()) is not None:
            unreadable[row] = "a parent's ID that is not 24 bytes long"
    for name in ("required_resources", "label_selector"):
        unreadable |= _rows(
            pc.fill_null(pc.equal(fields[name], ""), False), f"{name} that JSON does not have"
        )
    fields, _ = _without(fields, unreadable)
    keys = _Keys(fields["task_id"])
    actors = _hex_texts(fields["actor_id"])
    creates = pc.and_(pc.equal(fields["type"], "ACTOR_CREATION_TASK"), pc.is_null(actors))
    columns = {
        **keys.columns(fields["attempt"]),
        **{
            name: _none_if_empty(fields[name])
            for name in ("name", "func_name", "module_name", "function_hash")
        },
        **{name: fields[name] for name in ("type", "language", "required_resources", "label_selector")},
        **{name: _hex_texts(fields[name]) for name in ("job_id", "parent_task_id", "placement_group_id")},
        "actor_id": pc.if_else(creates, keys.low, actors),
        "runtime_env": fields["runtime_env"],
        "call_site": _none_if_empty(fields["call_site"]),
    }
    events.attempts.append(pa.table(columns))
    return unreadable


def add_lifecycles(
    fields: Fields, rows: Array, states: Array, times: pa.Array, events: SessionEvents
) -> Unreadable:
    """Add the lifecycle of attempts, which owners and workers send. Returns the unreadable events.

    Fields: ``task_id``, ``job_id``, ``node_id`` and ``worker_id`` (bytes), ``attempt``, ``worker_pid``,
    ``actor_repr_name``, ``error_type`` and ``error_message`` (None: no error), ``event_ns``, and the location
    of the logs as in :class:`rayscope.model.Attempt`.

    Each transition has the row of its event, the number of its state (0 if unknown), and its time (ns).
    """
    length = pc.binary_length(fields["task_id"])
    unreadable = _rows(pc.not_equal(length, TASK_ID_BYTES), "a task ID that is not 24 bytes long")
    ns = np.asarray(times.fill_null(-1))
    wrong = (ns < 0) | (ns >= END_NS)
    of_event = fields["event_ns"]
    wrong_rows = [
        *np.unique(rows[wrong]).tolist(),
        *pc.indices_nonzero(pc.or_(pc.less(of_event, 0), pc.greater_equal(of_event, END_NS))).to_pylist(),
    ]
    unreadable |= dict.fromkeys(wrong_rows, "a time outside of 1970 to 2262")
    fields, kept = _without(fields, unreadable)
    if kept is not None:
        here = kept[rows] >= 0
        rows, states, ns = kept[rows[here]], states[here], ns[here]
    size = len(fields["task_id"])
    order = np.argsort(ns)[::-1]  # write the earliest of repeated states last, so that it wins
    rows, states, ns = rows[order], states[order], ns[order]
    keys = _Keys(fields["task_id"])
    columns = {
        **keys.columns(fields["attempt"]),
        **keys.types_and_actors(),
        **{name: _hex_texts(fields[name]) for name in ("job_id", "node_id", "worker_id")},
        **{name: _none_if_empty(fields[name]) for name in ("worker_pid", "actor_repr_name", *_LOGS)},
    }
    failed = None
    for number in np.unique(states).tolist():
        name, of_state = _STATES.get(number), states == number
        if name is None:
            count(events.records, f"enum TaskStatus {number}", int(of_state.sum()))
        if name is None or number == 0:
            continue
        columns[f"{name.lower()}_ns"] = column = _scatter(size, rows[of_state], ns[of_state])
        failed = column if number == FAILED else failed
    if fields["error_message"].null_count < size:
        has_error = pc.is_valid(fields["error_message"])
        at = fields["event_ns"] if failed is None else pc.coalesce(failed, fields["event_ns"])
        columns["error_ns"] = pc.if_else(has_error, at, None)
        columns["error_type"] = fields["error_type"]
        columns["error_message"] = map_values(fields["error_message"], clean_error)
    events.attempts.append(pa.table(columns))
    return unreadable


_LOGS = ("stdout_file", "stderr_file", "stdout_start", "stdout_end", "stderr_start", "stderr_end")


def add_profiles(fields: Fields, rows: Array, entries: Fields, events: SessionEvents) -> Unreadable:
    """Add the profiles of workers: phases of attempts, spans, and the tracer's events.

    Fields: ``task_id``, ``job_id`` and ``component_id`` (bytes), ``attempt``, ``component_type``.

    Each entry has the row of its event, ``event_name``, ``start_time`` and ``end_time`` (ns), and
    ``extra_data`` (JSON).
    """
    length = pc.binary_length(fields["task_id"])
    unreadable = _rows(pc.not_equal(length, TASK_ID_BYTES), "a task ID that is not 24 bytes long")
    fields, kept = _without(fields, unreadable)
    if kept is not None:
        here = kept[rows] >= 0
        entries = {name: column.filter(pa.array(here)) for name, column in entries.items()}
        rows = kept[rows[here]]
    size = len(fields["task_id"])
    keys = _Keys(fields["task_id"])
    begins, ends = (np.asarray(entries[name]) for name in ("start_time", "end_time"))
    kinds = _kinds(entries, rows, keys.nil)
    of_phase = kinds < _SPAN
    has = np.zeros((len(PHASES), size), bool)
    has[kinds[of_phase], rows[of_phase]] = True
    has_data = np.asarray(has.any(axis=0))
    has_data[_add_traced(fields, entries, rows, np.flatnonzero(kinds == _TRACED), events)] = True
    if has_data.any():
        _add_phases(fields, keys, rows, kinds, begins, ends, has_data, events)
    spans = kinds == _SPAN
    stores = kinds == _STORE
    # A plain task has each phase once. A generator stores a result per yielded value, and a long generator is
    # reported in several parts. In these cases every store also becomes a span.
    unusual = (np.bincount(rows[stores], minlength=size) > 1) | ~has.all(axis=0)
    again = stores & unusual[rows]
    extras = pc.if_else(pc.is_in(entries["extra_data"], _EMPTY), None, entries["extra_data"])
    for chosen, name, extra in ((spans, entries["event_name"], extras), (again, None, None)):
        if not chosen.any():
            continue
        mask, of = pa.array(chosen), rows[chosen]
        table = {
            **keys.columns(fields["attempt"], of),
            "name": pa.repeat(STORE, len(of)) if name is None else name.filter(mask),
            "begin_ns": begins[chosen],
            "end_ns": ends[chosen],
            "extra": pa.nulls(len(of), pa.string()) if extra is None else extra.filter(mask),
        }
        if keys.nil.any():
            # Ray's profiler attributes coroutines of an async actor to no task.
            nil = pa.array(keys.nil[of])
            workers = pc.take(map_values(fields["component_id"], _worker_json), pa.array(of))
            table["task_hi"] = pc.if_else(nil, None, table["task_hi"])
            table["task_lo"] = pc.if_else(nil, None, table["task_lo"])
            table["attempt"] = pc.if_else(nil, pa.scalar(0, pa.int32()), table["attempt"])
            table["extra"] = pc.if_else(nil, workers, table["extra"])
        events.spans.append(pa.table(table))
    return unreadable


_EMPTY = pa.array(["", "{}"])


def _worker_json(component_id: bytes) -> str:
    return canonical_json({"worker_id": component_id.hex()})


def _kinds(entries: Fields, rows: Array, nil: Array) -> Array:
    """The code of each entry, see :data:`_SPAN`."""
    names = entries["event_name"].dictionary_encode()
    codes = [_kind(name) for name in names.dictionary.to_pylist()]
    kinds = np.array(codes, np.int8)[np.asarray(names.indices)] if codes else np.empty(0, np.int8)
    # Without data, the entry is Ray's own span of that name.
    kinds[(kinds == _TRACED) & (np.asarray(pc.binary_length(entries["extra_data"])) <= 2)] = _SPAN
    kinds[nil[rows] & (kinds < _SPAN)] = _SPAN
    return kinds


def _kind(name: str) -> int:
    phase = phase_of(name)
    if phase is not None:
        return PHASES.index(phase)
    return _TRACED if name in TRACED else _SPAN


def _add_phases(
    fields: Fields,
    keys: _Keys,
    rows: Array,
    kinds: Array,
    begins: Array,
    ends: Array,
    has_data: Array,
    events: SessionEvents,
) -> None:
    size = len(keys.high)
    order = np.lexsort((ends, begins))[::-1]  # write the earliest of repeated phases last, so that it wins
    order = order[kinds[order] < _SPAN]
    of_worker = pc.and_(
        pc.equal(fields["component_type"], "worker"),
        pc.equal(pc.binary_length(fields["component_id"]), _WORKER_ID_BYTES),
    )
    columns = {
        **keys.columns(fields["attempt"]),
        **keys.types_and_actors(),
        "job_id": _hex_texts(fields["job_id"]),
        "worker_id": pc.if_else(of_worker, _hex_texts(fields["component_id"]), None),
    }
    for number, phase in enumerate(PHASES):
        chosen = order[kinds[order] == number]
        columns[f"{phase}_begin_ns"] = _scatter(size, rows[chosen], begins[chosen])
        columns[f"{phase}_end_ns"] = _scatter(size, rows[chosen], ends[chosen])
    restarted = (keys.high == _ALL_BITS_SET) & (np.asarray(fields["attempt"]) > 0) & ~keys.drivers
    if restarted.any():
        # The end of a task comes from its owner, which does not know about restarts of an actor.
        columns["finished_ns"] = pc.if_else(pa.array(restarted), columns["total_end_ns"], None)
    table = pa.table(columns)
    events.attempts.append(table if has_data.all() else table.filter(pa.array(has_data)))


def _add_traced(
    fields: Fields, entries: Fields, rows: Array, chosen: Array, events: SessionEvents
) -> list[int]:
    """Decode the tracer's entries, one event at a time.

    Returns the rows of the events that contain return values or CPU time of their attempt.
    """
    mine = {name: column.take(pa.array(chosen)).to_pylist() for name, column in entries.items()}
    of_entry = rows[chosen].tolist()
    names = ("event_name", "start_time", "end_time", "extra_data")
    made = [_Entry(*values) for values in zip(*(mine[name] for name in names), strict=True)]
    with_outcome = []
    begin = 0
    for end in range(1, len(made) + 1):
        row = of_entry[begin]
        if end < len(made) and of_entry[end] == row:
            continue
        task_id, number = fields["task_id"][row].as_py().hex(), fields["attempt"][row].as_py()
        if is_nil(task_id):
            task_id, number = "", 0
        worker = fields["component_id"][row].as_py()
        outcome = tracer.add(made[begin:end], task_id, number, worker, events.records)
        if task_id and outcome != tracer.NO_OUTCOME:
            events.records.attempts.append(Attempt(task_id, number, **outcome._asdict()))
            with_outcome.append(row)
        begin = end
    return with_outcome


class _Entry(NamedTuple):
    """Implements :class:`rayscope.ray.common.ProfileEntry`."""

    event_name: str
    start_time: int
    end_time: int
    extra_data: str


class _Keys:
    """Task IDs (24 bytes each) in the form that the record uses, and what can be derived from them."""

    def __init__(self, task_ids: pa.Array) -> None:
        size = len(task_ids)
        fixed = task_ids.cast(pa.binary(TASK_ID_BYTES))
        held = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)
        held = held[fixed.offset * TASK_ID_BYTES :][: size * TASK_ID_BYTES].reshape(size, TASK_ID_BYTES)
        #: The first eight bytes of each ID; the hex of the others is in ``low``.
        self.high: Array = held[:, :8].copy().view(">u8").ravel().astype(np.uint64)
        rest = pa.py_buffer(held[:, 8:].tobytes())
        self.low = map_values(
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), size, [None, rest]), bytes.hex
        )
        special = self.high == _ALL_BITS_SET
        self.drivers = special.copy()
        self.nil = special.copy()
        if special.any():
            self.drivers[special] = (held[special, 8:20] == 0xFF).all(axis=1)
            self.nil[special] = (held[special] == 0xFF).all(axis=1)

    def columns(self, attempts: pa.Array, rows: Array | None = None) -> dict[str, Any]:
        """Key columns of each task's attempt, or only of the given ``rows``."""
        if rows is None:
            return {"task_hi": pa.array(self.high), "task_lo": self.low, "attempt": attempts}
        at = pa.array(rows)
        return {
            "task_hi": pa.array(self.high[rows]),
            "task_lo": self.low.take(at),
            "attempt": attempts.take(at),
        }

    def types_and_actors(self) -> dict[str, Any]:
        """Type and actor of tasks whose ID shows them: drivers and restarted actors have no definition."""
        special = self.high == _ALL_BITS_SET
        if not special.any():
            return {}
        types = np.where(self.drivers, "DRIVER_TASK", "ACTOR_CREATION_TASK").astype(object)
        return {
            "type": pa.array(types, pa.string(), mask=~special),
            "actor_id": pc.if_else(pa.array(special & ~self.drivers), self.low, None),
        }


def _scatter(size: int, rows: Array, values: Array) -> pa.Array:
    """A column of ``size`` rows with the given values in the given rows. The other rows are null.

    The last of several values for a row wins.
    """
    column, unknown = np.zeros(size, np.int64), np.ones(size, bool)
    column[rows] = values
    unknown[rows] = False
    return pa.array(column, mask=unknown)


def map_values(column: pa.Array, make: Callable[[Any], str | None]) -> pa.Array:
    """A string column made by calling ``make`` once per distinct value."""
    encoded = column.dictionary_encode()
    made = [None if value is None else make(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(made, pa.string()).take(encoded.indices)


def _hex_texts(ids: pa.Array) -> pa.Array:
    return map_values(ids, hex_id)


def _none_if_empty(column: pa.Array) -> pa.Array:
    """Replace '' and 0, protobuf's values for unknown fields, with None."""
    nothing = "" if pa.types.is_string(column.type) else 0
    return pc.if_else(pc.equal(column, nothing), None, column)


def _rows(wrong: pa.Array, why: str) -> Unreadable:
    return dict.fromkeys(pc.indices_nonzero(wrong).to_pylist(), why)


def _without(fields: Fields, unreadable: Unreadable) -> tuple[Fields, Array | None]:
    """The fields without unreadable events, and for each old row its new one, or -1 if it was dropped."""
    if not unreadable:
        return fields, None
    keep = np.ones(len(fields["task_id"]), bool)
    keep[list(unreadable)] = False
    mask = pa.array(keep)
    return {name: column.filter(mask) for name, column in fields.items()}, np.where(
        keep, keep.cumsum() - 1, -1
    )
