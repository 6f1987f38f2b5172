"""Rayscope's own version."""

from __future__ import annotations


def version() -> str:
    """The installed version."""
    from importlib import metadata

    try:
        return metadata.version("rayscope")
    except metadata.PackageNotFoundError:  # a source tree on sys.path without an install
        return "0+unknown"
