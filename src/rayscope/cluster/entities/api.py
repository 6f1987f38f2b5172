"""Routes for actors, nodes, workers, jobs and placement groups: a list and a single entity of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import Response

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Cursor, Limit, Session, filters_of
from rayscope.api.responses import answer
from rayscope.api.routes import Router
from rayscope.cluster.deaths.find import causes_of, find_deaths
from rayscope.cluster.entities.schemas import SHAPES, Actor, Job, RecordedNode, Worker
from rayscope.cluster.jobs import sql as jobs_sql
from rayscope.cluster.logs import sql as logs_sql
from rayscope.cluster.logs.files import CurrentLogs, Logs
from rayscope.cluster.nodes import usage as nodes_usage
from rayscope.cluster.nodes.api import node_detail
from rayscope.cluster.nodes.usage import CurrentNodeUsage, NodeUsage
from rayscope.cluster.placement import gpu_use_sql
from rayscope.cluster.placement import sql as placement_sql
from rayscope.cluster.placement.gpus_sql import gpus_of_actors
from rayscope.cluster.placement.schemas import Activity
from rayscope.cluster.recording.transport import lane_of
from rayscope.model import Kind
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import entities

AtLeast = Annotated[
    str | None,
    Query(max_length=500, description="NAME:NUMBER,...: min utilization of nodes and workers."),
]
Filters = Annotated[entities.EntityFilters, filters_of(entities.EntityFilters, at_least=AtLeast)]
Internal = Annotated[bool, Query(description="Include Ray internals (is_internal).")]

router = Router()


def _add_lane(catalog: Catalog, session: str, row: RecordedNode) -> None:
    """Add the transport of a node's events."""
    row["lane"], row["lane_code"], row["lane_reason"] = lane_of(catalog.about(session), row["node_id"])


def _add_tasks(records: SessionReader, session: str, rows: list[Job]) -> None:
    """Add to each job its attempt counts by state, and how many attempts libraries stopped on purpose."""
    jobs = records.read_cached(session, "tasks by job", jobs_sql.tasks_by_job)
    failed = any("FAILED" in states for states in jobs.values())
    stopped = records.read_cached(session, "stopped by job", jobs_sql.stopped_by_job) if failed else {}
    for row in rows:
        row["tasks"] = jobs.get(row["job_id"], {})
        row["stopped_by_libraries"] = stopped.get(row["job_id"], 0)


def _add_names(records: SessionReader, session: str, rows: list[Worker]) -> None:
    """Add what users know workers by (an actor, functions, a script), and the workers' current activity."""
    ids = [row["worker_id"] for row in rows]
    names, scripts = records.read(session, lambda file: logs_sql.names_of_writers(file, ids))
    at_ns = records.last_ns(session)
    alive = [row["worker_id"] for row in rows if row["state"] != "DEAD"]
    idle: Activity = {"running": 0, "blocked": 0, "attempts": [], "gpus": []}
    activity: dict[str, Any] = (
        records.read(session, lambda file: placement_sql.read_activity(file, alive, at_ns))
        if alive and records.is_live(session)
        else {}
    )
    for row in rows:
        name = names[row["worker_id"]]
        row["actor_class"] = name["actor_class"]
        row["actor_name"] = name["actor_name"]
        row["functions"] = name["functions"]
        row["functions_total"] = name["functions_total"]
        row["job_id"] = name["job_id"]
        row["script"] = scripts.get(row["job_id"] or "")
        present = activity.get(row["worker_id"], idle)
        row["running"], row["blocked"] = present["running"], present["blocked"]
        row["attempts"], row["gpus"] = present["attempts"], present["gpus"]


def _add_gpus(records: SessionReader, session: str, rows: list[Actor]) -> None:
    """Add the GPUs of actors, and their use."""
    last_ns = records.last_ns(session)

    def look(file: SessionFile) -> dict[str, list[Any]]:
        with file.reader() as reader:
            gpu_use_sql.add_to_actors(reader, rows, last_ns)
            return gpus_of_actors(reader, [row["actor_id"] for row in rows])

    gpus = records.read(session, look)
    for row in rows:
        row["gpus"] = gpus.get(row["actor_id"], [])


def _add_causes(file: SessionFile, logs: Logs, session: str, history: list[dict[str, Any]]) -> None:
    """Add to each restart of an actor why its previous worker ended, step by step."""
    restarts = [step for step in history if "ended_worker_id" in step]
    deaths = find_deaths(file, logs, session, [("worker", step["ended_worker_id"]) for step in restarts])
    for step in restarts:
        step["causes"] = causes_of(deaths.get(("worker", step["ended_worker_id"])))


def _complete(
    kind: Kind, catalog: Catalog, records: SessionReader, usages: NodeUsage, session: str, rows: list[Any]
) -> None:
    """Add to listed entities the fields that are not in their table."""
    if kind == "node":
        usage = usages.usage(session)
        for row in rows:
            _add_lane(catalog, session, row)
            nodes_usage.fold_measurements(row, usage)
    elif kind == "worker":
        _add_names(records, session, rows)
    elif kind == "actor":
        _add_gpus(records, session, rows)
    elif kind == "job":
        _add_tasks(records, session, rows)


def _complete_one(
    kind: Kind, catalog: Catalog, records: SessionReader, usages: NodeUsage, session: str, row: Any
) -> None:
    """Add to an entity's details the fields that are not in its table."""
    if kind == "node":
        _add_lane(catalog, session, row)
        row.update(node_detail(records, usages, session, row))
        return
    _complete(kind, catalog, records, usages, session, [row])
    if kind == "worker":
        row.update(nodes_usage.worker_figures(usages.usage(session), row))


def _add_entity(kind: Kind, path: str) -> None:
    what = path.replace("-", " ")

    def list_all(
        catalog: CurrentCatalog,
        records: CurrentRecords,
        usages: CurrentNodeUsage,
        filters: Filters,
        session: Session = None,
        internal: Internal = False,
        sort: Annotated[str | None, Query(max_length=60)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Response:
        chosen = records.resolve(session)
        beside = None
        if kind == "node":
            beside = usages.beside_nodes(chosen)
        if kind == "worker":
            beside = usages.beside_workers(chosen)
        page = records.read(
            chosen,
            lambda file: entities.list_entities(
                file, kind, filters, sort=sort, limit=limit, cursor=cursor, extra=beside, internal=internal
            ),
        )
        _complete(kind, catalog, records, usages, chosen, page.items)
        return answer(
            {
                "items": page.items,
                "next": page.next,
                "total": page.total,
                "internal_hidden": page.internal_hidden,
                "dropped": records.dropped(chosen),
            }
        )

    def get(
        catalog: CurrentCatalog,
        records: CurrentRecords,
        usages: CurrentNodeUsage,
        logs: CurrentLogs,
        entity_id: str = Path(alias=f"{kind}_id"),
        session: Session = None,
    ) -> Response:
        chosen = records.resolve(session)

        def look(file: SessionFile) -> Any:
            found = entities.get_entity(file, kind, entity_id)
            if kind == "actor":
                _add_causes(file, logs, chosen, found["history"])
            return found

        row = records.read(chosen, look)
        _complete_one(kind, catalog, records, usages, chosen, row)
        return answer(row)

    page_shape, shape = SHAPES[kind]
    routes: tuple[tuple[str, str, Callable[..., Response], str, type], ...] = (
        (f"/api/v1/{path}", "many", list_all, f"A page of {what}.", page_shape),
        (f"/api/v1/{path}/{{{kind}_id}}", "one", get, f"One of the {what}.", shape),
    )
    for route, operation, function, description, model in routes:
        router.add_api_route(
            route,
            function,
            methods=["GET"],
            description=description,
            operation_id=f"{kind}_{operation}",
            responses={200: {"model": model}},
        )


_add_entity("actor", "actors")
_add_entity("node", "nodes")
_add_entity("worker", "workers")
_add_entity("job", "jobs")
_add_entity("placement_group", "placement-groups")
