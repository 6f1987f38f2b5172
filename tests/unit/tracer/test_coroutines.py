"""Coroutines that are driven: they behave as without us, and their suspensions add up."""

from __future__ import annotations

import asyncio
import contextvars
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rayscope.tracer import coroutines, emit
from rayscope.tracer.awaits import MAX_STRETCHES, Awaits
from rayscope.tracer.coroutines import Driver, hide_frames

TASK_ID = b"\1" * 24
MS = 1_000_000
_current: contextvars.ContextVar[int] = contextvars.ContextVar("current", default=0)


class _Id:
    def binary(self) -> bytes:
        return TASK_ID


@pytest.fixture
def task() -> Iterator[emit.Task]:
    """A task of an async actor that runs in this process."""
    made = emit.Task(TASK_ID, 0, 0)
    made.awaits = Awaits()
    emit.state.tasks[TASK_ID] = made
    yield made
    emit.state.tasks.clear()


Drive = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def drive(task: emit.Task) -> Drive:
    """Runs a coroutine as the tracer lets Ray run it."""

    async def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        loop = asyncio.get_running_loop()
        future = asyncio.run_coroutine_threadsafe(Driver(coroutine, _Id), loop)  # type: ignore[arg-type]
        future.add_done_callback(hide_frames)
        return await asyncio.wrap_future(future)

    # Tests of a browser leave an event loop running in the main thread.
    return lambda coroutine: ThreadPoolExecutor(1).submit(asyncio.run, run(coroutine)).result()


def test_values_contexts_and_the_current_task_are_the_users(drive: Drive) -> None:
    async def inner() -> int:
        await asyncio.sleep(0)
        return _current.get()

    async def method() -> tuple[Any, ...]:
        _current.set(7)
        current = asyncio.current_task()
        assert current is not None
        assert asyncio.iscoroutine(current.get_coro())
        seen = await inner(), await asyncio.create_task(inner())
        return (*seen, current is asyncio.current_task(), "method" in repr(current))

    assert drive(method()) == (7, 7, True, True)
    assert _current.get() == 0


def test_an_error_has_no_frame_of_ours(drive: Drive) -> None:
    async def method() -> None:
        try:
            await asyncio.wait_for(asyncio.sleep(10), 0.001)
        except asyncio.TimeoutError as error:
            raise ValueError("too late") from error

    with pytest.raises(ValueError, match="too late") as caught:
        drive(method())
    text = "".join(traceback.format_exception(caught.value))
    assert "in method" in text
    assert coroutines.__file__ not in text


@pytest.mark.parametrize("is_caught", [True, False])
def test_a_cancellation_reaches_the_coroutine(drive: Drive, is_caught: bool) -> None:
    seen = []

    async def method() -> str:
        current = asyncio.current_task()
        assert current is not None
        asyncio.get_running_loop().call_later(0.01, current.cancel)
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            if not is_caught:
                raise
        return "survived"

    if is_caught:
        assert drive(method()) == "survived"
    else:
        with pytest.raises(asyncio.CancelledError):
            drive(method())
    assert seen == ["cancelled"]


def test_generators_are_closed_and_finally_blocks_run(drive: Drive) -> None:
    ended = []

    async def numbers() -> Any:
        try:
            for number in range(9):
                await asyncio.sleep(0)
                yield number
        finally:
            ended.append(True)

    async def method() -> list[int]:
        found = []
        async for number in numbers():
            found.append(number)
        return found

    assert drive(method()) == list(range(9))
    assert ended == [True]


def test_a_coroutine_that_is_never_run_is_closed() -> None:
    async def method() -> None:
        ended.append("never")

    ended: list[str] = []
    Driver(method(), lambda: None).close()
    assert ended == []


def test_suspensions_are_awaited_and_the_rest_is_cpu_time(task: emit.Task, drive: Drive) -> None:
    async def pause() -> None:
        """Be suspended for 50 ms: the pause begins once the event loop runs again."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        loop.call_soon(lambda: (time.sleep(0.05), done.set_result(None)))
        await done

    async def method() -> None:
        await pause()
        began = time.thread_time()
        while time.thread_time() - began < 0.02:
            pass
        await pause()

    began_ns = time.time_ns()
    drive(method())
    assert task.awaits is not None
    stretches = task.awaits.take()
    awaited = sum(stretch[2] for stretch in stretches)
    assert 100 * MS <= awaited <= time.time_ns() - began_ns - 20 * MS
    assert all(began_ns <= begin <= end for begin, end, _, _ in stretches)
    cpu_ns = task.cpu_ns()
    assert cpu_ns is not None
    assert cpu_ns >= 20 * MS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time in ns, to be set."""
    now = [1_000 * MS]
    monkeypatch.setattr("rayscope.tracer.awaits._time_ns", lambda: now[0])
    return now


def _started(clock: list[int]) -> Awaits:
    awaits = Awaits()
    awaits.start(clock[0], clock[0])
    return awaits


def test_a_reference_that_is_awaited_meanwhile_counts_once(clock: list[int]) -> None:
    awaits = _started(clock)
    awaits.suspend(1)
    awaits.ref_awaited(clock[0])
    awaits.ref_awaited(clock[0])
    clock[0] += 10 * MS
    awaits.ref_ready()
    clock[0] += 10 * MS
    awaits.ref_ready()  # 20 ms for both
    assert awaits.open_since(clock[0]) == 0
    clock[0] += 30 * MS
    awaits.resume()
    assert awaits.take() == [[clock[0] - 30 * MS, clock[0], 30 * MS, 1]]


def test_any_number_of_suspensions_becomes_a_few_stretches_of_the_same_sum(clock: list[int]) -> None:
    awaits = _started(clock)
    for number in range(5_000):
        clock[0] += (number % 7) * MS
        awaits.suspend(1)
        clock[0] += MS * (1 + number % 3) // 2
        awaits.resume()
    stretches = awaits.take()
    assert len(stretches) <= MAX_STRETCHES + 1
    assert sum(awaited for _, _, awaited, _ in stretches) == sum(MS * (1 + n % 3) // 2 for n in range(5_000))
    assert sum(times for *_, times in stretches) == 5_000
    assert all(0 < awaited <= end - begin for begin, end, awaited, _ in stretches)


def test_a_suspension_that_was_reported_while_it_lasted_keeps_its_begin(clock: list[int]) -> None:
    awaits = _started(clock)
    awaits.suspend(1)
    since = clock[0]
    clock[0] += 5_000 * MS
    assert awaits.open_since(clock[0] - 1_000 * MS) == since
    assert awaits.mark_open(since)
    assert awaits.open_since(clock[0]) == 0
    clock[0] += MS
    assert awaits.resume()
    assert awaits.take_part(clock[0]) == [[since, clock[0], 5_001 * MS, 1]]
    clock[0] += MS
    awaits.suspend(1)
    clock[0] += MS
    assert not awaits.resume()
