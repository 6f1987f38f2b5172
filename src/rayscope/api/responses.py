"""JSON responses of routes, and the errors that routes can return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from fastapi import Request
from fastapi.responses import Response

from rayscope.api import schemas
from rayscope.api.security import error_body
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import StoreError
from rayscope.storage.session_file import SessionFile

T = TypeVar("T")

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorAnswer} for status in (400, 401, 403, 404, 422, 503)
}
#: The errors of routes whose requests have a body, which can be too large.
BODY_ERRORS: dict[int | str, dict[str, Any]] = {**ERRORS, 413: {"model": schemas.ErrorAnswer}}


class Json(Response, Generic[T]):
    """A response with a JSON value of type ``T``. The type becomes part of the OpenAPI description."""

    media_type = "application/json"


def answer(value: T, status: int = 200) -> Json[T]:
    """Return a JSON response."""
    return Json(msgspec.json.encode(value), status)


def answer_from_record(
    records: SessionReader, session: str, request: Request, function: Callable[[SessionFile], T]
) -> Json[T]:
    """Return as JSON what ``function`` reads from a session's record.

    Equal requests share a response for a while. The header ``Age`` is its age in seconds.
    """
    question = f"{request.url.path}?{request.url.query}"
    body, age_s = records.read_with_age(session, question, lambda file: msgspec.json.encode(function(file)))
    return Json(body, headers={"Age": str(int(age_s))})


def error(
    status: int,
    code: str,
    message: str,
    remedy: str,
    headers: dict[str, str] | None = None,
    params: Mapping[str, str | int] | None = None,
) -> Json[Any]:
    """Return the error response that docs/reference/api.md describes."""
    return Json(error_body(code, message, remedy, params), status, headers)


def error_info(error: StoreError | None) -> schemas.IngestError | None:
    """Return an error in the format of the health and summary responses."""
    return None if error is None else {"message": error.message, "remedy": error.remedy}
