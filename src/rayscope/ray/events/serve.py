"""What our tracer tells of Ray Serve (:mod:`rayscope.tracer.serve`), as spans."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from rayscope.model import Span
from rayscope.ray.common import ProfileEntry

#: The spans of a part of a request of Ray Serve, of a deployment's calls, and of parts that are only counted.
SERVE_HOP, SERVE_CALLS, SERVE_LEFT_OUT = "serve.hop", "serve.calls", "serve.left_out"
#: A request may take so long, and Python's clock be so far from that of Ray's C++, ns.
_LONGEST_NS, _SKEW_NS = 100 * 86_400 * 10**9, 10**9
_TASK_DIGITS = 48

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Name = Annotated[str, msgspec.Meta(max_length=2_000)]


class _Hop(msgspec.Struct, gc=False):
    """A part of a request of Ray Serve: in a proxy, or in a replica of the deployment ``dep``.

    ``id`` is Serve's, ``q`` the one that its user sees; ``r`` the route, ``m`` the method, ``s`` the status,
    ``f`` whether it failed, with an error of the class ``err``. ``n`` calls of deployments, in ``d`` ns;
    ``c`` those that took longest: the deployment, begin, end, time in the queue, whether it failed.
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
    dep: _Name = ""
    f: int = 0
    n: _Number = 0
    d: _Number | None = None
    c: Annotated[list[tuple[_Name, _Time, _Time, _Number, int]], msgspec.Meta(max_length=100)] = []


class _CallSum(msgspec.Struct, rename={"caller": "from", "callee": "to"}, gc=False):
    """Calls of one deployment by another: ``n`` of them, and ``x`` whose caller got an error.

    ``l``: numbers of buckets of how long they took, each with how many did.
    """

    caller: _Name
    callee: _Name
    n: _Number
    x: _Number = 0
    l: Annotated[list[_Number], msgspec.Meta(max_length=10_000)] = []  # noqa: E741


class _Told(msgspec.Struct, gc=False):
    """What a proxy or a replica noted from ``k`` to ``e``, ns. ``n``: slow hops that are only counted."""

    k: _Time
    e: _Time
    hops: Annotated[list[_Hop], msgspec.Meta(max_length=1_000)] = []
    edges: Annotated[list[_CallSum], msgspec.Meta(max_length=1_000)] = []
    n: _Number = 0
    t: str = ""
    a: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


_decode = msgspec.json.Decoder(_Told).decode


def spans(entry: ProfileEntry, task_id: str, attempt: int) -> list[Span]:
    """The spans of an event. Raises ValueError and msgspec's errors for what is none of ours."""
    told, end_ns = _decode(entry.extra_data), entry.end_time
    if told.t:
        task_id, attempt = _task(told.t), told.a
    begin_ns = told.k
    times = [(one.k, one.e) for one in told.hops] + [(one[1], one[2]) for hop in told.hops for one in hop.c]
    times.append((begin_ns, told.e))
    if any(not end_ns - _LONGEST_NS <= since <= until <= end_ns + _SKEW_NS for since, until in times):
        raise ValueError("times that have nothing to do with each other")
    found = [Span(task_id, attempt, SERVE_HOP, hop.k, hop.e, _encode(_hop(hop))) for hop in told.hops]
    for edge in told.edges:
        extra = {
            "caller": edge.caller,
            "callee": edge.callee,
            "calls": edge.n,
            "errors": edge.x,
            "latency": {str(at): count for at, count in zip(edge.l[::2], edge.l[1::2], strict=True)},
        }
        found.append(Span(task_id, attempt, SERVE_CALLS, begin_ns, told.e, _encode(extra)))
    if told.n:
        found.append(Span(task_id, attempt, SERVE_LEFT_OUT, begin_ns, told.e, _encode({"hops": told.n})))
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
