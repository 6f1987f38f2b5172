"""Which clients the server answers, and which data it never reveals."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from tests.waiting import TIMEOUT_S

from rayscope.server import http_protocol
from rayscope.server.runner import Server, StartError
from rayscope.settings import Settings

TOKEN = "a-long-token-of-the-tests"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:80", 200),
        ("[::1]:9", 200),
        ("192.0.2.7", 200),
        ("evil.example", 403),
        ("evil.example:80", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        ("[", 403),
        ("[::ffff:127.0.0.1].evil.example", 403),
        ("local\thost", 403),
        ("user@localhost", 403),
        ("localhost:80:80", 403),
        ("127.1", 403),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/sessions", "/", "/openapi.json"])
def test_a_foreign_name_is_turned_away(running: Any, host: str, status: int, path: str) -> None:
    """DNS rebinding: a page whose name points at us sends that name as Host."""
    answer = running.client.get(path, headers={"Host": host})
    if status == 403:
        assert running.error(answer, 403)["code"] == "bad_host"
    else:
        assert answer.status_code in (200, 503)  # 503: the UI is not built


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1"])
def test_a_page_of_another_site_may_not_act(running: Any, origin: str) -> None:
    for method, path in (("GET", "/api/v1/sessions"), ("POST", "/api/v1/sql"), ("POST", "/api/v1/clusters")):
        answer = running.client.request(method, path, headers={"Origin": origin})
        assert running.error(answer, 403)["code"] == "bad_origin"


def test_no_page_of_another_site_loads_an_answer(running: Any) -> None:
    """A request for an image or a link of a page has no Origin."""
    for site, path, status in (
        ("cross-site", "/api/v1/export", 403),
        ("same-origin", "/api/v1/export", 422),
        ("none", "/api/v1/export", 422),
        ("cross-site", "/api/v1/memory", 403),
        ("cross-site", "/api/v1/metrics/query", 403),
        ("cross-site", "/metrics", 403),
        ("same-site", "/api/v1/summary", 403),  # another port of this host
        ("same-origin", "/api/v1/summary", 200),
        ("cross-site", "/", 200),  # a link to a page
    ):
        answer = running.client.get(path, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status or (path == "/" and answer.status_code == 503)  # not built
        if status == 403:
            assert running.error(answer, 403)["code"] == "bad_origin"


def test_our_own_page_may(running: Any) -> None:
    assert running.client.get("/api/v1/sessions", headers={"Origin": running.server.url}).status_code == 200


def test_an_allowed_name_is_known(serve: Callable[..., Server]) -> None:
    server = serve(allowed_hosts="ray.example, other.example")
    for name, status in (("ray.example", 200), ("OTHER.example:1", 200), ("third.example", 403)):
        assert httpx.get(f"{server.url}/api/health", headers={"Host": name}).status_code == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "somewhere.example"])
def test_beyond_loopback_it_does_not_start_without_a_token(tmp_path: Path, host: str) -> None:
    with pytest.raises(StartError) as refused:
        Server(Settings(data_dir=tmp_path / "data", port=0, host=host)).start()
    assert "--token" in refused.value.remedy
    assert not (tmp_path / "data").exists()


def test_the_token(serve: Callable[..., Server]) -> None:
    server = serve(token=TOKEN, host="0.0.0.0")
    with httpx.Client(base_url=server.url) as client:
        assert set(client.get("/api/health").json()) == {"status", "version"}
        reader = {"Authorization": f"Bearer {TOKEN}"}
        assert client.get("/api/health", headers=reader).json()["pending_batches"] == 0
        for method, path in (
            ("GET", "/api/v1/sessions"),
            ("GET", "/api/v1/tasks/" + "a" * 48),
            ("POST", "/api/v1/sql"),
            ("POST", "/api/v1/clusters"),
            ("GET", "/api/v1/nothing"),
            ("GET", "/api/health/../sessions"),
            ("GET", "/%61pi/sessions"),
        ):
            # Raw: httpx would tidy these paths up.
            raw = http.client.HTTPConnection(server.url.removeprefix("http://"))
            raw.request(method, path)
            answer = raw.getresponse()
            assert answer.status == 401, (path, answer.status)
        # No batch can be read, and "../sessions" is no key.
        assert client.get(f"{server.url}/api/ingest/%2e%2e/sessions").status_code == 404
        # No path of the API, so the UI answers; it asks for the token. (503 where it is not built.)
        page = client.get(f"{server.url}//api/sessions")
        assert page.status_code == 503 or page.text.lstrip().lower().startswith("<!doctype html>")
        for headers in (
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": TOKEN},
            {"Cookie": "rayscope_token="},
        ):
            assert client.get("/api/v1/sessions", headers=headers).status_code == 401
        assert client.get("/api/v1/sessions", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
        assert client.post("/api/v1/login", json={"token": "wrong"}).status_code == 401
        assert client.get("/api/v1/sessions").status_code == 401
        logged_in = client.post("/api/v1/login", json={"token": TOKEN})
        assert logged_in.status_code == 204
        flags = logged_in.headers["set-cookie"].lower()
        assert "httponly" in flags
        assert "samesite=strict" in flags
        assert client.get("/api/v1/sessions").status_code == 200
        (cookie,) = client.cookies.jar
        given = f"{cookie.name}={cookie.value}"
    assert TOKEN not in given
    # A server on another port of the host gets the cookie, but nothing else.
    for odd in ("", 'a={"x": [1,2]}; ', "a b; c,d=e; ", "bad[]=1; ", "\xe9=\xfc; ", f"{cookie.name}=old; "):
        answer = httpx.get(
            f"{server.url}/api/v1/sessions", headers=[(b"cookie", (odd + given).encode("latin-1"))]
        )
        assert answer.status_code == 200, odd
    for headers in ({"Authorization": f"Bearer {cookie.value}"}, {"Cookie": f"{cookie.name}={TOKEN}"}):
        assert httpx.get(f"{server.url}/api/v1/sessions", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "head",
    [b"", b"GET /api/health HTTP/1.1\r\nHost: local", b"GET /api/health HTTP/1.1\r\nA: " + b"a" * 70_000],
    ids=["nothing", "half", "large"],
)
def test_a_head_has_bounds(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_TIMEOUT_S", 60.0 if len(head) > 1000 else 0.2)
    server = serve()
    with socket.create_connection(
        ("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=TIMEOUT_S
    ) as raw:
        raw.sendall(head)
        with contextlib.suppress(ConnectionResetError):
            assert raw.recv(1000) == b""  # closed
    assert httpx.get(f"{server.url}/api/health").status_code == 200


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="too easy to guess"):
        Server(Settings(data_dir=tmp_path / "data", port=0, host="0.0.0.0", token="secret")).start()


def test_no_expression_and_no_yaml_is_a_fault_of_ours(running: Any) -> None:
    for text in ("[" * 60_000, "- " * 30_000, "{a: " * 15_000, "9" * 60_000, "9999-99-99", "{{" * 30_000):
        running.error(running.client.post("/api/v1/alerts/test", json={"yaml": text}), 400)
    for expr in ("up @ 1e300", "up @ -1e18", "up offset 999999999y", "rate(up[999999999y])"):
        running.error(running.client.get("/api/v1/metrics/query", params={"expr": expr}), 400)


def test_ingest_needs_its_key_and_no_token(serve: Callable[..., Server], bodies: list[bytes]) -> None:
    server = serve(token=TOKEN)
    assert httpx.post(server.ingest_url, content=bodies[0]).status_code == 204
    for key in ("wrong", "%00", "é", "a" * 5000):
        wrong = f"{server.url}/api/ingest/{key}/ray-events"
        assert httpx.post(wrong, content=bodies[0]).status_code == 404
        drain = httpx.post(f"{server.url}/api/drain/{key}", json={"session": "x", "timeout_s": 0})
        assert drain.status_code == 404


def test_keys_and_addresses_are_the_owners_alone(serve: Callable[..., Server], tmp_path: Path) -> None:
    serve(tmp_path / "data")
    for name in ("key", "server.json"):
        assert (tmp_path / "data" / name).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../../../../../etc/passwd",
        "/assets/..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/%2e%2e/app.py",
        "/assets//etc/passwd",
        "/assets/..\\..\\..\\app.py",
        "/api/v1/sessions/..%2f..%2fkey",
        "/api/v1/tasks/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v1/actors/%2e%2e%2f%2e%2e%2fkey",
        "/static/js/..%2f..%2f..%2fetc/passwd",
        "/logs/..%2fkey",
        "/file?path=/etc/passwd",
        "/api/v1/tasks?session=..%2f..%2f",
        "/api/v1/tasks?session=%2fetc",
    ],
)
def test_no_path_leads_to_a_file(running: Any, path: str) -> None:
    raw = http.client.HTTPConnection(running.server.url.removeprefix("http://"))
    raw.request("GET", path)
    answer = raw.getresponse()
    content = answer.read()
    assert b"root:" not in content
    assert b"import " not in content
    assert running.server.services.secrets.ingest_key.encode() not in content
    page = content.lstrip().lower().startswith(b"<!doctype html>")  # the UI's page, or that it is not built
    assert answer.status in (400, 404) or page, (answer.status, content[:200])


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/jobs",
        "/api/v1/jobs/",
        "/api/submissions",
        "/api/job_agent/jobs/",
        "/api/v1/actors/kill",
        "/api/v0/delay/1",
    ],
)
def test_nothing_runs_code_on_request(running: Any, path: str) -> None:
    """Ray's own dashboard accepts jobs from anyone; Rayscope requires the operator."""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = running.client.request(method, path, json={"entrypoint": "touch /tmp/owned"})
        if (method, path) == ("POST", "/api/v1/jobs"):
            assert running.error(answer, 403)["code"] == "needs_operator"
        else:
            assert answer.status_code in (404, 405)


def test_every_answer_keeps_the_browser_in_bounds(running: Any) -> None:
    for path in ("/api/health", "/api/v1/nothing", "/"):
        headers = running.client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in running.client.get("/api/health").headers


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b"null", b"[", b"\xff\xfe", b'[{"eventType": 1, "sessionName": "../../x"}]'],
)
def test_a_malformed_batch_is_refused_and_set_aside(fresh: Any, content: bytes) -> None:
    assert (
        fresh.error(fresh.client.post(fresh.server.ingest_url, content=content), 400)["code"] == "malformed"
    )
    (aside,) = (fresh.folder / "rejected").glob("*.json")
    assert aside.read_bytes() == content
    assert aside.with_suffix(".reason").read_text().strip()
    assert fresh.get("/api/v1/sessions")["items"] == []
    assert not list((fresh.folder / "sessions").iterdir())
    assert not (fresh.folder.parent / "x").exists()


def test_a_batch_that_is_too_large_is_refused(serve: Callable[..., Server], bodies: list[bytes]) -> None:
    server = serve(max_batch_bytes=1000)
    announced = httpx.post(server.ingest_url, content=b" " * 1001)
    streamed = httpx.post(server.ingest_url, content=iter([b" " * 600, b" " * 600]))
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert answer.json()["error"]["remedy"]
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as raw:
        path = server.ingest_url.removeprefix(server.url)
        raw.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n".encode())
        assert b" 400 " in raw.recv(1000).split(b"\r\n")[0]
    assert httpx.get(f"{server.url}/api/health").json()["status"] == "ok"


def hostile_events(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Real events with one part each that no Ray would send."""

    def pick(part: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(next(event for event in batch if part in event)))
        return found

    made = []
    for part, field, value in (
        ("taskLifecycleEvent", "taskId", ""),
        ("taskLifecycleEvent", "taskId", "AAAA"),
        ("taskLifecycleEvent", "taskAttempt", 2**40),
        ("taskLifecycleEvent", "workerPid", 2**70),
        (
            "taskLifecycleEvent",
            "stateTransitions",
            [{"state": "RUNNING", "timestamp": "9999-12-31T00:00:00Z"}],
        ),
        ("taskLifecycleEvent", "stateTransitions", [{"state": "RUNNING", "timestamp": "yesterday"}]),
        ("taskLifecycleEvent", "taskLogInfo", {"stdoutStart": str(2**64)}),
        ("taskDefinitionEvent", "parentTaskId", "AAAA"),
        (
            "taskDefinitionEvent",
            "taskName",
            "nul \0 and quote ' and \ud800".encode("utf-8", "replace").decode(),
        ),
        ("taskDefinitionEvent", "requiredResources", {"CPU": 1e308}),
        (
            "taskProfileEvents",
            "profileEvents",
            {"events": [{"eventName": "x", "startTime": "9" * 30, "endTime": "1"}]},
        ),
        ("nodeDefinitionEvent", "nodeName", {"a": [1]}),
        ("nodeDefinitionEvent", "nodeId", "not base64!"),
        ("workerDefinitionEvent", "pid", 2**70),
        (
            "actorLifecycleEvent",
            "stateTransitions",
            [{"state": "ALIVE", "timestamp": "2026-01-01T00:00:00Z", "pid": 2**70}],
        ),
    ):
        event = pick(part)
        event[part][field] = value
        made.append(event)
    return made


def test_hostile_events_do_not_stop_recording(fresh: Any, sample: Callable[[str], list[Any]]) -> None:
    batches = sample("2.60")
    events = [event for batch in batches for event in batch]
    for event in hostile_events(events):
        answer = fresh.client.post(fresh.server.ingest_url, content=json.dumps([event]).encode())
        assert answer.status_code in (204, 400), (answer.text, event)
    fresh.ingest(*(json.dumps(batch).encode() for batch in batches))
    summary = fresh.get("/api/v1/summary")
    assert summary["ingest"]["error"] is None
    assert summary["ingest"]["pending_batches"] == 0
    assert summary["attempts"] >= 33
    assert fresh.get("/api/health")["status"] == "ok"


class Listener(grpc.GenericRpcHandler):
    """A server that is no GCS and keeps the tokens of its callers."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def service(self, handler_call_details: Any) -> None:
        self.shown += [f"{key}: {value}" for key, value in handler_call_details.invocation_metadata]


def test_rays_token_goes_to_whom_its_user_names_it_for(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "the-servers-own-token")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    listener = Listener()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[listener])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        body = {"address": f"127.0.0.1:{port}"}
        refused = running.client.post("/api/v1/clusters", json=body)
        assert running.error(refused, 403)["code"] == "needs_operator"
        assert not listener.shown  # no one else can make the server connect anywhere
        operator = {"X-Rayscope-Operator": running.server.services.secrets.operator_token}
        assert running.client.post("/api/v1/clusters", json=body, headers=operator).status_code == 502
        assert listener.shown  # it was asked
        assert not [line for line in listener.shown if "the-servers-own-token" in line]
        body["ray_token"] = "given-for-this-one"
        assert running.client.post("/api/v1/clusters", json=body, headers=operator).status_code == 502
        assert [line for line in listener.shown if "given-for-this-one" in line]
    finally:
        server.stop(0)
