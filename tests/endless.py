"""A question that DuckDB would never answer, to see what becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import duckdb

_SQL = "SELECT count(*) FROM range(1000000000000) WHERE range % 7 = hash(range)"


class Endless:
    """Puts an endless query before a function that reads a session's record."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.started, self.interrupted = threading.Event(), threading.Event()
        self._function = function

    def __call__(self, file: Any, *arguments: Any, **more: Any) -> Any:
        with file.reader() as cursor:
            self.started.set()
            try:
                cursor.execute(_SQL).fetchall()
            except duckdb.InterruptException:
                self.interrupted.set()
                raise
        return self._function(file, *arguments, **more)
