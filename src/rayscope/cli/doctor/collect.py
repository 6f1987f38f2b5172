"""Gathers the facts for ``rayscope doctor`` from the GCS, the server, and this machine. Changes nothing.

Every wait has a time limit. A fact that cannot be determined stays None, or ``error`` has the reason.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rayscope.cli import recording
from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.doctor.facts import Facts, Measured, Node, Reading, ServerFacts, key_in, place, same_place
from rayscope.cli.doctor.host import PROBE_TASKS, Here, Probe, counters, drivers
from rayscope.cli.serving import running_server
from rayscope.client.calls import Call
from rayscope.ray.auth import ray_token
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs import snapshot
from rayscope.ray.gcs.client import ClusterInfo, GcsClient, GcsError
from rayscope.settings import Settings

_GCS_S = 5.0
_API_S = 5.0
#: A key that no node has, since keys have at least 16 characters.
_NO_KEY = "-"
#: How long to wait for an agent's report that includes the probe, in seconds. Agents report every 5 s.
_REPORT_S = 6.0


def collect(
    address: str, settings: Settings, server: str | None, data_dir: Path | None, seconds: float, probe: bool
) -> Facts:
    """Gather all facts. Raises GcsError if the cluster cannot be reached.

    All other errors are part of the facts.
    """
    with contextlib.closing(GcsClient(address, ray_token(), timeout_s=_GCS_S)) as client:
        info = client.cluster_info()
        alive = [node for node in client.nodes() if node.state == 0]  # GcsNodeState.ALIVE
        here = Here(info.session)
        running = tuple(drivers(client.jobs()))
        found, token, key = _find_server(settings, server, here)
        with contextlib.ExitStack() as stack:
            api = stack.enter_context(contextlib.closing(Api(found, token, _API_S))) if found else None
            ports = {
                node.node_id.hex(): (node.node_manager_address, node.metrics_export_port)
                for node in alive
                if node.node_id.hex() in here.raylets and node.metrics_export_port > 0
            }
            driver = stack.enter_context(Probe(address, here.python())) if probe else None
            server_before, counted = _ask(api, info.session), counters(ports)
            began, began_ns, cpu = time.monotonic(), time.time_ns(), here.cpu(found)
            if driver is not None:
                driver.run()
            time.sleep(seconds)
            took, ended_ns = time.monotonic() - began, time.time_ns()
            spent = {kind: used - cpu[kind] for kind, used in here.cpu(found).items() if kind in cpu}
            now, counted_now = _ask(api, info.session), counters(ports)
            probed = driver is not None and not driver.error
            if probed:
                now = _await_reports(api, info.session, now, ended_ns)
        reading, ended = _read(client, info, began_ns, ended_ns)
        deadline = time.monotonic() + _REPORT_S
        # On a busy machine, the ends of the probe's tasks are reported late.
        while probed and ended is not None and len(ended) < PROBE_TASKS and time.monotonic() < deadline:
            time.sleep(0.5)
            reading, ended = _read(client, info, began_ns, ended_ns)
        config = client.internal_config()
        if config is not None:
            config = {name: config[name] for name in recording.system_config() if name in config}
    agents = {item["node_id"]: item for item in server_before.recording.get("nodes", ())}
    lanes = {item["node_id"]: item for item in now.recording.get("nodes", ())}
    nodes = []
    for row in alive:
        node_id = row.node_id.hex()
        about = {**here.about(node_id, key), **_lane(lanes.get(node_id), agents.get(node_id), now)}
        if node_id in counted_now:
            before, after = counted.get(node_id, {}), counted_now[node_id]
            about["received"] = after["received"] - before.get("received", 0)
            about["lost"] = after["lost"]
        nodes.append(Node(node_id, row.node_manager_address, bool(row.is_head_node), **about))
    spans, spans_before = now.recording.get("spans"), server_before.recording.get("spans")
    return Facts(
        address=address,
        session=info.session,
        ray_version=info.ray_version or "",
        nodes=tuple(sorted(nodes, key=lambda node: (not node.head, node.node_id))),
        drivers=running,
        config=config,
        server=now,
        reading=reading,
        measured=Measured(
            seconds=took,
            ended=len(ended) if ended is not None else None,
            ended_here=sum(node in here.raylets for node in ended) if ended is not None else None,
            cpu=spent,
            spans=None if spans is None or spans_before is None else spans - spans_before,
            probe=probed,
            probe_error=driver.error if driver is not None else "",
        ),
        data_dir=str(data_dir) if data_dir else "",
    )


# The server.


def sessions_of(settings: Settings, named: str | None) -> list[str]:
    """Return the sessions on record at the given server, or at the server of the data directory."""
    url = named or getattr(running_server(settings.folder), "url", None)
    if url is None:
        return []
    try:
        with Api(url, settings.token, _API_S) as api:
            return list(api.by_name())
    except RayscopeError:
        return []


def _find_server(settings: Settings, named: str | None, here: Here) -> tuple[str | None, str | None, str]:
    """Return (URL, our token, ingest key) of the given server, or ours, or the one nodes send events to."""
    if named:
        url, _, path = named.partition("/api/ingest/")
        key = path.partition("/")[0] or _key(settings.folder, url)
        return url, settings.token, key or _accepted_key(url, settings.token, here)
    found = running_server(settings.folder)
    if found is not None:
        return found.url, settings.token, key_in(found.ingest_url)
    for target in here.exports():
        url = place(target)
        try:
            with Api(url, None, _API_S) as api:
                api.health()
        except RayscopeError:
            continue
        return url, None, ""  # this URL comes from the nodes' settings: never send our token there
    return None, None, ""


def _key(folder: Path, url: str) -> str:
    """Return the key of the server at ``url``, if it is the server of our data directory."""
    ours = running_server(folder)
    return key_in(ours.ingest_url) if ours is not None and same_place(ours.url, url) else ""


def _accepted_key(url: str, token: str | None, here: Here) -> str:
    """Return the ingest key of a local node that the server at ``url`` accepts.

    The result is empty if no node sends its events there. If the server accepts none of the nodes' keys, it
    is a key that no node has.
    """
    keys = {key_in(target) for target in here.exports() if same_place(target, url)}
    with Api(url, token, _API_S) as api:
        for key in sorted(keys):
            try:
                api.ask(Call("POST", f"/api/ingest/{key}/agent", content=b""))
            except RayscopeError as error:
                if error.code == "malformed":  # the server accepted the key and read the (empty) report
                    return key
                if error.code != "bad_key":
                    return ""
    return _NO_KEY if keys else ""


def _ask(api: Api | None, session: str) -> ServerFacts:
    if api is None:
        return ServerFacts()
    try:
        health = api.health()
    except RayscopeError as error:
        return ServerFacts(api.url, error.message, error.remedy)
    facts = ServerFacts(api.url, version=str(health.get("version") or ""), health=health)
    try:
        if session not in api.by_name():
            return replace(facts, known=False)
        recording_answer, ingest = api.recording(session), api.summary(session).get("ingest") or {}
        crashes = api.crashes(session=session, limit=1)
    except RayscopeError as error:
        return replace(facts, error=error.message, remedy=error.remedy)
    return replace(facts, known=True, recording=recording_answer, ingest=ingest, crashes=crashes)


def _await_reports(api: Api | None, session: str, now: ServerFacts, since_ns: int) -> ServerFacts:
    """Poll the server until the agents' reports include the probe. Returns the server's newest facts."""
    if api is None or now.error:
        return now
    deadline = time.monotonic() + _REPORT_S
    while time.monotonic() < deadline and any(
        item["agent"] and item["lane"] == "fast" and item["agent"]["time_ns"] < since_ns
        for item in now.recording.get("nodes", ())
    ):
        time.sleep(0.3)
        again = _ask(api, session)
        now = now if again.error else again
    return now


def _lane(now: Any, before: Any, server: ServerFacts) -> dict[str, Any]:
    """Return what the server knows about one node."""
    if not server.known:
        return {}
    if now is None and server.recording.get("nodes_total", 0) > len(server.recording.get("nodes", ())):
        return {}  # the node is among those that the response left out
    if now is None:
        return {"lane": "none", "lane_code": "no_events"}
    about = {key: now.get(key) for key in ("lane", "lane_code", "lane_reason", "agent")}
    agent, earlier = now.get("agent"), (before or {}).get("agent")
    if agent and now["lane"] == "fast" and agent["received"]:
        base = earlier if earlier and earlier["pid"] == agent["pid"] else {"received": 0, "busy_s": 0.0}
        if agent["received"] - base["received"] < 1:
            base = {"received": 0, "busy_s": 0.0}
        about["us_an_event"] = (
            (agent["busy_s"] - base["busy_s"]) * 1e6 / (agent["received"] - base["received"])
        )
        about["since_start"] = not base["received"]
    return about


def _task_table(client: GcsClient, info: ClusterInfo) -> snapshot.TaskTable:
    if info.dashboard_url is None:
        return snapshot.read_tasks(client, None)
    with contextlib.closing(Dashboard(info.dashboard_url, client.token, session=info.session)) as dashboard:
        return snapshot.read_tasks(client, dashboard)


def _read(
    client: GcsClient, info: ClusterInfo, began_ns: int, ended_ns: int
) -> tuple[Reading, list[str] | None]:
    """Read the whole GCS once. Also return the nodes of the attempts that ended between the two times."""
    began = time.monotonic()
    try:
        table = _task_table(client, info)
        batch = snapshot.read(client, info.session, table=table)
    except GcsError as error:
        return Reading(error=error.message, remedy=error.remedy), None
    took = time.monotonic() - began
    ended = [
        attempt.node_id or ""
        for attempt in batch.attempts
        if any(began_ns <= attempt.states.get(state, 0) <= ended_ns for state in ("FINISHED", "FAILED"))
    ]
    lost = sum(drop.count for drop in batch.drops if drop.reason == "status_events_dropped")
    return Reading(took, len(batch.attempts), len(batch.entities), lost, table.source), ended
