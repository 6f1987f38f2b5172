"""Distinguishes the user's errors from ours: a user's signal handler, such as one for a timeout, may raise an
error inside our code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_users(error: Exception) -> bool:
    """Whether ``error`` was raised in the user's code or is an instance of one of the user's classes."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return not (_is_known(type(error).__module__) and _is_known(raised_in))


def run_safely(function: Callable[..., object], *args: Any) -> None:
    """Call ``function``. Swallow our own errors, but raise the user's."""
    try:
        function(*args)
    except Exception as error:
        if is_users(error):
            raise


def _is_known(module: str) -> bool:
    top = module.partition(".")[0]
    return top in ("", "rayscope", "ray") or top in sys.stdlib_module_names
