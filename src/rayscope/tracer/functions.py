"""Describes remote functions whose names in Ray are ambiguous: lambdas, closures, and wrappers."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

#: Maximum number of nested wrappers that are unwrapped.
_MAX_WRAPPERS = 10
_LOCAL = "<locals>"


def describe(function: Any, module: str) -> dict[str, str] | None:
    """Describe a function. Returns None for a plain function of a module, whose name already identifies it.

    Args:
        function: the remote function.
        module: Ray's name for its module.

    Returns:
        ``name`` and ``module`` of the innermost wrapped function, or of the function itself. For a lambda or
        closure also where it begins: ``place`` (``train.py:12``) and ``column``. For a wrapper also
        ``wrapper`` (``timed in tools.py``): the decorator's inner function and its file.
    """
    if not isinstance(function, types.FunctionType):
        return None
    inner = function
    for _ in range(_MAX_WRAPPERS):
        wrapped = _wrapped(inner)
        if wrapped is None:
            break
        inner = wrapped
    code = inner.__code__
    is_local = _LOCAL in inner.__qualname__ or inner.__name__ == "<lambda>"
    if inner is function and not is_local:
        return None
    same = inner is function or inner.__module__ == function.__module__
    about = {"name": inner.__name__, "module": module if same else _module(inner)}
    if is_local:
        about["place"] = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        about["column"] = str(_column(code))
    if inner is not function:
        outer = function.__code__
        about["wrapper"] = f"{outer.co_name} in {os.path.basename(outer.co_filename)}"
    return about


def _wrapped(function: types.FunctionType) -> types.FunctionType | None:
    """The function called by a decorator's wrapper, or None if there is none or it is ambiguous.

    A closure also holds the local functions that it calls, but those are stored under their own names.
    """
    wrapped = getattr(function, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):
        return wrapped
    held = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if isinstance(value, types.FunctionType) and value.__name__ != name:
            held.append(value)
    return held[0] if len(held) == 1 and held[0] is not function else None


def _module(function: types.FunctionType) -> str:
    """Ray's name for a function's module. A script is named after its file."""
    if function.__module__ != "__main__":
        return function.__module__ or ""
    file = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    return os.path.splitext(os.path.basename(file))[0] or "__main__"


def _column(code: types.CodeType) -> int:
    """Column of the code's first expression, to distinguish two lambdas on one line. 0 before Python 3.11."""
    if sys.version_info < (3, 11):
        return 0
    columns = [
        column
        for line, _, column, _ in code.co_positions()
        if line == code.co_firstlineno and column is not None and column > 0
    ]
    return min(columns, default=0)
