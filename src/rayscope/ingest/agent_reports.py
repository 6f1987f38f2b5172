"""What the nodes' agents say of their part in the recording: kept, and what they lost recorded."""

from __future__ import annotations

import contextlib
import threading

from rayscope.ingest.clusters import Clusters
from rayscope.ingest.writer import Writer
from rayscope.model import AgentReport, RecordBatch
from rayscope.storage.about import MAX_AGENTS
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import StoreError


class AgentReports:
    """The agents' reports of all sessions."""

    def __init__(self, catalog: Catalog, writer: Writer, clusters: Clusters) -> None:
        self._catalog = catalog
        self._writer = writer
        self._clusters = clusters
        self._lock = threading.Lock()
        #: Sessions whose agents are to be saved; and by (session, node) what was recorded as lost.
        self._changed: set[str] = set()
        self._losses: dict[tuple[str, str], dict[tuple[str, str, str], int]] = {}

    def take(self, report: AgentReport) -> None:
        """Keep what a node's agent says of itself. Raises StoreError for what is no session."""
        agents = self._catalog.add(report.session).agents
        known = agents.get(report.node_id)
        if known is None and len(agents) >= MAX_AGENTS:
            with self._lock:
                agents.pop(min(list(agents), key=lambda node: agents[node].time_ns), None)
        agents[report.node_id] = report
        if known is None or (known.lane, known.reason) != (report.lane, report.reason):
            self._changed.add(report.session)
        self._take_losses(report)

    def _take_losses(self, report: AgentReport) -> None:
        """Record what an agent lost, once for each count; while the store fails, a later report will do."""
        drops = report.drops()
        counts = {drop.key: drop.count for drop in drops}
        place = (report.session, report.node_id)
        if not drops or self._losses.get(place) == counts or self._writer.error is not None:
            return
        if len(self._losses) > MAX_AGENTS:
            self._losses.clear()  # told again is told the same
        self._losses[place] = counts
        self._writer.submit_records(RecordBatch(report.session, drops=drops), "events")
        self._clusters.note_loss(report.session)

    def save(self) -> None:
        """Write those that have changed into the sessions' folders."""
        while self._changed:
            with contextlib.suppress(StoreError):  # a session that retention has just dropped
                self._catalog.save_agents(self._changed.pop())
