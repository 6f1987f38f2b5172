"""Errors of records on disk, each with a remedy."""

from __future__ import annotations

from rayscope.errors import RayscopeError


class StoreError(RayscopeError):
    """A record cannot be read or written at the moment."""

    code = "store_error"
    status = 503
    retry_after_s = 2


class NotFound(StoreError):
    """There is no such session, or the record has no such ID. ``params``: ``what`` (the kind of thing) and
    ``id``.
    """

    remedy = "GET /api/v1/sessions lists what is recorded."
    code = "not_found"
    status = 404
    retry_after_s = 0


class BadQuery(StoreError):
    """An invalid filter, sort order, cursor or SQL query."""

    remedy = "See docs/reference/api.md for the parameters."
    code = "bad_query"
    status = 400
    retry_after_s = 0


class Busy(StoreError):
    """Too many requests of this kind are running. The same request can succeed later."""

    remedy = "Try again in a few seconds."
    code = "busy"


class SpoolFull(StoreError):
    """A batch cannot be stored at the moment. The sender should retry."""


def no_memory(what: str) -> SpoolFull:
    """The error for an operation that failed because of a lack of memory."""
    return SpoolFull(
        f"{what}: there is not enough memory.",
        "Give the server more memory, or free some. Rayscope keeps retrying, and no data is lost.",
        "memory",
        what="server",
    )
