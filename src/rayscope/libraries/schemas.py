"""Schemas shared by all of Ray's libraries."""

from __future__ import annotations

from rayscope.api.schemas import Answer


class LibraryProblem(Answer):
    """Why the state of a library cannot be read at present, and a remedy."""

    message: str
    remedy: str
