"""The answers about session files."""

from __future__ import annotations

from typing_extensions import TypedDict


class OpenedSession(TypedDict):
    """The session of a file that was opened."""

    session: str
