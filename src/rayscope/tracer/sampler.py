"""Samples the Python stacks of this process's tasks, so that the record shows which line is slow.

A thread takes the samples while tasks run, and in a driver while it is connected. Each sample belongs to an
attempt and a phase. Samples are summed and sent every 10 s, and when a sampled attempt ends.

A stack is identified by a number of its innermost frame, which depends on all frames around it. The frames
themselves are sent once per process. So a report of samples is small, however deep the stacks are.

The thread needs the GIL. Code of a C library shows in three ways, and such samples are *native*: its thread
uses the CPU while we hold the GIL; it is ready to run although the GIL was free; or it used the CPU while we
waited for the GIL, which a thread that runs Python releases at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, TypeVar

from rayscope.tracer import coroutines, demand, emit
from rayscope.tracer.demand import Demand
from rayscope.tracer.emit import Task, state
from rayscope.tracer.settings import SAMPLES, SOURCE
from rayscope.tracer.source import Line, read_lines

#: Phases of an attempt, by their numbers in reports. ``ray``: Ray's own work before and after the function.
PHASES = ("executing", "awaiting", "ray.get", "ray.wait", "ray.put", "unpacking", "ray")
_EXECUTING = PHASES.index("executing")
_AWAITING = PHASES.index("awaiting")
_GET = PHASES.index("ray.get")
_WAIT = PHASES.index("ray.wait")
_PUT = PHASES.index("ray.put")
_UNPACKING = PHASES.index("unpacking")
_RAY = PHASES.index("ray")
#: Reasons for taking no samples, as the tracer reports them. They are no defects.
OFF = "samples"
NEED_GIL = "samples, which need the GIL"
DEFAULT_HZ = 1.0
MAX_HZ = 20.0
#: Lower rates count as 0.
MIN_HZ = 0.01
#: Interval at which samples are sent, in seconds.
WINDOW_S = 10.0
#: Minimum interval between two reports, in seconds.
_PAUSE_S = 1.0
#: The thread ends once no task has run for this long, in seconds.
_IDLE_S = 10.0
#: How long an exiting process waits for the last report, in seconds.
_STOP_S = 2.0
#: Maximum number of suspended coroutines in a sample. If there are more, each one chosen stands for several.
MAX_SUSPENDED = 64
#: Maximum number of sums, and of new frames, in one report. Samples are sent early if there are more.
MAX_SUMS = 256
MAX_NEW_FRAMES = 200
#: Maximum number of texts of lines in a report.
MAX_NEW_LINES = 150
#: Maximum number of frames that a process remembers. Beyond this, it starts over.
MAX_FRAMES = 10_000
#: Maximum number of frames of a stack that are looked at, and that are reported.
_MAX_WALK = 1000
MAX_DEPTH = 64
_MAX_FILE = 120
_MAX_FUNCTION = 80
#: Waiting for the GIL while another thread used this much CPU time means that it ran a C library, in seconds.
_GIL_WAIT_S = 0.02
#: How long before a sample the interval at which threads have to release the GIL is shortened, in seconds.
_LEAD_S = 0.008
#: The shortened interval, in seconds.
_QUICK_S = 0.00005
#: Maximum number of tries for a sample, and how long after one the next is made at most, in seconds.
_TRIES = 5
_RETRY_S = 0.02
#: Threads that user code starts are sampled if they use at least this share of a CPU.
_BUSY = 0.1

# Kinds of code, beside the phases that Ray's functions stand for.
_CODE = 0
#: Code around the user's code, such as the start of a thread.
_OUTER = -1
#: Code of Ray and of the tracer that is not shown: between the user's functions, or for Ray's own work.
_HIDDEN = -2
_RAYS = -3
_RAYS_PHASES = {"get": _GET, "wait": _WAIT, "put": _PUT, "deserialize_objects": _UNPACKING}
_RAYS_WORKER = "/ray/_private/worker.py"
_RAYS_FILES = re.compile(r"(^|/)ray/(_private/|(_raylet\.pyx|actor\.py|remote_function\.py)$)")
_HIDDEN_FILES = re.compile(r"(^|/)(ray/util/tracing/|ray/_private/workers/|rayscope/tracer/\w+\.py$)")
#: Functions of ``ray/_private`` that call the user's.
_CALLS_USER = frozenset({"main_loop", "actor_method_executor", "async_actor_method_executor", "wrapper"})
_OUTER_FILES = re.compile(
    r"(^|/)(threading|runpy|selectors|concurrent/futures/thread|asyncio/(base_events|events|runners)"
    r"|ray/train/v2/_internal/(execution/worker_group/(thread_runner|worker)|util))\.py$|^<frozen runpy>$"
)
#: Code, its kind, the texts before and after a line's number in the description of a frame, and when the code
#: was first seen (Unix time, s).
_Place = tuple[CodeType, int, str, str, float]
_T = TypeVar("_T")
#: The frames of a stack, the innermost first, each with its line.
_Stack = list[tuple[_Place, int]]
_CUT: _Place = ((lambda: None).__code__, _CODE, ":", " …", 0.0)
_ASYNC_TYPES = (CoroutineType, GeneratorType, AsyncGeneratorType)


def rate() -> tuple[float, str]:
    """How many samples to take per second, and if it is 0, the reason."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0.0, NEED_GIL
    try:
        hz = min(MAX_HZ, float(os.environ.get(SAMPLES, DEFAULT_HZ)))
    except ValueError:
        hz = DEFAULT_HZ
    hz = hz if hz >= MIN_HZ else 0.0
    return hz, "" if hz > 0 else OFF


class Sampler:
    """Takes samples of this process, and holds those that have not been sent yet.

    ``hz``: samples per second, 0 if it is off. There are more while a server asks for a profile.
    ``has_source``: whether the text of lines is sent.
    """

    def __init__(self, hz: float) -> None:
        self.hz = hz
        self.has_source = os.environ.get(SOURCE) != "0"
        self._usual_interval: float | None = None
        #: That interval, as it was when it was last changed.
        self._normal_interval = sys.getswitchinterval()
        self.forget()

    def forget(self) -> None:
        """Forget the samples and the thread."""
        if self._usual_interval is not None:
            sys.setswitchinterval(self._usual_interval)
        #: Python's interval for releasing the GIL, while it is shortened.
        self._usual_interval = None
        self.thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stops = False
        self._random = random.Random()  # noqa: S311 - not the one of user code
        #: ID and number of an attempt, phase, whether it is native, number of the frame -> samples.
        self._sums: dict[tuple[bytes, int, int, bool, int], int] = {}
        self._began_ns = 0
        #: The rate of the profile that is being taken, 0 if there is none.
        self._profile_hz = 0.0
        #: When to send (monotonic, s), and when that was last done.
        self._send_at = float("inf")
        self._sent = 0.0
        #: Number of a frame by the number of its caller, the ID of its code, and its line.
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._places: dict[int, _Place] = {}
        #: Frames that have not been sent: number, number of the caller, description.
        self._new_frames: list[tuple[int, int, str]] = []
        #: Lines that were seen, by the ID of their code and their number, and those whose text has not been
        #: sent, with the description of their frames.
        self._lines: set[tuple[int, int]] = set()
        self._new_lines: list[tuple[Line, str]] = []
        self._cpu: dict[int, float] = {}  # CPU time of each thread at the last sample, in seconds
        self._sampled_at = 0.0  # when that was (monotonic, s)

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self.hz <= 0 or self.thread is not None:
            return
        with state.lock:
            if self.thread is not None:
                return
            self.thread = threading.Thread(target=self._run, name="rayscope-sampler", daemon=True)
            try:
                self.thread.start()
            except (
                RuntimeError
            ):  # the interpreter is exiting, or the process has reached its limit of threads
                self.thread = None

    def stop(self) -> None:
        """Send the remaining samples and end the thread."""
        self._stops = True
        self._wake.set()
        try:
            thread = self.thread
            if thread is not None and thread.is_alive():
                thread.join(_STOP_S)
        finally:
            self._stops = False

    def task_ended(self) -> None:
        """Send soon, because a sampled attempt has ended."""
        at = max(time.monotonic(), self._sent + _PAUSE_S)
        if at < self._send_at:
            self._send_at = at
            self._wake.set()

    def _run(self) -> None:
        try:
            _be_punctual()
            self._take_samples()
            if state.connected:
                self._send()
        except Exception as error:
            emit.switch_off("sampling", error)
        finally:
            if self.thread is threading.current_thread():
                self.thread = None

    def _take_samples(self) -> None:
        """Take one sample at a random time of each period, until no task has run for a while."""
        if not state.connected:
            return
        asked = Demand(state.core.get_worker_id().hex())
        now = last_busy = time.monotonic()
        period = 0.0
        while state.connected and not self._stops:
            profile_hz = demand.HZ if asked.is_on(now) else 0.0
            if not period or profile_hz != self._profile_hz:
                self._send()  # a report has samples of one rate
                self._profile_hz = profile_hz
                period = 1 / (profile_hz or self.hz)
                began = now = time.monotonic()
                number, next_at = 0, began + self._random.random() * period
            until = min(self._send_at, asked.next_at(now))
            gil_wait = self.pause(next_at) if next_at <= until else self._wait(until)
            if self._stops or not state.connected:
                return
            now = time.monotonic()
            if now >= next_at:
                # A profile has no samples after its end.
                late = int(((min(now, asked.end) if profile_hz else now) - began) / period) - number
                self.sample(1 + max(0, min(late, int(gil_wait / period))), gil_wait)
                number += late + 1
                next_at = began + (number + self._random.random()) * period
            if state.tasks or state.driver is not None:
                last_busy = now
            if now >= self._send_at:
                self._send()
            with state.lock:  # a task that begins now sees that there is no thread
                if not state.tasks and now - last_busy > _IDLE_S:
                    self.thread = None
                    return

    def _wait(self, until: float) -> float:
        """Sleep until ``until`` (monotonic, s) or until woken."""
        self._wake.wait(max(0.0, until - time.monotonic()))
        self._wake.clear()
        return 0.0

    def pause(self, until: float) -> float:
        """Sleep until ``until`` (monotonic, s) or until woken. Returns how long it waited for the GIL (s).

        A thread that waits for the GIL gets it where another one releases it. For the sample to show where
        the other thread is now, it must release it now. So for the last moments, the interval at which
        threads have to release it is short. If it releases it by itself even earlier, we try again.
        """
        switches = _voluntary_switches()
        early = until - _LEAD_S
        self._wake.wait(max(0.0, early - time.monotonic()))
        waited, times = _gil_wait(early, switches)
        if self._wake.is_set():
            self._wake.clear()
            return 0.0
        if time.monotonic() >= until:
            if waited >= _GIL_WAIT_S and times * sys.getswitchinterval() <= 1.5 * waited:
                return waited  # a thread held the GIL all the time
            until = time.monotonic() + self._random.random() * _RETRY_S
        for _ in range(_TRIES):
            switches = _voluntary_switches()
            self._sleep_until(until)
            waited, times = _gil_wait(until, switches)
            if times != 1:  # the GIL was free, or a thread had to release it
                break
            until = time.monotonic() + self._random.random() * _RETRY_S
        return waited

    def _sleep_until(self, until: float) -> None:
        """Sleep, and get the GIL soon afterwards."""
        get_interval, set_interval = sys.getswitchinterval, sys.setswitchinterval
        usual = get_interval()
        if usual <= _QUICK_S:  # user code has restored the interval that it saw while it was short
            usual = self._normal_interval
        self._usual_interval = self._normal_interval = usual
        set_interval(_QUICK_S)
        quick = get_interval()
        time.sleep(max(0.0, until - time.monotonic()))
        # This must come first: a thread that begins to wait for the GIL would let us keep it only as long.
        if get_interval() == quick:  # user code has not changed it
            set_interval(usual)
        self._usual_interval = None

    def sample(self, weight: int = 1, gil_wait: float = 0.0) -> None:
        """Take a sample that counts ``weight`` times, after waiting ``gil_wait`` seconds for the GIL."""
        own, suspended, alone = _find_tasks()
        if alone is None and not own and not suspended:
            return
        self._sample_suspended(suspended, weight)
        frames = sys._current_frames()
        frames.pop(threading.get_ident(), None)  # it holds `frames`: the cycle would keep all frames alive
        ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
        ids.update((task.thread, task.native_thread) for task in own.values() if task.thread)
        cpu = {ident: _cpu_time(ids.get(ident)) for ident in frames}
        began = time.monotonic()
        elapsed = began - self._sampled_at
        runnable: list[tuple[Task, int, int, int | None]] = []
        frame: FrameType | None
        for ident, frame in frames.items():
            task = own.get(ident, alone)
            if task is None:
                continue
            used = cpu[ident] - self._cpu.get(ident, 0.0)
            if ident not in own and used < _BUSY * elapsed:
                continue
            before, since = _cpu_time(ids.get(ident)), time.monotonic()
            phase, stack = self._walk(frame)
            if not stack and ident not in own:
                continue  # a thread of Ray's or of a library, or one that has nothing to do
            leaf = self._leaf(stack)
            is_native = used > 0 and (
                (_cpu_time(ids.get(ident)) - before) * 2 > time.monotonic() - since
                or gil_wait * used >= _GIL_WAIT_S * elapsed
            )
            if used > 0 and not is_native and not gil_wait:
                runnable.append((task, phase, leaf, ids.get(ident)))
            else:
                self._add(task, phase, is_native, leaf, weight)
        frame = None
        frames.clear()  # the next lines let other threads run, and their frames must not stay alive
        for task, phase, leaf, native_id in runnable:
            self._add(task, phase, _is_runnable(native_id), leaf, weight)
        self._cpu, self._sampled_at = cpu, began
        if len(self._sums) >= MAX_SUMS or len(self._new_frames) >= MAX_NEW_FRAMES:
            self._send_at = min(self._send_at, time.monotonic())

    def _sample_suspended(self, tasks: list[Task], weight: int) -> None:
        share = len(tasks) / MAX_SUSPENDED
        if share > 1:
            tasks = self._random.sample(tasks, MAX_SUSPENDED)
        for task in tasks:
            awaits = task.awaits
            if awaits is None or awaits.coroutine is None:
                continue
            stack = self._walk_awaits(awaits.coroutine)
            times = weight if share <= 1 else int(weight * share + self._random.random())
            self._add(task, _AWAITING, False, self._leaf(stack), times)

    def _add(self, task: Task, phase: int, is_native: bool, leaf: int, weight: int) -> None:
        if not self._sums:
            self._began_ns = time.time_ns()
            self._send_at = min(self._send_at, time.monotonic() + WINDOW_S)
        key = (task.id, task.attempt, phase, is_native, leaf)
        self._sums[key] = self._sums.get(key, 0) + weight
        task.is_sampled = True

    def _walk(self, frame: FrameType | None) -> tuple[int, _Stack]:
        """The phase and the stack of a thread."""
        return user_stack(self._frames(frame))

    def _frames(self, frame: FrameType | None) -> Iterable[tuple[int, tuple[_Place, int]]]:
        for _ in range(_MAX_WALK):
            if frame is None:
                return
            place = self._place(frame.f_code)
            yield place[1], (place, frame.f_lineno or 0)
            frame = frame.f_back

    def _walk_awaits(self, coroutine: Any) -> _Stack:
        """The stack of a suspended coroutine, without the frames of ``asyncio`` that it awaits."""
        stack: _Stack = []
        for _ in range(_MAX_WALK):
            if type(coroutine) in _ASYNC_TYPES:
                frame = _attribute(coroutine, ("cr_frame", "gi_frame", "ag_frame"))
                if frame is not None:
                    place = self._place(frame.f_code)
                    if place[1] in (_CODE, _OUTER):
                        stack.append((place, frame.f_lineno or 0))
            awaited = _attribute(coroutine, ("cr_await", "gi_yieldfrom", "ag_await"))
            if awaited is None and not hasattr(type(coroutine), "cr_await"):
                # What `__await__` of a coroutine and methods of an async generator return only refers to it.
                wrapped = (each for each in gc.get_referents(coroutine) if type(each) in _ASYNC_TYPES)
                awaited = next(wrapped, None)
            if awaited is None:
                break
            coroutine = awaited
        while stack and stack[-1][0][2].startswith("asyncio/"):
            stack.pop()
        stack.reverse()
        return stack

    def _place(self, code: CodeType) -> _Place:
        place = self._places.get(id(code))
        if place is None:  # the place keeps the code, so that no other code gets its ID
            name = getattr(code, "co_qualname", code.co_name)[-_MAX_FUNCTION:]
            place = (
                code,
                kind_of(code.co_filename, code.co_name),
                f"{_relative(code.co_filename)}:",
                f" {name}",
                time.time(),
            )
            self._places[id(code)] = place
        return place

    def _leaf(self, stack: _Stack) -> int:
        """The number of the innermost frame of a stack, 0 without frames. Describes frames that are new."""
        if len(self._numbers) >= MAX_FRAMES or len(self._places) >= MAX_FRAMES:
            self._numbers.clear()
            self._places.clear()
            self._lines.clear()
        if len(stack) > MAX_DEPTH:
            half = MAX_DEPTH // 2
            stack = [*stack[:half], (_CUT, 0), *stack[-half:]]
        number = 0
        for (code, _, before, after, since), line in reversed(stack):
            key = (number, id(code), line)
            child = self._numbers.get(key)
            if child is None:
                text = f"{before}{line}{after}"
                child = self._numbers[key] = frame_number(number, text)
                self._new_frames.append((child, number, text))
                if since and (id(code), line) not in self._lines:
                    self._lines.add((id(code), line))
                    self._new_lines.append(((code, line, since), text))
            number = child
        return number

    def _send(self) -> None:
        """Send all samples, in as many reports as are needed."""
        self._send_at, self._sent = float("inf"), time.monotonic()
        sums, self._sums = list(self._sums.items()), {}
        frames, self._new_frames = self._new_frames, []
        new_lines, self._new_lines = self._new_lines, []
        lines = read_lines(new_lines) if self.has_source else []
        while sums or frames or lines:
            tasks: dict[tuple[bytes, int], list[list[int]]] = {}
            for (task, attempt, phase, is_native, leaf), count in sums[:MAX_SUMS]:
                tasks.setdefault((task, attempt), []).append([phase, int(is_native), count, leaf])
            payload = {
                "k": self._began_ns,
                "hz": self._profile_hz or self.hz,
                "frames": frames[:MAX_NEW_FRAMES],
                "lines": lines[:MAX_NEW_LINES],
                "tasks": [[task.hex(), attempt, counts] for (task, attempt), counts in tasks.items()],
            }
            emit.report_samples(payload)
            del sums[:MAX_SUMS], frames[:MAX_NEW_FRAMES], lines[:MAX_NEW_LINES]


def frame_number(caller: int, text: str) -> int:
    """The number of a frame, equal in all processes. ``caller``: the number of the frame around it."""
    digest = blake2b(f"{caller} {text}".encode(errors="replace"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 12) or 1  # fits into a JSON number


def _find_tasks() -> tuple[dict[int, Task], list[Task], Task | None]:
    """The tasks that run, by thread; those that are suspended; and the task to which other threads belong."""
    own: dict[int, Task] = {}
    suspended = []
    tasks = list(state.tasks.values())
    for task in tasks:
        awaits = task.awaits
        if task.thread:
            own[task.thread] = task
        elif awaits is not None and awaits.coroutine is not None:
            if awaits.is_suspended:
                suspended.append(task)
            else:
                own[awaits.thread] = task
    for thread, driver in list(coroutines.starting.items()):
        started = state.tasks.get(driver.task_id)
        if started is not None:
            own[thread] = started
    if state.driver is not None:
        own.setdefault(threading.main_thread().ident or 0, state.driver)
        return own, suspended, state.driver
    return own, suspended, tasks[0] if len(tasks) == 1 else None


def _attribute(of: Any, names: Iterable[str]) -> Any:
    for name in names:
        # Only what its type defines: `__getattr__` of an object would run the user's code here.
        value = getattr(of, name, None) if hasattr(type(of), name) else None
        if value is not None:
            return value
    return None


def user_stack(frames: Iterable[tuple[int, _T]]) -> tuple[int, list[_T]]:
    """The phase of a thread, and its frames of user code. ``frames``: all with kinds, innermost first."""
    phase = _EXECUTING
    stack: list[_T] = []
    length = 0  # without the code around the user's
    is_rays = True  # whether Ray called what is on the stack so far for its own work
    for kind, frame in frames:
        if kind in (_CODE, _OUTER):
            stack.append(frame)
            if kind == _CODE:
                length, is_rays = len(stack), False
        elif kind == _RAYS:
            is_rays = True
        elif kind > 0 and phase == _EXECUTING:
            phase = kind
            if kind != _UNPACKING and kind != _PUT:  # these two call the user's code
                stack.clear()
                length = 0
    return _RAY if is_rays and phase == _EXECUTING else phase, stack[:length]


def kind_of(file: str, function: str) -> int:
    """The kind of a function's code."""
    file = file.replace("\\", "/")
    if f"/{file}".endswith(_RAYS_WORKER) and function in _RAYS_PHASES:
        return _RAYS_PHASES[function]
    if _HIDDEN_FILES.search(file):
        return _HIDDEN
    if _RAYS_FILES.search(file):
        return _HIDDEN if function in _CALLS_USER else _RAYS
    return _OUTER if _OUTER_FILES.search(file) else _CODE


def _relative(file: str) -> str:
    """The path of a file below the longest matching entry of ``sys.path``, or its end if it is too long."""
    file = file.replace("\\", "/")
    longest = ""
    for entry in ("", *sys.path):
        try:
            folder = os.path.abspath(entry).replace("\\", "/").rstrip("/") + "/"
        except (OSError, TypeError, AttributeError):  # the working directory is gone, or it is no text
            continue
        if len(folder) > len(longest) and file.startswith(folder):
            longest = folder
    file = file[len(longest) :]
    return file if len(file) <= _MAX_FILE else "…" + file[1 - _MAX_FILE :]


def _cpu_time(native_id: int | None) -> float:
    """CPU time of a thread of this process in seconds, 0 if it is unknown."""
    if native_id is None or sys.platform != "linux":
        return 0.0
    try:
        # The number of the thread's clock, as in Linux's include/linux/posix-timers.h. Unlike
        # time.pthread_getcpuclockid, it is safe for a thread that has ended.
        return time.clock_gettime(~native_id << 3 | 6)
    except OSError:
        return 0.0


def _is_runnable(native_id: int | None) -> bool:
    """Whether a thread of this process runs, or would run if it had a CPU."""
    try:
        with open(f"/proc/self/task/{native_id}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split(None, 1)[0] == b"R"
    except OSError:
        return False


def _gil_wait(until: float, switches: int) -> tuple[float, int]:
    """How long a sleep until ``until`` waited for the GIL (s), and how often it woke up while it waited.

    A thread that waits for the GIL wakes up once per interval, and when another thread releases the GIL.
    """
    times = max(0, _voluntary_switches() - switches - 1)  # one switch is the sleep itself
    return (max(0.0, time.monotonic() - until) if times else 0.0), times


def _be_punctual() -> None:
    """Let the timers of this thread expire in time. By default, Linux delays them by up to 50 µs."""
    with contextlib.suppress(OSError), open(f"/proc/{threading.get_native_id()}/timerslack_ns", "w") as file:
        file.write("1")


def _counter_of_switches() -> Callable[[], int]:
    try:
        import resource

        thread = resource.RUSAGE_THREAD
        return lambda: resource.getrusage(thread).ru_nvcsw
    except (ImportError, AttributeError):  # not Linux
        return lambda: 0


_voluntary_switches = _counter_of_switches()
sampler = Sampler(0.0)


def _reset_after_fork() -> None:
    """Forget the thread and the samples, which a forked child does not have."""
    sampler.forget()


os.register_at_fork(after_in_child=_reset_after_fork)
