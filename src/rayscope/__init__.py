"""Rayscope: see what an unmodified Ray cluster is doing, why it is slow, and what it did."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("rayscope")
except PackageNotFoundError:  # a source tree on sys.path without an install
    __version__ = "0+unknown"
