"""Evaluates the facts of ``rayscope doctor``: one or more findings for each part of the recording. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rayscope.cli import recording
from rayscope.cli.doctor.facts import Facts, Node, is_true, same_place
from rayscope.cli.printing import counted
from rayscope.ray.versions import version_note

ON = "on"
PARTLY = "partly"
OFF = "off"
UNKNOWN = "unknown"
SERVER = "server"
EXPORT = "export of events"
LANE = "lane"
TRACER = "tracer"
TASK_EVENTS = "task events"
SPANS = "profile spans"
SNAPSHOT = "snapshot fallback"

#: Minimum number of tasks for computing CPU cost per task. With fewer, the processes' idle work would
#: dominate.
_ENOUGH = 100
_NAMED = 3
_AGAIN = "Stop the node, then start it with your other options:"
_BEHIND_S = 5


@dataclass(frozen=True)
class Finding:
    """The state of one part of the recording.

    ``remedy`` says what to do, and ``command`` is the exact command line for it.
    """

    part: str
    state: str
    says: str
    cost: str = ""
    remedy: str = ""
    command: str = ""


def judge(facts: Facts) -> list[Finding]:
    """Return all findings, in the order in which they are printed."""
    return [
        _server(facts),
        _export(facts),
        *_lanes(facts),
        _tracer(facts),
        *_without_events(facts),
        _spans(facts),
        _snapshot(facts),
    ]


def notes(facts: Facts) -> list[str]:
    """Return notes about the cluster that do not make the recording incomplete: versions, the debugger."""
    versions = (facts.server.recording.get("lanes") or {}).get("versions") or ()
    agents = [f"{note['message']} {note['remedy']}" for note in versions if note["code"] == "other_agent"]
    return [note for note in (version_note(facts.ray_version), *agents, _debugger_note(facts)) if note]


def _debugger_note(facts: Facts) -> str | None:
    nodes = [node for node in facts.nodes if node.debugpy is False]
    if not nodes:
        return None
    return (
        f"Tasks on {_names(nodes)} cannot wait for a debugger: breakpoint() only logs a line, because the "
        f"Python that runs Ray there has no debugpy. Install it: {nodes[0].python} -m pip install debugpy"
    )


def is_whole(findings: Iterable[Finding]) -> bool:
    """Return whether the recording is complete."""
    return all(finding.state == ON for finding in findings)


def _server(facts: Facts) -> Finding:
    server, targets = facts.server, _targets(facts)
    if server.url is None:
        says, command = "No server is running on this data directory", _with_data_dir("rayscope serve", facts)
        if targets:
            says += f", and none responds at {targets[0]}, where the nodes send their events"
            port = urlsplit(targets[0]).port
            command += f" --port {port}" if port else ""
        return Finding(SERVER, OFF, f"{says}.", remedy="Start one:", command=command)
    if server.error:
        remedy, _, command = server.remedy.partition(": rayscope ")
        state = UNKNOWN if server.version else OFF
        if command:
            return Finding(SERVER, state, server.error, remedy=f"{remedy}:", command=f"rayscope {command}")
        return Finding(SERVER, state, server.error, remedy=server.remedy)
    says, cost = f"{server.url} (version {server.version or '?'})", _cpu_cost(facts, "server")
    cost = cost and f"{cost} in the server's process, which serves only Rayscope (all sessions)."
    if server.health.get("status") != "ok":
        error = server.health.get("error") or {}
        says += f" is running but cannot record everything: {error.get('message') or 'it gives no reason.'}"
        return Finding(SERVER, PARTLY, says, cost, error.get("remedy") or "See the server's log.")
    if server.known is False:
        says += " is not recording this session"
        other_target = next((target for target in targets if not same_place(target, server.url)), None)
        if other_target:
            says += f", whose events go to {other_target}."
            command = f"rayscope doctor {facts.address} --server {other_target}"
            return Finding(SERVER, PARTLY, says, cost, "Check that server instead:", command)
        command = _with_data_dir(f"rayscope attach {facts.address}", facts)
        return Finding(SERVER, PARTLY, f"{says}.", cost, "To record snapshots:", command)
    says += " is recording this session."
    rejected = server.ingest.get("rejected_batches") or 0
    if rejected:
        says += f" Since it started, it could not read {counted(rejected, 'batch')} of events."
        remedy = "They are in rejected/ in its data directory; its log says why."
        return Finding(SERVER, PARTLY, says, cost, remedy)
    behind_s = (server.ingest.get("behind_ns") or 0) / 1e9
    if behind_s > _BEHIND_S:
        says += f" It is {behind_s:.0f} s behind in writing them."
    return Finding(SERVER, ON, says, cost)


def _export(facts: Facts) -> Finding:
    nodes, cost = facts.nodes, _export_cost(facts)
    sending = [node for node in nodes if node.lane in ("fast", "json")]
    if not sending:
        return _no_events(facts, cost)
    problem = _misses(facts)
    if problem is not None:
        return Finding(EXPORT, PARTLY, problem[0], cost, problem[1], problem[2])
    says = f"{_count(len(sending), len(nodes))} sending events."
    if len(sending) < len(nodes):
        return Finding(EXPORT, PARTLY, says, cost, "See the lanes below.")
    others = [driver for driver in facts.drivers if not driver.worker_events]
    if others and not _configured(facts, recording.WORKER_EVENTS):
        says += f" {_pids(others)} without {recording.WORKER_EVENTS} and may not send all events."
        return Finding(EXPORT, PARTLY, says, cost, "Start drivers with:", "rayscope run SCRIPT")
    return Finding(EXPORT, ON, says, cost)


def _no_events(facts: Facts, cost: str) -> Finding:
    """Return the finding that no node sends events, as far as the server knows."""
    targets = _targets(facts)
    if not targets and any(node.env for node in facts.nodes):
        says = "The cluster was started without recording: its nodes send no events."
        command = _with_data_dir(f"rayscope attach {facts.address}", facts)
        if "snapshot" in str(facts.server.recording.get("recording")):
            says += " The server records snapshots instead."
            return Finding(EXPORT, OFF, says, "", _AGAIN, _start_line(facts, facts.nodes[0]))
        remedy = "To record snapshots until you restart it with `rayscope start`:"
        return Finding(EXPORT, OFF, says, "", remedy, command)
    if not targets:
        says = "No events have arrived, and no node's settings can be read from here."
        return Finding(EXPORT, UNKNOWN, says, cost, "On the head node:", f"rayscope doctor {facts.address}")
    configured = sum(bool(node.env and node.env.ours) for node in facts.nodes)
    says = f"{_count(configured, len(facts.nodes))} configured to send events to {targets[0]}"
    lost = sum(node.lost or 0 for node in facts.nodes)
    kept = f" Already dropped: {counted(lost, 'event')}." if lost else ""
    if facts.server.url and not same_place(facts.server.url, targets[0]):
        says += f", not to {facts.server.url}.{kept}"
        command = f"rayscope doctor {facts.address} --server {targets[0]}"
        return Finding(EXPORT, PARTLY, says, cost, "Check that server instead:", command)
    if facts.server.known is None:
        says += ". Until a server accepts them, an agent keeps 100,000 events, or 128 MiB on the fast lane."
    else:
        says += ", but none have arrived."
    return Finding(EXPORT, PARTLY, says + kept, cost, "See the server above and the lanes below.")


def _misses(facts: Facts) -> tuple[str, str, str] | None:
    """Return what the record of a cluster that sends events lacks, as (problem, remedy, command)."""
    envs = [node.env for node in facts.nodes if node.env]
    off = {
        f"tasks: {recording.WORKER_EVENTS}": not _configured(facts, recording.WORKER_EVENTS)
        and any(not env.worker_events for env in envs),
        f"actors, nodes and jobs: {recording.CLUSTER_EVENTS}": not _configured(
            facts, recording.CLUSTER_EVENTS
        )
        and any(not env.cluster_events for env in envs),
    }
    for what, is_off in off.items():
        if is_off and facts.config is not None:
            head = next((one for one in facts.nodes if one.head), facts.nodes[0])
            says = f"Events arrive, but not those of {what} is off."
            return says, _AGAIN, _start_line(facts, head)
    dropped = facts.server.recording.get("dropped") or {}
    lost, repaired = dropped.get("total") or 0, dropped.get("repaired_total") or 0
    if lost <= repaired and not (lost and dropped.get("repaired_partly")):
        return None
    by = [one for one in dropped.get("by") or () if one["reason"] != "profile_events_dropped"]
    named = "; ".join(f"{one['count']:,} by {one['source']} ({one['reason']})" for one in by[:_NAMED])
    says = f"Task events dropped: {lost:,}{f' ({named})' if named else ''}. "
    says += f"Recovered from the GCS: {repaired:,}."
    remedy = (
        "To keep more, enlarge the agents' buffer: set RAYSCOPE_AGENT_BUFFER_BYTES where nodes are started."
    )
    return says, remedy, ""


def _lanes(facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each lane and reason, with the nodes that have them in common."""
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in facts.nodes:
        lane = node.lane or ("none" if node.env and not node.env.ours else UNKNOWN)
        why = {"fast": ("", "", ""), UNKNOWN: _later(node)}.get(lane) or _why(facts, node)
        groups.setdefault((lane, *why), []).append(node)
    for (lane, says, remedy, command), nodes in sorted(groups.items()):
        state = {"fast": ON, "json": PARTLY, UNKNOWN: UNKNOWN}.get(lane, OFF)
        text = f"{'unknown' if lane == UNKNOWN else lane} on {_names(nodes)}"
        text += f": {says}" if says else "."
        trouble = next((one.agent["trouble"] for one in nodes if one.agent and one.agent["trouble"]), None)
        if trouble:
            waiting = sum(one.agent["waiting"] for one in nodes if one.agent)
            state, remedy = PARTLY, "Check that these nodes can reach the server."
            text += f" The server is not accepting their events now ({trouble}). Waiting: {waiting:,}."
        yield Finding(LANE, state, text, _lane_cost(lane, nodes), remedy, command)


def _later(node: Node) -> tuple[str, str, str]:
    """Return (reason, remedy, command) like :func:`_why`, for a node whose lane the server does not know."""
    says = "set to use the fast lane, but only " if node.env and node.env.fast_lane else ""
    return f"{says}a server that receives the events can confirm it.", "See the server above.", ""


def _why(facts: Facts, node: Node) -> tuple[str, str, str]:
    """Return why a node is not on the fast lane, as (reason, remedy, command)."""
    env, start = node.env, _start_line(facts, node)
    python = node.python or "python"
    if node.lane == "json":
        reason = node.lane_reason or ""
        if node.lane_code == "agent_said":
            says = f"its agent says: {reason or 'nothing'}."
            if "EXPOSABLE" in reason:
                return says, _AGAIN, start
            if "known" in reason or "anew" in reason or "answered" in reason:
                return (
                    says,
                    "A newer version may support it:",
                    f"{python} -m pip install --upgrade rayscope-agent",
                )
            return says, "See dashboard_agent.log in the session's log directory there.", ""
        if env is None:
            says = (
                "rayscope-agent is not installed in the Python that runs Ray there, or the node was started "
                "with --no-fast-lane."
            )
            remedy = "On that node, before you restart it with `rayscope start`:"
            return says, remedy, "python -m pip install rayscope-agent"
        if not env.fast_lane:
            return "started with --no-fast-lane, or without `rayscope start`.", _AGAIN, start
        says = "rayscope-agent is not installed in the Python that runs Ray there."
        return says, "Before you restart the node:", f"{python} -m pip install rayscope-agent"
    if env is None:
        says = "nothing has arrived, and the reason cannot be determined from here."
        return says, "On that node:", f"rayscope doctor {facts.address} --server {facts.server.url}"
    if not env.ours:
        where = f"its events go to {env.export_to}, not here" if env.export_to else ""
        return f"{where or 'started without recording'}.", _AGAIN, start
    if node.agent_pid is None:
        says = "no dashboard agent is running there, and the agent is what sends events."
        return says, "Before you restart the node:", f"{python} -m pip install 'ray[default]'"
    if facts.server.url and not same_place(env.export_to, facts.server.url):
        says = f"its events go to {env.export_to}, not to the server being checked."
        return says, "Check that server instead:", f"rayscope doctor {facts.address} --server {env.export_to}"
    if env.key_fits is False:
        return "the server rejects its ingest key, which is that of another data directory.", _AGAIN, start
    says = "its agent has sent nothing yet."
    return says, "If it stays that way, see dashboard_agent.log in the session's log directory there.", ""


def _start_of_head(facts: Facts) -> str:
    """Return the command that restarts the head node, or else the first node. Without nodes, return ''."""
    head = next((one for one in facts.nodes if one.head), None) or (facts.nodes[0] if facts.nodes else None)
    return _start_line(facts, head) if head else ""


def _tracer(facts: Facts) -> Finding:
    tracing = facts.server.recording.get("tracing") or {}
    traced, untraced, said = tracing.get("traced", 0), tracing.get("untraced", 0), tracing.get("said") or ()
    envs = [node.env for node in facts.nodes if node.env]
    start = _start_of_head(facts)
    if envs and not any(env.trace for env in envs):
        says = "The nodes run without it, so object transfers and waits are not recorded."
        return Finding(TRACER, OFF, says, remedy=_AGAIN, command=start)
    without = sum(not env.trace for env in envs)
    if without:
        says = f"{_of_nodes(without, len(envs))} without it."
        return Finding(TRACER, PARTLY, says, remedy=_AGAIN, command=start)
    if untraced:
        says = f"Not traced: {untraced:,} of {counted(traced + untraced, 'worker')} that ran tasks, because "
        says += "their Python has no rayscope-agent (a separate runtime environment, uv run, a container)."
        command = "pip install rayscope-agent"
        return Finding(TRACER, PARTLY, says, remedy="In the environment of those workers:", command=command)
    if said:
        says = f"A tracer reports: {said[0]['text']}."
        return Finding(TRACER, PARTLY, says, remedy="Please report this, with the log of an affected worker.")
    others = [driver for driver in facts.drivers if not driver.trace]
    if others:
        whose = "its" if len(others) == 1 else "their"
        says = f"{_pids(others)} without it, so {whose} own calls are not traced."
        remedy = "Start drivers with:"
        return Finding(TRACER, PARTLY, says, remedy=remedy, command="rayscope run SCRIPT")
    if traced:
        says = f"Objects and waits are recorded in {counted(traced, 'worker')} that ran tasks."
        if tracing.get("summed_calls"):
            says += f" Recorded as totals, beyond Ray's limit: {counted(tracing['summed_calls'], 'call')}."
        return Finding(TRACER, ON, says)
    if envs:
        return Finding(TRACER, ON, "It is enabled; no worker has run a task yet.")
    says = "No tracer has reported, and no node's settings can be read from here."
    command = f"rayscope doctor {facts.address}"
    return Finding(TRACER, UNKNOWN, says, remedy="On the head node:", command=command)


def _without_events(facts: Facts) -> list[Finding]:
    """Return a finding about tasks whose events are disabled in the code, if there are any."""
    tracing = facts.server.recording.get("tracing") or {}
    count = tracing.get("tasks_without_events") or 0
    if not count:
        return []
    classes = [one["class_name"] for one in tracing.get("without_events") or () if one["class_name"]]
    says = f"At least {counted(count, 'task')} not recorded, because enable_task_events=False is set"
    says += f" (methods of {', '.join(classes)})." if classes else "."
    if any(node.env and not node.env.serve_events for node in facts.nodes):
        remedy = f"Ray Serve sets it for its own actors unless {recording.SERVE_EVENTS}=1. {_AGAIN}"
        return [Finding(TASK_EVENTS, PARTLY, says, remedy=remedy, command=_start_of_head(facts))]
    return [Finding(TASK_EVENTS, PARTLY, says, remedy="Remove it from your code to record them.")]


def _spans(facts: Facts) -> Finding:
    seen, dropped = facts.server.recording.get("spans") or 0, facts.server.recording.get("dropped") or {}
    envs = [node.env for node in facts.nodes if node.env]
    with_it = [env for env in envs if env.profiling]
    ended, spans = facts.measured.ended, facts.measured.spans
    cost = ""
    if ended and spans:
        cost = f"{spans / ended:.1f} spans per task right now; their events are part of the export's cost."
    start = _start_of_head(facts)
    if envs and len(with_it) < len(envs):
        says = f"{_of_nodes(len(envs) - len(with_it), len(envs))} without {recording.PROFILING}: "
        says += "ray.get, ray.put, and ray.wait there are not recorded."
        state = PARTLY if with_it else OFF
        return Finding(SPANS, state, says, "" if state == OFF else cost, _AGAIN, start)
    if not envs and not seen:
        says = "No spans have arrived, and no node's settings can be read from here."
        return Finding(SPANS, UNKNOWN, says, cost, "On the head node:", f"rayscope doctor {facts.address}")
    says = (
        f"ray.get, ray.put, and ray.wait are recorded ({counted(seen, 'span')})."
        if seen
        else "They are enabled."
    )
    if dropped.get("spans"):
        says += f" Dropped beyond Ray's limit per task: {counted(dropped['spans'], 'span')}."
    others = [driver for driver in facts.drivers if not driver.profiling]
    if others:
        whose = "its" if len(others) == 1 else "their"
        says += f" {_pids(others)} without {recording.PROFILING}, so {whose} own calls are not recorded."
        return Finding(SPANS, PARTLY, says, cost, "Start drivers with:", "rayscope run SCRIPT")
    return Finding(SPANS, ON, says, cost)


def _snapshot(facts: Facts) -> Finding:
    reading, server = facts.reading, facts.server.recording.get("snapshots") or {}
    if reading.seconds is None:
        return Finding(
            SNAPSHOT, OFF, f"The GCS can only be read in part: {reading.error}", remedy=reading.remedy
        )
    attempts, rows = counted(reading.attempts, "task attempt"), counted(reading.entities, "row")
    rows += " about nodes, actors, and so on."
    keeper = "dashboard" if reading.tasks_from == "dashboard" else "GCS"
    says = {
        "gcs": f"The GCS can be read: {attempts} and {rows}",
        "dashboard": f"The GCS can be read: {rows} The dashboard keeps the tasks: {attempts}.",
        None: f"The GCS can be read: {rows} It has no tasks.",
    }[reading.tasks_from]
    if reading.dropped:
        lost = counted(reading.dropped, "attempt")
        says += f" The {keeper} itself has dropped {lost}, which no snapshot can recover."
    cost = f"{_seconds(reading.seconds)} per full read (Ray's response and Rayscope's conversion)"
    if reading.attempts >= _ENOUGH:
        cost += f", {reading.seconds * 1e6 / reading.attempts:,.0f} µs a task"
    if server.get("interval_s") and "snapshot" in str(facts.server.recording.get("recording")):
        cost += f"; the server reads every {server['interval_s']:.0f} s"
    if facts.server.known and not server.get("ok") and server.get("error"):
        says += f" The server cannot read it, however: {server['error']}"
        return Finding(SNAPSHOT, PARTLY, says, f"{cost}.", server.get("remedy") or "")
    return Finding(SNAPSHOT, ON, says, f"{cost}.")


# Helper functions for costs and for parts of sentences.


def _cpu_cost(facts: Facts, kind: str) -> str:
    """Return the CPU cost of one kind of process: per task, or as % of a CPU if too few tasks ended."""
    measured = facts.measured
    used = measured.cpu.get(kind)
    ended = measured.ended_here if kind in ("agent", "raylet") else measured.ended
    if used is None or not measured.seconds:
        return ""
    if ended is not None and ended >= _ENOUGH:
        return f"{used * 1e6 / ended:,.0f} µs a task"
    return f"{100 * used / measured.seconds:.1f} % of a CPU"


def _export_cost(facts: Facts) -> str:
    named = {"agent": "agents", "raylet": "raylets", "gcs": "GCS"}
    parts = [f"{name} {cost}" for kind, name in named.items() if (cost := _cpu_cost(facts, kind))]
    received = sum(node.received or 0 for node in facts.nodes)
    if not parts:
        return ""
    text = f"{', '.join(parts)} on this machine, including Ray's own work."
    if facts.measured.ended_here and received:
        text += f" {received / facts.measured.ended_here:.2g} events per task."
    return text


def _lane_cost(lane: str, nodes: list[Node]) -> str:
    figures = sorted(node.us_an_event for node in nodes if node.us_an_event is not None)
    if lane == "fast" and figures:
        span = f"{figures[0]:.2g}" + (f" to {figures[-1]:.2g}" if len(figures) > 1 else "")
        when = "on average since it started" if any(node.since_start for node in nodes) else "right now"
        return f"{span} µs per event for Rayscope's code in the agent, {when}."
    return "Ray's own exporter; included in the agents' CPU above." if lane == "json" else ""


def _targets(facts: Facts) -> list[str]:
    """Return the Rayscope servers to which nodes are configured to send their events."""
    return sorted({node.env.export_to for node in facts.nodes if node.env and node.env.ours})


def _configured(facts: Facts, name: str) -> bool:
    return is_true((facts.config or {}).get(name))


def _start_line(facts: Facts, node: Node) -> str:
    """Return the command that starts a node like this one with recording."""
    ray = f"--head --port={facts.address.rpartition(':')[2]}" if node.head else f"--address={facts.address}"
    return f"{_with_data_dir('rayscope start', facts)} -- {ray}"


def _with_data_dir(command: str, facts: Facts) -> str:
    return f"{command} --data-dir {facts.data_dir}" if facts.data_dir else command


def _names(nodes: list[Node]) -> str:
    shown = ", ".join(f"{node.address or '?'} ({node.node_id[:8]})" for node in nodes[:_NAMED])
    return shown + (f" and {counted(len(nodes) - _NAMED, 'more node')}" if len(nodes) > _NAMED else "")


def _count(some: int, of: int) -> str:
    if some == of:
        return "The one node is" if of == 1 else f"All {of:,} nodes are"
    return f"{some:,} of {of:,} nodes {'is' if some == 1 else 'are'}"


def _of_nodes(some: int, of: int) -> str:
    if some == of:
        return "The one node runs" if of == 1 else f"All {of:,} nodes run"
    return f"{some:,} of the {of:,} nodes here {'runs' if some == 1 else 'run'}"


def _pids(drivers: list[Any]) -> str:
    shown = ", ".join(str(driver.pid) for driver in drivers[:_NAMED])
    if len(drivers) == 1:
        return f"The driver with pid {shown} runs"
    return f"{len(drivers):,} drivers (pids {shown}{', ...' if len(drivers) > _NAMED else ''}) run"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
