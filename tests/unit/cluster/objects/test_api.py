"""Objects that processes hold are shown as far as known: nodes that do not answer delay nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.raylets import HELD, raylets_of
from tests.story import SESSION, Story
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.cluster.objects import readings, references
from rayscope.ray.gcs.client import GcsError


@pytest.fixture
def attached(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """A server whose session's cluster has this GCS."""

    def attach(gcs: Any) -> Any:
        story = Story()
        story.task("make", 0, 1, 2)
        fresh.record(story)
        services = fresh.server.services
        services.catalog.about(SESSION).last_ns = time.time_ns()
        monkeypatch.setattr(services.clusters, "gcs_of", lambda _: gcs)
        monkeypatch.setattr("rayscope.cluster.objects.api.FIRST_ANSWER_TIMEOUT_S", TIMEOUT_S)
        return fresh

    return attach


def test_the_first_answer_is_whole_where_all_nodes_answer(attached: Callable[[Any], Any]) -> None:
    with raylets_of(False, False) as gcs:
        memory = attached(gcs).get("/api/v1/memory", by="node")
    assert (memory["state"], memory["nodes_waiting"], memory["time_ns"] is not None) == ("whole", 0, True)
    assert [(group["key"][:2], group["objects"]) for group in memory["groups"]] == [
        ("00", HELD),
        ("01", HELD),
    ]
    assert [node["waiting"] for node in memory["nodes"]] == [False, False]


def test_nodes_that_have_not_answered_yet_are_named_and_come_later(
    attached: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with raylets_of(False, True) as gcs:
        server = attached(gcs)
        monkeypatch.setattr("rayscope.cluster.objects.api.FIRST_ANSWER_TIMEOUT_S", 0.5)

        def one_answered() -> Any:
            answer = server.get("/api/v1/memory", by="node")
            return answer["nodes_waiting"] == 1 and answer

        memory = wait_until(one_answered, "the node that answers")
        assert memory["state"] == "being_read"
        assert [(node["node_id"][:2], node["waiting"]) for node in memory["nodes"]] == [
            ("00", False),
            ("01", True),
        ]
        assert (memory["totals"]["objects"], memory["references_read"]) == (HELD, HELD)
        gcs.go.set()

        def all_answered() -> Any:
            answer = server.get("/api/v1/memory", by="node")
            return answer["state"] == "whole" and answer

        memory = wait_until(all_answered, "the other node")
        assert memory["totals"]["objects"] == 2 * HELD


def test_an_account_is_kept_while_somebody_looks(
    attached: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_MIN_PAUSE_S", 0.05)
    monkeypatch.setattr(references, "_PAUSE_FACTOR", 0)
    monkeypatch.setattr(references, "KEEP_READING_S", 0.5)
    with raylets_of(False) as gcs:
        objects = attached(gcs).server.services.objects
        first = objects.read(SESSION, None, 30.0)
        wait_until(lambda: objects.read(SESSION).time_ns > first.time_ns, "a later account")
        reader = objects._readers[SESSION]
        wait_until(lambda: not reader.lives, "its end, since nobody asks")
        again = objects.read(SESSION, None, 30.0)
        assert again.nodes[0].references_total == HELD
        assert objects._readers[SESSION] is not reader


def test_a_gcs_that_cannot_be_read_is_reported(attached: Callable[[Any], Any]) -> None:
    class Broken:
        metadata = ()

        def nodes(self) -> Any:
            raise GcsError("The GCS does not answer.", "Is it running?")

    server = attached(Broken())
    answer = server.client.get("/api/v1/memory")
    assert answer.status_code >= 400
    assert "does not answer" in answer.text


def test_the_last_reading_stays_when_the_cluster_is_gone(
    attached: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    began_ns = time.time_ns()
    with raylets_of(False, False) as gcs:
        server = attached(gcs)
        services = server.server.services
        services.object_readings.keep(SESSION)
        monkeypatch.setattr(readings, "MAX_NODES", 1)
        kept = services.object_readings.read(SESSION)
        services.object_readings.keep(SESSION)  # too large now
        assert services.object_readings.read(SESSION) == kept
    monkeypatch.setattr(services.clusters, "gcs_of", lambda _: None)
    memory = server.get("/api/v1/memory", by="node")
    assert (memory["live"], memory["state"], memory["totals"]["objects"]) == (False, "whole", 2 * HELD)
    assert began_ns < memory["time_ns"] < time.time_ns()
