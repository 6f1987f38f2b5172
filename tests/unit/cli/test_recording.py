"""The settings passed to Ray: environments, system configuration, URLs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ray.core.generated import events_base_event_pb2

from rayscope.cli import recording
from rayscope.tracer.settings import CHAINED_HOOK, DRAIN_URL, HOOK, RUNTIME_ENV_HOOK

INGEST = "http://127.0.0.1:8700/api/ingest/KEY/ray-events"


def test_a_child_gets_everything_and_keeps_its_own() -> None:
    env = recording.child_env(INGEST, environ={"PATH": "/bin", "RAY_ADDRESS": "auto"})
    assert env["PATH"] == "/bin"
    assert env["RAY_ADDRESS"] == "auto"
    assert env["RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"] == INGEST
    kinds = env["RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES"].split(",")
    # By name: "ALL" means nothing to Ray before 2.54, which then sends nothing.
    assert set(events_base_event_pb2.RayEvent.EventType.keys()) - {"EVENT_TYPE_UNSPECIFIED"} <= set(kinds)
    assert env["RAYSCOPE_FAST_LANE"] == "1"
    assert env["RAY_enable_core_worker_ray_event_to_aggregator"] == "1"
    assert env["RAY_enable_ray_event"] == "1"
    assert env["RAY_PROFILING"] == "1"
    assert env[RUNTIME_ENV_HOOK] == HOOK
    assert env[DRAIN_URL] == "http://127.0.0.1:8700/api/drain/KEY"
    assert CHAINED_HOOK not in env


def test_py_spy_is_found_by_a_node_that_is_started_from_an_environment_not_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(folder: str) -> str:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "py-spy").touch(0o755)
        return str(tmp_path / folder)

    monkeypatch.setattr("sys.executable", f"{tmp_path}/none/python")
    assert recording.with_py_spy({"PATH": "/nowhere"}) == {"PATH": "/nowhere"}
    ours, theirs = installed("ours"), installed("theirs")
    monkeypatch.setattr("sys.executable", f"{ours}/python")
    assert recording.with_py_spy({"PATH": "/nowhere", "A": "1"}) == {"PATH": f"/nowhere:{ours}", "A": "1"}
    assert recording.with_py_spy({"PATH": theirs}) == {"PATH": theirs}


def test_the_fast_lane_can_be_left_out() -> None:
    base = {"RAYSCOPE_FAST_LANE": "1"}
    assert (
        recording.child_env(INGEST, recording.Parts(fast_lane=False), environ=base)["RAYSCOPE_FAST_LANE"]
        == "0"
    )


def test_serve_is_recorded_unless_that_is_left_out() -> None:
    assert recording.child_env(INGEST, environ={})["RAY_SERVE_ENABLE_TASK_EVENTS"] == "1"
    left_out = recording.child_env(INGEST, recording.Parts(serve_events=False), environ={})
    assert "RAY_SERVE_ENABLE_TASK_EVENTS" not in left_out


def test_train_keeps_the_state_of_its_runs_unless_that_is_left_out() -> None:
    assert recording.child_env(INGEST, environ={})["RAY_TRAIN_ENABLE_STATE_TRACKING"] == "1"
    left_out = recording.child_env(INGEST, recording.Parts(train_state=False), environ={})
    assert "RAY_TRAIN_ENABLE_STATE_TRACKING" not in left_out


def test_ends_of_processes_are_watched_unless_that_is_left_out() -> None:
    assert "RAYSCOPE_WATCH_EXITS" not in recording.child_env(INGEST, environ={})
    left_out = recording.child_env(INGEST, recording.Parts(exit_watch=False), environ={})
    assert left_out["RAYSCOPE_WATCH_EXITS"] == "0"


def test_gpus_are_watched_unless_that_is_left_out() -> None:
    assert "RAYSCOPE_WATCH_GPUS" not in recording.child_env(INGEST, environ={})
    left_out = recording.child_env(INGEST, recording.Parts.without(*[False] * 7, True), environ={})
    assert left_out["RAYSCOPE_WATCH_GPUS"] == "0"


def test_a_hook_of_the_user_is_chained_once() -> None:
    env = recording.child_env(INGEST, environ={RUNTIME_ENV_HOOK: "mine.hook"})
    assert (env[RUNTIME_ENV_HOOK], env[CHAINED_HOOK]) == (HOOK, "mine.hook")
    again = recording.child_env(INGEST, environ=env)
    assert (again[RUNTIME_ENV_HOOK], again[CHAINED_HOOK]) == (HOOK, "mine.hook")


def test_no_hook_where_the_interpreter_cannot_import_it() -> None:
    env = recording.child_env(INGEST, hook=False, environ={RUNTIME_ENV_HOOK: "mine.hook"})
    assert env[RUNTIME_ENV_HOOK] == "mine.hook"
    assert DRAIN_URL not in env


def test_no_profile_leaves_out_spans() -> None:
    env = recording.child_env(INGEST, recording.Parts(profile=False), environ={})
    # Ray looks at the presence of RAY_PROFILING, not at its value.
    assert "RAY_PROFILING" not in env
    assert recording.system_config(profile=False) == {
        "enable_core_worker_ray_event_to_aggregator": True,
        "enable_ray_event": True,
    }


@pytest.mark.parametrize(
    ("value", "passed"), [("50", "50"), ("-1", "10000"), ("", "10000"), ("many", "10000")]
)
def test_a_span_limit_that_crashes_ray_is_not_passed_on(value: str, passed: str) -> None:
    name = "RAY_task_events_max_num_profile_events_per_task"
    assert recording.child_env(INGEST, environ={name: value})[name] == passed


@pytest.mark.parametrize(("limit", "expected"), [("900", "900"), ("", "20000"), ("-1", "20000")])
def test_errors_are_kept_as_long_as_the_user_wants(limit: str, expected: str) -> None:
    name = "RAY_MAX_APPLICATION_ERROR_LENGTH"
    assert recording.child_env(INGEST, environ={name: limit})[name] == expected
    assert recording.node_env(INGEST)[name] == "20000"


def _config(args: list[str]) -> dict[str, object]:
    (flag,) = [one for one in args if one.startswith("--system-config")]
    config: dict[str, object] = json.loads(flag.partition("=")[2])
    return config


@pytest.mark.parametrize(
    "options",
    [
        ["--head", "--system-config", '{"a": 1, "enable_ray_event": false}', "--block"],
        ["--head", '--system-config={"a": 1, "enable_ray_event": false}', "--block"],
    ],
)
def test_system_config_is_merged_and_the_users_values_win(options: list[str]) -> None:
    merged = recording.merge_system_config(options, {"enable_ray_event": True, "b": 2})
    assert merged[:2] == ["--head", "--block"]
    assert _config(merged) == {"a": 1, "enable_ray_event": False, "b": 2}


def test_system_config_is_added_where_there_is_none() -> None:
    assert _config(recording.merge_system_config(["--head"], {"b": 2})) == {"b": 2}


@pytest.mark.parametrize("text", ["[1]", "{", ""])
def test_a_system_config_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        recording.merge_system_config(["--system-config", text], {})


def test_the_ingest_url_comes_from_a_server_or_is_one() -> None:
    assert recording.ingest_url("http://h:1/", "K") == "http://h:1/api/ingest/K/ray-events"
    assert recording.ingest_url(INGEST, "other") == INGEST


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1/x", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.1:1", False),
        ("http://example.com", False),
    ],
)
def test_loopback(url: str, expected: bool) -> None:
    assert recording.is_loopback_url(url) is expected
