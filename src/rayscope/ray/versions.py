"""The versions of Ray that the tests cover."""

from __future__ import annotations

import re

#: The newest version that `make test-versions` tests. Clusters of newer versions are recorded, with a note.
NEWEST_TESTED = "2.60"
#: The oldest version of Ray that exports events.
OLDEST_EXPORTING = "2.50"


def untested(version: str | None) -> str | None:
    """``version`` as major.minor if it is newer than :data:`NEWEST_TESTED`, otherwise None."""
    found = numbers(version)
    return f"{found[0]}.{found[1]}" if found and found > numbers(NEWEST_TESTED) else None


def numbers(version: str | None) -> tuple[int, ...]:
    """The major and minor number of a version, or () if it is unknown."""
    match = re.match(r"(\d+)\.(\d+)", version or "")
    return tuple(map(int, match.groups())) if match else ()


def version_note(version: str | None) -> str:
    """A note about a version that is newer than tested, or too old to export events; otherwise empty."""
    if () < numbers(version) < numbers(OLDEST_EXPORTING):
        return (
            f"Ray before {OLDEST_EXPORTING} has no event exporter, so this Ray {version} can only be read "
            f"by `rayscope attach`; use Ray {OLDEST_EXPORTING} or newer."
        )
    newer = untested(version)
    return f"Ray {newer} is newer than the newest tested version ({NEWEST_TESTED})." if newer else ""
