"""Wraps methods of Ray's libraries once a program has loaded them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rayscope.importing import after_import
from rayscope.tracer.emit import state

#: Wraps one of our functions so that its errors do not reach the user.
Guard = Callable[[Callable[..., Any]], Callable[..., Any]]
#: Returns the wrapper for a method.
Hook = Callable[[Callable[..., Any]], Callable[..., Any]]


def wrap_when_loaded(guard: Guard, module: str, owner: str, hooks: Mapping[str, Hook]) -> None:
    """Wrap methods of the class ``owner`` once ``module`` is loaded. ``hooks`` maps method names to hooks."""
    after_import(module, guard(wrap_methods(owner, hooks)))


def wrap_methods(owner_name: str, hooks: Mapping[str, Hook]) -> Callable[[Any], None]:
    """Return a function that wraps methods of a class in a module. Missing methods are reported."""

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
