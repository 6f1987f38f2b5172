"""Finds gaps in a job's record that may hide findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayscope.insights import schemas
from rayscope.insights.replay.recorded import Recorded


def find_missing(recorded: Recorded, losses: Mapping[str, Any]) -> list[schemas.NotRecorded]:
    """The gaps in a job's record.

    ``losses``: what the session's record lost, as :func:`rayscope.cluster.recording.recording.dropped`
    returns it. Events that were lost but later read again do not count as a gap.
    """
    found: list[schemas.NotRecorded] = []
    if not recorded.is_traced:
        message = "Not recorded: waits and objects. The tracer reported nothing from the job's processes."
        found.append({"code": "tracer_off", "events": None, "message": message})
    begin_ns, end_ns = recorded.extent_ns
    repaired_ns = 0 if losses["repaired_partly"] else losses["repaired_ns"] or 0
    events = sum(
        one["count"]
        for one in losses["by"]
        if (one["last_ns"] is None or max(begin_ns, repaired_ns) <= one["last_ns"])
        and (one["first_ns"] is None or one["first_ns"] <= end_ns)
    )
    if events:
        message = (
            f"Not recorded: {events:,} events, dropped while the job ran. Tasks or times may be missing."
        )
        found.append({"code": "dropped", "events": events, "message": message})
    return found
