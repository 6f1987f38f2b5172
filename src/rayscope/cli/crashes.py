"""Formats the sentence about crashed workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rayscope.client.types import CrashesAnswer


def crashes_text(crashes: CrashesAnswer, url: str) -> str:
    """Return a sentence with the number of crashed workers and the harm done, or '' if none crashed.

    ``url`` is the server's URL.
    """
    total = crashes["total"]
    if not total:
        return ""
    text = f"{total:,} of {crashes['workers']:,} workers crashed; {_harm(crashes)}."
    if crashes["in_race"]:
        text += (
            f" {crashes['in_race']:,} crashed in a race in Ray as they exited, which happens without "
            f"Rayscope, too: {url.rstrip('/')}/docs/reference/faults.md"
        )
    return text


def _harm(crashes: CrashesAnswer) -> str:
    if crashes["harmed"] == crashes["total"]:
        return "it did harm" if crashes["total"] == 1 else "all of them did harm"
    if crashes["harmed"]:
        return f"{crashes['harmed']:,} of them did harm"
    if crashes["unknown"]:
        return f"whether {crashes['unknown']:,} of them did harm is unknown"
    return "no harm was done"
