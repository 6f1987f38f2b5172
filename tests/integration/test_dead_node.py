"""A node whose raylet is killed: its pages, the kept data, and the alert that fires."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import pytest
from tests.cluster import Node
from tests.recorded import Recorded, talk, texts
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

S = 10**9


@dataclass
class Dying:
    """A node that ran a task and was measured, then killed; which alerts there were of it, and when."""

    cluster: Recorded
    node: Node
    #: A task that ran there, and the file with its lines.
    task: str
    file: str
    #: (rule, state) -> seconds after the kill when it was first seen.
    alerts: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def node_id(self) -> str:
        return self.node.node_id

    def about(self) -> Any:
        return self.cluster.get(f"/api/v1/nodes/{self.node_id}")

    def look_for_alerts(self, since: float) -> list[dict[str, Any]]:
        """The alerts of this node that are pending or firing."""
        items = self.cluster.get("/api/v1/alerts")["items"]
        found = [one for one in items if one["labels"].get("node_id") == self.node_id]
        for one in found:
            self.alerts.setdefault((one["rule"], one["state"]), time.monotonic() - since)
        return found


@pytest.fixture(scope="module")
def dead(cluster: Recorded) -> Dying:
    node = cluster.add_node("third", "--num-cpus=1", '--resources={"third": 1}')
    path = f"/api/v1/nodes/{node.node_id}"
    wait_until(lambda: node.node_id in {n["node_id"] for n in cluster.get("/api/v1/nodes")["items"]}, "it")
    _, _, task, where, _ = talk(cluster, "third")
    assert where == node.node_id

    def find_copy() -> Any:
        """The file with the task's lines, once all of them are kept."""
        found = [
            part
            for part in cluster.request("/api/v1/logs/of", task_id=task).json().get("parts")
            or []  # once it is known
            if part["stream"] == "out" and len(texts(part)) == 5
        ]
        files = cluster.get("/api/v1/logs", node_id=node.node_id, kind="worker_out")["files"]
        of = {file["name"]: file["kept"] for file in files}
        return next((part["name"] for part in found if of[part["name"]] >= part["page"]["end"]), None)

    def is_reported_alive() -> bool:
        found = cluster.get("/api/v1/metrics", name="rayscope_node_up")["items"]
        return any(one["labels"]["node_id"] == node.node_id and one["value"] == 1 for one in found)

    file = wait_until(find_copy, "its lines are kept")
    wait_until(lambda: (cluster.get(path)["usage"] or {}).get("usage_ns"), "its account")
    wait_until(is_reported_alive, "the node is measured")
    made = Dying(cluster, node, task, file)
    made.look_for_alerts(time.monotonic())
    assert [rule for rule, _ in made.alerts if rule == "NodeDead"] == []
    made.alerts.clear()
    killed = time.monotonic()
    killing = Thread(target=node.kill)
    killing.start()

    def has_fired() -> bool:
        made.look_for_alerts(killed)
        return ("NodeDead", "firing") in made.alerts

    # Ray itself takes 13 to 15 s to notice, and the rule waits 10 s; on a busy machine, longer.
    wait_until(has_fired, "the alert fires")
    killing.join()
    print({f"{rule} {state}": f"{after:.1f} s" for (rule, state), after in made.alerts.items()})
    return made


def test_an_alert_fires(dead: Dying) -> None:
    """The rule of `NodeDead` waits 10 s by itself; before Ray knows of the death, the node is missed."""
    rules = {rule["name"]: rule for rule in dead.cluster.get("/api/v1/alerts/rules")["items"]}
    for name in ("NodeCpuHigh", "NodeMemoryHigh", "ObjectStoreNearlyFull", "UnschedulableDemands"):
        # The built-in rules read series that a real cluster has.
        expr = rules[name]["value_expr"]
        wait_until(lambda expr=expr: dead.cluster.get("/api/v1/metrics/query", expr=expr)["series"], name)
    assert {("NodeSilent", "firing"), ("NodeDead", "pending")} & dead.alerts.keys()
    (fired,) = [
        one for one in dead.look_for_alerts(0) if (one["rule"], one["state"]) == ("NodeDead", "firing")
    ]
    assert fired["annotations"]["summary"].endswith(" is dead")
    assert fired["fired_ns"] - fired["active_ns"] >= 10 * S
    topic = dead.cluster.get("/api/v1/realtime", topic="alerts")["data"]
    assert dead.node_id in [one["labels"].get("node_id") for one in topic["items"]]


def test_it_is_dead_with_its_reason_and_what_it_used_last(dead: Dying) -> None:
    assert dead.node_id not in dead.cluster.alive()
    node = dead.about()
    assert node["state"] == "DEAD"
    assert node["death_reason"] == "UNEXPECTED_TERMINATION"
    assert node["death_message"]
    # Its last usage is kept and marked as not current.
    assert node["usage"]["cpu_percent"] is not None
    assert not node["usage"]["current"]
    assert node["resources"] is None
    dead_nodes = dead.cluster.get("/api/v1/nodes", state="DEAD", limit=1000)["items"]
    assert dead.node_id in [one["node_id"] for one in dead_nodes]
    # This answer is shared among all who ask: it may be some seconds old.
    wait_until(
        lambda: dead.node_id in [one["node_id"] for one in dead.cluster.get("/api/v1/nodes/cells")["dead"]],
        "it among the dead of the machine view",
    )
    assert dead.node_id not in dead.cluster.get("/api/v1/nodes/cells")["nodes"]["node_id"]


def test_its_lines_are_still_there(dead: Dying) -> None:
    of = {"node_id": dead.node_id}
    nodes = dead.cluster.get("/api/v1/logs", **of)["nodes"]
    assert any(node["node_id"] == dead.node_id and node["state"] == "DEAD" for node in nodes)
    page = dead.cluster.get("/api/v1/logs/file", name=dead.file, **of)
    assert not page["live"]
    assert page["problem"]
    lines = [f"omega line {number} äöü 雪" for number in range(5)]
    assert [line["text"] for line in page["lines"] if line["text"].startswith("omega")] == lines
    parts = dead.cluster.get("/api/v1/logs/of", task_id=dead.task)["parts"]
    assert texts(parts[0]) == lines
    assert dead.cluster.get("/api/v1/logs/search", q="omega line 4", **of)["items"]
    gone = dead.cluster.request("/api/v1/logs/file", name="raylet.out", **of)
    assert gone.status_code == 404
    assert gone.json()["error"]["remedy"]
