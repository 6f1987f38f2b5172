"""Rayscope: see what an unmodified Ray cluster is doing, why it is slow, and what it did."""

# Not imported from typing, because every traced process loads this module when Python starts.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rayscope.client import AsyncClient, Client, RayscopeError, show
    from rayscope.tracer.annotations import annotate, counter, span
    from rayscope.version import __version__

__all__ = ["AsyncClient", "Client", "RayscopeError", "__version__", "annotate", "counter", "show", "span"]
_CLIENT = ("AsyncClient", "Client", "RayscopeError", "show")
_ANNOTATIONS = ("annotate", "counter", "span")


def __getattr__(name: str) -> "Any":
    """Load the names in :data:`__all__` on first use. Raises ImportError if the client is not installed."""
    if name in _CLIENT:
        value = getattr(_client(name), name)
    elif name in _ANNOTATIONS:
        from rayscope.tracer import annotations

        value = getattr(annotations, name)
    elif name == "__version__":
        from rayscope.version import __version__ as value
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _client(name: str) -> "Any":
    from importlib import import_module

    try:
        return import_module("rayscope.client")
    except ModuleNotFoundError as error:
        if error.name != "rayscope.client":
            raise
        message = f"rayscope.{name} is not part of rayscope-agent. Install it: pip install rayscope"
        raise ImportError(message, name="rayscope.client") from None
