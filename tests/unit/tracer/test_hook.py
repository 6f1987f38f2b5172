"""The driver hook, without a cluster: what it returns, chains and leaves in the environment."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cluster import free_port

from rayscope.tracer import drain, hook
from rayscope.tracer.faults import run_safely
from rayscope.tracer.settings import (
    CHAINED_HOOK,
    DRAIN_URL,
    HOOK,
    REPORT_INTERVAL_MS,
    RUN_PID,
    RUNTIME_ENV_HOOK,
)

NODE = SimpleNamespace(all_processes={"raylet": [1]}, _session_name="s")


class DrainServer:
    """Answers at ``url`` once it is started, at first ``busy`` times that it is busy, and keeps what it was sent."""

    def __init__(self, busy: int = 0) -> None:
        self.requests: list[Any] = []
        self._busy = busy
        self._server = http.server.HTTPServer(("127.0.0.1", free_port()), self._handler(), False)
        self.url = "http://{}:{}/api/drain/K".format(*self._server.server_address)

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        requests, busy = self.requests, self._busy

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(503 if len(requests) <= busy else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def start(self) -> None:
        self._server.server_bind()
        self._server.server_activate()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> DrainServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUNTIME_ENV_HOOK, HOOK)
    monkeypatch.setenv(CHAINED_HOOK, "")
    monkeypatch.delenv(DRAIN_URL, raising=False)
    monkeypatch.delenv(RUN_PID, raising=False)


@pytest.mark.parametrize("runtime_env", [None, {}, {"pip": ["x"]}])
def test_the_runtime_env_is_returned_as_it_is(runtime_env: dict[str, Any] | None) -> None:
    assert hook.runtime_env_hook(runtime_env) is runtime_env


def test_it_leaves_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    hook.runtime_env_hook(None)
    assert RUNTIME_ENV_HOOK not in os.environ
    assert CHAINED_HOOK not in os.environ


def test_the_hook_before_ours_runs_and_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    # json.dumps stands for a user's hook: importable anywhere, and it answers.
    monkeypatch.setenv(CHAINED_HOOK, "json.dumps")
    assert hook.runtime_env_hook({"a": 1}) == '{"a": 1}'  # type: ignore[comparison-overlap]
    assert os.environ[RUNTIME_ENV_HOOK] == "json.dumps"


def test_an_error_of_ours_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(drain, "install", broken)
    assert hook.runtime_env_hook(None) is None


def test_only_a_node_with_processes_of_its_own_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    with DrainServer() as server:
        monkeypatch.setenv(DRAIN_URL, server.url)
        drain._drain(SimpleNamespace(all_processes={}, _session_name="s"))
        assert server.requests == []
        drain._drain(NODE)
        assert server.requests == [{"session": "s", "timeout_s": drain.DRAIN_S}]


def test_a_driver_waits_for_the_server_that_takes_the_place_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = DrainServer()
    monkeypatch.setenv(DRAIN_URL, server.url)
    monkeypatch.setenv(RUN_PID, str(os.getpid()))
    threading.Timer(0.5, server.start).start()
    drain._drain(NODE)
    server.stop()
    assert server.requests == [{"session": "s", "timeout_s": drain._AFTER_AWAY_S}]


def test_a_driver_asks_a_busy_server_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with DrainServer(busy=2) as server:
        monkeypatch.setenv(DRAIN_URL, server.url)
        drain._drain(NODE)
    assert len(server.requests) == 3
    monkeypatch.setattr(drain, "DRAIN_S", 0.0)
    with DrainServer(busy=100) as server:
        monkeypatch.setenv(DRAIN_URL, server.url)
        drain._drain(NODE)
    assert len(server.requests) == 1


def test_a_driver_does_not_wait_for_a_server_that_never_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(drain, "_RETRY_S", 1e9)  # waiting would never end
    for pid in ("", str(ended.pid)):
        monkeypatch.setenv(DRAIN_URL, DrainServer().url)
        monkeypatch.setenv(RUN_PID, pid)
        drain._drain(NODE)


def test_a_timeout_of_the_users_ends_our_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, time_out)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TimeoutError):
            run_safely(drain._wait_for_workers, SimpleNamespace(connected=True, mode=0))
    finally:
        signal.signal(signal.SIGALRM, before)
    monkeypatch.setenv(DRAIN_URL, "http://127.0.0.1:1/api/drain/K")
    run_safely(drain._drain, SimpleNamespace(all_processes={"raylet": [1]}, _session_name="s"))


@pytest.mark.parametrize(
    ("interval", "seconds"), [("1000", 1.0), ("250", 0.25), ("nonsense", 1.0), ("60000", 1.35), ("-5", 0.0)]
)
def test_the_wait_follows_rays_report_interval(
    monkeypatch: pytest.MonkeyPatch, interval: str, seconds: float
) -> None:
    monkeypatch.setenv(REPORT_INTERVAL_MS, interval)
    assert drain.report_interval_s() == pytest.approx(seconds)
