"""The components of a running server, created by :mod:`rayscope.server.lifecycle`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rayscope.alerts.service import AlertService
from rayscope.api.security import RefusedBodies, Secrets
from rayscope.archive.session_files import SessionFiles
from rayscope.cluster.debugger.debuggees import Debuggees
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.cluster.logs.files import Logs
from rayscope.cluster.logs.program_output import ProgramOutputs
from rayscope.cluster.logs.search import Searches
from rayscope.cluster.nodes.usage import NodeUsage
from rayscope.cluster.objects.readings import LastReadings
from rayscope.cluster.objects.references import ObjectReferences
from rayscope.cluster.sessions.ended_jobs import EndedJobs
from rayscope.ingest.agent_reports import AgentReports
from rayscope.ingest.bodies import Bodies
from rayscope.ingest.clusters import Clusters
from rayscope.ingest.session_end import SessionEnds
from rayscope.ingest.writer import Writer
from rayscope.insights.live import LiveFindings
from rayscope.insights.replays import Replays
from rayscope.metrics.dashboards import Dashboards
from rayscope.metrics.service import Metrics
from rayscope.records.reader import SessionReader
from rayscope.records.rollups import Rollups
from rayscope.runs.service import Runs
from rayscope.server.deletion import Deletion
from rayscope.server.health import Health
from rayscope.server.push.realtime import Realtime
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
from rayscope.storage.spool import Spool
from rayscope.user_sql.run import SqlRunner
from rayscope.views.profiles.profiler import Profiler
from rayscope.views.stack.sampling import Dumps

if TYPE_CHECKING:
    from rayscope.archive.service import ArchiveService
    from rayscope.views.export.sender import TraceSender
    from rayscope.warehouse.service import WarehouseService


@dataclass
class Services:
    """All services behind the routes."""

    settings: Settings
    secrets: Secrets
    refused_bodies: RefusedBodies
    catalog: Catalog
    spool: Spool
    writer: Writer
    records: SessionReader
    clusters: Clusters
    agent_reports: AgentReports
    rollups: Rollups
    runs: Runs
    ended_jobs: EndedJobs
    #: Runs users' SQL.
    sql: SqlRunner
    realtime: Realtime
    logs: Logs
    log_archiver: LogArchiver
    objects: ObjectReferences
    #: The last readings of object references, used once a session's cluster is gone.
    object_readings: LastReadings
    findings: LiveFindings
    metrics: Metrics
    node_usage: NodeUsage
    alerts: AlertService
    #: Batches that are still being received.
    bodies: Bodies
    #: Python stacks of live workers.
    dumps: Dumps
    profiler: Profiler
    #: Processes that wait for a debugger.
    debuggees: Debuggees
    replays: Replays
    searches: Searches
    dashboards: Dashboards
    health: Health
    deletion: Deletion
    #: None if no archive is configured.
    archive: ArchiveService | None
    warehouse: WarehouseService | None
    #: None if no collector is configured.
    trace_sender: TraceSender | None
    session_files: SessionFiles
    session_ends: SessionEnds
    program_outputs: ProgramOutputs
    #: Address of this server, once it is known.
    url: str
