"""Creates a server's services, starts them, and stops them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from rayscope.alerts import topics as alerts_topics
from rayscope.alerts.service import AlertService
from rayscope.api.security import RefusedBodies, Secrets
from rayscope.archive.session_files import SessionFiles
from rayscope.cluster.debugger import topics as debugger_topics
from rayscope.cluster.debugger.debuggees import Debuggees
from rayscope.cluster.jobs import topics as jobs_topics
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.cluster.logs.files import Logs
from rayscope.cluster.logs.program_output import ProgramOutputs
from rayscope.cluster.logs.search import Searches
from rayscope.cluster.nodes import topics as nodes_topics
from rayscope.cluster.nodes.usage import NodeUsage
from rayscope.cluster.objects.readings import LastReadings
from rayscope.cluster.objects.references import ObjectReferences
from rayscope.cluster.sessions import topics as sessions_topics
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
from rayscope.periodic import PeriodicTask
from rayscope.records.reader import SessionReader
from rayscope.records.rollups import Rollups
from rayscope.runs.collector import RunCollector
from rayscope.runs.exchange import RunExchange
from rayscope.runs.service import Runs
from rayscope.runs.summary import RunSummary
from rayscope.server import memory
from rayscope.server.deletion import Deletion
from rayscope.server.health import Health, read_details
from rayscope.server.push.realtime import Realtime
from rayscope.server.services import Services
from rayscope.settings import Settings, ingest_key, operator_token, server_name
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import StoreError
from rayscope.storage.spool import Spool
from rayscope.storage.sql.filters import TaskFilters
from rayscope.user_sql.run import SqlRunner
from rayscope.views.critical_path.read import read_ns_by_task
from rayscope.views.profiles.profiler import Profiler
from rayscope.views.stack.sampling import Dumps

if TYPE_CHECKING:
    from rayscope.archive.service import ArchiveService
    from rayscope.views.export.sender import TraceSender
    from rayscope.warehouse.service import WarehouseService

log = logging.getLogger("rayscope.server")

#: Interval between searches for clusters, in seconds.
_WATCH_S = 3.0
#: The clusters of quiet sessions are looked for only once in this many intervals.
_QUIET_TURNS = 5
#: Interval at which free memory is returned to the system, in seconds.
_RELEASE_S = 60.0


def create_services(settings: Settings, *, read_only: bool = False) -> Services:
    """Return the services for a data directory, not started yet. Raises OSError and StoreError.

    With ``read_only``, records are only read, and the services must not be started.
    """
    folder = settings.folder
    folder.mkdir(parents=True, exist_ok=True)
    catalog = Catalog(folder, memory_limit=settings.memory_limit, read_only=read_only)
    spool = _create_spool(settings)
    retention = Retention(settings.max_age_days * 86400, settings.max_bytes, settings.max_sessions)
    writer = Writer(catalog, spool, retention, in_use=lambda: clusters.in_use())
    records = SessionReader(catalog, writer.flush_for_reader, lambda session: clusters.is_live(session))
    clusters = Clusters(catalog, writer, records)
    warehouse = None
    if settings.warehouse:
        warehouse = _create_warehouse(
            settings, catalog, writer, clusters, lambda session: deletion.delete_here(session)
        )
    is_keeper = warehouse.is_keeper if warehouse is not None else _is_alone
    archive = _create_archive(settings, catalog, clusters, is_keeper) if settings.archive else None
    catalog.remotes = [place for place in (archive, warehouse) if place is not None]
    logs = Logs(settings, catalog, records, clusters)
    archiver = LogArchiver(settings, catalog, records, clusters, logs)
    readings = LastReadings(catalog, clusters)
    realtime = Realtime(settings.push_interval_s, records.resolve)
    metrics = Metrics(
        settings, catalog, records, clusters, writer, spool, lambda: realtime.stats()["clients"]
    )

    node_usage = NodeUsage(records, clusters, metrics)
    objects = ObjectReferences(records, clusters, readings)
    catalog.on_remove += [logs.forget_session, objects.forget]
    runs = Runs(folder / "runs" / "runs.sqlite", catalog, records, settings.max_runs, read_only=read_only)
    if warehouse is not None:
        warehouse.exchanges.append(RunExchange(runs.store, settings.max_runs))
    deletion = Deletion(records, writer, metrics, runs, archive, warehouse)
    findings = LiveFindings(records, metrics, read_ns_by_task)
    profiler = Profiler(records, writer, clusters)
    metrics.register("insights", findings.collector)
    metrics.register("runs", RunCollector(runs).collector)

    services = Services(
        settings=settings,
        secrets=Secrets(ingest_key(settings), operator_token(folder)),
        refused_bodies=RefusedBodies(),
        catalog=catalog,
        spool=spool,
        writer=writer,
        records=records,
        clusters=clusters,
        agent_reports=AgentReports(catalog, writer, clusters),
        rollups=Rollups(records),
        runs=runs,
        ended_jobs=EndedJobs(runs.outcomes, runs.slower),
        sql=_create_sql_runner(settings),
        realtime=realtime,
        logs=logs,
        log_archiver=archiver,
        objects=objects,
        object_readings=readings,
        findings=findings,
        metrics=metrics,
        node_usage=node_usage,
        alerts=_create_alerts(
            settings, catalog, records, clusters, metrics, profiler, is_keeper, lambda: services.url
        ),
        bodies=Bodies(settings.max_batch_bytes),
        dumps=Dumps(),
        profiler=profiler,
        debuggees=Debuggees(settings.debugger_limit_s if settings.debugger else None),
        replays=Replays(),
        searches=Searches(logs),
        dashboards=Dashboards(folder / "dashboards"),
        health=Health(partial(read_details, folder, catalog, writer, archive, warehouse)),
        deletion=deletion,
        archive=archive,
        warehouse=warehouse,
        trace_sender=None if read_only else _create_trace_sender(settings, catalog, runs, is_keeper),
        session_files=SessionFiles(
            catalog, folder / "session-files", settings.min_free_bytes, records.is_live
        ),
        session_ends=SessionEnds(
            catalog,
            writer,
            records,
            clusters,
            at_end=[lambda session, _: readings.keep(session), archiver.archive_now],
        ),
        program_outputs=ProgramOutputs(settings, records, logs, archiver),
        url=settings.external_url,
    )
    _provide_topics(services)
    return services


def _create_spool(settings: Settings) -> Spool:
    return Spool(
        settings.folder / "spool",
        max_bytes=settings.max_spool_bytes,
        min_free_bytes=settings.min_free_bytes,
        fsync=settings.fsync,
    )


def _create_sql_runner(settings: Settings) -> SqlRunner:
    return SqlRunner(
        settings.folder / "sql",
        memory_limit=settings.memory_limit,
        timeout_s=settings.sql_timeout_s,
        min_free_bytes=settings.min_free_bytes,
    )


def _create_alerts(
    settings: Settings,
    catalog: Catalog,
    records: SessionReader,
    clusters: Clusters,
    metrics: Metrics,
    profiler: Profiler,
    is_keeper: Callable[[str | None], bool],
    server_url: Callable[[], str | None],
) -> AlertService:
    def link(session: str) -> str | None:
        url = server_url()
        return f"{url}/s/{quote(session)}/alerts" if url else None

    def profile(session: str, filters: TaskFilters, seconds: int, rule: str) -> str:
        return profiler.start(session, filters, seconds, native=False, taken_by=rule)["profile_id"]

    return AlertService(
        settings.folder / "alerts",
        live=lambda: [name for name in records.live_here() if is_keeper(name)],
        store=metrics.store,
        home=lambda session: catalog.path(records.resolve(session)).parent,
        has_ended=lambda session: not records.is_live(session),
        is_lost=clusters.is_lost,
        link=link,
        url=lambda: server_url() or "",
        profile=profile,
        language=settings.language,
    )


def _provide_topics(services: Services) -> None:
    catalog, records, clusters = services.catalog, services.records, services.clusters
    alerts, metrics, usage = services.alerts, services.metrics, services.node_usage
    provide = services.realtime.provide
    provide("cluster", lambda session, _: sessions_topics.cluster(catalog, records, clusters, session))
    provide("tasks", lambda session, _: sessions_topics.tasks(catalog, records, session))
    provide("actors", lambda session, _: sessions_topics.actors(records, session))
    provide("alerts", lambda session, _: alerts_topics.alerts(records, alerts, session))
    provide("metrics", lambda session, _: nodes_topics.headline(records, metrics, usage, session))
    debuggees = services.debuggees
    provide("debugger", lambda session, _: debugger_topics.debugger(records, debuggees, clusters, session))
    provide("job", lambda session, params: jobs_topics.job(records, session, params))


def _is_alone(_: str | None) -> bool:
    """Return true: without a warehouse, this is the only server, so it does all shared work itself."""
    return True


def _create_trace_sender(
    settings: Settings, catalog: Catalog, runs: Runs, is_keeper: Callable[[str | None], bool]
) -> TraceSender | None:
    if not settings.otlp_endpoint:
        return None
    # They are imported here so that they are absent from a server that sends no traces.
    from rayscope.views.export.collector import CollectorError
    from rayscope.views.export.sender import EndedJob, TraceSender

    def end_ns(run: RunSummary) -> int:
        """When a job ended. If its cluster was lost, that is when its session did."""
        if run.end_ns is not None:
            return run.end_ns
        about = catalog.about(run.session)
        return about.ended_ns or about.last_ns

    def ended() -> list[EndedJob]:
        here, complete = set(catalog.names()), runs.store.complete
        return [
            EndedJob(run.session, run.job_id, end_ns(run))
            for run, _ in runs.runs()
            if run.session in here
            and (run.end_ns is not None or run.session in complete)
            and is_keeper(run.session)
        ]

    try:
        return TraceSender(settings.otlp_endpoint, settings.folder / "traces" / "sent", catalog, ended)
    except CollectorError as error:
        raise StoreError(error.message, error.remedy) from error


def _create_archive(
    settings: Settings, catalog: Catalog, clusters: Clusters, is_keeper: Callable[[str | None], bool]
) -> ArchiveService:
    # Imported here because the libraries of three clouds take a while to load.
    from rayscope.archive.location import Location
    from rayscope.archive.service import ArchiveService

    return ArchiveService(
        Location(settings.archive or ""),
        catalog,
        clusters.is_live,
        settings.folder / "archive",
        after_s=settings.archive_after_min * 60,
        max_age_days=settings.archive_max_age_days,
        min_free_bytes=settings.min_free_bytes,
        is_keeper=is_keeper,
    )


def _create_warehouse(
    settings: Settings,
    catalog: Catalog,
    writer: Writer,
    clusters: Clusters,
    delete: Callable[[str], bool],
) -> WarehouseService:
    # Imported here because its libraries are an optional extra.
    from rayscope.warehouse.service import WarehouseService

    folder = settings.folder
    return WarehouseService(
        settings.warehouse or "",
        server_name(folder),
        catalog,
        writer,
        is_live=clusters.is_live,
        polled=clusters.in_use,
        delete=delete,
        position=folder / "warehouse-deletions",
        work=folder / "warehouse",
        memory_limit=settings.memory_limit,
        max_age_days=settings.warehouse_max_age_days,
    )


class Lifecycle:
    """Starts all services once, and stops them once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._turns = itertools.count()
        self._watch = PeriodicTask("rayscope-watch", _WATCH_S, self._look_for_clusters)
        self._release = PeriodicTask("rayscope-memory", _RELEASE_S, self._release_memory)

    def start(self) -> None:
        """Replay the spool, and start all services and the search for the clusters of live sessions."""
        services = self._services
        memory.limit_growth()
        services.writer.start()
        self._watch.start()
        self._release.start()
        services.log_archiver.start()
        services.object_readings.start()
        services.metrics.start()
        services.findings.start()
        services.alerts.start()
        services.rollups.start()
        services.runs.start()
        if services.trace_sender is not None:
            services.trace_sender.start()
        if services.archive is not None:
            services.archive.start()
        if services.warehouse is not None:
            services.warehouse.start(services.url)

    def stop(self) -> None:
        """Stop all services. Writes what is still in memory."""
        services = self._services
        self._release.stop()
        services.sql.close()
        if services.warehouse is not None:
            services.warehouse.stop()
        if services.archive is not None:
            services.archive.stop()
        if services.trace_sender is not None:
            services.trace_sender.stop()
        services.runs.stop()
        services.rollups.stop()
        services.alerts.stop()
        services.findings.stop()
        services.metrics.stop()
        services.log_archiver.stop()
        services.object_readings.stop()
        services.logs.stop()
        self._watch.stop()  # before the clusters end, because it may be starting one
        services.profiler.stop()
        services.objects.stop()
        services.clusters.stop()
        services.realtime.close()
        services.agent_reports.save()
        services.writer.stop()
        memory.lift_limits()

    def _release_memory(self) -> None:
        """Return memory to the system that is free, or holds results that were not used for a while."""
        self._services.records.drop_unused()
        memory.release()

    def _look_for_clusters(self) -> None:
        """Find the GCS of sessions that send events, and stop the pollers of clusters that are gone."""
        try:
            self._services.agent_reports.save()
            self._services.clusters.look(quiet_too=next(self._turns) % _QUIET_TURNS == 0)
        except (OSError, StoreError) as error:  # such as when retention has just deleted a session
            log.info("looking for clusters: %s", error)
