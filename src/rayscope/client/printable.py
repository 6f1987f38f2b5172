"""Text from outside, made safe to print."""

from __future__ import annotations

import re

#: Letters that Python calls printable, but that show nothing: fillers, joiners and variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def visible(text: str) -> str:
    """Return ``text`` with invisible and bidirectional characters escaped, so that it can be printed safely.

    Newlines and tabs are kept. The command line and the MCP server pass all text from outside through it.
    """
    if not text.isprintable():
        text = "".join(
            letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text
        )
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def shown(text: str) -> str:
    """Return ``text`` on one line, and escaped as by :func:`visible`."""
    return visible(re.sub(r"[\n\t\r]", " ", text))
