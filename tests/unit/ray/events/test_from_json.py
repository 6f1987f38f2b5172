"""Events of real Rays, decoded. Each sample is a small run recorded with that version, with neutral names.

Ray 2.50 to 2.56 recorded a cluster that ``ray.init()`` started; what happened before the node's agent was up
is missing in them, since the events of that time are lost in Ray.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.records import decode, in_order
from tests.reference import merge_attempts

from rayscope.model import Attempt, Entity, RecordBatch, merge_entities
from rayscope.ray.events.batch import Format, MalformedBatch, check, node_id
from rayscope.ray.events.from_json import _unknown_keys
from rayscope.ray.events.json_types import Event
from rayscope.ray.timestamps import parse_ns

Events = list[dict[str, Any]]
Sample = Callable[[str], list[Events]]
Recorded = Callable[[str, Format], list[bytes]]


def decoded(bodies: list[bytes], form: Format = Format.JSON) -> RecordBatch:
    whole = RecordBatch("")
    for body in bodies:
        found, invalid = decode(body, form)
        assert not invalid
        for part in found:
            whole.session = part.session
            whole.attempts += part.attempts
            whole.spans += part.spans
            whole.entities += part.entities
            whole.events += part.events
            whole.unknown |= part.unknown
    return whole


def written(batches: list[Events]) -> list[bytes]:
    return [json.dumps(batch).encode() for batch in batches]


def attempts_of(batch: RecordBatch) -> dict[tuple[str, int], Attempt]:
    merged: dict[tuple[str, int], Attempt] = {}
    for part in batch.attempts:
        known = merged.setdefault((part.task_id, part.attempt), part)
        if known is not part:
            merge_attempts(known, part)
    return merged


def entities_of(batch: RecordBatch) -> dict[tuple[str, str], Entity]:
    merged: dict[tuple[str, str], Entity] = {}
    for part in batch.entities:
        known = merged.setdefault((part.kind, part.id), part)
        if known is not part:
            merge_entities(known, part)
    return merged


both_formats = pytest.mark.parametrize("form", list(Format), ids=lambda form: form.value)


@both_formats
@pytest.mark.parametrize(
    ("version", "events", "states", "defined", "spans", "entities"),
    [
        ("2.50", 48, {"FINISHED": 7, "FAILED": 3, "RUNNING": 1}, 6, 3, {"node": 1, "job": 1, "actor": 1}),
        ("2.53", 61, {"FINISHED": 8, "FAILED": 3}, 10, 8, {}),
        ("2.56", 59, {"FINISHED": 8, "FAILED": 3}, 9, 20, {"node": 1, "job": 1, "actor": 1}),
        (
            "2.60",
            234,
            {"FINISHED": 29, "FAILED": 5, "RUNNING": 1},
            33,
            43,
            {"node": 1, "worker": 12, "job": 1, "actor": 3},
        ),
    ],
)
def test_a_sample_is_understood_whole(
    sample: Sample,
    recorded: Recorded,
    form: Format,
    version: str,
    events: int,
    states: dict[str, int],
    defined: int,
    spans: int,
    entities: dict[str, int],
) -> None:
    batch = decoded(recorded(version, form), form)
    attempts = attempts_of(batch)
    assert batch.unknown == {}
    unknown = {key for part in sample(version) for event in part for key in _unknown_keys(event, Event)}
    assert unknown == set()  # the decoder itself looks at one event of a batch
    assert batch.session.startswith("session_")
    assert batch.events == events
    assert Counter(attempt.state for attempt in attempts.values()) == states
    assert sum(attempt.name is not None for attempt in attempts.values()) == defined
    assert len(set(batch.spans)) == spans
    assert Counter(kind for kind, _ in entities_of(batch)) == entities


@both_formats
@pytest.mark.parametrize("version", ["2.50", "2.53", "2.56", "2.60"])
def test_a_failed_task_and_its_retry(recorded: Recorded, form: Format, version: str) -> None:
    attempts = attempts_of(decoded(recorded(version, form), form))
    fails = {attempt.attempt: attempt for attempt in attempts.values() if attempt.func_name == "fails"}
    assert fails.keys() == {0, 1}
    for attempt in fails.values():
        assert (attempt.name, attempt.type, attempt.language) == ("fails", "NORMAL_TASK", "PYTHON")
        assert attempt.state == "FAILED"
        assert attempt.states.keys() >= {"PENDING_ARGS_AVAIL", "SUBMITTED_TO_WORKER", "RUNNING", "FAILED"}
        assert attempt.parent_task_id == "f" * 40 + "01000000"
        assert attempt.job_id == "01000000"
        assert json.loads(attempt.required_resources or "") == {"CPU": 1.0}
        assert attempt.node_id
        assert attempt.worker_pid
        assert attempt.error is not None
        assert attempt.error.type == "TASK_EXECUTION_EXCEPTION"
        assert "ValueError: boom" in attempt.error.message
        assert "\x1b" not in attempt.error.message
        begin, end = attempt.phases["total"]
        assert begin < end
        assert abs(begin - attempt.states["RUNNING"]) < 10**9
    assert fails[0].states["FAILED"] <= fails[1].states["RUNNING"]


@both_formats
@pytest.mark.parametrize("version", ["2.56", "2.60"])
def test_the_log_files_of_a_task(recorded: Recorded, form: Format, version: str) -> None:
    """Ray 2.56 reports the begin and the end separately, each with 0 and '' for the other."""
    attempts = attempts_of(decoded(recorded(version, form), form)).values()
    # (A begin that was reported before the node's agent was up is lost.)
    logged = [attempt for attempt in attempts if attempt.stdout_start and attempt.stdout_end]
    assert logged
    for attempt in logged:
        assert (attempt.stdout_file or "").endswith(".out")
        assert (attempt.stderr_file or "").endswith(".err")
        assert 0 < (attempt.stdout_start or 0) <= (attempt.stdout_end or 0)
    assert not any(attempt.stdout_file == "" or attempt.stdout_end == 0 for attempt in attempts)


@both_formats
def test_actors_of_2_60(recorded: Recorded, form: Format) -> None:
    batch = decoded(recorded("2.60", form), form)
    actors = {
        e.fields.get("class_name"): e.current()
        for (kind, _), e in entities_of(batch).items()
        if kind == "actor"
    }
    assert actors["A"]["name"] == "named_a"
    assert actors["Bad"]["state"] == "DEAD"
    assert "bad init" in str(actors["Bad"]["death_reason"])
    creations = [a for a in attempts_of(batch).values() if a.type == "ACTOR_CREATION_TASK"]
    assert {attempt.actor_id for attempt in creations} == {attempt.task_id[16:] for attempt in creations}
    restart = next(attempt for attempt in creations if attempt.attempt == 1)
    assert restart.name is None  # it has no definition, and only the span around it has its end
    assert restart.state == "FINISHED"
    assert restart.states["FINISHED"] == restart.phases["total"][1]


def test_snake_case_is_the_same(sample: Sample) -> None:
    """RAY_DASHBOARD_AGGREGATOR_AGENT_PRESERVE_PROTO_FIELD_NAME switches the names of all keys."""

    def snake(value: Any) -> Any:
        if isinstance(value, list):
            return [snake(item) for item in value]
        if isinstance(value, dict):
            return {_snake(key): item if key in users else snake(item) for key, item in value.items()}
        return value

    def _snake(key: str) -> str:
        return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)

    users = {"requiredResources", "labelSelector", "labels", "resources", "metadata"}
    batches = sample("2.60")
    plain, snaked = decoded(written(batches)), decoded(written(snake(batches)))
    assert snaked.unknown == {}
    assert snaked.attempts == plain.attempts
    assert snaked.spans == plain.spans
    assert snaked.entities == plain.entities


def test_additions_of_a_later_ray_are_counted_and_the_rest_kept(sample: Sample) -> None:
    batch = sample("2.60")[0]
    event = next(e for b in sample("2.60") for e in b if e["eventType"] == "TASK_LIFECYCLE_EVENT")
    event["taskLifecycleEvent"] |= {"brandNew": 1}
    transitions = event["taskLifecycleEvent"]["stateTransitions"]
    (known,) = transitions
    transitions += [known | {"state": state} for state in (99, -(2**40), "NEW_STATE")]
    unheard = {"eventType": "COFFEE_EVENT", "sessionName": event["sessionName"], "coffeeEvent": {}}
    broken = {
        "eventType": "TASK_LIFECYCLE_EVENT",
        "sessionName": event["sessionName"],
        "taskLifecycleEvent": 7,
    }
    (found,), invalid = decode(json.dumps([event, unheard, broken, *batch]).encode())
    assert found.events == len(batch) + 2
    assert found.unknown["event type COFFEE_EVENT"] == 1
    assert any(what.startswith("invalid event: ") for what in found.unknown)
    assert [json.loads(raw) for raw in invalid] == [broken]
    (alone,), _ = decode(json.dumps([event]).encode())
    assert alone.attempts[0].states.keys() == {known["state"]}
    assert alone.unknown == {
        "field taskLifecycleEvent.brandNew": 1,
        **{f"enum TaskStatus {state}": 1 for state in (99, -(2**40), "NEW_STATE")},
    }


def test_the_memory_of_a_worker_that_the_memory_monitor_killed() -> None:
    info = {"exitType": "NODE_OUT_OF_MEMORY", "memoryUsedBytes": "8482560409"}
    transition = {"state": "DEAD", "timestamp": "2026-11-21T22:16:44Z", "deathInfo": info}
    event = {
        "eventType": "WORKER_LIFECYCLE_EVENT",
        "sessionName": "s",
        "workerLifecycleEvent": {"workerId": "AQ==", "stateTransitions": [transition]},
    }
    (found,), invalid = decode(json.dumps([event]).encode())
    ((account,),) = (one.transitions.values() for one in found.entities)
    assert (account["death_memory_bytes"], found.unknown, invalid) == (8_482_560_409, {}, [])


@pytest.mark.parametrize("body", [b"", b"{}", b"7", b"[7]", b"[", b'["a"]', b"\xff"])
def test_bodies_that_are_no_batch_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedBatch):
        decode(body)


def test_a_batch_of_which_only_the_session_can_be_read_is_set_aside_whole() -> None:
    broken = {"eventType": "TASK_LIFECYCLE_EVENT", "sessionName": "s", "taskLifecycleEvent": 7}
    (found,), invalid = decode(json.dumps([broken]).encode())
    assert (found.session, found.events, found.attempts) == ("s", 0, [])
    assert [json.loads(raw) for raw in invalid] == [broken]


def test_two_sessions_in_one_batch_stay_apart(sample: Sample) -> None:
    batch = sample("2.60")[0]
    other = [{**event, "sessionName": "session_b"} for event in batch]
    found, _ = decode(json.dumps(batch + other).encode())
    assert [(part.session, part.events) for part in found] == [
        (batch[0]["sessionName"], len(batch)),
        ("session_b", len(batch)),
    ]


@both_formats
def test_metadata_of_a_batch(sample: Sample, recorded: Recorded, form: Format) -> None:
    events = sample("2.60")[0]
    body = recorded("2.60", form)[0]
    batch = check(body, form)
    assert (batch.body, batch.format, batch.count) == (body, form, len(events))
    assert batch.sessions == [events[0]["sessionName"]]
    assert node_id(body, form) == b64decode(events[0]["nodeId"]).hex()


@pytest.mark.parametrize(
    "change", [{"nodeId": ""}, {"nodeId": "/" * 37 + "w=="}, {"nodeId": 7}, {"nodeId": "?"}, {"nodeIp": "a"}]
)
def test_a_sender_without_a_node(sample: Sample, change: dict[str, Any]) -> None:
    event = {key: value for key, value in sample("2.60")[0][0].items() if key != "nodeId"} | change
    assert node_id(json.dumps([event]).encode(), Format.JSON) is None
    assert node_id(b"[]", Format.JSON) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T11:33:35Z", 1795260815_000000000),
        ("2026-11-21T11:33:35.1Z", 1795260815_100000000),
        ("2026-11-21T11:33:35.116Z", 1795260815_116000000),
        ("2026-11-21T11:33:35.116135455Z", 1795260815_116135455),
        ("1970-01-01T00:00:00.000000001Z", 1),
    ],
)
def test_timestamps_are_exact(text: str, expected: int) -> None:
    assert parse_ns(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "Z", "yesterday", "2026-11-21T11:33:35", "2026-11-21T11:33:35+01:00", "2026-13-01T00:00:00Z"),
        *("9999-12-31T23:59:59Z", "1900-01-01T00:00:00Z", "2026-11-21T11:33:35.1234567890Z"),
    ],
)
def test_other_timestamps_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_ns(text)


DEEP = b"[" * 100_000 + b"]" * 100_000
BAD_EVENTS = {
    "deep in a field that we do not know": b'{"sessionName":"s","new":' + DEEP + b"}",
    "deep in a part": b'{"sessionName":"s","driverJobDefinitionEvent":' + DEEP + b"}",
    "an array": DEEP,
    "no UTF-8 where we read": b'{"sessionName":"s\xff"}',
    "no UTF-8 in a name": b'{"sessionName":"s","a\xff":1}',
    "no JSON": b'{"sessionName":tru}',
    "no object": b'"event"',
    "brackets in strings": b'{"sessionName":"[{\\"","x":tru}',
}


@pytest.mark.parametrize("what", BAD_EVENTS)
@pytest.mark.parametrize("snake_case", [False, True])
def test_a_bad_event_costs_itself_alone(bodies: list[bytes], what: str, snake_case: bool) -> None:
    good = next(body for body in bodies if b"taskDefinitionEvent" in body).strip()[1:-1]
    if snake_case:
        good = good.replace(b'"eventId"', b'"event_id"')
    (alone,), _ = decode(b"[" + good + b"]")
    assert alone.attempts
    batches, invalid = decode(b"[" + good + b"," + BAD_EVENTS[what] + b" , " + good + b"]")
    among = next(batch for batch in batches if batch.session == alone.session)
    alone.attempts *= 2
    assert in_order([among])[0].attempts == in_order([alone])[0].attempts
    assert invalid == [BAD_EVENTS[what]]
    assert sum(n for b in batches for w, n in b.unknown.items() if w.startswith("invalid event")) == 1


@pytest.mark.parametrize("depth", [600, 50_000])
def test_a_runtime_env_that_is_nested_deep_is_not_shown(bodies: list[bytes], depth: int) -> None:
    events = [event for body in bodies for event in json.loads(body)]
    definition = next(event for event in events if "taskDefinitionEvent" in event)
    deep = '{"pip":' * depth + "1" + "}" * depth
    definition["taskDefinitionEvent"]["serializedRuntimeEnv"] = deep
    (batch,), invalid = decode(json.dumps([definition]).encode())
    assert not invalid
    assert batch.attempts[0].runtime_env == '"<redacted>"'


@pytest.mark.parametrize(
    "body",
    [DEEP[:-1], b"[" + DEEP, b'[{"a":"' + b"\\" * 99_999, b"[{}" * 40_000, b"{}" * 10, b"[1] x", b"x [1]"],
)
def test_an_unterminated_body_is_no_batch(body: bytes) -> None:
    with pytest.raises(MalformedBatch):
        check(body, Format.JSON)
