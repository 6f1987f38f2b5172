"""Finds the cause of a death in the record: a chain of links that ends in a fact, or in candidates."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rayscope.cluster.deaths.causes import CAUSES, UNSEEN, candidates, link, missing
from rayscope.cluster.deaths.schemas import Death, DeathLink, DeathText, ProcessEnd, Subject
from rayscope.ray.crash_report import CrashReport
from rayscope.storage.sql.pages import Row, fields_of

#: Words in Ray's text about the end of a worker or actor -> code.
_RAYS_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(words, re.IGNORECASE), code)
    for words, code in (
        (r"exception in the initialization method", "creation_failed"),  # first: a traceback follows it
        (r"receives a SIGTERM", "terminated"),
        (r"ray\.cancel\(force=True\)|force ray\.cancel request", "cancelled"),
        (r"placement group .*removed", "placement_group_removed"),
        (r"killed by `?ray\.kill|Actor killed by GCS", "ray_kill"),
        (r"its owner has died", "owner_died"),
        (r"all references to the actor were removed", "out_of_scope"),
        (r"setup hook", "worker_start_failed"),
        (r"max_calls", "max_calls"),
        (r"exit_actor|user request", "actor_exited"),
        (r"idle for a long time", "idle"),
        (r"job has finished|ray\.shutdown\(\)", "job_ended"),
    )
)
#: Reason of an actor's death in Ray's table -> code, where that is the whole cause.
_ACTOR_REASONS = {
    "RAY_KILL": "ray_kill",
    "OUT_OF_SCOPE": "out_of_scope",
    "REF_DELETED": "out_of_scope",
}
#: Context of an actor's death in Ray's table -> code.
_ACTOR_CONTEXTS = {
    "creation_task_failure_context": "creation_failed",
    "runtime_env_failed_context": "runtime_env_failed",
    "actor_unschedulable_context": "unschedulable",
    "oom_context": "memory_monitor",
}
_NODE_REASONS = {
    "EXPECTED_TERMINATION": "node_stopped",
    "AUTOSCALER_DRAIN_IDLE": "node_drained",
    "AUTOSCALER_DRAIN_PREEMPTED": "node_preempted",
}
_SIGNALS = {"SIGTERM": "terminated", "SIGINT": "interrupted"}
_OWNER_ID = re.compile(r"Owner Id: ([0-9a-f]{56})")
_EXIT_CODE = re.compile(r"exit code (-?\d+)")
#: A worker that ends this long before its node is recorded as dead ended with it, in ns. Ray notices a lost
#: node only after several health checks.
_WITH_NODE_NS = 60 * 10**9
#: The columns with Ray's own account of an end.
_RAYS_TEXTS: Mapping[Subject, tuple[str, ...]] = {
    "worker": ("exit_type", "exit_detail"),
    "actor": ("death_reason",),
    "node": ("death_reason", "death_message"),
    "job": (),  # its page shows them
}
#: A chain has at most this many deaths.
_MAX_DEPTH = 6


@dataclass
class Facts:
    """The rows that deaths refer to, by ID. ``libraries``: why a library ended its actor (code and detail).

    ``ends``: ends of processes by worker ID. ``events``: Kubernetes' events by node ID. ``crashes``: crash
    reports in logs by worker ID. ``drivers``: worker IDs of drivers by job ID. ``owners``: worker IDs of dead
    owners by the ID of the worker or actor that ended with them. ``last_lines``: of drivers' logs by job ID.
    """

    workers: dict[str, Row] = field(default_factory=dict)
    actors: dict[str, Row] = field(default_factory=dict)
    nodes: dict[str, Row] = field(default_factory=dict)
    jobs: dict[str, Row] = field(default_factory=dict)
    ends: dict[str, Row] = field(default_factory=dict)
    events: dict[str, Row] = field(default_factory=dict)
    crashes: Mapping[str, CrashReport] = field(default_factory=dict)
    drivers: dict[str, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, Row] = field(default_factory=dict)
    last_lines: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class _Chain:
    links: list[DeathLink]
    candidates: list[DeathText] = field(default_factory=list)
    missing: DeathText | None = None
    process: Row | None = None

    def after(self, first: DeathLink) -> _Chain:
        return _Chain([first, *self.links], self.candidates, self.missing, self.process)


def death_of(facts: Facts, kind: Subject, identity: str) -> Death | None:
    """Why the entity ended. None if it has not ended or is not in ``facts``."""
    rows = {"worker": facts.workers, "actor": facts.actors, "node": facts.nodes, "job": facts.jobs}
    row = rows[kind].get(identity)
    if row is None or row["end_ns"] is None:
        return None
    chain = _JUDGES[kind](facts, row, _MAX_DEPTH)
    is_known = bool(chain.links) and not chain.candidates
    cause = chain.links[-1]["code"] if is_known else "unknown"
    return {
        "kind": kind,
        "id": identity,
        "end_ns": row["end_ns"],
        "cause": cause,
        "is_expected": is_known and CAUSES[cause].is_expected,
        "chain": chain.links,
        "candidates": chain.candidates,
        "missing": chain.missing,
        "process": _process(chain.process),
        "memory_bytes": _memory(facts, chain),
        "ray": _rays_text(kind, row),
    }


def _process(end: Row | None) -> ProcessEnd | None:
    return ProcessEnd(**fields_of(end, ProcessEnd)) if end is not None else None  # type: ignore[typeddict-item]


def _memory(facts: Facts, chain: _Chain) -> int | None:
    """The size of the process at the end of a chain when Ray's memory monitor killed it."""
    if not chain.links or chain.links[-1]["code"] != "memory_monitor":
        return None
    last = chain.links[-1]
    worker = last["id"] if last["kind"] == "worker" else facts.actors[last["id"]]["worker_id"]
    row = facts.workers.get(worker or "")
    return row["death_memory_bytes"] if row is not None else None


def _rays_text(kind: Subject, row: Row) -> str | None:
    return ": ".join(row[name] for name in _RAYS_TEXTS[kind] if row[name]) or None


def _code_in(text: str | None) -> str | None:
    return next((code for words, code in _RAYS_WORDS if words.search(text or "")), None)


def _worker(facts: Facts, row: Row, depth: int) -> _Chain:
    def known(code: str, source: Any = "ray", **params: str | int | None) -> _Chain:
        shown = {"pid": row["pid"], **params}
        return _Chain([link(code, "worker", identity, source, row["end_ns"], **shown)], process=end)

    identity = row["id"]
    end = facts.ends.get(identity)
    exit_type = row["exit_type"] or ""
    said = _code_in(row["exit_detail"])
    if exit_type == "NODE_OUT_OF_MEMORY":
        return known("memory_monitor")
    if row["worker_type"] == "DRIVER" and exit_type.startswith("INTENDED"):
        job = facts.jobs.get(row["job_id"] or "")
        knows_more = job is not None and (job["exit_code"] is not None or job["state"] == "STOPPED")
        return _job(facts, job, depth) if job is not None and knows_more else known("finished")
    if said == "owner_died" or (said == "terminated" and identity in facts.owners):
        return _owner(facts, row, depth)
    if exit_type.startswith("INTENDED") or said is not None:
        return known(said or "released", error=row["headline"])
    node = _dead_node(facts, row, row["end_ns"])
    if not exit_type and node is not None and depth:  # Ray does not report the ends of a dead node's workers
        return _with_node(facts, node, depth)
    if status := _EXIT_CODE.search(row["exit_detail"] or ""):  # Ray kills such a worker as it exits
        return known("exited", status=int(status[1]))
    if end is not None and (end["exit_code"] is not None or end["signal"] is not None):
        return _process_end(known, end, _job_had_ended(facts, row))
    if (report := facts.crashes.get(identity)) is not None:
        return known("crashed", "log", signal=report.signal)
    if _job_had_ended(facts, row):
        return known("job_ended")
    return _Chain([], candidates(*UNSEEN), missing("exit_status" if exit_type else "report"), end)


def _owner(facts: Facts, row: Row, depth: int) -> _Chain:
    """The cause of what ended because its owner had died. Ray ends the actors and tasks of a dead process."""
    kind: Subject = "actor" if "death_reason" in row else "worker"
    owner = facts.workers.get(facts.owners.get(row["id"], ""))
    text = row.get("death_reason") or row.get("exit_detail") or ""
    node = _dead_node(facts, owner or row, row["end_ns"])
    if "Owner's node has crashed" in text and node is not None and depth:
        return _with_node(facts, node, depth)
    chain = _worker(facts, owner, depth - 1) if owner is not None and depth else _Chain([])
    if [one["code"] for one in chain.links] == ["finished"]:
        return _Chain([link("job_ended", kind, row["id"], "ray", row["end_ns"])])
    return chain.after(link("owner_died", kind, row["id"], "ray", row["end_ns"]))


def _process_end(known: Callable[..., _Chain], end: Row, job_had_ended: bool) -> _Chain:
    """The cause that the exit status of a process shows."""
    if end["exit_code"] is not None:
        return known("exited", "kernel", status=end["exit_code"])
    name = end["signal"]
    if name != "SIGKILL":
        return known(_SIGNALS.get(name, "crashed"), "kernel", signal=name)
    if end["kernel_record"]:
        return known("kernel_oom", "kernel_log")
    if end["oom_kills"]:
        return known("kernel_oom", "oom_counter")
    if job_had_ended:
        return known("job_ended")
    if end["oom_kills"] == 0:
        return known("killed", "kernel")
    return _killed_by_whom(known("sigkill", "kernel"))


def _killed_by_whom(chain: _Chain) -> _Chain:
    """Add to the chain of a process that SIGKILL killed the possible senders of the signal."""
    chain.candidates, chain.missing = candidates("kernel_oom", "killed"), missing("oom_counter")
    return chain


def _job_had_ended(facts: Facts, row: Row) -> bool:
    job = facts.jobs.get(row["job_id"] or "")
    return (
        job is not None
        and row["worker_type"] != "DRIVER"
        and job["end_ns"] is not None
        and job["end_known_by"] is None
        and row["end_ns"] is not None
        and job["end_ns"] <= row["end_ns"]
    )


def _dead_node(facts: Facts, row: Row, end_ns: int) -> Row | None:
    """The node in a row, if it died before or shortly after ``end_ns``."""
    node = facts.nodes.get(row["node_id"] or "")
    if node is None or node["state"] != "DEAD" or node["end_ns"] is None:
        return None
    return node if end_ns >= node["end_ns"] - _WITH_NODE_NS else None


def _with_node(facts: Facts, node: Row, depth: int) -> _Chain:
    """The cause of what ended with a dead node."""
    died = link("node_died", "node", node["id"], "ray", node["end_ns"])
    return _node(facts, node, depth - 1).after(died)


def _actor(facts: Facts, row: Row, depth: int) -> _Chain:
    """The cause of an actor's death, and why a library of Ray wanted it if it did."""
    chain = _actor_itself(facts, row, depth)
    library = facts.libraries.get(row["id"])
    if library is not None and chain.links and CAUSES[chain.links[-1]["code"]].is_expected:
        why = link(library["code"], "actor", row["id"], "ray", row["end_ns"], detail=library["detail"])
        chain.links.append(why)
    return chain


def _actor_itself(facts: Facts, row: Row, depth: int) -> _Chain:
    def known(code: str, **params: str | None) -> _Chain:
        return _Chain([link(code, "actor", row["id"], "ray", row["end_ns"], **params)])

    name, context = _context(row["death_cause"])
    reason = str(context.get("reason", ""))
    text = row["death_reason"] or ""
    worker = facts.workers.get(row["worker_id"] or "")
    if name in _ACTOR_CONTEXTS:
        return known(_ACTOR_CONTEXTS[name], error=row["headline"])
    if worker is not None and _code_in(worker["exit_detail"]) == "placement_group_removed":
        return known(
            "placement_group_removed"
        )  # Ray reports that its references were removed, which is later
    if reason in _ACTOR_REASONS:
        return known(_ACTOR_REASONS[reason])
    if reason == "OWNER_DIED":
        return _owner(facts, row, depth)
    node = facts.nodes.get(row["node_id"] or str(context.get("node_id", "")))
    if reason == "NODE_DIED" and node is not None and node["end_ns"] is not None and depth:
        return _with_node(facts, node, depth)
    said = _code_in(text)
    if said is not None and (worker is None or not (worker["exit_type"] or "").startswith("SYSTEM")):
        return known(said)
    if worker is not None and worker["end_ns"] is not None and depth:
        chain = _worker(facts, worker, depth - 1)
        if chain.links and CAUSES[chain.links[-1]["code"]].is_expected and not chain.candidates:
            return chain
        first = link("worker_died", "worker", worker["id"], "ray", worker["end_ns"], pid=worker["pid"])
        return chain.after(first)
    job = facts.jobs.get(row["job_id"] or "")
    if job is not None and job["end_ns"] is not None and job["end_ns"] <= row["end_ns"]:
        return known("job_ended")
    return _Chain([], candidates(*UNSEEN), missing("report"))


def owner_of(row: Row) -> str:
    """The worker ID of the owner whose death ended a worker or an actor, or '' if Ray does not say."""
    found = _OWNER_ID.search(row.get("death_reason") or row.get("exit_detail") or "")
    return found[1] if found else ""


def _context(death_cause: str | None) -> tuple[str, Mapping[str, Any]]:
    """The name and the content of the context that is set in an actor's death cause as JSON."""
    try:
        cause = json.loads(death_cause or "{}")
    except ValueError:  # a long one was cut off
        return "", {}
    contexts = cause.items() if isinstance(cause, dict) else ()
    return next(((name, context) for name, context in contexts if isinstance(context, dict)), ("", {}))


def _node(facts: Facts, row: Row, depth: int) -> _Chain:
    reason = row["death_reason"] or ""
    if (event := facts.events.get(row["id"])) is not None:
        what = link("pod_event", "node", row["id"], "platform", event["time_ns"], event=event["what"])
        return _Chain([what])
    if reason in _NODE_REASONS:
        code = _NODE_REASONS[reason]
    elif "health check" in (row["death_message"] or ""):
        code = "node_lost"
    elif row["end_known_by"] is not None:
        return _Chain([], candidates("cluster_gone"), missing("report"))
    else:
        code = "node_failed"
    return _Chain([link(code, "node", row["id"], "ray", row["end_ns"])])


def _job(facts: Facts, row: Row, depth: int) -> _Chain:
    def known(code: str, source: Any = "program", **params: str | int | None) -> _Chain:
        return _Chain([link(code, "job", row["id"], source, row["end_ns"], **params)])

    state, status, pid = row["state"], row["exit_code"], row["driver_pid"]
    if state == "STOPPED":
        return known("job_stopped", "ray")
    if status == 0 or (status is None and state == "SUCCEEDED"):
        return known("finished", "program" if status == 0 else "ray")
    if status is not None:
        return _driver_status(known, status, pid, facts.last_lines.get(row["id"], []))
    worker = facts.workers.get(facts.drivers.get(row["id"], ""))
    if worker is not None and worker["end_ns"] is not None and depth:
        first = link("driver_died", "worker", worker["id"], "ray", worker["end_ns"], pid=pid)
        return _worker(facts, worker, depth - 1).after(first)
    if state == "FAILED":
        return known("job_failed", "ray")
    return _Chain([], candidates("cluster_gone"), missing("report"))


def _driver_status(known: Callable[..., _Chain], status: int, pid: int | None, lines: list[str]) -> _Chain:
    """The cause that a driver's exit status and the last lines of its log show.

    ``status``: 128 plus a signal's number, or its negative number. A driver whose Ray handles a signal exits
    with another status, but its log names the signal.
    """
    number = -status if status < 0 else status - 128
    last = lines[-1] if lines else ""
    if number == signal.SIGINT or last.startswith("KeyboardInterrupt"):
        return known("interrupted", "program" if number == signal.SIGINT else "log", pid=pid)
    is_terminated = any(line.startswith("*** SIGTERM received") for line in lines)
    if number == signal.SIGTERM or is_terminated:
        return known("terminated", "program" if number == signal.SIGTERM else "log", pid=pid)
    if number == signal.SIGKILL:
        return _killed_by_whom(known("sigkill", pid=pid))
    if number in _CRASHES:
        return known("crashed", pid=pid, signal=signal.Signals(number).name)
    if _EXCEPTION.match(last):
        return known("driver_raised", "log", status=status, error=last)
    return known("driver_failed", status=status)


#: Signals that a process gets because of its own fault.
_CRASHES = (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
#: The last line of a traceback.
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Warning|Interrupt)\b")
_JUDGES: Mapping[Subject, Callable[[Facts, Row, int], _Chain]] = {
    "worker": _worker,
    "actor": _actor,
    "node": _node,
    "job": _job,
}
