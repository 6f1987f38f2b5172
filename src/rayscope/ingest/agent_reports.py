"""Keeps the reports that the nodes' agents send about their recording, and records what they lost, which
processes ended, and how busy GPUs were.
"""

from __future__ import annotations

import contextlib
import threading

from rayscope.ingest.clusters import Clusters
from rayscope.ingest.writer import Writer
from rayscope.model import AgentReport, Entity, RecordBatch
from rayscope.storage.about import MAX_AGENTS
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import SpoolFull, StoreError


class AgentReports:
    """The reports of all sessions' agents."""

    def __init__(self, catalog: Catalog, writer: Writer, clusters: Clusters) -> None:
        self._catalog = catalog
        self._writer = writer
        self._clusters = clusters
        self._lock = threading.Lock()
        #: Sessions whose agents' reports have not been saved yet, and the recorded losses by (session, node).
        self._changed: set[str] = set()
        self._losses: dict[tuple[str, str], dict[tuple[str, str, str], int]] = {}

    def take(self, report: AgentReport) -> None:
        """Store an agent's report. Raises StoreError if its session is invalid, or SpoolFull if ends of
        processes or samples of GPUs cannot be stored now, so that the agent sends them again.
        """
        agents = self._catalog.add(report.session).agents
        entities = report.take_entities()
        known = agents.get(report.node_id)
        if known is None and len(agents) >= MAX_AGENTS:
            with self._lock:
                agents.pop(min(list(agents), key=lambda node: agents[node].time_ns), None)
        agents[report.node_id] = report
        if known is None or (known.lane, known.reason) != (report.lane, report.reason):
            self._changed.add(report.session)
        self._take_losses(report)
        if entities:
            self._submit(report.session, entities)

    def _submit(self, session: str, entities: list[Entity]) -> None:
        if (error := self._writer.error) is not None:
            raise SpoolFull(error.message, error.remedy)
        self._writer.submit_records(RecordBatch(session, entities=entities), "events")

    def _take_losses(self, report: AgentReport) -> None:
        """Record an agent's losses if their counts have changed.

        While the store fails, nothing is recorded, because a later report repeats the counts.
        """
        drops = report.drops()
        counts = {drop.key: drop.count for drop in drops}
        place = (report.session, report.node_id)
        if not drops or self._losses.get(place) == counts or self._writer.error is not None:
            return
        if len(self._losses) > MAX_AGENTS:
            self._losses.clear()  # recording the same loss again has no effect
        self._losses[place] = counts
        self._writer.submit_records(RecordBatch(report.session, drops=drops), "events")
        self._clusters.note_loss(report.session)

    def save(self) -> None:
        """Write changed reports to the sessions' folders."""
        while self._changed:
            with contextlib.suppress(StoreError):  # the session was just deleted by retention
                self._catalog.save_agents(self._changed.pop())
