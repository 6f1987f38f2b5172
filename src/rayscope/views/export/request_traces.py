"""The traces of requests to Ray Serve: the recorded ones, which are the slowest and those that failed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rayscope.libraries.serve import compute, sql
from rayscope.libraries.serve.schemas import ServeRequest, ServeRequestStep
from rayscope.storage.session_file import SessionFile
from rayscope.views.export.formats.otlp import Context, OtlpSpan, context_of, new_trace, span_id

#: Maximum number of applications, and of the slowest and of the failed requests of each.
_MAX_APPLICATIONS = 100
_MAX_REQUESTS = 500


def request_spans(file: SessionFile, session: str, job_id: str | None) -> Iterator[OtlpSpan]:
    """Yield the spans of the requests of one job, or of all jobs.

    A request is in the trace of its client, or a trace of its own.
    """
    applications, _ = sql.applications(file, _MAX_APPLICATIONS)
    orders: tuple[sql.Order, ...] = ("failed", "slowest")
    for application, order in itertools.product(applications, orders):
        hops, _ = sql.requests(file, application["name"], _MAX_REQUESTS, order)
        for request in compute.requests(hops):
            if order == "slowest" and request["failed"]:
                continue
            job = next((step["actor_id"][-8:] for step in request["steps"] if step["actor_id"]), None)
            if job_id in (None, job):
                yield from _spans(session, request)


def _spans(session: str, request: ServeRequest) -> Iterator[OtlpSpan]:
    """The steps of a request. A step comes after its caller."""
    above = context_of(request["traceparent"]) or new_trace(session, "request", request["request"])
    callers = [above]
    for number, step in enumerate(request["steps"]):
        own = Context(above.trace_id, span_id(session, "request", request["request"], number))
        del callers[step["depth"] + 1 :]
        yield _span(request, step, callers[-1], own)
        callers.append(own)


def _span(request: ServeRequest, step: ServeRequestStep, parent: Context, own: Context) -> OtlpSpan:
    deployment, route = step["deployment"], request["route"] or "/"
    return OtlpSpan(
        own,
        parent,
        deployment or f"{request['method']} {route}".strip(),
        step["begin_ns"],
        step["end_ns"],
        attributes={
            "ray.serve.application": step["application"],
            "ray.serve.deployment": deployment,
            "ray.serve.request_id": request["request_id"],
            "http.route": request["route"] or None,
            "ray.serve.status": step["status"] or None,
            "ray.actor_id": step["actor_id"],
            "ray.node_id": step["node_id"],
            "error.type": step["error"],
            "rayscope.waiting_s": None if step["queue_ns"] is None else step["queue_ns"] / 1e9,
        },
        error=(step["error"] or step["status"] or "") if step["failed"] else None,
    )
