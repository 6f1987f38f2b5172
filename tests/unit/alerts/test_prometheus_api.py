"""Rules and alerts in Prometheus' form."""

from __future__ import annotations

from typing import Any

import pytest
from tests.story import SESSION
from tests.unit.alerts.test_api import NODE, alerting

__all__ = ["alerting"]


def data(running: Any, path: str, **params: Any) -> Any:
    body = running.get(f"/prometheus/{SESSION}/api/v1/{path}", **params)
    assert body["status"] == "success"
    return body["data"]


def test_pending_and_firing_alerts(alerting: Any) -> None:
    firing, pending = data(alerting, "alerts")["alerts"]
    assert firing.keys() == {"labels", "annotations", "state", "activeAt", "value"}
    assert firing["labels"] == {"alertname": "QueueLong", "queue": "q1", "severity": "info"}
    assert firing["annotations"]["summary"] == "Queue q1 has 90 entries"
    assert (firing["state"], firing["value"]) == ("firing", "9e+01")
    assert firing["activeAt"].startswith("20")
    assert (pending["state"], pending["labels"]["node_id"]) == ("pending", NODE)


def test_rules_by_group_with_their_alerts(alerting: Any) -> None:
    groups = {group["name"]: group for group in data(alerting, "rules")["groups"]}
    assert groups.keys() >= {"mine", "deaths", "nodes"}
    (rule,) = groups["mine"]["rules"]
    assert (groups["mine"]["file"], groups["mine"]["interval"]) == ("mine.yml", 1)
    assert (rule["type"], rule["name"], rule["query"]) == ("alerting", "QueueLong", "my_queue > 40")
    assert (rule["state"], rule["health"], rule["duration"]) == ("firing", "ok", 0)
    assert [alert["value"] for alert in rule["alerts"]] == ["9e+01"]
    states = {rule["name"]: rule["state"] for rule in groups["deaths"]["rules"]}
    assert (states["NodeDead"], states["NodeSilent"]) == ("pending", "inactive")


def test_rules_are_selected_by_type_name_group_and_file(alerting: Any) -> None:
    def names(**params: Any) -> list[str]:
        return [
            rule["name"] for group in data(alerting, "rules", **params)["groups"] for rule in group["rules"]
        ]

    assert names(**{"rule_name[]": ["NodeDead", "QueueLong"]}) == ["NodeDead", "QueueLong"]
    assert names(**{"rule_group[]": "mine"}) == names(**{"file[]": "mine.yml"}) == ["QueueLong"]
    assert names(type="record") == []
    assert "QueueLong" in names(type="alert")
    (group,) = data(alerting, "rules", exclude_alerts="true", **{"file[]": "mine.yml"})["groups"]
    assert group["rules"][0]["alerts"] == []
    answer = alerting.client.get(f"/prometheus/{SESSION}/api/v1/rules", params={"type": "x"})
    assert (answer.status_code, answer.json()["errorType"]) == (400, "bad_data")


def test_nothing_fires_in_an_ended_session(alerting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerting.server.services.records, "is_live", lambda _: False)
    assert data(alerting, "alerts") == {"alerts": []}
    rules = [rule for group in data(alerting, "rules")["groups"] for rule in group["rules"]]
    assert {(rule["state"], len(rule["alerts"])) for rule in rules} == {("inactive", 0)}
