"""What the tracer tells, as profile events of Ray's own: no connection of ours leaves a user's process.

A profile event has a name, a begin, an end and a text, here JSON. Ray's worker keeps at most so many of them
a task, and sends them once a second. So each process has a budget a second; what goes beyond it is summed
up, one event for each task and name, and nothing is lost silently.

What follows never raises: the first error switches the tracer of this process off, and is told once.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from rayscope.tracer.settings import MAX_SPANS

#: Objects that one event names; of more it gives the number and the sum.
MAX_OBJECTS = 256
#: A call that blocks for so long is told while it still does, s.
BLOCKED_S = 1.0
_DEFAULT_MAX_SPANS = 1000
_DRIVER = b"\xff" * 20
_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
log = logging.getLogger("rayscope.tracer")


class Task:
    """A task that runs in this process. ``thread``: the one that Ray knows to run it, 0 for none."""

    __slots__ = ("attempt", "id", "thread")

    def __init__(self, task_id: bytes, attempt: int, thread: int) -> None:
        self.id, self.attempt, self.thread = task_id, attempt, thread


class Returns:
    """The bytes of what a task has returned so far, and their number and sum."""

    __slots__ = ("event", "number", "sizes", "sum")

    def __init__(self) -> None:
        self.event = state.core.profile_event(b"rayscope.returned")
        self.sizes: list[int] = []
        self.number = self.sum = 0

    def add(self, size: int) -> None:
        """One value more."""
        self.number += 1
        self.sum += size
        if len(self.sizes) < MAX_OBJECTS:
            self.sizes.append(size)

    def tell(self, task: Task) -> None:
        """They are all, and of ``task``."""
        event, self.event = self.event, None
        if self.number == 1 and task.thread:  # nearly every task
            event.set_extra_data(b'{"s":[%d]}' % self.sum)
            return
        told: dict[str, Any] = {"s": self.sizes}
        if self.number > len(self.sizes):
            told["n"], told["b"] = self.number, self.sum
        _send(event, told, None if task.thread else task)


class Call:
    """A call that has begun: ``event`` is Ray's, None beyond the budget. ``sizes``: bytes, as far as known.

    ``known``: whether Ray itself ties the event to ``task``. ``refs``: what the call was given, of which
    ``count`` are references and ``first`` the first ones.
    """

    __slots__ = (
        "begin_ns",
        "count",
        "event",
        "first",
        "known",
        "name",
        "outer",
        "refs",
        "sizes",
        "task",
        "told",
    )

    def __init__(self, name: str, refs: Sequence[Any], first: list[Any]) -> None:
        self.name, self.refs, self.first, self.count = name, refs, first, len(refs)
        self.begin_ns = time.time_ns()
        self.task, self.known = _owner()
        self.sizes: Sequence[int] | None = None
        self.told = False
        self.outer: Call | None = None
        self.event = state.core.profile_event(name.encode()) if _within_budget() else None


class _State:
    """The tracer of this process."""

    def __init__(self) -> None:
        self.on = False
        self.worker: Any = None  # Ray's module of that name
        self.announced: Any = None
        self.driver: Task | None = None
        self.tasks: dict[bytes, Task] = {}
        self.open: dict[int, Call] = {}
        self.sums: dict[tuple[Task | None, str], list[int]] = {}
        self.lock = threading.Lock()
        self.second, self.used = 0, 0
        self.budget = budget()
        self.core: Any = None  # Ray's core worker of this process, while it has one
        self.watching = False
        self.missing: tuple[str, ...] = ()

    @property
    def connected(self) -> bool:
        """Whether this process is a driver or a worker of a cluster now."""
        self.core = getattr(self.worker.global_worker, "core_worker", None) if self.on else None
        return self.core is not None


def budget() -> int:
    """Events a second that surely fit into Ray's limit: two of our seconds may fall into one of its own."""
    try:
        limit = int(os.environ.get(MAX_SPANS, _DEFAULT_MAX_SPANS))
    except ValueError:
        limit = _DEFAULT_MAX_SPANS
    return min(limit, 10_000) // 3 if limit > 0 else _DEFAULT_MAX_SPANS // 3


state = _State()


def ready() -> bool:
    """Whether to trace a call now; says so to the server when it is the first."""
    if not state.on:
        return False
    core = state.core = getattr(state.worker.global_worker, "core_worker", None)
    if core is not state.announced and core is not None:
        _announce()
    return core is not None


def off(where: str, error: BaseException) -> None:
    """Switch this process's tracer off after a fault of ours, and say so once."""
    if not state.on:
        return
    state.on = False
    reason = f"{where}: {type(error).__name__}: {error}"
    try:
        log.warning("Rayscope's tracer has switched itself off in this process: %s", reason, exc_info=error)
        _send(state.core.profile_event(b"rayscope.tracer"), {"off": reason[:500]})
    except Exception:
        log.debug("and it could not say so", exc_info=True)


def _announce() -> None:
    state.announced = core = state.core
    state.driver, state.used = None, 0
    if state.worker.global_worker.mode == 0:  # Ray's SCRIPT_MODE
        state.driver = Task(_DRIVER + core.get_current_job_id().binary(), 0, 0)
    told: dict[str, Any] = {"on": 1}
    if state.missing:
        told["missing"] = list(state.missing)
    _send(core.profile_event(b"rayscope.tracer"), told)


def _send(event: Any, told: dict[str, Any], task: Task | None = None) -> None:
    """Fill a profile event. Ray takes its end and keeps it when its last reference goes: after this."""
    if task is not None:
        told["t"], told["a"] = task.id.hex(), task.attempt
    event.set_extra_data(_encode(told).encode())


def _within_budget() -> bool:
    second = int(time.monotonic())
    if second != state.second:
        state.second, state.used = second, 0
        if state.sums:
            flush()
    state.used += 1
    return state.used <= state.budget


def spend() -> None:
    """Count an event of Ray's own (``submit_task``): it takes its place under the same limit."""
    second = int(time.monotonic())
    if second != state.second:
        state.second, state.used = second, 0
    state.used += 1


def _owner() -> tuple[Task | None, bool]:
    """Whose call this is, and whether Ray knows that by itself.

    Ray ties an event to the task of its thread. A coroutine and a thread of the user's have none there.
    """
    current = state.core.get_current_task_id().binary()
    task = state.tasks.get(current)
    if task is not None:
        return task, task.thread == threading.get_ident()
    if state.driver is not None:
        return state.driver, current == state.driver.id
    if len(state.tasks) == 1:
        return next(iter(state.tasks.values())), False
    return None, True


def objects(first: list[Any], count: int = 0, sizes: Sequence[int] | None = None) -> dict[str, Any]:
    """Objects as an event tells them: ids (28 bytes each, base64), bytes; of many the number and the sum."""
    first = first[:MAX_OBJECTS]
    told: dict[str, Any] = {"o": base64.b64encode(b"".join([ref.binary() for ref in first])).decode()}
    if sizes is not None:
        told["s"] = list(sizes[: len(first)])
    if count > len(first):
        told["n"] = count
        if sizes is not None:
            told["b"] = sum(sizes)
    return told


def close(call: Call, told: dict[str, Any]) -> None:
    """End a call: tell it, or add it to the sums if the budget is spent."""
    event, call.event = call.event, None
    if event is None:
        _add_up(call.task, call.name, call.count, sum(call.sizes or ()), call.begin_ns, time.time_ns())
        return
    if call.told:
        told["k"] = call.begin_ns
    _send(event, told, None if call.known else call.task)


def tell(name: str, told: dict[str, Any], n: int = 0, size: int = 0) -> None:
    """Something that takes no time. Beyond the budget only ``n`` and ``size`` are summed up."""
    task, known = _owner()
    if _within_budget():
        _send(state.core.profile_event(name.encode()), told, None if known else task)
    else:
        now = time.time_ns()
        _add_up(task, name, n, size, now, now)


def _add_up(task: Task | None, name: str, n: int, size: int, begin_ns: int, end_ns: int) -> None:
    with state.lock:
        known = state.sums.setdefault((task, name), [0, 0, 0, 0, begin_ns, end_ns])
        known[0] += 1
        known[1] += n
        known[2] += size
        known[3] += end_ns - begin_ns
        known[4], known[5] = min(known[4], begin_ns), max(known[5], end_ns)
    _watch()


def flush() -> None:
    """Tell the sums."""
    with state.lock:
        sums, state.sums = state.sums, {}
    for (task, name), (calls, n, size, blocked_ns, begin_ns, end_ns) in sums.items():
        told = {"name": name, "calls": calls, "n": n, "b": size, "ns": blocked_ns, "k": begin_ns, "e": end_ns}
        _send(state.core.profile_event(b"rayscope.sum"), told, task)


def started(call: Call) -> None:
    """Let the watcher know of a call that may block."""
    state.open[id(call)] = call
    if not state.watching:
        _watch()


def ended(call: Call) -> None:
    """The call blocks no more."""
    state.open.pop(id(call), None)


def _watch() -> None:
    if not state.watching:
        state.watching = True
        threading.Thread(target=_run, name="rayscope-tracer", daemon=True).start()


def _run() -> None:
    """Every second: tell what blocks since a while, so that it can be seen while it does, and the sums."""
    try:
        while state.on:
            time.sleep(1.0)
            if not state.connected:
                break
            late = time.time_ns() - int(BLOCKED_S * 1e9)
            for call in list(state.open.values()):
                if not call.told and call.begin_ns <= late:
                    call.told = True
                    told = {"name": call.name, "k": call.begin_ns, **objects(call.first, call.count)}
                    _send(state.core.profile_event(b"rayscope.blocked"), told, call.task)
            if state.sums and int(time.monotonic()) != state.second:
                flush()
    except Exception as error:
        off("watching", error)
    finally:
        state.watching = False
