"""What is said of all of Ray's libraries alike."""

from __future__ import annotations

from rayscope.api.schemas import Answer


class LibraryProblem(Answer):
    """Why the state of a library cannot be read now, and what helps."""

    message: str
    remedy: str
