"""A page of a log file: lines forward from an offset, or backward to one, filtered, within bounds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute

from rayscope.cluster.logs.files import Source
from rayscope.cluster.logs.lines import Context, Line, at_least, read_lines, split_lines
from rayscope.storage.errors import BadQuery

MAX_LINES = 5_000
#: Letters of an answer's lines, bytes that a filter looks through, and how long, s.
_LETTERS, _LOOKED, _LOOK_S = 900_000, 64 << 20, 3.0
#: A read, and the longest line that is joined of several, bytes.
_CHUNK, _LONGEST = 256 << 10, 1 << 20
_PROBE = 16 << 10
MAX_PATTERN = 300


class Matcher:
    """Which lines have a text, or match a regular expression (RE2's: its time is linear in the text's size).

    Raises BadQuery for what is no expression.
    """

    def __init__(self, text: str, *, regex: bool = False, case: bool = False) -> None:
        if len(text) > MAX_PATTERN:
            raise BadQuery(f"The text is longer than {MAX_PATTERN} characters.", "Shorten it.")
        self._text = text
        self._regex = regex
        self._case = case
        self._needle = None if regex or case or not text.isascii() else text.lower().encode()
        self.matches([""])

    def may_match(self, data: bytes) -> bool:
        """Whether to look at the lines of these bytes one by one."""
        return self._needle is None or b"\x1b" in data or self._needle in data.lower()

    def matches(self, texts: list[str]) -> list[bool]:
        """Of each text whether it matches."""
        find = pyarrow.compute.match_substring_regex if self._regex else pyarrow.compute.match_substring
        array = pyarrow.array(texts, pyarrow.string())
        try:
            found: list[bool] = find(array, self._text, ignore_case=not self._case).to_pylist()
        except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
            said = str(error).partition("\n")[0].removeprefix("Invalid regular expression: ")[:200]
            raise BadQuery(
                f"Invalid regular expression: {said}.",
                "Use RE2 syntax, which has no look-around and no back-references.",
            ) from None
        return found


class Wanted(NamedTuple):
    """What a page is of. ``begin``, ``end``: the stretch of the file that there is, bytes.

    ``level``: that or more serious. ``since_ns``, ``until_ns``: of lines whose time is known.
    """

    begin: int
    end: int
    limit: int = 1000
    matcher: Matcher | None = None
    level: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None

    @property
    def filters(self) -> bool:
        """Whether lines are left out."""
        return self.matcher is not None or self.level is not None


class Chunk(NamedTuple):
    """Whole lines that stand together, and what is missing before them: (from, to) or None."""

    offset: int
    data: bytes
    missing: tuple[int, int] | None = None


def chunks(source: Source, begin: int, end: int) -> Iterator[Chunk]:
    """The file from ``begin`` up to ``end``, cut where lines end; a very long line is cut within."""
    carry = b""
    at = begin  # the next byte to read; ``carry`` is before it
    while at < end:
        stop = min(at + _CHUNK, end)
        missing: tuple[int, int] | None = None
        for offset, data in source.read(at, stop):
            if offset > at:
                missing = (at, offset)
                if carry:
                    yield Chunk(at - len(carry), carry)
                    carry = b""
            carry += data
            at = offset + len(data)
            cut = carry.rfind(b"\n") + 1
            if cut == 0 and len(carry) > _LONGEST:
                cut = len(carry)
            if cut or missing:
                yield Chunk(at - len(carry), carry[:cut], missing)
                carry, missing = carry[cut:], None
        if at < stop:
            if carry:
                yield Chunk(at - len(carry), carry)
                carry = b""
            yield Chunk(stop, b"", (at, stop))
            at = stop
    if carry:
        yield Chunk(at - len(carry), carry)


def forward(source: Source, offset: int, wanted: Wanted) -> dict[str, Any]:
    """Lines from ``offset`` on. ``next``: where the following ones begin; ``prev``: where these do."""
    began = time.monotonic()
    start = at = max(offset, wanted.begin)
    is_past = False
    if wanted.since_ns is not None:
        at, is_past = _since(source, at, wanted)
        start = at
    lines: list[Line] = []
    missing: list[tuple[int, int]] = []
    context, letters, more = Context(), 0, False
    levels = at_least(wanted.level) if wanted.level else None
    for chunk in chunks(source, at, wanted.end):
        if chunk.missing:
            missing.append(chunk.missing)
        found = list(read_lines(split_lines(chunk.data, chunk.offset), context, source.clock))
        if found:
            context = Context(found[-1].at_ns, found[-1].counts_as)
        kept = _chosen(found, wanted, levels, chunk.data)
        at = chunk.offset + len(chunk.data)
        for line, is_kept in zip(found, kept, strict=True):
            if wanted.until_ns is not None and line.at_ns is not None and line.at_ns > wanted.until_ns:
                return _page(source, wanted, lines, missing, start, line.offset, False)
            if is_kept and not (lines == [] and _is_before(line, wanted, is_past)):
                if len(lines) >= wanted.limit or letters > _LETTERS:
                    return _page(source, wanted, lines, missing, start, line.offset, True)
                lines.append(line)
                letters += len(line.text) + 60
        if at - start > _LOOKED or time.monotonic() - began > _LOOK_S:
            more = at < wanted.end
            break
    if lines and not lines[-1].is_whole and source.live and at >= source.size and not wanted.filters:
        at = lines[-1].offset  # it is being written
    return _page(source, wanted, lines, missing, start, at, more)


def backward(source: Source, before: int, wanted: Wanted) -> dict[str, Any]:
    """The last lines before ``before``. ``prev``: where those before them end; ``next``: where these do."""
    end = min(before, wanted.end)
    began, reach = time.monotonic(), min(64 << 10, 200 * wanted.limit + 4096)
    levels = at_least(wanted.level) if wanted.level else None
    lines: list[Line] = []
    missing: list[tuple[int, int]] = []
    first = end
    while first > wanted.begin:
        low = max(wanted.begin, first - reach)
        stretch = list(chunks(source, max(wanted.begin, low - 1), first))
        context = Context()
        found: list[Line] = []
        kept: list[bool] = []
        for chunk in stretch:
            each = list(read_lines(split_lines(chunk.data, chunk.offset), context, source.clock))
            if each:
                context = Context(each[-1].at_ns, each[-1].counts_as)
            found += each
            kept += _chosen(each, wanted, levels, chunk.data)
        whole = 1 if low > wanted.begin and found and found[0].offset < low else 0
        if whole and len(found) == 1 and reach < _LONGEST:
            reach = min(reach * 4, _LONGEST)
            continue
        if whole and len(found) > 1:
            found, kept = found[1:], kept[1:]
        gaps = [chunk.missing for chunk in stretch if chunk.missing]
        lines = [line for line, is_kept in zip(found, kept, strict=True) if is_kept] + lines
        missing = gaps + missing
        first = found[0].offset if found else low
        enough = len(lines) >= wanted.limit
        if enough or end - first > _LOOKED or time.monotonic() - began > _LOOK_S:
            break
        reach = min(reach * 4, 4 << 20)
    lines, cut = _last(lines, wanted.limit)
    if cut:
        first = lines[0].offset
    at = end
    if lines and not lines[-1].is_whole and source.live and end >= source.size and not wanted.filters:
        at = lines[-1].offset
    return _page(source, wanted, lines, missing, first, at, False)


def _last(lines: list[Line], limit: int) -> tuple[list[Line], bool]:
    """The last lines within the bounds of an answer, and whether any were cut off."""
    letters, begin = 0, len(lines)
    while begin > 0 and len(lines) - begin < limit and letters < _LETTERS:
        begin -= 1
        letters += len(lines[begin].text) + 60
    return lines[begin:], begin > 0


def _chosen(lines: list[Line], wanted: Wanted, levels: frozenset[str] | None, data: bytes) -> list[bool]:
    if wanted.matcher is None:
        found = [True] * len(lines)
    elif not wanted.matcher.may_match(data):
        return [False] * len(lines)
    else:
        found = wanted.matcher.matches([line.text for line in lines])
    if levels is None:
        return found
    return [is_found and line.counts_as in levels for is_found, line in zip(found, lines, strict=True)]


def _is_before(line: Line, wanted: Wanted, is_past: bool) -> bool:
    """Whether a line is older than ``since_ns``; ``is_past``: what to hold of lines before any time."""
    if wanted.since_ns is None:
        return False
    return is_past if line.at_ns is None else line.at_ns < wanted.since_ns


def _since(source: Source, begin: int, wanted: Wanted) -> tuple[int, bool]:
    """Near where the lines of ``since_ns`` begin, and whether what has no time there is older.

    By the lines' own times, else by when they were kept.
    """
    since = wanted.since_ns or 0
    low, high, told = begin, wanted.end, False
    while high - low > 4 * _PROBE:
        middle = (low + high) // 2
        first = _first_time(source, middle, min(middle + _PROBE, high))
        if first is None:
            break
        told = True
        if first < since:
            low = middle
        else:
            high = middle
    if not told and wanted.end - begin > 4 * _PROBE:
        seen = source.offset_at(since)
        return max(begin, seen) if seen is not None else begin, False
    first = _first_time(source, low, min(low + 4 * _PROBE, wanted.end))
    is_past = low > begin or (first is not None and first < since)
    # The probe may have cut a line: begin with a whole one.
    for at, data in source.read(low, low + _PROBE) if low > begin else ():
        return at + data.find(b"\n") + 1, is_past
    return low, is_past


def _first_time(source: Source, begin: int, end: int) -> int | None:
    """The first time that a line of these bytes tells, ns."""
    probe = source.read(begin, end)
    lines = (line for at, data in probe for line in read_lines(split_lines(data, at), clock=source.clock))
    return next((line.time_ns for line in lines if line.time_ns), None)


def _page(
    source: Source,
    wanted: Wanted,
    lines: list[Line],
    missing: list[tuple[int, int]],
    begin: int,
    end: int,
    more: bool,
) -> dict[str, Any]:
    merged: list[list[int]] = []
    for first, last in missing:
        if merged and merged[-1][1] == first:
            merged[-1][1] = last
        else:
            merged.append([first, last])
    return {
        "begin": begin,
        "end": end,
        "size": source.size,
        "next": end,
        "prev": begin if begin > wanted.begin else None,
        "more": more or end < wanted.end - (lines[-1].length if lines and not lines[-1].is_whole else 0),
        "missing": [{"begin": first, "end": last} for first, last in merged],
        "lines": [line_item(line) for line in lines],
    }


def line_item(line: Line) -> dict[str, Any]:
    """A line as answers have it."""
    return {
        "offset": line.offset,
        "length": line.length,
        "text": line.text,
        "time_ns": line.time_ns,
        "level": line.counts_as,
        "is_mark": line.is_mark,
        "is_cut": line.is_cut,
        "is_whole": line.is_whole,
        "styles": [{"begin": each.begin, "end": each.end, **asdict(each.style)} for each in line.styles],
    }
