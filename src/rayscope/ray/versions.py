"""The newest version of Ray that the tests cover."""

from __future__ import annotations

import re

#: `make test-versions` runs with it (Makefile). A newer Ray is recorded too, with a note.
NEWEST_TESTED = "2.60"


def untested(version: str | None) -> str | None:
    """``version`` as major.minor if it is newer than :data:`NEWEST_TESTED`; None if not, or if unknown."""
    match = re.match(r"(\d+)\.(\d+)", version or "")
    if match is None or tuple(map(int, match.groups())) <= tuple(map(int, NEWEST_TESTED.split("."))):
        return None
    return match[0]


def untested_note(version: str | None) -> str:
    """The sentence about such a version, empty for any other."""
    newer = untested(version)
    return f"Ray {newer} is newer than the newest tested version ({NEWEST_TESTED})." if newer else ""
