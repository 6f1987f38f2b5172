"""Parsing a text from users or clusters takes time in proportion to its length, whatever it contains."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable

import pytest

from rayscope.cluster.logs.lines import read_lines, split_lines
from rayscope.cluster.placement.reservations import reservation
from rayscope.ray.agents.drops import PREFIX, parse_drops
from rayscope.ray.agents.logs import read_name
from rayscope.ray.common import clean_error, redact_runtime_env, redact_text
from rayscope.ray.prometheus_text import TextReader
from rayscope.views.stack.dump import parse_dump

LONG = 100_000
SHORT = LONG // 8
#: A linear function takes 8 times as long for the long text, a quadratic one 64 times. Both are measured on
#: the same machine. Other programs can only make a measurement longer, so the shortest of several counts.
MOST_TIMES = 30
#: That is fast enough, and cannot be measured well.
SHORT_S = 0.02
BEGINNINGS = (
    "",
    "s3://x?",
    '{"level": "',
    "a{",
    "X_group_",
    "[",
    "worker-",
    ':job_id: "',
    "2026-11-22 07:13:29 ",
)
REPEATED = (
    *("\x1b", "\x1b[", "\x1b[0;", "token", "?token", "&sig=", "?a-", "://", "://a", "s3://x?tokentoken"),
    *("@", "a", "_", "-", "/", " ", "  ", "1", "1 ", ".", ":1", " (", "(", ")", '"', '\\"', "\\", "é"),
    *("{", "}", '{a="', 'a="b",', "[", "]", "_total", "_group_", "_group_1", "worker-", "Error", "m"),
    *('consumer="', '"level": ', '"level": "', "0a", "://git@", "x=y&", "?", "&", ": ", "a:1 - "),
)


def prometheus(text: str) -> None:
    TextReader().read(text)


def log_lines(text: str) -> None:
    list(read_lines(split_lines(text.encode(), 0)))


def drops(text: str) -> None:
    parse_drops([PREFIX + text], "agent", 0)


def runtime_env(text: str) -> None:
    redact_runtime_env(json.dumps({"working_dir": text, "env_vars": {text: text}}))


def resources(text: str) -> None:
    reservation(json.dumps({text + "_group_" + "1" * 5000 + "_" + "a" * 36: 1.0}))


def dump(text: str) -> None:
    """Its lines are cut; here they become longer with the text."""
    piece = text[: len(text) // 50]
    lines = [f'Thread 0x1 (active): "{piece}"', f"    f{piece} (a:1)", f"    f ({piece}:1)", f"    f{piece})"]
    parse_dump("Process 1: x\nThread 0x1 (idle)\n" + "\n".join(lines * 12))


def cpu_s(function: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    function(text)
    return time.thread_time() - start


@pytest.mark.parametrize(
    "function",
    [clean_error, redact_text, runtime_env, log_lines, drops, read_name, prometheus, resources, dump],
)
def test_time_is_linear(function: Callable[[str], object]) -> None:
    for beginning, repeated in itertools.product(BEGINNINGS, REPEATED):

        def text(length: int) -> str:
            return beginning + repeated * (length // len(repeated))

        long_s = cpu_s(function, text(LONG))
        if long_s > SHORT_S:
            short_s = min(cpu_s(function, text(SHORT)) for _ in range(3))
            if long_s >= MOST_TIMES * short_s:
                long_s = min(cpu_s(function, text(LONG)) for _ in range(5))
            assert long_s < MOST_TIMES * short_s, (beginning, repeated, short_s, long_s)
