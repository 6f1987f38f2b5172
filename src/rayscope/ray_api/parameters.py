"""Parses query parameters as Ray's server does, with errors that Ray's client shows."""

from __future__ import annotations

import re

from rayscope.storage.errors import BadQuery

_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}


def parse_integer(name: str, text: str) -> int:
    """The value of an integer. Raises BadQuery."""
    if not re.fullmatch(r"-?[0-9]+", text):
        raise BadQuery(f"{name} must be an integer, not {text[:80]!r}.", "")
    if len(text) > 20 or abs(int(text)) >= 2**63:
        raise BadQuery(f"{name} is too large.", "")
    return int(text)


def parse_boolean(name: str, text: str) -> str:
    """The value of a boolean as "true" or "false". Raises BadQuery."""
    if text.lower() not in _BOOLEANS:
        raise BadQuery(f"{name} must be true or false, not {text[:80]!r}.", "")
    return _BOOLEANS[text.lower()]
