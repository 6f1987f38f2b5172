"""The shapes of what the server itself answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from rayscope.api.schemas import Answer


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
