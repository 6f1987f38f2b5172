"""Annotations where nothing records: they do nothing, and change nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import rayscope


def test_without_a_tracer_they_do_nothing() -> None:
    rayscope.annotate(model="resnet", epoch=3)
    rayscope.counter("loss", 0.25)
    with rayscope.span("load", shard=7) as entered:
        assert isinstance(entered, rayscope.span)


def test_a_span_around_a_function_changes_nothing_else() -> None:
    @rayscope.span("work")
    def work(number: int, *, twice: bool = False) -> int:
        """Its own words."""
        if number < 0:
            raise ValueError(number)
        return 2 * number if twice else number

    @rayscope.span("turn")
    async def turn() -> str:
        return "done"

    assert work(3, twice=True) == 6
    assert work.__doc__ == "Its own words."
    with pytest.raises(ValueError, match="-1"):
        work(-1)
    # In a thread of its own: a browser's test before this one leaves a loop running in this thread.
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, turn()).result() == "done"


def test_it_costs_a_process_without_ray_nothing_of_ray() -> None:
    code = (
        "import sys, rayscope; rayscope.annotate(a=1); "
        "print([m for m in ('ray', 'duckdb', 'pyarrow', 'msgspec', 'fastapi') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
