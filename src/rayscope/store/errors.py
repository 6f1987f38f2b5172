"""What can go wrong with a record on disk, each with the way out."""

from __future__ import annotations


class StoreError(Exception):
    """A record cannot be read or written now. ``remedy`` says what to do about it."""

    def __init__(self, message: str, remedy: str, code: str = "store_error") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code


class NotFound(StoreError):
    """The session or the id asked for is not in the record."""

    def __init__(self, message: str, remedy: str = "GET /api/sessions lists what is recorded.") -> None:
        super().__init__(message, remedy, "not_found")


class BadQuery(StoreError):
    """A filter, sort, cursor or SQL text that cannot be answered."""

    def __init__(self, message: str, remedy: str = "See docs/api.md for the parameters.") -> None:
        super().__init__(message, remedy, "bad_query")


class SpoolFull(StoreError):
    """A batch cannot be kept now; the sender should try again."""
