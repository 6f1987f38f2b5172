"""The shapes of the server's own responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from rayscope.api.schemas import Answer, IngestError


class Attached(Answer):
    """The session of the attached cluster."""

    session: str


class SqlAnswer(Answer):
    """The rows of a SQL query on the record as of ``snapshot_ns``."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int


class SessionDeleted(Answer):
    """The session whose record was deleted."""

    session: str


class Archive(Answer):
    """The archive for ended sessions, and why it cannot be used now."""

    url: str
    error: IngestError | None


class FleetServer(Answer):
    """A server that shares the warehouse, last seen ``age_s`` ago, with the ``sessions`` that it records."""

    server: str
    url: str
    is_alive: bool
    age_s: float
    sessions: int


class Warehouse(Answer):
    """The warehouse, this server's name, its number of unpublished rows, and the other servers."""

    url: str
    server: str
    waiting_rows: int
    servers: list[FleetServer]
    error: IngestError | None


class HealthAnswer(Answer):
    """Whether the server is healthy. All fields except ``status`` and ``version`` require a token.

    ``damaged`` has files of the data directory that were set aside.
    """

    status: Literal["ok", "degraded"]
    version: str
    sessions: int = 0
    pending_batches: int = 0
    stalled_bodies: int = 0
    rejected_batches: int = 0
    damaged: list[str] = Field(default_factory=list)
    archive: Archive | None = None
    warehouse: Warehouse | None = None
    error: IngestError | None = None
