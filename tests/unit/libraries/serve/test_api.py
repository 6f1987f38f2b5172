"""Requests of Ray Serve assembled from the reports of their processes, and calls of deployments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.story import MS, ORIGIN_NS, Story

from rayscope.model import Entity, Span, TaskError
from rayscope.tracer.serve import latency_bucket

JOB = "01000000"
PROXY = "a" * 24 + JOB
FRONT = "b" * 24 + JOB
MODEL = "c" * 24 + JOB
NODE = "5" * 56


def actor_entities() -> list[Entity]:
    application = Entity("serve_application", "shop", {"name": "shop"}, {}, ORIGIN_NS, {"state": "RUNNING"})
    found = [application]
    for name, actor in (("Front", FRONT), ("Model", MODEL)):
        of: dict[str, Any] = {"name": f"{name}1", "application": "shop", "deployment": name}
        known: dict[str, Any] = {"state": "RUNNING", "actor_id": actor, "node_id": NODE}
        known["log_file"] = f"serve/{name}.log"
        found.append(Entity("serve_replica", f"shop#{name}#1", of, {}, ORIGIN_NS, known))
    proxy: dict[str, Any] = {"state": "HEALTHY", "actor_id": PROXY, "log_file": "serve/proxy.log"}
    found.append(Entity("serve_proxy", NODE, {}, {}, ORIGIN_NS, proxy))
    return found


def add(story: Story, actor: str, name: str, begin: float, end: float, extra: Any) -> None:
    text = extra if isinstance(extra, str) else json.dumps(extra, separators=(",", ":"))
    begin_ns, end_ns = (ORIGIN_NS + int(at * MS) for at in (begin, end))
    story.batch.spans.append(Span("f" * 16 + actor, 0, name, begin_ns, end_ns, text))


def call(callee: str, begin: float, end: float, queue: float, failed: bool = False) -> dict[str, Any]:
    since, until = (ORIGIN_NS + int(at * MS) for at in (begin, end))
    return {
        "callee": f"shop#{callee}",
        "begin_ns": since,
        "end_ns": until,
        "queue_ns": int(queue * MS),
        "failed": failed,
    }


def hop(request: str, deployment: str = "", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"request": request, "application": "shop", "deployment": deployment}
    values |= {"request_id": f"id of {request}", "route": "/shop", "method": "GET", "status": "200"}
    values |= {"failed": False, "error": "", "call_count": len(calls), "downstream_ns": None}
    return values | {"calls": list(calls)} | more


@pytest.fixture
def story() -> Story:
    made = Story()
    made.batch.entities += actor_entities()
    return made


def test_a_request_is_put_together_from_its_hops(fresh: Any, story: Story) -> None:
    # The proxy had it from 0 to 500 ms, 20 ms of that in the queue; Front from 30 to 480. It called Model
    # twice at once; Model reported one of the calls and failed in the other.
    add(
        story,
        PROXY,
        "serve.hop",
        0,
        500,
        hop("one", "", call("Front", 5, 500, 25), status="500", failed=True),
    )
    made = (call("Model", 50, 400, 100), call("Model", 60, 450, 10, failed=True))
    front = hop("one", "Front", *made, downstream_ns=400 * MS, failed=True, error="ValueError")
    add(story, FRONT, "serve.hop", 30, 480, front)
    add(story, MODEL, "serve.hop", 160, 390, hop("one", "Model", downstream_ns=0))
    fresh.record(story)
    page = fresh.get("/api/v1/serve-requests/shop")
    (found,) = page["items"]
    steps = found.pop("steps")
    assert found == {
        "request": "one",
        "request_id": "id of one",
        "time_ns": ORIGIN_NS,
        "total_ns": 500 * MS,
        "proxy_ns": 25 * MS,
        "queue_ns": 25 * MS,
        "replica_ns": 50 * MS,
        "downstream_ns": 400 * MS,
        "route": "/shop",
        "method": "GET",
        "status": "500",
        "failed": True,
        "error": "ValueError",
        "traceparent": None,
        "deployments": ["Front", "Model"],
    }
    shown = [
        (one["deployment"], one["depth"], *((one[name] - ORIGIN_NS) / MS for name in ("begin_ns", "end_ns")))
        for one in steps
    ]
    assert shown == [
        (None, 0, 0, 500),
        ("Front", 1, 5, 480),
        ("Model", 2, 50, 390),
        ("Model", 2, 60, 450),
    ]
    assert [(one["queue_ns"], one["replica_ns"], one["failed"]) for one in steps[1:]] == [
        (25 * MS, 450 * MS, True),
        (100 * MS, 230 * MS, False),
        (10 * MS, None, True),
    ]
    assert [(one["node_id"], one["log_file"]) for one in steps] == [
        (NODE, "serve/proxy.log"),
        (NODE, "serve/Front.log"),
        (NODE, "serve/Model.log"),
        (None, None),
    ]


def test_a_dead_replica_has_the_error_of_its_constructor(fresh: Any, story: Story) -> None:
    error = (
        'Traceback (most recent call last):\n  File "/app/model.py", line 6, in __init__\nOSError: no weights'
    )
    killed = {"death_reason": "killed by `ray.kill`.", "end_ns": ORIGIN_NS + 9 * MS}
    for actor in (MODEL, FRONT):
        story.batch.entities.append(Entity("actor", actor, {}, {(ORIGIN_NS + 9 * MS, "DEAD"): dict(killed)}))
    name = "ServeReplica:shop:Model.initialize_and_get_metadata"
    story.task(name, 0, 1, 2, actor=MODEL[:24], failed=True)
    attempt = story.batch.attempts[-1]
    attempt.module_name = "ray.serve._private.replica"
    attempt.error = TaskError(ORIGIN_NS + 2 * MS, "TASK_EXECUTION_EXCEPTION", error)
    fresh.record(story)
    replicas = {one["deployment"]: one for one in fresh.get("/api/v1/serve/shop")["replicas"]}
    assert replicas["Model"]["death_reason"] == "OSError: no weights"
    assert replicas["Model"]["start_error"] == error
    assert replicas["Front"]["death_reason"] == "killed by `ray.kill`."
    assert replicas["Front"]["start_error"] is None


def test_the_slowest_or_the_newest_requests_of_an_application(fresh: Any, story: Story) -> None:
    for at, took in enumerate((300, 900, 100)):
        add(story, FRONT, "serve.hop", at, at + took, hop(f"r{at}", "Front", downstream_ns=0))
    # A replica that died did not report the request: only the queue is known.
    add(story, PROXY, "serve.hop", 10, 210, hop("lost", "", call("Front", 10, 210, 7)))
    # A user's span of the same name, invalid JSON, and JSON with other fields.
    add(story, FRONT, "serve.hop", 0, 10_000, {"user": hop("mine", "Front")})
    for odd in ("{", "[]", '{"request":"odd","application":"shop","deployment":"Front"}', '{"deployment":1}'):
        add(story, FRONT, "serve.hop", 0, 1, odd)
    add(story, FRONT, "serve.hop", 0, 9_000, hop("elsewhere", "Front", application="other"))
    add(story, FRONT, "serve.left_out", 0, 10, {"hops": 3})
    add(story, FRONT, "serve.left_out", 10, 20, {"hops": 4})
    add(story, MODEL, "serve.left_out", 0, 10, {"hops": 5})
    fresh.record(story)
    slowest = fresh.get("/api/v1/serve-requests/shop")
    assert [one["request"] for one in slowest["items"]] == ["r1", "r0", "lost", "r2"]
    assert slowest["left_out"] == 7
    first, _, lost, _ = slowest["items"]
    parts = ("proxy_ns", "queue_ns", "replica_ns", "downstream_ns")
    assert [first[name] for name in parts] == [None, None, 900 * MS, 0]
    assert [lost[name] for name in parts] == [None, 7 * MS, None, None]
    assert lost["deployments"] == ["Front"]
    newest = fresh.get("/api/v1/serve-requests/shop", order="newest", limit=2)
    assert [one["request"] for one in newest["items"]] == ["lost", "r2"]
    for wrong in ({"limit": 0}, {"limit": 201}, {"order": "oldest"}):
        assert fresh.client.get("/api/v1/serve-requests/shop", params=wrong).status_code == 422
    assert fresh.client.get("/api/v1/serve-requests/none").status_code == 404


def test_calls_are_summed_with_their_latency(fresh: Any, story: Story) -> None:
    def call_counts(caller: str, errors: int, *took_ms: float) -> dict[str, Any]:
        latency: dict[str, int] = {}
        for one in took_ms:
            bucket = str(latency_bucket(int(one * MS)))
            latency[bucket] = latency.get(bucket, 0) + 1
        calls = {"caller": caller, "callee": "shop#Model", "calls": len(took_ms), "errors": errors}
        return calls | {"latency": latency}

    add(story, FRONT, "serve.calls", 0, 10, call_counts("shop#Front", 1, *range(1, 51)))
    add(story, MODEL, "serve.calls", 0, 10, call_counts("shop#Front", 2, *range(51, 101)))
    add(story, MODEL, "serve.calls", 0, 10, call_counts("other#Front", 0, 1))
    for odd in ("{", "{}", '{"caller":"shop#Front","callee":"shop#Model","latency":[1]}'):
        add(story, MODEL, "serve.calls", 0, 10, odd)
    fresh.record(story)
    (found,) = fresh.get("/api/v1/serve/shop")["edges"]
    quantiles = [found.pop(f"p{q}_ns") / MS for q in (50, 95, 99)]
    assert found == {"caller": "shop#Front", "callee": "shop#Model", "calls": 100, "errors": 3}
    assert quantiles == pytest.approx([50, 95, 99], rel=0.0625)


def test_an_application_may_be_called_anything(fresh: Any, story: Story) -> None:
    for name in ("requests", "shop/requests", "shop/requests/requests"):
        known = {"state": "RUNNING"}
        story.batch.entities.append(Entity("serve_application", name, {"name": name}, {}, ORIGIN_NS, known))
        add(story, FRONT, "serve.hop", 0, 300, hop(f"of {name}", "Front", application=name))
    fresh.record(story)
    for name in ("shop", "requests", "shop/requests", "shop/requests/requests"):
        for path in (name, name.replace("/", "%2F")):
            assert fresh.get(f"/api/v1/serve/{path}")["name"] == name
            found = [one["request"] for one in fresh.get(f"/api/v1/serve-requests/{path}")["items"]]
            assert found == ([] if name == "shop" else [f"of {name}"])


def test_a_repeated_state_is_no_change(fresh: Any, story: Story) -> None:
    application = story.batch.entities[0]
    reported_states = ("DEPLOYING", "RUNNING", "RUNNING", "UNHEALTHY", "RUNNING", "RUNNING")
    for at, state in enumerate(reported_states):
        application.transitions[ORIGIN_NS + at, state] = {}
    fresh.record(story)
    found = fresh.get("/api/v1/serve/shop")
    states = [(one["time_ns"] - ORIGIN_NS, one["state"]) for one in found["history"]]
    assert states == [(0, "DEPLOYING"), (1, "RUNNING"), (3, "UNHEALTHY"), (4, "RUNNING")]
    assert found["since_ns"] == ORIGIN_NS + 4
