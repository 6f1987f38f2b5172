"""The end of a program or a cluster that somebody tells us of: taking in all that it still has to say."""

from __future__ import annotations

import time

from rayscope.model import RecordBatch
from rayscope.ray.jobs_api import driver_ended
from rayscope.server.services import Services
from rayscope.storage.errors import NotFound
from rayscope.storage.sql import entities

#: How long an agent may pause before it sends again to a server that was away, s (Ray's own: 5.5).
_AGENT_PAUSE_S = 6.3
#: After so long without any event, s, nothing more is expected.
_QUIET_S = 0.5
#: How long the end of a program may take to be written, s.
_END_S = 5.0


def drain(services: Services, session: str, timeout_s: float) -> bool:
    """Take in all that a session still has to say: called before a local cluster is killed.

    Reads the GCS once in full, waits until events have stopped coming, and flushes. Returns whether
    all of it was done in time.
    """
    deadline = time.monotonic() + timeout_s
    found = services.clusters.find(session)
    settled = time.monotonic() + _agents_pause_s(services, session)
    quiet_since, seen = time.monotonic(), services.writer.last_batch_ns
    while time.monotonic() < deadline:
        if services.writer.last_batch_ns != seen:
            seen, quiet_since = services.writer.last_batch_ns, time.monotonic()
        if time.monotonic() > max(settled, quiet_since + _QUIET_S):
            break
        time.sleep(0.05)
    complete = services.clusters.poll_now(session)
    flushed = services.writer.flush(max(1.0, deadline - time.monotonic()))
    services.records.forget(session)  # who asks next wants the end of it
    if found:
        services.object_readings.keep(session)
        services.log_archiver.archive_now(session, min(2.0, max(0.5, deadline - time.monotonic())))
    return flushed and complete


def _agents_pause_s(services: Services, session: str) -> float:
    """How long agents that met no server before this one started may still pause, s."""
    try:
        first_ns = services.catalog.about(session).first_ns
    except NotFound:
        first_ns = 0  # nothing has arrived, though a program of this session ends
    if first_ns >= services.started_ns:
        return 0.0
    return max(0.0, _AGENT_PAUSE_S - (time.time_ns() - services.started_ns) / 1e9)


def program_ended(
    services: Services,
    session: str,
    pid: int,
    began_ns: int,
    ended_ns: int,
    exit_code: int,
    *,
    cluster_is_gone: bool,
) -> None:
    """A program ended of which ``pid`` may be a driver; Ray does not learn its exit code.

    ``began_ns``: when it was started. ``cluster_is_gone``: it took its cluster along.
    """
    # A session that ends only later could not be heard of again until then.
    ended_ns = min(ended_ns, time.time_ns())
    services.writer.flush(_END_S)
    session = services.records.resolve(session)
    jobs = services.records.read(session, lambda file: entities.jobs_of_driver(file, pid, began_ns))
    services.writer.submit_records(
        RecordBatch(session, entities=[driver_ended(job, ended_ns, exit_code) for job in jobs]), "run"
    )
    if cluster_is_gone:
        services.writer.end_session(session, ended_ns)
    services.writer.flush(_END_S)
    services.records.forget(session)
