"""The Python frames of workers of live sessions: asked for, shared among viewers, bounded.

Each dump stops its process for some ms. So a worker is dumped once a second at most, however many people
look; at most four dumps run on a node and sixteen altogether.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as Late
from typing import Any, NamedTuple

from rayscope.ray.agents.stack_dumps import Agent, TracebackError
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.storage.slots import Slots
from rayscope.views.stack.dump import Dump, parse_dump
from rayscope.views.stack.frames import Busy

#: Workers that one request looks at.
MAX_WORKERS = 64
_AT_ONCE, _ON_A_NODE = 16, 4
#: How long a dump holds, how long one may take, and all of a request's, s.
_HOLD_S, _TIMEOUT_S, _DEADLINE_S = 1.0, 5.0, 15.0
_REQUESTS = 8
_SHOWN_WORKERS = 20
#: So the processes of workers are called; what is called otherwise is none any more.
_TITLE = "ray::"


class Problem(NamedTuple):
    """Why there are no frames of a worker; ``of_node``: nor of any other on its node."""

    code: str
    message: str
    remedy: str
    of_node: bool = False


_LATE = Problem("timeout", "Timed out.", "Sample fewer workers: those of one line.")
_GONE = Problem("gone", "The process has ended.", "Take the stacks again.")
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

Answer = Dump | Problem


class Dumps:
    """Takes dumps. One for a server; thread-safe."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "rayscope-frames")
        self._slots = Slots(_REQUESTS, "Too many stack samples are being taken.")
        self._lock = threading.Lock()
        #: By session, worker and process id: until when it holds.
        self._taken: dict[tuple[str, str, int], tuple[float, Future[Answer]]] = {}

    def take(self, session: str, gcs: GcsClient, workers: Mapping[str, Busy]) -> dict[str, Answer]:
        """The dump of each of ``workers`` (by id), or why there is none.

        Raises Busy while too many others ask.
        """
        with self._slots.take():
            queues: dict[str, deque[Busy]] = defaultdict(deque)
            for worker in workers.values():
                queues[worker.node_id].append(worker)
            found: dict[str, Answer] = {}
            ended = threading.Event()
            nodes = [_Node(gcs, node_id, queue) for node_id, queue in queues.items()]
            # Each node has its turn before any has its second.
            turns = [node for turn in range(_ON_A_NODE) for node in nodes if turn < node.jobs]
            jobs = [self._pool.submit(self._empty, session, node, found, ended) for node in turns]
            wait(jobs, _DEADLINE_S)
            ended.set()
            taken = dict(found)
        return {worker: taken.get(worker, _LATE) for worker in workers}

    def _empty(self, session: str, node: _Node, found: dict[str, Answer], ended: threading.Event) -> None:
        """Take what is left to take on a node, one after another."""
        try:
            while node.queue and not ended.is_set():
                try:
                    worker = node.queue.popleft()
                except IndexError:
                    return
                answer = node.problem or self._once(
                    (session, worker.worker, worker.pid), functools.partial(node.dump, worker.pid)
                )
                if isinstance(answer, Problem) and answer.of_node:
                    node.problem = answer
                found[worker.worker] = answer
        finally:
            node.leave()

    def _once(self, key: tuple[str, str, int], make: Callable[[], Answer]) -> Answer:
        """The dump of the last second, the one that is being taken, or a new one."""
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
    """A node's workers that are still to be asked for, and its agent once one is.

    So many ``jobs`` take them; each leaves at its end.
    """

    def __init__(self, gcs: GcsClient, node_id: str, queue: deque[Busy]) -> None:
        self.queue = queue
        self.jobs = min(_ON_A_NODE, len(queue))
        self.problem: Problem | None = None
        self._node_id = node_id
        self._gcs = gcs
        self._agent: Agent | None = None
        self._lock = threading.Lock()

    def dump(self, pid: int) -> Answer:
        """The dump of a process, or why there is none."""
        try:
            with self._lock:
                if self._agent is None:
                    self._agent = Agent(self._gcs, self._node_id)
            dump = parse_dump(self._agent.traceback(pid, _TIMEOUT_S))
        except TracebackError as error:
            return Problem(error.code, error.message, error.remedy, error.is_of_node)
        except GcsError as error:
            return Problem("gcs", error.message, error.remedy, True)
        except ValueError:
            return Problem("failed", "py-spy returned something other than stacks.", "Take the stacks again.")
        return dump if dump.title.startswith(_TITLE) else _GONE

    def leave(self) -> None:
        """The last one closes the connection."""
        with self._lock:
            self.jobs -= 1
            if self.jobs == 0 and self._agent is not None:
                self._agent.close()


def describe_problems(problems: Mapping[Problem, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The problems of an answer, that of the most workers first; some of the workers."""
    return [
        {
            "code": problem.code,
            "message": problem.message,
            "remedy": problem.remedy,
            "count": len(workers),
            "workers": workers[:_SHOWN_WORKERS],
        }
        for problem, workers in sorted(problems.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
