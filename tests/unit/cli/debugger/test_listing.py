"""``rayscope debug`` without a task: the tasks that wait for a debugger, and which of them a name means."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from tests.running import Running
from tests.waiting import wait_until
from typer.testing import CliRunner
from websockets.sync.client import ClientConnection, connect

from rayscope.cli.api import Api
from rayscope.cli.debugger.listing import choose, print_paused
from rayscope.cli.main import app
from rayscope.cli.printing import Format
from rayscope.client import Client
from rayscope.errors import RayscopeError

runner = CliRunner()
PAUSE = {
    "id": "0123456789abcdef",
    "task_id": "ab" * 24,
    "attempt": 0,
    "since_ns": 10**18,
    "function": "inner\x1b[2J",
    "file": "/app/train.py",
    "line": 3,
}
ERROR = {
    **PAUSE,
    "id": "0123456789abcde0",
    "task_id": "abcd" * 12,
    "error": "ZeroDivisionError: division by zero",
}


@pytest.fixture
def here(fresh: Running, bodies: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Running:
    """A server that lets debuggers in, and has the sample on record."""
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    fresh.ingest(*bodies)
    enable(fresh, 60.0)
    return fresh


def enable(running: Running, limit_s: float | None) -> None:
    services: Any = running.server.services
    services.debuggees.limit_s = limit_s


@contextmanager
def process(running: Running, *pauses: dict[str, Any]) -> Iterator[ClientConnection]:
    """The connection of a process that waits."""
    url = running.server.ingest_url.replace("http", "ws", 1).replace("/ray-events", "/debugger")
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    with connect(url, proxy=None) as connection:
        connection.send(str(msgspec.json.encode({"session": session, "pid": 7, "paused": pauses}), "utf-8"))
        wait_until(lambda: running.get("/api/v1/paused-tasks")["items"], "the pauses")
        yield connection


def test_nothing_is_paused(here: Running) -> None:
    result = runner.invoke(app, ["debug"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no task waits for a debugger" in result.stderr
    for word in ("breakpoint()", "RAY_DEBUG_POST_MORTEM=1", "debugpy", "tracer"):
        assert word in result.stderr
    assert "--debugger" not in result.stderr
    enable(here, None)
    assert "--debugger (RAYSCOPE_DEBUGGER=1)" in runner.invoke(app, ["debug"]).stderr
    assert json.loads(runner.invoke(app, ["debug", "--format", "json"]).stdout) == []


def test_the_list(here: Running) -> None:
    with process(here, PAUSE, ERROR):
        shown = runner.invoke(app, ["debug", "--wide"]).stdout
        assert shown.count(PAUSE["task_id"]) == 1
        for part in (
            " train.py:3 ",
            "breakpoint",
            ERROR["error"],
            "waiting",
            PAUSE["id"],
            r"inner\x1b[2J",
        ):
            assert part in shown
        answer = here.get("/api/v1/paused-tasks")
        assert json.loads(runner.invoke(app, ["debug", "--format", "json"]).stdout) == answer["items"]
        lines = list(csv.DictReader(io.StringIO(runner.invoke(app, ["debug", "--format", "csv"]).stdout)))
        assert [line["pause_id"] for line in lines] == [item["pause_id"] for item in answer["items"]]


def test_a_worker_without_a_tracer(here: Running, capsys: pytest.CaptureFixture[str]) -> None:
    with process(here, PAUSE), Client(here.server.url) as client:
        answer = client.paused_tasks()
    unknown = (
        "pause_id",
        "task_id",
        "attempt",
        "function",
        "file",
        "line",
        "since_ns",
        "release_ns",
        "job_id",
    )
    untraced = {**answer["items"][0], **dict.fromkeys(unknown)}
    untraced_only: Any = {**answer, "items": [untraced]}
    with Api(here.server.url) as api:
        print_paused(api, untraced_only, Format.table, wide=True)
    printed = capsys.readouterr()
    assert re.split(r" {2,}", printed.out.splitlines()[1].strip()) == [
        *("unknown task", "unknown", "unknown: no tracer", "waiting", "unknown", "unknown", "7"),
    ]
    assert "without a tracer" in printed.err
    with pytest.raises(RayscopeError, match="No task does"):
        choose(untraced_only, "abab")


def test_what_waits_for_rays_legacy_debugger(here: Running, capsys: pytest.CaptureFixture[str]) -> None:
    with process(here, PAUSE), Client(here.server.url) as client:
        answer = client.paused_tasks()
    session: Any = {
        "key": "1",
        "title": "ray::train\x1b[2J",
        "address": "localhost:40000",
        "gcs_address": "10.0.0.1:6379",
        "traceback": None,
        "ended_ns": None,
    }
    unknown = {**answer["items"][0], "pause_id": None, "name": None, "function": None, "attempt": None}
    waiting: Any = {**unknown, "legacy": session}
    gone: Any = {**waiting, "state": "gone", "task_id": "cd" * 24}
    some: Any = {
        **answer,
        "items": [waiting, gone],
        "legacy_left_out": 3,
        "legacy_error": {"code": "deadline", "message": "It is late.", "remedy": ""},
    }
    with Api(here.server.url) as api:
        print_paused(api, some, Format.table, wide=True)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert r"ray::train\x1b[2J" in lines[1]
    for part in (" train.py:3 ", "breakpoint", "waiting for ray debug"):
        assert part in lines[1]
    assert "process ended" in lines[2]
    said = " ".join(printed.err.split())
    assert "`ray debug --address 10.0.0.1:6379` on the node of the task" in said
    for part in ("until their job has ended", "3 more that wait", "It is late."):
        assert part in said
    assert "without a tracer" not in said
    with pytest.raises(RayscopeError, match="legacy debugger") as refused:
        choose(some, "abab")
    assert "`ray debug --address 10.0.0.1:6379`" in refused.value.remedy
    with pytest.raises(RayscopeError, match="legacy debugger") as refused:
        choose(some, "cdcd")
    assert "ended" in refused.value.remedy


def test_one_is_chosen_by_its_name(here: Running) -> None:
    with process(here, PAUSE, ERROR), Client(here.server.url) as client:
        answer = client.paused_tasks()
        for name in ("abab", "ABAB", PAUSE["task_id"], PAUSE["id"]):
            assert choose(answer, name)["pause_id"] == PAUSE["id"]
        for name, code, said in (
            ("abc", "bad_request", "too short"),
            ("cdcd", "not_paused", "abababab"),
            ("", "bad_request", "too short"),
        ):
            with pytest.raises(RayscopeError, match=said) as refused:
                choose(answer, name)
            assert refused.value.code == code
        twins = {**answer, "items": [*answer["items"], {**answer["items"][0], "pause_id": "f" * 16}]}
        with pytest.raises(RayscopeError, match=f"2 paused tasks match 'abab'.*{'f' * 16}"):
            choose(twins, "abab")  # type: ignore[arg-type]
        with pytest.raises(RayscopeError, match="lets no debuggers in"):
            choose({**answer, "is_enabled": False}, "abab")


def test_why_no_editor_can_attach_is_said_at_once(here: Running) -> None:
    def refused(*options: str) -> str:
        result = runner.invoke(app, ["debug", *options])
        assert result.exit_code == 2, result.output
        return result.stderr

    with process(here, PAUSE):
        assert "Wrong operator token. Run `rayscope token`" in refused(
            "abab", "--port", "0", "--operator", "x"
        )
        with socket.create_server(("127.0.0.1", 0)) as taken:
            assert "Choose another port" in refused("abab", "--port", str(taken.getsockname()[1]))
        assert "needs a task" in refused("--port", "0")
        assert "--port 5678" in refused("abab", "--remote-root", "/app")


def test_a_task_is_released(here: Running) -> None:
    with process(here, PAUSE) as connection, Client(here.server.url, folder=here.folder) as client:
        assert msgspec.json.decode(connection.recv()) == {"limit_s": 60.0}
        assert client.release(PAUSE["id"]) is None
        assert msgspec.json.decode(connection.recv()) == {"release": True}
        with pytest.raises(RayscopeError) as refused:
            client.release("0" * 16)
        assert refused.value.code == "not_paused"
