"""The command line as a user meets it: help, failures with their remedies, SQL over a closed directory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rayscope.cli.env import Shell, render
from rayscope.cli.main import COMMANDS, app
from rayscope.cli.options import settings_from
from rayscope.cli.serving import free_port, running_server
from rayscope.cli.start import option
from rayscope.client.server_url import server_token

runner = CliRunner()
URL = "http://10.0.0.1:8700/api/ingest/K/ray-events"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path / "data"))


def test_version_and_help() -> None:
    assert runner.invoke(app, ["--version"]).output.startswith("rayscope ")
    text = runner.invoke(app, ["--help"]).output
    for command in ("run", "start", "env", "serve", "attach", "sql", "export"):
        assert command in text
        assert runner.invoke(app, [command, "--help"]).exit_code == 0


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert set(COMMANDS) == set(commands) - {"operator"}
    for name, (_, line) in COMMANDS.items():
        assert commands[name].load().help.splitlines()[0] == line


def test_help_loads_no_command_and_a_list_no_server() -> None:
    program = (
        "import sys; from rayscope.cli.main import app; app(sys.argv[1:], standalone_mode=False)\n"
        "print(*sys.modules)"
    )

    def loaded(*args: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, *args], capture_output=True, text=True, check=True
        )
        return set(done.stdout.splitlines()[-1].split())

    slow = {
        "ray",
        "duckdb",
        "httpx",
        "fastapi",
        "numpy",
        "rayscope.server",
        "rayscope.settings",
        "rayscope.client.types",
    }
    assert not loaded("--help") & {*slow, "rayscope.client", "pydantic"}
    assert not loaded("tasks", "--help") & slow


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["run", "nowhere.py"], 2, "No such file: nowhere.py"),
        (["run", "my notebook.ipynb"], 2, "rayscope run jupyter lab"),
        (["run", "--port", "99999", "sh"], 2, "Invalid port 99999"),
        (["run", "--host", "0.0.0.0", "sh", "-c", "true"], 2, "--generate-token"),
        (["serve", "--host", "0.0.0.0"], 2, "--generate-token"),
        (["serve", "--root-path", "x"], 2, "Invalid root_path 'x': it must look like /rayscope"),
        (["serve", "--archive", "nowhere"], 2, "cannot be used as an archive"),
        (["serve", "--warehouse", "nowhere"], 2, "is no warehouse"),
        (["attach", "http://x:8265"], 2, "web address"),
        (["sql", "SELECT 1"], 1, "rayscope run"),
        (["env", "--server", "nohost"], 2, "is not a valid URL"),
        (["env", "--server", "http://10.0.0.1:1"], 2, "rayscope env"),
        (["start", "--", "--head", "--system-config", "{"], 2, "JSON object"),
    ],
)
def test_failures_tell_the_remedy(args: list[str], code: int, said: str) -> None:
    result = runner.invoke(app, args)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_token_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAYSCOPE_TOKEN", "RAYSCOPE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    assert settings_from().token is None
    monkeypatch.setenv("RAYSCOPE_TOKEN_FILE", str(file))
    assert settings_from().token == server_token(None) == "of-the-file"
    monkeypatch.setenv("RAYSCOPE_TOKEN", "of-the-environment")
    assert settings_from().token == "of-the-environment"
    assert settings_from(token=f"@{file}").token == "of-the-file"
    file.write_bytes(b"\xff")
    refused = runner.invoke(app, ["tasks", "--token", f"@{file}"])
    assert (refused.exit_code, "Could not read" in " ".join(refused.output.split())) == (2, True)


@pytest.fixture
def ray_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a `ray` that runs Python code on PATH, as that of the environment that a user has activated."""

    def put(code: str) -> None:
        (tmp_path / "bin").mkdir()
        ray = tmp_path / "bin" / "ray"
        ray.write_text(f"#!{sys.executable}\n{code}\n")
        ray.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    return put


def test_a_node_is_started_by_the_ray_on_path(ray_on_path: Callable[[str], None]) -> None:
    arguments = ["start", "--address=10.0.0.1:6379", "--num-cpus=1"]
    ray_on_path(f"import sys; sys.exit(41 if sys.argv[1:] == {arguments} else 42)")
    assert runner.invoke(app, ["start", "--", *arguments[1:]]).exit_code == 41


def test_a_node_hands_no_token_on_to_its_jobs(
    ray_on_path: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import os, sys; sys.exit(40 + len({'RAYSCOPE_TOKEN', 'RAYSCOPE_OPERATOR'} & set(os.environ)))"
    ray_on_path(script)
    monkeypatch.setenv("RAYSCOPE_TOKEN", "a-token")
    monkeypatch.setenv("RAYSCOPE_OPERATOR", "the-operator")
    assert runner.invoke(app, ["start", "--", "--address=10.0.0.1:6379"]).exit_code == 40


def test_the_environment_for_each_shell() -> None:
    assert f"export RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR={URL}\n" in render(Shell.sh, URL)
    assert "set -gx RAY_enable_ray_event 1\n" in render(Shell.fish, URL)
    setup = json.loads(render(Shell.json, URL))
    assert setup["env"]["RAY_PROFILING"] == "1"
    assert setup["system_config"]["enable_ray_event"] is True


def test_the_environment_tells_of_the_token_without_it(
    tmp_path: Path, ray_on_path: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "RAY_AUTH_MODE" not in render(Shell.sh, URL)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("the-secret")
    text = render(Shell.sh, URL)
    assert "#   export RAY_AUTH_MODE=token\n" in text
    assert "the-secret" not in text
    ray_on_path("import sys; sys.exit(1)")
    joined = runner.invoke(app, ["start", "--", "--address=10.0.0.1:6379"])
    assert (joined.exit_code, "RAY_AUTH_MODE=token" in joined.output) == (1, True)


def test_the_kuberay_snippet_is_yaml_with_a_config_that_the_shell_unquotes() -> None:
    import shlex

    import yaml

    spec = yaml.safe_load(render(Shell.k8s, URL))["spec"]
    (word,) = shlex.split(spec["headGroupSpec"]["rayStartParams"]["system-config"])
    assert json.loads(word)["enable_ray_event"] is True
    for group in (spec["headGroupSpec"], spec["workerGroupSpecs"][0]):
        (container,) = group["template"]["spec"]["containers"]
        assert {one["name"]: one["value"] for one in container["env"]}[
            "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"
        ] == URL
        is_head = group is spec["headGroupSpec"]
        assert (
            "RAY_DASHBOARD_INGEST_PLATFORM_EVENTS" in [one["name"] for one in container["env"]]
        ) == is_head


def test_env_keeps_one_key(tmp_path: Path) -> None:
    first = runner.invoke(app, ["env"]).output
    assert "http://127.0.0.1:8700/api/ingest/" in first
    assert runner.invoke(app, ["env"]).output == first
    assert (tmp_path / "data" / "key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"pid": 1}', '{"pid": 999999999, "url": "u", "ingest_url": "i"}']
)
def test_leftovers_of_a_killed_server_are_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    assert running_server(tmp_path) is None


def test_the_next_free_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port
    assert free_port("127.0.0.1", 0) == 0


def test_run_passes_streams_arguments_and_status(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayscope.cli.watch.clusters_in_reach", dict)
    monkeypatch.setattr("rayscope.cli.run.clusters_in_reach", dict)
    script = tmp_path / "job.py"
    script.write_text("import sys; print(sys.argv[1:]); sys.exit(7)\n")
    result = runner.invoke(app, ["run", "--port", "0", "--exit", str(script), "--exit", "-x", "--port=3"])
    assert result.exit_code == 7
    assert "['--exit', '-x', '--port=3']" in capfd.readouterr().out
    assert "Rayscope: http://127.0.0.1:" in result.output
    assert (
        "The script failed (exit status 7) before it reached Ray. No session was recorded." in result.output
    )
    script.write_text("print('no Ray here')\n")
    assert (
        "no session was recorded" in runner.invoke(app, ["run", "--port", "0", "--exit", str(script)]).output
    )


@pytest.mark.parametrize(
    ("args", "value"),
    [(["--port", "1"], "1"), (["--port=2", "--head"], "2"), (["--head"], None), (["--ports=2"], None)],
)
def test_an_option_of_ray(args: list[str], value: str | None) -> None:
    assert option(args, "--port") == value
