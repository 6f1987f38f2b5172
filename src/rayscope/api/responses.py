"""JSON responses of routes, and the errors that routes can return."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload
from urllib.parse import quote

import msgspec
from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rayscope.api import schemas
from rayscope.api.security import error_body, error_detail
from rayscope.errors import RayscopeError
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile

T = TypeVar("T")

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorAnswer} for status in (400, 401, 403, 404, 422, 503)
}
#: The errors that routes can return if their requests have a body, which can be too large.
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


class Stream(StreamingResponse):
    """A response that closes ``done`` once it is sent, or if the client disconnects."""

    def __init__(
        self, pieces: Iterator[bytes] | AsyncIterator[bytes], done: contextlib.ExitStack, **options: Any
    ) -> None:
        super().__init__(pieces, **options)
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._done:
            await super().__call__(scope, receive, send)


def attachment(name: str, plain: str) -> dict[str, str]:
    """Return the headers of a download that is named ``name``, or in ASCII ``plain``."""
    disposition = f'attachment; filename="{name if name.isascii() else plain}"'
    if not name.isascii():
        disposition += f"; filename*=UTF-8''{quote(name)}"
    return {"Content-Disposition": disposition, "Cache-Control": "no-store"}


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


@overload
def error_info(error: RayscopeError) -> schemas.ErrorDetail: ...
@overload
def error_info(error: RayscopeError | None) -> schemas.ErrorDetail | None: ...
def error_info(error: RayscopeError | None) -> schemas.ErrorDetail | None:
    """Return an error as a part of a successful response."""
    return None if error is None else error_detail(error.code, error.message, error.remedy, error.params)
