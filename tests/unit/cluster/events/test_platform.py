"""Platform events from Ray's exporter, from the ingest endpoint to the list of events."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.conftest import SAMPLES, sql_rows
from tests.kubernetes_api import CLUSTER, EVENTS, HEAD, REPEATED, WORKER
from tests.waiting import wait_until

from rayscope.metrics.collectors.ends import platform_events
from rayscope.model.metric import sample
from rayscope.storage import session_writer

SESSION = "session_2026-07-01_08-00-00_000000_1"
BATCHES: list[list[dict[str, Any]]] = json.loads((SAMPLES / "ray-2.60-platform.json").read_text())


def node_event(**fields: Any) -> dict[str, Any]:
    """The definition of the node whose agent sends the platform events."""
    event = {"nodeId": BATCHES[0][0]["nodeId"], "sessionName": SESSION, "eventType": "NODE_DEFINITION_EVENT"}
    return event | {"nodeDefinitionEvent": fields}


def start(running: Any) -> None:
    start_time = "2026-07-01T08:01:30Z"
    node_id = BATCHES[0][0]["nodeId"]
    event = node_event(nodeId=node_id, nodeIpAddress="10.0.0.1", hostname=HEAD, startTimestamp=start_time)
    running.ingest(json.dumps([event]).encode())


def ask(running: Any, **params: Any) -> Any:
    return running.get("/api/v1/events", session=SESSION, kind="platform", **params)


def test_events_without_a_session_belong_to_that_of_their_node(fresh: Any) -> None:
    start(fresh)
    for batch in [*BATCHES, *reversed(BATCHES)]:
        assert {event["sessionName"] for event in batch} == {""}
        fresh.ingest(json.dumps(batch).encode())
    # Events of one batch belong together, also if only one of them names the session.
    fresh.ingest(json.dumps([node_event(nodeId=BATCHES[0][0]["nodeId"]), *BATCHES[1]]).encode())
    rows = sql_rows(fresh.server.url, "SELECT * FROM platform_events ORDER BY event_uid", SESSION)
    assert [row["reason"] for row in rows] == [reason for reason, *_ in EVENTS]
    assert rows[REPEATED[0]]["count"] == REPEATED[1]
    assert not fresh.get("/api/health").get("rejected_batches")


def test_events_of_an_unknown_node_are_rejected(fresh: Any) -> None:
    answer = fresh.client.post(fresh.server.ingest_url, content=json.dumps(BATCHES[0]).encode())
    assert answer.status_code == 400


def test_a_session_keeps_a_limited_number(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session_writer.MAX_ENTITIES, "platform_event", 5)
    start(fresh)
    for batch in BATCHES:
        fresh.ingest(json.dumps(batch).encode())
    answer = ask(fresh)
    assert answer["total"] == 5
    assert answer["dropped"]["total"] == 0  # tasks
    (lost,) = fresh.get("/api/v1/events", kind="loss")["items"]
    assert (lost["title"], lost["message"], lost["count"]) == (
        "entity_limit",
        "platform_event",
        sum(map(len, BATCHES)) - 5,
    )


def test_they_are_among_the_events(fresh: Any) -> None:
    start(fresh)
    for batch in BATCHES:
        fresh.ingest(json.dumps(batch).encode())
    answer = ask(fresh)
    assert answer["total"] == len(EVENTS)
    assert answer["by_severity"] == {"ERROR": 0, "WARNING": 9, "INFO": 3}
    by_event = {event["event"]: event for event in answer["items"]}
    assert set(by_event) == {
        *("Scheduled", "Started", "Unhealthy", "Killing", "Evicted", "Preempted", "FailedScheduling"),
        *("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "OOMKilled"),
    }
    loop = by_event["CrashLoopBackOff"]
    assert (loop["title"], loop["severity"], loop["count"]) == (HEAD, "WARNING", REPEATED[1])
    assert loop["message"].startswith("Back-off restarting failed container")
    assert loop["last_ns"] > loop["time_ns"]
    # The pod of a node has its host name, from before the node started.
    assert loop["node_id"] == by_event["Scheduled"]["node_id"] is not None
    assert by_event["Evicted"]["node_id"] is None
    # One from the kernel, one from KubeRay.
    assert [event["event"] for event in ask(fresh, q="oomk")["items"]] == ["OOMKilled"] * 2
    assert ask(fresh, severity="WARNING", q=WORKER)["total"] == 7
    assert ask(fresh, node_id=loop["node_id"])["total"] == 5
    with fresh.server.services.catalog.reading(SESSION) as file:
        counts, others = platform_events(file, 2)
        assert (counts, others) == ({"CrashLoopBackOff": REPEATED[1], "FailedScheduling": 4}, 9)
        assert platform_events(file, 50)[0]["OOMKilled"] == 2


def test_metrics_have_the_name_of_kuberays_cluster(fresh: Any) -> None:
    """Ray's dashboards for Grafana select clusters by it."""
    start(fresh)
    store = fresh.server.services.metrics.store(SESSION)
    store.append(time.time_ns(), [sample("ray_load", 1)])

    def names() -> Any:
        match = {"match[]": "ray_load"}
        return fresh.get(f"/prometheus/{SESSION}/api/v1/label/ray_io_cluster/values", **match)["data"]

    assert names() == []
    for batch in BATCHES:
        fresh.ingest(json.dumps(batch).encode())
    wait_until(lambda: names() == [CLUSTER], "the name")  # the record is read every few seconds
