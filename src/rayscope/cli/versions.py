"""The versions of a program: its git commit, its Python, and its packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rayscope.cli.target import ask_python, other_python

#: How long git may take for each of its two answers, in seconds.
_GIT_S = 1.0
_MAX_PACKAGES = 1_000
#: Prints the version of Python, and the names and versions of packages. Broken packages are left out.
_ASK = f"""
import importlib.metadata, json, platform
found = []
for each in list(importlib.metadata.distributions())[:{_MAX_PACKAGES}]:
    try:
        found.append([each.metadata["Name"].lower(), each.version])
    except Exception:
        pass
print(json.dumps([platform.python_version(), found]))
"""


def git_versions(command: Sequence[str]) -> dict[str, str]:
    """Return the commit of the folder of a command's script, and whether files differ from it.

    Empty if the folder is not in a git repository or git does not answer in time.
    """
    scripts = [word for word in command[1:] if word.endswith(".py") and os.path.isfile(word)]
    folder = Path(scripts[0]).resolve().parent if scripts else Path.cwd()
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return {}
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if changes is None:
        return {"git_commit": commit}
    return {"git_commit": commit, "git_modified": "yes" if changes else "no"}


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints without its file monitor, or None if it fails."""
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
    done = None if other == "" else ask_python(other or sys.executable, _ASK)
    if done is None or done.returncode:
        return {}
    try:
        python, packages = json.loads(done.stdout)
    except ValueError:
        return {}
    return {"python": python, **{f"package.{name}": version for name, version in packages if version}}
