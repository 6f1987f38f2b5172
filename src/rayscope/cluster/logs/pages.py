"""Pages of a log file: lines forward from an offset or backward to one, filtered and limited in size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow
import pyarrow.compute

from rayscope.cluster.logs import schemas
from rayscope.cluster.logs.files import Source
from rayscope.cluster.logs.lines import Context, Line, at_least, read_lines, split_lines
from rayscope.storage.errors import BadQuery

MAX_LINES = 5_000
#: Maximum total number of characters in the lines of one answer.
_MAX_CHARS = 900_000
#: Maximum number of bytes that a filter searches for one answer.
_MAX_SEARCHED_BYTES = 64 << 20
#: How long a filter searches for one answer, in seconds.
_MAX_SEARCH_S = 3.0
#: Number of bytes per read.
_CHUNK_BYTES = 256 << 10
#: Maximum length of a line that is joined from several reads, in bytes.
_MAX_LINE_BYTES = 1 << 20
_PROBE = 16 << 10
MAX_PATTERN = 300


class Matcher:
    """Finds lines that contain a search text or match a regular expression (RE2, so that the time is linear
    in the size of the lines).

    Raises BadQuery for an invalid expression.
    """

    def __init__(self, text: str, *, regex: bool = False, case: bool = False) -> None:
        if len(text) > MAX_PATTERN:
            raise BadQuery(
                f"The text is longer than {MAX_PATTERN} characters.",
                "Shorten it.",
                what="long_text",
                limit=MAX_PATTERN,
            )
        self._text = text
        self._regex = regex
        self._case = case
        self._needle = None if regex or case or not text.isascii() else text.lower().encode()
        self.matches([""])

    def may_match(self, data: bytes) -> bool:
        """Whether any line in these bytes can match."""
        return self._needle is None or b"\x1b" in data or self._needle in data.lower()

    def matches(self, texts: list[str]) -> list[bool]:
        """For each string, whether it matches."""
        find = pyarrow.compute.match_substring_regex if self._regex else pyarrow.compute.match_substring
        array = pyarrow.array(texts, pyarrow.string())
        try:
            found: list[bool] = find(array, self._text, ignore_case=not self._case).to_pylist()
        except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
            said = str(error).partition("\n")[0].removeprefix("Invalid regular expression: ")[:200]
            raise BadQuery(
                f"Invalid regular expression: {said}.",
                "Use RE2 syntax, which has no look-around and no back-references.",
                what="search_regex",
                reason=said,
            ) from None
        return found


class PageFilters(NamedTuple):
    """The filters of a page. ``begin``, ``end``: the range of the file that the page may cover, bytes.

    ``level``: only lines of this level or a more severe one. ``since_ns``, ``until_ns``: limits for lines
    with a known time.
    """

    begin: int
    end: int
    limit: int = 1000
    matcher: Matcher | None = None
    level: schemas.LogLevel | None = None
    since_ns: int | None = None
    until_ns: int | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether lines are filtered by their text or level."""
        return self.matcher is not None or self.level is not None


class Chunk(NamedTuple):
    """Adjacent whole lines, and the missing range before them: (from, to) or None."""

    offset: int
    data: bytes
    missing: tuple[int, int] | None = None


def chunks(source: Source, begin: int, end: int) -> Iterator[Chunk]:
    """The file from ``begin`` up to ``end``, split at line breaks. Very long lines are split, too."""
    carry = b""
    at = begin  # the next byte to read; ``carry`` comes before it
    while at < end:
        stop = min(at + _CHUNK_BYTES, end)
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
            if cut == 0 and len(carry) > _MAX_LINE_BYTES:
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


def forward(source: Source, offset: int, filters: PageFilters) -> schemas.LogLines:
    """Lines from ``offset`` on. ``next``: where the next page begins; ``prev``: where this page begins."""
    began = time.monotonic()
    start = at = max(offset, filters.begin)
    is_past = False
    if filters.since_ns is not None:
        at, is_past = _since(source, at, filters)
        start = at
    lines: list[Line] = []
    missing: list[tuple[int, int]] = []
    context, letters, more = Context(), 0, False
    levels = at_least(filters.level) if filters.level else None
    for chunk in chunks(source, at, filters.end):
        if chunk.missing:
            missing.append(chunk.missing)
        found = list(read_lines(split_lines(chunk.data, chunk.offset), context, source.clock))
        if found:
            context = Context(found[-1].at_ns, found[-1].counts_as)
        kept = _chosen(found, filters, levels, chunk.data)
        at = chunk.offset + len(chunk.data)
        for line, is_kept in zip(found, kept, strict=True):
            if filters.until_ns is not None and line.at_ns is not None and line.at_ns > filters.until_ns:
                return _page(source, filters, lines, missing, start, line.offset, False)
            if is_kept and not (lines == [] and _is_before(line, filters, is_past)):
                if len(lines) >= filters.limit or letters > _MAX_CHARS:
                    return _page(source, filters, lines, missing, start, line.offset, True)
                lines.append(line)
                letters += len(line.text) + 60
        if at - start > _MAX_SEARCHED_BYTES or time.monotonic() - began > _MAX_SEARCH_S:
            more = at < filters.end
            break
    if lines and not lines[-1].is_whole and source.live and at >= source.size and not filters.is_filtered:
        at = lines[-1].offset  # the line is still being written
    return _page(source, filters, lines, missing, start, at, more)


def backward(source: Source, before: int, filters: PageFilters) -> schemas.LogLines:
    """The last lines before ``before``. ``prev``: end of the previous page; ``next``: end of this one."""
    end = min(before, filters.end)
    began, reach = time.monotonic(), min(64 << 10, 200 * filters.limit + 4096)
    levels = at_least(filters.level) if filters.level else None
    lines: list[Line] = []
    missing: list[tuple[int, int]] = []
    first = end
    while first > filters.begin:
        low = max(filters.begin, first - reach)
        stretch = list(chunks(source, max(filters.begin, low - 1), first))
        context = Context()
        found: list[Line] = []
        kept: list[bool] = []
        for chunk in stretch:
            each = list(read_lines(split_lines(chunk.data, chunk.offset), context, source.clock))
            if each:
                context = Context(each[-1].at_ns, each[-1].counts_as)
            found += each
            kept += _chosen(each, filters, levels, chunk.data)
        whole = 1 if low > filters.begin and found and found[0].offset < low else 0
        if whole and len(found) == 1 and reach < _MAX_LINE_BYTES:
            reach = min(reach * 4, _MAX_LINE_BYTES)
            continue
        if whole and len(found) > 1:
            found, kept = found[1:], kept[1:]
        gaps = [chunk.missing for chunk in stretch if chunk.missing]
        lines = [line for line, is_kept in zip(found, kept, strict=True) if is_kept] + lines
        missing = gaps + missing
        first = found[0].offset if found else low
        enough = len(lines) >= filters.limit
        if enough or end - first > _MAX_SEARCHED_BYTES or time.monotonic() - began > _MAX_SEARCH_S:
            break
        reach = min(reach * 4, 4 << 20)
    lines, cut = _last(lines, filters.limit)
    if cut:
        first = lines[0].offset
    at = end
    if lines and not lines[-1].is_whole and source.live and end >= source.size and not filters.is_filtered:
        at = lines[-1].offset
    return _page(source, filters, lines, missing, first, at, False)


def _last(lines: list[Line], limit: int) -> tuple[list[Line], bool]:
    """The last lines that fit into an answer, and whether any were cut off."""
    letters, begin = 0, len(lines)
    while begin > 0 and len(lines) - begin < limit and letters < _MAX_CHARS:
        begin -= 1
        letters += len(lines[begin].text) + 60
    return lines[begin:], begin > 0


def _chosen(
    lines: list[Line], filters: PageFilters, levels: frozenset[schemas.LogLevel] | None, data: bytes
) -> list[bool]:
    if filters.matcher is None:
        found = [True] * len(lines)
    elif not filters.matcher.may_match(data):
        return [False] * len(lines)
    else:
        found = filters.matcher.matches([line.text for line in lines])
    if levels is None:
        return found
    return [is_found and line.counts_as in levels for is_found, line in zip(found, lines, strict=True)]


def _is_before(line: Line, filters: PageFilters, is_past: bool) -> bool:
    """Whether a line is older than ``since_ns``. ``is_past``: the result for lines before any known time."""
    if filters.since_ns is None:
        return False
    return is_past if line.at_ns is None else line.at_ns < filters.since_ns


def _since(source: Source, begin: int, filters: PageFilters) -> tuple[int, bool]:
    """An offset near the first line since ``since_ns``, and whether lines without a time there are older.

    Uses the lines' own times, or else the times at which they were copied.
    """
    since = filters.since_ns or 0
    low, high, has_times = begin, filters.end, False
    while high - low > 4 * _PROBE:
        middle = (low + high) // 2
        first = _first_time(source, middle, min(middle + _PROBE, high))
        if first is None:
            break
        has_times = True
        if first < since:
            low = middle
        else:
            high = middle
    if not has_times and filters.end - begin > 4 * _PROBE:
        seen = source.offset_at(since)
        return max(begin, seen) if seen is not None else begin, False
    first = _first_time(source, low, min(low + 4 * _PROBE, filters.end))
    is_past = low > begin or (first is not None and first < since)
    # The offset may be within a line. Skip to the next line.
    for at, data in source.read(low, low + _PROBE) if low > begin else ():
        return at + data.find(b"\n") + 1, is_past
    return low, is_past


def _first_time(source: Source, begin: int, end: int) -> int | None:
    """The first time that occurs in the lines of these bytes, in ns, or None if there is none."""
    probe = source.read(begin, end)
    lines = (line for at, data in probe for line in read_lines(split_lines(data, at), clock=source.clock))
    return next((line.time_ns for line in lines if line.time_ns), None)


def _page(
    source: Source,
    filters: PageFilters,
    lines: list[Line],
    missing: list[tuple[int, int]],
    begin: int,
    end: int,
    more: bool,
) -> schemas.LogLines:
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
        "prev": begin if begin > filters.begin else None,
        "more": more or end < filters.end - (lines[-1].length if lines and not lines[-1].is_whole else 0),
        "missing": [{"begin": first, "end": last} for first, last in merged],
        "lines": [line_item(line) for line in lines],
    }


def line_item(line: Line) -> schemas.LogLine:
    """A line as returned by the API."""
    return {
        "offset": line.offset,
        "length": line.length,
        "text": line.text,
        "time_ns": line.time_ns,
        "level": line.counts_as,
        "is_mark": line.is_mark,
        "is_cut": line.is_cut,
        "is_whole": line.is_whole,
        "styles": [
            {
                "begin": each.begin,
                "end": each.end,
                "color": each.style.color,
                "background": each.style.background,
                "bold": each.style.bold,
                "dim": each.style.dim,
                "italic": each.style.italic,
                "underline": each.style.underline,
            }
            for each in line.styles
        ],
    }
