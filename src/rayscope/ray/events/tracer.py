"""What our tracer tells in profile events (:mod:`rayscope.tracer.emit`), as records.

The text of such an event is JSON with short names: ``t`` and ``a`` the task and attempt it is about, where
Ray does not know that; ``o`` objects (28 bytes each, base64), ``s`` their bytes, ``n`` and ``b`` the number
and the sum if there are more; ``g`` the placement groups that a call waits for (18 bytes each, base64); ``k``
when a call began (ns), since Ray's own begin is that of telling it.
What a task returned may come with what it was given: ``o`` its arguments, ``f`` their bytes, ``h`` when (ns);
and with ``u``, the CPU time (ns) that it took. ``y`` are the stretches in which a call of an async method was
suspended, four numbers each: begin (ns), length (ns), how much of it was awaited (ns), and in how many
suspensions. ``d`` pairs of callers and
the tasks that they called (24 bytes each, base64). ``text`` is the place of a risk, of which ``values`` say
more, and what a counter says that is no number. ``code`` is Ray's hash of a function's code; ``values`` of a
definition are those of :func:`rayscope.tracer.functions.describe`; ``sums`` are check sums of arguments. Of
a report of Ray Train ``n`` is its number, ``e`` when the one before ended, ``wait`` the time (ns) that it
waited for data in between, and ``x`` whether it has a checkpoint, at ``text``.
Of a dataset of Ray Data that is executed, ``operators`` are their ids, and ``inputs`` of each the numbers of
those that give it blocks. ``values`` of GPUs are the share of each that a task was given. What is told of
Ray Tune and of Ray Serve is in
:mod:`rayscope.ray.events.tune` and :mod:`rayscope.ray.events.serve`.
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

_OBJECT_BYTES, _TASK_BYTES, _TASK_DIGITS, _JOB_DIGITS, _WORKER_BYTES = 28, 24, 48, 8, 28
_GROUP_BYTES = 18
_MAX_TEXT = 1000
#: A call may block for so long, and Python's clock be so far from that of Ray's C++, ns.
_LONGEST_NS, _SKEW_NS = 100 * 86_400 * 10**9, 10**9
_SPANS = frozenset({"ray.get", "ray.wait", "await", "placement_group.wait"})
#: The number of an object in an edge that is about none.
_NO_OBJECT = 2**32 - 1
#: The span of a stretch in which a call of an async method was suspended, and the edge of one that lasts.
AWAITING = "awaiting"
#: The span of a report of Ray Train.
TRAIN_REPORT = "train.report"
_RISKS = frozenset({"fork", "pickled_reference", "data_issue"})


#: What fits into the record: times and sizes that can still be added up.
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Attempt = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Stretches = Annotated[list[_Time], msgspec.Meta(max_length=1_000)]
_Sizes = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=2**48)]], msgspec.Meta(max_length=10_000)]


class _Told(msgspec.Struct, gc=False):
    """What an event may say. Names are those of the wire."""

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
    """``Attempt.returned`` and ``Attempt.cpu_ns``, None where they are not told."""

    returned: tuple[int, int, int] | None = None
    cpu_ns: int | None = None


NOTHING_TOLD = Outcome()
_decode = msgspec.json.Decoder(_Told).decode
_decode_returned = msgspec.json.Decoder(_Returned).decode


def add(
    entries: Sequence[ProfileEntry], task_id: str, attempt: int, worker_id: bytes, batch: RecordBatch
) -> Outcome:
    """Add the records of the tracer's events in one profile, but for what they tell of its attempt itself.

    An event that does not look like ours is kept as the span that it is.
    """
    outcome = NOTHING_TOLD
    for entry in entries:
        try:
            if entry.event_name == RETURNED:
                told = _decode_returned(entry.extra_data)
                if not told.t:
                    outcome = Outcome(_returned(told, entry, task_id, attempt, batch), told.u)
                else:  # of a coroutine, which Ray ties to another task
                    theirs = Attempt(_task(told.t), told.a)
                    theirs.cpu_ns = told.u
                    batch.spans += _awaited(told.y, entry, theirs.task_id, theirs.attempt)
                    theirs.returned = _returned(told, entry, theirs.task_id, theirs.attempt, batch)
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
    """The stretches in which a call of an async method was suspended.

    Raises ValueError for what cannot be.
    """
    if len(numbers) % 4:
        raise ValueError(f"stretches of {len(numbers)} numbers")
    spans = []
    for at in range(0, len(numbers), 4):
        told_ns, length, awaited, times = numbers[at : at + 4]
        begin = _begin(told_ns, entry)
        if awaited > length or begin + length > entry.end_time + _SKEW_NS:
            raise ValueError("a suspension that has nothing to do with the end")
        is_one = awaited == length
        text = "" if is_one else _text({"calls": times, "objects": 0, "bytes": 0, "blocked_ns": awaited})
        spans.append(Span(task_id, attempt, AWAITING, begin, begin + length, text))
    return spans


def _returned(
    told: _Returned, entry: ProfileEntry, task_id: str, attempt: int, batch: RecordBatch
) -> tuple[int, int, int] | None:
    if told.o:
        at = _begin(told.h, entry)
        _edges(batch, task_id, attempt, "fetched", told.o, told.f, at, at)
    if not told.s:
        return None
    whole, begin = len(told.s) >= told.n, _begin(told.k, entry)
    for order, size in enumerate(told.s[1:], 2):
        kind = "last_return" if whole and order == len(told.s) else "return"
        batch.edges.append(Edge(task_id, attempt, kind, task_id, order, size, begin, entry.end_time))
    return begin, told.s[0], sum(told.s) if whole else told.b


def _begin(told_ns: int, entry: ProfileEntry) -> int:
    """When a call began that ended now. Raises ValueError for what cannot be."""
    if not told_ns:
        return entry.start_time
    if not entry.end_time - _LONGEST_NS <= told_ns <= entry.end_time + _SKEW_NS:
        raise ValueError("a begin that has nothing to do with the end")
    return min(told_ns, entry.end_time)


def _add(
    entry: ProfileEntry, told: _Told, task_id: str, attempt: int, worker_id: bytes, batch: RecordBatch
) -> None:
    name, end = entry.event_name, entry.end_time
    if not (told.o or told.g or told.plain) and not name.startswith("rayscope."):
        raise ValueError("a span of Ray's own")
    begin = _begin(told.k, entry)
    if told.t:
        task_id, attempt = _task(told.t), told.a
    if told.plain:
        batch.spans.append(Span(task_id, attempt, name, begin, end))
    elif name in _SPANS:
        got = (name == "await" and not told.x) or (name == "ray.get" and told.s is not None)
        named = _edges(batch, task_id, attempt, "get" if got else "wait", told.o, told.s, begin, end)
        _group_edges(batch, task_id, attempt, "wait", told.g, begin, end)
        extra: dict[str, str | float] = {}
        if told.n:
            extra = {"objects": told.n, "unnamed": max(0, told.n - named)}
        if told.b:
            extra["bytes"] = told.b
        if told.ready is not None:
            extra["ready"] = told.ready
        if told.interrupted:
            extra["interrupted"] = 1  # INTERRUPTED looks for it at the end
        batch.spans.append(Span(task_id, attempt, name, begin, end, _text(extra)))
    elif name == "ray.put":
        _edges(batch, task_id, attempt, "put", told.o, told.s, begin, end)
        batch.spans.append(Span(task_id, attempt, name, begin, end))
    elif name == "rayscope.fetched":
        _edges(batch, task_id, attempt, "fetched", told.o, told.s, begin, end)
    elif name == "rayscope.contents":
        for size, check_sum in zip(told.s or (), told.sums, strict=True):
            text = _text({"bytes": size, "check_sum": check_sum})
            batch.spans.append(Span(task_id, attempt, "content", begin, begin, text))
    elif name == "rayscope.export":
        text = _text({"code": told.code[:_MAX_TEXT], "bytes": told.b})
        batch.spans.append(Span(task_id, attempt, "export", begin, end, text))
    elif name == "rayscope.definition":
        text = _text({"code": told.code[:_MAX_TEXT], **_plain(told.values)})
        batch.spans.append(Span(task_id, attempt, "definition", begin, begin, text))
    elif name == "rayscope.gpus":
        shares = {one: share for one, share in _plain(told.values).items() if type(share) is float}
        batch.spans.append(Span(task_id, attempt, "gpus", begin, begin, _text({"gpus": shares})))
    elif name == "rayscope.risk":
        if told.name not in _RISKS:
            raise ValueError("no risk")
        text = _text({"place": told.text[:_MAX_TEXT], "times": told.n, **_plain(told.values)})
        batch.spans.append(Span(task_id, attempt, told.name, begin, begin, text))
    elif name == "rayscope.plan":
        batch.entities += _plan(told.name, told.operators, told.inputs)
        batch.entities.append(_dataset(told.name, task_id, "RUNNING", {"start_ns": begin}, begin))
    elif name == "rayscope.dataset_end":
        if not told.name or told.text not in FINAL_STATES["dataset"]:
            raise ValueError("no end of a dataset")
        batch.entities.append(_dataset(told.name, task_id, told.text, {"end_ns": end}, end))
    elif name == "rayscope.awaited":
        batch.spans += _awaited(told.y, entry, task_id, attempt)
    elif name == "rayscope.suspended":
        batch.edges.append(Edge(task_id, attempt, AWAITING, task_id, _NO_OBJECT, None, begin, end))
    elif name == "rayscope.callers":
        batch.edges += [
            Edge(callee, -1, "caller", caller, 0, None, entry.start_time, entry.start_time)
            for caller, callee in _calls(told.d)
        ]
    elif name == "rayscope.cancel":
        batch.spans.append(Span(_task(told.c), 0, "ray.cancel", begin, begin, _text({"by": task_id})))
    elif name == "rayscope.canceled":
        error = TaskError(begin, CANCELED, "Canceled while it ran: a KeyboardInterrupt ended its function.")
        batch.attempts.append(Attempt(task_id, attempt, error=error))
    elif name == "rayscope.arguments":
        callee = _task(told.c)
        nested = [Edge(callee, -1, "nested", *found, None, begin, begin) for found in _objects(told.i)]
        named = _edges(batch, callee, -1, "argument", told.o, told.s, begin, begin)
        batch.edges += nested
        if told.n or told.more:
            # More references than are named one by one.
            extra = {"objects": told.n, "unnamed": max(0, told.n - named)} if told.n else {"more": 1}
            batch.spans.append(Span(callee, 0, "arguments", begin, begin, _text(extra)))
    elif name == "rayscope.blocked":
        if told.name == "rayscope.train_report":
            kind = f"blocked:{TRAIN_REPORT}"
            batch.edges.append(Edge(task_id, attempt, kind, task_id, NO_OBJECT, None, begin, end))
            return
        if told.name not in _SPANS:
            raise ValueError("no call that blocks")
        _edges(batch, task_id, attempt, f"blocked:{told.name}", told.o, told.s, begin, end)
        _group_edges(batch, task_id, attempt, f"blocked:{told.name}", told.g, begin, end)
        if told.w:
            batch.edges.append(Edge(task_id, attempt, "blocks_loop", task_id, _NO_OBJECT, None, begin, end))
    elif name == "rayscope.sum":
        if told.e > end + _SKEW_NS or told.e < begin:
            raise ValueError("an end that has nothing to do with the begin")
        extra = {"calls": told.calls, "objects": told.n, "bytes": told.b, "blocked_ns": told.ns}
        of = "" if told.w else task_id
        batch.spans.append(Span(of, attempt, told.name[:_MAX_TEXT], begin, told.e, _text(extra)))
    elif name == "rayscope.span":
        text = _text({"user": _plain(told.values)})
        batch.spans.append(Span(task_id, attempt, told.name[:_MAX_TEXT], begin, end, text))
    elif name == "rayscope.train_report":
        batch.spans.append(Span(task_id, attempt, TRAIN_REPORT, begin, end, _text(_report(told, begin))))
    elif name == "rayscope.annotation":
        for key, value in _plain(told.values).items():
            number = float(value) if isinstance(value, (int, float)) else None
            batch.annotations.append(
                Annotation(task_id, attempt, "annotation", key, str(value), number, begin)
            )
    elif name == "rayscope.counter":
        number, said = (None, told.text[:_MAX_TEXT]) if told.text else (told.value, f"{told.value:g}")
        batch.annotations.append(
            Annotation(task_id, attempt, "counter", told.name[:_MAX_TEXT], said, number, begin)
        )
    elif name == "rayscope.tracer" and len(worker_id) == _WORKER_BYTES:
        said = f"off: {told.off}" if told.off else "on"
        if told.missing:
            said += f", without {', '.join(told.missing)}"
        batch.entities.append(Entity("worker", worker_id.hex(), {"tracer": said[:_MAX_TEXT]}))


def _plan(dataset: str, operators: Sequence[str], inputs: Sequence[Sequence[int]]) -> list[Entity]:
    """Of each operator of a dataset the ids of those that it takes its input from. Raises ValueError."""
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
    """A dataset that a task or a driver executes, with a change of its state."""
    fields: dict[str, Value] = {"name": dataset_name(dataset), "job_id": task_id[-_JOB_DIGITS:]}
    return Entity("dataset", dataset, fields, {(time_ns, state): change})


def _report(told: _Told, begin_ns: int) -> dict[str, Any]:
    """What a worker of Ray Train reported. Raises ValueError for what cannot be."""
    if told.e > begin_ns + _SKEW_NS:
        raise ValueError("a report before the one before")
    extra: dict[str, Any] = {"step": told.n, "rank": told.rank, "metrics": metrics(told.values)}
    if told.e:
        extra["since_ns"] = told.e
    if told.wait is not None:
        extra["data_ns"] = told.wait
    if told.x:
        extra["checkpoint"] = told.text[:_MAX_TEXT]
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
    """Hex ids of callers and of the tasks that they called, from their bytes concatenated in base64."""
    raw = _bytes(text)
    if not raw or len(raw) % (2 * _TASK_BYTES):
        raise ValueError(f"calls of {len(raw)} bytes")
    ids = [raw[at : at + _TASK_BYTES].hex() for at in range(0, len(raw), _TASK_BYTES)]
    return list(zip(ids[::2], ids[1::2], strict=True))


def _objects(text: str) -> list[tuple[str, int]]:
    """Object ids, concatenated in base64: the hex of their first 24 bytes, and the number behind them."""
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
    """Add an edge for each object that is named. Returns how many are."""
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
    """Add an edge for each placement group: its ID, filled up, stands for the task that makes an object."""
    raw = _bytes(groups) if groups else b""
    if len(raw) % _GROUP_BYTES:
        raise ValueError(f"placement groups of {len(raw)} bytes")
    for at in range(0, len(raw), _GROUP_BYTES):
        group = raw[at : at + _GROUP_BYTES].hex().ljust(_TASK_DIGITS, "0")
        batch.edges.append(Edge(task_id, attempt, kind, group, NO_OBJECT, None, begin_ns, end_ns))
