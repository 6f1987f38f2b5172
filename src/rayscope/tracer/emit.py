"""What the tracer tells, as profile events of Ray's own: no connection of ours leaves a user's process.

A profile event has a name, a begin, an end and a text, here JSON. Ray's worker keeps at most so many of them
a task, and sends them once a second. So each process has a budget a second; what goes beyond it is summed
up, one event for each task and name, and no call goes uncounted.

An event is made and given to Ray in one step, when there is something to tell: none is held while user code
runs, since Ray's worker may be gone by the end. For the same reason no reference of the user's is held, only
its bytes. What follows never raises into user code: the first error switches the tracer of this process off,
and is told once.
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
from rayscope.tracer.settings import MAX_SPANS

#: Objects that one event names; of more it gives the number and the sum. Of those waited for, and not got,
#: fewer: a loop of ``ray.wait`` passes the same ones again and again.
MAX_OBJECTS, MAX_WAITED = 256, 16
#: Calls whose callers one event tells.
MAX_CALLS = 128
#: A call that blocks for so long is told while it still does, s.
BLOCKED_S = 1.0
#: So many objects in an event count as one event more.
_OBJECTS_AN_EVENT = 8
#: Sums that are told at a time, and that are kept apart by task.
_SUMS_TOLD, _SUMS_KEPT = 500, 2000
_DEFAULT_MAX_SPANS = 1000
#: How long whoever disconnects waits for the watcher, s.
_WATCHER_ENDS_S = 2.0
_DRIVER = b"\xff" * 20
#: References from ``PlacementGroup.ready`` that a process remembers.
_MAX_GROUPS = 1000
_OBJECT_BYTES = 28
#: Ray's SCRIPT_MODE and WORKER_MODE.
_TRACED_MODES = (0, 1)
_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
log = logging.getLogger("rayscope.tracer")


class Task:
    """A task that runs in this process. ``thread``: the one that Ray knows to run it, 0 for none.

    ``fetched``: the arguments that it was given by reference, not told yet. ``shared``: whether others ran in
    this process meanwhile. ``awaits``: of a task of an async actor, how long it was suspended.
    """

    __slots__ = ("attempt", "awaits", "began_ns", "clock", "fetched", "id", "shared", "thread")

    def __init__(self, task_id: bytes, attempt: int, thread: int) -> None:
        self.id, self.attempt, self.thread = task_id, attempt, thread
        self.fetched: Fetched | None = None
        self.awaits: Awaits | None = None
        self.shared = False
        self.clock, self.began_ns = time.process_time_ns, 0

    def begin(self) -> None:
        """It begins now, in this thread."""
        if state.tasks:
            state.shares = self.shared = True
            for other in list(state.tasks.values()):
                other.shared = True
        state.tasks[self.id] = self
        if state.shares:
            self.clock = time.thread_time_ns
        self.began_ns = self.clock()

    def cpu_ns(self) -> int | None:
        """The CPU time that it took until now, in its thread. None if it is not known.

        It is that of all threads of the process, as long as that has run one task at a time; where tasks ran
        beside each other it is that of the thread alone. That of a coroutine is of the steps that it ran.
        """
        if self.awaits is not None:
            return self.awaits.cpu_ns if self.awaits.has_run else None
        if not self.thread or (self.shared and self.clock is time.process_time_ns):
            return None
        return self.clock() - self.began_ns


class Fetched:
    """Arguments as their task received them: ``objects`` the ids, joined; ``sizes`` bytes; ``at_ns`` when."""

    __slots__ = ("at_ns", "objects", "sizes")

    def __init__(self, objects: bytes, sizes: list[int]) -> None:
        self.objects, self.sizes, self.at_ns = objects, sizes, time.time_ns()


class Returns:
    """The bytes of what a task has returned so far, and their number and sum."""

    __slots__ = ("begin_ns", "number", "sizes", "sum")

    def __init__(self) -> None:
        self.begin_ns = time.time_ns()
        self.sizes: list[int] = []
        self.number = self.sum = 0

    def add(self, size: int) -> None:
        """One value more."""
        self.number += 1
        self.sum += size
        if len(self.sizes) < MAX_OBJECTS:
            self.sizes.append(size)

    def tell(self, task: Task) -> None:
        """They are all, and of ``task``; its arguments are told along with them."""
        spend()
        fetched, task.fetched = task.fetched, None
        cpu_ns = task.cpu_ns()
        if (
            self.number == 1 and cpu_ns is not None and task.awaits is None
        ):  # nearly every task: put together without an encoder
            given = b""
            if fetched is not None:
                ids, sizes = b2a_base64(fetched.objects, newline=False), str(fetched.sizes).encode()
                given = b',"o":"%b","f":%b,"h":%d' % (ids, sizes, fetched.at_ns)
            _give(
                b"rayscope.returned", b'{"s":[%d],"k":%d,"u":%d%b}' % (self.sum, self.begin_ns, cpu_ns, given)
            )
            return
        told: dict[str, Any] = {"s": self.sizes, "k": self.begin_ns}
        if cpu_ns is not None:
            told["u"] = cpu_ns
        if task.awaits is not None and (stretches := task.awaits.take()):
            told["y"] = _numbers(stretches)
        if self.number > len(self.sizes):
            told["n"], told["b"] = self.number, self.sum
        if fetched is not None:
            told["o"] = base64.b64encode(fetched.objects).decode()
            told["f"], told["h"] = fetched.sizes, fetched.at_ns
        _send(b"rayscope.returned", told, None if task.thread else task)


class Call:
    """A call that has begun. ``given``: the identity of the list that Ray was given, which lives as long.

    ``objects``: the ids of the first of its references, joined; ``count``: how many there are; ``sizes``:
    bytes, as far as known. ``groups``: the IDs of the placement groups that it waits for, joined.
    ``interrupted``: whether a signal ended it, such as Ctrl-C. ``known``: whether Ray itself ties to ``task``
    what this thread tells. ``blocks_loop``: whether the coroutines of its event loop stand still meanwhile.
    """

    __slots__ = (
        "begin_ns",
        "blocks_loop",
        "count",
        "given",
        "groups",
        "interrupted",
        "known",
        "name",
        "objects",
        "outer",
        "sizes",
        "task",
        "told",
    )

    def __init__(self, name: str, objects: bytes = b"", count: int = 0, given: int = 0) -> None:
        self.name, self.objects, self.count, self.given = name, objects, count, given
        self.begin_ns = time.time_ns()
        self.task, self.known = _owner()
        self.sizes: Sequence[int] | None = None
        self.told = self.interrupted = self.blocks_loop = False
        self.groups = _groups_of(objects) if state.groups else b""
        self.outer: Call | None = None


class _State:
    """The tracer of this process."""

    def __init__(self) -> None:
        self.on = False
        self.worker: Any = None  # Ray's module of that name
        self.core: Any = None  # Ray's core worker of this process, while it has one
        self.closed: Any = None  # the one that is about to go, or gone: it must not be asked any more
        self.announced: Any = None
        self.driver: Task | None = None
        self.tasks: dict[bytes, Task] = {}
        self.shares = False  # whether tasks have run beside each other
        self.open: dict[int, Call] = {}
        self.sums: dict[tuple[Task | None, str], list[int]] = {}
        self.calls: list[bytes] = []
        self.groups: dict[bytes, bytes] = {}  # by reference that a group's ready() returned, the group's ID
        self.lock = threading.RLock()
        self.second, self.used = 0, 0
        self.budget = budget()
        self.watching: threading.Thread | None = None
        self.stop = threading.Event()  # tells the watcher to end
        self.missing: tuple[str, ...] = ()
        self.every_second: list[Callable[[], None]] = []  # what the watcher calls

    @property
    def connected(self) -> bool:
        """Whether this process is a driver or a task worker of a cluster now.

        All that asks Ray's core worker for anything looks here first. The workers that spill objects and
        restore them run Ray's Python code too, and a worker may run code before it belongs to a job
        (modules that it preloads): there the core worker aborts the process when it is asked for a task.
        """
        worker = self.worker.global_worker if self.on else None
        if worker is None or worker.mode not in _TRACED_MODES:
            return False
        core = self.core = getattr(worker, "core_worker", None)
        if core is None or core is self.closed:
            return False
        return core is self.announced or not core.get_current_job_id().is_nil()


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
    if not state.connected:
        return False
    if state.core is not state.announced:
        _announce()
    return True


def off(where: str, error: BaseException) -> None:
    """Switch this process's tracer off after a fault of ours, and say so once."""
    if not state.on:
        return
    connected, state.on = state.connected, False
    reason = f"{where}: {type(error).__name__}: {error}"
    try:
        log.warning("Rayscope's tracer has switched itself off in this process: %s", reason, exc_info=error)
        if connected:
            _send(b"rayscope.tracer", {"off": reason[:500]})
    except Exception:
        log.debug("and it could not say so", exc_info=True)


def close() -> None:
    """Ray's worker in this process is about to go: ask nothing of it any more."""
    if state.worker is not None:
        state.closed = getattr(state.worker.global_worker, "core_worker", None)
    state.open.clear()
    state.tasks.clear()
    # A watcher that is asking just now must be done before the core worker goes.
    state.stop.set()
    watcher = state.watching
    if watcher is not None and watcher is not threading.current_thread():
        watcher.join(_WATCHER_ENDS_S)


def forked() -> None:
    """This is a child of a traced process: neither Ray's worker nor a thread came along.

    It may connect to a cluster by itself later, and is traced then.
    """
    state.lock = threading.RLock()
    state.stop, state.watching = threading.Event(), None
    state.sums.clear()
    state.calls.clear()
    state.groups.clear()
    close()


os.register_at_fork(after_in_child=forked)


def _announce() -> None:
    state.announced = core = state.core
    state.driver, state.used = None, 0
    told: dict[str, Any] = {"on": 1}
    if state.missing:
        told["missing"] = list(state.missing)

    def say() -> None:
        if state.connected:
            _send(b"rayscope.tracer", told)

    if state.worker.global_worker.mode == 0:  # Ray's SCRIPT_MODE
        state.driver = Task(_DRIVER + core.get_current_job_id().binary(), 0, 0)
        say()
        return
    # Ray drops what is told in the thread of a task whose events are switched off, as Serve's are.
    try:
        threading.Thread(target=say, name="rayscope-tracer-on", daemon=True).start()
    except RuntimeError:  # no more threads
        say()


def _send(name: bytes, told: dict[str, Any], task: Task | None = None) -> None:
    """Tell it in a profile event."""
    if task is not None:
        told["t"], told["a"] = task.id.hex(), task.attempt
    _give(name, _encode(told).encode())


def _give(name: bytes, told: bytes) -> None:
    """Make a profile event and let go of it: Ray keeps it when its last reference goes.

    The event points into Ray's core worker. One that outlives it crashes the process, and a worker that exits
    destroys it while other threads run: so an event is made when all that it tells is ready.
    """
    state.core.profile_event(name).set_extra_data(told)


def spend(cost: int = 1) -> bool:
    """Whether this second's budget has room for so many events more; they count in any case.

    Ray's own events (``submit_task``) count too: they take their place under the same limit.
    """
    second = int(time.monotonic())
    if second != state.second:
        state.second, state.used = second, 0
        if state.sums:
            flush()
    state.used += cost
    return state.used <= state.budget


def _owner() -> tuple[Task, bool]:
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
    return Task(current, 0, threading.get_ident()), True


def objects(
    ids: bytes, count: int, sizes: Sequence[int] | None = None, most: int = MAX_OBJECTS
) -> dict[str, Any]:
    """Objects as an event tells them: ids (28 bytes each, base64), bytes; of many the number and the sum."""
    ids = ids[: 28 * most]
    named = len(ids) // 28
    told: dict[str, Any] = {"o": base64.b64encode(ids).decode()}
    if sizes is not None:
        told["s"] = list(sizes[:named])
    if count > named:
        told["n"] = count
        if sizes is not None:
            told["b"] = sum(sizes)
    return told


def arguments(callee: bytes, ids: bytes, count: int) -> None:
    """A call was given so many references, not more than are named, and none in containers."""
    task, known = _owner()
    if not spend(1 + count // _OBJECTS_AN_EVENT):
        now = time.time_ns()
        _add_up(task, "rayscope.arguments", count, 0, now, now)
        return
    if known:  # nearly every call: put together without an encoder
        given = b2a_base64(ids, newline=False)
        _give(b"rayscope.arguments", b'{"c":"%b","o":"%b"}' % (callee.hex().encode(), given))
    else:
        _send(b"rayscope.arguments", {"c": callee.hex(), **objects(ids, count)}, task)


def remember_group(reference: bytes, group: bytes) -> None:
    """``PlacementGroup.ready`` returned a reference: who waits for it waits for the group."""
    while len(state.groups) >= _MAX_GROUPS:
        state.groups.pop(next(iter(state.groups)), None)
    state.groups[reference] = group


def _groups_of(ids: bytes) -> bytes:
    """The placement groups behind references, joined as these are."""
    references = (ids[at : at + _OBJECT_BYTES] for at in range(0, len(ids), _OBJECT_BYTES))
    return b"".join(filter(None, map(state.groups.get, references)))


def called(caller: bytes, callee: bytes) -> None:
    """A task was called by another one than Ray says. Told at once, or, of many calls a second, together."""
    with state.lock:
        state.calls.append(caller + callee)
    if len(state.calls) >= MAX_CALLS or 2 * state.used < state.budget:
        tell_calls()
    elif not state.watching:
        watch()


def tell_calls() -> None:
    """Tell the callers that are not told yet."""
    with state.lock:
        calls, state.calls = state.calls, []
    for at in range(0, len(calls), MAX_CALLS):
        state.used += 1
        pairs = b"".join(calls[at : at + MAX_CALLS])
        _send(b"rayscope.callers", {"d": base64.b64encode(pairs).decode()})


def received(task: Task, ids: bytes, sizes: list[int]) -> None:
    """Arguments have come: told when the task ends, if it does so soon and they are few, to save an event."""
    if len(sizes) < _OBJECTS_AN_EVENT:
        task.fetched = Fetched(ids, sizes)
        if not state.watching:
            watch()
    else:
        tell("rayscope.fetched", objects(ids, len(sizes), sizes), len(sizes), sum(sizes))


def contents(large: Sequence[tuple[int, int]]) -> None:
    """Bytes and check sums of large arguments, by which values that were passed again are known."""
    task, known = _owner()
    if spend():
        told = {"s": [size for size, _ in large], "sums": [check_sum for _, check_sum in large]}
        _send(b"rayscope.contents", told, None if known else task)


def risk(kind: str, place: str, times: int, values: dict[str, str] | None = None) -> None:
    """Something that may do harm was done at a place in the code, so many times since it was told last.

    ``values``: what else is known of it.
    """
    task, known = _owner()
    spend()
    told: dict[str, Any] = {"name": kind, "text": place, "n": times}
    if values:
        told["values"] = values
    _send(b"rayscope.risk", told, None if known else task)


def plan(dataset: str, operators: Sequence[str], inputs: Sequence[Sequence[int]]) -> None:
    """Ray Data executes a dataset: of each operator the numbers of those that give it blocks."""
    spend()
    _send(b"rayscope.plan", {"name": dataset, "operators": operators, "inputs": inputs})


def tell_always(name: str, told: dict[str, Any], of: Task | None = None) -> None:
    """Something rare that nothing else tells: it comes even if the budget is spent.

    ``of``: the task that it is about, where that is not the one that runs here.
    """
    task, known = (of, False) if of is not None else _owner()
    spend()
    _send(name.encode(), told, None if known else task)


def tell_fetched(task: Task) -> None:
    """The task runs long, or ended without a value: tell what it was given by itself."""
    fetched, task.fetched = task.fetched, None
    if fetched is not None:
        spend()
        told = objects(fetched.objects, len(fetched.sizes), fetched.sizes)
        told["k"] = fetched.at_ns
        _send(b"rayscope.fetched", told, task)


def report_awaits(task: Task, stretches: Sequence[Stretch]) -> None:
    """A call of an async method that runs on was suspended in these stretches."""
    spend()
    _send(b"rayscope.awaited", {"y": _numbers(stretches)}, task)


def _numbers(stretches: Sequence[Stretch]) -> list[int]:
    """Stretches on the wire: of each its begin, length, time awaited, and number of suspensions."""
    numbers: list[int] = []
    for begin, end_ns, awaited, times in stretches:
        numbers += (begin, end_ns - begin, awaited, times)
    return numbers


def end(call: Call, told: dict[str, Any]) -> None:
    """Tell a call that has ended, or add it to the sums if the budget is spent."""
    # What was told while it blocked needs its end.
    if not spend(1 + len(told.get("o", "")) // (38 * _OBJECTS_AN_EVENT)) and not call.told:
        _add_up(call.task, call.name, call.count, sum(call.sizes or ()), call.begin_ns, time.time_ns())
        return
    told["k"] = call.begin_ns
    if call.groups:
        told["g"] = base64.b64encode(call.groups).decode()
    if call.interrupted:
        told["interrupted"] = 1
    _send(call.name.encode(), told, None if call.known else call.task)


def tell(name: str, told: dict[str, Any], count: int = 0, size: int = 0) -> None:
    """Something that takes no time. Beyond the budget only ``count`` and ``size`` are summed up."""
    task, known = _owner()
    if spend(1 + count // _OBJECTS_AN_EVENT):
        _send(name.encode(), told, None if known else task)
    else:
        now = time.time_ns()
        _add_up(task, name, count, size, now, now)


def _add_up(task: Task | None, name: str, count: int, size: int, begin_ns: int, end_ns: int) -> None:
    with state.lock:
        key = (task, name)
        if key not in state.sums and len(state.sums) >= _SUMS_KEPT:
            key = (None, name)  # many short tasks with a call or two: they are told for the whole process
        known = state.sums.setdefault(key, [0, 0, 0, 0, begin_ns, end_ns])
        known[0] += 1
        known[1] += count
        known[2] += size
        known[3] += end_ns - begin_ns
        known[4], known[5] = min(known[4], begin_ns), max(known[5], end_ns)
    if not state.watching:
        watch()


def flush(of: Task | None = None) -> None:
    """Tell the sums: those ``of`` a task that has ended, or the oldest of all."""
    with state.lock:
        keys = [key for key in state.sums if of is None or key[0] is of][:_SUMS_TOLD]
        sums = [(key, state.sums.pop(key)) for key in keys]
    for (task, name), (calls, count, size, blocked_ns, begin_ns, end_ns) in sums:
        told = {"name": name, "calls": calls, "n": count, "b": size, "ns": blocked_ns}
        told |= {"k": begin_ns, "e": end_ns}
        if task is None:
            told["w"] = 1
        state.used += 1
        _send(b"rayscope.sum", told, task)


def started(call: Call) -> None:
    """Let the watcher know of a call that may block."""
    state.open[id(call)] = call
    if not state.watching:
        watch()


def ended(call: Call) -> None:
    """The call blocks no more."""
    state.open.pop(id(call), None)


def watch() -> None:
    """Start the thread that looks every second."""
    state.stop = stop = threading.Event()
    state.watching = watcher = threading.Thread(
        target=_run, args=(stop,), name="rayscope-tracer", daemon=True
    )
    try:
        watcher.start()
    except RuntimeError:  # the interpreter ends, or the process may have no more threads
        state.watching = None


def _run(stop: threading.Event) -> None:
    try:
        while state.connected and not stop.wait(1.0):
            if state.connected:
                _look()
    except Exception as error:
        off("watching", error)
    finally:
        if state.watching is threading.current_thread():
            state.watching = None


def _look() -> None:
    """Every second: tell what blocks since a while, what those got that run still, callers and sums."""
    late = time.time_ns() - int(BLOCKED_S * 1e9)
    for task in list(state.tasks.values()):
        if task.fetched is not None and task.fetched.at_ns < late:
            tell_fetched(task)
        if task.awaits is not None and (since := task.awaits.open_since(late)):
            if not spend():
                break
            if task.awaits.mark_open(since):
                _send(b"rayscope.suspended", {"k": since}, task)
    for key, call in list(state.open.items()):
        if call.begin_ns > late:
            break  # they are in the order in which they began
        if call.told:
            continue
        told = {"name": call.name, "k": call.begin_ns, **objects(call.objects, call.count, most=MAX_WAITED)}
        if call.groups:
            told["g"] = base64.b64encode(call.groups).decode()
        if not spend(3):
            break
        if call.blocks_loop:
            told["w"] = 1
        call.told = True
        if key in state.open:
            _send(b"rayscope.blocked", told, call.task)
    if state.calls:
        tell_calls()
    if state.sums and int(time.monotonic()) != state.second:
        flush()
    for tell_more in state.every_second:
        tell_more()
