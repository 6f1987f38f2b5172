"""Converts the tracer's events about Ray Serve (:mod:`rayscope.tracer.serve`) to spans."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from rayscope.model import Span
from rayscope.ray.common import ProfileEntry

#: Name of the span for a hop, which is a part of a request.
SERVE_HOP = "serve.hop"
#: Name of the span for the calls between two deployments in an interval.
SERVE_CALLS = "serve.calls"
#: Name of the span that reports how many slow hops were not sent.
SERVE_LEFT_OUT = "serve.left_out"
#: Maximum duration of a request, in ns.
_LONGEST_NS = 100 * 86_400 * 10**9
#: Maximum difference between the clocks of Python and of Ray's C++, in ns.
_SKEW_NS = 10**9
_TASK_DIGITS = 48

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Name = Annotated[str, msgspec.Meta(max_length=2_000)]


class _Hop(msgspec.Struct, gc=False):
    """A part of a request: in a proxy, or in a replica of the deployment ``dep``.

    The names are those of the wire format. ``id``: Serve's request ID; ``q``: the ID that the user sees;
    ``r``: route; ``m``: method; ``s``: status; ``f``: whether it failed, with an error of class ``err``;
    ``w``: the client's span (W3C Trace Context); ``n``: number of calls to other deployments; ``d``: time
    covered by these calls, ns; ``c``: the longest of them as (deployment, begin, end, time in the queue,
    whether it failed).
    """

    k: _Time
    e: _Time
    id: _Name
    app: _Name
    q: _Name = ""
    r: _Name = ""
    m: _Name = ""
    s: _Name = ""
    err: _Name = ""
    w: _Name = ""
    dep: _Name = ""
    f: int = 0
    n: _Number = 0
    d: _Number | None = None
    c: Annotated[list[tuple[_Name, _Time, _Time, _Number, int]], msgspec.Meta(max_length=100)] = []


class _CallSum(msgspec.Struct, rename={"caller": "from", "callee": "to"}, gc=False):
    """Calls from one deployment to another: ``n`` in total, of which ``x`` raised an error in the caller.

    ``l``: pairs of a latency bucket and the number of calls in it.
    """

    caller: _Name
    callee: _Name
    n: _Number
    x: _Number = 0
    l: Annotated[list[_Number], msgspec.Meta(max_length=10_000)] = []  # noqa: E741


class _Payload(msgspec.Struct, gc=False):
    """The report of a proxy or replica for the interval from ``k`` to ``e`` (ns).

    ``n``: number of slow hops that were not sent.
    """

    k: _Time
    e: _Time
    hops: Annotated[list[_Hop], msgspec.Meta(max_length=1_000)] = []
    edges: Annotated[list[_CallSum], msgspec.Meta(max_length=1_000)] = []
    n: _Number = 0
    t: str = ""
    a: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


_decode = msgspec.json.Decoder(_Payload).decode


def spans(entry: ProfileEntry, task_id: str, attempt: int) -> list[Span]:
    """The spans of an event. Raises ValueError or an error of msgspec's if the event is not ours."""
    payload, end_ns = _decode(entry.extra_data), entry.end_time
    if payload.t:
        task_id, attempt = _task(payload.t), payload.a
    begin_ns = payload.k
    times = [(hop.k, hop.e) for hop in payload.hops] + [
        (call[1], call[2]) for hop in payload.hops for call in hop.c
    ]
    times.append((begin_ns, payload.e))
    if any(not end_ns - _LONGEST_NS <= since <= until <= end_ns + _SKEW_NS for since, until in times):
        raise ValueError("times that have nothing to do with each other")
    found = [Span(task_id, attempt, SERVE_HOP, hop.k, hop.e, _encode(_hop(hop))) for hop in payload.hops]
    for edge in payload.edges:
        extra = {
            "caller": edge.caller,
            "callee": edge.callee,
            "calls": edge.n,
            "errors": edge.x,
            "latency": {str(at): count for at, count in zip(edge.l[::2], edge.l[1::2], strict=True)},
        }
        found.append(Span(task_id, attempt, SERVE_CALLS, begin_ns, payload.e, _encode(extra)))
    if payload.n:
        found.append(
            Span(task_id, attempt, SERVE_LEFT_OUT, begin_ns, payload.e, _encode({"hops": payload.n}))
        )
    return found


def _hop(hop: _Hop) -> dict[str, Any]:
    return {
        "request": hop.id,
        "application": hop.app,
        "deployment": hop.dep,
        "request_id": hop.q,
        "route": hop.r,
        "method": hop.m,
        "status": hop.s,
        "failed": bool(hop.f),
        "error": hop.err,
        "traceparent": hop.w,
        "call_count": hop.n,
        "downstream_ns": hop.d,
        "calls": [
            {"callee": callee, "begin_ns": since, "end_ns": until, "queue_ns": queue, "failed": bool(failed)}
            for callee, since, until, queue, failed in hop.c
        ],
    }


def _task(task_id: str) -> str:
    if len(task_id) != _TASK_DIGITS or int(task_id, 16) < 0:
        raise ValueError(f"a task id of {len(task_id)} digits")
    return task_id.lower()


def _encode(values: Any) -> str:
    return msgspec.json.encode(values).decode()
