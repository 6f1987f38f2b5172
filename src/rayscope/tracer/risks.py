"""What a process does that costs no time but may do harm later, and where in the code it does it; and the
issues that Ray Data reports.

It costs nothing where none of it is done: the walk up the stack begins when it is.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from types import FrameType

from rayscope.tracer import emit

FORK, PICKLED_REFERENCE, DATA_ISSUE = "fork", "pickled_reference", "data_issue"
#: Libraries of Ray's: what they do, they know how to. Its other modules are called by the user's code.
_LIBRARIES = frozenset({"air", "data", "llm", "rllib", "serve", "train", "tune"})
#: They fork to run another program at once, or (the loader of torch) what has nothing to do with Ray.
_RUN_PROGRAMS = frozenset({"pty", "subprocess", "torch"})
#: How often something is done at a place when that is told, and places that are told of.
_TOLD_AT, _MOST_PLACES = frozenset(10**digits for digits in range(10)), 100
#: Issues that are told of, and letters of a message.
_MOST_ISSUES, _MAX_MESSAGE = 100, 1000

_times: Counter[tuple[str, str]] = Counter()
_issues: set[tuple[str, str, str]] = set()


def note(kind: str) -> None:
    """This is being done: tell it the first, the tenth, the hundredth time at each place."""
    place = _place()
    key = kind, place
    if not place or (key not in _times and len(_times) >= _MOST_PLACES):
        return
    _times[key] += 1
    times = _times[key]
    if times in _TOLD_AT:
        emit.risk(kind, place, times - times // 10)


def note_issue(dataset: str, operator: str, issue: str, message: str) -> None:
    """Ray Data reports an issue of a dataset's operator: tell the first of its kind."""
    key = dataset, operator, issue
    if key not in _issues and len(_issues) < _MOST_ISSUES:
        _issues.add(key)
        text = " ".join(message.split())[:_MAX_MESSAGE]
        emit.risk(DATA_ISSUE, operator, 1, {"dataset": dataset, "issue": issue, "message": text})


def _place() -> str:
    """The code that does it, neither Ray's nor Python's; "" if that need not be told."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        top, _, below = str(frame.f_globals.get("__name__")).partition(".")
        if top in _RUN_PROGRAMS or (top == "ray" and below.partition(".")[0] in _LIBRARIES):
            return ""
        # A worker's main module is Ray's, too.
        is_rays = top in ("ray", "rayscope") or "/ray/_private/" in code.co_filename.replace("\\", "/")
        if not is_rays and top not in sys.stdlib_module_names:
            place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            return place if code.co_name == "<module>" else f"{place} ({code.co_name})"
        frame = frame.f_back
    return ""
