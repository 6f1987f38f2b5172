"""Samples of this process: of which task and line they are, in which phase, and how many can be held."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.ray.events import samples
from rayscope.tracer import coroutines, emit
from rayscope.tracer.awaits import Awaits
from rayscope.tracer.coroutines import Driver, TaskIdVariable
from rayscope.tracer.emit import Task, state
from rayscope.tracer.sampler import MAX_DEPTH, MAX_NEW_FRAMES, MAX_SUMS, MAX_SUSPENDED, PHASES, Sampler, rate

FIRST, SECOND = b"\1" * 24, b"\2" * 24
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs the CPU time of threads")


def function(text: str) -> str:
    """The name of a frame's function."""
    return text.rpartition(" ")[2].rpartition(".")[2]


class Reports:
    """The reports of a sampler, as the server decodes them: how many samples each stack has."""

    def __init__(self) -> None:
        self.payloads: list[dict[str, Any]] = []

    def stacks(self, task: bytes = FIRST) -> Counter[tuple[str, bool, tuple[str, ...]]]:
        frames = {number: (caller, text) for each in self.payloads for number, caller, text in each["frames"]}
        counted: Counter[tuple[str, bool, tuple[str, ...]]] = Counter()
        for payload in self.payloads:
            for task_id, _, sums in payload["tasks"]:
                for phase, is_native, count, number in sums if task_id == task.hex() else ():
                    stack = []
                    while number:
                        number, text = frames[number]
                        stack.append(text)
                    counted[PHASES[phase], bool(is_native), tuple(stack[::-1])] += count
        return counted

    def functions(self, task: bytes = FIRST) -> Counter[str]:
        """How many samples each innermost function has."""
        counted: Counter[str] = Counter()
        for (_, _, stack), count in self.stacks(task).items():
            counted[function(stack[-1]) if stack else ""] += count
        return counted


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    yield Sampler(1.0)
    state.tasks.clear()


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Reports:
    collected = Reports()
    monkeypatch.setattr(emit, "report_samples", collected.payloads.append)
    return collected


def begin(task_id: bytes) -> Task:
    """Begin a task in the current thread."""
    task = Task(task_id, 0, threading.get_ident())
    task.begin()
    return task


def sample_while(sampler: Sampler, *functions: Callable[[], None], times: int = 100) -> None:
    """Take samples while each function runs repeatedly as a task of its own in a thread."""
    over = threading.Event()
    ready = threading.Barrier(len(functions) + 1)

    def run(task_id: bytes, work: Callable[[], None]) -> None:
        task = begin(task_id)
        ready.wait()
        while not over.is_set():
            work()
        task.end()

    threads = [
        threading.Thread(target=run, args=(task_id, work))
        for task_id, work in zip((FIRST, SECOND), functions, strict=False)
    ]
    for thread in threads:
        thread.start()
    ready.wait()
    for _ in range(times):
        sampler.sample(1, sampler.pause(time.monotonic() + 0.02))
    over.set()
    for thread in threads:
        thread.join()
    sampler._send()


def compute() -> None:
    total = 0
    for number in range(20_000):
        total += number * number


def compress() -> None:
    zlib.compress(DATA, 9)


def sort() -> None:
    """Holds the GIL for long."""
    sorted(NUMBERS)


NUMBERS = [number * 7919 % 1_000_003 for number in range(1_000_000)]
DATA = bytes(range(256)) * 4000


def test_two_threads_are_kept_apart_and_their_stacks_begin_with_user_code(
    sampler: Sampler, reports: Reports
) -> None:
    sample_while(sampler, compute, compress)
    assert reports.functions(FIRST)["compress"] == reports.functions(SECOND)["compute"] == 0
    (phase, _, stack), _ = reports.stacks(FIRST).most_common(1)[0]
    assert phase == "executing"
    assert stack[0].endswith("sample_while.<locals>.run" if sys.version_info >= (3, 11) else " run")
    assert stack[-1].startswith("tests/unit/tracer/test_sampler.py:")
    assert all("threading.py" not in text for stack in reports.stacks(SECOND) for text in stack[2])


@linux
@pytest.mark.parametrize(
    # Far from the 0.8 and 0.1 of a quiet machine.
    ("work", "lower", "upper"),
    [(compress, 0.5, 1.0), (sort, 0.5, 1.0), (compute, 0.0, 0.4)],
)
def test_code_of_a_c_library_is_native_whether_it_holds_the_gil_or_not(
    sampler: Sampler, reports: Reports, work: Callable[[], None], lower: float, upper: float
) -> None:
    sample_while(sampler, work, times=50)
    native = sum(count for (_, is_native, _), count in reports.stacks(FIRST).items() if is_native)
    assert lower <= native / reports.functions(FIRST).total() <= upper


@linux
def test_a_thread_that_the_task_started_belongs_to_the_task(sampler: Sampler, reports: Reports) -> None:
    over = threading.Event()

    def spin() -> None:
        while not over.is_set():
            compute()

    started = [threading.Thread(target=spin), threading.Thread(target=over.wait, args=(60,))]
    for thread in started:
        thread.start()
    sample_while(sampler, lambda: time.sleep(0.01))
    sample_while(sampler, lambda: time.sleep(0.01), lambda: time.sleep(0.01), times=50)
    over.set()
    for thread in started:
        thread.join()
    functions = reports.functions()
    assert functions["compute"] + functions["spin"] > 50
    # With two tasks, it is not known which of them started the thread.
    assert functions["compute"] + functions["spin"] <= 110
    assert reports.functions(SECOND)["compute"] == 0
    assert functions["wait"] <= 1  # the other thread uses no CPU, except for its start


class Loop:
    """An event loop in a thread, to which coroutines are submitted as Ray does."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self._ids: dict[asyncio.Task[Any], bytes] = {}
        self.variable = TaskIdVariable(SimpleNamespace(get=self._get, set=self._set))

    def _get(self) -> Any:
        task_id = self._ids.get(asyncio.current_task(self.loop))  # type: ignore[arg-type]
        return task_id and SimpleNamespace(binary=lambda: task_id)

    def _set(self, task_id: Any) -> None:
        self._ids[asyncio.current_task(self.loop)] = task_id.binary()  # type: ignore[index]

    def submit(self, task_id: bytes, coroutine: Any) -> Any:
        task = Task(task_id, 0, 0)
        task.awaits = Awaits()
        state.tasks[task_id] = task

        async def of_ray() -> Any:
            self.variable.set(SimpleNamespace(binary=lambda: task_id))
            return await coroutine

        driver: Any = Driver(of_ray(), self._get)
        return asyncio.run_coroutine_threadsafe(driver, self.loop)

    def stop(self) -> None:
        async def end() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    started = Loop()
    yield started
    started.stop()


def test_coroutines_run_or_wait_and_are_kept_apart(loop: Loop, sampler: Sampler, reports: Reports) -> None:
    over = threading.Event()

    async def busy() -> None:
        while not over.is_set():
            compute()
            await asyncio.sleep(0)

    async def rest() -> None:
        await asyncio.sleep(60)

    async def waits() -> None:
        await rest()

    busy_call, waiting_call = loop.submit(FIRST, busy()), loop.submit(SECOND, waits())
    time.sleep(0.1)
    for _ in range(100):
        sampler.sample(1, sampler.pause(time.monotonic() + 0.02))
    over.set()
    waiting_call.cancel()
    busy_call.result()
    sampler._send()
    phases = Counter[str]()
    for (phase, _, _), count in reports.stacks(FIRST).items():
        phases[phase] += count
    assert phases["executing"] > 10  # on a busy machine, the event loop is seen more often
    ((phase, is_native, stack), count) = reports.stacks(SECOND).most_common(1)[0]
    assert (phase, is_native, count) == ("awaiting", False, 100)
    assert [function(text) for text in stack[-2:]] == ["waits", "rest"]


def test_a_coroutine_is_known_in_its_first_step_which_blocks(
    loop: Loop, sampler: Sampler, reports: Reports
) -> None:
    over = threading.Event()

    async def blocks() -> None:
        over.wait(60)

    async def waits() -> None:
        await asyncio.sleep(0)

    calls = [loop.submit(FIRST, blocks()), loop.submit(SECOND, waits())]
    while not coroutines.starting:
        time.sleep(0.001)
    for _ in range(3):
        sampler.sample()
    over.set()
    for call in calls:
        call.result()
    sampler._send()
    assert reports.functions(FIRST).total() == 3
    assert any("blocks" in text for _, _, stack in reports.stacks(FIRST) for text in stack)
    assert not reports.stacks(SECOND)
    assert not coroutines.starting


def test_many_suspended_coroutines_are_sampled_in_part_and_count_in_full(
    loop: Loop, sampler: Sampler, reports: Reports
) -> None:
    number = 10 * MAX_SUSPENDED
    ids = [at.to_bytes(24, "big") for at in range(number)]
    calls = [loop.submit(task_id, asyncio.sleep(60)) for task_id in ids]
    while not all(state.tasks[task_id].awaits.coroutine for task_id in ids):  # type: ignore[union-attr]
        time.sleep(0.01)
    for _ in range(5):
        sampler.sample()
        sampler._send()
    for call in calls:
        call.cancel()
    counts = [sums[0][2] for each in reports.payloads for _, _, sums in each["tasks"]]
    assert len(counts) == 5 * MAX_SUSPENDED
    assert sum(counts) == pytest.approx(5 * number, rel=0.01)


def test_a_sample_keeps_no_variables_of_user_code(sampler: Sampler, reports: Reports) -> None:
    class Value:
        """Something that a weak reference can refer to."""

    values: list[weakref.ref[Value]] = []
    ready, over = threading.Event(), threading.Event()

    def work() -> None:
        value = Value()
        values.append(weakref.ref(value))
        ready.set()
        over.wait(60)

    def run() -> None:
        task = begin(FIRST)
        work()
        task.end()

    gc.disable()
    try:
        thread = threading.Thread(target=run)
        thread.start()
        ready.wait()
        sampler.sample()
        over.set()
        thread.join()
        assert values[0]() is None
    finally:
        gc.enable()


def test_a_deep_recursion_keeps_its_ends(sampler: Sampler, reports: Reports) -> None:
    def recurse(depth: int) -> None:
        recurse(depth - 1) if depth else sample_here()

    def sample_here() -> None:
        thread = threading.Thread(target=sampler.sample)
        thread.start()
        thread.join()

    begin(FIRST)
    recurse(300)
    sampler._send()
    ((_, _, stack),) = reports.stacks()
    assert len(stack) == MAX_DEPTH + 1
    assert sum(text.startswith(":") for text in stack) == 1
    assert any("sample_here" in text for text in stack[-4:])


def test_reports_are_bounded_in_number_of_stacks_and_frames(sampler: Sampler, reports: Reports) -> None:
    place = sampler._place(compute.__code__)
    task = Task(FIRST, 0, 0)
    for line in range(2 * MAX_SUMS + 1):
        sampler._add(task, 0, False, sampler._leaf([(place, line)]), 1)
    sampler._send()
    assert [len(each["tasks"][0][2]) for each in reports.payloads if each["tasks"]] == [MAX_SUMS] * 2 + [1]
    assert max(len(each["frames"]) for each in reports.payloads) == MAX_NEW_FRAMES
    assert reports.stacks().total() == 2 * MAX_SUMS + 1
    # Known frames are not sent again.
    sampler._add(task, 0, False, sampler._leaf([(place, 0)]), 1)
    sampler._send()
    assert reports.payloads[-1]["frames"] == []


def test_the_thread_ends_with_its_worker_and_costs_nothing_if_it_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin(FIRST)
    off = Sampler(0.0)
    off.start()
    assert off.thread is None
    sampler = Sampler(20.0)
    sampler.start()  # this process is connected to no cluster, so the thread ends at once
    if thread := sampler.thread:
        thread.join()
    assert sampler.thread is None
    sampler.stop()
    state.tasks.clear()
    for text, hz in (("0", 0.0), ("2.5", 2.5), ("1000", 20.0), ("-1", 0.0), ("often", 1.0)):
        monkeypatch.setenv("RAYSCOPE_TRACE_SAMPLES", text)
        assert rate() == (hz, "" if hz else "samples")


def test_a_report_becomes_spans(sampler: Sampler, reports: Reports) -> None:
    place, line = sampler._place(compute.__code__), compute.__code__.co_firstlineno + 3
    sampler._add(Task(FIRST, 3, 0), 2, True, sampler._leaf([(place, line)]), 5)
    sampler._send()
    (payload,) = reports.payloads
    end = payload["k"] + 10
    entry: Any = SimpleNamespace(
        event_name=samples.SAMPLES, start_time=end, end_time=end, extra_data=emit._encode(payload)
    )
    of_task, frames, lines = samples.spans(entry)
    ((number, caller, text),) = payload["frames"]
    assert of_task[:5] == (FIRST.hex(), 3, "rayscope.samples", payload["k"], end)
    assert of_task.extra == f'{{"hz":1.0,"samples":[[2,1,5,{number}]]}}'
    assert frames[:3] == ("", 0, "rayscope.frames")
    assert frames.extra == f'{{"frames":[[{number},{caller},"{text}"]]}}'
    assert text == f"tests/unit/tracer/test_sampler.py:{line} compute"
    assert lines[:3] == ("", 0, "rayscope.lines")
    assert lines.extra == f'{{"lines":[["{text}","total += number * number"]]}}'
    # The text of a line is sent once, and only if that is on.
    sampler.has_source = False
    sampler._add(Task(FIRST, 3, 0), 2, True, sampler._leaf([(place, line)]), 5)
    sampler._add(Task(FIRST, 3, 0), 2, True, sampler._leaf([(place, line - 1)]), 5)
    sampler._send()
    assert reports.payloads[-1]["lines"] == []
