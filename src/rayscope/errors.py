"""The base class of Rayscope's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Error = TypeVar("Error", bound="RayscopeError")


class RayscopeError(Exception):
    """An operation failed. ``message`` states the reason, and ``remedy`` what to do about it.

    ``code`` identifies the kind of error (docs/reference/api.md), and ``params`` contains the values that
    appear in ``message``. ``status`` is the HTTP status, or 0 if there is none. The same request may succeed
    after ``retry_after_s``, unless that is 0.
    """

    remedy: str = ""
    code: str = "failed"
    status: int = 0
    retry_after_s: int = 0

    def __init__(
        self,
        message: str,
        remedy: str | None = None,
        code: str | None = None,
        *,
        status: int | None = None,
        **params: str | int,
    ) -> None:
        # Not super(), because the next class in the method resolution order may take other arguments.
        Exception.__init__(self, message)
        self.message = message
        self.params = params
        if remedy is not None:
            self.remedy = remedy
        if code is not None:
            self.code = code
        if status is not None:
            self.status = status

    def with_params(self: Error, params: Mapping[str, str | int]) -> Error:
        """Set ``params``, such as those of another error. Returns itself."""
        self.params = dict(params)
        return self

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()
