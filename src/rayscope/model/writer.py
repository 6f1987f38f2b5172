"""Names for the process that wrote a log file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def writer_title(writer: Mapping[str, Any], kind: str) -> str:
    """The name or class of an actor, the functions of a worker, or the script of a driver; '' if unknown.

    ``writer``: the fields of ``LogWriter`` of the API. ``kind``: the kind of the log file.
    """
    if actor := writer["actor_name"] or writer["actor_class"]:
        return str(actor)
    functions = writer["functions"]
    if functions:
        more = writer["functions_total"] - len(functions)
        return ", ".join(functions) + (f" +{more}" if more > 0 else "")
    if kind == "driver" or (kind == "core" and writer["worker_id"] is None):
        return f"driver {writer['script'] or ''}".rstrip()
    return ""
