"""Text from outside, made safe to print."""

from __future__ import annotations

import re


def visible(text: str) -> str:
    """Return ``text`` with control and bidirectional characters escaped, so that it can be printed safely.

    Newlines and tabs are kept. The command line and the MCP server pass all text from outside through it.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text
    )


def shown(text: str) -> str:
    """Return ``text`` on one line, and escaped as by :func:`visible`."""
    return visible(re.sub(r"[\n\t\r]", " ", text))
