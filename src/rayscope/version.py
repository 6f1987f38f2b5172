"""Rayscope's own version."""

from __future__ import annotations

from importlib import metadata

try:
    __version__ = metadata.version("rayscope")
except metadata.PackageNotFoundError:  # a source tree on sys.path without an install
    __version__ = "0+unknown"
