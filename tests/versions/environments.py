"""Environments with another Ray than ours, kept from one run to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = Path(os.environ.get("RAYSCOPE_TEST_RAYS_IN", ROOT / "build" / "rays"))


def uv(*arguments: str) -> None:
    """Run uv, which must succeed."""
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True, cwd=ROOT)


def install_wheel(python: Path, wheel: Path) -> None:
    """Install Rayscope alone: its code for agents and workers needs no more than Ray."""
    uv("pip", "install", "-q", "--python", str(python), "--no-deps", "--reinstall", str(wheel))
