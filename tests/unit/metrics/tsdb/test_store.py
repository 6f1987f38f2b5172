"""The store of series: what was appended is selected, from memory, from disk and across both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.metrics.promql.evaluate import evaluate
from rayscope.metrics.tsdb import file as tsdb_file
from rayscope.metrics.tsdb.ring import STALE, Ring
from rayscope.metrics.tsdb.store import Matcher, SeriesStore
from rayscope.model.metric import Family, Labels, sample
from rayscope.storage.errors import BadQuery
from rayscope.storage.interruption import Abandoned, Work, working

S = 10**9
T0 = 1_700_000_040 * S  # the beginning of a minute
HOUR = 3600 * S


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 3), st.floats(-1e6, 1e6)), min_size=1, max_size=120
    ),
    st.integers(2, 8),
)
def test_a_ring_holds_the_newest_times_in_whatever_order_they_come(
    puts: list[tuple[int, int, float]], size: int
) -> None:
    ring = Ring(size)
    series = [ring.add() for _ in range(4)]
    known: dict[int, dict[int, float]] = {}
    for time, which, value in puts:
        if time not in known:
            if len(known) == size:
                if time < min(known):
                    continue
                del known[min(known)]
            known[time] = {}
        known[time][which] = value
        ring.put(time, np.array([series[which]]), np.array([value]))
    for which in range(4):
        expected = [(time, row[which]) for time, row in sorted(known.items()) if which in row]
        assert points(ring, series[which], 0, 100) == expected
        assert points(ring, series[which], 10, 20) == [each for each in expected if 10 <= each[0] <= 20]


def points(ring: Ring, index: int, start: int, end: int) -> list[tuple[int, float]]:
    times, values, there = ring.read(np.array([index]), start, end)
    return list(zip(times[there[0]].tolist(), values[0, there[0]].tolist(), strict=True))


def test_a_ring_distinguishes_an_end_from_nothing_and_frees_room() -> None:
    ring = Ring(3)
    one, two = ring.add(), ring.add()
    ring.put(1, np.array([one, two]), np.array([1.0, 2.0]))
    ring.put(2, np.array([one]), np.array([STALE]))
    times, values, there = ring.read(np.array([one, two]), 0, 9)
    assert times.tolist() == [1, 2]
    assert there.tolist() == [[True, True], [True, False]]
    assert values[:, 0].tolist() == [1, 2]
    assert np.isnan(values[0, 1])
    ring.drop(one)
    assert ring.add() == one
    assert not ring.read(np.array([one]), 0, 9)[2].any()


def fill(store: SeriesStore, steps: int, *, first: int = 0, flush_every: int = 0) -> None:
    for step in range(first, first + steps):
        store.append(
            T0 + step * 5 * S,
            [
                sample("load", step + 100 * node, node_id=f"n{node}", zone="a" if node % 2 else "b")
                for node in range(3)
            ]
            + [sample("done_total", step)],
            source="test",
            families=[Family("load", "gauge", "Load.", "percent"), Family("done_total", "counter")],
        )
        if flush_every and step % flush_every == 0:
            assert store.flush()


def test_matchers_choose_series_and_count_the_others() -> None:
    store = SeriesStore()
    fill(store, 4)
    end = T0 + HOUR

    def chosen(*matchers: Matcher, max_series: int = 10) -> list[str]:
        return [s.labels["node_id"] for s in store.select("load", matchers, T0, end, max_series).series]

    assert chosen() == ["n0", "n1", "n2"]
    assert chosen(Matcher("zone", "=", "b")) == ["n0", "n2"]
    assert chosen(Matcher("zone", "!=", "b")) == ["n1"]
    assert chosen(Matcher("node_id", "=~", "n[01]"), Matcher("zone", "=", "a")) == ["n1"]
    assert chosen(Matcher("node_id", "=~", "n")) == []  # anchored at both ends
    assert chosen(Matcher("node_id", "!~", ".*[12]")) == ["n0"]
    assert chosen(Matcher("absent", "=", "")) == ["n0", "n1", "n2"]
    selected = store.select("load", [], T0 + 5 * S, T0 + 10 * S, 2)
    assert selected.left_out == 1
    assert selected.series[1].values.tolist() == [101, 102]
    assert selected.series[1].times_ns.tolist() == [T0 + 5 * S, T0 + 10 * S]
    with pytest.raises(BadQuery, match="Invalid pattern"):
        chosen(Matcher("zone", "=~", "("))
    assert store.names() == ["done_total", "load"]
    assert store.labels("load") == {"node_id": 3, "zone": 2}
    assert store.all_labels(["load", "done_total"]) == {"load": {"node_id": 3, "zone": 2}, "done_total": {}}
    assert store.label_values("node_id", ["load", "done_total"]) == ["n0", "n1", "n2"]
    assert store.label_values("absent", store.names()) == []
    store.append(end, [sample("fresh", 1, node_id="n0")], source="test")
    assert store.all_labels(["load", "fresh"])["fresh"] == {"node_id": 1}
    assert store.families()["load"] == Family("load", "gauge", "Load.", "percent", "test")


def test_a_series_that_its_source_no_longer_reports_has_ended() -> None:
    store = SeriesStore()
    store.append(T0, [sample("up", 1, node="a"), sample("up", 1, node="b")], source="s")
    store.append(T0, [sample("other", 1)], source="t")
    store.append(T0 + 5 * S, [sample("up", 1, node="a"), sample("nan", float("nan"))], source="s")
    ended = store.select("up", [Matcher("node", "=", "b")], T0, T0 + HOUR).series[0]
    assert ended.times_ns.tolist() == [T0, T0 + 5 * S]
    assert np.isnan(ended.values[1])
    assert [(each.name, each.labels) for each in store.latest()] == [("other", {}), ("up", {"node": "a"})]
    store.append(T0 + 10 * S, [sample("up", 2, node="b")], source="s")
    assert [each.labels for each in store.latest(["up"])] == [{"node": "b"}]


def test_more_series_than_there_is_room_for_are_counted_and_room_comes_back() -> None:
    store = SeriesStore(step_s=5, full_s=50, max_series=3)
    assert store.append(T0, [sample("m", 1, pid=str(pid)) for pid in range(5)], source="s") == 3
    assert store.left_out == 2
    for step in range(1, 13):
        store.append(T0 + step * 5 * S, [sample("m", 1, pid="0")], source="s")
    assert store.left_out == 0
    later = T0 + 65 * S
    assert store.append(later, [sample("m", 1, pid=str(pid)) for pid in (0, 7, 8)], source="s") == 3
    found = store.select("m", [], later, later).series
    assert [series.labels["pid"] for series in found] == ["0", "7", "8"]


def test_older_samples_come_from_disk_and_a_reader_sees_one_series(tmp_path: Path) -> None:
    path = tmp_path / "metrics.duckdb"
    store = SeriesStore(path, full_s=300)
    fill(store, 200, flush_every=7)
    end = T0 + 199 * 5 * S
    whole = store.select("load", [Matcher("node_id", "=", "n1")], T0, end)
    assert whole.resolution_ns == 5 * S
    assert whole.series[0].values.tolist() == [100 + step for step in range(200)]
    store.close()

    again = SeriesStore(path, full_s=300)  # continues with the same series
    fill(again, 10, first=200)
    again.flush()
    both = again.select("load", [Matcher("node_id", "=", "n1")], T0, end + HOUR)
    assert both.series[0].values.tolist() == [100 + step for step in range(210)]
    assert again.counts() == {"load": 3, "done_total": 1}
    again.close()

    ended = SeriesStore(path, read_only=True)
    assert ended.select("done_total", [], T0, end + HOUR).series[0].values.tolist() == list(range(210))
    assert [(each.name, each.value) for each in ended.latest(["done_total"])] == [("done_total", 209)]
    assert ended.families()["load"].unit == "percent"
    assert ended.newest_ns == T0 + 209 * 5 * S
    assert ended.flush()
    ended.close()


def test_long_ranges_come_in_minutes(tmp_path: Path) -> None:
    store = SeriesStore(tmp_path / "metrics.duckdb", full_s=600)
    fill(store, 720)
    store.close()
    ended = SeriesStore(tmp_path / "metrics.duckdb", read_only=True)
    gauge = [Matcher("node_id", "=", "n0")]
    end = T0 + 7 * HOUR
    selected = ended.select("load", gauge, T0, end)
    assert selected.resolution_ns == 60 * S
    assert selected.series[0].values.tolist() == [12 * minute + 5.5 for minute in range(60)]
    assert selected.series[0].times_ns[0] == T0 + 55 * S
    assert ended.select("load", gauge, T0, end, take="max").series[0].values[0] == 11
    assert ended.select("done_total", [], T0, end).series[0].values[1] == 23
    assert len(ended.select("load", gauge, T0, T0 + HOUR).series[0].values) == 720
    ended.close()


def test_old_samples_are_dropped_their_minutes_stay_and_the_file_does_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "metrics.duckdb"
    store = SeriesStore(path, step_s=60, full_s=600, keep_days=2)
    sizes = []
    for hour in range(24 * 5):
        for minute in range(60):
            at = T0 + hour * HOUR + minute * 60 * S
            store.append(at, [sample("m", hour * minute % 97, node=str(node)) for node in range(5)])
        if hour % 2:
            store.flush()
            sizes.append(path.stat().st_size)
    end = T0 + 120 * HOUR
    times = store.select("m", [Matcher("node", "=", "3")], T0, end).series[0].times_ns
    assert end - 73 * HOUR <= times[0] <= end - 47 * HOUR
    fine = store.select("m", [Matcher("node", "=", "3")], end - 5 * HOUR, end)
    assert len(fine.series[0].values) == 300
    assert sizes[-1] <= 1.3 * sizes[len(sizes) * 3 // 4]
    assert store.counts() == {"m": 5}
    store.close()


def test_a_kill_loses_at_most_what_was_not_flushed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.duckdb"
    script = f"""
import os, signal
from pathlib import Path
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import sample
store = SeriesStore(Path({str(path)!r}))
for step in range(30):
    store.append({T0} + step * 5 * 10**9, [sample("m", step)])
    if step == 24:
        store.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    ended = SeriesStore(path, read_only=True)
    assert ended.problem is None
    assert ended.select("m", [], T0, T0 + HOUR).series[0].values.tolist() == list(range(25))
    ended.close()
    again = SeriesStore(path)
    again.append(T0 + 200 * S, [sample("m", 40)])
    assert again.select("m", [], T0, T0 + HOUR).series[0].values.tolist() == [*range(25), 40]
    again.close()


def test_a_damaged_file_is_set_aside_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "metrics.duckdb"
    path.write_bytes(os.urandom(50_000))
    ended = SeriesStore(path, read_only=True)
    assert ended.problem is not None
    assert ended.problem.code == "corrupt"
    store = SeriesStore(path)
    assert store.problem is None
    assert store.note is not None
    assert "metrics.damaged-" in store.note["message"]
    store.append(T0, [sample("m", 1)])
    assert store.flush()
    assert len(list(tmp_path.glob("metrics.damaged-*.duckdb"))) == 1
    store.close()


def test_while_the_disk_is_full_samples_wait_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.duckdb"
    store = SeriesStore(path, min_free_bytes=1 << 60)
    store.append(T0, [sample("m", 1)])
    assert not store.flush()
    assert store.problem is not None
    assert store.problem.code == "full"
    assert store.select("m", [], T0, T0).series[0].values.tolist() == [1]
    monkeypatch.setattr(store, "_min_free_bytes", 0)
    assert store.flush()
    assert store.problem is None
    store.close()
    ended = SeriesStore(path, read_only=True)
    assert ended.select("m", [], T0, T0).series[0].values.tolist() == [1]
    ended.close()


def test_numbers_given_before_the_file_could_be_opened_do_not_clash(tmp_path: Path) -> None:
    path = tmp_path / "metrics.duckdb"
    first = SeriesStore(path)
    first.append(T0, [sample("old", 1)])
    first.close()
    script = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    store = SeriesStore(path)
    assert store.problem is not None
    assert store.problem.code == "locked"
    store.append(T0 + 5 * S, [sample("new", 2), sample("old", 3)])
    assert not store.flush()
    holder.communicate("\n")
    assert store.flush()
    store.close()
    ended = SeriesStore(path, read_only=True)
    assert ended.select("old", [], T0, T0 + HOUR).series[0].values.tolist() == [1, 3]
    assert ended.select("new", [], T0, T0 + HOUR).series[0].values.tolist() == [2]
    ended.close()


def test_a_file_of_nothing_is_empty(tmp_path: Path) -> None:
    store = SeriesStore(tmp_path / "none.duckdb", read_only=True)
    assert (store.names(), store.latest(), store.newest_ns) == ([], [], 0)
    assert store.select("m", [], 0, T0).series == []
    store.close()


def test_more_samples_are_read_than_duckdb_may_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tsdb_file, "_MEMORY", "16MB")
    file = tsdb_file.MetricsFile(tmp_path / "metrics.duckdb")
    series, times = 100, 10_000
    for begin in range(0, times, 1000):  # as they come: by time
        at = np.repeat(np.arange(begin, begin + 1000), series)
        which = np.tile(np.arange(1, series + 1), 1000)
        file.write([], [], tsdb_file.Points(which, T0 + at * S, which * 1e6 + at))
    found = file.points(list(range(2, series + 1)), T0, T0 + times * S, None)
    assert found.series.tolist() == np.repeat(np.arange(2, series + 1), times).tolist()
    assert (found.values == found.series * 1e6 + (found.times_ns - T0) // S).all()
    assert (np.diff(found.times_ns.reshape(series - 1, times)) > 0).all()
    monkeypatch.setattr(tsdb_file, "MAX_POINTS", 1000)
    with pytest.raises(BadQuery, match="the maximum is"):
        file.points([1], T0, T0 + times * S, None)
    file.close()


def test_too_many_minutes_come_in_longer_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, begin = SeriesStore(tmp_path / "metrics.duckdb", step_s=60, full_s=600), T0 // HOUR * HOUR
    end = begin + 13 * HOUR
    for minute in range(13 * 60):
        samples = [
            sample(name, minute, node=str(node)) for node in range(2) for name in ("load", "done_total")
        ]
        families = [Family("load", "gauge"), Family("done_total", "counter")]
        store.append(begin + minute * 60 * S, samples, families=families)
    store.close()
    ended = SeriesStore(tmp_path / "metrics.duckdb", read_only=True)
    assert ended.select("load", [], begin, end).resolution_ns == 60 * S
    monkeypatch.setattr(tsdb_file, "MAX_POINTS", 200)
    monkeypatch.setattr(tsdb_file, "_COARSE_POINTS", 100)
    coarse = ended.select("load", [], begin, end)
    assert coarse.resolution_ns == 30 * 60 * S
    assert [len(series.values) for series in coarse.series] == [26, 26]
    assert coarse.series[1].values[:2].tolist() == [14.5, 44.5]
    assert coarse.series[0].times_ns[0] == begin + 29 * 60 * S
    assert ended.select("load", [], begin, end, take="min").series[0].values[1] == 30
    assert ended.select("done_total", [], begin, end).series[0].values[0] == 29
    found = evaluate(ended, "load", begin + HOUR, end, 3600 * S)
    assert all(value is not None for _, values in found.series for value in values)
    assert [warning["message"] for warning in found.warnings] == [
        "This range holds so much data that it is sampled every 900 s."
    ]
    grown = evaluate(ended, "increase(done_total[2h])", begin + 3 * HOUR, end - HOUR, 3600 * S)
    assert all(value == pytest.approx(120) for _, values in grown.series for value in values)
    monkeypatch.setattr(tsdb_file, "MAX_POINTS", 1)
    with pytest.raises(BadQuery, match="the maximum is"):
        ended.select("load", [], begin, end)
    ended.close()


@given(
    st.lists(
        st.tuples(
            st.integers(0, 12), st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 2.0])), st.booleans()
        ),
        max_size=12,
    ),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_memory_and_file_together_have_every_sample(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, dict[int, float], bool]],
    begin: int,
    end: int,
) -> None:
    store = SeriesStore(tmp_path_factory.mktemp("s") / "metrics.duckdb", step_s=5, full_s=15)
    expected: dict[str, dict[int, float]] = {}
    for number, (_, values, flush) in enumerate(sorted(steps, key=lambda step: step[0])):
        at = T0 + number * 5 * S
        store.append(at, [sample("m", value, node=str(node)) for node, value in values.items()])
        for node, value in values.items():
            if begin <= number <= end:
                expected.setdefault(str(node), {})[at] = value
        if flush:
            store.flush()
    store.flush()
    found = store.select("m", [], T0 + begin * 5 * S, T0 + end * 5 * S)
    assert {
        series.labels["node"]: dict(zip(series.times_ns.tolist(), series.values.tolist(), strict=True))
        for series in found.series
    } == expected
    store.close()


def test_the_newest_values_are_counted_and_given_so_many() -> None:
    store = SeriesStore()
    fill(store, 2)
    some, total = store.newest(None, 2)
    assert ([each.name for each in some], total) == (["done_total", "load"], 4)
    assert [each.labels["node_id"] for each in store.newest(["load"], 9, [("zone", "b")])[0]] == ["n0", "n2"]
    assert store.newest(["load"], 9, [("absent", "")])[1] == 3
    greatest = evaluate(store, "load", T0, T0 + 5 * S, 5 * S, 2)
    assert [labels["node_id"] for labels, _ in greatest.series] == ["n1", "n2"]
    assert greatest.others == 1


def test_the_series_of_a_range_come_from_memory_and_disk(tmp_path: Path) -> None:
    """An hour, of which memory has the last minute. Each series lives for ten minutes."""
    store = SeriesStore(tmp_path / "metrics.duckdb", step_s=5, full_s=60)
    for second in range(0, 3600, 5):
        store.append(T0 + second * S, [sample("load", 1, part=str(second // 600))], source="test")
        if second % 300 == 0:
            store.flush()
    store.flush()

    def parts(begin: int, end: int, source: SeriesStore = store) -> list[str]:
        found: set[Labels] = set()
        for name, series in source.series_between(["load", "nothing"], T0 + begin * S, T0 + end * S):
            assert name == "load"
            found |= series
        return sorted(dict(labels)["part"] for labels in found)

    expected = {
        (0, 3600): list("012345"),
        (0, 30): ["0"],
        (700, 1300): ["1", "2"],
        (3595, 9000): ["5"],
        (-90, -30): [],
    }
    assert {span: parts(*span) for span in expected} == expected
    work = Work()
    work.abandon()
    with working(work), pytest.raises(Abandoned):
        parts(0, 3600)
    assert parts(3600, 9000) == []
    store.close()
    ended = SeriesStore(tmp_path / "metrics.duckdb", step_s=5, read_only=True)
    assert {span: parts(*span, ended) for span in expected} == expected
    ended.close()
    memory = SeriesStore(step_s=5)
    memory.append(T0, [sample("load", 1, part="0")])
    assert (parts(0, 0, memory), parts(1, 9, memory)) == (["0"], [])
