"""The way in: ``rayscope.pth`` calls :func:`install` in every interpreter that has the setting.

Drivers and workers are traced; Ray's own Python processes (agents, the dashboard, monitors) are not. No
runtime environment is changed for it, so one that a user gives, setup hook included, works as it did.
"""

from __future__ import annotations

import os
import sys

from rayscope.importing import after_import
from rayscope.tracer.settings import TRACE

TYPE_CHECKING = False  # as in rayscope.importing: nothing is imported when Python starts
if TYPE_CHECKING:
    from typing import Any

#: What runs in these folders of Ray's is no user's, but for the workers.
_RAYS_OWN = ("/ray/dashboard/", "/ray/_private/", "/ray/autoscaler/")
_WORKERS = ("default_worker.py", "setup_worker.py")


def install() -> None:
    """Watch for the loading of Ray. No effect without the setting; ``rayscope.pth`` handles errors."""
    program = " ".join(sys.orig_argv[1:4]).replace("\\", "/")
    own = any(folder in program for folder in _RAYS_OWN) and not any(w in program for w in _WORKERS)
    if os.environ.get(TRACE) == "1" and not own:
        after_import("ray", enter)


def enter(module: Any) -> None:
    """Trace this process: Ray has been loaded. Never raises."""
    try:
        from rayscope.tracer import hooks

        hooks.install()
    except Exception:
        import logging

        log = logging.getLogger("rayscope.tracer")
        log.exception("Rayscope's tracer cannot start in this process; nothing else is affected")
