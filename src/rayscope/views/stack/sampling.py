"""Samples the Python frames of workers in live sessions. Viewers share samples, and their rate is limited.

Each dump stops its process for some ms. So a worker is dumped at most once per second, regardless of the
number of viewers. At most four dumps run on a node at the same time, and sixteen in total.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as Late
from typing import NamedTuple

from rayscope.ray.agents.stack_dumps import Agent, TracebackError
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.storage.slots import Slots
from rayscope.views.stack.dump import Dump, parse_dump
from rayscope.views.stack.frames import WORKER_TITLE, Busy, may_be_driver
from rayscope.views.stack.frames_schemas import FramesProblem, FramesWorker

#: Maximum number of workers per request.
MAX_WORKERS = 64
#: Maximum number of concurrent dumps.
_MAX_DUMPS = 16
#: Maximum number of concurrent dumps on one node.
_MAX_DUMPS_PER_NODE = 4
#: How long a dump may be reused, in seconds.
_HOLD_S = 1.0
#: Time limit of one dump, in seconds.
_TIMEOUT_S = 5.0
#: Time limit of all dumps of a request, in seconds.
_DEADLINE_S = 15.0
#: Maximum number of concurrent requests.
_REQUESTS = 8
#: Maximum number of workers that are listed for each problem.
_SHOWN_WORKERS = 20


class Problem(NamedTuple):
    """Why a worker has no frames. ``of_node``: the same applies to all workers on its node."""

    code: str
    message: str
    remedy: str
    of_node: bool = False
    params: tuple[tuple[str, str | int], ...] = ()


def _problem(error: TracebackError | GcsError, *, of_node: bool) -> Problem:
    return Problem(error.code, error.message, error.remedy, of_node, tuple(error.params.items()))


_LATE = Problem("timeout", "Timed out.", "Sample fewer workers: those of one line.")
PROCESS_ENDED = Problem(
    "gone", "The process has ended.", "Take the stacks again.", params=(("what", "process"),)
)
MOVED_ON = Problem(
    "moved_on",
    "The worker has moved on: the record is a few seconds behind.",
    "Take the stacks again.",
)
NOT_RUNNING = Problem(
    "not_running",
    "This worker is not running a task that matches the filters.",
    "Use the lines of the current stack.",
)
NO_PROCESS = Problem(
    "no_process",
    "The process of this driver is not known.",
    "Ray reports it a few seconds after its start. Take the stacks again.",
)
IDLE_DRIVER = Problem(
    "idle_driver",
    "No task of this driver is in flight, according to the record, which is a few seconds behind.",
    "Take the stacks again.",
)
_UNSEEN_DRIVER = Problem(
    "unseen_driver",
    "The driver runs, but the agent of its node does not see its process.",
    "The driver is probably in a container of its own. Run `py-spy dump` there.",
)

Answer = Dump | Problem


class Dumps:
    """Creates the stack dumps of workers, for all requests to the server. Thread-safe."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_MAX_DUMPS, "rayscope-frames")
        self._slots = Slots(_REQUESTS, "Too many stack samples are being taken.")
        self._lock = threading.Lock()
        #: Expiry time and result of recent dumps, by session, worker, and process ID.
        self._taken: dict[tuple[str, str, int], tuple[float, Future[Answer]]] = {}

    def take(self, session: str, gcs: GcsClient, workers: Mapping[str, Busy]) -> dict[str, Answer]:
        """Return a dump of each of the ``workers`` (by ID), or the reason why there is none.

        Raises Busy while there are too many other requests.
        """
        with self._slots.take():
            queues: dict[str, deque[Busy]] = defaultdict(deque)
            for worker in workers.values():
                queues[worker.node_id].append(worker)
            answers: dict[str, Answer] = {}
            ended = threading.Event()
            nodes = [_Node(gcs, node_id, queue) for node_id, queue in queues.items()]
            # Start a job for each node before any node gets its second one.
            turns = [node for turn in range(_MAX_DUMPS_PER_NODE) for node in nodes if turn < node.jobs]
            jobs = [self._pool.submit(self._drain, session, node, answers, ended) for node in turns]
            wait(jobs, _DEADLINE_S)
            ended.set()
            taken = dict(answers)
        return {worker: taken.get(worker, _LATE) for worker in workers}

    def _drain(self, session: str, node: _Node, answers: dict[str, Answer], ended: threading.Event) -> None:
        """Dump the remaining workers of a node, one after another."""
        try:
            while node.queue and not ended.is_set():
                try:
                    worker = node.queue.popleft()
                except IndexError:
                    return
                answer = node.problem or self._reuse_or_dump(
                    (session, worker.worker, worker.pid), functools.partial(node.dump, worker)
                )
                if isinstance(answer, Problem) and answer.of_node:
                    node.problem = answer
                answers[worker.worker] = answer
        finally:
            node.leave()

    def _reuse_or_dump(self, key: tuple[str, str, int], make: Callable[[], Answer]) -> Answer:
        """Return a dump that is at most a second old, one that is in progress, or else a new one."""
        now = time.monotonic()
        with self._lock:
            self._taken = {k: kept for k, kept in self._taken.items() if now < kept[0]}
            known = self._taken.get(key)
            future: Future[Answer] = known[1] if known else Future()
            if known is None:
                self._taken[key] = (now + _TIMEOUT_S + _HOLD_S, future)
        if known is not None:
            try:
                return future.result(_TIMEOUT_S)
            except Late:
                return _LATE
        answer: Answer = _LATE
        try:
            answer = make()
        finally:
            future.set_result(answer)
            with self._lock:
                self._taken[key] = (time.monotonic() + _HOLD_S, future)
        return answer


class _Node:
    """The queue of a node's workers to dump, and the connection to the node's agent, once there is one.

    ``jobs`` is the number of threads that still take workers from the queue. Each calls ``leave`` at its end.
    """

    def __init__(self, gcs: GcsClient, node_id: str, queue: deque[Busy]) -> None:
        self.queue = queue
        self.jobs = min(_MAX_DUMPS_PER_NODE, len(queue))
        self.problem: Problem | None = None
        self._node_id = node_id
        self._gcs = gcs
        self._agent: Agent | None = None
        self._lock = threading.Lock()

    def dump(self, worker: Busy) -> Answer:
        """Return the dump of a worker, or the reason why there is none."""
        dump = self._dump(worker.pid)
        if worker.is_driver:
            return self._checked(worker, dump)
        return PROCESS_ENDED if isinstance(dump, Dump) and not dump.title.startswith(WORKER_TITLE) else dump

    def _checked(self, driver: Busy, dump: Answer) -> Answer:
        """Return the dump of a driver, unless it is of another process.

        Ray does not set the title of a driver's process, so the GCS says whether the driver still runs as
        this process.
        """
        if isinstance(dump, Problem) and dump.code != PROCESS_ENDED.code:
            return dump
        try:
            found = self._gcs.worker(driver.worker)
        except GcsError as error:
            return _problem(error, of_node=True)
        if found is None or not found.is_alive or found.pid != driver.pid:
            return PROCESS_ENDED
        return dump if isinstance(dump, Dump) and may_be_driver(dump) else _UNSEEN_DRIVER

    def _dump(self, pid: int) -> Answer:
        try:
            with self._lock:
                if self._agent is None:
                    self._agent = Agent(self._gcs, self._node_id)
            return parse_dump(self._agent.traceback(pid, _TIMEOUT_S))
        except TracebackError as error:
            return _problem(error, of_node=error.is_of_node)
        except GcsError as error:
            return _problem(error, of_node=True)
        except ValueError:
            return Problem(
                "failed",
                "py-spy returned something other than stacks.",
                "Take the stacks again.",
                params=(("what", "no_stacks"),),
            )

    def leave(self) -> None:
        """Close the connection if this is the last job."""
        with self._lock:
            self.jobs -= 1
            if self.jobs == 0 and self._agent is not None:
                self._agent.close()


def describe_problems(problems: Mapping[Problem, list[FramesWorker]]) -> list[FramesProblem]:
    """Return the problems with some of their workers, as in the response, the most frequent problem first."""
    return [
        {
            "code": problem.code,
            "message": problem.message,
            "remedy": problem.remedy,
            "params": dict(problem.params),
            "count": len(workers),
            "workers": workers[:_SHOWN_WORKERS],
        }
        for problem, workers in sorted(problems.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
