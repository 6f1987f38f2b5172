"""A simulated Ray cluster: its contents, and the events that it would export.

Everything is derived from a :class:`Plan`, so two processes with the same plan agree about all IDs.
:class:`Events` creates Ray's events in JSON, as its exporter posts them. ``simulated_services.py`` has the
rest.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from typing import Any, NamedTuple

import msgspec

S = 1_000_000_000
GIB = 1 << 30
#: One in this many nodes has four GPUs.
GPU_NODES = 4
#: CPUs per node.
CPUS = 16
#: Memory per node, bytes.
MEMORY = 64 * GIB
#: Object store per node, bytes.
STORE = 20 * GIB
CLASSES = tuple(f"{what}{role}" for what in ("Shard", "Feature", "Model", "Replay", "Stream", "Index", "Rank", "Cache")
                for role in ("Worker", "Server", "Buffer", "Coordinator", "Trainer"))  # fmt: skip
FUNCTIONS = tuple(f"{verb}_{noun}" for verb in ("load", "embed", "score", "merge", "resize")
                  for noun in ("batch", "page", "image", "row"))  # fmt: skip


class Plan(NamedTuple):
    """The size of the cluster.

    ``actors``: including dead ones; ``busy`` of them are alive. ``begun_ns``: the current time.
    """

    nodes: int = 1000
    workers: int = 10_000
    actors: int = 100_000
    tasks: int = 20_000
    jobs: int = 20
    groups: int = 500
    begun_ns: int = 0

    @property
    def session(self) -> str:
        at = datetime.fromtimestamp(self.begun_ns / S, timezone.utc)
        return f"session_{at:%Y-%m-%d_%H-%M-%S}_000000_1"

    @property
    def busy(self) -> int:
        """Number of workers that are actors. Every tenth worker runs tasks."""
        return self.workers * 9 // 10

    @property
    def dead_nodes(self) -> int:
        """Number of dead nodes, in addition to the living ones."""
        return self.nodes // 100


def make_id(kind: str, number: int, size: int) -> bytes:
    """The bytes of an ID."""
    return hashlib.blake2b(f"{kind} {number}".encode(), digest_size=size).digest()


@cache
def node_id(number: int) -> bytes:
    return make_id("node", number, 28)


def worker_id(number: int) -> bytes:
    return make_id("worker", number, 28)


def job_id(number: int) -> bytes:
    return (number + 1).to_bytes(4, "little")


def driver_id(job: int) -> bytes:
    return b"\xff" * 20 + job_id(job)


def actor_id(plan: Plan, number: int) -> bytes:
    return make_id("actor", number, 12) + job_id(number % plan.jobs)


def group_id(plan: Plan, number: int) -> bytes:
    return make_id("group", number, 14) + job_id(number % plan.jobs)


def node_ip(number: int) -> str:
    return f"127.1.{number // 250}.{1 + number % 250}"


def node_of(plan: Plan, worker: int) -> int:
    return worker % plan.nodes


def pid_of(plan: Plan, worker: int) -> int:
    return 20_000 + worker // plan.nodes


class Actor(NamedTuple):
    """The life of an actor. ``worker``: its number, None if the actor is dead."""

    id: bytes
    job: int
    class_name: str
    name: str
    state: str
    worker: int | None
    node: int
    begun_ns: int
    ended_ns: int | None
    failed: bool
    restarts: int


def actor(plan: Plan, number: int) -> Actor:
    """The living ones come last, so they are the newest. The very last ones are not placed yet."""
    first_alive = plan.actors - plan.busy
    begun_ns = plan.begun_ns - 6 * 3600 * S * (plan.actors - number) // plan.actors
    worker = number - first_alive if number >= first_alive else None
    state = "DEAD" if worker is None else "ALIVE"
    if number >= plan.actors - plan.busy // 50:
        worker, state = None, "PENDING_CREATION"
    return Actor(
        actor_id(plan, number),
        number % plan.jobs,
        CLASSES[number % len(CLASSES)],
        f"named-{number}" if number % 10 == 0 else "",
        state,
        worker,
        node_of(plan, number if worker is None else worker),
        begun_ns,
        begun_ns + (60 + number % 600) * S if state == "DEAD" else None,
        number % 50 == 7,
        number % 97 == 5 and state != "PENDING_CREATION",
    )


# Events.


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def rfc(time_ns: int) -> str:
    at = datetime.fromtimestamp(time_ns // S, timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ns % S:09}Z"


class Events:
    """Ray's events about a plan, as its exporter writes them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._made = 0

    def _event(self, kind: str, node: int, time_ns: int, body: dict[str, Any]) -> dict[str, Any]:
        self._made += 1
        first, *others = kind.lower().split("_")
        if kind == "TASK_PROFILE_EVENT":
            others = ["profile", "events"]
        return {
            "eventId": b64(make_id("event", self._made, 28)),
            "sourceType": "CORE_WORKER" if "TASK" in kind else "GCS",
            "eventType": kind,
            "timestamp": rfc(time_ns),
            "severity": "INFO",
            "sessionName": self.plan.session,
            first + "".join(map(str.capitalize, others)): body,
            "nodeId": b64(node_id(node)),
            "message": "",
        }

    def nodes(self) -> Iterator[dict[str, Any]]:
        plan = self.plan
        for number in range(plan.nodes + plan.dead_nodes):
            begun_ns = plan.begun_ns - 7 * 3600 * S
            identity = b64(node_id(number))
            yield self._event("NODE_DEFINITION_EVENT", number, begun_ns, {
                "nodeId": identity, "nodeIpAddress": node_ip(number), "labels": labels(number),
                "startTimestamp": rfc(begun_ns), "hostname": f"machine-{number:04}", "nodeName": node_ip(number),
                "instanceId": f"i-{number:08x}", "instanceTypeName": instance(number),
            })  # fmt: skip
            states: list[dict[str, Any]] = [
                {"timestamp": rfc(begun_ns), "resources": resources(number), "state": "ALIVE",
                 "aliveSubState": "UNSPECIFIED"}
            ]  # fmt: skip
            if number >= plan.nodes:
                died = {
                    "reason": "UNEXPECTED_TERMINATION",
                    "reasonMessage": "health check failed due to missing beats",
                }
                states.append(
                    {"timestamp": rfc(plan.begun_ns - 3600 * S), "state": "DEAD", "deathInfo": died}
                )
            yield self._event(
                "NODE_LIFECYCLE_EVENT", 0, begun_ns, {"nodeId": identity, "stateTransitions": states}
            )

    def workers(self) -> Iterator[dict[str, Any]]:
        plan = self.plan
        for number in range(plan.workers):
            node, begun_ns = node_of(plan, number), plan.begun_ns - 3600 * S
            identity = b64(worker_id(number))
            yield self._event("WORKER_DEFINITION_EVENT", node, begun_ns, {
                "workerId": identity, "nodeId": b64(node_id(node)), "pid": pid_of(plan, number), "workerType": "WORKER",
            })  # fmt: skip
            yield self._event("WORKER_LIFECYCLE_EVENT", node, begun_ns, {
                "workerId": identity, "jobId": b64(job_id(number % plan.jobs)),
                "stateTransitions": [{"timestamp": rfc(begun_ns), "startTimeMs": str(begun_ns // 1_000_000),
                                      "state": "ALIVE", "endTimeMs": "0"}],
            })  # fmt: skip

    def jobs(self) -> Iterator[dict[str, Any]]:
        for number in range(self.plan.jobs):
            begun_ns = self.plan.begun_ns - 6 * 3600 * S
            identity = b64(job_id(number))
            yield self._event("DRIVER_JOB_DEFINITION_EVENT", 0, begun_ns, {
                "jobId": identity, "driverPid": str(5000 + number), "driverNodeId": b64(node_id(0)),
                "entrypoint": f"python train.py --part {number}",
                "config": {"serializedRuntimeEnv": "{}", "metadata": {}},
            })  # fmt: skip
            yield self._event("DRIVER_JOB_LIFECYCLE_EVENT", 0, begun_ns, {
                "jobId": identity, "stateTransitions": [{"state": "CREATED", "timestamp": rfc(begun_ns)}],
            })  # fmt: skip

    def groups(self) -> Iterator[dict[str, Any]]:
        plan = self.plan
        for number in range(plan.groups):
            begun_ns = plan.begun_ns - 3600 * S
            identity = b64(group_id(plan, number))
            yield self._event("PLACEMENT_GROUP_DEFINITION_EVENT", 0, begun_ns, {
                "placementGroupId": identity, "name": f"group-{number}", "rayNamespace": "train", "strategy": "PACK",
                "isDetached": False, "creatorJobId": b64(job_id(number % plan.jobs)), "creatorActorId": "",
                "creationRequestReceivedNs": str(begun_ns),
            })  # fmt: skip
            state = "CREATED" if number >= plan.groups // 20 else "PENDING"
            yield self._event("PLACEMENT_GROUP_LIFECYCLE_EVENT", 0, begun_ns, {
                "placementGroupId": identity, "stateTransitions": [
                    {"state": state, "timestamp": rfc(begun_ns),
                     "schedulingState": "FINISHED" if state == "CREATED" else "INFEASIBLE"}],
            })  # fmt: skip

    def actor(self, number: int) -> Iterator[dict[str, Any]]:
        """An actor and the task that created it."""
        it = actor(self.plan, number)
        yield self._event("ACTOR_DEFINITION_EVENT", 0, it.begun_ns, {
            "actorId": b64(it.id), "jobId": b64(job_id(it.job)), "name": it.name, "rayNamespace": "train",
            "serializedRuntimeEnv": "{}", "className": it.class_name, "isDetached": False,
            "requiredResources": {"CPU": 1.0}, "placementGroupId": "", "labelSelector": {}, "callSite": "",
        })  # fmt: skip
        yield self._event("ACTOR_LIFECYCLE_EVENT", 0, it.begun_ns, {
            "actorId": b64(it.id), "stateTransitions": list(self._actor_states(it)),
        })  # fmt: skip
        task_id, states = (
            b"\xff" * 8 + it.id,
            [("PENDING_ARGS_AVAIL", 0), ("PENDING_NODE_ASSIGNMENT", S // 1000)],
        )
        if it.state != "PENDING_CREATION":
            states += [("SUBMITTED_TO_WORKER", S // 10), ("RUNNING", S // 5), ("FINISHED", S)]
        yield self._event("TASK_DEFINITION_EVENT", 0, it.begun_ns, {
            "taskId": b64(task_id), "taskType": "ACTOR_CREATION_TASK", "taskName": f"{it.class_name}.__init__",
            "taskFunc": {"pythonFunctionDescriptor": {"moduleName": "train", "className": it.class_name,
                                                      "functionName": "__init__", "functionHash": ""}},
            "jobId": b64(job_id(it.job)), "parentTaskId": b64(driver_id(it.job)), "placementGroupId": "",
            "serializedRuntimeEnv": "{}", "taskAttempt": 0, "language": "PYTHON", "requiredResources": {"CPU": 1.0},
        })  # fmt: skip
        yield self._course(task_id, it.job, it.begun_ns, states, it.node, it.worker)

    def late_actor(self, number: int, begun_ns: int) -> Iterator[dict[str, Any]]:
        """A new actor that waits for resources."""
        identity, job = b64(actor_id(self.plan, number)), b64(job_id(number % self.plan.jobs))
        yield self._event("ACTOR_DEFINITION_EVENT", 0, begun_ns, {
            "actorId": identity, "jobId": job, "className": CLASSES[number % len(CLASSES)], "name": "",
            "rayNamespace": "train", "requiredResources": {"GPU": 8.0}, "serializedRuntimeEnv": "{}",
        })  # fmt: skip
        states = [
            {
                "timestamp": rfc(begun_ns),
                "state": "DEPENDENCIES_UNREADY",
                "nodeId": "",
                "workerId": "",
                "pid": 0,
            }
        ]
        yield self._event(
            "ACTOR_LIFECYCLE_EVENT", 0, begun_ns, {"actorId": identity, "stateTransitions": states}
        )

    def _actor_states(self, it: Actor) -> Iterator[dict[str, Any]]:
        for at, state in ((0, "DEPENDENCIES_UNREADY"), (S // 1000, "PENDING_CREATION")):
            yield {"timestamp": rfc(it.begun_ns + at), "state": state, "nodeId": "", "workerId": "", "pid": 0}
        if it.state == "PENDING_CREATION":
            return
        worker = make_id("late", it.begun_ns, 28) if it.worker is None else worker_id(it.worker)
        pid = 30_000 if it.worker is None else pid_of(self.plan, it.worker)
        where = {"nodeId": b64(node_id(it.node)), "workerId": b64(worker), "pid": pid, "reprName": ""}
        if it.restarts:
            yield {"timestamp": rfc(it.begun_ns + S), "state": "ALIVE", **where}
            yield {
                "timestamp": rfc(it.begun_ns + 2 * S),
                "state": "RESTARTING",
                "restartReason": "ACTOR_FAILURE",
            }
        yield {"timestamp": rfc(it.begun_ns + 3 * S), "state": "ALIVE", **where}
        if it.ended_ns is not None:
            why = {"errorMessage": message_of(it), "reason": "WORKER_DIED" if it.failed else "REF_DELETED"}
            cause = {"actorDiedErrorContext": why}
            yield {"timestamp": rfc(it.ended_ns), "state": "DEAD", "deathCause": cause, **where}

    def _course(
        self,
        task_id: bytes,
        job: int,
        begun_ns: int,
        states: list[tuple[str, int]],
        node: int,
        worker: int | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "taskId": b64(task_id), "jobId": b64(job_id(job)), "taskAttempt": 0,
            "stateTransitions": [{"state": state, "timestamp": rfc(begun_ns + at)} for state, at in states],
            "nodeId": "", "workerId": "",
        }  # fmt: skip
        if len(states) > 2:
            body |= {"nodeId": b64(node_id(node)), "workerPid": 30_000}
            if worker is not None:
                body |= {"workerId": b64(worker_id(worker)), "workerPid": pid_of(self.plan, worker)}
        if states[-1][0] == "FAILED":
            body["rayErrorInfo"] = {
                "errorMessage": "ValueError: row 17 has no label", "errorType": "TASK_EXECUTION_EXCEPTION"
            }  # fmt: skip
        return self._event("TASK_LIFECYCLE_EVENT", node, begun_ns, body)

    def task(
        self, number: int, begun_ns: int, state: str = "FINISHED", lasted_ns: int = S // 2
    ) -> Iterator[Any]:
        """A normal task on one of the workers that run tasks."""
        plan = self.plan
        job, function = number % plan.jobs, FUNCTIONS[number % len(FUNCTIONS)]
        task_id = make_id("task", number, 8) + b"\xff" * 12 + job_id(job)
        worker = plan.busy + number % max(1, plan.workers - plan.busy)
        states = [("PENDING_ARGS_AVAIL", 0), ("PENDING_NODE_ASSIGNMENT", S // 1000)]
        if state != "PENDING":
            states += [("SUBMITTED_TO_WORKER", S // 100), ("RUNNING", S // 50)]
        if state in ("FINISHED", "FAILED"):
            states.append((state, S // 50 + lasted_ns))
        wants = {"GPU": 8.0} if state == "PENDING" else {"CPU": 1.0}
        yield self._event("TASK_DEFINITION_EVENT", 0, begun_ns, {
            "taskId": b64(task_id), "taskType": "NORMAL_TASK", "taskName": function,
            "taskFunc": {"pythonFunctionDescriptor": {"moduleName": "train", "className": "", "functionName": function,
                                                      "functionHash": ""}},
            "jobId": b64(job_id(job)), "parentTaskId": b64(driver_id(job)), "placementGroupId": "",
            "serializedRuntimeEnv": "{}", "taskAttempt": 0, "language": "PYTHON", "requiredResources": wants,
        })  # fmt: skip
        yield self._course(task_id, job, begun_ns, states, node_of(plan, worker), worker)

    def call(self, number: int) -> Iterator[dict[str, Any]]:
        """The method that a living actor is running."""
        plan, it = self.plan, actor(self.plan, number)
        task_id, begun_ns = make_id("call", number, 8) + it.id, plan.begun_ns - (5 + number % 50) * S
        yield self._event("ACTOR_TASK_DEFINITION_EVENT", it.node, begun_ns, {
            "taskId": b64(task_id), "actorTaskName": f"{it.class_name}.step", "actorId": b64(it.id),
            "actorFunc": {"pythonFunctionDescriptor": {"moduleName": "train", "className": it.class_name,
                                                       "functionName": "step", "functionHash": ""}},
            "jobId": b64(job_id(it.job)), "parentTaskId": b64(driver_id(it.job)), "placementGroupId": "",
            "serializedRuntimeEnv": "{}", "taskAttempt": 0, "language": "PYTHON", "requiredResources": {},
        })  # fmt: skip
        states = [("PENDING_ARGS_AVAIL", 0), ("SUBMITTED_TO_WORKER", S // 1000), ("RUNNING", S // 500)]
        yield self._course(task_id, it.job, begun_ns, states, it.node, it.worker)

    def everything(self) -> Iterator[dict[str, Any]]:
        """Everything until ``begun_ns``."""
        plan = self.plan
        yield from self.nodes()
        yield from self.jobs()
        yield from self.workers()
        yield from self.groups()
        for number in range(plan.actors):
            yield from self.actor(number)
            it = actor(plan, number)
            if it.state == "ALIVE" and number % 2:
                yield from self.call(number)
        for number in range(plan.tasks):
            at = plan.begun_ns - 3600 * S * (plan.tasks - number) // plan.tasks
            ended = "FAILED" if number % 100 == 3 else "FINISHED"
            yield from self.task(number, at, ended)
        for number in range(plan.tasks, plan.tasks + plan.workers // 20):
            yield from self.task(number, plan.begun_ns - 30 * S, "RUNNING")
        for number in range(plan.tasks + plan.workers // 20, plan.tasks + plan.workers // 20 + 300):
            yield from self.task(number, plan.begun_ns - 60 * S, "PENDING")


def message_of(it: Actor) -> str:
    if it.failed:
        return "The actor died unexpectedly before finishing this task. Worker exit type: SYSTEM_ERROR."
    return "The actor is dead because all references to the actor were removed."


def labels(number: int) -> dict[str, str]:
    return {"ray.io/node-id": node_id(number).hex(), "zone": f"zone-{number % 3}"}


def instance(number: int) -> str:
    return "gpu-4" if number % GPU_NODES == 0 else "cpu-16"


def resources(number: int) -> dict[str, float]:
    found = {"CPU": CPUS * 1.0, "memory": MEMORY * 1.0, "object_store_memory": STORE * 1.0}
    found[f"node:{node_ip(number)}"] = 1.0
    return found | ({"GPU": 4.0} if number % GPU_NODES == 0 else {})


def batches(events: Iterator[dict[str, Any]], size: int = 1000) -> Iterator[bytes]:
    """Bodies of POST requests, filled like by Ray's exporter."""
    batch: list[dict[str, Any]] = []
    for event in events:
        batch.append(event)
        if len(batch) == size:
            yield msgspec.json.encode(batch)
            batch = []
    if batch:
        yield msgspec.json.encode(batch)
