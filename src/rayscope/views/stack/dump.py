"""Parses the output of ``py-spy dump`` for one Python process."""

from __future__ import annotations

import re
from typing import NamedTuple

from rayscope.views.stack.frames_schemas import MergedFrameKind

#: Maximum number of threads per dump. More would not fit on a screen.
_MAX_THREADS = 1000
#: Maximum number of frames per dump.
_MAX_FRAMES = 20_000
#: Maximum number of characters in a name or path.
_MAX_TEXT = 300
#: Maximum number of characters in a line.
_MAX_LINE = 2000

_PROCESS = re.compile(r"Process (\d+): (.*)")
_THREAD = re.compile(r"Thread (?:0x)?[0-9A-Fa-f/x]+(?: \(([a-z+]+)\))?(?:: \"(.*)\")?")
_FRAME = re.compile(r" {4}(\S.*?) \((.+?)(?::(\d+))?\)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Frame(NamedTuple):
    """One call: its function (since Python 3.11 with its class and enclosing functions), file, and line."""

    name: str
    file: str
    line: int | None
    kind: MergedFrameKind = "code"


class Thread(NamedTuple):
    """A thread with its frames, the outermost first. ``active``: on a CPU, or waiting for the GIL."""

    name: str
    active: bool
    frames: tuple[Frame, ...]


class Dump(NamedTuple):
    """A process: its ID, its title or command line, and its threads."""

    pid: int
    title: str
    threads: tuple[Thread, ...]


def parse_dump(text: str) -> Dump:
    """Return the first process in the output of ``py-spy dump``. Raises ValueError if there is none.

    Values of variables, which py-spy prints only on request, are skipped.
    """
    pid: int | None = None
    title = ""
    threads: list[tuple[str, bool, list[Frame]]] = []
    frames = 0
    for line in text.splitlines():
        line = _COLOUR.sub("", line[:_MAX_LINE])
        if found := _PROCESS.fullmatch(line):
            if pid is not None:
                break
            pid, title = int(found[1]), found[2][:_MAX_TEXT]
        elif (found := _THREAD.fullmatch(line)) and len(threads) < _MAX_THREADS:
            status = (found[1] or "").split("+")
            active = "active" in status or "gil" in status
            threads.append(((found[2] or "")[:_MAX_TEXT], active, []))
        elif threads and frames < _MAX_FRAMES and line.endswith(")") and (found := _FRAME.fullmatch(line)):
            frames += 1
            number = int(found[3]) if found[3] and len(found[3]) < 10 else None
            threads[-1][2].append(Frame(found[1][:_MAX_TEXT], found[2][-_MAX_TEXT:], number))
    if pid is None:
        raise ValueError("no process is in it")
    # py-spy prints the innermost frame first.
    return Dump(pid, title, tuple(Thread(name, active, tuple(of[::-1])) for name, active, of in threads))
