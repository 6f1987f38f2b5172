"""The shapes of what the server itself answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from rayscope.api.schemas import Answer, IngestError


class Attached(Answer):
    """The session of the cluster that was attached to."""

    session: str


class SqlAnswer(Answer):
    """Rows of a SQL query. ``snapshot_ns``: they are of the record as it was then."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int


class SessionDeleted(Answer):
    """The session whose record is gone."""

    session: str


class Archive(Answer):
    """The archive for ended sessions, and why it cannot be used now."""

    url: str
    error: IngestError | None


class FleetServer(Answer):
    """A server that shares the warehouse, heard from ``age_s`` ago. ``sessions``: those that it records."""

    server: str
    url: str
    is_alive: bool
    age_s: float
    sessions: int


class Warehouse(Answer):
    """The warehouse, the name of this server, the rows that it has to tell, and who else shares it."""

    url: str
    server: str
    waiting_rows: int
    servers: list[FleetServer]
    error: IngestError | None


class HealthAnswer(Answer):
    """Whether the server lives. All but ``status`` and ``version`` is for readers.

    ``damaged``: files of the data directory that were set aside.
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
