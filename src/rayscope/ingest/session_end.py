"""Handles the reported end of a program or a cluster: ingests all of its remaining events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
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

#: Maximum time that an agent waits before it retries while the server is away, in s. Ray's own is 5.5 s.
_AGENT_PAUSE_S = 6.3
#: Time without events after which no more are expected, in seconds.
_QUIET_S = 0.5
#: Time limit for each flush when a program ends, in seconds.
_END_S = 5.0
#: Maximum number of program and cluster ends handled at once. Each occupies one of the server's 40 threads
#: for a few seconds.
_MAX_ENDING = 8
#: Maximum number of program and cluster ends that wait for their turn. A program that ends waits at least 2 s
#: for the response.
_MAX_WAITING_ENDS = 12
#: How long an end waits for its turn, in seconds.
_END_WAIT_S = 2.0


@dataclass
class SessionEnds:
    """Records the end of programs and clusters.

    ``at_end`` contains callbacks for a session whose cluster is about to be killed. They get the session and
    a time limit in seconds.
    """

    catalog: Catalog
    writer: Writer
    records: SessionReader
    clusters: Clusters
    at_end: Sequence[Callable[[str, float], None]]
    #: When this server started, in ns.
    started_ns: int = field(default_factory=time.time_ns)

    def __post_init__(self) -> None:
        #: Each end holds a slot until its events are recorded.
        self.slots = Slots(
            _MAX_ENDING, "Too many programs end at once.", waiting=_MAX_WAITING_ENDS, wait_s=_END_WAIT_S
        )

    def drain(self, session: str, timeout_s: float) -> bool:
        """Ingest all remaining events of a session. Called before a local cluster is killed.

        Waits until no more events arrive, reads the GCS once completely, and flushes. Returns whether all of
        it was done in time.
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
        self.records.forget(session)  # later reads must include the end
        for act in self.at_end if found else ():
            act(session, min(2.0, max(0.5, deadline - time.monotonic())))
        return flushed and complete

    def _agents_pause_s(self, session: str) -> float:
        """Return how long agents that found no server before this one started may still wait until they
        retry, in s.
        """
        try:
            first_ns = self.catalog.about(session).first_ns
        except NotFound:
            first_ns = 0  # no events have arrived yet, although a program of this session is ending
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
        versions: Mapping[str, str],
    ) -> None:
        """Record that a program ended, with its exit code and versions, which Ray does not know.

        ``pid`` is a process of the program that may have been a driver, and ``began_ns`` is when the program
        started. ``cluster_is_gone`` means that its cluster ended with it.
        """
        # A session with an end in the future would not accept events until then.
        ended_ns = min(ended_ns, time.time_ns())
        self.writer.flush(_END_S)
        session = self.records.resolve(session)
        jobs = self.records.read(session, lambda file: entities.jobs_of_driver(file, pid, began_ns))
        ended = [driver_ended(job, ended_ns, exit_code, versions) for job in jobs]
        self.writer.submit_records(RecordBatch(session, entities=ended), "run")
        if cluster_is_gone:
            self.writer.end_session(session, ended_ns)
        self.writer.flush(_END_S)
        self.records.forget(session)
