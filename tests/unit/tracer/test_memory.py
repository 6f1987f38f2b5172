"""The peak memory of tasks, measured in this process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rayscope.tracer import emit, memory
from rayscope.tracer.emit import Task, state

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel measures it")
MB = 1_000_000
#: By how much the size of this process may change on its own.
SLACK = 10 * MB


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    state.tasks.clear()
    state.shares, state.meter = False, None


def begin(name: bytes) -> Task:
    task = Task(name, 0, 1)
    task.begin()
    return task


def end(task: Task) -> list[int]:
    task.end()
    return task.memory()


def allocate(size: int) -> None:
    data = bytearray(size)
    data[::4096] = bytes(len(data[::4096]))


def test_a_task_shows_its_own_peak_and_not_that_of_the_one_before() -> None:
    large = begin(b"large")
    allocate(200 * MB)
    scope, peak, start = end(large)
    assert scope == memory.OWN
    assert peak - start == pytest.approx(200 * MB, abs=SLACK)
    small = begin(b"small")
    scope, peak, start = end(small)
    assert scope == memory.OWN
    assert peak - start < SLACK


def test_tasks_beside_each_other_share_their_peak() -> None:
    first = begin(b"first")
    allocate(100 * MB)
    second = begin(b"second")  # forgets the peak, which belongs to the first
    second_peaks = end(second)
    assert end(first)[:2] == [memory.SHARED, first.peak_memory]
    assert first.peak_memory - first.start_memory == pytest.approx(100 * MB, abs=SLACK)
    assert second_peaks[0] == memory.SHARED
    assert second_peaks[1] - second_peaks[2] < SLACK


def test_tasks_that_begin_at_once_know_of_each_other() -> None:
    both = threading.Barrier(2)

    def run(name: bytes) -> list[list[int]]:
        measured = []
        for _ in range(200):
            both.wait()
            task = begin(name)
            both.wait()
            measured.append(end(task))
        return measured

    with ThreadPoolExecutor(2) as threads:
        scopes = {numbers[0] for found in threads.map(run, (b"one", b"two")) for numbers in found}
    assert scopes == {memory.SHARED}


def test_the_peak_of_the_program_before_python_is_not_that_of_a_task() -> None:
    meter = memory.Meter()
    meter._floor = 2**60
    assert 0 < meter.peak() < 2**60
    assert meter.peak() == pytest.approx(memory.Meter().peak(), abs=SLACK)


def test_why_memory_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_TRACE_MEMORY", "0")
    assert end(begin(b"off")) == [memory.OFF]
    monkeypatch.delenv("RAYSCOPE_TRACE_MEMORY")
    state.meter = None

    def refused(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(memory.os, "open", refused)
    assert end(begin(b"refused")) == [memory.UNAVAILABLE]


def test_a_forked_process_does_not_use_its_parents_meter() -> None:
    begin(b"parent")
    emit.reset_after_fork()
    assert state.meter is None
