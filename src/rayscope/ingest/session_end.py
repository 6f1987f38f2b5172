"""The end of a program or a cluster that somebody tells us of: taking in all that it still has to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rayscope.ingest.clusters import Clusters
from rayscope.ingest.writer import Writer
from rayscope.model import RecordBatch
from rayscope.ray.jobs_api import driver_ended
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound
from rayscope.storage.slots import Slots
from rayscope.storage.sql import entities

#: How long an agent may pause before it sends again to a server that was away, s (Ray's own: 5.5).
_AGENT_PAUSE_S = 6.3
#: After so long without any event, s, nothing more is expected.
_QUIET_S = 0.5
#: How long the end of a program may take to be written, s.
_END_S = 5.0
#: Ends at a time. Each holds one of the server's 40 threads for some seconds.
_MAX_ENDING = 8
#: Ends that wait, and how long, s. A program that ends waits for 2 s or more.
_MAX_WAITING_ENDS = 12
_END_WAIT_S = 2.0


@dataclass
class SessionEnds:
    """Records the end of programs and clusters.

    ``at_end``: called for a session whose cluster is about to be killed, with the seconds that each may take.
    """

    catalog: Catalog
    writer: Writer
    records: SessionReader
    clusters: Clusters
    at_end: Sequence[Callable[[str, float], None]]
    #: When this server began.
    started_ns: int = field(default_factory=time.time_ns)

    def __post_init__(self) -> None:
        #: Each end holds one while it waits until its events are on record.
        self.slots = Slots(
            _MAX_ENDING, "Too many programs end at once.", waiting=_MAX_WAITING_ENDS, wait_s=_END_WAIT_S
        )

    def drain(self, session: str, timeout_s: float) -> bool:
        """Take in all that a session still has to say: called before a local cluster is killed.

        Reads the GCS once in full, waits until events have stopped coming, and flushes. Returns whether
        all of it was done in time.
        """
        deadline = time.monotonic() + timeout_s
        found = self.clusters.find(session)
        settled = time.monotonic() + self._agents_pause_s(session)
        quiet_since, seen = time.monotonic(), self.writer.last_batch_ns
        while time.monotonic() < deadline:
            if self.writer.last_batch_ns != seen:
                seen, quiet_since = self.writer.last_batch_ns, time.monotonic()
            if time.monotonic() > max(settled, quiet_since + _QUIET_S):
                break
            time.sleep(0.05)
        complete = self.clusters.poll_now(session)
        flushed = self.writer.flush(max(1.0, deadline - time.monotonic()))
        self.records.forget(session)  # who asks next wants the end of it
        for act in self.at_end if found else ():
            act(session, min(2.0, max(0.5, deadline - time.monotonic())))
        return flushed and complete

    def _agents_pause_s(self, session: str) -> float:
        """How long agents that met no server before this one started may still pause, s."""
        try:
            first_ns = self.catalog.about(session).first_ns
        except NotFound:
            first_ns = 0  # nothing has arrived, though a program of this session ends
        if first_ns >= self.started_ns:
            return 0.0
        return max(0.0, _AGENT_PAUSE_S - (time.time_ns() - self.started_ns) / 1e9)

    def end_program(
        self,
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
        self.writer.flush(_END_S)
        session = self.records.resolve(session)
        jobs = self.records.read(session, lambda file: entities.jobs_of_driver(file, pid, began_ns))
        self.writer.submit_records(
            RecordBatch(session, entities=[driver_ended(job, ended_ns, exit_code) for job in jobs]), "run"
        )
        if cluster_is_gone:
            self.writer.end_session(session, ended_ns)
        self.writer.flush(_END_S)
        self.records.forget(session)
