"""Rayscope: see what an unmodified Ray cluster is doing, why it is slow, and what it did."""

from typing import Any

from rayscope.tracer.annotations import annotate, counter, span

__all__ = ["__version__", "annotate", "counter", "span"]


def __getattr__(name: str) -> Any:
    """``__version__``, read when it is asked for: this module is loaded into every traced process."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rayscope")
    except PackageNotFoundError:  # a source tree on sys.path without an install
        return "0+unknown"
