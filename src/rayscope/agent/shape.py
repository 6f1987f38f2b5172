"""Checks whether the event collector of this Ray has a known form.

Rayscope replaces two of its methods, so they are compared with those of tested versions: by signature and by
every name that their code uses. If they differ, Ray's own exporter stays in use.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from rayscope.agent.settings import EVENT_TYPES, EXPOSABLE_TYPES

# Names that the code of AggregatorAgent.AddEvents uses: those of Ray 2.50 to 2.53, and the additions of later
# versions.
_ADD_EVENTS = frozenset(
    (
        *("AddEventsReply", "Exception", "_common_tags", "_event_buffer", "_event_processing_enabled"),
        *("_events_failed_to_add_metric_name", "_events_received_metric_name", "add_event", "decode"),
        *("_open_telemetry_metric_recorder", "error", "event_id", "events", "events_data", "logger"),
        *("events_event_aggregator_service_pb2", "set_metric_value"),
    )
)
_TO_GCS = frozenset({"PUBLISH_EVENTS_TO_GCS", "_task_metadata_buffer", "merge", "task_events_metadata"})
_TO_HEAD = frozenset({"PUBLISH_TASK_EVENTS_TO_DASHBOARD_HEAD", "_dashboard_head_task_metadata_buffer"})
_RUN = frozenset(
    (
        *("_executor", "_http_endpoint_publisher", "add_EventAggregatorServiceServicer_to_server", "asyncio"),
        *("events_event_aggregator_service_pb2_grpc", "gather", "run_forever", "shutdown"),
    )
)
#: Names used by each of the two methods, by the first Ray version that uses them.
KNOWN: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "2.50": (_ADD_EVENTS, _RUN),
    "2.54": (_ADD_EVENTS | _TO_GCS, _RUN | {"_gcs_publisher"}),
    "2.58": (_ADD_EVENTS | _TO_GCS | _TO_HEAD, _RUN | {"_gcs_publisher", "_dashboard_head_publisher"}),
}
# Only some versions use ``len``, but the difference does not matter.
_IGNORED = frozenset({"len"})


def unknown(module: Any) -> str | None:
    """Return why the collector in ``module`` (Ray's ``aggregator_agent``) is not known, or None."""
    for check in (_methods, _publisher, _messages, _kinds):
        try:
            reason = check(module)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"it lacks something that all known versions have ({error})"
        if reason is not None:
            return reason
    return None


def _version() -> str:
    import ray

    return str(ray.__version__)


def _takes(function: Callable[..., Any], *parameters: str) -> bool:
    """Return whether ``function`` is a coroutine function with exactly these parameters."""
    return (
        inspect.iscoroutinefunction(function) and tuple(inspect.signature(function).parameters) == parameters
    )


def _begins(function: Callable[..., Any], *parameters: str) -> bool:
    """Return whether these are the first parameters of ``function``."""
    return tuple(inspect.signature(function).parameters)[: len(parameters)] == parameters


def _methods(module: Any) -> str | None:
    agent = module.AggregatorAgent
    if not (
        _takes(agent.AddEvents, "self", "request", "context")
        and _takes(agent.run, "self", "server")
        and _begins(agent.__init__, "self", "dashboard_agent")
    ):
        return f"the methods of Ray {_version()}'s AggregatorAgent have other signatures than those known"
    names = frozenset(agent.AddEvents.__code__.co_names) - _IGNORED
    run_names = frozenset(agent.run.__code__.co_names) - _IGNORED
    if (names, run_names) not in KNOWN.values():
        return f"Ray {_version()}'s AggregatorAgent works in another way than those known"
    return None


def _publisher(module: Any) -> str | None:
    publisher, client = module.RayEventPublisher, module.AsyncHttpPublisherClient
    if not (
        _takes(publisher.run_forever, "self")
        and _takes(publisher._async_publish_with_retries, "self", "batch")
        and _takes(client.publish, "self", "batch")
        and _begins(client.__init__, "self", "endpoint", "executor")
        and _begins(sys.modules[client.__module__].PublishBatch, "events")
    ):
        return f"the event publisher of Ray {_version()} has other signatures than those known"
    return None


def _messages(module: Any) -> str | None:
    service = module.events_event_aggregator_service_pb2
    request = service.AddEventsRequest.DESCRIPTOR.fields_by_name
    data = service.RayEventsData.DESCRIPTOR.fields_by_name
    numbers = (request["events_data"].number, data["events"].number, data["task_events_metadata"].number)
    return None if numbers == (1, 1, 2) else f"Ray {_version()} numbers the fields of its events anew"


def _kinds(module: Any) -> str | None:
    chosen = os.environ.get(EXPOSABLE_TYPES, "")
    if chosen.strip().upper() == "ALL":
        return None
    service = module.events_event_aggregator_service_pb2
    event = service.RayEventsData.DESCRIPTOR.fields_by_name["events"].message_type
    here = set(event.fields_by_name["event_type"].enum_type.values_by_name)
    left_out = (here & set(EVENT_TYPES)) - {name.strip() for name in chosen.split(",")}
    if left_out:
        return f"{EXPOSABLE_TYPES} leaves out {', '.join(sorted(left_out))}"
    return None
