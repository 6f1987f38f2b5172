"""What can go wrong with a record on disk, each with the way out."""

from __future__ import annotations

from rayscope.errors import RayscopeError


class StoreError(RayscopeError):
    """A record cannot be read or written now."""

    code = "store_error"
    status = 503
    retry_after_s = 2


class NotFound(StoreError):
    """The session or the id asked for is not in the record. ``params``: ``what`` (its kind) and ``id``."""

    remedy = "GET /api/sessions lists what is recorded."
    code = "not_found"
    status = 404
    retry_after_s = 0


class BadQuery(StoreError):
    """A filter, sort, cursor or SQL text that cannot be answered."""

    remedy = "See docs/reference/api.md for the parameters."
    code = "bad_query"
    status = 400
    retry_after_s = 0


class Busy(StoreError):
    """Too many requests of a kind are running already; the same one succeeds a little later."""

    remedy = "Try again in a few seconds."
    code = "busy"


class SpoolFull(StoreError):
    """A batch cannot be kept now; the sender should try again."""


def no_memory(what: str) -> SpoolFull:
    """The error for what fails for want of memory."""
    return SpoolFull(
        f"{what}: there is not enough memory.",
        "Give the server more memory, or free some. Rayscope keeps retrying, and no data is lost.",
        "memory",
    )
