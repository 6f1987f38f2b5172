"""JSON merge patches (RFC 7386): what turns one JSON document into another, told as a document."""

from __future__ import annotations

from typing import Any


def merge_patch(before: Any, after: Any) -> Any:
    """What to send to who has ``before`` so that :func:`merged` gives ``after``.

    Lists are told whole, and a member that vanished as null; so a member that *is* null is told as vanished,
    as the RFC has it: readers of these documents take both alike.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before:
            patch[name] = value
        elif before[name] != value:
            patch[name] = merge_patch(before[name], value)
    return patch


def merged(document: Any, patch: Any) -> Any:
    """``document`` with ``patch`` applied (the algorithm of the RFC); neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
