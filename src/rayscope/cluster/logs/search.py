"""Searches the log files of a session, limited in time and bytes. Reports what was not searched."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

from rayscope.cluster.logs import schemas
from rayscope.cluster.logs.files import Logs, Source
from rayscope.cluster.logs.lines import at_least, read_lines, split_lines
from rayscope.cluster.logs.pages import Chunk, Matcher, chunks, line_item
from rayscope.storage.errors import NotFound
from rayscope.storage.slots import Slots

#: The maximum duration of a search, in seconds.
_SEARCH_S = 8.0
#: Number of bytes at the end of a file that are searched. Earlier ones are skipped.
_FILE_BYTES = 32 << 20
#: Maximum number of bytes that are searched in all files together.
_ALL_BYTES = 512 << 20
#: Number of files that are searched at the same time.
_AT_ONCE = 4
#: Maximum number of concurrent searches.
_SEARCHES = 3
_OF_A_FILE = 100


class Sought(NamedTuple):
    """The parameters of a search. Times are in ns. If one is set, lines without a time are left out."""

    matcher: Matcher
    limit: int = 200
    level: schemas.LogLevel | None = None
    since_ns: int | None = None
    until_ns: int | None = None


class SearchResult(NamedTuple):
    """Matching lines, and how much was searched. ``complete``: whether everything was."""

    lines: list[schemas.MatchingLine]
    searched: schemas.Searched
    complete: bool
    not_searched: list[schemas.NotSearched]


class Searches:
    """Runs searches. One instance per server; thread-safe."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._slots = Slots(_SEARCHES, "Too many searches are running.")

    def search(self, session: str, files: Sequence[tuple[str, str]], sought: Sought) -> SearchResult:
        """Search files (node, name) in the given order. Raises Busy if too many searches are running."""
        with self._slots.take():
            run = _Run(self._logs, session, sought)
            with ThreadPoolExecutor(_AT_ONCE, "rayscope-log-search") as pool:
                wait([pool.submit(run.search, at, *file) for at, file in enumerate(files)])
            return run.result(len(files))


class _Run:
    def __init__(self, logs: Logs, session: str, sought: Sought) -> None:
        self._logs = logs
        self._session = session
        self._sought = sought
        self._levels = at_least(sought.level) if sought.level else None
        self._end = time.monotonic() + _SEARCH_S
        self._lock = threading.Lock()
        self._hits: dict[int, list[schemas.MatchingLine]] = {}
        self._count = 0
        self._bytes = 0
        self._done = 0
        self._cut: list[schemas.NotSearched] = []

    @property
    def _is_over(self) -> bool:
        return time.monotonic() > self._end or self._bytes > _ALL_BYTES or self._count >= self._sought.limit

    def search(self, at: int, node_id: str, name: str) -> None:
        if self._is_over:
            return
        try:
            source = self._logs.source(self._session, node_id, name)
        except NotFound:
            self._leave_out(node_id, name, "gone", 0)
            return
        begin = max(0, source.size - _FILE_BYTES)
        if begin:
            self._leave_out(node_id, name, "long", begin)
        missing = 0
        hits: list[schemas.MatchingLine] = []
        done = begin
        for chunk in chunks(source, begin, source.size):
            if chunk.missing:
                missing += chunk.missing[1] - chunk.missing[0]
            hits += self._of_chunk(source, chunk)
            self._bytes += len(chunk.data)
            done = chunk.offset + len(chunk.data)
            if self._is_over or len(hits) >= _OF_A_FILE:
                break
        with self._lock:
            self._done += 1
            self._count += len(hits)
            if hits:
                self._hits[at] = hits[:_OF_A_FILE]
        if done < source.size:
            self._leave_out(node_id, name, "stopped", source.size - done)
        if missing:
            self._leave_out(node_id, name, "not_kept", missing)

    def _of_chunk(self, source: Source, chunk: Chunk) -> list[schemas.MatchingLine]:
        sought = self._sought
        if not sought.matcher.may_match(chunk.data):
            return []
        lines = list(read_lines(split_lines(chunk.data, chunk.offset), clock=source.clock))
        matched = sought.matcher.matches([line.text for line in lines])
        return [
            {"node_id": source.node_id, "name": source.name, **line_item(line)}
            for line, is_match in zip(lines, matched, strict=True)
            if is_match
            and not line.is_mark
            and (self._levels is None or line.counts_as in self._levels)
            and (sought.since_ns is None or (line.at_ns is not None and line.at_ns >= sought.since_ns))
            and (sought.until_ns is None or (line.at_ns is not None and line.at_ns <= sought.until_ns))
        ]

    def _leave_out(self, node_id: str, name: str, why: str, size: int) -> None:
        with self._lock:
            self._cut.append({"node_id": node_id, "name": name, "why": why, "bytes": size})

    def result(self, files: int) -> SearchResult:
        hits = [hit for at in sorted(self._hits) for hit in self._hits[at]]
        return SearchResult(
            lines=hits[: self._sought.limit],
            searched={"files": self._done, "of": files, "bytes": self._bytes},
            complete=self._done == files and not self._cut and len(hits) <= self._sought.limit,
            not_searched=self._cut[:50],
        )
