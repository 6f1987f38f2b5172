"""The way in: :func:`install` watches in the interpreter of a dashboard agent, and only there.

No file of Ray's is touched. The module that holds the agent's event collector is let load as it is, and
then looked at; what does not look as known stays Ray's, and the server is told why.
"""

from __future__ import annotations

import os
import sys

from rayscope.agent.settings import EXPORT_ADDR, FAST_LANE
from rayscope.importing import after_import

TYPE_CHECKING = False  # as in rayscope.importing: nothing is imported when Python starts
if TYPE_CHECKING:
    from typing import Any

MODULE = "ray.dashboard.modules.aggregator.aggregator_agent"


def install() -> None:
    """Watch for :data:`MODULE`. No effect without the settings; ``rayscope.pth`` handles errors."""
    is_agent = "dashboard/agent.py" in " ".join(sys.orig_argv).replace("\\", "/")
    if is_agent and os.environ.get(FAST_LANE) == "1" and os.environ.get(EXPORT_ADDR):
        after_import(MODULE, lambda module: enter(module))


def enter(module: Any) -> None:
    """Take over the collector of a loaded :data:`MODULE` if it is one that we know. Never raises."""
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
    except Exception:
        log.exception("Rayscope's fast lane cannot be taken; Ray's JSON exporter is used")
