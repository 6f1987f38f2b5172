"""Schemas shared by all of Ray's libraries."""

from __future__ import annotations

from typing_extensions import TypedDict


class LibraryProblem(TypedDict):
    """Why the state of a library cannot be read at present, and a remedy."""

    message: str
    remedy: str


class LibraryPage(TypedDict):
    """The fields that the pages of all libraries have. ``problem``: why some data may be out of date."""

    session: str
    total: int
    problem: LibraryProblem | None
