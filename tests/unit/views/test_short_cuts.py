"""Short cuts return the same answers as the full computation."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, Story, at

from rayscope.model import Edge
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import data_edges
from rayscope.storage.sql.execution import CREATED, END, REACHED
from rayscope.storage.sql.filters import TaskFilters
from rayscope.views.gantt import sql as gantt_sql
from rayscope.views.logical import sql as logical_sql

LAST_NS = at(10_000)
OTHER_JOB = "02000000"
ACTOR = "c" * 24
FUNCTIONS = ("load", "clean", "train", "Store.put", "Store.__init__")
FILTERS: tuple[TaskFilters, ...] = (
    *(TaskFilters(func_name=name) for name in FUNCTIONS),
    TaskFilters(name="LOA"),
    TaskFilters(name="store"),
    TaskFilters(name="nothing is called so"),
    TaskFilters(job_id=JOB),
    TaskFilters(job_id=OTHER_JOB),
    TaskFilters(type="NORMAL_TASK"),
    TaskFilters(type="DRIVER_TASK"),
    TaskFilters(since_ns=at(-1)),
    TaskFilters(since_ns=at(-1), until_ns=LAST_NS),
    TaskFilters(since_ns=at(300), until_ns=at(600)),
    TaskFilters(func_name="load", job_id=JOB),
    TaskFilters(state="FAILED"),
    TaskFilters(node_id="a" * 56),
)


def _story(seed: int, tasks: int = 120, *, is_mixed: bool = False) -> Story:
    """Tasks that call, wait for and pass values to each other. ``is_mixed``: some attempts of a task are
    called otherwise than its first, and some by no name.
    """
    drawn, story = random.Random(seed), Story()
    made: list[str] = []
    for number in range(tasks):
        name = drawn.choice(FUNCTIONS)
        begin = drawn.uniform(0, 1000)
        ended = begin + drawn.expovariate(1 / drawn.choice((1, 30, 300)))
        how: dict[str, Any] = {
            "parent": drawn.choice([DRIVER, *made]),
            "actor": ACTOR if name.startswith("Store") else None,
            "worker": drawn.choice("bcd") * 56,
            "node": drawn.choice("ad") * 56,
            "job": drawn.choice((JOB, JOB, OTHER_JOB)),
        }
        task = story.task(name, begin - 1, begin, drawn.choice((ended, ended, None)), **how)
        if number % 7 == 0:
            story.batch.attempts[-1].states.pop("RUNNING")
        if number % 5 == 0:
            again = drawn.choice(FUNCTIONS) if is_mixed else name
            story.task(
                again, ended, ended + 1, ended + 9, task_id=task, attempt=1, failed=number % 2 > 0, **how
            )
        if is_mixed and number % 11 == 0:
            story.batch.attempts[-1].func_name = story.batch.attempts[-1].name = None
        if made:
            given = drawn.choice(made)
            story.argument(task, given, number)
            story.get(task, drawn.sample(made, min(2, len(made))), begin, begin + drawn.uniform(0, 20))
            put = "01" + given[2:]
            story.batch.edges.append(Edge(given, 0, "put", put, 100_000_001, 50, at(begin), at(begin)))
            story.batch.edges.append(Edge(task, 0, "get", put, 100_000_001, None, at(begin), at(begin + 1)))
        story.get(DRIVER, task, begin, ended)
        made.append(task)
    for job in (JOB, OTHER_JOB):
        story.entity("actor", ACTOR + job, 0, class_name="Store")
    return story


def _read(running: Running, story: Story, function: Any) -> None:
    running.record(story)
    assert running.server.services is not None
    services = running.server.services
    services.records.read(services.records.resolve(None), function)


def _sorted(value: Any) -> Any:
    """Whatever the order in which rows came."""
    if isinstance(value, (list, tuple, set)):
        return sorted((_sorted(one) for one in value), key=repr)
    return value


@pytest.mark.long
def test_data_edges_are_the_same_whichever_end_is_looked_for_first(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(file: SessionFile) -> None:
        for filters in FILTERS:
            found = []
            for per_answer, per_edge in ((0, 0), (10**9, 10**9), (10**9, 0)):
                monkeypatch.setattr(data_edges, "FEW", per_answer)
                monkeypatch.setattr(data_edges, "MAX_ATTEMPTS_PER_EDGE", per_edge)
                rows = logical_sql.logical_rows(file, filters, last_ns=LAST_NS, expand=["Store"])
                found.append(_sorted(rows.data))
            assert found[0] == found[1] == found[2], filters
            if filters in (
                TaskFilters(func_name="load"),
                TaskFilters(state="FAILED"),
                TaskFilters(since_ns=at(-1)),
            ):
                assert found[0]

    _read(fresh, _story(6, is_mixed=True), check)


def _expected(rows: list[tuple[Any, ...]], grain: int, max_bars: int) -> tuple[int, set[tuple[Any, ...]]]:
    """The resolution and the bars of attempts (lane, begin, end, failed), merged one after the other."""
    while True:
        merged: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for number, (lane, begin, end, failed) in enumerate(rows):
            is_short = end - begin < 2 * grain
            merged[(lane, begin // grain if is_short else None, None if is_short else number)].append(
                (begin, end, failed)
            )
        if len(merged) <= max_bars:
            break
        grain *= 2
    bars = set()
    for (lane, cell, _), those in merged.items():
        end = max(end for _, end, _ in those)
        if len(those) > 1:
            end = min(end, (cell + 1) * grain)
        begin = min(begin for begin, _, _ in those)
        busy = sum(end - begin for begin, end, _ in those)
        bars.add((lane, begin, end, len(those), busy, sum(failed for _, _, failed in those)))
    return grain, bars


def test_bars_are_merged_as_if_one_by_one(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = f"CASE WHEN {REACHED} IS NULL THEN '{gantt_sql.NOT_PLACED}' ELSE worker_id END"
    begin = f"coalesce({REACHED}, {CREATED})"

    def check(file: SessionFile, max_bars: int, since: int | None) -> None:
        monkeypatch.setattr(gantt_sql, "MAX_BARS", max_bars)
        with file.reader() as reader:
            rows = reader.execute(
                f"SELECT {lane}, {begin}, greatest(coalesce({END}, {LAST_NS}), {begin}) AS ended, "
                f"failed_ns IS NOT NULL FROM attempts WHERE ended >= {at(since or 0)}"
            ).fetchall()
        extent = gantt_sql.extent(
            file, TaskFilters(), by="worker", lanes_from=0, lanes=500, last_ns=LAST_NS, levels=30
        )
        found = gantt_sql.window_bars(
            file,
            TaskFilters(since_ns=None if since is None else at(since)),
            by="worker",
            width=1600,
            last_ns=LAST_NS,
            extent=(extent.origin_ns, extent.end_ns),
            lanes=[one["lane"] for one in extent.lanes],
            lanes_total=extent.lanes_total,
            levels=30,
        )
        begin_ns = extent.origin_ns if since is None else at(since)
        grain, bars = _expected(rows, gantt_sql.resolution(extent.end_ns - begin_ns, 1600), max_bars)
        assert found.resolution_ns == grain
        assert {
            (
                bar["lane"],
                bar["begin"] + extent.origin_ns,
                bar["end"] + extent.origin_ns,
                *(bar[name] for name in ("count", "busy", "failed")),
            )
            for bar in found.bars
        } == bars
        assert (found.in_window, found.left_out) == (len(rows), 0)

    def check_all(file: SessionFile) -> None:
        for max_bars in (6, 25, 60, 10_000):
            for since in (None, 400):
                check(file, max_bars, since)

    _read(fresh, _story(7, 300), check_all)
