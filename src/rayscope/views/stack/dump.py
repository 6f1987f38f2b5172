"""What ``py-spy dump`` prints of one Python process, as data."""

from __future__ import annotations

import re
from typing import NamedTuple

#: What is read of one dump: more is of no use on a screen.
_MAX_THREADS = 1000
_MAX_FRAMES = 20_000
_MAX_TEXT = 300
#: Characters of a line.
_MAX_LINE = 2000

_PROCESS = re.compile(r"Process (\d+): (.*)")
_THREAD = re.compile(r"Thread (?:0x)?[0-9A-Fa-f/x]+(?: \(([a-z+]+)\))?(?:: \"(.*)\")?")
_FRAME = re.compile(r" {4}(\S.*?) \((.+?)(?::(\d+))?\)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Frame(NamedTuple):
    """One call: its function (from Python 3.11 on with class and enclosing functions), file and line."""

    name: str
    file: str
    line: int | None
    kind: str = "code"


class Thread(NamedTuple):
    """A thread: its frames from the outermost in. ``active``: it is on a CPU (or waits for Python's lock)."""

    name: str
    active: bool
    frames: tuple[Frame, ...]


class Dump(NamedTuple):
    """A process: its id, and its title or command line."""

    pid: int
    title: str
    threads: tuple[Thread, ...]


def parse_dump(text: str) -> Dump:
    """The first process of a dump. Raises ValueError for what is none.

    Values of variables, which py-spy prints only if it is asked for them, are passed over.
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
    # py-spy prints the innermost first.
    return Dump(pid, title, tuple(Thread(name, active, tuple(of[::-1])) for name, active, of in threads))
