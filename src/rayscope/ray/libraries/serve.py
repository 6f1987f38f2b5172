"""Ray Serve's applications, deployments, replicas, proxies and controller, from ``/api/serve/applications/``.

The response depends on Ray's version: topology, dead replicas, and the controller's health were added over
time. Missing values are treated as unknown, fields of a wrong type are dropped, and long lists are cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rayscope.model import Entity, Kind
from rayscope.model.entity import Value
from rayscope.ray.common import clean_error, redact_runtime_env
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.libraries.values import TIMEOUT_S, is_number, rows, seconds_to_ns, text, whole
from rayscope.ray.protobuf import known

#: Namespace and name of Serve's controller. (Proxies and replicas are named actors, too.)
ACTOR = ("serve", "SERVE_CONTROLLER_ACTOR")
#: Kind -> the state recorded for entities that the controller no longer lists.
REMOVED_STATES: Mapping[Kind, str] = {
    "serve_application": "DELETED",
    "serve_deployment": "DELETED",
    "serve_replica": "STOPPED",
    "serve_proxy": "STOPPED",
    "serve_controller": "STOPPED",
}
_MAX_ENTITIES = 50_000
#: Maximum number of other deployments recorded that a deployment calls.
_MAX_CALLS = 200
#: Maximum number of decisions of a deployment's autoscaler to keep. The newest ones are kept.
_MAX_DECISIONS = 50
#: Maximum number of characters in a JSON document. Longer ones are dropped, because a record would cut them,
#: which makes the JSON invalid.
_MAX_DOCUMENT = 32_000
_MAX_REASON = 1_000
#: Values that show whether the controller keeps up. Counters are not included, because they would make every
#: reading a new state.
_HEALTH = ("loops_per_second", "event_loop_delay_s", "num_asyncio_tasks", "process_memory_mb")
_HEALTH_MEANS = (
    "loop_duration_s",
    "deployment_state_update_duration_s",
    "application_state_update_duration_s",
    "proxy_state_update_duration_s",
    "node_update_duration_s",
    "handle_metrics_delay_ms",
    "replica_metrics_delay_ms",
)


def read(dashboard: Dashboard, client: GcsClient, now_ns: int) -> list[Entity]:
    """All entities that Serve's controller lists. Raises DashboardError."""
    answer = dashboard.get("/api/serve/applications/", TIMEOUT_S)
    if not isinstance(answer, dict) or not isinstance(answer.get("applications"), dict):
        raise dashboard.unexpected("no applications")
    controller = answer.get("controller_info")
    if not isinstance(controller, dict) or not text(controller.get("actor_id")):
        # The dashboard could not reach the controller, so an empty list does not mean that nothing exists.
        raise dashboard.unexpected("that Serve is not running, although its controller is")
    return list(islice(_entities(answer, controller, now_ns), _MAX_ENTITIES))


def reason(entity: Entity) -> dict[str, Value]:
    """Serve's message about the current state of an entity."""
    trigger, message = (entity.observed.get(name) for name in ("status_trigger", "message"))
    if entity.observed.get("state") in REMOVED_STATES.values():
        return {}  # the known message belongs to the previous state
    said = str(message or "")
    # The error is at the end of a traceback.
    said = said if len(said) <= _MAX_REASON else "…" + said[1 - _MAX_REASON :]
    return known({"trigger": trigger, "reason": said})


def _entities(answer: Mapping[str, Any], controller: Mapping[str, Any], now_ns: int) -> Iterator[Entity]:
    health = answer.get("controller_health_metrics")
    health = health if isinstance(health, dict) else {}
    yield Entity(
        "serve_controller",
        str(controller["actor_id"]),
        {},
        {},
        now_ns,
        known(
            {
                **_where(controller),
                "state": "RUNNING",
                "proxy_location": text(answer.get("proxy_location")),
                "http_options": _document(answer.get("http_options")),
                "grpc_options": _document(answer.get("grpc_options")),
                "health": _health(health),
                "start_ns": seconds_to_ns(health.get("controller_start_time")),
            }
        ),
    )
    for node_id, proxy in _named(answer.get("proxies")):
        observed = {
            **_where(proxy),
            "state": text(proxy.get("status")),
            "actor_id": text(proxy.get("actor_id")),
        }
        observed.pop("node_id")
        yield Entity("serve_proxy", node_id, {}, {}, now_ns, known(observed))
    for name, application in _named(answer["applications"]):
        yield from _application(name, application, now_ns)


def _application(name: str, row: Mapping[str, Any], now_ns: int) -> Iterator[Entity]:
    observed = {
        "state": text(row.get("status")),
        "message": clean_error(text(row.get("message")) or ""),
        "route_prefix": text(row.get("route_prefix")),
        "docs_path": text(row.get("docs_path")),
        "source": text(row.get("source")),
        "deployed_ns": seconds_to_ns(row.get("last_deployed_time_s")),
        "config": _document(row.get("deployed_app_config")),
    }
    yield Entity("serve_application", name, {"name": name}, {}, now_ns, known(observed))
    topology = row.get("deployment_topology")
    nodes = dict(_named(topology.get("nodes"))) if isinstance(topology, dict) else {}
    for deployment, detail in _named(row.get("deployments")):
        yield from _deployment(name, deployment, detail, nodes.get(deployment, {}), now_ns)


def _deployment(
    application: str, name: str, row: Mapping[str, Any], node: Mapping[str, Any], now_ns: int
) -> Iterator[Entity]:
    is_ingress = node.get("is_ingress")
    observed = {
        "state": text(row.get("status")),
        "status_trigger": text(row.get("status_trigger")),
        "message": clean_error(text(row.get("message")) or ""),
        "target_replicas": whole(row.get("target_num_replicas")),
        "is_ingress": is_ingress if isinstance(is_ingress, bool) else None,
        "calls": _calls(node.get("outbound_deployments")),
        "required_resources": _document(row.get("required_resources")),
        "config": _document(row.get("deployment_config")),
        "autoscaling": _autoscaling(row.get("autoscaling_detail")),
    }
    fields: dict[str, Value] = {"name": name, "application": application}
    yield Entity("serve_deployment", f"{application}#{name}", fields, {}, now_ns, known(observed))
    seen: set[str] = set()
    for is_dead, key in ((False, "replicas"), (True, "recent_dead_replicas")):
        for replica in rows(row.get(key)):
            identity = text(replica.get("replica_id"))
            if identity is None or identity in seen:
                continue
            seen.add(identity)
            replica_state = {
                **_where(replica),
                "state": "STOPPED" if is_dead else text(replica.get("state")),
                "pid": whole(replica.get("pid")),
                "start_ns": seconds_to_ns(replica.get("start_time_s")),
                "actor_id": text(replica.get("actor_id")),
            }
            yield Entity(
                "serve_replica",
                f"{application}#{name}#{identity}",
                {"name": identity, "application": application, "deployment": name},
                {},
                now_ns,
                known(replica_state),
            )


def _where(row: Mapping[str, Any]) -> dict[str, Value | None]:
    """Location of one of Serve's actors. The path of its log is relative to the session's log folder."""
    path = text(row.get("log_file_path"))
    return {
        "node_id": text(row.get("node_id")),
        "node_ip": text(row.get("node_ip")),
        "worker_id": text(row.get("worker_id")),
        "log_file": path.lstrip("/") if path else None,
    }


def _calls(outbound: Any) -> str | None:
    """JSON list of the deployments that a deployment calls, or None if Ray does not report them."""
    if not isinstance(outbound, list):
        return None
    called = [(text(one.get("app_name")), text(one.get("name"))) for one in rows(outbound)]
    found = {f"{application}#{name}" for application, name in called if application and name}
    ids = json.dumps(sorted(found)[:_MAX_CALLS])
    return ids if len(ids) <= _MAX_DOCUMENT else None


def _autoscaling(detail: Any) -> str | None:
    """The state of a deployment's autoscaler, with its newest decisions."""
    if not isinstance(detail, dict):
        return None
    decisions = detail.get("decisions")
    newest = decisions[-_MAX_DECISIONS:] if isinstance(decisions, list) else []
    return _document({**detail, "decisions": newest})


def _health(health: Mapping[str, Any]) -> str | None:
    """Health of the controller as JSON. Values are rounded to two significant digits, so that not every
    reading is a change.
    """
    found = {name: _two_digits(health.get(name)) for name in _HEALTH}
    for name in _HEALTH_MEANS:
        figures = health.get(name)
        for which in ("mean", "max"):
            found[f"{name}_{which}"] = _two_digits(figures.get(which)) if isinstance(figures, dict) else None
    known_figures = {name: value for name, value in found.items() if value is not None}
    return json.dumps(known_figures) if known_figures else None


def _two_digits(value: Any) -> float | None:
    return float(f"{value:.2g}") if is_number(value) else None


def _document(value: Any) -> str | None:
    """A part of the response as JSON without secrets, or None if it is empty."""
    if not isinstance(value, dict | list) or not value:
        return None
    try:
        document = redact_runtime_env(json.dumps(value if isinstance(value, dict) else {"items": value}))
    except RecursionError:
        return None
    if document is not None and len(document) > _MAX_DOCUMENT:
        return json.dumps({"left_out": f"{len(document)} characters"})
    return document


def _named(objects: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, row in objects.items() if isinstance(objects, dict) else ():
        if name and isinstance(row, dict):
            yield name, row
