"""Annotations in user code: values, spans and counters. No-ops in processes that are not traced.

rayscope.annotate(model="resnet", epoch=3)      # for the current task or actor
with rayscope.span("load"): ...                 # or @rayscope.span("load"), also on an async function
rayscope.counter("loss", 0.25)
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])
#: Maximum number of values per call. Further values are ignored.
_MAX_VALUES = 100
#: Maximum number of characters in a name or a string value.
_MAX_TEXT = 1000


def _hooks() -> Any:
    """The tracer, if it traces this process and the process belongs to a cluster."""
    hooks = sys.modules.get("rayscope.tracer.hooks")
    return hooks if hooks is not None and hooks.state.connected else None


def _report(name: str, make: Callable[[], dict[str, Any]]) -> None:
    hooks = _hooks()
    if hooks is not None:
        try:
            values = make()
        except Exception:  # raised by a method of a user's object
            return
        hooks.report_from_user(name, values)


def annotate(**values: str | float | bool) -> None:
    """Attach ``values`` to the current task, or to the actor if called in its ``__init__``.

    Numbers stay numbers. Anything else becomes text of at most 1,000 characters. At most 100 values are kept.
    """
    if values:
        _report("rayscope.annotation", lambda: {"values": _plain(values)})


def counter(name: str, value: float) -> None:
    """Record the current value of the counter ``name``.

    If there are more calls than Ray can transport, the excess calls are counted but their values are lost.
    """
    _report("rayscope.counter", lambda: _counter(name, value))


class span:
    """A named span of time within the current task, as a context manager or a decorator.

    ``values`` are attached to the span. A span can be reused, and can be entered again while it is open.
    """

    def __init__(self, name: str, **values: str | float | bool) -> None:
        self._name, self._values = name, values
        self._open: list[Any] = []

    def __enter__(self) -> span:
        hooks = _hooks()
        self._open.append(None if hooks is None else hooks.begin_span())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        call, hooks = self._open.pop(), _hooks()
        if call is not None and hooks is not None:
            values = {**self._values, "error": kind.__name__} if kind else self._values
            hooks.end_span(call, {"name": _text(self._name), "values": _plain(values)})

    def __call__(self, function: _F) -> _F:
        """Wrap ``function`` so that each call runs inside this span."""
        name, values = self._name, self._values
        # Wrapped generators must remain generators: Ray checks for them.
        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def spanned_async_generator(*args: Any, **kwargs: Any) -> Any:
                with span(name, **values):
                    async for value in function(*args, **kwargs):
                        yield value

            return cast("_F", spanned_async_generator)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def spanned_generator(*args: Any, **kwargs: Any) -> Any:
                with span(name, **values):
                    return (yield from function(*args, **kwargs))

            return cast("_F", spanned_generator)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def spanned_coroutine(*args: Any, **kwargs: Any) -> Any:
                with span(name, **values):
                    return await function(*args, **kwargs)

            return cast("_F", spanned_coroutine)

        @functools.wraps(function)
        def spanned(*args: Any, **kwargs: Any) -> Any:
            with span(name, **values):
                return function(*args, **kwargs)

        return cast("_F", spanned)


def _plain(values: dict[str, Any]) -> dict[str, str | float | bool]:
    plain: dict[str, str | float | bool] = {}
    for key, value in list(values.items())[:_MAX_VALUES]:
        # JSON has no NaN or infinity, and the record holds at most 64-bit numbers.
        number = isinstance(value, (bool, int, float)) and -(2**62) < value < 2**62
        plain[key[:_MAX_TEXT]] = value if number else _text(value)
    return plain


def _counter(name: str, value: Any) -> dict[str, Any]:
    """The payload of a counter event. Numbers of NumPy, PyTorch, or Decimal become floats."""
    number = float(value)
    text = {} if math.isfinite(number) else {"text": str(number)}
    return {"name": str(name)[:_MAX_TEXT], "value": 0.0 if text else number, **text}


def _text(value: Any) -> str:
    try:
        return str(value)[:_MAX_TEXT]
    except Exception as error:  # if __str__ fails, only this value is lost
        return f"<{type(value).__name__}: {type(error).__name__}>"
