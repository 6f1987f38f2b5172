"""The way in: ``rayscope.pth`` calls :func:`install` in the interpreter of a dashboard agent, and only there.

No file of Ray's is touched. The module that holds the agent's event collector is let load as it is, and
then looked at; what does not look as known stays Ray's, and the server is told why.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import logging
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from rayscope.agent.settings import EXPORT_ADDR, FAST_LANE

MODULE = "ray.dashboard.modules.aggregator.aggregator_agent"
log = logging.getLogger("rayscope.agent")


def install() -> None:
    """Watch for :data:`MODULE`. No effect without the settings; never raises."""
    try:
        if os.environ.get(FAST_LANE) == "1" and os.environ.get(EXPORT_ADDR) and MODULE not in sys.modules:
            sys.meta_path.insert(0, _Watch())
    except Exception:
        log.exception("Rayscope's fast lane cannot be prepared; Ray's JSON exporter is used")


class _Watch(importlib.abc.MetaPathFinder):
    """Finds nothing but :data:`MODULE`, once, where Python would find it anyway."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            enter(module)

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:  # a loader of another kind, such as one for compiled modules
            log.warning("Rayscope's fast lane cannot follow %r; Ray's JSON exporter is used", spec.loader)
        return spec


def enter(module: Any) -> None:
    """Take over the collector of a loaded :data:`MODULE` if it is one that we know. Never raises."""
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
