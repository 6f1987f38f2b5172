"""Converts the tracer's profile events (:mod:`rayscope.tracer.emit`) to records.

The data of an event is JSON with short names, whose meaning depends on the event:

- ``t``, ``a``: task and attempt of the event, if Ray does not know them.
- ``o``: objects (28 bytes each, base64); ``s``: their sizes in bytes; ``n``, ``b``: number and total size of
  all objects if there are more than listed.
- ``g``: placement groups that a call waits for (18 bytes each, base64).
- ``k``: when a call began (ns). The begin that Ray records is the time of the report.
- ``d``: pairs of a caller and the task that it called (24 bytes each, base64).
- ``text``: the place of a risk, whose details are ``values``; or a counter's value that is not a number.
- ``code``: Ray's hash of a function's code. ``values`` are then from
  :func:`rayscope.tracer.functions.describe`.
- ``sums``: checksums of arguments.
- Return values: ``o``, ``f`` and ``h`` are the IDs, sizes and time (ns) of the task's arguments, ``u`` is the
  CPU time (ns), ``m`` the memory: the number of its scope (:data:`rayscope.tracer.memory.SCOPES`), then the
  peak and the size at the start (bytes) if they were measured.
- ``y``: suspensions of a call of an async method, four numbers each: begin (ns), length (ns), time awaited
  (ns), and number of suspensions.
- Ray Train reports: ``n`` is the report's number, ``e`` is when the previous report ended, ``wait`` is the
  time (ns) spent waiting for data since then, ``x`` is whether the report has a checkpoint, and ``text`` is
  the checkpoint's path.
- Ray Data plans: ``operators`` are IDs, and ``inputs`` the indexes of each operator's input operators.
- GPUs: ``values`` are the shares of each GPU that are assigned to a task.

Events about Ray Tune and Ray Serve, and samples of stacks, are in :mod:`rayscope.ray.events.tune`,
:mod:`rayscope.ray.events.serve` and :mod:`rayscope.ray.events.samples`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from rayscope.model import NO_OBJECT, Annotation, Attempt, Edge, Entity, RecordBatch, Span, TaskError
from rayscope.model.attempt import CANCELED
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.model.entity import FINAL_STATES, Value
from rayscope.ray.common import RETURNED, ProfileEntry
from rayscope.ray.events import samples, serve, tune
from rayscope.ray.events.reported import metrics
from rayscope.ray.libraries.data import dataset_name
from rayscope.tracer.memory import SCOPES

_ERRORS: tuple[type[Exception], ...] = (*DECODE_ERRORS, OverflowError)

_OBJECT_BYTES = 28
_TASK_BYTES = 24
_TASK_DIGITS = 48
_JOB_DIGITS = 8
_WORKER_BYTES = 28
_GROUP_BYTES = 18
#: Maximum number of characters in a string.
_MAX_TEXT = 1000
#: Maximum duration of a call, in ns.
_LONGEST_NS = 100 * 86_400 * 10**9
#: Maximum difference between the clocks of Python and of Ray's C++, in ns.
_SKEW_NS = 10**9
_WAITS = frozenset({"ray.get", "ray.wait", "await", "placement_group.wait"})
#: Index of an edge that concerns the task as a whole instead of an object.
_WHOLE_TASK = 2**32 - 1
#: Name of the span for a period when a call of an async method was suspended, and kind of the edge for a
#: suspension that has not ended.
AWAITING = "awaiting"
#: Name of the span for a Ray Train report.
TRAIN_REPORT = "train.report"
_RISKS = frozenset({"fork", "pickled_reference", "data_issue"})


# Limits of the record, chosen so that values can still be added up.
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Attempt = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Stretches = Annotated[list[_Time], msgspec.Meta(max_length=1_000)]
_Sizes = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=2**48)]], msgspec.Meta(max_length=10_000)]


class _Payload(msgspec.Struct, gc=False):
    """The possible fields of an event, named as on the wire. See the module's docstring."""

    t: str = ""
    a: _Attempt = 0
    o: str = ""
    s: _Sizes | None = None
    n: _Number = 0
    b: _Number = 0
    k: _Time = 0
    e: _Time = 0
    c: str = ""
    g: str = ""
    d: str = ""
    i: str = ""
    w: int = 0
    x: int = 0
    ns: _Number = 0
    calls: _Number = 0
    name: str = ""
    more: int = 0
    plain: int = 0
    interrupted: int = 0
    ready: _Number | None = None
    values: dict[str, str | int | float | bool | None] = {}
    value: float = 0.0
    text: str = ""
    code: str = ""
    sums: _Sizes = []
    y: _Stretches = []
    rank: _Attempt = 0
    wait: _Number | None = None
    off: str = ""
    missing: list[str] = []
    operators: Annotated[list[str], msgspec.Meta(max_length=1_000)] = []
    inputs: Annotated[list[list[int]], msgspec.Meta(max_length=1_000)] = []


class _Returned(msgspec.Struct, gc=False):
    s: _Sizes
    t: str = ""
    a: _Attempt = 0
    k: _Time = 0
    n: _Number = 0
    b: _Number = 0
    y: _Stretches = []
    o: str = ""
    f: _Sizes = []
    h: _Time = 0
    u: _Number | None = None
    m: _Sizes = []

    def outcome(self, returned: tuple[int, int, int] | None) -> Outcome:
        """The outcome with these return values."""
        scope = SCOPES[self.m[0]] if self.m and self.m[0] < len(SCOPES) else None
        peak, start = self.m[1:3] if len(self.m) > 2 else (None, None)
        return Outcome(returned, self.u, peak, start, scope)


class Outcome(NamedTuple):
    """Fields of an attempt of these names, None if the events do not contain them."""

    returned: tuple[int, int, int] | None = None
    cpu_ns: int | None = None
    peak_memory: int | None = None
    start_memory: int | None = None
    memory_scope: str | None = None


NO_OUTCOME = Outcome()
_decode = msgspec.json.Decoder(_Payload).decode
_decode_returned = msgspec.json.Decoder(_Returned).decode


def add(
    entries: Sequence[ProfileEntry], task_id: str, attempt: int, worker_id: bytes, batch: RecordBatch
) -> Outcome:
    """Add the records of the tracer's events in one profile. Returns the outcome that they report, if any.

    An event that does not look like one of ours becomes a plain span.
    """
    outcome = NO_OUTCOME
    for entry in entries:
        try:
            if entry.event_name == RETURNED:
                payload = _decode_returned(entry.extra_data)
                if not payload.t:
                    outcome = payload.outcome(_returned(payload, entry, task_id, attempt, batch))
                else:  # the event of a coroutine, which Ray attributes to another task
                    theirs, number = _task(payload.t), payload.a
                    batch.spans += _awaited(payload.y, entry, theirs, number)
                    returned = _returned(payload, entry, theirs, number, batch)
                    batch.attempts.append(Attempt(theirs, number, **payload.outcome(returned)._asdict()))
            elif entry.event_name.startswith("rayscope.tune_"):
                tune.add(entry, task_id, attempt, batch)
            elif entry.event_name == samples.SAMPLES:
                batch.spans += samples.spans(entry)
            elif entry.event_name == "rayscope.serve":
                batch.spans += serve.spans(entry, task_id, attempt)
            else:
                _add(_Event(entry, _decode(entry.extra_data), task_id, attempt, worker_id, batch))
        except _ERRORS:
            batch.spans.append(
                Span(task_id, attempt, entry.event_name, entry.start_time, entry.end_time, entry.extra_data)
            )
    return outcome


def _awaited(numbers: Sequence[int], entry: ProfileEntry, task_id: str, attempt: int) -> list[Span]:
    """Spans for the periods when a call of an async method was suspended.

    Raises ValueError for invalid values.
    """
    if len(numbers) % 4:
        raise ValueError(f"stretches of {len(numbers)} numbers")
    spans = []
    for at in range(0, len(numbers), 4):
        began_ns, length, awaited, times = numbers[at : at + 4]
        begin = _begin(began_ns, entry)
        if awaited > length or begin + length > entry.end_time + _SKEW_NS:
            raise ValueError("a suspension that has nothing to do with the end")
        is_one = awaited == length
        text = "" if is_one else _text({"calls": times, "objects": 0, "bytes": 0, "blocked_ns": awaited})
        spans.append(Span(task_id, attempt, AWAITING, begin, begin + length, text))
    return spans


def _returned(
    payload: _Returned, entry: ProfileEntry, task_id: str, attempt: int, batch: RecordBatch
) -> tuple[int, int, int] | None:
    if payload.o:
        at = _begin(payload.h, entry)
        _edges(batch, task_id, attempt, "fetched", payload.o, payload.f, at, at)
    if not payload.s:
        return None
    whole, begin = len(payload.s) >= payload.n, _begin(payload.k, entry)
    for order, size in enumerate(payload.s[1:], 2):
        kind = "last_return" if whole and order == len(payload.s) else "return"
        batch.edges.append(Edge(task_id, attempt, kind, task_id, order, size, begin, entry.end_time))
    return begin, payload.s[0], sum(payload.s) if whole else payload.b


def _begin(begin_ns: int, entry: ProfileEntry) -> int:
    """Return when a call began that ended at the end of ``entry``. Raises ValueError for an invalid time."""
    if not begin_ns:
        return entry.start_time
    if not entry.end_time - _LONGEST_NS <= begin_ns <= entry.end_time + _SKEW_NS:
        raise ValueError("a begin that has nothing to do with the end")
    return min(begin_ns, entry.end_time)


class _Event:
    """An event of a task, and the batch that its records are added to. Times are in ns."""

    __slots__ = ("attempt", "batch", "begin", "end", "entry", "name", "payload", "task_id", "worker_id")

    def __init__(
        self,
        entry: ProfileEntry,
        payload: _Payload,
        task_id: str,
        attempt: int,
        worker_id: bytes,
        batch: RecordBatch,
    ) -> None:
        """Raises ValueError for an invalid begin time or task ID."""
        self.entry, self.payload, self.worker_id, self.batch = entry, payload, worker_id, batch
        self.name, self.begin, self.end = entry.event_name, _begin(payload.k, entry), entry.end_time
        self.task_id, self.attempt = task_id, attempt
        if payload.t:
            self.task_id, self.attempt = _task(payload.t), payload.a

    def add_span(self, name: str, end: int, extra: Mapping[str, Any] | None = None) -> None:
        """Add a span of the task that begins with the event."""
        text = _text(extra) if extra else ""
        self.batch.spans.append(Span(self.task_id, self.attempt, name, self.begin, end, text))

    def add_edges(self, kind: str) -> int:
        """Add an edge for each listed object. Returns their number."""
        o, s = self.payload.o, self.payload.s
        return _edges(self.batch, self.task_id, self.attempt, kind, o, s, self.begin, self.end)

    def add_edge(self, kind: str, index: int) -> None:
        """Add an edge from the task to itself."""
        self.batch.edges.append(
            Edge(self.task_id, self.attempt, kind, self.task_id, index, None, self.begin, self.end)
        )

    def add_group_edges(self, kind: str) -> None:
        """Add an edge for each listed placement group. Its padded ID replaces that of an object's creator."""
        raw = _bytes(self.payload.g) if self.payload.g else b""
        if len(raw) % _GROUP_BYTES:
            raise ValueError(f"placement groups of {len(raw)} bytes")
        for at in range(0, len(raw), _GROUP_BYTES):
            group = raw[at : at + _GROUP_BYTES].hex().ljust(_TASK_DIGITS, "0")
            self.batch.edges.append(
                Edge(self.task_id, self.attempt, kind, group, NO_OBJECT, None, self.begin, self.end)
            )


def _add(event: _Event) -> None:
    """Add the records of an event. Raises ValueError if it is not one of ours."""
    name, payload = event.name, event.payload
    if not (payload.o or payload.g or payload.plain) and not name.startswith("rayscope."):
        raise ValueError("a span of Ray's own")
    if payload.plain:
        event.add_span(name, event.end)
    elif add_records := _ADD_RECORDS.get(name):
        add_records(event)


def _add_wait(event: _Event) -> None:
    payload = event.payload
    is_get = (event.name == "await" and not payload.x) or (event.name == "ray.get" and payload.s is not None)
    named = event.add_edges("get" if is_get else "wait")
    event.add_group_edges("wait")
    extra: dict[str, int] = {}
    if payload.n:
        extra = {"objects": payload.n, "unnamed": max(0, payload.n - named)}
    if payload.b:
        extra["bytes"] = payload.b
    if payload.ready is not None:
        extra["ready"] = payload.ready
    if payload.interrupted:
        extra["interrupted"] = 1  # must come last, because INTERRUPTED searches for it at the end
    event.add_span(event.name, event.end, extra)


def _add_put(event: _Event) -> None:
    event.add_edges("put")
    event.add_span(event.name, event.end)


def _add_contents(event: _Event) -> None:
    for size, check_sum in zip(event.payload.s or (), event.payload.sums, strict=True):
        event.add_span("content", event.begin, {"bytes": size, "check_sum": check_sum})


def _add_export(event: _Event) -> None:
    event.add_span("export", event.end, {"code": event.payload.code[:_MAX_TEXT], "bytes": event.payload.b})


def _add_definition(event: _Event) -> None:
    extra = {"code": event.payload.code[:_MAX_TEXT], **_plain(event.payload.values)}
    event.add_span("definition", event.begin, extra)


def _add_gpus(event: _Event) -> None:
    shares = {one: share for one, share in _plain(event.payload.values).items() if type(share) is float}
    event.add_span("gpus", event.begin, {"gpus": shares})


def _add_risk(event: _Event) -> None:
    payload = event.payload
    if payload.name not in _RISKS:
        raise ValueError("no risk")
    extra = {"place": payload.text[:_MAX_TEXT], "times": payload.n, **_plain(payload.values)}
    event.add_span(payload.name, event.begin, extra)


def _add_paused(event: _Event) -> None:
    text = event.payload.text[:_MAX_TEXT]
    event.batch.annotations.append(
        Annotation(event.task_id, event.attempt, "pause", "debugger", text, None, event.begin)
    )


def _add_plan(event: _Event) -> None:
    payload = event.payload
    event.batch.entities += _plan(payload.name, payload.operators, payload.inputs)
    event.batch.entities.append(
        _dataset(payload.name, event.task_id, "RUNNING", {"start_ns": event.begin}, event.begin)
    )


def _add_dataset_end(event: _Event) -> None:
    payload = event.payload
    if not payload.name or payload.text not in FINAL_STATES["dataset"]:
        raise ValueError("no end of a dataset")
    event.batch.entities.append(
        _dataset(payload.name, event.task_id, payload.text, {"end_ns": event.end}, event.end)
    )


def _add_awaited(event: _Event) -> None:
    event.batch.spans += _awaited(event.payload.y, event.entry, event.task_id, event.attempt)


def _add_callers(event: _Event) -> None:
    at = event.entry.start_time
    event.batch.edges += [
        Edge(callee, -1, "caller", caller, 0, None, at, at) for caller, callee in _calls(event.payload.d)
    ]


def _add_cancel(event: _Event) -> None:
    text = _text({"by": event.task_id})
    event.batch.spans.append(Span(_task(event.payload.c), 0, "ray.cancel", event.begin, event.begin, text))


def _add_canceled(event: _Event) -> None:
    message = "Canceled while it ran: a KeyboardInterrupt ended its function."
    error = TaskError(event.begin, CANCELED, message)
    event.batch.attempts.append(Attempt(event.task_id, event.attempt, error=error))


def _add_arguments(event: _Event) -> None:
    payload, begin, batch = event.payload, event.begin, event.batch
    callee = _task(payload.c)
    nested = [Edge(callee, -1, "nested", *found, None, begin, begin) for found in _objects(payload.i)]
    named = _edges(batch, callee, -1, "argument", payload.o, payload.s, begin, begin)
    batch.edges += nested
    if payload.n or payload.more:
        # There are more references than listed.
        extra = {"objects": payload.n, "unnamed": max(0, payload.n - named)} if payload.n else {"more": 1}
        batch.spans.append(Span(callee, 0, "arguments", begin, begin, _text(extra)))


def _add_blocked(event: _Event) -> None:
    call = event.payload.name
    if call == "rayscope.train_report":
        event.add_edge(f"blocked:{TRAIN_REPORT}", NO_OBJECT)
        return
    if call not in _WAITS:
        raise ValueError("no call that blocks")
    event.add_edges(f"blocked:{call}")
    event.add_group_edges(f"blocked:{call}")
    if event.payload.w:
        event.add_edge("blocks_loop", _WHOLE_TASK)


def _add_sum(event: _Event) -> None:
    payload = event.payload
    if payload.e > event.end + _SKEW_NS or payload.e < event.begin:
        raise ValueError("an end that has nothing to do with the begin")
    extra = {"calls": payload.calls, "objects": payload.n, "bytes": payload.b, "blocked_ns": payload.ns}
    if payload.w:
        event.task_id = ""
    event.add_span(payload.name[:_MAX_TEXT], payload.e, extra)


def _add_user_span(event: _Event) -> None:
    event.add_span(event.payload.name[:_MAX_TEXT], event.end, {"user": _plain(event.payload.values)})


def _add_annotation(event: _Event) -> None:
    for key, value in _plain(event.payload.values).items():
        number = float(value) if isinstance(value, (int, float)) else None
        event.batch.annotations.append(
            Annotation(event.task_id, event.attempt, "annotation", key, str(value), number, event.begin)
        )


def _add_counter(event: _Event) -> None:
    payload = event.payload
    number, said = (None, payload.text[:_MAX_TEXT]) if payload.text else (payload.value, f"{payload.value:g}")
    name = payload.name[:_MAX_TEXT]
    event.batch.annotations.append(
        Annotation(event.task_id, event.attempt, "counter", name, said, number, event.begin)
    )


def _add_tracer(event: _Event) -> None:
    payload = event.payload
    if len(event.worker_id) != _WORKER_BYTES:
        return
    said = f"off: {payload.off}" if payload.off else "on"
    if payload.missing:
        said += f", without {', '.join(payload.missing)}"
    event.batch.entities.append(Entity("worker", event.worker_id.hex(), {"tracer": said[:_MAX_TEXT]}))


#: By event name, the function that adds the event's records.
_ADD_RECORDS: dict[str, Callable[[_Event], Any]] = {
    **dict.fromkeys(_WAITS, _add_wait),
    "ray.put": _add_put,
    "rayscope.fetched": lambda event: event.add_edges("fetched"),
    "rayscope.contents": _add_contents,
    "rayscope.export": _add_export,
    "rayscope.definition": _add_definition,
    "rayscope.gpus": _add_gpus,
    "rayscope.risk": _add_risk,
    "rayscope.paused": _add_paused,
    "rayscope.plan": _add_plan,
    "rayscope.dataset_end": _add_dataset_end,
    "rayscope.awaited": _add_awaited,
    "rayscope.suspended": lambda event: event.add_edge(AWAITING, _WHOLE_TASK),
    "rayscope.callers": _add_callers,
    "rayscope.cancel": _add_cancel,
    "rayscope.canceled": _add_canceled,
    "rayscope.arguments": _add_arguments,
    "rayscope.blocked": _add_blocked,
    "rayscope.sum": _add_sum,
    "rayscope.span": _add_user_span,
    "rayscope.train_report": lambda event: event.add_span(TRAIN_REPORT, event.end, _report(event)),
    "rayscope.annotation": _add_annotation,
    "rayscope.counter": _add_counter,
    "rayscope.tracer": _add_tracer,
}


def _plan(dataset: str, operators: Sequence[str], inputs: Sequence[Sequence[int]]) -> list[Entity]:
    """One entity per operator of a dataset, with the IDs of its input operators.

    Raises ValueError for an invalid plan.
    """
    if not dataset or any(not 0 <= at < len(operators) for given in inputs for at in given):
        raise ValueError("a plan of something else")
    ids = [f"{dataset}/{operator}" for operator in operators]
    return [
        Entity(
            "dataset_operator",
            identity,
            {"dataset_id": dataset, "inputs": _encode([ids[at] for at in sorted(set(given))])},
        )
        for identity, given in zip(ids, inputs, strict=True)
    ]


def _dataset(dataset: str, task_id: str, state: str, change: dict[str, Value], time_ns: int) -> Entity:
    """A change in the state of a dataset that a task or a driver executes."""
    fields: dict[str, Value] = {"name": dataset_name(dataset), "job_id": task_id[-_JOB_DIGITS:]}
    return Entity("dataset", dataset, fields, {(time_ns, state): change})


def _report(event: _Event) -> dict[str, Any]:
    """The extra data of a Ray Train report. Raises ValueError for invalid values."""
    payload = event.payload
    if payload.e > event.begin + _SKEW_NS:
        raise ValueError("a report before the one before")
    extra: dict[str, Any] = {"step": payload.n, "rank": payload.rank, "metrics": metrics(payload.values)}
    if payload.e:
        extra["since_ns"] = payload.e
    if payload.wait is not None:
        extra["data_ns"] = payload.wait
    if payload.x:
        extra["checkpoint"] = payload.text[:_MAX_TEXT]
    return extra


def _plain(values: Mapping[str, str | int | float | bool | None]) -> dict[str, str | float]:
    return {
        key[:_MAX_TEXT]: value[:_MAX_TEXT] if isinstance(value, str) else value
        for key, value in values.items()
        if value is not None
    }


def _text(values: Mapping[str, Any]) -> str:
    return _encode(values) if values else ""


def _encode(values: Any) -> str:
    return msgspec.json.encode(values).decode()


def _task(text: str) -> str:
    if len(text) != _TASK_DIGITS or int(text, 16) < 0:
        raise ValueError(f"a task id of {len(text)} digits")
    return text.lower()


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"ids: {error}") from error


def _calls(text: str) -> list[tuple[str, str]]:
    """Decode pairs of IDs from base64: a caller, and the task that it called. Returns them in hex."""
    raw = _bytes(text)
    if not raw or len(raw) % (2 * _TASK_BYTES):
        raise ValueError(f"calls of {len(raw)} bytes")
    ids = [raw[at : at + _TASK_BYTES].hex() for at in range(0, len(raw), _TASK_BYTES)]
    return list(zip(ids[::2], ids[1::2], strict=True))


def _objects(text: str) -> list[tuple[str, int]]:
    """Decode concatenated object IDs from base64 to pairs: hex of the first 24 bytes, and the index."""
    raw = _bytes(text)
    if len(raw) % _OBJECT_BYTES:
        raise ValueError(f"objects of {len(raw)} bytes")
    return [
        (
            raw[at : at + _TASK_BYTES].hex(),
            int.from_bytes(raw[at + _TASK_BYTES : at + _OBJECT_BYTES], "little"),
        )
        for at in range(0, len(raw), _OBJECT_BYTES)
    ]


def _edges(
    batch: RecordBatch,
    task_id: str,
    attempt: int,
    kind: str,
    objects: str,
    sizes: Sequence[int] | None,
    begin_ns: int,
    end_ns: int,
) -> int:
    """Add an edge for each listed object. Returns their number."""
    found = _objects(objects)
    known = [None] * len(found) if sizes is None else sizes
    batch.edges += [
        Edge(task_id, attempt, kind, object_task, index, size, begin_ns, end_ns)
        for (object_task, index), size in zip(found, known, strict=True)
    ]
    return len(found)
