"""A thread that waits for a debugger: what it runs, where it waits, and why."""

from __future__ import annotations

import os
import secrets
import sys
import time
from types import FrameType, TracebackType
from typing import Any

from rayscope.tracer import emit

#: Maximum length of a text in a report, in characters.
MAX_TEXT = 200


class Pause:
    """A thread that waits for a debugger.

    ``task``: what it runs. ``values``: the message about it to the server. ``is_released``: the thread is to
    continue without a debugger.
    """

    def __init__(self) -> None:
        self.is_released = False
        self.task = task = emit.owner()[0]
        frame, error = _place()
        code = None if frame is None else frame.f_code
        line = 0 if frame is None else frame.f_lineno
        if error is not None and error.__traceback__ is not None:
            trace = _last(error.__traceback__)
            code, line = trace.tb_frame.f_code, trace.tb_lineno
        self.values: dict[str, Any] = {
            "id": secrets.token_hex(8),
            "task_id": task.id.hex(),
            "attempt": task.attempt,
            "function": None if code is None else clean(code.co_name[:MAX_TEXT]),
            "file": None if code is None else clean(code.co_filename[-MAX_TEXT:]),
            "line": line,
            "since_ns": time.time_ns(),
            "error": None if error is None else error_text(error),
        }

    @property
    def place(self) -> str:
        """Where the thread waits, and why, as text."""
        values = self.values
        place = f"{os.path.basename(values['file'] or '')}:{values['line']} ({values['function']})"
        return f"{place}: {values['error']}" if values["error"] else place


def _place() -> tuple[FrameType | None, BaseException | None]:
    """The innermost frame of the user's code, and the error if Ray stops because of one."""
    frame: FrameType | None = sys._getframe(1)
    error = None
    while frame is not None:
        name, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
        if frame.f_code.co_name == "_post_mortem":
            error = sys.exc_info()[1]
        elif name.partition(".")[0] not in ("ray", "rayscope", "contextlib") and "/ray/_private/" not in file:
            break
        frame = frame.f_back
    return frame, error


def _last(trace: TracebackType) -> TracebackType:
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def error_text(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        return clean(f"{kind}: {error}"[:MAX_TEXT])
    except Exception:  # raised by the user's __str__
        return clean(kind[:MAX_TEXT])


def clean(text: str) -> str:
    """Replace what UTF-8 cannot express, such as parts of file names in another encoding."""
    return str(text.encode("utf-8", "replace"), "utf-8")
