"""The two wheels, and ``rayscope.pth`` in an environment that has the agent's wheel alone."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from rayscope.version import __version__

ROOT = Path(__file__).parents[2]
#: Makes every process of the environment trace, and Ray's agents use the fast lane.
SETTINGS = {"RAYSCOPE_TRACE": "1", "RAYSCOPE_FAST_LANE": "1"}
#: Prints what of ours Python loaded when it started.
LOOK = "import sys; print(sorted(name for name in sys.modules if name.startswith('rayscope')))"


def build(project: Path, target: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        f"--{target}",
        "--outdir",
        str(folder),
        str(project),
    ]
    subprocess.run(command, check=True, env={**os.environ, "RAYSCOPE_SKIP_UI": "1"}, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("rayscope"))


@pytest.fixture(scope="module")
def agent_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT / "src", "wheel", tmp_path_factory.mktemp("agent"))


def files(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_each_file_belongs_to_one_of_the_wheels(wheel: Path, agent_wheel: Path) -> None:
    agent, rest = files(agent_wheel), files(wheel)
    assert agent & rest == set()
    ignored = {"static", "__pycache__"}
    sources = [
        one for one in (ROOT / "src" / "rayscope").rglob("*") if one.is_file() and not ignored & {*one.parts}
    ]
    expected = {path.relative_to(ROOT / "src").as_posix() for path in sources}
    shipped = {
        name for name in agent | rest if not name.startswith(("rayscope/server/static/", "rayscope/docs/"))
    }
    assert shipped == expected | {"rayscope.pth"}
    owned = {"rayscope.pth", "rayscope/__init__.py", "rayscope/version.py", "rayscope/importing.py"}
    assert {name for name in agent if not name.startswith(("rayscope/agent/", "rayscope/tracer/"))} == owned


def test_a_wheel_can_be_built_from_the_sdist_of_the_agent(agent_wheel: Path, tmp_path: Path) -> None:
    sdist = build(ROOT / "src", "sdist", tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked")
    (project,) = (tmp_path / "unpacked").iterdir()
    assert files(build(project, "wheel", tmp_path / "wheel")) == files(agent_wheel)


def test_both_packages_have_one_version_and_one_license() -> None:
    assert f'  "rayscope-agent=={__version__}",\n' in (ROOT / "pyproject.toml").read_text()
    assert "\ndependencies = []\n" in (ROOT / "src" / "pyproject.toml").read_text()
    assert (ROOT / "src" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_link_on_the_page_of_pypi_is_relative() -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    text = hook["absolute_links"]((ROOT / "README.md").read_text(), "https://example.org/rayscope")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith("https://")] == []


class Environment:
    """An environment with a wheel, if one is given, and nothing else, not even pip."""

    def __init__(self, folder: Path, wheel: Path | None) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        (self.site,) = folder.glob("lib/python*/site-packages")
        if wheel is not None:
            zipfile.ZipFile(wheel).extractall(self.site)

    def run(self, *arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        base = {name: value for name, value in os.environ.items() if not name.startswith(("RAY", "PYTHON"))}
        return subprocess.run(
            [self.python, *arguments], cwd=cwd, env=base | env, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def environment(agent_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("environment"), agent_wheel)


def test_the_agent_alone_has_annotations_and_no_client(environment: Environment, tmp_path: Path) -> None:
    program = (
        "import rayscope\n"
        "rayscope.annotate(epoch=3)\n"
        "rayscope.counter('loss', 0.25)\n"
        "with rayscope.span('load'): pass\n"
        "print(rayscope.__version__)\n"
        "rayscope.Client()\n"
    )
    done = environment.run("-c", program, cwd=tmp_path)
    assert done.stdout.strip() == __version__
    last = done.stderr.splitlines()[-1]
    assert (
        last == "ImportError: rayscope.Client is not part of rayscope-agent. Install it: pip install rayscope"
    )


def test_each_package_can_be_uninstalled(wheel: Path, agent_wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment", None)

    def pip(*arguments: str | Path) -> None:
        command = [sys.executable, "-m", "uv", "pip", *arguments, "-q", "--python", environment.python]
        subprocess.run(command, check=True)

    pip("install", "--no-deps", wheel, agent_wheel)
    pip("uninstall", "rayscope")
    done = environment.run("-c", "import rayscope; rayscope.annotate(epoch=3)", cwd=tmp_path, **SETTINGS)
    assert (done.returncode, done.stderr) == (0, "")
    pip("install", "--no-deps", wheel)
    pip("uninstall", "rayscope-agent")
    done = environment.run("-c", LOOK, cwd=tmp_path, **SETTINGS)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    done = environment.run("-m", "rayscope.cli", "--version", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("Run: pip install rayscope-agent\n")


def test_without_settings_nothing_is_loaded(environment: Environment, tmp_path: Path) -> None:
    for settings in ({}, {"RAYSCOPE_TRACE": "0", "RAYSCOPE_FAST_LANE": "0"}, {"RAYSCOPE_FAST_LANE": "1"}):
        done = environment.run("-c", LOOK, cwd=tmp_path, **settings)
        assert (done.stdout, done.stderr) == ("[]\n", "")


def test_with_settings_the_entries_are_loaded_and_no_other_module(
    environment: Environment, tmp_path: Path
) -> None:
    """So no file of the user's can be taken for one of the standard library when Python starts."""
    program = "import sys; print(*sys.modules)"
    bare = environment.run("-c", program, cwd=tmp_path)
    traced = environment.run("-c", program, cwd=tmp_path, **SETTINGS)
    added = {*traced.stdout.split()} - {*bare.stdout.split()}
    assert "rayscope.tracer.entry" in added
    assert {name for name in added if not name.startswith("rayscope")} == {"__future__"}
    assert traced.stderr == ""


MODULES = {
    "prints": "print('of the user')",
    "raises": "raise RuntimeError('of the user')",
    "exits": "import sys; sys.exit('of the user')",
}
PLACES = ("rayscope.py", "rayscope/__init__.py", "rayscope/tracer/entry.py", "json.py")


@pytest.mark.parametrize("code", MODULES.values(), ids=MODULES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["PYTHONPATH", "script", "-c"])
def test_a_file_of_the_users_is_left_alone(
    environment: Environment, tmp_path: Path, place: str, code: str, way: str
) -> None:
    """A program does, prints, and returns what it did without the settings, and Python's start runs nothing of it."""
    theirs = tmp_path / "theirs"
    (theirs / place).parent.mkdir(parents=True)
    if place == "rayscope/tracer/entry.py":
        (theirs / "rayscope" / "__init__.py").touch()
    (theirs / place).write_text(code)
    program = "import sys; print('begins'); import rayscope; print(rayscope.__file__)"
    (theirs / "program.py").write_text(program)
    arguments, cwd, env = {
        "PYTHONPATH": (["-c", program], tmp_path, {"PYTHONPATH": str(theirs)}),
        "script": ([str(theirs / "program.py")], tmp_path, {}),
        "-c": (["-c", program], theirs, {}),
    }[way]
    alone = environment.run(*arguments, cwd=cwd, **env)
    traced = environment.run(*arguments, cwd=cwd, **env, **SETTINGS)
    assert (traced.returncode, traced.stdout, traced.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    if place.startswith("rayscope"):
        assert str(environment.site) not in traced.stdout


def test_a_folder_of_data_with_our_name_hides_nothing(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "rayscope").mkdir()
    done = environment.run("-c", LOOK, cwd=tmp_path, **SETTINGS)
    assert "'rayscope.tracer.entry'" in done.stdout
