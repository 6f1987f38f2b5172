"""How the jobs of a session ended, from the summaries of runs, which are in a higher package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from rayscope.api.provide import provide
from rayscope.cluster.sessions import schemas

#: Outcomes of jobs, the worst first.
WORST = ("FAILED", "CUT_OFF", "STOPPED", "UNKNOWN", "FINISHED", "SUCCEEDED")


@dataclass(frozen=True)
class EndedJobs:
    """``outcomes``: the outcome of each summarized job of a session. ``slower``: the newest job that took
    longer than usual, or None.
    """

    outcomes: Callable[[str], list[str]]
    slower: Callable[[str], schemas.SlowerJob | None]

    def outcome(self, session: str, jobs: int) -> str | None:
        """The worst outcome of a session's jobs. None unless all of them have a summary."""
        found = self.outcomes(session)
        if len(found) < jobs:
            return None
        return next((name for name in WORST if name in found), None)


CurrentEndedJobs = Annotated[EndedJobs, provide(EndedJobs)]
