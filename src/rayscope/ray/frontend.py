"""The front end of Ray's dashboard, as installed with Ray beside this server."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path


@cache
def find_frontend() -> Path | None:
    """The folder with its files, or None if Ray is missing or has no front end. This does not import Ray."""
    spec = importlib.util.find_spec("ray")
    for folder in (spec and spec.submodule_search_locations) or ():
        build = Path(folder) / "dashboard" / "client" / "build"
        if (build / "index.html").is_file():
            return build
    return None
