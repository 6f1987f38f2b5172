"""The shapes of answers about log files, for OpenAPI."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer


class LogProblem(Answer):
    """Why something cannot be had now."""

    code: str
    message: str
    remedy: str


class LogNode(Answer):
    """A node. ``files``: how many log files of it are known, None while it was not asked."""

    node_id: str
    state: str | None
    node_ip: str | None
    hostname: str | None
    is_head: bool
    files: int | None
    problem: LogProblem | None


class LogWriter(Answer):
    """Who wrote a file: an actor, a worker (``functions``: the first that it ran), or a driver."""

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
    """A log file. ``live``: its node lists it now. ``kept``: bytes of it that are kept. ``size``: bytes.

    ``is_empty``: nothing was printed into it, as far as is known; it may have Ray's own notes.
    """

    node_id: str
    name: str
    kind: str
    is_empty: bool
    size: int | None
    kept: int
    live: bool
    last_ns: int | None


class Keeping(Answer):
    """What is kept (``workers``, ``all``, ``none``), bytes that it takes, and why it stands still."""

    mode: Literal["workers", "all", "none"]
    bytes: int
    max_bytes: int
    error: dict[str, str] | None


class LogFilesAnswer(Answer):
    """Nodes and files. ``total``: files that the filters leave; ``left_out``: those that are not told;
    ``empty``: those of the filters' that nothing was printed into.
    """

    session: str
    live: bool
    nodes: list[LogNode]
    files: list[LogFile]
    total: int
    left_out: int
    empty: int
    keeping: Keeping


class LogStyle(Answer):
    """Characters of a line's text (Unicode code points; ``end`` excluded) that the program had colored.

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


class LogLine(Answer):
    """A line. ``level``: its own or that of the line that it continues. ``is_mark``: Ray's own note.

    ``is_cut``: the text is not all of it. ``is_whole``: its end is there. ``styles``: colors of the terminal.
    """

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: Literal["debug", "info", "warning", "error", "critical"] | None
    is_mark: bool
    is_cut: bool
    is_whole: bool
    styles: list[LogStyle]


class Stretch(Answer):
    """Bytes of a file that cannot be had."""

    begin: int
    end: int


class LogPage(Answer):
    """Lines of a file. ``next``: ``offset`` of the following page; ``prev``: ``before`` of the one before."""

    session: str
    node_id: str
    name: str
    kind: str
    live: bool
    problem: LogProblem | None
    kept: int
    begin: int
    end: int
    size: int
    next: int
    prev: int | None
    more: bool
    missing: list[Stretch]
    lines: list[LogLine]


class LogPart(LogWriter):
    """A stretch of a file that belongs to what was asked for, and its last lines."""

    node_id: str
    name: str
    stream: str
    begin: int
    end: int | None
    page: LogPage | None
    problem: LogProblem | None


class LogsOfAnswer(Answer):
    """The stretches. ``notes``: codes of what is not as one might think. ``left_out``: workers not told."""

    session: str
    live: bool
    parts: list[LogPart]
    notes: list[str]
    left_out: int


class Hit(LogLine):
    """A line that was found, and the attempt that printed it where Ray told that."""

    node_id: str
    name: str
    task_id: str | None
    attempt: int | None
    func_name: str | None


class Searched(Answer):
    """How much was searched."""

    files: int
    of: int
    bytes: int


class NotSearched(Answer):
    """Bytes of a file that were not searched: ``gone``, ``long``, ``stopped`` or ``not_kept``."""

    node_id: str
    name: str
    why: str
    bytes: int


class LogSearchAnswer(Answer):
    """Lines that were found, the files that they are in, and what was not searched."""

    session: str
    items: list[Hit]
    files: list[LogFile]
    searched: Searched
    complete: bool
    not_searched: list[NotSearched]
