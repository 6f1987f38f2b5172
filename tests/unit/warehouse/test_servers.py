"""Several servers share a warehouse: each takes any part of a session, and all of them show the whole."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.story import JOB, SESSION, Story
from tests.unit.compare.test_api import job
from tests.unit.warehouse.http_bridge import bridge
from tests.waiting import wait_until

from rayscope.api.write_access import HEADER
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog, Retention
from rayscope.warehouse import migrate
from rayscope.warehouse.client import connect
from rayscope.warehouse.schema import Layout
from rayscope.warehouse.servers import HEARTBEAT_S

#: Answers that must not depend on which server recorded what.
QUESTIONS = (
    "/api/v1/summary",
    "/api/v1/functions",
    "/api/v1/tasks?sort=created_ns&limit=1000",
    "/api/v1/failures",
    "/api/v1/actors?limit=1000",
    "/api/v1/workers?limit=1000&sort=worker_id",
    "/api/v1/nodes",
    "/api/v1/jobs",
    "/api/v1/flow/logical",
    "/api/v1/flow/gantt?by=worker",
    "/api/v1/flow/critical-path",
    "/api/v1/flow/flame",
)
#: Fields that depend on the server or on the time of the request.
OTHERWISE = {
    "lane",
    "lane_code",
    "lanes",
    "ingest",
    "disk_bytes",
    "location",
    "now_ns",
    "age_s",
    "cost_s",
    "last_ns",
    "recording",
    "live",
    "state_at",
}


@pytest.fixture
def warehouse(engine: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty warehouse on a server."""
    with bridge(urlsplit(engine).path) as (port, _):
        url = f"clickhouse://me@127.0.0.1:{port}/{request.node.name}"
        with connect(url, create=True) as made:
            migrate.init(made, Layout())
        yield url


@contextlib.contextmanager
def running(folder: Path, warehouse: str | None) -> Iterator[Server]:
    server = Server(Settings(data_dir=folder, port=0, warehouse=warehouse, memory_limit="200MB"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def send(server: Server, *bodies: bytes) -> None:
    for body in bodies:
        assert httpx.post(server.ingest_url, content=body).status_code == 204
    assert server.services is not None
    assert server.services.writer.flush()


def get(server: Server, path: str) -> Any:
    answer = httpx.get(f"{server.url}{path}")
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if name not in OTHERWISE}
    return [comparable(one) for one in value] if isinstance(value, list) else value


def attempts(server: Server) -> int:
    items = get(server, "/api/v1/sessions")["items"]
    return int(items[0]["attempts"]) if items else -1


def end(server: Server, end_ns: int) -> None:
    """The cluster of the only session is gone."""
    assert server.services is not None
    (session,) = server.services.catalog.names()
    server.services.writer.end_session(session, end_ns)
    assert server.services.writer.flush()


def differences(actual: Any, expected: Any, at: str = "") -> list[str]:
    """Where two answers differ."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        names = actual.keys() | expected.keys()
        return [d for n in sorted(names) for d in differences(actual.get(n), expected.get(n), f"{at}.{n}")]
    if isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        pairs = enumerate(zip(actual, expected, strict=True))
        return [d for n, (a, b) in pairs for d in differences(a, b, f"{at}[{n}]")]
    return [] if actual == expected else [f"{at}: {actual!r} is not {expected!r}"]


def ended(server: Server) -> bool:
    return bool(get(server, "/api/v1/sessions")["items"][0]["state"] == "ended")


def test_each_shows_all_that_any_has_heard(tmp_path: Path, warehouse: str, bodies: list[bytes]) -> None:
    with running(tmp_path / "a", warehouse) as a, running(tmp_path / "b", warehouse) as b:
        send(a, *bodies[::2])
        send(b, *bodies[1::2])
        end_ns = time.time_ns()
        with running(tmp_path / "alone", None) as alone:
            send(alone, *bodies)
            end(alone, end_ns)
            expected = {path: comparable(get(alone, path)) for path in QUESTIONS}
            number = attempts(alone)
        for server in (a, b):
            wait_until(lambda server=server: attempts(server) == number, "the parts are together")
        end(a, end_ns)
        for server in (a, b):
            wait_until(lambda server=server: ended(server), "the session has ended everywhere")
            assert server.services is not None
            assert server.services.writer.flush()
            # Workers may come a moment after what ran on them.
            summary = QUESTIONS[0]
            wait_until(
                lambda server=server: comparable(get(server, summary)) == expected[summary],
                "all is there",
            )
            for path in QUESTIONS:
                assert differences(comparable(get(server, path)), expected[path]) == [], path
        # One that has heard nothing lists the session, and opens it.
        with running(tmp_path / "c", warehouse) as c:
            wait_until(lambda: attempts(c) == number, "the session is listed")
            assert get(c, "/api/v1/sessions")["items"][0]["location"] == "warehouse"
            for path in QUESTIONS:
                assert differences(comparable(get(c, path)), expected[path]) == [], path
            assert get(c, "/api/v1/sessions")["items"][0]["location"] == "local"


SERVE = """
import signal, sys, threading
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
server = Server(Settings(data_dir=sys.argv[1], port=0, warehouse=sys.argv[2], memory_limit="200MB"))
server.start()
print(server.ingest_url, flush=True)
signal.pause()
"""


def test_a_killed_server_publishes_acknowledged_events_after_its_restart(
    tmp_path: Path, warehouse: str, bodies: list[bytes]
) -> None:
    with running(tmp_path / "b", warehouse) as b:
        command = [sys.executable, "-c", SERVE, str(tmp_path / "a")]
        # It cannot reach the warehouse, so nothing is published before it is killed.
        away = "clickhouse://me@127.0.0.1:9/away"
        with subprocess.Popen([*command, away], stdout=subprocess.PIPE, text=True) as a:
            assert a.stdout is not None
            url = a.stdout.readline().strip()
            for body in bodies[::2]:
                assert httpx.post(url, content=body).status_code == 204
            a.kill()
        send(b, *bodies[1::2])
        assert get(b, "/api/health")["status"] == "ok"  # the other one still works
        with running(tmp_path / "alone", None) as alone:
            send(alone, *bodies)
            whole = {row["task_id"] for row in get(alone, "/api/v1/tasks?limit=1000")["items"]}
        assert {row["task_id"] for row in get(b, "/api/v1/tasks?limit=1000")["items"]} < whole
        with running(tmp_path / "a", warehouse):
            wait_until(
                lambda: {row["task_id"] for row in get(b, "/api/v1/tasks?limit=1000")["items"]} == whole,
                "the other server has it all",
            )


def test_an_unreachable_warehouse_gets_everything_later(
    tmp_path: Path, engine: str, warehouse: str, bodies: list[bytes]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    database = warehouse.rpartition("/")[2]
    with running(tmp_path / "a", f"clickhouse://me:secret@127.0.0.1:{port}/{database}") as a:
        send(a, *bodies)
        wait_until(lambda: health(a)["error"] is not None, "the trouble is told")
        assert "cannot be reached" in health(a)["error"]["message"]
        assert "secret" not in str(health(a))
        assert a.services is not None
        assert a.services.warehouse is not None
        (session,) = a.services.catalog.names()
        assert a.services.warehouse.is_keeper(session)  # alerts do not fall silent
        with bridge(urlsplit(engine).path, port=port):
            wait_until(lambda: health(a)["error"] is None, "it is used again")
            with running(tmp_path / "b", warehouse) as b:
                wait_until(lambda: attempts(b) == attempts(a) > 0, "all of it is there")


def test_one_server_has_the_alerts_of_a_session(tmp_path: Path, warehouse: str, bodies: list[bytes]) -> None:
    def keepers(*servers: Server) -> list[bool]:
        return [s.services.warehouse.is_keeper(session) for s in servers]  # type: ignore[union-attr]

    with running(tmp_path / "a", warehouse) as a:
        send(a, bodies[0])
        assert a.services is not None
        (session,) = a.services.catalog.names()
        with running(tmp_path / "b", warehouse) as b, running(tmp_path / "c", warehouse) as c:
            send(b, bodies[1])
            wait_until(lambda: keepers(a, b) == [True, False], "the first one has them")
            wait_until(lambda: attempts(c) >= 0, "the third one knows the session")
            assert keepers(c) == [False]  # it only shows it
            a.stop()
            wait_until(lambda: send(b, bodies[2]) or keepers(b) == [True], "the second one takes over")


def health(server: Server) -> Any:
    return get(server, "/api/health")["warehouse"]


def test_unpublished_events_are_not_dropped(
    tmp_path: Path, warehouse: str, bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds if another server has published its whole part of the session."""
    monkeypatch.setattr("rayscope.storage.catalog.LIVE_NS", 0)
    with running(tmp_path / "a", warehouse) as a, running(tmp_path / "b", warehouse) as b:
        send(b, *bodies[::2])
        wait_until(lambda: attempts(a) > 0, "the session is listed")
        assert a.services is not None
        service, (session,) = a.services.warehouse, a.services.catalog.names()
        assert service is not None
        assert service.is_sealed(session)  # all of it is elsewhere
        service._task.stop()
        send(a, *bodies[1::2])
        assert not service.is_sealed(session)
        catalog = a.services.catalog
        catalog.release(session)
        assert catalog.apply_retention(Retention(max_bytes=1), time.time_ns()) == []
        assert catalog.path(session).exists()
    about = (tmp_path / "a" / "sessions" / session / "about.json").read_text()
    assert '"has_untold":true' in about
    catalog = Catalog(tmp_path / "a", read_only=True)
    assert catalog.path(session).exists()


def test_sessions_deleted_on_one_server_disappear_from_all(
    tmp_path: Path, warehouse: str, bodies: list[bytes]
) -> None:
    """This includes a server that was down meanwhile. Later events begin a new record."""
    with running(tmp_path / "a", warehouse) as a, running(tmp_path / "b", warehouse) as b:
        send(a, *bodies[::2])
        send(b, *bodies[1::2])
        with running(tmp_path / "c", warehouse) as c:
            send(c, bodies[0])
            wait_until(lambda: attempts(c) == attempts(a) == attempts(b) > 0, "all have it")
            session = get(c, "/api/v1/sessions")["items"][0]["session"]
        assert a.services is not None
        headers = {HEADER: a.services.secrets.operator_token}
        url = f"{a.url}/api/v1/sessions/{session}?force=true"
        httpx.delete(url, headers=headers).raise_for_status()
        assert attempts(a) == -1
        wait_until(lambda: attempts(b) == -1, "it is gone from the other one")
        with running(tmp_path / "c", warehouse) as c:
            wait_until(lambda: attempts(c) == -1, "it is gone from the one that was down")
            send(b, bodies[0])
            some = attempts(b)
            for server in (a, c):
                wait_until(lambda server=server: attempts(server) == some, "a new record has begun")
            time.sleep(3 * HEARTBEAT_S)
            assert attempts(b) == some


def test_a_session_name_set_on_one_server_applies_on_all(
    tmp_path: Path, warehouse: str, bodies: list[bytes]
) -> None:
    def name(server: Server, session: str, text: str) -> None:
        assert server.services is not None
        headers = {HEADER: server.services.secrets.operator_token}
        url = f"{server.url}/api/v1/sessions/{session}"
        httpx.patch(url, json={"name": text, "tags": [text]}, headers=headers).raise_for_status()

    def names(*servers: Server) -> list[tuple[str, list[str]]]:
        items = [get(server, "/api/v1/sessions")["items"][0] for server in servers]
        return [(item["name"], item["tags"]) for item in items]

    with running(tmp_path / "a", warehouse) as a, running(tmp_path / "b", warehouse) as b:
        send(a, *bodies)
        wait_until(lambda: attempts(b) == attempts(a) > 0, "both list it")
        assert a.services is not None
        (session,) = a.services.catalog.names()
        name(b, session, "mine")  # which has nothing of it
        wait_until(lambda: names(a, b) == [("mine", ["mine"])] * 2, "it has a name")
        assert a.services.warehouse is not None
        assert a.services.warehouse.is_keeper(session)  # still the one that records it
        get(b, "/api/v1/summary")
        name(a, session, "ours")
        wait_until(lambda: names(a, b) == [("ours", ["ours"])] * 2, "it has another name")
        with connect(warehouse) as asked:
            found = asked.rows("SELECT name, tags FROM sessions")
        assert [(text, list(tags)) for text, tags in found] == [("ours", ["ours"])]


def test_each_lists_the_runs_of_all(tmp_path: Path, warehouse: str) -> None:
    """Their marks and their deletion, too, even once no server has the record of the session."""

    def runs(server: Server) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = get(server, "/api/v1/runs")["items"]
        return items

    def operator(server: Server) -> dict[str, str]:
        assert server.services is not None
        return {HEADER: server.services.secrets.operator_token}

    story = Story()
    job(story, JOB, 400)
    with running(tmp_path / "a", warehouse) as a, running(tmp_path / "b", warehouse) as b:
        assert a.services is not None
        a.services.writer.submit_records(story.batch, "events")
        assert a.services.writer.flush()
        end(a, time.time_ns())
        wait_until(lambda: len(runs(a)) == len(runs(b)) == 1, "both list the run")
        assert runs(b) == runs(a)
        named = f"/api/v1/runs/{SESSION}/{JOB}"
        assert get(b, named)["functions"] == get(a, named)["functions"] != []
        httpx.put(f"{b.url}{named}", json={"baseline": True}, headers=operator(b)).raise_for_status()
        wait_until(lambda: runs(a)[0]["baseline"], "it is the baseline")
    with running(tmp_path / "c", warehouse) as c:
        wait_until(lambda: [run["baseline"] for run in runs(c)] == [True], "a new server lists it")
        # Its record goes first, as by retention, and the summary outlives it.
        with connect(warehouse) as asked:
            asked.run("DELETE FROM raw_sessions WHERE true")
        with running(tmp_path / "a", warehouse) as a:
            assert a.services is not None
            assert a.services.writer.remove_session(SESSION)
            assert len(runs(a)) == 1
            wait_until(lambda: get(a, "/api/health")["warehouse"]["servers"], "a heartbeat")
            answer = httpx.delete(f"{a.url}/api/v1/sessions/{SESSION}", headers=operator(a))
            assert answer.status_code == 200, answer.text
            wait_until(lambda: runs(a) == runs(c) == [], "it is gone from both")
            time.sleep(3 * HEARTBEAT_S)
            assert runs(a) == runs(c) == []
