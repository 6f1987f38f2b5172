"""A debugger in the terminal, with the commands of pdb."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.text import Text

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import say, stdout, visible
from rayscope.cli.debugger.client import DapClient, Ended, Refused
from rayscope.cli.debugger.listing import label
from rayscope.cluster.debugger.source import parse_source, source_expression

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from rayscope.client.types import PausedTask

PROMPT = "(debug) "
_HELP = """\
w, where        the stack, innermost frame last
u, d            one frame up, or down
l, list [LINE]  source around the line, then the lines that follow
a, args, locals the variables of the frame
p EXPR          the value of an expression; so does any other text (! before a name of a command)
n, s, r         run to the next line, into a call, out of the function; Ctrl-C stops it
c               continue to the next breakpoint, or to the end of the task
threads [N]     the threads of the process, or look at thread N
q               detach: the task continues (so does the end of the input)
Breakpoints in other places need an editor: rayscope debug TASK --port 5678"""
#: How often the server is asked whether a task that runs has ended, in seconds.
_ASK_S = 1.0
#: How long debugpy may take to answer that it lets the task continue, in seconds.
_LEAVE_S = 5.0
_MAX_FRAMES = 200
_MAX_VARIABLES = 200
_MAX_VALUE_CHARS = 2000
_MAX_THREADS = 100
#: How many lines of source are shown before and after a line.
_AROUND = 5
_NUMBER = re.compile(r"[0-9]{1,9}|\.")


class _Left(Exception):
    """The user wants to leave."""


class Terminal:
    """A session with one paused task."""

    def __init__(self, api: Api, task: PausedTask, socket: ClientConnection) -> None:
        self._api, self._task = api, task
        self._client = DapClient(socket, self._show_output)
        self._console = stdout()
        self._thread = 0
        self._frames: list[dict[str, Any]] = []
        self._place = 0  # index of the current frame
        self._line = 0  # the last line that was listed
        self._last = ""
        self._is_interrupted = False
        self._commands: dict[str, Callable[[str], None]] = {}
        for names, command in (
            ("w where bt", self._where),
            ("u up", lambda _: self._move(1)),
            ("d down", lambda _: self._move(-1)),
            ("l list", self._list),
            ("a args locals", self._variables),
            ("p pp", self._evaluate),
            ("n next", lambda _: self._resume("next")),
            ("s step", lambda _: self._resume("stepIn")),
            ("r return", lambda _: self._resume("stepOut")),
            ("c cont continue", lambda _: self._resume("continue")),
            ("threads", self._threads),
            ("h help ?", lambda _: self._print(_HELP)),
            ("q quit exit", self._leave),
        ):
            self._commands |= dict.fromkeys(names.split(), command)

    def run(self) -> None:
        """Attach, and obey commands until the user leaves or the task has ended."""
        name = label(self._task)
        self._client.attach()
        try:
            say(f"attached to {name}; h shows the commands")
            if self._task["error"]:
                self._print(self._task["error"], "red")
            self._await_stop()
            for line in _lines():
                self._obey(line)
            raise _Left
        except (_Left, KeyboardInterrupt):
            with contextlib.suppress(Ended, Refused):
                self._client.ask("disconnect", _LEAVE_S, terminateDebuggee=False)
            say("detached; the task continues")
        except Ended as end:
            say(f"the connection to {name} has ended: {end.message}")

    def _obey(self, line: str) -> None:
        line = line.strip() or self._last
        self._last = line
        word, _, rest = line.partition(" ")
        command = self._commands.get(word)
        rest = rest.strip()
        takes_rest = word in ("p", "pp") or (word in ("l", "list", "threads") and _NUMBER.fullmatch(rest))
        if not line:
            return
        try:
            if command is not None and (takes_rest or not rest):
                command(rest)
            else:  # such as `n = 5`
                self._evaluate(line.removeprefix("!"))
        except Refused as error:
            self._print(error.message, "red")
        except KeyboardInterrupt:
            if self._client.stop is None:
                self._pause()
            else:
                say("interrupted; an expression still runs to its end")
        if self._client.stop is None:
            self._await_stop()

    # Commands.

    def _where(self, _: str) -> None:
        for number in range(len(self._frames) - 1, -1, -1):
            frame = self._frames[number]
            self._print(f"{'>' if number == self._place else ' '} {_of(frame)}")

    def _move(self, step: int) -> None:
        if not 0 <= self._place + step < len(self._frames):
            self._print("Oldest frame" if step > 0 else "Newest frame")
            return
        self._place += step
        self._show()

    def _list(self, rest: str) -> None:
        around = int(rest) if rest.isdigit() else self._frame["line"] if rest == "." else None
        first = self._line + 1 if around is None else max(1, around - _AROUND)
        self._print_source(first)

    def _variables(self, _: str) -> None:
        scopes = self._client.ask("scopes", frameId=self._frame["id"]).get("scopes") or [{}]
        reference = scopes[0].get("variablesReference") or 0
        found = self._client.ask("variables", variablesReference=reference).get("variables") or []
        for variable in found[:_MAX_VARIABLES]:
            self._print(f"{variable.get('name')} = {str(variable.get('value'))[:_MAX_VALUE_CHARS]}")
        if len(found) > _MAX_VARIABLES:
            self._print(f"and {len(found) - _MAX_VARIABLES} more")

    def _evaluate(self, code: str) -> None:
        frame = self._frame["id"] if self._frames else None
        answer = self._client.ask("evaluate", None, expression=code, frameId=frame, context="repl")
        if result := str(answer.get("result", "")):
            self._print(result)

    def _resume(self, command: str) -> None:
        self._client.resume(command, self._thread)

    def _threads(self, rest: str) -> None:
        threads = (self._client.ask("threads").get("threads") or [])[:_MAX_THREADS]
        if rest.isdigit() and 1 <= int(rest) <= len(threads):
            self._look_at(threads[int(rest) - 1]["id"])
            return
        for number, thread in enumerate(threads, 1):
            frames = self._client.ask("stackTrace", threadId=thread["id"], startFrame=0, levels=1)
            at = next((_of(frame) for frame in frames.get("stackFrames") or []), "unknown")
            mark = ">" if thread["id"] == self._thread else " "
            self._print(f"{mark} {number} {thread.get('name')}: {at}")

    def _leave(self, _: str) -> None:
        raise _Left

    # Parts that several commands share.

    def _await_stop(self) -> None:
        """Wait until a thread has stopped, and show where. Ctrl-C stops one; another Ctrl-C leaves."""
        asked_s = time.monotonic()
        while self._client.stop is None:
            try:
                self._client.poll(_ASK_S)
                if self._client.stop is None and time.monotonic() - asked_s >= _ASK_S:
                    asked_s = time.monotonic()
                    if not self._is_listed():
                        raise Ended("the task has ended")
            except KeyboardInterrupt:
                self._pause()
        self._is_interrupted = False
        stop = self._client.stop
        if stop.get("reason") == "exception" and self._thread:  # the first one is the error of the task
            self._print(str(stop.get("text") or stop.get("description") or "an error"), "red")
        self._look_at(int(stop.get("threadId") or 0))

    def _pause(self) -> None:
        """Stop a task that runs. After a second Ctrl-C, leave: it may be in a long call of C code."""
        if self._is_interrupted:
            raise _Left
        self._is_interrupted = True
        say("stopping the task; press Ctrl-C again to detach")
        self._client.ask("pause", threadId=self._thread)

    def _is_listed(self) -> bool:
        """Whether the server still lists the task. debugpy does not notice the end of a task."""
        try:
            tasks = self._api.paused_tasks(self._task["session"])["items"]
        except RayscopeError:  # the server is busy; the connection shows if it is gone
            return True
        return any(task["pause_id"] == self._task["pause_id"] for task in tasks)

    def _look_at(self, thread: int) -> None:
        self._thread, self._place, self._frames = thread, 0, []
        try:
            answer = self._client.ask("stackTrace", threadId=thread, startFrame=0, levels=_MAX_FRAMES)
            self._frames = answer.get("stackFrames") or []
            self._show()
        except Refused as error:
            self._print(error.message, "red")

    @property
    def _frame(self) -> dict[str, Any]:
        """The current frame. Raises Refused if there is none."""
        if not self._frames:
            raise Refused("This thread has no Python frame.")
        return self._frames[self._place]

    def _show(self) -> None:
        """Print where the current frame is, with the source around it."""
        frame = self._frame
        self._print(f"> {_of(frame)}", "bold")
        self._print_source(max(1, frame["line"] - _AROUND))

    def _print_source(self, first: int) -> None:
        frame = self._frame
        code = source_expression(_path(frame), first, first + 2 * _AROUND)
        answer = self._client.ask("evaluate", expression=code, frameId=frame["id"], context="clipboard")
        lines = parse_source(answer.get("result"))
        for self._line, text in enumerate(lines, first):
            is_current = self._line == frame["line"]
            self._print(
                f"{self._line:>5} {'->' if is_current else '  '} {text}", "bold" if is_current else ""
            )
        if not lines:
            self._print("no source" if first <= frame["line"] else "end of file", "dim")

    def _show_output(self, text: str) -> None:
        self._console.print(Text(visible(text), style="dim"), end="", soft_wrap=True)

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(Text(visible(text), style=style), soft_wrap=True)


def _path(frame: dict[str, Any]) -> str | None:
    return (frame.get("source") or {}).get("path")


def _of(frame: dict[str, Any]) -> str:
    return f"{_path(frame) or 'unknown file'}:{frame['line']} {frame.get('name')}()"


def _lines() -> Iterator[str]:
    """Yield the lines of stdin until its end. Ctrl-C at the prompt discards a line, as in a shell."""
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - input() then has a history, which is not stored
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            print(flush=True)
            return
        except KeyboardInterrupt:
            print(flush=True)
            continue
        if not sys.stdin.isatty():
            print(visible(line), flush=True)  # as if it had been typed
        yield line
