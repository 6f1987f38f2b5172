"""Reports of actions that cost no time now but may cause harm later, with their place in the user's code, and
of issues that Ray Data detects.

The stack is inspected only when such an action happens.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from types import FrameType

from rayscope.tracer import emit

FORK = "fork"
PICKLED_REFERENCE = "pickled_reference"
DATA_ISSUE = "data_issue"
#: Actions by these Ray libraries are intended and not reported. All other modules of Ray act on behalf of the
#: user's code.
_LIBRARIES = frozenset({"air", "data", "llm", "rllib", "serve", "train", "tune"})
#: Modules that fork only to start another program at once, or (torch's data loader) a process that does not
#: use Ray.
_RUN_PROGRAMS = frozenset({"pty", "subprocess", "torch"})
#: Numbers of occurrences at one place that trigger a report: 1, 10, 100, ...
_REPORTED_TIMES = frozenset(10**digits for digits in range(10))
#: Maximum number of places reported per process.
_MAX_PLACES = 100
#: Maximum number of issues reported per process.
_MAX_ISSUES = 100
#: Maximum number of characters in an issue's message.
_MAX_MESSAGE = 1000

_times: Counter[tuple[str, str]] = Counter()
_issues: set[tuple[str, str, str]] = set()


def note(kind: str) -> None:
    """Count an action at its place in the code. Report it the 1st, 10th, 100th, ... time."""
    place = _place()
    key = kind, place
    if not place or (key not in _times and len(_times) >= _MAX_PLACES):
        return
    _times[key] += 1
    times = _times[key]
    if times in _REPORTED_TIMES:
        emit.report_risk(kind, place, times - times // 10)


def note_issue(dataset: str, operator: str, issue: str, message: str) -> None:
    """Report an issue of a dataset's operator, unless one of the same kind was reported before."""
    key = dataset, operator, issue
    if key not in _issues and len(_issues) < _MAX_ISSUES:
        _issues.add(key)
        text = " ".join(message.split())[:_MAX_MESSAGE]
        emit.report_risk(DATA_ISSUE, operator, 1, {"dataset": dataset, "issue": issue, "message": text})


def _place() -> str:
    """The innermost frame outside of Ray and the standard library, as ``train.py:12 (function)``.

    "" if the action need not be reported.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        top, _, below = str(frame.f_globals.get("__name__")).partition(".")
        if top in _RUN_PROGRAMS or (top == "ray" and below.partition(".")[0] in _LIBRARIES):
            return ""
        # A worker's main module belongs to Ray, too.
        is_rays = top in ("ray", "rayscope") or "/ray/_private/" in code.co_filename.replace("\\", "/")
        if not is_rays and top not in sys.stdlib_module_names:
            place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            return place if code.co_name == "<module>" else f"{place} ({code.co_name})"
        frame = frame.f_back
    return ""
