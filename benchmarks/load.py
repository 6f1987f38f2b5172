"""Creates event batches like those of Ray's exporter, fast enough not to disturb a measurement.

The texts come from a recording of Ray 2.60 (``data/ray_events.json``), with one example of each course of a
task. IDs, times, names, PIDs and log offsets are replaced for each task. Everything else is sent unchanged.
:class:`Shape` checks at the start that a template filled with the recording's own values yields the
recording.

Run as a program, it posts batches and prints its progress, one JSON object per line:

    python load.py URL --seconds 60 --tasks 1000000
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import queue
import random
import re
import sys
import threading
import time
from collections import Counter, deque
from datetime import datetime, timezone
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

DATA = Path(__file__).parent / "data" / "ray_events.json"
BATCH = 1000  # maximum number of events that Ray's exporter sends
#: A batch and the number of its events.
Body = tuple[bytes, int]
#: (shape, number per 100 tasks submitted by a driver). The shares of complete and partial owner reports are
#: those of the recording. A branch submits three leaves.
MIX = (
    ("leaf", 38),
    ("leaf_in_parts", 12),
    ("actor_call", 27),
    ("actor_call_in_parts", 18),
    ("branch", 4),
    ("fails", 1),
)
LEAVES = 3
FUNCTIONS = tuple(
    name.encode()
    for name in (
        *(
            "preprocess",
            "tokenize",
            "embed",
            "score",
            "rank",
            "merge",
            "resize",
            "augment",
            "decode",
            "encode",
        ),
        *(
            "shuffle",
            "partition",
            "reduce",
            "validate",
            "upload",
            "download",
            "train_step",
            "evaluate",
            "leaf",
            "sample",
        ),
    )
)
METHODS = tuple(name.encode() for name in ("add", "get", "push", "pull", "step", "reset"))
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z|\b\d{19}\b")
_SECOND = 1_000_000_000


def _parse(text: str) -> int:
    """Parse either form of a time to ns since the epoch."""
    if "T" not in text:
        return int(text)
    whole = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)
    return int(whole.timestamp()) * _SECOND + int(text[20:-1].ljust(9, "0"))


class _Seconds(dict):
    """Caches ``2026-11-21T11:33:35.`` by second since the epoch."""

    def __missing__(self, second: int) -> bytes:
        if len(self) > 1000:
            self.clear()
        text = datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.").encode()
        self[second] = text
        return text


_SECONDS = _Seconds()
# Positions of the values that all shapes use. Event IDs and times follow.
_FIXED = (
    *("task", "task_hex", "parent", "job", "owner_node", "node", "worker", "worker_hex", "pid", "ip"),
    *("actor", "name", "offset", "session"),
)


class Shape:
    """One course of a task: templates of its events in order.

    ``render`` returns each event's bytes. ``stages`` says for each who sends it and when: ``owner``
    (immediately), ``later`` (the owner again) or ``executor``.
    """

    def __init__(self, events: list[dict], *, name: str | None, scale: float = 1.0) -> None:
        self._recorded: dict[str, bytes] = {}
        texts = [json.dumps(event) for event in events]
        whole = "\n".join(texts)
        self._learn(events, whole)
        self.stages = [_stage(event) for event in events]
        times = sorted({_parse(found) for found in _TIMES.findall(whole)})
        self._zero = times[0]
        started, ended = _phases(events, times)
        # A time is (phase, ns after submission). Queueing and running times shift the phases.
        self._offsets = [t - self._zero for t in times]
        self._phase = [0 if t < started else 1 if t < ended else 2 for t in times]
        self._scaled = [int(offset * scale) for offset in self._offsets]
        self._slots = [*_FIXED, *(f"event{i}" for i in range(len(events)))]
        self._slots += [f"ns{i}" for i in range(len(times))] + [f"rfc{i}" for i in range(len(times))]
        self._where = {slot: i for i, slot in enumerate(self._slots)}
        self._times = {t: i for i, t in enumerate(times)}
        self.events = [self._compile(text, i, name) for i, text in enumerate(texts)]
        self._used_ns = [self._uses(f"ns{i}") for i in range(len(times))]
        self._used_rfc = [self._uses(f"rfc{i}") for i in range(len(times))]
        self.start = self._index_of(events, "RUNNING")
        self.end = self._index_of(events, "FINISHED", "FAILED")
        self.spans = sum(_spans(event) for event in events)
        self._check(texts, name)

    def _learn(self, events: list[dict], whole: str) -> None:
        """Read the recording's own values."""
        recorded = self._recorded
        for event in events:
            recorded["owner_node"] = recorded["node"] = event["nodeId"].encode()
            recorded["session"] = event["sessionName"].encode()
            part = _part(event)
            if "taskId" in part:
                recorded["task"] = part["taskId"].encode()
                recorded["task_hex"] = base64.b64decode(part["taskId"]).hex().encode()
            for ours, theirs in (("parent", "parentTaskId"), ("actor", "actorId"), ("job", "jobId")):
                if part.get(theirs):
                    recorded[ours] = part[theirs].encode()
            if part.get("workerPid"):
                recorded["pid"] = str(part["workerPid"]).encode()
            if part.get("profileEvents", {}).get("componentType") == "worker":
                recorded["worker"] = part["profileEvents"]["componentId"].encode()
                recorded["worker_hex"] = base64.b64decode(recorded["worker"]).hex().encode()
                recorded["ip"] = part["profileEvents"]["nodeIpAddress"].encode()
            if "taskLogInfo" in part:
                log = part["taskLogInfo"]
                recorded.setdefault(
                    "offset", next(log[k] for k in ("stdoutStart", "stdoutEnd") if k in log).encode()
                )

    def _compile(self, text: str, number: int, name: str | None) -> tuple[bytes, itemgetter]:
        """Compile an event's text to a bytes format, and a getter for its values among a task's values."""
        marks: list[tuple[int, int, str]] = []

        def mark(pattern: str, slot: str) -> None:
            marks.extend((m.start(), m.end(), slot) for m in re.finditer(pattern, text))

        def exact(slot: str) -> str:
            return re.escape(self._recorded[slot].decode())

        mark(r'(?<="eventId": ")[^"]+', f"event{number}")
        for found in _TIMES.finditer(text):
            index = self._times[_parse(found.group())]
            if "T" not in found.group():
                marks.append((found.start(), found.end(), f"ns{index}"))
            elif len(found.group()) == 30:  # shorter ones are times of the machine, not of the task
                marks.append((found.start(), found.end(), f"rfc{index}"))
        for slot in ("task", "parent", "actor", "job", "worker"):
            if slot in self._recorded:
                mark(f'(?<="){exact(slot)}(?=")', slot)
        for slot in ("task_hex", "worker_hex", "session"):
            if slot in self._recorded:
                mark(exact(slot), slot)
        last_node = text.rfind('"nodeId": "')
        for found in re.finditer(f'(?<="){exact("node")}(?=")', text):
            sender = (
                "owner_node" if self.stages[number] != "executor" and found.start() > last_node else "node"
            )
            marks.append((found.start(), found.end(), sender))
        if "pid" in self._recorded:
            mark(rf"(?<![\w.]){exact('pid')}(?![\w])", "pid")
        if "ip" in self._recorded:
            mark(rf'(?<=nodeIpAddress": "){exact("ip")}|(?<=ip=){exact("ip")}', "ip")
        if "offset" in self._recorded:
            mark(r'(?<="std(?:out|err)Start": ")\d+|(?<="std(?:out|err)End": ")\d+', "offset")
        if name is not None:
            mark(rf'(?<=[".:]){name}(?=["\\])', "name")
        marks = sorted(set(marks))
        pieces, slots, position = [], [], 0
        for begin, end, slot in marks:
            assert begin >= position, f"two values in one place: {text[begin:end]!r}"
            pieces += [text[position:begin].replace("%", "%%"), "%b"]
            slots.append(slot)
            position = end
        pieces.append(text[position:].replace("%", "%%"))
        return "".join(pieces).encode(), itemgetter(*(self._where[slot] for slot in slots))

    def _uses(self, slot: str) -> bool:
        place = self._where[slot]
        probe = list(range(len(self._slots)))
        return any(place in getter(probe) for _, getter in self.events)

    def _index_of(self, events: list[dict], *states: str) -> int:
        for event in events:
            for transition in _part(event).get("stateTransitions", ()):
                if transition["state"] in states:
                    return self._times.get(_parse(transition["timestamp"]), -1)
        return -1

    def _check(self, texts: list[str], name: str | None) -> None:
        """Check that a template filled with its original values yields the recording."""
        values: list[bytes] = [self._recorded.get(slot, b"") for slot in _FIXED]
        values[_FIXED.index("name")] = (name or "").encode()
        values += [json.loads(text)["eventId"].encode() for text in texts]
        times = [self._zero + offset for offset in self._offsets]
        values += [b"%d" % t for t in times]
        values += [_SECONDS[t // _SECOND] + b"%09dZ" % (t % _SECOND) for t in times]
        for (template, getter), text in zip(self.events, texts, strict=True):
            filled = (template % getter(values)).decode()
            assert filled == text, f"the template lost something:\n{text}\n{filled}"

    def times(self, submitted_ns: int, queued_ns: int, ran_ns: int) -> list[int]:
        """Times of a task's events. Never multiples of a microsecond, because their texts are shorter."""
        shift = (0, queued_ns, queued_ns + ran_ns)
        found = [
            submitted_ns + offset + shift[phase]
            for offset, phase in zip(self._scaled, self._phase, strict=True)
        ]
        return [t if t % 1000 else t + 1 for t in found]

    def render(self, fixed: tuple[bytes, ...], event_ids: list[bytes], times: list[int]) -> list[bytes]:
        """The bytes of each event. ``fixed`` is in the order of ``_FIXED``."""
        values = [*fixed, *event_ids]
        values += [b"%d" % t if used else b"" for t, used in zip(times, self._used_ns, strict=True)]
        values += [
            b"%b%09dZ" % (_SECONDS[t // _SECOND], t % _SECOND) if used else b""
            for t, used in zip(times, self._used_rfc, strict=True)
        ]
        return [template % getter(values) for template, getter in self.events]


def _part(event: dict) -> dict:
    return next(value for key, value in event.items() if key.endswith(("Event", "Events")))


def _stage(event: dict) -> str:
    part = _part(event)
    if "profileEvents" in part or part.get("workerPid") or "taskLogInfo" in part:
        return "executor"
    states = [transition["state"] for transition in part.get("stateTransitions", ())]
    return "later" if states and "PENDING_ARGS_AVAIL" not in states else "owner"


def _phases(events: list[dict], times: list[int]) -> tuple[int, int]:
    """Indices of the first time after a task's start, and of the first after its end."""
    started, ended = times[-1] + 1, times[-1] + 1
    for event in events:
        for transition in _part(event).get("stateTransitions", ()):
            if transition["state"] in ("SUBMITTED_TO_WORKER", "RUNNING"):
                started = min(started, _parse(transition["timestamp"]))
        for span in _part(event).get("profileEvents", {}).get("events", ()):
            if span["eventName"] == "task:execute":
                ended = min(ended, int(span["endTime"]))
    return started, ended


def _spans(event: dict) -> int:
    """Number of spans that become rows, instead of phases of a task."""
    found = _part(event).get("profileEvents", {}).get("events", ())
    return sum(not span["eventName"].startswith("task:") for span in found)


def _b64(raw: bytes) -> bytes:
    return base64.b64encode(raw)


class Worker:
    """A worker process of the simulated cluster, with an actor."""

    def __init__(self, node: Node, number: int, rng: random.Random) -> None:
        raw = rng.randbytes(28)
        self.node, self.id, self.hex = node, _b64(raw), raw.hex().encode()
        self.pid = b"%d" % (20_000 + node.number * 1000 + number)
        self.offset = 0
        self.late = bool(number % 2)  # half of them report one round later
        self.actor = rng.randbytes(12) + (1).to_bytes(4, "little")
        self.actor_b64 = _b64(self.actor)
        self.actor_tail = _b64(self.actor[1:])
        self.actor_hex = self.actor.hex().encode()


class Node:
    """A node of the simulated cluster, with a driver. Its agent has one connection."""

    def __init__(self, number: int, workers: int, rng: random.Random) -> None:
        self.number = number
        self.id = _b64(rng.randbytes(28))
        self.ip = b"192.0.2.%d" % (number + 2)
        self.workers = [Worker(self, i, rng) for i in range(workers)]
        self.job = _b64((number + 1).to_bytes(4, "little"))
        job = (number + 1).to_bytes(4, "little")
        self.driver = _b64(b"\xff" * 20 + job)
        self.component = _b64(job + b"\xff" * 24)
        self.task_tail = _b64(b"\xff" * 11 + job)
        self.task_tail_hex = (b"\xff" * 12 + job).hex().encode()
        self.now: list[bytes] = []  # events of this round
        self.next: list[bytes] = []  # events of the next round
        self.left: list[bytes] = []  # events that do not fill a batch yet


class Cluster:
    """The whole load. Call :meth:`round` for the next batches of all nodes. ``sent`` has the totals."""

    def __init__(
        self,
        nodes: int = 4,
        workers: int = 8,
        tasks_a_round: int = 180,
        seed: int = 1,
        session: str | None = None,
        binary: bool = False,
    ) -> None:
        self._binary = binary
        recording = json.loads(DATA.read_text())["shapes"]
        shapes = {
            "leaf": Shape(recording["leaf"], name="leaf"),
            "leaf_in_parts": Shape(recording["leaf_in_parts"], name="leaf", scale=0.1),
            "actor_call": Shape(recording["actor_call"], name="add"),
            "actor_call_in_parts": Shape(recording["actor_call_in_parts"], name="add", scale=0.1),
            # Most of its recorded 40 s were spent on starting workers.
            "branch": Shape(recording["branch"], name="branch", scale=0.005),
            "fails": Shape(recording["fails"], name="fails"),
        }
        self._shapes = shapes
        self._driver = Shape(recording["driver"], name=None)
        self._rng = random.Random(seed)
        self.session = session or f"session_2026-01-01_00-00-00_000000_{os.getpid()}"
        self._session = self.session.encode()
        self.nodes = [Node(i, workers, self._rng) for i in range(nodes)]
        self._workers = [worker for node in self.nodes for worker in node.workers]
        self._deck = [shapes[name] for name, share in MIX for _ in range(share)]
        self._tasks_a_round = tasks_a_round
        self._event_ids: list[bytes] = []
        self._task_ids: list[tuple[bytes, bytes]] = []
        self.tasks = 0
        self.events = 0
        self.spans = 0
        self.sums = [0, 0]
        self.functions: Counter[tuple[str, str]] = Counter()
        self.last_task = ""
        for node in self.nodes:
            self._begin_driver(node)

    def _begin_driver(self, node: Node) -> None:
        values = self._fixed(node.driver, b"", b"/" * 32, node, self._workers[0], b"")
        definition, lifecycle, _ = self._driver.render(
            values, self._ids(3), self._driver.times(time.time_ns(), 0, 0)
        )
        node.now += [definition, lifecycle]

    def _ids(self, count: int) -> list[bytes]:
        """New event IDs of 28 bytes. The last byte is constant."""
        if len(self._event_ids) < count:
            text = base64.b64encode(os.urandom(27 * 4096))
            self._event_ids += [text[i : i + 36] + b"Xg==" for i in range(0, len(text), 36)]
        taken = self._event_ids[-count:]
        del self._event_ids[-count:]
        return taken

    def _task_id(self, worker: Worker | None, node: Node) -> tuple[bytes, bytes]:
        """A new task ID in base64 and hex: eight random bytes, then the actor's ID or ones and the job."""
        unique = self._rng.getrandbits(64).to_bytes(8, "big")
        if worker is None:
            return _b64(unique + b"\xff") + node.task_tail, unique.hex().encode() + node.task_tail_hex
        return _b64(unique + worker.actor[:1]) + worker.actor_tail, unique.hex().encode() + worker.actor_hex

    def _fixed(
        self, task: bytes, task_hex: bytes, parent: bytes, owner: Node, worker: Worker, name: bytes
    ) -> tuple[bytes, ...]:
        worker.offset += 17
        return (
            *(task, task_hex, parent, owner.job, owner.id, worker.node.id, worker.id, worker.hex, worker.pid),
            *(worker.node.ip, worker.actor_b64, name, b"%d" % worker.offset, self._session),
        )

    def round(self) -> list[list[Body]]:
        """The next full batches of all nodes."""
        now = time.time_ns()
        for node in self.nodes:
            node.now, node.next = node.next + node.now, []
        for node in self.nodes:
            step = 20_000_000 // self._tasks_a_round
            spans = []
            for i in range(self._tasks_a_round):
                submitted = now + i * step + self._rng.randrange(step)
                self._task(self._rng.choice(self._deck), node.driver, node, node, submitted)
                spans.append(submitted)
            self._report_submits(node, spans)
        return [self._batches(node) for node in self.nodes]

    def rest(self) -> list[list[Body]]:
        """The remaining events, at the end."""
        for node in self.nodes:
            node.now, node.next = node.next + node.now, []
        return [self._batches(node, everything=True) for node in self.nodes]

    def _batches(self, node: Node, everything: bool = False) -> list[Body]:
        waiting = node.left + node.now
        whole = len(waiting) if everything else len(waiting) - len(waiting) % BATCH
        node.left, node.now = waiting[whole:], []
        self.events += whole
        cuts = [waiting[i : min(i + BATCH, whole)] for i in range(0, whole, BATCH)]
        bodies = [(b"[" + b", ".join(cut) + b"]", len(cut)) for cut in cuts]
        return [(to_binary(body), count) for body, count in bodies] if self._binary else bodies

    def _task(self, shape: Shape, parent: bytes, owner: Node, reporter: Node, submitted: int) -> None:
        rng = self._rng
        worker = rng.choice(self._workers)
        actor = shape is self._shapes["actor_call"] or shape is self._shapes["actor_call_in_parts"]
        if actor:
            name = rng.choice(METHODS)
        elif shape is self._shapes["branch"] or shape is self._shapes["fails"]:
            name = b"branch" if shape is self._shapes["branch"] else b"fails"
        else:
            name = rng.choice(FUNCTIONS)
        task, task_hex = self._task_id(worker if actor else None, owner)
        # The owner's events are reported by its own node. The job is that of its driver.
        values = self._fixed(task, task_hex, parent, owner, worker, name)
        if reporter is not owner:
            values = (*values[:4], reporter.id, *values[5:])
        times = shape.times(submitted, rng.randrange(5_000_000), rng.randrange(20_000_000))
        events = shape.render(values, self._ids(len(shape.events)), times)
        executor = worker.node.next if worker.late else worker.node.now
        for event, stage in zip(events, shape.stages, strict=True):
            (reporter.now if stage == "owner" else reporter.next if stage == "later" else executor).append(
                event
            )
        self.tasks += 1
        self.spans += shape.spans
        self.sums[0] += times[shape.start] % 1_000_003
        self.sums[1] += times[shape.end] % 1_000_003
        failed = shape is self._shapes["fails"]
        self.functions[("Counter." if actor else "") + name.decode(), "FAILED" if failed else "FINISHED"] += 1
        if shape is self._shapes["branch"]:
            for i in range(LEAVES):
                self._task(
                    self._shapes["leaf_in_parts"], task, owner, worker.node, submitted + 1_000_000 * (i + 1)
                )
        else:
            self.last_task = task_hex.decode()

    def _report_submits(self, node: Node, starts: list[int]) -> None:
        """A driver's profile event, with a span for each task that it submitted."""
        values = self._fixed(node.driver, b"", b"/" * 32, node, self._workers[0], b"")
        event = self._driver.render(values, self._ids(3), self._driver.times(starts[0], 0, 0))[2]
        head, _, rest = event.partition(b'"events": [')
        tail = rest[rest.index(b"]") :]
        span = b'{"startTime": "%d", "endTime": "%d", "extraData": "{}", "eventName": "submit_task"}'
        took = self._rng.randrange(40_000, 300_000)
        body = b", ".join([span % (start, start + took + start % 9973) for start in starts])
        head = re.sub(rb'(?<="componentId": ")[^"]+', node.component, head)
        node.now.append(head + b'"events": [' + body + tail)
        self.spans += len(starts)


def to_binary(body: bytes) -> bytes:
    """Convert a batch to the format of Rayscope's agents, with Ray's own classes.

    Takes about 60 us per event.
    """
    from google.protobuf import json_format
    from ray.core.generated.events_event_aggregator_service_pb2 import RayEventsData

    data = RayEventsData()
    for event in json.loads(body):
        json_format.ParseDict(event, data.events.add())
    return data.SerializeToString()


class Connection(threading.Thread):
    """An agent: posts its node's batches in order, retrying each until it gets a 2xx, like Ray's exporter."""

    def __init__(self, url: str, failed: threading.Event, binary: bool) -> None:
        super().__init__(daemon=True)
        self._headers = {"Content-Type": f"application/{'x-protobuf' if binary else 'json'}"}
        parts = urlsplit(url)
        self._address, self._path = (parts.hostname or "", parts.port or 80), parts.path
        self.queue: queue.Queue[Body | None] = queue.Queue(maxsize=4)
        self.latencies: list[tuple[float, float]] = []
        self.acknowledged = 0
        self.retries = 0
        self._failed = failed
        self.error = ""

    def run(self) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=30)
        try:
            while (item := self.queue.get()) is not None:
                self._post(connection, *item)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            self._failed.set()
        finally:
            connection.close()

    def _post(self, connection: http.client.HTTPConnection, body: bytes, events: int) -> None:
        backoff = 0.01
        while True:
            began = time.monotonic()
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            response.read()
            now = time.monotonic()
            self.latencies.append((now, now - began))
            if response.status // 100 == 2:
                self.acknowledged += events
                return
            if response.status != 503:
                raise RuntimeError(f"answered {response.status}")
            self.retries += 1
            time.sleep(backoff)
            backoff = min(backoff * 2, 5.0)


def report(kind: str, **values: object) -> None:
    """Print a message for the parent process."""
    print(json.dumps({"kind": kind, **values}), flush=True)


def run(
    url: str,
    seconds: float,
    tasks: int,
    rate: float,
    nodes: int,
    seed: int,
    prepare: int,
    session: str | None = None,
    binary: bool = False,
) -> int:
    """Post for ``seconds`` and until ``tasks`` are sent. Returns 0 if all batches were acknowledged."""
    cluster = Cluster(nodes=nodes, seed=seed, session=session, binary=binary)
    failed = threading.Event()
    connections = [Connection(url, failed, binary) for _ in cluster.nodes]
    ready: deque[list[list[Body]]] = deque()
    while cluster.events < prepare:
        ready.append(cluster.round())
    sent = 0
    for connection in connections:
        connection.start()
    began = time.monotonic()
    cpu_began = time.process_time()
    report("begin", session=cluster.session)
    reported = began

    def put(batches: list[list[Body]]) -> int:
        for connection, bodies in zip(connections, batches, strict=True):
            for body in bodies:
                while not failed.is_set():
                    try:
                        connection.queue.put(body, timeout=0.5)
                        break
                    except queue.Full:
                        continue
        return sum(count for bodies in batches for _, count in bodies)

    while not failed.is_set():
        now = time.monotonic()
        if not ready and now - began >= seconds and cluster.tasks >= tasks:
            break
        if rate and sent > rate * (now - began):
            time.sleep(0.01)
            continue
        sent += put(ready.popleft() if ready else cluster.round())
        if now - reported >= 0.5:
            reported = now
            report(
                "progress",
                elapsed=now - began,
                acknowledged=sum(c.acknowledged for c in connections),
                cpu=time.process_time() - cpu_began,
            )
    put(cluster.rest())
    for connection in connections:
        connection.queue.put(None)
    for connection in connections:
        connection.join()
    elapsed = time.monotonic() - began
    latencies = [latency for c in connections for latency in c.latencies]
    within = sorted(latency for _, latency in latencies)
    slow = [(round(at - began, 1), round(latency, 3)) for at, latency in latencies if latency > 1]
    report(
        "end",
        error="; ".join(c.error for c in connections if c.error),
        elapsed=elapsed,
        events=cluster.events,
        acknowledged=sum(c.acknowledged for c in connections),
        tasks=cluster.tasks,
        spans=cluster.spans,
        sums=cluster.sums,
        functions=[[name, state, count] for (name, state), count in sorted(cluster.functions.items())],
        cpu=time.process_time() - cpu_began,
        retries=sum(c.retries for c in connections),
        posts=len(within),
        latency={
            "p50": within[len(within) // 2],
            "p95": within[int(len(within) * 0.95)],
            "max": within[-1],
            "over_1s": slow[:20],
        }
        if within
        else {},
    )
    return 1 if failed.is_set() else 0


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", help="where to post; without it, only how fast batches are made")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--tasks", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0, help="events a second; 0: as fast as they are taken")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--session", help="an existing session to go on with; give another seed then")
    parser.add_argument(
        "--prepare", type=int, default=0, help="events to make before the clock starts (1 kB each)"
    )
    parser.add_argument(
        "--binary", action="store_true", help="protobuf, as Rayscope's agents send it; see --prepare"
    )
    args = parser.parse_args()
    if args.url:
        return run(
            args.url,
            args.seconds,
            args.tasks,
            args.rate,
            args.nodes,
            args.seed,
            args.prepare,
            args.session,
            args.binary,
        )
    cluster = Cluster(nodes=args.nodes, seed=args.seed)
    began = time.process_time()
    size = sum(len(body) for _ in range(20) for bodies in cluster.round() for body, _ in bodies)
    took = time.process_time() - began
    print(
        f"{cluster.events} events of {cluster.tasks} tasks ({cluster.events / cluster.tasks:.2f} a task), "
        f"{size / cluster.events:.0f} bytes an event, {took / cluster.events * 1e6:.2f} us CPU an event"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
