"""Converts the tracer's profile events (:mod:`rayscope.tracer.emit`) to records.

The text of an event is JSON with short names, whose meaning depends on the event:

- ``t``, ``a``: task and attempt of the event, if Ray does not know them.
- ``o``: objects (28 bytes each, base64); ``s``: their sizes in bytes; ``n``, ``b``: number and total size if
  there are more.
- ``g``: placement groups that a call waits for (18 bytes each, base64).
- ``k``: when a call began (ns). Ray's own begin is when it was reported.
- ``d``: pairs of a caller and the task that it called (24 bytes each, base64).
- ``text``: the place of a risk, whose details are ``values``; or the value of a counter that is not a number.
- ``code``: Ray's hash of a function's code. ``values`` are then from
  :func:`rayscope.tracer.functions.describe`.
- ``sums``: checksums of arguments.
- Return values: ``o``, ``f`` and ``h`` are the IDs, sizes and time (ns) of the task's arguments, ``u`` is the
  CPU time (ns).
- ``y``: suspensions of a call of an async method, four numbers each: begin (ns), length (ns), time awaited
  (ns), and number of suspensions.
- Reports of Ray Train: ``n`` is its number, ``e`` when the previous one ended, ``wait`` the time (ns) since
  then spent waiting for data, ``x`` whether it has a checkpoint, at ``text``.
- Plans of Ray Data: ``operators`` are IDs, and ``inputs`` the indexes of each operator's input operators.
- GPUs: ``values`` are the share of each that is assigned to a task.

Events about Ray Tune and Ray Serve are in :mod:`rayscope.ray.events.tune` and
:mod:`rayscope.ray.events.serve`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from rayscope.model import NO_OBJECT, Annotation, Attempt, Edge, Entity, RecordBatch, Span, TaskError
from rayscope.model.attempt import CANCELED
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.model.entity import FINAL_STATES, Value
from rayscope.ray.common import RETURNED, ProfileEntry
from rayscope.ray.events import serve, tune
from rayscope.ray.events.reported import metrics
from rayscope.ray.libraries.data import dataset_name

_ERRORS: tuple[type[Exception], ...] = (*DECODE_ERRORS, OverflowError)

_OBJECT_BYTES = 28
_TASK_BYTES = 24
_TASK_DIGITS = 48
_JOB_DIGITS = 8
_WORKER_BYTES = 28
_GROUP_BYTES = 18
#: Maximum number of characters of a text.
_MAX_TEXT = 1000
#: Maximum duration of a call, in ns.
_LONGEST_NS = 100 * 86_400 * 10**9
#: Maximum difference between the clocks of Python and of Ray's C++, in ns.
_SKEW_NS = 10**9
_SPANS = frozenset({"ray.get", "ray.wait", "await", "placement_group.wait"})
#: Index of the object in an edge that has none.
_NO_OBJECT = 2**32 - 1
#: The span of a stretch in which a call of an async method was suspended, and the edge of an open suspension.
AWAITING = "awaiting"
#: The span of a report of Ray Train.
TRAIN_REPORT = "train.report"
_RISKS = frozenset({"fork", "pickled_reference", "data_issue"})


# Limits of the record, chosen so that values can still be added up.
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Attempt = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Stretches = Annotated[list[_Time], msgspec.Meta(max_length=1_000)]
_Sizes = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=2**48)]], msgspec.Meta(max_length=10_000)]


class _Payload(msgspec.Struct, gc=False):
    """The possible fields of an event, named as on the wire. See the module."""

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


class Outcome(NamedTuple):
    """``Attempt.returned`` and ``Attempt.cpu_ns``, None if the events do not contain them."""

    returned: tuple[int, int, int] | None = None
    cpu_ns: int | None = None


NO_OUTCOME = Outcome()
_decode = msgspec.json.Decoder(_Payload).decode
_decode_returned = msgspec.json.Decoder(_Returned).decode


def add(
    entries: Sequence[ProfileEntry], task_id: str, attempt: int, worker_id: bytes, batch: RecordBatch
) -> Outcome:
    """Add the records of the tracer's events in one profile. Returns what they say about its attempt.

    An event that does not look like one of ours becomes a plain span.
    """
    outcome = NO_OUTCOME
    for entry in entries:
        try:
            if entry.event_name == RETURNED:
                payload = _decode_returned(entry.extra_data)
                if not payload.t:
                    outcome = Outcome(_returned(payload, entry, task_id, attempt, batch), payload.u)
                else:  # the event of a coroutine, which Ray attributes to another task
                    theirs = Attempt(_task(payload.t), payload.a)
                    theirs.cpu_ns = payload.u
                    batch.spans += _awaited(payload.y, entry, theirs.task_id, theirs.attempt)
                    theirs.returned = _returned(payload, entry, theirs.task_id, theirs.attempt, batch)
                    batch.attempts.append(theirs)
            elif entry.event_name.startswith("rayscope.tune_"):
                tune.add(entry, task_id, attempt, batch)
            elif entry.event_name == "rayscope.serve":
                batch.spans += serve.spans(entry, task_id, attempt)
            else:
                _add(entry, _decode(entry.extra_data), task_id, attempt, worker_id, batch)
        except _ERRORS:
            batch.spans.append(
                Span(task_id, attempt, entry.event_name, entry.start_time, entry.end_time, entry.extra_data)
            )
    return outcome


def _awaited(numbers: Sequence[int], entry: ProfileEntry, task_id: str, attempt: int) -> list[Span]:
    """The spans in which a call of an async method was suspended.

    Raises ValueError for impossible values.
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
    """Check when a call began that ended at the end of ``entry``. Raises ValueError if it is impossible."""
    if not begin_ns:
        return entry.start_time
    if not entry.end_time - _LONGEST_NS <= begin_ns <= entry.end_time + _SKEW_NS:
        raise ValueError("a begin that has nothing to do with the end")
    return min(begin_ns, entry.end_time)


def _add(
    entry: ProfileEntry, payload: _Payload, task_id: str, attempt: int, worker_id: bytes, batch: RecordBatch
) -> None:
    name, end = entry.event_name, entry.end_time
    if not (payload.o or payload.g or payload.plain) and not name.startswith("rayscope."):
        raise ValueError("a span of Ray's own")
    begin = _begin(payload.k, entry)
    if payload.t:
        task_id, attempt = _task(payload.t), payload.a
    if payload.plain:
        batch.spans.append(Span(task_id, attempt, name, begin, end))
    elif name in _SPANS:
        got = (name == "await" and not payload.x) or (name == "ray.get" and payload.s is not None)
        named = _edges(batch, task_id, attempt, "get" if got else "wait", payload.o, payload.s, begin, end)
        _group_edges(batch, task_id, attempt, "wait", payload.g, begin, end)
        extra: dict[str, str | float] = {}
        if payload.n:
            extra = {"objects": payload.n, "unnamed": max(0, payload.n - named)}
        if payload.b:
            extra["bytes"] = payload.b
        if payload.ready is not None:
            extra["ready"] = payload.ready
        if payload.interrupted:
            extra["interrupted"] = 1  # must come last, because INTERRUPTED searches for it at the end
        batch.spans.append(Span(task_id, attempt, name, begin, end, _text(extra)))
    elif name == "ray.put":
        _edges(batch, task_id, attempt, "put", payload.o, payload.s, begin, end)
        batch.spans.append(Span(task_id, attempt, name, begin, end))
    elif name == "rayscope.fetched":
        _edges(batch, task_id, attempt, "fetched", payload.o, payload.s, begin, end)
    elif name == "rayscope.contents":
        for size, check_sum in zip(payload.s or (), payload.sums, strict=True):
            text = _text({"bytes": size, "check_sum": check_sum})
            batch.spans.append(Span(task_id, attempt, "content", begin, begin, text))
    elif name == "rayscope.export":
        text = _text({"code": payload.code[:_MAX_TEXT], "bytes": payload.b})
        batch.spans.append(Span(task_id, attempt, "export", begin, end, text))
    elif name == "rayscope.definition":
        text = _text({"code": payload.code[:_MAX_TEXT], **_plain(payload.values)})
        batch.spans.append(Span(task_id, attempt, "definition", begin, begin, text))
    elif name == "rayscope.gpus":
        shares = {one: share for one, share in _plain(payload.values).items() if type(share) is float}
        batch.spans.append(Span(task_id, attempt, "gpus", begin, begin, _text({"gpus": shares})))
    elif name == "rayscope.risk":
        if payload.name not in _RISKS:
            raise ValueError("no risk")
        text = _text({"place": payload.text[:_MAX_TEXT], "times": payload.n, **_plain(payload.values)})
        batch.spans.append(Span(task_id, attempt, payload.name, begin, begin, text))
    elif name == "rayscope.plan":
        batch.entities += _plan(payload.name, payload.operators, payload.inputs)
        batch.entities.append(_dataset(payload.name, task_id, "RUNNING", {"start_ns": begin}, begin))
    elif name == "rayscope.dataset_end":
        if not payload.name or payload.text not in FINAL_STATES["dataset"]:
            raise ValueError("no end of a dataset")
        batch.entities.append(_dataset(payload.name, task_id, payload.text, {"end_ns": end}, end))
    elif name == "rayscope.awaited":
        batch.spans += _awaited(payload.y, entry, task_id, attempt)
    elif name == "rayscope.suspended":
        batch.edges.append(Edge(task_id, attempt, AWAITING, task_id, _NO_OBJECT, None, begin, end))
    elif name == "rayscope.callers":
        batch.edges += [
            Edge(callee, -1, "caller", caller, 0, None, entry.start_time, entry.start_time)
            for caller, callee in _calls(payload.d)
        ]
    elif name == "rayscope.cancel":
        batch.spans.append(Span(_task(payload.c), 0, "ray.cancel", begin, begin, _text({"by": task_id})))
    elif name == "rayscope.canceled":
        error = TaskError(begin, CANCELED, "Canceled while it ran: a KeyboardInterrupt ended its function.")
        batch.attempts.append(Attempt(task_id, attempt, error=error))
    elif name == "rayscope.arguments":
        callee = _task(payload.c)
        nested = [Edge(callee, -1, "nested", *found, None, begin, begin) for found in _objects(payload.i)]
        named = _edges(batch, callee, -1, "argument", payload.o, payload.s, begin, begin)
        batch.edges += nested
        if payload.n or payload.more:
            # There are more references than listed.
            extra = {"objects": payload.n, "unnamed": max(0, payload.n - named)} if payload.n else {"more": 1}
            batch.spans.append(Span(callee, 0, "arguments", begin, begin, _text(extra)))
    elif name == "rayscope.blocked":
        if payload.name == "rayscope.train_report":
            kind = f"blocked:{TRAIN_REPORT}"
            batch.edges.append(Edge(task_id, attempt, kind, task_id, NO_OBJECT, None, begin, end))
            return
        if payload.name not in _SPANS:
            raise ValueError("no call that blocks")
        _edges(batch, task_id, attempt, f"blocked:{payload.name}", payload.o, payload.s, begin, end)
        _group_edges(batch, task_id, attempt, f"blocked:{payload.name}", payload.g, begin, end)
        if payload.w:
            batch.edges.append(Edge(task_id, attempt, "blocks_loop", task_id, _NO_OBJECT, None, begin, end))
    elif name == "rayscope.sum":
        if payload.e > end + _SKEW_NS or payload.e < begin:
            raise ValueError("an end that has nothing to do with the begin")
        extra = {"calls": payload.calls, "objects": payload.n, "bytes": payload.b, "blocked_ns": payload.ns}
        of = "" if payload.w else task_id
        batch.spans.append(Span(of, attempt, payload.name[:_MAX_TEXT], begin, payload.e, _text(extra)))
    elif name == "rayscope.span":
        text = _text({"user": _plain(payload.values)})
        batch.spans.append(Span(task_id, attempt, payload.name[:_MAX_TEXT], begin, end, text))
    elif name == "rayscope.train_report":
        batch.spans.append(Span(task_id, attempt, TRAIN_REPORT, begin, end, _text(_report(payload, begin))))
    elif name == "rayscope.annotation":
        for key, value in _plain(payload.values).items():
            number = float(value) if isinstance(value, (int, float)) else None
            batch.annotations.append(
                Annotation(task_id, attempt, "annotation", key, str(value), number, begin)
            )
    elif name == "rayscope.counter":
        number, said = (
            (None, payload.text[:_MAX_TEXT]) if payload.text else (payload.value, f"{payload.value:g}")
        )
        batch.annotations.append(
            Annotation(task_id, attempt, "counter", payload.name[:_MAX_TEXT], said, number, begin)
        )
    elif name == "rayscope.tracer" and len(worker_id) == _WORKER_BYTES:
        said = f"off: {payload.off}" if payload.off else "on"
        if payload.missing:
            said += f", without {', '.join(payload.missing)}"
        batch.entities.append(Entity("worker", worker_id.hex(), {"tracer": said[:_MAX_TEXT]}))


def _plan(dataset: str, operators: Sequence[str], inputs: Sequence[Sequence[int]]) -> list[Entity]:
    """One entity per operator of a dataset, with the IDs of its input operators. Raises ValueError."""
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
    """A change of state of a dataset that a task or a driver executes."""
    fields: dict[str, Value] = {"name": dataset_name(dataset), "job_id": task_id[-_JOB_DIGITS:]}
    return Entity("dataset", dataset, fields, {(time_ns, state): change})


def _report(payload: _Payload, begin_ns: int) -> dict[str, Any]:
    """The extra data of a Ray Train report. Raises ValueError for impossible values."""
    if payload.e > begin_ns + _SKEW_NS:
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
    """Hex IDs of callers and of the tasks they called, from their concatenated bytes in base64."""
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
    """Add an edge per listed object. Returns their number."""
    found = _objects(objects)
    known = [None] * len(found) if sizes is None else sizes
    batch.edges += [
        Edge(task_id, attempt, kind, object_task, index, size, begin_ns, end_ns)
        for (object_task, index), size in zip(found, known, strict=True)
    ]
    return len(found)


def _group_edges(
    batch: RecordBatch, task_id: str, attempt: int, kind: str, groups: str, begin_ns: int, end_ns: int
) -> None:
    """Add an edge per placement group. Its padded ID takes the place of the task that created the object."""
    raw = _bytes(groups) if groups else b""
    if len(raw) % _GROUP_BYTES:
        raise ValueError(f"placement groups of {len(raw)} bytes")
    for at in range(0, len(raw), _GROUP_BYTES):
        group = raw[at : at + _GROUP_BYTES].hex().ljust(_TASK_DIGITS, "0")
        batch.edges.append(Edge(task_id, attempt, kind, group, NO_OBJECT, None, begin_ns, end_ns))
