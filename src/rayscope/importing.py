"""Runs code as soon as a module of another package is loaded, without changing that module's file.

It imports only ``sys``: Python loads it at startup, when a user's file may shadow any other module.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def after_import(module: str, action: Callable[[ModuleType], None]) -> None:
    """Call ``action`` with the module once Python has loaded it. ``action`` must not raise.

    Does nothing if the module is already loaded, if its loader is not supported, or on a second call, because
    Python may read ``.pth`` files twice.
    """
    watched = any(isinstance(finder, _Watch) and finder.module == module for finder in sys.meta_path)
    if module not in sys.modules and not watched:
        sys.meta_path.insert(0, _Watch(module, action))


class _Watch:
    """A finder of ``sys.meta_path`` that wraps the loader of one module once."""

    def __init__(self, module: str, action: Callable[[ModuleType], None]) -> None:
        self.module, self._action = module, action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        if fullname != self.module or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            return None
        if spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # Removed only now, because merely checking whether the module exists must not end the watch.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            self._action(module)

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:  # an unsupported loader, such as one for compiled modules
            import logging

            log = logging.getLogger("rayscope.importing")
            log.warning("Rayscope cannot follow the loading of %s by %r", fullname, spec.loader)
        return spec

    def invalidate_caches(self) -> None:
        """Do nothing: there are no caches. See ``importlib.abc.MetaPathFinder``."""
