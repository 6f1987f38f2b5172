"""What `rayscope run` makes of its arguments, and whose Python runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rayscope.cli.target import TargetError, can_import_hook, command_for, ray_version, unused_environment


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "job.py"
    path.write_text("print('hello')\n")
    return path


def test_a_python_file_runs_with_our_interpreter(script: Path) -> None:
    assert command_for(["job.py", "--port", "1", "-x"]) == [sys.executable, "job.py", "--port", "1", "-x"]
    script.chmod(0o755)
    assert command_for(["job.py"]) == [sys.executable, "job.py"]


def test_another_environment_that_is_active_is_named(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = command_for(["job.py"]), str(script.parent)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"):
        monkeypatch.delenv(name, raising=False)
    assert unused_environment(own) is None
    monkeypatch.setenv("CONDA_PREFIX", other)
    assert unused_environment(own) == other
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")  # active in every shell of many machines
    assert unused_environment(own) is None
    monkeypatch.setenv("VIRTUAL_ENV", other)
    assert unused_environment(own) == other
    assert unused_environment([f"{other}/bin/python", "job.py"]) is None
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert unused_environment(own) is None


def test_a_module_with_and_without_the_separator() -> None:
    expected = [sys.executable, "-m", "ray._private.ray_perf", "x"]
    assert command_for(["-m", "ray._private.ray_perf", "x"]) == expected
    assert command_for(["--", "-m", "ray._private.ray_perf", "x"]) == expected


def test_a_command_on_the_path_and_one_next_to_our_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command_for(["sh", "-c", "exit 3"])[1:] == ["-c", "exit 3"]
    monkeypatch.setenv("PATH", "/nowhere")
    name = Path(sys.executable).name
    assert command_for([name, "-V"]) == [str(Path(sys.executable).parent / name), "-V"]


def test_a_package_directory(script: Path) -> None:
    package = script.parent / "pkg"
    package.mkdir()
    (package / "__main__.py").touch()
    assert command_for(["pkg", "1"]) == [sys.executable, "pkg", "1"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "Nothing to run"),
        (["--"], "Nothing to run"),
        (["-m"], "-m needs a module"),
        (["--exitt", "x.py"], "No such option: --exitt"),
        (["nowhere.py"], "No such file: nowhere.py"),
        (["no-such-command"], "No such file or command"),
    ],
)
def test_targets_that_cannot_be_run(args: list[str], said: str) -> None:
    with pytest.raises(TargetError, match=said) as caught:
        command_for(args)
    assert caught.value.remedy


def test_our_python_can_import_the_hook() -> None:
    assert can_import_hook([sys.executable, "x.py"])


def _fake_python(folder: Path, status: int) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("status", "expected"), [(0, True), (1, False)])
def test_another_python_is_asked(tmp_path: Path, status: int, expected: bool) -> None:
    other = _fake_python(tmp_path / "bin", status)
    script = tmp_path / "tool"
    script.write_text(f"#!{other}\n")
    assert can_import_hook([str(other)]) is expected
    assert can_import_hook([str(script)]) is expected


def test_the_ray_of_another_python_is_asked_for(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho 2.46.0\n")
    other.chmod(0o755)
    script = tmp_path / "ray"
    script.write_text(f"#!{other}\n")
    assert ray_version([str(script), "start"]) == "2.46.0"
    assert ray_version([sys.executable]) is None
    assert ray_version([str(_fake_python(tmp_path / "bin", 1))]) is None


def test_for_a_shell_script_the_pythons_on_the_path_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_python(tmp_path / "bin", 1)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert not can_import_hook(["/bin/sh", "-c", "python3 x.py"])


def test_a_target_that_chooses_its_own_python_gets_no_hook() -> None:
    assert not can_import_hook(["/usr/bin/uv", "run", "x.py"])
