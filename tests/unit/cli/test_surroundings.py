"""The command line where the machine is not as usual: no home, no room, an odd locale, a proxy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.client.server_url import known_server
from rayscope.server.runner import Server
from rayscope.settings import Settings

runner = CliRunner()
LOST_PROXY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RAYSCOPE_PORT", "0")
    monkeypatch.setattr("rayscope.cli.watch.clusters_in_reach", dict)
    monkeypatch.setattr("rayscope.cli.run.clusters_in_reach", dict)


@pytest.mark.parametrize(
    "command",
    [["run", "--exit", "true"], ["serve"], ["env"], ["sql", "SELECT 1"], ["tasks"], ["token"]],
)
def test_a_home_that_is_unknown_is_explained(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", "~nobody-of-this-name/rayscope")
    result = runner.invoke(app, command)
    said = " ".join(result.output.split())
    assert result.exit_code == 2, said
    assert "The home directory in ~nobody-of-this-name/rayscope is unknown" in said
    assert "--data-dir" in said


@pytest.mark.parametrize(
    "command", [["run", "--exit", "true"], ["serve"], ["env"], ["sql", "SELECT 1"], ["token"]]
)
def test_a_data_directory_that_cannot_be_used_is_explained(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path / "file/data"))
    result = runner.invoke(app, command)
    said = " ".join(result.output.split())
    assert result.exit_code in (1, 2), said
    assert "Traceback" not in said
    assert "file/data" in said
    assert "--data-dir" in said


def test_a_full_disk_is_named_at_once_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_MIN_FREE_BYTES", str(1 << 60))
    result = runner.invoke(app, ["run", "--exit", sys.executable, "-c", "pass"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[1].startswith(
        "Rayscope: nothing is being recorded: Less than 1099511627776 MiB free on the disk"
    )
    assert lines[2].startswith(
        "Rayscope: no session was recorded: Less than 1099511627776 MiB free on the disk"
    )


def test_characters_that_the_locale_cannot_show_are_spelled_out() -> None:
    url = "http://漢:1/api/ingest/K/ray-events"
    command = [sys.executable, "-m", "rayscope.cli", "env", "--server", url]
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "http://\\u6f22:1/api/ingest/K/ray-events" in done.stdout


def test_a_proxy_of_the_environment_is_the_programs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HTTP_PROXY", LOST_PROXY)
    monkeypatch.setenv("http_proxy", LOST_PROXY)
    monkeypatch.setenv("NO_PROXY", "example.org")
    monkeypatch.delenv("no_proxy", raising=False)
    program = "import os; print(sorted((n, v) for n, v in os.environ.items() if 'proxy' in n.lower()))"
    result = runner.invoke(app, ["run", "--exit", sys.executable, "-c", program])
    assert result.exit_code == 0, result.output
    assert "nothing is being recorded" not in result.output
    expected = [("HTTP_PROXY", LOST_PROXY), ("NO_PROXY", "example.org"), ("http_proxy", LOST_PROXY)]
    assert capfd.readouterr().out == f"{expected}\n"


def test_a_server_reaches_this_machine_without_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx
    import requests

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, LOST_PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    try:
        known = known_server(tmp_path / "data")
        assert known is not None
        for url in (known.url, known.url.replace("127.0.0.1", "localhost")):
            assert (
                httpx.get(f"{url}/api/health").status_code == 200
            )  # as Prometheus and Alertmanager are asked
            assert requests.get(f"{url}/api/health", timeout=30).status_code == 200  # as webhooks are sent
        with pytest.raises(httpx.ConnectError):
            httpx.get("http://192.0.2.9/")
    finally:
        server.stop()
