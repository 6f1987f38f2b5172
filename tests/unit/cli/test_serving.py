"""Waiting for Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from rayscope.cli.serving import stop_signals, wait_for_stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_the_wait_whichever_thread_it_reaches(number: signal.Signals) -> None:
    main = threading.get_ident()
    ways: list[Callable[[], object]] = [
        lambda: signal.raise_signal(number),  # before the wait
        threading.Timer(0.1, lambda: signal.pthread_kill(main, number)).start,
        threading.Timer(0.1, lambda: signal.raise_signal(number)).start,  # in another thread: wakes nobody
    ]
    before = signal.getsignal(number)
    for send in ways:
        with stop_signals() as stops:
            send()
            wait_for_stop(stops)
    assert signal.getsignal(number) is before
