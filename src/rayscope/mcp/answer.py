"""Answers of tools: bounded text in which everything from the cluster is fenced as data."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

from rayscope.client.printable import shown, visible
from rayscope.errors import RayscopeError

#: Size of an answer unless the caller asks for more, in tokens of 4 bytes.
DEFAULT_TOKENS = 1500
#: Limits of what a caller can ask for. The smallest page has room for the longest header and line.
MIN_TOKENS, MAX_TOKENS = 1000, 8000
_TOKEN_BYTES = 4
#: Maximum size of a line of data, in bytes.
_MAX_LINE_BYTES = 1200
#: Maximum length of a cell of a table, in characters.
_MAX_CELL_CHARS = 300
#: Bytes of each answer that are reserved for the first line, the fences, and the note about what was cut.
_RESERVED_BYTES = 900
#: Fields with times since the epoch.
_TIMES = ("created_ns", "start_ns", "end_ns", "since_ns", "time_ns", "first_ns", "last_ns")
_BACKTICKS = re.compile("`{3,}")
#: Maximum number of backticks in a row, because fences are longer than that.
_MAX_BACKTICKS = 8
#: Bytes of a long line that are reserved for the note about what is missing.
_NOTE_BYTES = 40
_PLAIN_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)


class _Line(NamedTuple):
    """A line of an answer. ``block`` is the number of its block, or None for Rayscope's own text."""

    text: str
    block: int | None


@dataclass
class _Block:
    """A fenced block. ``header``: the first line of a table, which is repeated on every page."""

    title: str
    kind: str
    header: str | None = None


@dataclass
class Answer:
    """An answer under construction. Text from the cluster may only be added as data.

    ``head``: the first line of every page.
    """

    head: str = ""
    _lines: list[_Line] = field(default_factory=list)
    _blocks: list[_Block] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a line of Rayscope's own text, which contains nothing from the cluster but numbers."""
        self._lines.append(_Line(text, None))

    def data(self, title: str, lines: Iterable[str]) -> None:
        """Add lines from the cluster. ``title`` is Rayscope's own text."""
        self._add(_Block(title, "text"), (_cut(_tame(shown(line))) for line in lines))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table as CSV. Columns without any value are left out, and so are tables without rows."""
        cells = [[_cell(value) for value in row] for row in rows]
        kept = [at for at in range(len(columns)) if any(row[at] for row in cells)]
        header = _csv_line([_cell(columns[at]) for at in kept])
        self._add(_Block(title, "csv", header), (_csv_line([row[at] for at in kept]) for row in cells))

    def items(self, title: str, names: Sequence[str], items: Iterable[Mapping[str, Any]]) -> None:
        """Add the named fields of items as a table. Times since the epoch are readable."""
        self.table(title, names, ([_field(name, item) for name in names] for item in items))

    def _add(self, block: _Block, texts: Iterable[str]) -> None:
        self._blocks.append(block)
        self._lines += [_Line(text, len(self._blocks) - 1) for text in texts]

    def page(self, cursor: str = "", max_tokens: int = DEFAULT_TOKENS) -> str:
        """Return the lines from ``cursor`` on that fit. The last line says what was cut, and how to get it.

        The tool has built the answer again. A cursor has a digest of the lines before it, so that pages of
        different answers are never taken for one. Raises RayscopeError if these lines have changed.
        """
        number = cursor.partition("-")[0]
        first = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
        if cursor and not (0 < first < len(self._lines) and cursor == self._cursor(first)):
            raise RayscopeError(
                f"{shown(cursor)[:40]!r} is not a cursor of this answer, or the answer has changed since.",
                "Use the cursor that the previous answer named, with the same arguments. If the answer has "
                "changed, ask again without a cursor, narrow the question, or sort the rows.",
                "bad_request",
            )
        left = max_tokens * _TOKEN_BYTES - _RESERVED_BYTES
        end, block = first, None
        while end < len(self._lines):
            line = self._lines[end]
            left -= _bytes(line.text)
            if line.block is not None and line.block != block:
                left -= self._overhead(line.block)
            if left < 0 and end > first:
                break
            block = line.block
            end += 1
        parts = [self.head] if self.head else []
        parts += self._rendered(first, end)
        if end < len(self._lines):
            parts.append(self._note(end, max_tokens))
        return "\n".join(parts)

    def _cursor(self, end: int) -> str:
        before = "\n".join(line.text for line in self._lines[:end])
        return f"{end}-{hashlib.blake2b(before.encode(), digest_size=6).hexdigest()}"

    def _overhead(self, number: int) -> int:
        """Return the size of the title, the header and the fences of a block, in bytes."""
        block = self._blocks[number]
        return _bytes(block.title) + _bytes(block.header or "") + 2 * _MAX_BACKTICKS + 10

    def _rendered(self, first: int, end: int) -> list[str]:
        lines = self._lines[first:end]
        texts = [line.text for line in lines]
        texts += [self._blocks[line.block].header or "" for line in lines if line.block is not None]
        longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=2)
        fence = "`" * (longest + 1)
        parts: list[str] = []
        is_open: int | None = None
        for line in lines:
            if line.block != is_open:
                if is_open is not None:
                    parts.append(fence)
                if line.block is not None:
                    block = self._blocks[line.block]
                    parts += [f"{block.title}:", f"{fence}{block.kind}"]
                    parts += [] if block.header is None else [block.header]
                is_open = line.block
            parts.append(line.text)
        return parts if is_open is None else [*parts, fence]

    def _note(self, end: int, max_tokens: int) -> str:
        titles = dict.fromkeys(
            self._blocks[line.block].title for line in self._lines[end:] if line.block is not None
        )
        names = f" ({'; '.join(titles)})" if titles else ""
        more = f", raise max_tokens (at most {MAX_TOKENS})" if max_tokens < MAX_TOKENS else ""
        return (
            f"CUT: {len(self._lines) - end} more lines{names[:200]}. To get them, repeat the call with "
            f'cursor="{self._cursor(end)}"{more}, or narrow the question.'
        )


def quoted(name: str) -> str:
    """Return a name for Rayscope's own text: in quotes, or a placeholder if it could be mistaken for text."""
    return f"'{name}'" if _PLAIN_NAME.fullmatch(name) else "(a name with unusual characters)"


def time(ns: int | None) -> str:
    """Return a time in UTC, in milliseconds, or "" if it is unknown."""
    if ns is None:
        return ""
    moment = datetime.fromtimestamp(ns // 1_000_000 / 1000, timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03}"


def _field(name: str, item: Mapping[str, Any]) -> Any:
    value = item.get(name)
    return time(value) if name in _TIMES and isinstance(value, int) else value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False)
    text = _tame(visible(str(value)).replace("\n", "\\n").replace("\t", "\\t"))
    left_out = len(text) - _MAX_CELL_CHARS
    return text if left_out <= 0 else f"{text[:_MAX_CELL_CHARS]}… (+{left_out} characters)"


def _csv_line(cells: Sequence[str]) -> str:
    """Return a line of CSV. If it would be too long, its last cell says how many are missing."""
    left = _MAX_LINE_BYTES - _NOTE_BYTES
    for at, cell in enumerate(cells):
        left -= _bytes(_csv_text([cell]))
        if left < 0:
            return _csv_text([*cells[:at], f"… (+{len(cells) - at} columns)"])
    return _csv_text(cells)


def _csv_text(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _tame(text: str) -> str:
    """Return a text without long runs of backticks, each of which would lengthen all fences."""
    return re.sub(f"(`{{{_MAX_BACKTICKS}}})(`+)", lambda run: f"{run[1]}… (+{len(run[2])} backticks)", text)


def _cut(line: str) -> str:
    """Return a line of at most ``_MAX_LINE_BYTES``, with a note of how much of it is missing."""
    encoded = line.encode()
    if len(encoded) <= _MAX_LINE_BYTES:
        return line
    start = encoded[: _MAX_LINE_BYTES - _NOTE_BYTES].decode(errors="ignore")
    return f"{start}… (+{len(line) - len(start)} characters)"


def _bytes(text: str) -> int:
    return len(text.encode()) + 1
