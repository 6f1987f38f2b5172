"""Source of a paused process. debugpy sends none of files that exist on its machine, so it is evaluated."""

from __future__ import annotations

import ast


def source_expression(file: str | None, first: int, last: int) -> str:
    """An expression whose value is a list of the lines of ``file`` from ``first`` to ``last``."""
    return f"__import__('linecache').getlines({file!r})[{first - 1}:{last}]"


def parse_source(result: object) -> list[str]:
    """The lines in the result of :func:`source_expression`. The list is empty if there is no source."""
    try:
        return [str(line).rstrip("\n") for line in ast.literal_eval(str(result))]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return []
