"""Assembles requests from their hops, and computes latencies from histogram buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from rayscope.libraries.serve import schemas

Row = dict[str, Any]


class _Call(msgspec.Struct):
    callee: str
    begin_ns: int
    end_ns: int
    queue_ns: int
    failed: bool


class _HopPayload(msgspec.Struct):
    """A hop as recorded by the tracer. ``deployment`` is "" for a proxy."""

    application: str
    deployment: str
    request_id: str
    route: str
    method: str
    status: str
    failed: bool
    error: str
    call_count: int
    calls: list[_Call]
    downstream_ns: int | None = None
    traceparent: str = ""


_decoder = msgspec.json.Decoder(_HopPayload)


@dataclass
class _Hop:
    """A part of a request in one process.

    ``call``: the call that it answers, if known; ``calls``: its own calls, each with the hop that answers it.
    """

    row: Row
    payload: _HopPayload
    call: _Call | None = None
    calls: list[tuple[_Call, _Hop | None]] = field(default_factory=list)

    @property
    def took_ns(self) -> int:
        return int(self.row["end_ns"] - self.row["begin_ns"])

    @property
    def deployment_id(self) -> str:
        return f"{self.payload.application}#{self.payload.deployment}"

    @property
    def queue_ns(self) -> int | None:
        """The time in the queue, ns. It is limited to the part of the call outside of this hop, because the
        caller learns late that the replica has begun.
        """
        if self.call is None:
            return None
        return max(0, min(self.call.queue_ns, self.call.end_ns - self.call.begin_ns - self.took_ns))


def requests(rows: Iterable[Row]) -> list[schemas.ServeRequest]:
    """Requests as returned by the API. All hops of a request must be adjacent, the earliest first."""
    found = []
    for _, of_one in groupby(rows, lambda row: row["request"]):
        hops = [_Hop(row, payload) for row in of_one if (payload := _decode(row["extra"])) is not None]
        if hops:
            found.append(_request(hops))
    return found


def _decode(extra: str) -> _HopPayload | None:
    try:
        return _decoder.decode(extra)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None  # another program recorded a span with the same name


def _request(hops: list[_Hop]) -> schemas.ServeRequest:
    entry = max(hops, key=lambda hop: (hop.payload.deployment == "", hop.took_ns))
    _match(hops, entry)
    steps = list(_steps(entry, 0))
    for hop in hops:
        if hop is not entry and hop.call is None:
            steps += _steps(hop, 1)
    payload = entry.payload
    proxy_ns, queue_ns, replica_ns, downstream_ns = _parts(entry)
    return {
        "request": entry.row["request"],
        "request_id": payload.request_id,
        "time_ns": entry.row["begin_ns"],
        "total_ns": entry.took_ns,
        "proxy_ns": proxy_ns,
        "queue_ns": queue_ns,
        "replica_ns": replica_ns,
        "downstream_ns": downstream_ns,
        "route": payload.route,
        "method": payload.method,
        "status": payload.status,
        "failed": payload.failed,
        "error": next((hop.payload.error for hop in hops if hop.payload.error), None),
        "traceparent": payload.traceparent or None,
        "deployments": list(dict.fromkeys(step["deployment"] for step in steps if step["deployment"])),
        "steps": steps,
    }


def _match(hops: Sequence[_Hop], entry: _Hop) -> None:
    """Assign to each call the hop of its deployment that began nearest to its start."""
    left = [hop for hop in hops if hop is not entry]
    for caller in hops:
        for call in sorted(caller.payload.calls, key=lambda one: one.begin_ns):
            started_ns = call.begin_ns + call.queue_ns
            candidates = [hop for hop in left if hop.deployment_id == call.callee and hop is not caller]
            made = min(candidates, key=lambda hop: abs(int(hop.row["begin_ns"]) - started_ns), default=None)
            if made is not None:
                left.remove(made)
                made.call = call
            caller.calls.append((call, made))


def _parts(entry: _Hop) -> tuple[int | None, int | None, int | None, int | None]:
    """How a request's time was spent: in the proxy, the queue, the replica, and the calls of the replica.

    The parts are limited to the time in the proxy, because a replica may end after it.
    """
    proxy_ns = queue_ns = replica_ns = downstream_ns = None
    replica: _Hop | None = entry
    took_ns = entry.took_ns
    if entry.payload.deployment == "":
        call, replica = entry.calls[0] if entry.calls else (None, None)
        if replica is not None:
            queue_ns = min(replica.queue_ns or 0, entry.took_ns)
            took_ns = min(replica.took_ns, entry.took_ns - queue_ns)
            proxy_ns = entry.took_ns - queue_ns - took_ns
        elif call is not None:
            queue_ns = min(call.queue_ns, entry.took_ns)
    if replica is not None:
        downstream_ns = min(replica.payload.downstream_ns or 0, took_ns)
        replica_ns = took_ns - downstream_ns
    return proxy_ns, queue_ns, replica_ns, downstream_ns


def _steps(hop: _Hop, depth: int) -> Iterator[schemas.ServeRequestStep]:
    payload, call, row = hop.payload, hop.call, hop.row
    is_proxy = payload.deployment == ""
    yield {
        "application": payload.application,
        "deployment": None if is_proxy else payload.deployment,
        "depth": depth,
        "begin_ns": row["begin_ns"] if call is None else min(call.begin_ns, row["begin_ns"]),
        "end_ns": row["end_ns"],
        "queue_ns": hop.queue_ns,
        "replica_ns": None if is_proxy else hop.took_ns,
        "downstream_ns": payload.downstream_ns,
        "call_count": payload.call_count,
        "method": payload.method,
        "status": payload.status,
        "failed": payload.failed,
        "error": payload.error or None,
        "actor_id": row["actor_id"],
        "node_id": row["node_id"],
        "log_file": row["log_file"],
    }
    for made, callee in hop.calls:
        if callee is not None:
            yield from _steps(callee, depth + 1)
            continue
        application, _, deployment = made.callee.rpartition("#")
        yield {
            "replica_ns": None,
            "downstream_ns": None,
            "method": None,
            "status": None,
            "error": None,
            "actor_id": None,
            "node_id": None,
            "log_file": None,
            "application": application,
            "deployment": deployment,
            "depth": depth + 1,
            "begin_ns": made.begin_ns,
            "end_ns": made.end_ns,
            "queue_ns": made.queue_ns,
            "call_count": 0,
            "failed": made.failed,
        }


def edge(row: Row) -> schemas.ServeCalls:
    """Calls of a deployment as returned by the API, with quantiles of their latency."""
    buckets = row["latency"] or []
    return {
        "caller": row["caller"],
        "callee": row["callee"],
        "calls": row["calls"],
        "errors": row["errors"],
        "p50_ns": _quantile(buckets, 0.5),
        "p95_ns": _quantile(buckets, 0.95),
        "p99_ns": _quantile(buckets, 0.99),
    }


def _quantile(buckets: Sequence[tuple[int | None, int]], q: float) -> int | None:
    """The middle of the histogram bucket that contains the quantile, ns.

    See ``rayscope.tracer.serve.latency_bucket``.
    """
    known = [(bucket, count) for bucket, count in buckets if bucket is not None and 32 <= bucket < 512]
    rank = q * sum(count for _, count in known)
    seen = 0
    for bucket, count in known:
        seen += count
        if seen >= rank:
            bits, eighth = divmod(bucket, 8)
            return ((17 + 2 * eighth) << (bits - 4)) // 2
    return None
