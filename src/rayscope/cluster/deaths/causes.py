"""The causes of a death: their codes, texts, and whether such an end is expected."""

from __future__ import annotations

import re
from typing import NamedTuple

from rayscope.cluster.deaths.schemas import DeathLink, DeathText, Source, Subject


class Cause(NamedTuple):
    """``text``: a sentence with the parameters in braces."""

    text: str
    is_expected: bool = False


#: Code -> cause. The codes of links that lead to another death come first.
CAUSES: dict[str, Cause] = {
    "worker_died": Cause("Its worker process (pid {pid}) died."),
    "owner_died": Cause("Its owner died, and Ray ends the tasks and actors of a dead process."),
    "node_died": Cause("Its node died."),
    "driver_died": Cause("Its driver process (pid {pid}) died."),
    # Ray or the program ended it.
    "idle": Cause("Ray ended the worker because it was idle.", True),
    "job_ended": Cause("Its job had ended, so Ray ended it.", True),
    "max_calls": Cause("The worker had run as many calls as max_calls allows.", True),
    "actor_exited": Cause("The actor ended itself with exit_actor() or SystemExit.", True),
    "ray_kill": Cause("The program ended the actor with ray.kill().", True),
    "out_of_scope": Cause("The program held no reference to the actor any more.", True),
    "placement_group_removed": Cause("Its placement group was removed.", True),
    "cancelled": Cause("The program ended its task with ray.cancel(force=True).", True),
    "released": Cause("Ray ended the worker as intended.", True),
    "finished": Cause("The program ended by itself.", True),
    "job_stopped": Cause("The job was stopped.", True),
    "node_stopped": Cause("The node was stopped.", True),
    "node_drained": Cause("The autoscaler removed the node because it was idle.", True),
    "node_preempted": Cause("The node was drained because it was about to be preempted."),
    # A library of Ray ended an actor of its own.
    "tune_stopped": Cause("Ray Tune ended the trial's actor: the trial was over ({detail}).", True),
    "train_restarted": Cause("Ray Train ended the worker group because one of its workers failed."),
    "health_check_failed": Cause("Ray Serve ended the replica because its health check failed: {detail}"),
    # Something went wrong, and the record says what.
    "node_lost": Cause("The node stopped responding to Ray's health checks."),
    "node_failed": Cause("The node ended unexpectedly."),
    "pod_event": Cause("Kubernetes reported {event} for its pod."),
    "memory_monitor": Cause("Ray's memory monitor killed it because its node was low on memory."),
    "kernel_oom": Cause("The kernel's OOM killer killed the process (pid {pid})."),
    "killed": Cause("Someone killed the process (pid {pid}) with SIGKILL, not the kernel's OOM killer."),
    "sigkill": Cause("SIGKILL killed the process (pid {pid})."),
    "terminated": Cause("SIGTERM, from Ray or from someone else, ended the process (pid {pid})."),
    "interrupted": Cause("Ctrl-C (SIGINT) ended the process (pid {pid})."),
    "crashed": Cause("The process (pid {pid}) crashed with {signal}."),
    "exited": Cause("The process (pid {pid}) exited by itself with status {status}."),
    "creation_failed": Cause("The actor's __init__ raised {error}"),
    "runtime_env_failed": Cause("Its runtime environment could not be set up: {error}"),
    "worker_start_failed": Cause("Its worker process could not start."),
    "unschedulable": Cause("No node can ever run it."),
    "driver_raised": Cause("The driver exited with status {status} after {error}"),
    "driver_failed": Cause("The driver exited with status {status}."),
    "job_failed": Cause("Ray's job API reports that the job failed."),
}
#: The causes of which one is true where only a broken connection is known.
UNSEEN = ("kernel_oom", "killed", "exited", "crashed")
CANDIDATES = {
    "kernel_oom": "The kernel's OOM killer killed it.",
    "killed": "Someone else killed it with SIGKILL.",
    "exited": "It exited by itself, for example with os._exit().",
    "crashed": "It crashed, and the crash report in its log was not kept.",
    "cluster_gone": "It ended with its cluster.",
}
#: Code -> the missing fact that rules out all candidates but one.
MISSING = {
    "exit_status": "The exit status of the process would tell. Rayscope reads it where rayscope-agent is "
    "installed on the node and Linux is 6.15 or later, or Ray runs as root in no container.",
    "oom_counter": "The kernel's count of OOM kills would tell, but the node's agent could not read it.",
    "report": "Ray had not reported how it ended when the recording stopped.",
}


def link(
    code: str,
    kind: Subject,
    identity: str,
    source: Source,
    time_ns: int | None = None,
    **params: str | int | None,
) -> DeathLink:
    """A link of a chain. Of ``params``, those in the cause's text are used. Unknown ones become ``?``."""
    text = CAUSES[code].text
    known = {name: value for name, value in params.items() if value is not None}
    shown = {name: known.get(name, "?") for name in re.findall(r"{(\w+)}", text)}
    return {
        "code": code,
        "kind": kind,
        "id": identity,
        "params": shown,
        "message": text.format(**shown),
        "source": source,
        "time_ns": time_ns,
    }


def candidates(*codes: str) -> list[DeathText]:
    """The possible causes with these codes."""
    return [{"code": code, "message": CANDIDATES[code]} for code in codes]


def missing(code: str) -> DeathText:
    """The fact that would rule out all candidates but one."""
    return {"code": code, "message": MISSING[code]}
