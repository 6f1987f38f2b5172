"""Schemas that many routes share. Those of responses are typed dicts, which msgspec encodes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from typing_extensions import NotRequired, TypedDict


class HiddenLibrary(TypedDict):
    """A library's internals hidden by ``only=mine``, with the number of their functions and attempts."""

    library: str
    functions: int
    attempts: int


class Body(BaseModel):
    """Base of all request schemas. Types are strict: 0 is not false, and "1" is not a number."""

    model_config = ConfigDict(strict=True)


class ErrorDetail(TypedDict):
    """A problem and its remedy. ``params`` has the values in the message, if there are few."""

    code: str
    message: str
    remedy: str
    params: NotRequired[dict[str, str | int]]


class ErrorAnswer(TypedDict):
    """The body of every error response."""

    error: ErrorDetail


class IngestError(TypedDict):
    """Why the store cannot be written."""

    message: str
    remedy: str
