"""Tasks that run again and again: they survive errors, can be woken, and end when they are stopped."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.periodic import PeriodicTask


def test_an_error_is_logged_and_the_task_continues(caplog: pytest.LogCaptureFixture) -> None:
    calls = []

    def run() -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            raise ValueError("odd")

    with caplog.at_level(logging.ERROR, "rayscope"):
        task = PeriodicTask("rayscope-test", 0.01, run)
        task.start()
        wait_until(lambda: len(calls) > 3, "calls after the error")
        task.stop()
    assert not task.is_alive
    assert "odd" in caplog.text
    assert "rayscope-test" in caplog.text


def test_the_first_call_waits_unless_it_comes_at_once() -> None:
    calls: list[str] = []
    later = PeriodicTask("rayscope-later", 60, lambda: calls.append("later"))
    at_once = PeriodicTask("rayscope-at-once", 60, lambda: calls.append("at once"), at_once=True)
    later.start()
    at_once.start()
    wait_until(lambda: bool(calls), "the first call")
    later.stop()
    at_once.stop()
    assert calls == ["at once"]


def test_it_can_be_woken_and_chooses_its_next_run() -> None:
    times: list[float] = []

    def run() -> float:
        times.append(time.monotonic())
        return 0.01 if len(times) == 2 else 60

    task = PeriodicTask("rayscope-test", 60, run)
    task.start()
    task.wake()
    wait_until(lambda: len(times) == 1, "the call")
    task.wake()
    wait_until(lambda: len(times) == 3, "two more")
    task.stop()
    assert len(times) == 3


def test_stop_interrupts_what_runs_and_joins() -> None:
    began, released = threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        released.wait(TIMEOUT_S)

    task = PeriodicTask("rayscope-test", 60, run, at_once=True)
    task.start()
    assert began.wait(TIMEOUT_S)
    task.stop(interrupt=released.set)
    assert not task.is_alive


def test_a_task_can_end_itself() -> None:
    task = PeriodicTask("rayscope-test", 0.01, lambda: task.stop())
    task.start()
    wait_until(lambda: not task.is_alive, "the end")
