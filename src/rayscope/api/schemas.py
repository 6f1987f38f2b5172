"""Base shapes of all responses, for the OpenAPI description. Responses are encoded by msgspec."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Base of all response shapes. A response has no fields that its shape does not name."""

    model_config = ConfigDict(extra="forbid")


class HiddenLibrary(Answer):
    """A library's internals hidden by ``only=mine``, with the number of their functions and attempts."""

    library: str
    functions: int
    attempts: int


class Body(BaseModel):
    """Base of all request shapes. Types are strict: 0 is not false, and "1" is not a number."""

    model_config = ConfigDict(strict=True)


class ErrorDetail(Answer):
    """A problem and its remedy. ``params`` has the values in the message, if there are few."""

    code: str
    message: str
    remedy: str
    params: dict[str, str | int] | None = None


class ErrorAnswer(Answer):
    """The body of every error response."""

    error: ErrorDetail


class IngestError(Answer):
    """Why the store cannot be written."""

    message: str
    remedy: str
