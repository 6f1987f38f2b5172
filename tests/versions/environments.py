"""Environments with another Ray than ours, kept from one run to the next."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = Path(os.environ.get("RAYSCOPE_TEST_RAYS_IN", ROOT / "build" / "rays"))


def uv(*arguments: str) -> None:
    """Run uv, which must succeed."""
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True, cwd=ROOT)


def ray_versions(names: str) -> list[str]:
    """The versions in a comma-separated list. ``newest`` is the newest release on the package index."""
    versions = dict.fromkeys(name for name in names.split(",") if name)
    if "newest" in versions:
        del versions["newest"]
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "-"]
        done = subprocess.run(command, input="ray", capture_output=True, text=True)
        newest = re.search(r"^ray==(\S+)", done.stdout, re.MULTILINE)
        if newest:
            versions[newest[1]] = None
        else:
            print("The package index cannot be reached, so the newest Ray is not tested.")
    return list(versions)


def install_wheel(python: Path, wheel: Path) -> None:
    """Install a wheel of ours, again if it is installed."""
    uv("pip", "install", "-q", "--python", str(python), "--no-deps", "--reinstall", str(wheel))


def uninstall_agent(python: Path) -> None:
    """Remove rayscope-agent."""
    uv("pip", "uninstall", "-q", "--python", str(python), "rayscope-agent")


def freeze(python: Path) -> set[str]:
    """What `pip freeze` prints, by line."""
    command = [sys.executable, "-m", "uv", "pip", "freeze", "-q", "--python", str(python)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def build_wheel(project: Path, folder: Path) -> Path:
    """The wheel of ``project`` in ``folder``, without the UI."""
    environment = {**os.environ, "RAYSCOPE_SKIP_UI": "1"}
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(project),
    ]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    (built,) = folder.glob(f"{'rayscope_agent' if project.name == 'src' else 'rayscope'}-*.whl")
    return built
