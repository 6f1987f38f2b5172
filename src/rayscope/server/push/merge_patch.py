"""JSON merge patches (RFC 7386): documents that describe changes to another JSON document."""

from __future__ import annotations

from typing import Any


def merge_patch(before: Any, after: Any) -> Any:
    """Return the patch with which :func:`merged` turns ``before`` into ``after``.

    Lists are included completely, and removed members as null. So a member that *is* null counts as removed,
    as in the RFC; readers of these documents treat both the same.
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
    """Return ``document`` with ``patch`` applied, by the RFC's algorithm. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
