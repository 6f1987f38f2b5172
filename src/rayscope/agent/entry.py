"""The entry point: :func:`install` watches imports in a dashboard agent's interpreter, and only there.

No file of Ray's is changed. The module with the agent's event collector is loaded normally and then
inspected. A collector of an unknown form is left unchanged, and the reason is reported to the server.
"""

from __future__ import annotations

import os
import sys

from rayscope.agent.settings import EXPORT_ADDR, FAST_LANE, WATCH_EXITS, WATCH_GPUS
from rayscope.importing import after_import

TYPE_CHECKING = False  # avoids an import when Python starts, as in rayscope.importing
if TYPE_CHECKING:
    from typing import Any

MODULE = "ray.dashboard.modules.aggregator.aggregator_agent"


def install() -> None:
    """Watch for the import of :data:`MODULE`. Does nothing without the settings. ``rayscope.pth`` handles
    errors.
    """
    is_agent = "dashboard/agent.py" in " ".join(sys.orig_argv).replace("\\", "/")
    if is_agent and os.environ.get(FAST_LANE) == "1" and os.environ.get(EXPORT_ADDR):
        after_import(MODULE, lambda module: enter(module))


def enter(module: Any) -> None:
    """Take over the collector of a loaded :data:`MODULE` if its form is known. Never raises."""
    import logging

    log = logging.getLogger("rayscope.agent")
    try:
        from rayscope.agent import report

        reporter = report.Reporter()
        try:
            from rayscope.agent import lane, shape

            reason = shape.unknown(module)
            if reason is None:
                lane.take_over(module, reporter)
        except Exception as error:
            reason = report.fault(error)
            log.exception("Rayscope's fast lane cannot be taken")
        if reason is not None:
            log.warning("Ray's JSON exporter is used, not Rayscope's fast lane: %s", reason)
            reporter.leave(reason)
        reporter.start()
        watch_exits(reporter)
        watch_gpus(reporter)
    except Exception:
        log.exception("Rayscope's fast lane cannot be taken; Ray's JSON exporter is used")


def watch_exits(reporter: Any) -> None:
    """Watch the ends of the node's processes, unless that is switched off or not possible."""
    if os.environ.get(WATCH_EXITS) == "0":
        return
    try:
        from rayscope.agent import exits

        exits.start(reporter)
    except (ImportError, OSError) as error:  # not Linux, or it does not permit it
        import logging

        logging.getLogger("rayscope.agent").warning("the ends of processes cannot be watched: %r", error)


def watch_gpus(reporter: Any) -> None:
    """Watch the node's GPUs, unless that is switched off or there are none."""
    if os.environ.get(WATCH_GPUS) == "0":
        return
    try:
        from rayscope.agent import gpus
    except ImportError:  # not Linux
        return
    gpus.start(reporter)
