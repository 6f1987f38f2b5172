"""The routes that only the front end of Ray's dashboard asks, answered from the record.

Dead nodes show what was last measured. Unknown values are missing, or null where the front end needs a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from fastapi import Request
from fastapi.responses import Response

from rayscope.api.parameters import CurrentCatalog, CurrentRecords
from rayscope.api.responses import answer, answer_from_record
from rayscope.cluster.nodes import sql as nodes_sql
from rayscope.cluster.nodes.usage import CurrentNodeUsage, NodeUsage
from rayscope.ray_api import libraries, status
from rayscope.ray_api.actors import read_actors
from rayscope.ray_api.events import read_events, read_platform_events
from rayscope.ray_api.nodes import Node, describe, describe_workers, read_nodes
from rayscope.ray_api.routes import RayRouter, Session, send
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.slots import Slots

_LISTS = Slots(4, "4 lists are already being sent.", waiting=8, wait_s=10.0)
#: Maximum number of actors in an answer about a node. The newest are returned.
_MAX_NODE_ACTORS = 2_000

router = RayRouter()


def _get(path: str) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    return router.answer(path, at_root=False)


def _reply(message: str, data: dict[str, Any], *, result: bool = True) -> dict[str, Any]:
    return {"result": result, "msg": message, "data": data}


def _fixed(path: str, body: dict[str, Any]) -> None:
    """Add a route whose answer is the same for all sessions."""

    @_get(path)
    def fixed(session: Session) -> Response:
        return answer(body)


# Grafana and Prometheus are absent. Ray's status for that, 500, would be an error in the browser's console.
_fixed("/api/grafana_health", _reply("Grafana disabled", {"grafanaHost": "DISABLED"}))
_fixed("/api/prometheus_health", _reply("prometheus healthcheck failed.", {}, result=False))
_fixed("/api/profiling_enabled", _reply("", {"profilingEnabled": False, "profilingDefaults": {}}))
_fixed("/api/v0/runtime_env_redaction", _reply("", {"redactionEnabled": True}))
_fixed(
    "/usage_stats_enabled",
    _reply("Fetched usage stats enabled", {"usageStatsEnabled": False, "usageStatsPromptEnabled": False}),
)
#: The browser is already signed in to Rayscope.
_fixed("/api/authentication_mode", {"authentication_mode": "disabled"})
#: The time zone of the cluster is not recorded. The front end uses that of the browser.
_fixed("/timezone", {"offset": None, "value": None})


@_get("/api/v0/cluster_metadata")
def cluster_metadata(catalog: CurrentCatalog, session: Session) -> Response:
    """The version of Ray."""
    version = catalog.about(session).ray_version
    return answer(_reply("", {"rayVersion": version, "pythonVersion": None, "sessionId": session}))


def _read(records: SessionReader, usages: NodeUsage, session: str, node_id: str | None = None) -> list[Node]:
    usage, (resources, _) = usages.usage(session), usages.resources(session)

    def look(file: SessionFile) -> list[Node]:
        return read_nodes(file, nodes_sql.workers_alive(file), usage, resources, node_id)

    return records.read(session, look)


@_get("/nodes")
def nodes(records: CurrentRecords, usages: CurrentNodeUsage, session: Session, view: str = "") -> Response:
    """All nodes."""
    found = _read(records, usages, session)
    if view.lower() == "hostnamelist":
        names = sorted({node.hostname for node in found if node.is_alive})
        return answer(_reply("Node hostname list fetched.", {"hostNameList": names}))
    if view != "summary":
        raise BadQuery(f"Unknown view {view[:80]!r}.", "Use summary or hostNameList.")
    free, _ = usages.resources(session)
    data = {
        "summary": [describe(node) for node in found],
        "nodeLogicalResources": status.logical_resources(free) if free is not None else {},
    }
    return answer(_reply("Node summary fetched.", data))


@_get("/nodes/{node_id}")
def node(records: CurrentRecords, usages: CurrentNodeUsage, session: Session, node_id: str) -> Response:
    """A node with its actors and processes. As in Ray, an unknown node has none."""
    found = _read(records, usages, session, node_id)

    def look(file: SessionFile) -> dict[str, Any]:
        with file.reader() as reader:
            actors = b"".join(read_actors(reader, node_id=node_id, limit=_MAX_NODE_ACTORS))
            workers = describe_workers(reader, found[0]) if found else []
        return {"actors": msgspec.Raw(actors), "workers": workers}

    detail: dict[str, Any] = describe(found[0]) if found else {"raylet": {}}
    return answer(_reply("Node details fetched.", {"detail": {**detail, **records.read(session, look)}}))


def _stream_actors(records: SessionReader, session: str, ids: list[str] | None) -> Response:
    def pieces() -> Iterator[bytes]:
        records.flush()
        with records.reading(session) as file, file.reader() as reader:
            yield b'{"result":true,"msg":"All actors fetched.","data":{"actors":'
            yield from read_actors(reader, ids=ids)
            yield b"}}"

    return send(_LISTS, pieces, "application/json")


@_get("/logical/actors")
def actors(records: CurrentRecords, session: Session, ids: str | None = None) -> Response:
    """All actors, or those with some IDs."""
    return _stream_actors(records, session, ids.split(",") if ids is not None else None)


@_get("/logical/actors/{actor_id}")
def actor(records: CurrentRecords, session: Session, actor_id: str) -> Response:
    """An actor. As in Ray, null if it is unknown."""

    def look(file: SessionFile) -> dict[str, Any]:
        with file.reader() as reader:
            found = msgspec.json.decode(b"".join(read_actors(reader, ids=[actor_id])))
        return _reply("Actor details fetched.", {"detail": found.get(actor_id)})

    return answer(records.read(session, look))


@_get("/api/cluster_status")
def cluster_status(
    records: CurrentRecords, usages: CurrentNodeUsage, session: Session, format: str = "0"
) -> Response:
    """The nodes and resources of the cluster, as text or as JSON."""
    free, _ = usages.resources(session)
    if format == "1":
        text = status.describe_status(free, records.last_ns(session))
        return answer(_reply("Got formatted cluster status.", {"clusterStatus": text}))
    data = {"autoscalingStatus": None, "autoscalingError": None, "clusterStatus": status.report(free)}
    return answer(_reply("Got cluster status.", data))


@_get("/events")
def events(
    records: CurrentRecords, session: Session, request: Request, job_id: str | None = None
) -> Response:
    """The newest events, by job or of one job."""

    def look(file: SessionFile) -> dict[str, Any]:
        by_job = read_events(file, job_id)
        if job_id is None:
            return _reply("All events fetched.", {"events": by_job})
        return _reply("Job events fetched.", {"jobId": job_id, "events": by_job.get(job_id, [])})

    return answer_from_record(records, session, request, look)


@_get("/api/v0/platform_events")
def platform_events(records: CurrentRecords, session: Session, request: Request) -> Response:
    """The newest platform events. Ray that does not collect them has status 404 instead of an empty list."""
    return answer_from_record(
        records,
        session,
        request,
        lambda file: _reply("Retrieved platform events", {"events": read_platform_events(file)}),
    )


@router.head("/ray/{session}/api/v0/platform_events")
def has_platform_events(session: Session) -> Response:
    """The front end asks this before it shows the page of these events."""
    return Response()


@_get("/api/serve/applications/")
def serve(records: CurrentRecords, session: Session, request: Request) -> Response:
    """The applications of Ray Serve."""
    return answer_from_record(records, session, request, libraries.serve)


@_get("/api/data/datasets/{job_id}")
def datasets(records: CurrentRecords, session: Session, request: Request, job_id: str) -> Response:
    """The datasets of a job."""
    return answer_from_record(records, session, request, lambda file: libraries.datasets(file, job_id))


@_get("/api/train/v2/runs/v1")
@_get("/api/train/v2/runs")
def train(records: CurrentRecords, session: Session, request: Request) -> Response:
    """The runs of Ray Train."""
    return answer_from_record(records, session, request, libraries.train)
