"""The HTTP API of alerts: answers, permissions, and that no secret leaves."""

from __future__ import annotations

import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from warnings import catch_warnings, simplefilter

import pytest
from tests.story import SESSION, Story
from typer.testing import CliRunner

import rayscope
from rayscope.api.write_access import HEADER
from rayscope.cli.main import app
from rayscope.model.metric import sample

S = 10**9
SECRET = "hunter2-very-secret"
RULES = """
disable: [NodeCpuHigh]
groups:
- name: mine
  interval: 1s
  rules:
  - {alert: QueueLong, metric: my_queue, op: '>', threshold: 40, labels: {severity: info},
     annotations: {summary: 'Queue {{ $labels.queue }} has {{ $value }} entries'}}
"""
NODE = "a" * 56


@pytest.fixture
def alerting(fresh: Any) -> Any:
    """A session that lives, in which one alert fires and one is pending."""
    folder: Path = fresh.folder / "alerts"
    folder.mkdir(exist_ok=True)
    (folder / "mine.yml").write_text(RULES)
    story = Story()
    story.task("load", 0, 1, 5)
    fresh.record(story)
    services = fresh.server.services
    services.alerts._task.stop()  # time is the test's
    store = services.metrics.store(SESSION)
    now_ns = time.time_ns()
    for ago in range(60, -1, -5):
        values = [sample("my_queue", 90 - ago, queue="q1"), sample("rayscope_node_up", 0, node_id=NODE)]
        store.append(now_ns - ago * S, values)
    services.alerts.turn(now_ns + 20 * S)  # whatever was evaluated before is due again
    return fresh


def acting(running: Any) -> dict[str, str]:
    return {HEADER: running.server.services.secrets.operator_token}


def test_firing_alerts_with_their_rules_and_history(alerting: Any) -> None:
    alerts = alerting.get("/api/v1/alerts")
    assert (alerts["firing"], alerts["pending"], alerts["live"]) == (1, 1, True)
    first, second = alerts["items"]
    assert (first["rule"], first["state"], first["severity"]) == ("QueueLong", "firing", "info")
    assert first["annotations"]["summary"] == "Queue q1 has 90 entries"
    assert (second["rule"], second["labels"]["node_id"]) == ("NodeDead", NODE)
    rules = {rule["name"]: rule for rule in alerting.get("/api/v1/alerts/rules")["items"]}
    assert (rules["QueueLong"]["threshold"], rules["QueueLong"]["source"]) == (40, "mine.yml")
    assert (rules["NodeDead"]["state"], rules["NodeCpuHigh"]["enabled"]) == ("pending", False)
    newest, *_ = alerting.get("/api/v1/alerts/history", rule="QueueLong")["items"]
    assert (newest["after"], newest["values"][-1]) == ("firing", 90)
    topic = alerting.get("/api/v1/realtime", topic="alerts")["data"]
    assert (topic["firing"], topic["pending"], topic["items"][0]["rule"]) == (1, 1, "QueueLong")


def test_after_the_session_has_ended_all_counts_are_those_of_the_states(
    alerting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = alerting.server.services
    monkeypatch.setattr(services.records, "is_live", lambda _: False)
    alerts = alerting.get("/api/v1/alerts")
    assert [(one["rule"], one["state"]) for one in alerts["items"]] == [("QueueLong", "ended")]
    topic = alerting.get("/api/v1/realtime", topic="alerts")["data"]
    for found in (alerts, topic):
        assert [found[name] for name in ("live", "firing", "info", "pending", "ended")] == [False, 0, 0, 0, 1]
    rules = {rule["name"]: rule["state"] for rule in alerting.get("/api/v1/alerts/rules")["items"]}
    assert (rules["QueueLong"], rules["NodeDead"]) == ("ended", "inactive")
    said = CliRunner().invoke(app, ["alerts", "list", "--server", alerting.server.url]).output
    assert said.splitlines()[0] == f"1 alert fired until the end of {SESSION}"


def test_rules_are_listed_before_anything_is_recorded(fresh: Any) -> None:
    (fresh.folder / "alerts").mkdir(exist_ok=True)
    (fresh.folder / "alerts" / "mine.yml").write_text(RULES)
    fresh.server.services.alerts.turn(time.time_ns())
    found = fresh.get("/api/v1/alerts/rules")
    assert found["session"] is None
    states = {rule["name"]: (rule["enabled"], rule["state"]) for rule in found["items"]}
    assert (states["QueueLong"], states["NodeCpuHigh"]) == ((True, "inactive"), (False, "inactive"))
    assert fresh.error(fresh.client.get("/api/v1/alerts/rules", params={"session": "no"}), 404)
    for path in ("silences", "channels"):
        assert "items" in fresh.get(f"/api/v1/alerts/{path}")
    done = CliRunner().invoke(app, ["alerts", "list", "--server", fresh.server.url])
    assert done.exit_code == 0, done.output
    assert "nothing is recorded yet" in done.output
    assert "QueueLong" in done.output


def test_silencing_and_acknowledging_are_for_the_operator(alerting: Any) -> None:
    client = alerting.client
    alert = alerting.get("/api/v1/alerts")["items"][0]
    silence = {
        "matchers": [{"label": "alertname", "value": "QueueLong"}],
        "duration_s": 60,
        "created_by": "me",
    }
    ack = {"fingerprint": alert["fingerprint"], "by": "me", "comment": "on it"}
    for path, body in (
        ("/api/v1/alerts/silences", silence),
        ("/api/v1/alerts/ack", ack),
        ("/api/v1/alerts/channels/x/test", None),
    ):
        refused = alerting.error(client.post(path, json=body), 403)
        assert refused["code"] == "needs_operator"
    assert alerting.error(client.delete("/api/v1/alerts/silences/x"), 403)["code"] == "needs_operator"
    headers = acting(alerting)
    made = client.post("/api/v1/alerts/silences", json=silence, headers=headers).json()
    assert made["state"] == "active"
    assert client.post("/api/v1/alerts/ack", json=ack, headers=headers).status_code == 200
    alert = alerting.get("/api/v1/alerts")["items"][0]
    assert alert["silenced_by"] == [made["id"]]
    assert (alert["ack"]["by"], alert["ack"]["comment"]) == ("me", "on it")
    assert (
        client.delete(f"/api/v1/alerts/silences/{made['id']}", headers=headers).json()["state"] == "expired"
    )
    assert alerting.get("/api/v1/alerts")["items"][0]["silenced_by"] == []
    everything = silence | {"matchers": [{"label": "a", "op": "=~", "value": ".*"}]}
    answer = client.post("/api/v1/alerts/silences", json=everything, headers=headers)
    assert "everything" in alerting.error(answer, 400)["message"]
    assert alerting.error(client.delete("/api/v1/alerts/silences/x", headers=headers), 404)


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_a_channel_is_tested_and_its_secrets_stay_here(alerting: Any) -> None:
    hook = HTTPServer(("127.0.0.1", 0), _Hook)
    hook.status = 500  # type: ignore[attr-defined]
    Thread(target=hook.serve_forever, daemon=True).start()
    url = f"json://user:{SECRET}@127.0.0.1:{hook.server_port}/path/{SECRET}?+X-Key={SECRET}"
    (alerting.folder / "alerts" / "channels.yml").write_text(
        f"channels:\n- {{name: hook, type: apprise, urls: ['{url}']}}\n"
    )
    alerting.server.services.alerts.notifier.reload()
    post, headers = alerting.client.post, acting(alerting)
    failed = post("/api/v1/alerts/channels/hook/test", headers=headers)
    assert failed.json()["ok"] is False
    after_failure = alerting.client.get("/api/v1/alerts/channels")
    assert after_failure.json()["items"][0]["last_error"]
    hook.status = 200  # type: ignore[attr-defined]
    worked = post("/api/v1/alerts/channels/hook/test", headers=headers)
    assert worked.json() == {"ok": True, "error": None}
    after_success = alerting.client.get("/api/v1/alerts/channels")
    assert after_success.json()["items"][0]["last_ok"] is True
    for answer in (failed, after_failure, worked, after_success):
        assert SECRET not in answer.text
        assert "user:" not in answer.text
    assert alerting.error(post("/api/v1/alerts/channels/none/test", headers=headers), 404)
    hook.shutdown()
    hook.server_close()


def test_rules_leave_as_prometheus_reads_them(alerting: Any, tmp_path: Path) -> None:
    text = alerting.client.get("/api/v1/alerts/export").text
    (tmp_path / "exported.yml").write_text(text)
    checked = subprocess.run(
        ["promtool", "check", "rules", str(tmp_path / "exported.yml")], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "NodeDead" in text
    assert "NodeCpuHigh" not in text  # it is switched off
    one = alerting.client.get("/api/v1/alerts/export", params={"rule": "NodeDead"}).text
    assert "QueueLong" not in one


def test_the_command_lists_tests_exports_and_notifies(
    alerting: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["alerts", *args, "--server", alerting.server.url])
        assert done.exit_code == code, done.output
        return done.output

    assert "QueueLong" in run("list")
    assert '"firing":1' in run("list", "--format", "json").replace(" ", "")
    tried = run("test", "QueueLong", "--since", "-2m")
    assert "would have fired once" in tried
    (tmp_path / "plain.yml").write_text(
        "groups: [{name: g, interval: 5s, rules: [{alert: Plain, expr: my_queue > 41}]}]"
    )
    assert "my_queue > 41, value 45 (queue=q1)" in run("test", str(tmp_path / "plain.yml"), "--since", "-2m")
    (alerting.folder / "alerts" / "plain.yml").write_text((tmp_path / "plain.yml").read_text())
    alerting.server.services.alerts.turn(time.time_ns() + 25 * S)
    assert "my_queue > 41, value 90 (queue=q1)" in run("list")
    (alerting.folder / "alerts" / "plain.yml").unlink()
    (tmp_path / "own.yml").write_text(
        "groups: [{name: g, interval: 5s, rules: [{alert: Never, expr: my_queue > 1000}]}]"
    )
    assert "would not have fired" in run("test", str(tmp_path / "own.yml"))
    assert "not found" in run("test", "Nothing", code=1)
    run("export", "--output", str(tmp_path / "rules.yml"))
    assert "QueueLong" in (tmp_path / "rules.yml").read_text()
    added = ("add", "Lonely", "no_such_metric > 5", "--for", "1m", "--data-dir", str(alerting.folder))
    said = run(*added)
    assert "rayscope alerts test Lonely" in said
    assert "No series has this name yet: no_such_metric. Check the spelling" in said
    alerting.server.services.alerts.turn(time.time_ns() + 30 * S)
    assert "No series has this name yet: no_such_metric." in run("list")
    for wait in ((), ("--for", "0"), ("--for", "0s"), ("--for", "0h0m")):
        run("add", "AtOnce", "no_such_metric > 5", *wait, "--data-dir", str(alerting.folder))
        (at_once,) = (r for r in alerting.get("/api/v1/alerts/rules")["items"] if r["name"] == "AtOnce")
        assert at_once["for_s"] == 0
    assert "not a duration" in run("add", "Lonely", "m > 5", "--for", "soon", code=1)
    assert "not found" in run("notify", "none", "--data-dir", str(alerting.folder), code=1)
    hostile, now_ns = "\x1b]0;owned\x07[red]q\u202e\x9b[/red]", time.time_ns()
    store = alerting.server.services.metrics.store(SESSION)
    store.append(now_ns - 2 * S, [sample("my_queue", 90, queue=hostile)])
    alerting.server.services.alerts.turn(now_ns + 40 * S)
    for out in (run("list"), run("list", "--format", "json"), run("test", "QueueLong", "--since", "-2m")):
        assert not set("\x1b\x07\u202e\x9b") & set(out)
        assert "[red]q" in out


@pytest.mark.parametrize(
    ("expr", "warning"),
    [
        ("my_queue > 80", None),
        ("my_queu > 80", "No series has this name yet: my_queu. Check the spelling"),
        ("cpu_usage > 80", "No series has this name yet: cpu_usage. Write: ray_node_cpu_utilization > 80"),
        ("sum(node_status) < 2", "node_status. Write: sum(rayscope_node_up) < 2"),
        ("memory_usage > 9", "memory_usage. Write: (100 * ray_node_mem_used / ray_node_mem_total) > 9"),
        ("task_failure_rate > 9", "Write: (100 * (increase(rayscope_task_attempts_failed_total[5m])"),
        ("avg_over_time(cpu_usage[1m]) > 9", "Write: ray_node_cpu_utilization for cpu_usage."),
    ],
)
def test_whoever_adds_a_rule_whose_names_no_series_has_is_warned(
    alerting: Any, monkeypatch: pytest.MonkeyPatch, expr: str, warning: str | None
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    place = ("--server", alerting.server.url, "--data-dir", str(alerting.folder))
    said = CliRunner().invoke(app, ["alerts", "add", "Odd", expr, *place]).output
    assert "Added Odd." in said
    assert warning in said if warning else "No series" not in said
    operator = alerting.server.services.secrets.operator_token
    with (
        rayscope.Client(alerting.server.url, operator_token=operator) as client,
        catch_warnings(record=True) as caught,
    ):
        simplefilter("always")
        assert client.add_rule("Odd", expr) == "Odd"
    assert [warning in str(each.message) for each in caught] == ([True] if warning else [])


def test_old_names_are_translated_before_anything_is_recorded(fresh: Any) -> None:
    path, headers = "/api/v1/alerts/rules/Odd", acting(fresh)
    for expr, number in (("cpu_usage > 80", 1), ("not_yet > 1", 0)):
        added = fresh.client.put(path, json={"expr": expr}, headers=headers).json()
        assert (added["name"], len(added["warnings"])) == ("Odd", number)


def test_the_operator_makes_changes_and_removes_rules(alerting: Any) -> None:
    client, headers = alerting.client, acting(alerting)
    path, rule = (
        "/api/v1/alerts/rules/Busy",
        {"expr": "my_queue > 1", "for_s": 60, "labels": {"severity": "info"}},
    )
    assert alerting.error(client.put(path, json=rule), 403)["code"] == "needs_operator"
    for bad in (
        {"expr": "my_queue >"},
        rule | {"annotations": {"summary": "{{ no }}"}},
    ):
        assert alerting.error(client.put(path, json=bad, headers=headers), 400)["remedy"]
    assert client.put(path, json=rule, headers=headers).status_code == 200

    def rules() -> dict[str, Any]:
        return {each["name"]: each for each in alerting.get("/api/v1/alerts/rules")["items"]}

    simple = {"id": "a", "name": "b", "metric": "cpu_usage", "operator": ">", "threshold": 80}
    refused = alerting.error(client.put(path, json=simple, headers=headers), 422)
    assert "A rule needs `expr`" in refused["message"]
    assert "expr: ray_node_cpu_utilization > 80" in refused["message"]
    assert rules()["Busy"]["unknown_metrics"] == []
    assert (rules()["Busy"]["source"], rules()["Busy"]["for_s"], rules()["Busy"]["threshold"]) == (
        "ui.yml",
        60,
        1,
    )
    for enabled in (False, True):
        change = {"enabled": enabled}
        assert (
            client.put("/api/v1/alerts/rules/NodeDead/enabled", json=change, headers=headers).status_code
            == 200
        )
        assert rules()["NodeDead"]["enabled"] is enabled
    client.put("/api/v1/alerts/rules/NodeDead", json=rule, headers=headers)
    assert rules()["NodeDead"]["source"] == "ui.yml"
    client.delete("/api/v1/alerts/rules/NodeDead", headers=headers)
    assert rules()["NodeDead"]["source"] == "shipped"
    assert alerting.error(
        client.delete("/api/v1/alerts/rules/QueueLong", headers=headers), 404
    )  # of mine.yml
    assert (alerting.folder / "alerts" / "mine.yml").read_text() == RULES


def test_the_operator_makes_channels_whose_secrets_never_leave(alerting: Any) -> None:
    client, headers = alerting.client, acting(alerting)
    path, file = "/api/v1/alerts/channels/am", alerting.folder / "alerts" / "channels.yml"
    made: dict[str, Any] = {"type": "alertmanager", "config": {"url": "http://one:9093", "token": SECRET}}
    assert alerting.error(client.put(path, json=made), 403)["code"] == "needs_operator"
    for bad in (
        {"type": "alertmanager"},
        made | {"config": {"url": "file:///etc/passwd"}},
        made | {"config": {"url": "http://one:9093", "name": "x"}},
        {"type": "unknown", "config": {}},
    ):
        assert alerting.error(client.put(path, json=bad, headers=headers), 400)["remedy"]
    assert not file.exists()
    assert client.put(path, json=made, headers=headers).status_code == 200
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o644)  # as somebody wrote it by hand, without a secret
    client.put(path, json={"type": "alertmanager", "match": {"severity": "critical"}}, headers=headers)
    assert SECRET in file.read_text()  # the address was not given again
    assert file.stat().st_mode & 0o777 == 0o600
    (channel,) = alerting.get("/api/v1/alerts/channels")["items"]
    assert (channel["targets"], channel["match"]) == (["one:9093"], {"severity": "critical"})
    assert SECRET not in str(channel)
    client.put(path, json=made | {"config": {"url": "http://two:9093"}}, headers=headers)
    assert SECRET not in file.read_text()  # no secret goes to another address
    client.delete(path, headers=headers)
    assert alerting.get("/api/v1/alerts/channels")["items"] == []
