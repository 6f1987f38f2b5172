"""Traces of executions with known numbers, received by a collector that decodes them as Protobuf's JSON."""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.running import Running
from tests.story import DRIVER, JOB, SESSION, Story, at
from tests.waiting import wait_until

from rayscope.model import Entity
from rayscope.model import Span as RecordedSpan
from rayscope.storage.catalog import Catalog
from rayscope.views.export import sender, trace
from rayscope.views.export.collector import HEADERS, Collector, CollectorError
from rayscope.views.export.sender import EndedJob, TraceSender

USERS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
USERS_TRACE, USERS_SPAN = USERS.split("-")[1:3]


def decode(line: bytes) -> ExportTraceServiceRequest:
    """Decode a line. IDs are hexadecimal in OTLP, and base64 in Protobuf's own JSON."""

    def convert(match: re.Match[bytes]) -> bytes:
        return b'"%b":"%b"' % (match[1], base64.b64encode(bytes.fromhex(match[2].decode())))

    text = re.sub(rb'"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"', convert, line)
    request: ExportTraceServiceRequest = json_format.Parse(text, ExportTraceServiceRequest())
    return request


def spans_of(requests: list[ExportTraceServiceRequest]) -> list[Span]:
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def values(span: Span) -> dict[str, Any]:
    return {
        item.key: getattr(item.value, item.value.WhichOneof("value") or "string_value")
        for item in span.attributes
    }


def record(fresh: Running, story: Story) -> None:
    assert fresh.server.services is not None
    fresh.server.services.writer.submit_records(story.batch, "events")
    assert fresh.server.services.writer.flush()


def export(fresh: Running, **params: str) -> list[Span]:
    answer = fresh.client.get("/api/v1/export", params={"format": "otlp", **params})
    assert answer.status_code == 200, answer.text
    return spans_of([decode(line) for line in answer.content.splitlines()])


def story() -> tuple[Story, dict[str, str]]:
    """A root that calls two leaves and passes the value of one to the other, which fails once."""
    recorded = Story()
    recorded.entity("job", JOB, 0, 200, state="SUCCEEDED", entrypoint="python train.py")
    ids = {"root": recorded.task("root", 0, 10, 150)}
    ids["load"] = recorded.task("load", 20, 30, 50, parent=ids["root"])
    ids["fit"] = recorded.task("fit", 21, 60, 80, parent=ids["root"], failed=True)
    recorded.task("fit", 85, 90, 140, parent=ids["root"], task_id=ids["fit"], attempt=1)
    recorded.argument(ids["fit"], ids["load"], 1000)
    recorded.get(ids["root"], ids["fit"], 30, 145)
    recorded.get(DRIVER, ids["root"], 1, 160)
    return recorded, ids


def test_a_trace_has_the_job_its_functions_and_their_attempts(fresh: Running) -> None:
    recorded, ids = story()
    record(fresh, recorded)
    spans = export(fresh)
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans) == 1 + 3 + 4
    assert len({span.trace_id for span in spans}) == 1
    (job,) = (span for span in spans if not span.parent_span_id)
    assert job.name == "train.py"
    assert (job.start_time_unix_nano, job.end_time_unix_nano) == (at(0), at(200))
    assert values(job)["rayscope.failed_attempts"] == 1
    attempts = {
        (values(span)["ray.task_id"], values(span)["ray.attempt"]): span
        for span in spans
        if "ray.task_id" in values(span)
    }
    assert attempts.keys() == {(ids["root"], 0), (ids["load"], 0), (ids["fit"], 0), (ids["fit"], 1)}
    for span in attempts.values():
        function = by_id[span.parent_span_id]
        assert function.name == span.name
        assert function.parent_span_id == job.span_id
        assert function.start_time_unix_nano <= span.start_time_unix_nano
        assert function.end_time_unix_nano >= span.end_time_unix_nano
    failed, again = attempts[ids["fit"], 0], attempts[ids["fit"], 1]
    assert failed.status.code == 2
    assert "it is a story" in failed.status.message
    assert [event.name for event in failed.events] == ["exception"]
    assert again.status.code == 0
    assert (again.start_time_unix_nano, again.end_time_unix_nano) == (at(90), at(140))
    assert values(again)["rayscope.waiting_s"] == pytest.approx(0.005)

    def linked(span: Span) -> set[tuple[str, str]]:
        return {(values(link)["rayscope.link"], by_id[link.span_id].name) for link in span.links}

    assert linked(failed) == linked(again) == {("caller", "root"), ("argument", "load")}
    assert linked(attempts[ids["root"], 0]) == {("get", "fit")}
    on_path = sum(values(span).get("rayscope.critical_path_s", 0) for span in attempts.values())
    assert 0 < on_path <= 0.2


def test_exporting_again_adds_nothing(fresh: Running) -> None:
    record(fresh, story()[0])
    first, second = (export(fresh, job_id=JOB) for _ in range(2))
    assert [span.SerializeToString() for span in first] == [span.SerializeToString() for span in second]


def test_the_users_own_spans_are_parents(fresh: Running) -> None:
    recorded, _ = story()
    recorded.annotate(DRIVER, "traceparent", USERS)
    record(fresh, recorded)
    spans = export(fresh)
    assert {span.trace_id.hex() for span in spans} == {USERS_TRACE}
    assert [span.name for span in spans if span.parent_span_id.hex() == USERS_SPAN] == ["train.py"]


def test_what_a_task_in_the_users_trace_calls_is_below_it(fresh: Running) -> None:
    recorded, ids = story()
    recorded.annotate(ids["root"], "traceparent", USERS)
    record(fresh, recorded)
    by_task = {values(span).get("ray.task_id", ""): span for span in export(fresh)}
    root = by_task[ids["root"]]
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (USERS_TRACE, USERS_SPAN)
    for name in ("load", "fit"):
        assert by_task[ids[name]].parent_span_id == root.span_id
        assert by_task[ids[name]].trace_id == root.trace_id


def test_links_name_the_attempts_that_called_and_made_the_data(fresh: Running) -> None:
    recorded = Story()
    root = recorded.task("root", 0, 10, 90, failed=True)
    recorded.task("root", 95, 100, 190, task_id=root, attempt=1)
    recorded.annotate(root, "traceparent", USERS)
    first = recorded.task("child", 15, 20, 30, parent=root)
    second = recorded.task("child", 115, 120, 160, parent=root)
    made = recorded.task("make", 110, 111, 112, parent=root, failed=True)
    recorded.task("make", 113, 114, 115, parent=root, task_id=made, attempt=1)
    recorded.task("make", 170, 171, 172, parent=root, task_id=made, attempt=2)
    recorded.argument(second, made, 1000)
    recorded.fetched(second, made, 1000, 121)
    record(fresh, recorded)
    spans = {
        (values(span)["ray.task_id"], values(span)["ray.attempt"]): span
        for span in export(fresh)
        if "ray.task_id" in values(span)
    }
    # Only the first attempt of the root is in the user's trace, and so are the tasks that it called.
    assert spans[first, 0].parent_span_id == spans[root, 0].span_id
    assert spans[first, 0].trace_id.hex() == USERS_TRACE
    assert spans[second, 0].trace_id == spans[root, 1].trace_id != spans[first, 0].trace_id
    links = {values(link)["rayscope.link"]: link for link in spans[second, 0].links}
    assert links["caller"].span_id == spans[root, 1].span_id
    # The last attempt began after its consumer had ended, and the first one failed.
    assert links["argument"].span_id == spans[made, 1].span_id
    assert values(links["argument"])["rayscope.bytes"] == 1000


@pytest.mark.parametrize("text", ["", "nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "'; DROP TABLE"])
def test_an_invalid_context_is_ignored(fresh: Running, text: str) -> None:
    recorded, _ = story()
    recorded.annotate(DRIVER, "traceparent", text)
    recorded.entity("job", JOB, 0, 200, metadata="{not JSON")
    record(fresh, recorded)
    assert len([span for span in export(fresh) if not span.parent_span_id]) == 1


def test_a_large_job_is_a_skeleton(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MAX_SPANS", 100)
    recorded = Story()
    for number in range(1_000):
        recorded.task("work", number, number + 1, number + 2 + number / 1000, failed=number % 10 == 0)
    for number in range(10):
        recorded.task(f"rare{number}", number, number + 1, number + 5)
    record(fresh, recorded)
    spans = export(fresh)
    assert len(spans) == 100
    assert {f"rare{number}" for number in range(10)} <= {span.name for span in spans}
    work = next(values(span) for span in spans if span.name == "work" and "rayscope.attempts" in values(span))
    assert (work["rayscope.attempts"], work["rayscope.failed_attempts"]) == (1_000, 100)
    shown = [values(span) for span in spans if values(span).get("ray.function") == "work"]
    assert any(attempt.get("ray.state") == "FAILED" for attempt in shown)
    assert "00000000000003e7" in {str(attempt.get("ray.task_id"))[:16] for attempt in shown}  # the slowest


def test_a_trace_has_whole_jobs(fresh: Running) -> None:
    record(fresh, story()[0])
    answer = fresh.client.get("/api/v1/export", params={"format": "otlp", "func_name": "fit"})
    assert fresh.error(answer, 400)["message"] == "This format exports whole jobs."
    answer = fresh.client.get("/api/v1/export", params={"format": "otlp", "job_id": "99000000"})
    assert fresh.error(answer, 404)


def test_requests_of_serve_are_below_the_clients_span(fresh: Running) -> None:
    recorded, proxy, replica = Story(), "a" * 24 + JOB, "b" * 24 + JOB
    recorded.task("work", 0, 1, 2)
    shop = Entity("serve_application", "shop", {"name": "shop"}, {}, at(0), {"state": "RUNNING"})
    recorded.batch.entities.append(shop)
    calls = {"callee": "shop#Model", "begin_ns": at(10), "end_ns": at(90), "queue_ns": 0, "failed": False}
    common = {"request": "one", "application": "shop", "request_id": "its ID", "route": "/buy"}
    common |= {"method": "GET", "failed": False, "error": "", "downstream_ns": 0}
    for actor, begin, end, more in (
        (proxy, 5, 100, {"deployment": "", "status": "200", "calls": [calls], "traceparent": USERS}),
        (replica, 20, 80, {"deployment": "Model", "status": "OK", "calls": []}),
    ):
        extra = json.dumps({**common, **more, "call_count": len(more["calls"])}, separators=(",", ":"))
        span = RecordedSpan("f" * 16 + actor, 0, "serve.hop", at(begin), at(end), extra)
        recorded.batch.spans.append(span)
    record(fresh, recorded)
    (page,) = fresh.get("/api/v1/serve-requests/shop")["items"]
    assert page["traceparent"] == USERS
    of_client = [span for span in export(fresh, job_id=JOB) if span.trace_id.hex() == USERS_TRACE]
    assert [span.name for span in of_client] == ["GET /buy", "Model"]
    assert of_client[0].parent_span_id.hex() == USERS_SPAN
    assert of_client[1].parent_span_id == of_client[0].span_id
    assert (of_client[0].start_time_unix_nano, of_client[0].end_time_unix_nano) == (at(5), at(100))
    assert values(of_client[0])["ray.serve.request_id"] == "its ID"


class Receiver:
    """A collector. ``answers`` are its next statuses; then it answers with 200 and ``body``."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[int] = []
        self.body = b"{}"
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.paths.append(self.path)
                    receiver.headers.append(dict(self.headers))
                    receiver.requests.append(decode(content))
                self.send_response(status)
                self.send_header("content-length", str(len(receiver.body)))
                self.end_headers()
                self.wfile.write(receiver.body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_a_collector_gets_each_line_once(
    fresh: Running, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(fresh, story()[0])
    content = fresh.client.get("/api/v1/export", params={"format": "otlp"}).content
    pieces = [content[at : at + 100] for at in range(0, len(content), 100)]
    monkeypatch.setenv(HEADERS, "Authorization=Bearer%20secret, x-team = a")
    monkeypatch.setattr("rayscope.views.export.collector._PAUSES_S", (0.0, 0.0))
    receiver.answers = [503, 429]
    with Collector(receiver.url + "/prefix") as collector:
        sent = collector.send(pieces)
    assert (sent.spans, sent.refused) == (8, 0)
    assert receiver.paths == ["/prefix/v1/traces"]
    headers = {name.lower(): value for name, value in receiver.headers[0].items()}
    assert headers["authorization"] == "Bearer secret"
    assert headers["x-team"] == "a"
    assert len(spans_of(receiver.requests)) == 8


def test_a_collector_that_refuses_is_reported(fresh: Running, receiver: Receiver) -> None:
    record(fresh, story()[0])
    content = fresh.client.get("/api/v1/export", params={"format": "otlp"}).content
    for odd in (b'{"partialSuccess": 1}', b"[]", b'{"partialSuccess": {"rejectedSpans": "many"}}', b"\x00"):
        receiver.body = odd
        with Collector(receiver.url) as collector:
            assert collector.send([content]) == (8, 0, "")
    receiver.body = b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'
    with Collector(receiver.url) as collector:
        sent = collector.send([content])
        assert (sent.spans, sent.refused, sent.reason) == (8, 3, "too old")
        receiver.answers = [401]
        with pytest.raises(CollectorError, match="answered 401"):
            collector.send([content])


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://a", "http://", "file:///etc/passwd", "http://a:1b"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(CollectorError, match="not the URL of a collector"):
        Collector(url)


def test_each_ended_job_is_sent_once(
    fresh: Running, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(fresh, story()[0])
    assert fresh.server.services is not None
    catalog: Catalog = fresh.server.services.catalog
    monkeypatch.setattr(sender, "_LOOK_S", 0.05)
    monkeypatch.setattr(sender, "_SETTLED_NS", 0)
    path = tmp_path / "traces" / "sent"
    path.parent.mkdir()
    path.write_text("0\n")
    # The first has no tasks, and the last has not ended yet.
    jobs = [EndedJob(SESSION, "03000000", at(200)), EndedJob(SESSION, JOB, at(200))]
    jobs.append(EndedJob(SESSION, "02000000", 2**62))

    def run() -> TraceSender:
        sending = TraceSender(receiver.url, path, catalog, lambda: jobs)
        sending.start()
        return sending

    sending = run()
    wait_until(lambda: "01000000" in path.read_text(), "the trace is sent")
    sending.stop()
    assert len(spans_of(receiver.requests)) == 8
    again = run()
    wait_until(lambda: again._task.is_alive, "the sender runs")
    again._look()
    again.stop()
    assert len(receiver.requests) == 1
