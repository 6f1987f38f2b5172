"""The driver hook, without a cluster: what it returns, chains and leaves in the environment."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.tracer import drain, hook
from rayscope.tracer.faults import run_safely
from rayscope.tracer.settings import CHAINED_HOOK, DRAIN_URL, HOOK, REPORT_INTERVAL_MS, RUNTIME_ENV_HOOK


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUNTIME_ENV_HOOK, HOOK)
    monkeypatch.setenv(CHAINED_HOOK, "")
    monkeypatch.delenv(DRAIN_URL, raising=False)


@pytest.mark.parametrize("runtime_env", [None, {}, {"pip": ["x"]}])
def test_the_runtime_env_is_returned_as_it_is(runtime_env: dict[str, Any] | None) -> None:
    assert hook.runtime_env_hook(runtime_env) is runtime_env


def test_it_leaves_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    hook.runtime_env_hook(None)
    assert RUNTIME_ENV_HOOK not in os.environ
    assert CHAINED_HOOK not in os.environ


def test_the_hook_before_ours_runs_and_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

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
    monkeypatch.setenv(DRAIN_URL, "http://127.0.0.1:1/api/drain/K")
    drain._drain(SimpleNamespace(all_processes={}, _session_name="s"))
    with pytest.raises(OSError):  # nobody listens there, so it did ask; the wrapper swallows it
        drain._drain(SimpleNamespace(all_processes={"raylet": [1]}, _session_name="s"))


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
    ("given", "seconds"), [("1000", 1.0), ("250", 0.25), ("nonsense", 1.0), ("60000", 1.35), ("-5", 0.0)]
)
def test_the_wait_follows_rays_report_interval(
    monkeypatch: pytest.MonkeyPatch, given: str, seconds: float
) -> None:
    monkeypatch.setenv(REPORT_INTERVAL_MS, given)
    assert drain.report_interval_s() == pytest.approx(seconds)
