"""Runs the coroutines of async actor methods and measures when they run and when they are suspended.

Ray submits each call of such a method to an event loop as a coroutine. :class:`Driver` wraps that coroutine
and forwards every step to it. For the user's code, the asyncio task, the context and cancellation stay the
same. Other asyncio tasks or threads that a method starts run while the method awaits them.
"""

from __future__ import annotations

import collections.abc
import threading
import time
from collections.abc import Callable
from typing import Any

from rayscope.tracer import emit
from rayscope.tracer.awaits import Awaits
from rayscope.tracer.emit import Task, state
from rayscope.tracer.faults import is_users

_time_ns = time.time_ns
_thread_time_ns = time.thread_time_ns


class Driver:
    """Wraps a coroutine and measures its steps.

    Args:
        coroutine: the coroutine of an actor method's call.
        task_id: returns Ray's ID of the task whose coroutine runs in the current context, or None.

    Attributes:
        task_id: the ID of the task, once Ray has set it, which is early in the first step.
    """

    __slots__ = (
        "__weakref__",
        "_awaits",
        "_coroutine",
        "_find_id",
        "_queued_ns",
        "_send",
        "_task",
        "task_id",
    )

    def __init__(self, coroutine: Any, task_id: Callable[[], Any]) -> None:
        self._coroutine, self._send, self._find_id = coroutine, coroutine.send, task_id
        self.task_id = b""
        self._task: Task | None = None
        self._awaits: Awaits | None = None
        self._queued_ns = _time_ns()  # 0 once it has run

    def send(self, value: Any) -> Any:
        """Run the coroutine until it is suspended or ends."""
        awaits = self._awaits
        if awaits is None:
            return self._start(value) if self._queued_ns else self._send(value)
        if awaits.resume():
            self._report(awaits)
        cpu_ns = _thread_time_ns()
        try:
            return self._send(value)
        finally:
            awaits.suspend(_thread_time_ns() - cpu_ns)

    def throw(self, *error: Any) -> Any:
        """Raise an error in the coroutine, and run it until it is suspended or ends."""
        awaits = self._awaits
        if awaits is None:
            return self._coroutine.throw(*error)
        if awaits.resume():
            self._report(awaits)
        cpu_ns = _thread_time_ns()
        try:
            return self._coroutine.throw(*error)
        finally:
            awaits.suspend(_thread_time_ns() - cpu_ns)

    def close(self) -> None:
        """Close the wrapped coroutine."""
        self._coroutine.close()

    def __await__(self) -> Any:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)  # cr_frame, cr_await, __qualname__, ...

    def __repr__(self) -> str:
        return repr(self._coroutine)

    def _start(self, value: Any) -> Any:
        """Run the first step, in which Ray's coroutine sets its task ID and then calls the user's method."""
        queued_ns, self._queued_ns = self._queued_ns, 0
        thread = threading.get_ident()
        starting[thread] = self
        started_ns, cpu_ns = _time_ns(), _thread_time_ns()
        try:
            return self._send(value)
        finally:
            starting.pop(thread, None)
            self._find_task(queued_ns, started_ns, _thread_time_ns() - cpu_ns)

    def _find_task(self, queued_ns: int, started_ns: int, cpu_ns: int) -> None:
        try:
            task_id = self._find_id()
            task = None if task_id is None else state.tasks.get(task_id.binary())
            if task is not None and task.awaits is not None:
                self._task, self._awaits = task, task.awaits
                task.awaits.start(queued_ns, started_ns)
                task.awaits.suspend(cpu_ns)
                task.awaits.coroutine, task.awaits.thread = self._coroutine, threading.get_ident()
        except Exception as error:
            _fail(error)

    def _report(self, awaits: Awaits) -> None:
        try:
            if self._task is not None and emit.ready():
                emit.report_awaits(self._task, awaits.take_part(_time_ns()))
        except Exception as error:
            _fail(error)


#: The coroutines in their first steps, by the thread that runs them.
starting: dict[int, Driver] = {}


class TaskIdVariable:
    """Stands in for the context variable in which Ray keeps the task ID of a coroutine.

    So the task of a coroutine is known during its first step, which may never end.
    """

    def __init__(self, variable: Any) -> None:
        self._variable, self.get = variable, variable.get

    def set(self, task_id: Any) -> Any:
        """Set the variable, as Ray does at the start of a coroutine."""
        driver = starting.get(threading.get_ident())
        if driver is not None and task_id is not None:
            driver.task_id = task_id.binary()
        return self._variable.set(task_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._variable, name)


def _fail(error: Exception) -> None:
    if is_users(error):
        raise error
    emit.switch_off("drive a coroutine", error)


# asyncio checks this before it accepts an object as a coroutine.
collections.abc.Coroutine.register(Driver)
_OUR_FRAMES = frozenset(method.__code__ for method in (Driver.send, Driver.throw, Driver._start))


def hide_frames(future: Any) -> None:
    """Remove our frames from the traceback of an error raised by a wrapped coroutine."""
    error = None if future.cancelled() else future.exception()
    if error is not None:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code in _OUR_FRAMES:
            trace = trace.tb_next
        error.__traceback__ = trace
