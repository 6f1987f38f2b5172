"""What `rayscope run` runs: a script, a module, or a command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rayscope.errors import RayscopeError

_PROBE = "import rayscope.tracer.hook"
_RAY_VERSION = "import importlib.metadata; print(importlib.metadata.version('ray'))"


class TargetError(RayscopeError):
    """The arguments do not name anything that can be run."""


def command_for(args: Sequence[str]) -> list[str]:
    """Return the command line for ``args``.

    ``-m module ...`` and Python files run with our own interpreter. Anything else is a path to a command or
    the name of one. It is on PATH or, like `ray` in an environment that is not activated, next to our
    interpreter.
    """
    if args and args[0] == "--":
        args = args[1:]
    if not args:
        raise TargetError("Nothing to run.", "Add a script: rayscope run SCRIPT [ARGS...]")
    first = args[0]
    if first == "-m":
        if len(args) < 2:
            raise TargetError("-m needs a module.", "For example: rayscope run -m my_package.train")
        return [sys.executable, *args]
    if first.startswith("-"):
        raise TargetError(f"No such option: {first}.", "See rayscope run --help.")
    path = Path(first)
    if path.suffix == ".ipynb":
        raise TargetError(
            f"{first} is a notebook, not a script.",
            "Record the notebook server: rayscope run jupyter lab. Or convert the notebook: "
            f"jupyter nbconvert --to script {shlex.quote(first)}",
        )
    if path.is_file() and (path.suffix in (".py", ".pyz", ".zip") or not os.access(path, os.X_OK)):
        return [sys.executable, *args]
    if path.is_dir() and (path / "__main__.py").is_file():
        return [sys.executable, *args]
    found = shutil.which(first) or shutil.which(first, path=str(Path(sys.executable).parent))
    if found is None:
        what = "file" if path.suffix == ".py" or os.sep in first else "file or command"
        raise TargetError(f"No such {what}: {first}.", f"The working directory is {Path.cwd()}.")
    return [found, *args[1:]]


def unused_environment(command: Sequence[str]) -> str | None:
    """Return the active virtual environment if ``command`` runs with our own Python instead of the
    environment's.
    """
    active = os.environ.get("VIRTUAL_ENV")
    if not active and os.environ.get("CONDA_DEFAULT_ENV") != "base":
        active = os.environ.get("CONDA_PREFIX")
    if not active or command[0] != sys.executable or Path(active).resolve() == Path(sys.prefix).resolve():
        return None
    return active


def can_import_hook(command: Sequence[str]) -> bool:
    """Return whether the Python that runs ``command`` can import our driver hook.

    Our own Python can. Any other interpreter is tested. For a command that is not Python (a shell script,
    make), the interpreters on PATH are tested. ``ray.init()`` fails if it cannot import a hook, so the answer
    is no when in doubt.
    """
    interpreter = _interpreter(Path(command[0]))
    if interpreter is not None:
        return _same(interpreter, Path(sys.executable)) or _imports(str(interpreter))
    if Path(command[0]).name in ("uv", "uvx", "poetry", "pdm", "hatch", "conda", "pixi", "docker", "podman"):
        return False  # these choose an interpreter that is unknown here
    candidates = [found for name in ("python", "python3") if (found := shutil.which(name))]
    return bool(candidates) and all(
        _same(Path(found), Path(sys.executable)) or _imports(found) for found in candidates
    )


def other_python(command: Sequence[str]) -> str | None:
    """Return the Python that runs ``command``: None if it is our own, and "" if it is unknown."""
    interpreter = _interpreter(Path(command[0]))
    if interpreter is None:
        return ""
    return None if _same(interpreter, Path(sys.executable)) else str(interpreter)


def ray_version(command: Sequence[str]) -> str | None:
    """Return the version of Ray in the Python that runs ``command``. None if that is our own or unknown."""
    other = other_python(command)
    done = ask_python(other, _RAY_VERSION) if other else None
    return done.stdout.strip() if done is not None and done.returncode == 0 else None


def _interpreter(path: Path) -> Path | None:
    """Return the Python that runs ``path``: ``path`` itself or the one in its first line, or None."""
    if path.name.startswith("python"):
        return path
    try:
        with path.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [found] if len(words) > 1 and (found := shutil.which(words[1])) else []
    return Path(words[0]) if words and Path(words[0]).name.startswith("python") else None


def _same(first: Path, second: Path) -> bool:
    """Return whether two interpreters belong to the same environment.

    They do if they are links in the same folder to the same file.
    """
    return first.parent.resolve() == second.parent.resolve() and first.resolve() == second.resolve()


def _imports(python: str) -> bool:
    done = ask_python(python, _PROBE)
    return done is not None and done.returncode == 0


def ask_python(python: str, code: str) -> subprocess.CompletedProcess[str] | None:
    """Run ``code`` in another Python. Returns None if that fails."""
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
