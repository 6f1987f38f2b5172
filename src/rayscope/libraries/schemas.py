"""Schemas shared by all of Ray's libraries."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail


class LibraryPage(TypedDict):
    """The fields that the pages of all libraries have. ``problem``: why some data may be out of date."""

    session: str
    total: int
    problem: ErrorDetail | None
