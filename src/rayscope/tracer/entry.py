"""Entry point: ``rayscope.pth`` calls :func:`install` in every interpreter whose environment enables the
tracer.

Drivers and workers are traced. Ray's own Python processes (agents, the dashboard, monitors) are not. This
needs no change to the runtime environment, so the user's own, including its setup hook, works as before.
"""

from __future__ import annotations

import os
import sys

from rayscope.importing import after_import
from rayscope.tracer.settings import TRACE

TYPE_CHECKING = False  # typing.TYPE_CHECKING would import typing at every start of Python
if TYPE_CHECKING:
    from typing import Any

#: Programs in these folders are Ray's own, except for the workers.
_RAY_FOLDERS = ("/ray/dashboard/", "/ray/_private/", "/ray/autoscaler/")
_WORKERS = ("default_worker.py", "setup_worker.py")


def install() -> None:
    """Trace this process once it loads Ray, if the tracer is enabled. ``rayscope.pth`` handles errors."""
    program = " ".join(sys.orig_argv[1:4]).replace("\\", "/")
    own = any(folder in program for folder in _RAY_FOLDERS) and not any(w in program for w in _WORKERS)
    if os.environ.get(TRACE) == "1" and not own:
        after_import("ray", enter)


def enter(module: Any) -> None:
    """Start tracing this process, which has loaded Ray. Never raises."""
    try:
        from rayscope.tracer import hooks

        hooks.install()
    except Exception:
        import logging

        log = logging.getLogger("rayscope.tracer")
        log.exception("Rayscope's tracer cannot start in this process; nothing else is affected")
