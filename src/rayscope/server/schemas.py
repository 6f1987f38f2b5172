"""The shapes of the server's own responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from rayscope.api.schemas import ErrorDetail
from rayscope.warehouse.schemas import WarehouseStatus


class Attached(TypedDict):
    """The session of the attached cluster."""

    session: str


class SqlAnswer(TypedDict):
    """The rows of a SQL query on the record as of ``snapshot_ns``."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int


class SessionDeleted(TypedDict):
    """The session whose record was deleted."""

    session: str


class Archive(TypedDict):
    """The archive for ended sessions, and the error if it cannot be used now."""

    url: str
    error: ErrorDetail | None


class Warehouse(WarehouseStatus):
    """The state of the warehouse, and the error if it cannot be used now."""

    error: ErrorDetail | None


class HealthDetails(TypedDict):
    """The part of the health that needs locks or the disk."""

    sessions: int
    damaged: list[str]
    archive: Archive | None
    warehouse: Warehouse | None
    error: ErrorDetail | None


class HealthAnswer(TypedDict):
    """Whether the server is healthy. All fields except ``status`` and ``version`` require a token.

    ``damaged`` lists damaged files of the data directory that were set aside.
    """

    status: Literal["ok", "degraded"]
    version: str
    sessions: NotRequired[int]
    pending_batches: NotRequired[int]
    stalled_bodies: NotRequired[int]
    rejected_batches: NotRequired[int]
    damaged: NotRequired[list[str]]
    archive: NotRequired[Archive | None]
    warehouse: NotRequired[Warehouse | None]
    error: NotRequired[ErrorDetail | None]
