"""Finds the critical path of a replay, going back from the end of the driver through the runs that each run
waited for.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from typing import NamedTuple

from rayscope.insights.replay.program import Programs
from rayscope.insights.replay.simulation.engine import Blocked, Replayed
from rayscope.insights.schemas import ReplayPhase

_MAX_LINKS = 200_000


class Link(NamedTuple):
    """A stretch of the path: ``executing`` in the run itself, ``waiting`` for a value after it was created,
    or ``starting`` for Ray's own part before the run began.
    """

    run: int
    phase: ReplayPhase
    begin_ns: int
    end_ns: int


def critical_path(programs: Programs, replayed: Replayed) -> list[Link]:
    """The critical path in chronological order. Stretches with unknown causes are left out."""
    waits: dict[int, list[Blocked]] = defaultdict(list)
    for blocked in replayed.blocked:
        waits[blocked.run].append(blocked)
    ends = {run: [wait.end_ns for wait in found] for run, found in waits.items()}
    links: list[Link] = []
    root = max(programs.roots, key=replayed.ended_ns.__getitem__)
    run, now = root, replayed.ended_ns[root]

    def link(run: int, phase: ReplayPhase, since: int) -> int:
        if since < now:
            links.append(Link(run, phase, since, now))
        return min(now, since)

    while run >= 0 and len(links) < _MAX_LINKS:
        started = replayed.started_ns[run]
        place = bisect.bisect_right(ends.get(run, []), now) - 1
        wait = waits[run][place] if place >= 0 else None
        if wait is not None and wait.by >= 0 and started < now:
            now = link(run, "executing", wait.end_ns)
            ended = replayed.ended_ns[wait.by]
            if 0 <= ended < now:
                now = link(run, "waiting", ended)
            waits[run] = waits[run][:place]
            ends[run] = ends[run][:place]
            run = wait.by
            continue
        now = link(run, "executing", started)
        before, by = replayed.ready_ns[run], replayed.cause[run]
        if by >= 0 and before < replayed.given_ns[run]:
            # The run was queued until another one released capacity. Then it may have needed a new worker.
            now = link(run, "starting", replayed.given_ns[run])
            ended = replayed.ended_ns[by]
            now = link(run, "starting", ended) if 0 <= ended < now else now
            run = by
            continue
        by = replayed.argument[run] if replayed.argument[run] >= 0 else replayed.submitter[run]
        if by < 0:
            break
        known = replayed.ended_ns[by]
        since = known if replayed.argument[run] >= 0 and 0 <= known <= now else before - programs.lead[run]
        now = link(run, "starting", since)
        run = by
    return links[::-1]
