"""Sends the tracer's reports as Ray profile events, so that user processes need no connection to Rayscope.

A profile event has a name, a begin time, an end time, and a text field, which holds JSON here. Ray's worker
keeps a limited number of events per task and sends them once a second. So each process has a budget of events
per second. Reports beyond it are combined into one event per task and name, so no call goes uncounted.

An event is created and handed to Ray in one step: none is held while user code runs, because Ray's worker may
be gone afterwards. For the same reason we keep only the bytes of the user's object references, never the
references. Nothing here raises into user code: the first error is reported and turns off this process's
tracer.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
import time
from binascii import b2a_base64
from collections.abc import Callable, Sequence
from typing import Any

from rayscope.tracer.awaits import Awaits, Stretch
from rayscope.tracer.limits import MAX_OBJECTS, MAX_WAITED
from rayscope.tracer.memory import OWN, SHARED, Meter
from rayscope.tracer.settings import MAX_SPANS

#: Maximum number of calls whose callers are reported in one event.
MAX_CALLS = 128
#: A call that blocks this long is reported before it ends, in seconds.
BLOCKED_S = 1.0
#: This many objects in an event cost as much of the budget as one additional event.
_OBJECTS_AN_EVENT = 8
#: Maximum number of sums sent by one flush.
_SUMS_PER_FLUSH = 500
#: Maximum number of sums that are kept for single tasks. Further sums are kept for the whole process.
_MAX_SUMS = 2000
#: Ray's default for ``MAX_SPANS``.
_DEFAULT_MAX_SPANS = 1000
#: How long a disconnecting process waits for the watcher to stop, in seconds.
_WATCHER_STOP_S = 2.0
#: Prefix of the ID of a driver's task. The job's ID follows it.
_DRIVER = b"\xff" * 20
#: Maximum number of references returned by ``PlacementGroup.ready`` that a process remembers.
_MAX_GROUPS = 1000
#: Length of an object's ID, bytes.
_OBJECT_BYTES = 28
#: Modes of Ray's worker in which a process is traced: SCRIPT_MODE and WORKER_MODE.
_TRACED_MODES = (0, 1)
_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
log = logging.getLogger("rayscope.tracer")


class Task:
    """A task that runs in this process.

    Attributes:
        thread: the thread in which Ray runs the task, 0 if Ray knows none.
        native_thread: the operating system's ID of the thread in which the task began.
        fetched: arguments received by reference that have not been reported yet.
        shared: whether other tasks ran in this process at the same time.
        awaits: the suspensions of a call of an async actor, None for other tasks.
        clock: the CPU clock that measures the task.
        began_ns: the clock's value at the start of the task.
        start_memory: size of the process at the start of the task, in bytes.
        peak_memory: largest size of the process until the task ended, or another task last began, in bytes.
        is_sampled: whether there are samples of its stack.
    """

    __slots__ = (
        "attempt",
        "awaits",
        "began_ns",
        "clock",
        "fetched",
        "id",
        "is_sampled",
        "native_thread",
        "peak_memory",
        "shared",
        "start_memory",
        "thread",
    )

    def __init__(self, task_id: bytes, attempt: int, thread: int) -> None:
        self.id, self.attempt, self.thread = task_id, attempt, thread
        self.fetched: Fetched | None = None
        self.awaits: Awaits | None = None
        self.shared = self.is_sampled = False
        self.native_thread = 0
        self.clock, self.began_ns = time.process_time_ns, 0
        self.start_memory = self.peak_memory = 0

    def begin(self) -> None:
        """Start measuring the task in the current thread."""
        self.native_thread = threading.get_native_id()
        with state.lock:  # a reset of the peak lets other threads run
            meter = state.meter = state.meter or Meter()
            if state.tasks:
                state.shares = self.shared = True
                peak = meter.peak()
                for other in list(state.tasks.values()):
                    other.shared = True
                    other.peak_memory = max(other.peak_memory, peak)
            state.tasks[self.id] = self
            self.start_memory = meter.restart()
        if state.shares:
            self.clock = time.thread_time_ns
        self.began_ns = self.clock()

    def end(self) -> None:
        """Stop measuring the memory of the task."""
        with state.lock:
            state.tasks.pop(self.id, None)
            if state.meter is not None:
                self.peak_memory = max(self.peak_memory, state.meter.peak())

    def cpu_ns(self) -> int | None:
        """CPU time of the task so far, ns. None if it is unknown.

        It covers all threads of the process if tasks ran one at a time, only the task's own thread if they
        ran concurrently, and only the coroutine's own steps for a call of an async method.
        """
        if self.awaits is not None:
            return self.awaits.cpu_ns if self.awaits.has_run else None
        if not self.thread or (self.shared and self.clock is time.process_time_ns):
            return None
        return self.clock() - self.began_ns

    def memory(self) -> list[int]:
        """The number of the ended task's scope (:data:`rayscope.tracer.memory.SCOPES`). If it was measured,
        also its peak and the size at the start.
        """
        if state.meter is None or state.meter.failure:
            return [state.meter.failure] if state.meter else []
        return [SHARED if self.shared else OWN, self.peak_memory, self.start_memory]


class Fetched:
    """Arguments received by a task: joined object IDs, ``sizes`` in bytes, and the time ``at_ns``."""

    __slots__ = ("at_ns", "objects", "sizes")

    def __init__(self, objects: bytes, sizes: list[int]) -> None:
        self.objects, self.sizes, self.at_ns = objects, sizes, time.time_ns()


class Returns:
    """The values that a task has returned so far: sizes of the first ones, and number and total size of all.

    Sizes are in bytes.
    """

    __slots__ = ("begin_ns", "number", "sizes", "sum")

    def __init__(self) -> None:
        self.begin_ns = time.time_ns()
        self.sizes: list[int] = []
        self.number = self.sum = 0

    def add(self, size: int) -> None:
        """Count one more value."""
        self.number += 1
        self.sum += size
        if len(self.sizes) < MAX_OBJECTS:
            self.sizes.append(size)

    def report(self, task: Task) -> None:
        """Send the returned values of ``task``, which is ending, together with its arguments."""
        spend()
        fetched, task.fetched = task.fetched, None
        cpu_ns = task.cpu_ns()
        # Nearly every task takes this path, so the JSON is formatted without an encoder.
        if self.number == 1 and cpu_ns is not None and task.awaits is None:
            arguments = b""
            if fetched is not None:
                ids, sizes = b2a_base64(fetched.objects, newline=False), str(fetched.sizes).encode()
                arguments = b',"o":"%b","f":%b,"h":%d' % (ids, sizes, fetched.at_ns)
            measured = (self.sum, self.begin_ns, cpu_ns, str(task.memory()).encode(), arguments)
            text = b'{"s":[%d],"k":%d,"u":%d,"m":%b%b}' % measured
            _send_encoded(b"rayscope.returned", text)
            return
        payload: dict[str, Any] = {"s": self.sizes, "k": self.begin_ns, "m": task.memory()}
        if cpu_ns is not None:
            payload["u"] = cpu_ns
        if task.awaits is not None and (stretches := task.awaits.take()):
            payload["y"] = _numbers(stretches)
        if self.number > len(self.sizes):
            payload["n"], payload["b"] = self.number, self.sum
        if fetched is not None:
            payload["o"] = base64.b64encode(fetched.objects).decode()
            payload["f"], payload["h"] = fetched.sizes, fetched.at_ns
        _send(b"rayscope.returned", payload, None if task.thread else task)


class Call:
    """A call that has begun.

    Attributes:
        objects: joined IDs of the first references passed to it.
        count: how many references were passed.
        refs_id: ``id()`` of the list passed to Ray, which outlives the call.
        sizes: sizes of the objects in bytes, None if unknown.
        groups: joined IDs of the placement groups that it waits for.
        interrupted: whether a signal such as Ctrl-C ended it.
        known: whether Ray itself attributes events of this thread to ``task``.
        blocks_loop: whether it blocks the other coroutines of its event loop.
        reported: whether it was reported while it blocked.
        outer: the call around it in the same thread.
    """

    __slots__ = (
        "begin_ns",
        "blocks_loop",
        "count",
        "groups",
        "interrupted",
        "known",
        "name",
        "objects",
        "outer",
        "refs_id",
        "reported",
        "sizes",
        "task",
    )

    def __init__(self, name: str, objects: bytes = b"", count: int = 0, refs_id: int = 0) -> None:
        self.name, self.objects, self.count, self.refs_id = name, objects, count, refs_id
        self.begin_ns = time.time_ns()
        self.task, self.known = owner()
        self.sizes: Sequence[int] | None = None
        self.reported = self.interrupted = self.blocks_loop = False
        self.groups = _groups_of(objects) if state.groups else b""
        self.outer: Call | None = None


class _State:
    """The tracer of this process."""

    def __init__(self) -> None:
        self.on = False
        self.worker: Any = None  # the module ray._private.worker
        self.core: Any = None  # Ray's core worker of this process, if any
        self.closed: Any = None  # a core worker that is stopping or gone, and must not be called
        self.announced: Any = None
        self.driver: Task | None = None
        self.tasks: dict[bytes, Task] = {}
        self.shares = False  # whether tasks have run concurrently
        self.meter: Meter | None = None  # of this process, once it has begun a task
        self.open: dict[int, Call] = {}
        self.sums: dict[tuple[Task | None, str], list[int]] = {}
        self.calls: list[bytes] = []
        self.groups: dict[bytes, bytes] = {}  # ID of a group by the reference that its ready() returned
        self.lock = threading.RLock()
        self.second, self.used = 0, 0
        self.budget = budget()
        self.watching: threading.Thread | None = None
        self.stop = threading.Event()  # set to stop the watcher
        self.missing: tuple[str, ...] = ()
        self.every_second: list[Callable[[], None]] = []  # called by the watcher
        self.when_driver: list[Callable[[], None]] = []  # called once this process is a driver

    @property
    def connected(self) -> bool:
        """Whether this process is currently a driver or a task worker of a cluster.

        Check this before any call of Ray's core worker, because such a call aborts a process that has no
        task. Workers that spill and restore objects have no task, nor do workers that preload modules before
        they belong to a job.
        """
        worker = self.worker.global_worker if self.on else None
        if worker is None or worker.mode not in _TRACED_MODES:
            return False
        core = self.core = getattr(worker, "core_worker", None)
        if core is None or core is self.closed:
            return False
        return core is self.announced or not core.get_current_job_id().is_nil()


def budget() -> int:
    """Events per second that always fit into Ray's limit, even if one of Ray's seconds spans two of ours."""
    try:
        limit = int(os.environ.get(MAX_SPANS, _DEFAULT_MAX_SPANS))
    except ValueError:
        limit = _DEFAULT_MAX_SPANS
    return min(limit, 10_000) // 3 if limit > 0 else _DEFAULT_MAX_SPANS // 3


state = _State()


def ready() -> bool:
    """Whether to trace a call now. The first time, this announces the process to the server."""
    if not state.connected:
        return False
    if state.core is not state.announced:
        _announce()
    return True


def switch_off(where: str, error: BaseException) -> None:
    """Turn off this process's tracer after an error in our code. The error is reported once."""
    if not state.on:
        return
    connected, state.on = state.connected, False
    reason = f"{where}: {type(error).__name__}: {error}"
    try:
        log.warning("Rayscope's tracer has switched itself off in this process: %s", reason, exc_info=error)
        if connected:
            _send(b"rayscope.tracer", {"off": reason[:500]})
    except Exception:
        log.debug("The error could not be sent", exc_info=True)


def close() -> None:
    """Stop calling Ray's worker, which is about to shut down."""
    if state.worker is not None:
        state.closed = getattr(state.worker.global_worker, "core_worker", None)
    state.open.clear()
    state.tasks.clear()
    # The watcher must finish before the core worker is destroyed.
    state.stop.set()
    watcher = state.watching
    if watcher is not None and watcher is not threading.current_thread():
        watcher.join(_WATCHER_STOP_S)


def reset_after_fork() -> None:
    """Forget Ray's worker and the threads, which a forked child does not have.

    The child may connect to a cluster on its own later. It is traced from then on.
    """
    state.lock = threading.RLock()
    state.stop, state.watching = threading.Event(), None
    state.sums.clear()
    state.calls.clear()
    state.groups.clear()
    state.meter = None  # its files are those of the parent
    close()


os.register_at_fork(after_in_child=reset_after_fork)


def _announce() -> None:
    state.announced = core = state.core
    state.driver, state.used = None, 0
    payload: dict[str, Any] = {"on": 1}
    if state.missing:
        payload["missing"] = list(state.missing)

    def announce() -> None:
        if state.connected:
            _send(b"rayscope.tracer", payload)

    if state.worker.global_worker.mode == 0:  # Ray's SCRIPT_MODE
        state.driver = Task(_DRIVER + core.get_current_job_id().binary(), 0, 0)
        announce()
        for start in state.when_driver:
            start()
        return
    # Ray drops events sent from the thread of a task whose events are disabled, as they are for Serve.
    try:
        threading.Thread(target=announce, name="rayscope-tracer-on", daemon=True).start()
    except RuntimeError:  # the process cannot start more threads
        announce()


def _send(name: bytes, payload: dict[str, Any], task: Task | None = None) -> None:
    """Send a profile event."""
    if task is not None:
        payload["t"], payload["a"] = task.id.hex(), task.attempt
    _send_encoded(name, _encode(payload).encode())


def _send_encoded(name: bytes, text: bytes) -> None:
    """Create a profile event and drop it: Ray records it when its last reference is dropped.

    The event points into Ray's core worker, and crashes the process if it outlives the core worker. An
    exiting worker destroys the core worker while other threads run, so create an event only once its text is
    complete.
    """
    state.core.profile_event(name).set_extra_data(text)


def spend(cost: int = 1) -> bool:
    """Take ``cost`` events from the budget. Returns whether the budget covers them.

    Ray's own events (``submit_task``) share the same limit, so they count too.
    """
    second = int(time.monotonic())
    if second != state.second:
        state.second, state.used = second, 0
        if state.sums:
            flush()
    state.used += cost
    return state.used <= state.budget


def owner() -> tuple[Task, bool]:
    """The task of the current call, and whether Ray itself attributes the call to that task.

    Ray attributes an event to the task of its thread. The user's coroutines and threads have no such task.
    """
    current = state.core.get_current_task_id().binary()
    task = state.tasks.get(current)
    if task is not None:
        return task, task.thread == threading.get_ident()
    if state.driver is not None:
        return state.driver, current == state.driver.id
    if len(state.tasks) == 1:
        return next(iter(state.tasks.values())), False
    return Task(current, 0, threading.get_ident()), True


def objects(
    ids: bytes, count: int, sizes: Sequence[int] | None = None, limit: int = MAX_OBJECTS
) -> dict[str, Any]:
    """The payload for objects: at most ``limit`` IDs (28 bytes each, base64) and sizes in bytes.

    If there are more, it also has their number and their total size.
    """
    ids = ids[: _OBJECT_BYTES * limit]
    named = len(ids) // _OBJECT_BYTES
    payload: dict[str, Any] = {"o": base64.b64encode(ids).decode()}
    if sizes is not None:
        payload["s"] = list(sizes[:named])
    if count > named:
        payload["n"] = count
        if sizes is not None:
            payload["b"] = sum(sizes)
    return payload


def report_arguments(callee: bytes, ids: bytes, count: int) -> None:
    """Report the references passed to a call: at most ``MAX_OBJECTS``, none of them inside containers."""
    task, known = owner()
    if not spend(1 + count // _OBJECTS_AN_EVENT):
        now = time.time_ns()
        _add_up(task, "rayscope.arguments", count, 0, now, now)
        return
    if known:  # nearly every call: formatted without an encoder
        objects_text = b2a_base64(ids, newline=False)
        _send_encoded(b"rayscope.arguments", b'{"c":"%b","o":"%b"}' % (callee.hex().encode(), objects_text))
    else:
        _send(b"rayscope.arguments", {"c": callee.hex(), **objects(ids, count)}, task)


def remember_group(reference: bytes, group: bytes) -> None:
    """Remember the reference returned by ``PlacementGroup.ready``: a wait for it is a wait for the group."""
    while len(state.groups) >= _MAX_GROUPS:
        state.groups.pop(next(iter(state.groups)), None)
    state.groups[reference] = group


def _groups_of(ids: bytes) -> bytes:
    """The joined IDs of the placement groups whose ``ready`` returned the given joined references."""
    references = (ids[at : at + _OBJECT_BYTES] for at in range(0, len(ids), _OBJECT_BYTES))
    return b"".join(filter(None, map(state.groups.get, references)))


def report_caller(caller: bytes, callee: bytes) -> None:
    """Report that a task's caller differs from the one that Ray records. The reports are sent in batches."""
    with state.lock:
        state.calls.append(caller + callee)
    if len(state.calls) >= MAX_CALLS or 2 * state.used < state.budget:
        send_callers()
    elif not state.watching:
        watch()


def send_callers() -> None:
    """Send the callers that have not been reported yet."""
    with state.lock:
        calls, state.calls = state.calls, []
    for at in range(0, len(calls), MAX_CALLS):
        state.used += 1
        pairs = b"".join(calls[at : at + MAX_CALLS])
        _send(b"rayscope.callers", {"d": base64.b64encode(pairs).decode()})


def add_fetched(task: Task, ids: bytes, sizes: list[int]) -> None:
    """Record a task's arguments. A few arguments of a short task are sent with its end, to save an event."""
    if len(sizes) < _OBJECTS_AN_EVENT:
        task.fetched = Fetched(ids, sizes)
        if not state.watching:
            watch()
    else:
        report("rayscope.fetched", objects(ids, len(sizes), sizes), len(sizes), sum(sizes))


def report_contents(large: Sequence[tuple[int, int]]) -> None:
    """Report sizes (bytes) and checksums of large arguments, to detect values that are passed repeatedly."""
    task, known = owner()
    if spend():
        payload = {"s": [size for size, _ in large], "sums": [check_sum for _, check_sum in large]}
        _send(b"rayscope.contents", payload, None if known else task)


def report_risk(kind: str, place: str, times: int, values: dict[str, str] | None = None) -> None:
    """Report an action that may cause harm, at a place in the user's code.

    Args:
        kind: the kind of action.
        place: where it happened in the code.
        times: number of occurrences since the last report.
        values: further details.
    """
    task, known = owner()
    spend()
    payload: dict[str, Any] = {"name": kind, "text": place, "n": times}
    if values:
        payload["values"] = values
    _send(b"rayscope.risk", payload, None if known else task)


def report_plan(dataset: str, operators: Sequence[str], inputs: Sequence[Sequence[int]]) -> None:
    """Report the plan of a dataset. ``inputs``: for each operator, the indexes of its input operators."""
    spend()
    _send(b"rayscope.plan", {"name": dataset, "operators": operators, "inputs": inputs})


def report_always(name: str, payload: dict[str, Any], task: Task | None = None) -> None:
    """Send a rare event even if the budget is spent. ``task``: the task that it concerns, by default the
    current one.
    """
    known = False
    if task is None:
        task, known = owner()
    spend()
    _send(name.encode(), payload, None if known else task)


def report_samples(payload: dict[str, Any]) -> None:
    """Send samples of stacks. Each is of a task that the payload names."""
    spend()
    _send(b"rayscope.samples", payload)


def send_fetched(task: Task) -> None:
    """Send the arguments of a task separately, because it is a long-running task or ended without a return
    value.
    """
    fetched, task.fetched = task.fetched, None
    if fetched is not None:
        spend()
        payload = objects(fetched.objects, len(fetched.sizes), fetched.sizes)
        payload["k"] = fetched.at_ns
        _send(b"rayscope.fetched", payload, task)


def report_awaits(task: Task, stretches: Sequence[Stretch]) -> None:
    """Report suspensions of a call of an async method that is still running."""
    spend()
    _send(b"rayscope.awaited", {"y": _numbers(stretches)}, task)


def _numbers(stretches: Sequence[Stretch]) -> list[int]:
    """Encode each stretch as four numbers: begin, length, time awaited (all ns), number of suspensions."""
    numbers: list[int] = []
    for begin, end_ns, awaited, times in stretches:
        numbers += (begin, end_ns - begin, awaited, times)
    return numbers


def end(call: Call, payload: dict[str, Any]) -> None:
    """Report a call that has ended, or add it to the sums if the budget is spent."""
    # A call that was reported while it blocked must also have its end reported.
    if not spend(1 + len(payload.get("o", "")) // (38 * _OBJECTS_AN_EVENT)) and not call.reported:
        _add_up(call.task, call.name, call.count, sum(call.sizes or ()), call.begin_ns, time.time_ns())
        return
    payload["k"] = call.begin_ns
    if call.groups:
        payload["g"] = base64.b64encode(call.groups).decode()
    if call.interrupted:
        payload["interrupted"] = 1
    _send(call.name.encode(), payload, None if call.known else call.task)


def report(name: str, payload: dict[str, Any], count: int = 0, size: int = 0) -> None:
    """Report something that has no duration. Beyond the budget, only ``count`` and ``size`` are added up."""
    task, known = owner()
    if spend(1 + count // _OBJECTS_AN_EVENT):
        _send(name.encode(), payload, None if known else task)
    else:
        now = time.time_ns()
        _add_up(task, name, count, size, now, now)


def _add_up(task: Task | None, name: str, count: int, size: int, begin_ns: int, end_ns: int) -> None:
    with state.lock:
        key = (task, name)
        if key not in state.sums and len(state.sums) >= _MAX_SUMS:
            key = (None, name)  # many short tasks: sum up for the whole process
        known = state.sums.setdefault(key, [0, 0, 0, 0, begin_ns, end_ns])
        known[0] += 1
        known[1] += count
        known[2] += size
        known[3] += end_ns - begin_ns
        known[4], known[5] = min(known[4], begin_ns), max(known[5], end_ns)
    if not state.watching:
        watch()


def flush(ended: Task | None = None) -> None:
    """Send the sums of the task ``ended``, or the oldest sums if it is None."""
    with state.lock:
        keys = [key for key in state.sums if ended is None or key[0] is ended][:_SUMS_PER_FLUSH]
        sums = [(key, state.sums.pop(key)) for key in keys]
    for (task, name), (calls, count, size, blocked_ns, begin_ns, end_ns) in sums:
        payload = {"name": name, "calls": calls, "n": count, "b": size, "ns": blocked_ns}
        payload |= {"k": begin_ns, "e": end_ns}
        if task is None:
            payload["w"] = 1
        state.used += 1
        _send(b"rayscope.sum", payload, task)


def watch_call(call: Call) -> None:
    """Let the watcher report this call if it blocks for a long time."""
    state.open[id(call)] = call
    if not state.watching:
        watch()


def unwatch_call(call: Call) -> None:
    """Stop watching a call, which no longer blocks."""
    state.open.pop(id(call), None)


def watch() -> None:
    """Start the watcher, a thread that checks the process every second."""
    state.stop = stop = threading.Event()
    state.watching = watcher = threading.Thread(
        target=_run, args=(stop,), name="rayscope-tracer", daemon=True
    )
    try:
        watcher.start()
    except RuntimeError:  # the interpreter is exiting, or the process has reached its limit of threads
        state.watching = None


def _run(stop: threading.Event) -> None:
    try:
        while state.connected and not stop.wait(1.0):
            if state.connected:
                _check()
    except Exception as error:
        switch_off("watching", error)
    finally:
        if state.watching is threading.current_thread():
            state.watching = None


def _check() -> None:
    """Report long-blocked calls, arguments of long-running tasks, callers and sums. Called every second."""
    late = time.time_ns() - int(BLOCKED_S * 1e9)
    for task in list(state.tasks.values()):
        if task.fetched is not None and task.fetched.at_ns < late:
            send_fetched(task)
        if task.awaits is not None and (since := task.awaits.open_since(late)):
            if not spend():
                break
            if task.awaits.mark_open(since):
                _send(b"rayscope.suspended", {"k": since}, task)
    for key, call in list(state.open.items()):
        if call.begin_ns > late:
            break  # calls are in the order in which they began
        if call.reported:
            continue
        payload = {
            "name": call.name,
            "k": call.begin_ns,
            **objects(call.objects, call.count, limit=MAX_WAITED),
        }
        if call.groups:
            payload["g"] = base64.b64encode(call.groups).decode()
        if not spend(3):
            break
        if call.blocks_loop:
            payload["w"] = 1
        call.reported = True
        if key in state.open:
            _send(b"rayscope.blocked", payload, call.task)
    if state.calls:
        send_callers()
    if state.sums and int(time.monotonic()) != state.second:
        flush()
    for report_more in state.every_second:
        report_more()
