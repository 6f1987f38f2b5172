"""What the shapes of all answers share, for the OpenAPI description. Answers are encoded by msgspec."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """What every shape of an answer is derived from: nothing is sent that it does not name."""

    model_config = ConfigDict(extra="forbid")


class HiddenLibrary(Answer):
    """A library's internals that ``only=mine`` leaves out, and how many functions and attempts they are."""

    library: str
    functions: int
    attempts: int


class Body(BaseModel):
    """What every shape of a request is derived from: 0 is not taken for false, nor "1" for a number."""

    model_config = ConfigDict(strict=True)


class ErrorDetail(Answer):
    """What went wrong and what to do about it. ``params``: what the message names, where that is little."""

    code: str
    message: str
    remedy: str
    params: dict[str, str | int] | None = None


class ErrorAnswer(Answer):
    """The body of every error answer."""

    error: ErrorDetail


class IngestError(Answer):
    """Why the store cannot be written."""

    message: str
    remedy: str
