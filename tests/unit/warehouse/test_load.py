"""A loaded session answers as its record does, whatever is in it and however often it is loaded."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from tests.unit.warehouse.records import HOSTILE, LAST_NS, make_record, publisher_of

from rayscope.model.attempt import DEFINITION
from rayscope.storage.catalog import Catalog
from rayscope.storage.schema import ENTITY_COLUMNS, ENTITY_VIEWS, TABLE_NAMES
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.load import load
from rayscope.warehouse.news import make_record as make_again
from rayscope.warehouse.views_sql import VIEWS

#: Rayscope's own tables, and those that are computed of several tables.
LEFT_OUT = {"meta", "rollups", "phases", "data_edges", "function_names", "placed_functions"}
#: View -> a column of the record's own: names of functions, which depend on what else is in its session.
OF_RECORDS = {"attempts": "distinct_name", "paths": "full_name"}
VIEWS_OF_RECORDS = [
    *(name for name in TABLE_NAMES if name not in LEFT_OUT),
    *("tasks", "task_states", "annotations", "spans", "samples", "sample_frames"),
    *(view for view, _ in ENTITY_VIEWS.values()),
]


def load_all(warehouse: Warehouse, folder: Path, *, again: bool = False) -> list[str]:
    catalog = Catalog(folder, read_only=True)
    for name in catalog.names():
        load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name), again=again)
    return catalog.names()


def comparable(value: Any) -> Any:
    """A value, comparable: lists are sets, and no list is one of nothing."""
    if isinstance(value, (list, tuple)):
        return sorted(value)
    if isinstance(value, float) and not math.isnan(value):
        return value + 0.0
    return value


@functools.cache
def opened(record: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(record), read_only=True, config={"threads": 1})


def read_record(record: Path, view: str) -> tuple[list[str], list[str]]:
    """The columns of a view, and its rows, in some order."""
    own = "doc" if view.removesuffix("_rows") in ENTITY_COLUMNS else OF_RECORDS.get(view)
    hidden = f" EXCLUDE ({own})" if own else ""
    found = opened(record).execute(f"SELECT *{hidden} FROM {view}")
    names = [column[0] for column in found.description or ()]
    rows = [[comparable(v) for v in row] for row in found.fetchall()]
    if view == "spans":
        blocked = names.index("blocked_on")
        rows = [[*row[:blocked], row[blocked] or [], *row[blocked + 1 :]] for row in rows]
    return names, sorted(map(repr, rows))


def read_warehouse(warehouse: Warehouse, view: str) -> tuple[list[str], dict[str, list[str]]]:
    """The columns of a view, and the rows of each session."""
    found = warehouse.query(f"SELECT * FROM {view}")
    if not found.result_rows:
        raise AssertionError(view)
    assert list(found.column_names[:2]) == ["session", "cluster"]
    rows: dict[str, list[str]] = {}
    for session, _, *row in found.result_rows:
        rows.setdefault(session, []).append(repr([comparable(value) for value in row]))
    return list(found.column_names[2:]), {session: sorted(items) for session, items in rows.items()}


def assert_alike(warehouse: Warehouse, records: list[Path], views: list[str]) -> None:
    for view in views:
        names, found = read_warehouse(warehouse, view)
        for record in records:
            expected_names, expected = read_record(record, view)
            assert names == expected_names, view
            assert found.get(record.parent.name, []) == expected, view


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for number, is_over in enumerate((True, False, True)):
        make_record(folder, f"session_2025-11-2{number}_10-00-00_000000_{number}", number, is_over=is_over)
    return folder


def test_every_table_and_view_answers_as_in_the_record(
    warehouse: Warehouse, data: Path, record: Callable[..., Path], bodies: list[bytes]
) -> None:
    """Checks sessions that have everything, and one recorded from Ray."""
    of_ray = record(bodies)
    load_all(warehouse, of_ray.parent.parent.parent)
    sessions = load_all(warehouse, data)
    assert set(VIEWS_OF_RECORDS) | {"sessions"} == set(VIEWS)
    assert_alike(
        warehouse,
        [of_ray, *(data / "sessions" / name / "record.duckdb" for name in sessions)],
        VIEWS_OF_RECORDS,
    )


def test_no_column_is_unknown_everywhere(data: Path) -> None:
    """Else the test above would compare nothing with nothing."""
    empty = set()
    for view in VIEWS_OF_RECORDS:
        db = opened(next(data.glob("sessions/*0/record.duckdb")))
        names = [row[0] for row in db.execute(f"DESCRIBE {view}").fetchall()]
        counted = ", ".join(f"count({name})" for name in names)
        (counts,) = db.execute(f"SELECT {counted} FROM {view}").fetchall()
        empty |= {f"{view}.{name}" for name, count in zip(names, counts, strict=True) if not count}
    # Jobs that have an alias are not shown.
    assert empty == {"jobs.alias_of", *(f"{view}.{name}" for view, name in OF_RECORDS.items())}


def test_loading_again_changes_nothing(warehouse: Warehouse, data: Path) -> None:
    load_all(warehouse, data)
    catalog = Catalog(data, read_only=True)
    counts = (
        "SELECT (SELECT count() FROM attempts), (SELECT count() FROM spans), (SELECT count() FROM actors)"
    )
    before = [tuple(row) for row in warehouse.rows(counts)]
    name = catalog.names()[0]
    assert load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name)) is None
    made = load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name), again=True)
    assert made is not None
    assert made.attempts == 60
    assert [tuple(row) for row in warehouse.rows(counts)] == before
    assert_alike(warehouse, [catalog.path(name)], ["tasks", "actors"])


def test_two_servers_with_a_part_each_make_the_whole(
    warehouse: Warehouse, record: Callable[..., Path], bodies: list[bytes], tmp_path: Path
) -> None:
    """Two servers got every other batch. Their merged facts equal those of one server that got everything."""
    whole = record(bodies)
    parts = [record(bodies[::2]), record(bodies[1::2])]
    session = whole.parent.name
    for order in (parts, parts[::-1]):
        for part in order:
            load_all(warehouse, part.parent.parent.parent, again=True)
    names, expected = read_record(whole, "attempts")
    made = {"state", "reported_state", "end_known_by", "path_id", "ended_at_ns"}
    # Only a record copies to retries the definition of their task's first attempt.
    shared = {*DEFINITION, "parent_hi", "parent_lo", "named_parent"}
    for picked, left_out in (("attempt = 0", made), ("true", made | shared)):
        facts = ", ".join(name for name in names if name not in left_out)
        query = f"SELECT {facts} FROM attempts WHERE {picked}"
        wanted = sorted(map(repr, opened(whole).execute(query).fetchall()))
        found = warehouse.rows(f"{query} AND session = {{s:String}}", {"s": session})
        assert sorted(repr(tuple(row)) for row in found) == wanted
    assert len(expected) == len(wanted)


@pytest.mark.parametrize("is_rays", [True, False])
def test_a_record_is_made_again_of_what_was_loaded(
    warehouse: Warehouse, record: Callable[..., Path], bodies: list[bytes], tmp_path: Path, is_rays: bool
) -> None:
    """Derived data is compared only for facts from Ray: the others are invented."""
    session = "session_2025-12-01_10-00-00_000000_1"
    before = record(bodies) if is_rays else make_record(tmp_path / "before", session, seed=7)
    catalog = Catalog(before.parent.parent.parent, read_only=True)
    (name,) = catalog.names()
    about = catalog.about(name)
    load(warehouse, publisher_of(warehouse), before, about, again=True)
    after = tmp_path / "after" / "record.duckdb"
    make_again(warehouse, msgspec.structs.replace(about, attempts=0), after, tmp_path / "work", "200MB")
    made = {"state", "reported_state", "end_known_by", "path_id", "ended_at_ns", "end_ns"}
    for view in [name for name in TABLE_NAMES if name not in LEFT_OUT] + (["tasks"] if is_rays else []):
        if view == "paths" and not is_rays:
            continue
        names, expected = read_record(before, view)
        facts = ", ".join(one for one in names if is_rays or one not in made)
        one, other = (
            opened(path).execute(f"SELECT {facts} FROM {view}").fetchall() for path in (before, after)
        )
        assert sorted(map(repr, other)) == sorted(map(repr, one)), view
        assert expected or is_rays, view


def test_several_load_at_the_same_time(data: Path, url: str, warehouse: Warehouse) -> None:
    catalog = Catalog(data, read_only=True)
    names = catalog.names()

    def load_one(name: str) -> None:
        with connect(url) as mine:
            assert (
                load(mine, publisher_of(mine), catalog.path(name), catalog.about(name), again=True)
                is not None
            )

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(load_one, [names[0], names[0], names[1]]))
    assert_alike(warehouse, [catalog.path(name) for name in names[:2]], ["attempts", "jobs"])


def test_sessions_are_of_their_day_and_cluster(warehouse: Warehouse, data: Path) -> None:
    load_all(warehouse, data)
    found = warehouse.rows(
        "SELECT session, toString(day), cluster, name, note, tags, ended_ns, attempts, failed FROM sessions "
        "WHERE session LIKE 'session_2025-11-2%' ORDER BY session"
    )
    assert [tuple(row)[1:] for row in found] == [
        ("2025-11-20", "host-0", "it's mine", 'a "note"', ["a", "b'"], LAST_NS, 60, 3),
        ("2025-11-21", "host-1", "it's mine", 'a "note"', ["a", "b'"], None, 60, 3),
        ("2025-11-22", None, "it's mine", 'a "note"', ["a", "b'"], LAST_NS, 60, 3),
    ]
    partitions = warehouse.rows(
        "SELECT DISTINCT partition FROM system.parts WHERE active AND database = currentDatabase() "
        "AND table = 'raw_attempts' AND partition LIKE '2025-11-2%' ORDER BY 1"
    )
    assert [row[0] for row in partitions] == ["2025-11-20", "2025-11-21", "2025-11-22"]


def test_hostile_names_come_back_as_they_are(warehouse: Warehouse, data: Path) -> None:
    load_all(warehouse, data)
    found = {
        row[0]
        for row in warehouse.rows(
            "SELECT DISTINCT name FROM annotations WHERE session LIKE 'session_2025-11-2%'"
        )
    }
    assert found == set(HOSTILE)


def test_a_load_that_is_cut_off_is_not_there_and_can_be_repeated(
    warehouse: Warehouse, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog(data, read_only=True)
    name = catalog.names()[0]
    about = catalog.about(name)
    about.last_ns += 1
    insert = Warehouse.insert

    def fail(self: Warehouse, table: str, rows: Any) -> None:
        if table == "raw_entities":
            raise OSError("cut off")
        insert(self, table, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "insert", fail)
        with pytest.raises(OSError, match="cut off"):
            load(warehouse, publisher_of(warehouse), catalog.path(name), about)
    assert load(warehouse, publisher_of(warehouse), catalog.path(name), about) is not None
    assert_alike(warehouse, [catalog.path(name)], ["tasks", "actors"])
