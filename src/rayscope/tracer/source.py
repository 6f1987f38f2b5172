"""Reads the text of the lines of the user's code that samples show. Code of libraries is left out.

A file may have changed since it was imported, or be another one if the function was defined on another
machine. Then the lines are left out, if that can be seen.
"""

from __future__ import annotations

import os
import re
import stat
import tokenize
from collections.abc import Iterable
from types import CodeType

#: Maximum length of a line's text, in characters, and maximum size of a file, in bytes.
MAX_CHARS = 100
_MAX_BYTES = 1 << 20
#: Maximum number of lines of a function's decorators.
_MAX_DECORATORS = 20
_LIBRARIES = re.compile(r"[/\\](site|dist)-packages[/\\]")
_PYTHON = os.path.dirname(os.__file__) + os.sep
#: Code, the number of a line in it, and since when it has been known (Unix time, s).
Line = tuple[CodeType, int, float]


def read_lines(lines: Iterable[tuple[Line, str]]) -> list[tuple[str, str]]:
    """Return the names of the lines that could be read, and their texts. ``lines``: with their names."""
    files: dict[str, tuple[list[str], float]] = {}
    texts = []
    for (code, number, since), name in lines:
        file = code.co_filename
        if file not in files:
            files[file] = _read(file)
        content, changed = files[file]
        if changed > since or not 0 < number <= len(content) or not _defines(content, code):
            continue
        if text := content[number - 1].strip():
            texts.append((name, text if len(text) <= MAX_CHARS else _cut(text)))
    return texts


def _cut(text: str) -> str:
    """The beginning of a text. The server removes credentials from URLs, but not from parts of URLs."""
    text = text[: MAX_CHARS - 1]
    return (text[: text.index("://")] if "://" in text else text) + "…"


def _read(file: str) -> tuple[list[str], float]:
    """The lines of a file, none if it is no user's, and when it last changed (Unix time, s)."""
    if _LIBRARIES.search(file) or file.startswith(_PYTHON):
        return [], 0.0
    try:
        about = os.stat(file)
        if stat.S_ISREG(about.st_mode) and about.st_size <= _MAX_BYTES:
            with tokenize.open(file) as stream:
                return stream.readlines(), about.st_mtime
    except (OSError, SyntaxError, ValueError):  # it is not there, or is no Python
        pass
    return [], 0.0


def _defines(lines: list[str], code: CodeType) -> bool:
    """Whether the lines define a function where its code says so. Code without a name is not checked."""
    name = code.co_name
    if name.startswith("<"):
        return True
    defines = re.compile(rf"\s*(async\s+def|def|class)\s+{re.escape(name)}\s*[\[(:]")
    first = code.co_firstlineno - 1
    return any(defines.match(text) for text in lines[first : first + _MAX_DECORATORS])
