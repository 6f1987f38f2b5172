"""The versions of a program: its git commit, its Python, and its packages."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from rayscope.cli.target import ask_python, other_python

#: How long git may take for each of its two answers, in seconds.
_GIT_S = 1.0
_MAX_PACKAGES = 1_000
_ASK = f"""
import importlib.metadata, json, platform
packages = list(importlib.metadata.distributions())[:{_MAX_PACKAGES}]
print(json.dumps([platform.python_version(), [[each.metadata["Name"], each.version] for each in packages]]))
"""


def git_versions(command: Sequence[str]) -> dict[str, str]:
    """Return the commit of the folder of a command's script, and whether files differ from it.

    Empty if the folder is not in a git repository or git does not answer in time.
    """
    scripts = [path for word in command[1:] if (path := Path(word)).suffix == ".py" and path.is_file()]
    folder = scripts[0].resolve().parent if scripts else Path.cwd()
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return {}
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if changes is None:
        return {"git_commit": commit}
    return {"git_commit": commit, "git_modified": "yes" if changes else "no"}


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints, or None if it fails. It runs no program that the repository names."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_GIT_S, env=env, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def python_versions(command: Sequence[str]) -> dict[str, str]:
    """Return the versions of the Python that runs a command, and of its packages as ``package.NAME``.

    Empty if the command is not Python.
    """
    other = other_python(command)
    if other is None:
        packages = list(importlib.metadata.distributions())[:_MAX_PACKAGES]
        found = [(each.metadata["Name"], each.version) for each in packages]
        return _named(platform.python_version(), found)
    done = ask_python(other, _ASK) if other else None
    if done is None or done.returncode:
        return {}
    try:
        version, found = json.loads(done.stdout)
    except ValueError:
        return {}
    return _named(version, found)


def _named(python: str, packages: Iterable[tuple[str, str]]) -> dict[str, str]:
    named = {f"package.{name.lower()}": version for name, version in packages if name and version}
    return {"python": python, **named}
