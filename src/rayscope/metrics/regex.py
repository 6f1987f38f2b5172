"""Go's regular expressions, with RE2, which takes linear time."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rayscope.storage.errors import BadQuery


def matches(pattern: str, texts: Sequence[str]) -> list[bool]:
    """For each string, whether the pattern matches a part of it. Raises BadQuery for an invalid pattern."""
    try:
        found: list[bool] = pc.match_substring_regex(pa.array(texts, pa.string()), pattern).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise _invalid(pattern, error) from error
    return found


def replaced(pattern: str, replacement: str, texts: Sequence[str]) -> list[str]:
    """Replace each match in the strings. ``$1`` and ``${name}`` refer to groups. Raises BadQuery."""
    rewritten = _rewritten(replacement, pattern)
    try:
        found: list[str] = pc.replace_substring_regex(
            pa.array(texts, pa.string()), pattern, rewritten
        ).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise _invalid(pattern, error) from error
    return found


def _invalid(pattern: str, error: Exception) -> BadQuery:
    return BadQuery(
        f"Invalid pattern {pattern[:100]!r}: {str(error)[:200]}",
        "Use RE2 syntax: https://github.com/google/re2/wiki/Syntax",
        what="regex",
        pattern=pattern[:100],
        reason=str(error)[:200],
    )


def _rewritten(replacement: str, pattern: str) -> str:
    r"""Convert Go's `$1` and `${name}` to RE2's `\1`.

    Names extend as far as possible. A reference to an unknown group becomes empty.
    """
    names = _groups(pattern)

    def group(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name is None:
            return "$"
        at = int(name) if name.isdigit() and len(name) < 3 else names.index(name) if name in names else 99
        return f"\\{at}" if at < min(len(names), 10) else ""

    return re.sub(r"\$(?:(\w+)|\{(\w+)\}|\$)", group, replacement.replace("\\", "\\\\"), flags=re.ASCII)


def _groups(pattern: str) -> list[str]:
    """Names of a pattern's groups, or "" for unnamed ones. The first is the whole match."""
    found = [""]
    for match in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<(\w+)>", pattern, re.DOTALL):
        if match[0].startswith("("):
            found.append(match[1] or "")
    return found
