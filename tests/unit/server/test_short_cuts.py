"""What is answered by a shorter way is what the longer way tells."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import msgspec
import pytest
from tests.story import DRIVER, JOB, Story, at
from tests.unit.server.conftest import Running

from rayscope.model import Edge
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import data_edges
from rayscope.storage.sql.execution import CREATED, END, REACHED
from rayscope.views.flame import sql as flame_sql
from rayscope.views.gantt import sql as gantt_sql
from rayscope.views.logical import laid_out_sql
from rayscope.views.logical import sql as logical_sql

LAST_NS = at(10_000)
OTHER_JOB = "02000000"
ACTOR = "c" * 24
FUNCTIONS = ("load", "clean", "train", "Store.put", "Store.__init__")
FILTERS: tuple[dict[str, Any], ...] = (
    *({"func_name": name} for name in FUNCTIONS),
    {"name": "LOA"},
    {"name": "store"},
    {"name": "nothing is called so"},
    {"job_id": JOB},
    {"job_id": OTHER_JOB},
    {"type": "NORMAL_TASK"},
    {"type": "DRIVER_TASK"},
    {"since_ns": at(-1)},
    {"since_ns": at(-1), "until_ns": LAST_NS},
    {"since_ns": at(300), "until_ns": at(600)},
    {"func_name": "load", "job_id": JOB},
    {"state": "FAILED"},
    {"node_id": "a" * 56},
)


def _story(seed: int, tasks: int = 120, *, is_mixed: bool = False) -> Story:
    """Tasks that call, wait for and give values to each other. ``is_mixed``: some attempts of a task are
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


@pytest.mark.parametrize(("seed", "is_mixed"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_filter_that_leaves_whole_functions_is_answered_from_the_sums_of_all(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, seed: int, is_mixed: bool
) -> None:
    monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", 0)

    def check(file: SessionFile) -> None:
        rows = logical_sql.logical_rows(file, {}, last_ns=LAST_NS)
        paths = flame_sql.path_sums(file, {}, last_ns=LAST_NS)
        # As they are kept.
        rows = msgspec.json.decode(msgspec.json.encode(rows), type=logical_sql.LogicalRows)
        paths = msgspec.json.decode(msgspec.json.encode(paths), type=flame_sql.PathSums)
        told = set()
        for filters in FILTERS:
            few = logical_sql.logical_part(file, filters, rows)
            if few is not None:
                told.add(("logical", repr(filters)))
                assert _sorted(few) == _sorted(logical_sql.logical_rows(file, filters, last_ns=LAST_NS)), (
                    filters
                )
            some = flame_sql.path_part(file, filters, paths)
            if some is not None:
                told.add(("paths", repr(filters)))
                assert _sorted(some) == _sorted(flame_sql.path_sums(file, filters, last_ns=LAST_NS)), filters
        whole = [{"since_ns": at(-1), "until_ns": LAST_NS}]
        whole += [] if is_mixed else [{"func_name": "load"}, {"name": "store"}, {"type": "NORMAL_TASK"}]
        assert {("logical", repr(filters)) for filters in whole} <= told
        assert is_mixed or ("paths", repr({"func_name": "load"})) in told
        for filters in ({"job_id": JOB}, {"node_id": "a" * 56}, {"since_ns": at(300), "until_ns": at(600)}):
            assert ("logical", repr(filters)) not in told

    _read(fresh, _story(seed, is_mixed=is_mixed), check)


@pytest.mark.parametrize(("seed", "is_mixed"), [(1, False), (3, True)])
def test_what_is_laid_out_tells_of_filters_what_attempts_tell(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, seed: int, is_mixed: bool
) -> None:
    filters_of = (
        *FILTERS,
        {"state": "FAILED,FINISHED"},
        {"state": "NIL"},
        {"node_id": "d" * 56, "job_id": JOB},
        {"func_name": "Store.put", "node_id": "a" * 56},
        {"annotation": "step"},
        {"node_id": "a" * 56, "since_ns": at(300), "until_ns": at(600), "type": "ACTOR_TASK"},
    )

    def check(file: SessionFile) -> None:
        assert laid_out_sql.logical_laid_out(file, {"job_id": JOB}, LAST_NS) is None
        laid_out_sql.lay_out(file, LAST_NS)
        assert laid_out_sql.is_laid_out(file, LAST_NS)
        assert not laid_out_sql.is_laid_out(file, LAST_NS + 1)
        told = 0
        for filters in filters_of:
            for exact in (0, 10**9):
                monkeypatch.setattr(logical_sql, "EXACT_QUANTILES", exact)
                found = laid_out_sql.logical_laid_out(file, filters, LAST_NS)
                assert (found is not None) == laid_out_sql.can_lay_out(filters)
                if found is not None:
                    expected = logical_sql.logical_rows(file, filters, last_ns=LAST_NS)
                    assert _sorted(found) == _sorted(expected), filters
                    told += len(expected.data) > 0
        assert told > 24

    _read(fresh, _story(seed, is_mixed=is_mixed), check)

    def check_later(file: SessionFile) -> None:
        assert not laid_out_sql.is_laid_out(file, LAST_NS)
        monkeypatch.setattr(data_edges, "MAX_EDGE_ROWS", 100)
        check(file)

    _read(fresh, _story(seed + 10, is_mixed=is_mixed), check_later)


def test_what_is_laid_out_anew_meanwhile_is_not_told(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    methods_of, later = logical_sql.methods_of, LAST_NS + 1

    def check(file: SessionFile) -> None:
        def meanwhile(*values: Any) -> Any:
            laid_out_sql.lay_out(file, later)
            return methods_of(*values)

        laid_out_sql.lay_out(file, LAST_NS)
        filters = {"state": "FINISHED"}
        expected = laid_out_sql.logical_laid_out(file, filters, LAST_NS)
        assert expected is not None
        with monkeypatch.context() as during:
            during.setattr(logical_sql, "methods_of", meanwhile)
            assert laid_out_sql.logical_laid_out(file, filters, LAST_NS, is_live=True) is None
        assert _sorted(laid_out_sql.logical_laid_out(file, filters, later)) == _sorted(expected)

    _read(fresh, _story(1), check)


def test_data_edges_are_the_same_whichever_end_is_looked_for_first(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(file: SessionFile) -> None:
        for filters in FILTERS:
            found = []
            for few, many in ((0, 0), (10**9, 10**9), (10**9, 0)):
                monkeypatch.setattr(data_edges, "FEW", few)
                monkeypatch.setattr(data_edges, "MANY", many)
                rows = logical_sql.logical_rows(file, filters, last_ns=LAST_NS, expand=["Store"])
                found.append(_sorted(rows.data))
            assert found[0] == found[1] == found[2], filters
            if filters in ({"func_name": "load"}, {"state": "FAILED"}, {"since_ns": at(-1)}):
                assert found[0]

    _read(fresh, _story(6, is_mixed=True), check)


def _expected(rows: list[tuple[Any, ...]], grain: int, most: int) -> tuple[int, set[tuple[Any, ...]]]:
    """The resolution and the bars of attempts (lane, begin, end, failed), merged one after the other."""
    while True:
        merged: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for number, (lane, begin, end, failed) in enumerate(rows):
            is_short = end - begin < 2 * grain
            merged[(lane, begin // grain if is_short else None, None if is_short else number)].append(
                (begin, end, failed)
            )
        if len(merged) <= most:
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

    def check(file: SessionFile, most: int, since: int | None) -> None:
        monkeypatch.setattr(gantt_sql, "MAX_BARS", most)
        with file.reader() as reader:
            rows = reader.execute(
                f"SELECT {lane}, {begin}, greatest(coalesce({END}, {LAST_NS}), {begin}) AS ended, "
                f"failed_ns IS NOT NULL FROM attempts WHERE ended >= {at(since or 0)}"
            ).fetchall()
        frame = gantt_sql.frame(file, {}, by="worker", lanes_from=0, lanes=500, last_ns=LAST_NS, levels=30)
        found = gantt_sql.picture(
            file,
            {} if since is None else {"since_ns": at(since)},
            by="worker",
            width=1600,
            last_ns=LAST_NS,
            extent=(frame.origin_ns, frame.end_ns),
            lanes=[one["lane"] for one in frame.lanes],
            lanes_total=frame.lanes_total,
            levels=30,
        )
        begin_ns = frame.origin_ns if since is None else at(since)
        grain, bars = _expected(rows, gantt_sql.resolution(frame.end_ns - begin_ns, 1600), most)
        assert found.resolution_ns == grain
        assert {
            (
                bar["lane"],
                bar["begin"] + frame.origin_ns,
                bar["end"] + frame.origin_ns,
                *(bar[name] for name in ("count", "busy", "failed")),
            )
            for bar in found.bars
        } == bars
        assert (found.in_window, found.left_out) == (len(rows), 0)

    def check_all(file: SessionFile) -> None:
        for most in (6, 25, 60, 10_000):
            for since in (None, 400):
                check(file, most, since)

    _read(fresh, _story(7, 300), check_all)
