"""Schemas of answers about log files."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail

LogLevel = Literal["debug", "info", "warning", "error", "critical"]
#: Which logs are copied: those of workers and jobs, all, or none.
LogKeeping = Literal["workers", "all", "none"]


class LogNode(TypedDict):
    """A node. ``files``: the number of its known log files, None if they were not requested."""

    node_id: str
    state: str | None
    node_ip: str | None
    hostname: str | None
    is_head: bool
    files: int | None
    problem: ErrorDetail | None


class LogWriter(TypedDict):
    """The writer of a file: an actor, a worker (with the first ``functions`` that it ran), or a driver."""

    worker_id: str | None
    job_id: str | None
    pid: int | None
    submission_id: str | None
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None


class LogFile(LogWriter):
    """A log file. ``live``: whether its node lists it now. ``kept``: the number of copied bytes. ``size``: in
    bytes.

    ``is_empty``: whether, as far as is known, nothing was printed into it. It may contain Ray's own marks.
    """

    node_id: str
    name: str
    kind: str
    is_empty: bool
    size: int | None
    kept: int
    live: bool
    last_ns: int | None


class Keeping(TypedDict):
    """Which logs are copied (``workers``, ``all``, ``none``), the size of the copies in bytes, and why
    copying is paused.
    """

    mode: LogKeeping
    bytes: int
    max_bytes: int
    error: ErrorDetail | None


class LogFilesAnswer(TypedDict):
    """Nodes and files. ``total``: the number of matching files. ``left_out``: how many of them are not
    listed. ``empty``: the number of matching files into which nothing was printed.
    """

    session: str
    live: bool
    nodes: list[LogNode]
    files: list[LogFile]
    total: int
    left_out: int
    empty: int
    keeping: Keeping


class LogStyle(TypedDict):
    """The style of a range of a line's text (Unicode code points; ``end`` is exclusive), as set by the
    program.

    ``color`` and ``background``: ``red``, ``bright-red`` and the like, or ``#rrggbb``.
    """

    begin: int
    end: int
    color: str | None
    background: str | None
    bold: bool
    dim: bool
    italic: bool
    underline: bool


class LogLine(TypedDict):
    """A line. ``level``: its own, or that of the line that it continues. ``is_mark``: it is one of Ray's own
    marks.

    ``is_cut``: the text is incomplete. ``is_whole``: it ends with a line break. ``styles``: colors and the
    like.
    """

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: LogLevel | None
    is_mark: bool
    is_cut: bool
    is_whole: bool
    styles: list[LogStyle]


class Stretch(TypedDict):
    """A range of bytes of a file that is unavailable."""

    begin: int
    end: int


class LogSource(TypedDict):
    """The file that a page comes from."""

    session: str
    node_id: str
    name: str
    kind: str
    live: bool
    problem: ErrorDetail | None
    kept: int


class LogLines(TypedDict):
    """The lines of a page, and the range of the file that they come from."""

    begin: int
    end: int
    size: int
    next: int
    prev: int | None
    more: bool
    missing: list[Stretch]
    lines: list[LogLine]


class LogPage(LogSource, LogLines):
    """Lines of a file. ``next``: ``offset`` of the next page; ``prev``: ``before`` of the previous one."""


class LogPart(LogWriter):
    """A range of a file that belongs to the requested entity, and its last lines."""

    node_id: str
    name: str
    stream: str
    begin: int
    end: int | None
    page: LogPage | None
    problem: ErrorDetail | None


class LogsOfAnswer(TypedDict):
    """The ranges of files that belong to an entity. ``notes``: codes for anything unexpected about them.
    ``left_out``: the number of workers that are not listed.
    """

    session: str
    live: bool
    parts: list[LogPart]
    notes: list[str]
    left_out: int


class MatchingLine(LogLine):
    """A matching line and its file."""

    node_id: str
    name: str


class PrintingAttempt(TypedDict):
    """The attempt that printed a line, if Ray reported that."""

    task_id: str | None
    attempt: int | None
    func_name: str | None


class Hit(MatchingLine, PrintingAttempt):
    """A matching line, and the attempt that printed it if Ray reported that."""


class Searched(TypedDict):
    """The amount of data that was searched."""

    files: int
    of: int
    bytes: int


class NotSearched(TypedDict):
    """Bytes that were not searched. The reason is ``gone``, ``long``, ``stopped`` or ``not_kept``."""

    node_id: str
    name: str
    why: str
    bytes: int


class LogSearchAnswer(TypedDict):
    """Matching lines, the files that contain them, and the bytes that were not searched."""

    session: str
    items: list[Hit]
    files: list[LogFile]
    searched: Searched
    complete: bool
    not_searched: list[NotSearched]
