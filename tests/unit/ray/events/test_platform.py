"""Platform events, as Ray 2.60's own module exported them (``tests/record_platform_events.py``)."""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from tests.kubernetes_api import CLUSTER, EVENTS, HEAD, NAMESPACE, REPEATED, event_of
from tests.records import decode

from rayscope.model import Entity, merge_entities
from rayscope.ray.events.batch import Format

Recorded = Callable[[str, Format], list[bytes]]
SESSION = "session_2026-07-01_08-00-00_000000_1"


def entities(bodies: list[bytes], form: Format = Format.JSON) -> list[Entity]:
    found = []
    for body in bodies:
        for batch in decode(body, form)[0]:
            assert not batch.unknown
            found += batch.entities
    return found


def decode_one(**changes: Any) -> tuple[list[Entity], list[bytes]]:
    event = {
        "eventId": b64encode(b"uid").decode(),
        "eventType": "PLATFORM_EVENT",
        "sessionName": SESSION,
        "timestamp": "2026-07-01T08:00:00Z",
        "severity": "WARNING",
        "platformEvent": {"reason": "BackOff"},
    } | changes
    (batch,), invalid = decode(json.dumps([event]).encode())
    return batch.entities, invalid


@pytest.mark.parametrize("form", Format)
def test_each_event_is_one_entity_with_the_newest_count(recorded: Recorded, form: Format) -> None:
    found = entities(recorded("2.60-platform", form), form)
    assert len(found) == len(EVENTS) + 1
    merged: dict[str, dict[str, Any]] = {}
    for number, (reason, kind, component, name, message, count) in enumerate(EVENTS):
        event = event_of(number)
        accounts = [each for each in found if each.id == event["metadata"]["uid"]]
        current = merged[reason] = accounts[0].current()
        assert current["severity"] == {"Normal": "INFO", "Warning": "WARNING"}[kind]
        assert (current["component"], current["object_name"]) == (component, name)
        assert (current["message"], current["count"]) == (message, count)
        assert current["object_kind"] == ("RayCluster" if name == CLUSTER else "Pod")
        assert current["namespace"] == NAMESPACE
        for order in itertools.permutations([*accounts, *accounts]):
            whole = Entity("platform_event", accounts[0].id)
            for account in order:
                merge_entities(whole, account)
            assert whole.current()["count"] == (REPEATED[1] if number == REPEATED[0] else count)
    assert merged["Started"]["object_name"] == HEAD


def test_both_forms_say_the_same(recorded: Recorded) -> None:
    by_form = [entities(recorded("2.60-platform", form), form) for form in Format]
    assert sorted(map(repr, by_form[0])) == sorted(map(repr, by_form[1]))


def test_the_count_decides_between_reports_of_the_same_second() -> None:
    (older,), _ = decode_one(platformEvent={"customFields": {"count": "9"}})
    (newer,), _ = decode_one(platformEvent={"customFields": {"count": "10"}})
    for first, second in ((older, newer), (newer, older)):
        whole = merge_entities(merge_entities(Entity("platform_event", "uid"), first), second)
        assert whole.current()["count"] == 10


def test_texts_are_cut_and_numbers_limited() -> None:
    names = ("reason", "message", "objectKind", "objectName")
    (entity,), _ = decode_one(
        platformEvent=dict.fromkeys(names, "x" * 10**6) | {"customFields": {"count": "9" * 50}}
    )
    values = entity.current()
    assert max(len(str(value)) for value in values.values()) == 1024
    assert 10**9 < int(values["count"]) < 2**32


@pytest.mark.parametrize(
    "changes",
    [
        {"eventId": ""},
        {"eventId": 5},
        {"eventId": b64encode(b"\xff").decode()},
        {"timestamp": "now"},
        {"platformEvent": {"source": "kubelet"}},
        {"platformEvent": {"customFields": {"count": "many"}}},
        {"platformEvent": {"source": {"metadata": [1]}}},
    ],
)
def test_a_damaged_event_is_set_aside(changes: dict[str, Any]) -> None:
    found, invalid = decode_one(**changes)
    assert found == []
    assert len(invalid) == 1


def test_an_event_without_a_time_has_none() -> None:
    (entity,), _ = decode_one(timestamp="1970-01-01T00:00:00Z", severity=99)
    assert (entity.fields, entity.current()) == ({}, {"reason": "BackOff", "severity": "INFO", "count": 1})
