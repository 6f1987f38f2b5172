"""The collectors' threads: few, shared, and replaced where one is stuck."""

from __future__ import annotations

import threading

from tests.waiting import TIMEOUT_S, wait_until

from rayscope.metrics.pool import CollectorPool


def test_threads_are_shared_and_bounded() -> None:
    pool = CollectorPool(2)
    used: list[int] = []
    together = threading.Barrier(2, timeout=TIMEOUT_S)

    def run() -> None:
        together.wait()
        used.append(threading.get_ident())

    for number in range(8):
        pool.submit(number, "test", run)
    wait_until(lambda: len(used) == 8, "the jobs")
    assert len(set(used)) == 2
    pool.close()
    assert not any(thread.ident in used for thread in threading.enumerate())


def test_a_stuck_job_costs_no_other_job_a_thread() -> None:
    pool = CollectorPool(1)
    stuck, released, done = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        stuck.set()
        released.wait(TIMEOUT_S)

    pool.submit("hanging", "hanging", hang)
    assert stuck.wait(TIMEOUT_S)
    pool.submit("next", "next", done.set)
    assert not done.wait(0.1)
    pool.release("hanging")
    assert done.wait(TIMEOUT_S)
    assert any(thread.name == "rayscope-collect-hanging" for thread in threading.enumerate())
    released.set()
    wait_until(
        lambda: not any(thread.name == "rayscope-collect-hanging" for thread in threading.enumerate()),
        "it",
    )
    pool.close()


def test_a_job_that_raises_leaves_its_thread_to_the_others() -> None:
    pool = CollectorPool(1)
    done = threading.Event()

    def fail() -> None:
        raise SystemExit

    pool.submit("failing", "failing", fail)
    pool.submit("next", "next", done.set)
    assert done.wait(TIMEOUT_S)
    pool.close()
