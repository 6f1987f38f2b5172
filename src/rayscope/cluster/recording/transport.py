"""Finds how the events of each node reach the server, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rayscope.cluster.recording import schemas
from rayscope.cluster.recording.versions import version_notes
from rayscope.storage.about import About
from rayscope.storage.sql.pages import Row

#: Codes for the reasons why a node does not use the fast lane (explained in docs/reference/api.md).
NOT_INSTALLED = "not_installed"
AGENT_SAID = "agent_said"
NO_EVENTS = "no_events"
NOT_NOTED = "not_noted"


def lane_of(about: About, node_id: str) -> tuple[schemas.Lane, str | None, str | None]:
    """The ``lane``, ``lane_code`` and ``lane_reason`` of a node."""
    report = about.agents.get(node_id)
    if report is None and about.nameless_json:
        return "json", NOT_INSTALLED, None
    # Another server has the report, or the session is older than the recording of transports.
    if report is None and (about.followed_ns or (about.events and not about.agents)):
        return "unknown", NOT_NOTED, None
    if report is None:
        return "none", NO_EVENTS, None
    if report.lane == "fast":
        return "fast", None, None
    if report.pid == 0:  # the node never sent a report itself
        return "json", NOT_INSTALLED, None
    return "json", AGENT_SAID, report.reason or None


def lanes(nodes: Iterable[Row], about: About) -> list[schemas.NodeLane]:
    """An item for each node that is known or has sent something, live ones first, with its transport and its
    agent.

    ``nodes``: items with ``node_id``, ``state``, ``node_ip`` and ``hostname``.
    """
    known = {node["node_id"]: node for node in nodes}
    found = []
    order = sorted({*known, *about.agents}, key=lambda id: (known.get(id, {}).get("state") == "DEAD", id))
    for node_id in order:
        node, report = known.get(node_id, {}), about.agents.get(node_id)
        lane, code, reason = lane_of(about, node_id)
        item: schemas.NodeLane = {
            "node_id": node_id,
            "state": node.get("state"),
            "address": node.get("node_ip"),
            "hostname": node.get("hostname"),
            "lane": lane,
            "lane_code": code,
            "lane_reason": reason,
            "agent": None,
        }
        if report is not None and report.pid:
            lost = sum(kind.count for kind in report.lost)
            item["agent"] = {
                "pid": report.pid,
                "ray_version": report.ray_version,
                "rayscope_version": report.rayscope_version,
                "time_ns": report.time_ns,
                "since_ns": report.since_ns,
                "received": report.received,
                "sent": report.sent,
                # Events that were handed over to Ray's exporter are no longer counted.
                "waiting": max(0, report.received - report.sent - lost) if report.lane == "fast" else 0,
                "raw_bytes": report.raw_bytes,
                "sent_bytes": report.sent_bytes,
                "bodies": report.bodies,
                "refused": report.refused,
                "trouble": report.trouble or None,
                "busy_s": report.busy_s,
                "cpu_s": report.cpu_s,
                "lost": lost,
                "dropped_attempts": report.dropped_attempts,
            }
        found.append(item)
    return found


def summary(items: Iterable[schemas.NodeLane], ray_version: str | None) -> schemas.Lanes:
    """The number of live nodes by transport, the reasons why nodes do not use the fast lane, and notes about
    versions.

    If the cluster has ended, all nodes are counted.
    """
    items = list(items)
    items = [item for item in items if item["state"] != "DEAD"] or items
    counts = Counter(item["lane"] for item in items)
    reasons: dict[tuple[str, str, str], schemas.LaneReason] = {}
    for item in items:
        if item["lane_code"] is None:
            continue
        key = (item["lane"], item["lane_code"], item["lane_reason"] or "")
        seen = reasons.setdefault(
            key,
            {
                "lane": item["lane"],
                "code": item["lane_code"],
                "reason": item["lane_reason"],
                "nodes": 0,
                "node_id": item["node_id"],
                "address": item["address"],
            },
        )
        seen["nodes"] += 1
    return {
        "fast": counts["fast"],
        "json": counts["json"],
        "none": counts["none"],
        "unknown": counts["unknown"],
        "reasons": list(reasons.values())[:50],
        "versions": version_notes(items, ray_version),
    }
