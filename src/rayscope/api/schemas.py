"""Schemas that many routes share. Those of responses are typed dicts, which msgspec encodes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from typing_extensions import NotRequired, TypedDict


class HiddenLibrary(TypedDict):
    """A library whose internals ``only=mine`` hides, with the number of their functions and attempts."""

    library: str
    functions: int
    attempts: int


class AttemptLane(TypedDict):
    """A worker, node, actor, or function, and its attempts.

    ``functions`` are the first of all ``functions_total`` functions that a worker ran. ``max_memory``: the
    largest peak memory of its attempts, in bytes, or null if none was measured.
    """

    id: str
    kind: str
    label: str | None
    depth: int | None
    node_id: str | None
    node_ip: str | None
    pid: int | None
    actor_id: str | None
    class_name: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    attempts: int
    busy_ns: int
    max_memory: int | None


class Body(BaseModel):
    """Base of all request schemas. Types are strict: 0 is not false, and "1" is not a number."""

    model_config = ConfigDict(strict=True)


class ErrorDetail(TypedDict):
    """A problem and its remedy. ``params`` contains the values in the message, if there are any."""

    code: str
    message: str
    remedy: str
    params: NotRequired[dict[str, str | int]]


class ErrorAnswer(TypedDict):
    """The body of every error response."""

    error: ErrorDetail
