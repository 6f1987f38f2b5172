"""What can go wrong with a record on disk, each with the way out."""

from __future__ import annotations


class StoreError(Exception):
    """A record cannot be read or written now. ``remedy`` says what to do about it.

    ``params`` are what ``message`` names besides what ``code`` says, for whoever says it in other words.
    """

    def __init__(self, message: str, remedy: str, code: str = "store_error", **params: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code
        self.params = params


class NotFound(StoreError):
    """The session or the id asked for is not in the record. ``params``: ``what`` (its kind) and ``id``."""

    def __init__(
        self, message: str, remedy: str = "GET /api/sessions lists what is recorded.", **params: str | int
    ) -> None:
        super().__init__(message, remedy, "not_found", **params)


class BadQuery(StoreError):
    """A filter, sort, cursor or SQL text that cannot be answered."""

    def __init__(self, message: str, remedy: str = "See docs/reference/api.md for the parameters.") -> None:
        super().__init__(message, remedy, "bad_query")


class SpoolFull(StoreError):
    """A batch cannot be kept now; the sender should try again."""
