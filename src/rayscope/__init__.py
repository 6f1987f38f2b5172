"""Rayscope: see what an unmodified Ray cluster is doing, why it is slow, and what it did."""

from typing import TYPE_CHECKING, Any

from rayscope.tracer.annotations import annotate, counter, span

if TYPE_CHECKING:
    from rayscope.client import AsyncClient, Client, RayscopeError

__all__ = ["AsyncClient", "Client", "RayscopeError", "__version__", "annotate", "counter", "span"]
_CLIENT = ("AsyncClient", "Client", "RayscopeError")


def __getattr__(name: str) -> Any:
    """The client and ``__version__``, when they are asked for: every traced process loads this module."""
    if name in _CLIENT:
        from importlib import import_module

        return getattr(import_module("rayscope.client"), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rayscope.version import __version__

    return __version__
