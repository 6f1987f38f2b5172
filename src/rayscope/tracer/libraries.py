"""Wrap methods of Ray's libraries, which only the programs that use them load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rayscope.importing import after_import
from rayscope.tracer.emit import state

#: Makes a function of ours safe to call.
Guard = Callable[[Callable[..., Any]], Callable[..., Any]]
#: Makes of a method the one to be called instead.
Hook = Callable[[Callable[..., Any]], Callable[..., Any]]


def wrap_when_loaded(guard: Guard, module: str, owner: str, hooks: Mapping[str, Hook]) -> None:
    """Wrap methods of the class ``owner`` as soon as ``module`` has been loaded. ``hooks``: by name."""
    after_import(module, guard(wrap_methods(owner, hooks)))


def wrap_methods(owner_name: str, hooks: Mapping[str, Hook]) -> Callable[[Any], None]:
    """What does so in a module. A method that is not there is told of as missing."""

    def wrap(module: Any) -> None:
        owner: Any = getattr(module, owner_name, None)
        for name, hook in hooks.items():
            original = getattr(owner, name, None)
            if original is None:
                state.missing += (f"{owner_name}.{name}",)
                continue
            wrapped = hook(original)
            is_static = isinstance(vars(owner).get(name), staticmethod)
            setattr(owner, name, staticmethod(wrapped) if is_static else wrapped)

    return wrap
