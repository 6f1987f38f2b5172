"""Facts in any order, in any batches, and repeated, merge in ClickHouse as in Python and in DuckDB."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from functools import reduce
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference import merge_attempts
from tests.tables import insert_attempts
from tests.unit.storage.test_merge_sql import accounts, numbers

from rayscope.model import Annotation, Attempt, Edge, Entity, Kind, Span, merge_entities
from rayscope.storage import rows
from rayscope.storage.schema import ENTITY_COLUMNS, TABLES, VIEWS
from rayscope.warehouse import rows_sql
from rayscope.warehouse.client import Warehouse

_SESSIONS = count()
#: Each example asks the engine several times: fewer of them than elsewhere, and many in the thorough profile.
_ENGINE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2
)
_FEWER = settings(_ENGINE, max_examples=settings().max_examples // 4)
TEXTS = st.sampled_from(["", "0", "1", "a", "b", "é", "RUNNING", "DEAD", "a\0b", "'"])
TIMES = st.integers(0, 4)
NUMBERS = st.sampled_from([-(2**63), -2, -1, 0, 1, 9, 10, 2**53 + 1, 2**63 - 1, 2**64])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "pid": NUMBERS,
        "start_ns": TIMES,
        "end_ns": TIMES,
        "is_detached": st.booleans(),
        "exit_code": TIMES,
        "submission_id": st.just("mine"),
        "state": TEXTS,
        "is_internal": st.booleans(),
        "entrypoint": TEXTS,
        "time_total_s": st.sampled_from([0.5, -1.5, 1e300, 1e-300]),
        "end_known_by": TEXTS,
    },
)


def new_session() -> str:
    return f"session_2026-01-0{next(_SESSIONS) % 9 + 1}_{next(_SESSIONS)}"


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        for statement in (*TABLES, *VIEWS):
            made.execute(statement)
        made.execute("INSERT INTO meta VALUES ('last_ns', NULL)")
        yield made


def insert_parts(
    warehouse: Warehouse, duck: duckdb.DuckDBPyConnection, session: str, parts: list[Attempt]
) -> None:
    duck.register("parts", rows.part_table(parts))
    whose = {"session": session, "cluster": None}
    warehouse.insert("raw_attempts", duck.sql(rows_sql.of_parts("parts"), params=whose).to_arrow_table())
    duck.unregister("parts")


def maybe_merge(warehouse: Warehouse, table: str, rng: random.Random) -> None:
    """Have the engine merge now what it would merge some time."""
    if rng.random() < 0.1:
        warehouse.run(f"OPTIMIZE TABLE {table} FINAL")


def in_duckdb(duck: duckdb.DuckDBPyConnection, view: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    found = duck.execute(f"FROM {view}")
    names = [column[0] for column in found.description or ()]
    # The warehouse has Ray's names of functions alone.
    places = [at for at, name in enumerate(names) if name != "distinct_name"]
    content = [tuple(row[at] for at in places) for row in found.fetchall()]
    return [names[at] for at in places], sorted(content, key=repr)


def in_warehouse(warehouse: Warehouse, view: str, session: str, names: list[str]) -> list[tuple[Any, ...]]:
    columns = ", ".join(f"`{name}`" for name in names)
    query = f"SELECT {columns} FROM {view} WHERE session = {{session:String}}"
    return sorted((tuple(row) for row in warehouse.rows(query, {"session": session})), key=repr)


def assert_same(names: list[str], rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    """Check that the rows are the same; name the columns that differ."""
    for one, other in zip(rows, expected, strict=True):
        differences = {n: (a, b) for n, a, b in zip(names, one, other, strict=True) if repr(a) != repr(b)}
        assert not differences, f"{differences} (found, expected) in {one}"


@_ENGINE
@given(merge_case=accounts(), seed=st.integers(0, 1000))
def test_attempts_merge_as_in_the_record(
    merge_case: Any, seed: int, warehouse: Warehouse, duck: duckdb.DuckDBPyConnection
) -> None:
    parts, plan = merge_case
    rng, session = random.Random(seed), new_session()
    chosen = sorted(numbers(plan)) or [0]
    for batch in (*_batches(chosen, rng), rng.sample(chosen, len(chosen) // 2 + 1)):
        insert_parts(warehouse, duck, session, [parts[at] for at in batch])
        maybe_merge(warehouse, "raw_attempts", rng)
    merged: dict[tuple[str, int], Attempt] = {}
    for part in (parts[at] for at in chosen):
        key = part.task_id, part.attempt
        merged[key] = merge_attempts(merged.get(key, Attempt(*key)), copy.deepcopy(part))
    duck.execute("TRUNCATE attempts")
    insert_attempts(duck, list(merged.values()))
    for view in ("attempts", "tasks", "task_states"):
        names, expected = in_duckdb(duck, view)
        assert_same(names, in_warehouse(warehouse, view, session, names), expected)


def _batches(chosen: list[int], rng: random.Random) -> list[list[int]]:
    """The same in some order, in some batches."""
    left = rng.sample(chosen, len(chosen))
    batches = []
    while left:
        size = rng.randrange(1, 20)
        batches.append(left[:size])
        left = left[size:]
    return batches


@st.composite
def entities(draw: st.DrawFn, kind: Kind) -> Entity:
    states = st.sampled_from(["PENDING", "ALIVE", "DEAD", "FAILED", "SUCCEEDED", "TERMINATED", "it's"])
    observed = draw(st.just({}) | st.builds(lambda state, rest: {**rest, "state": state}, states, FIELDS))
    return Entity(
        kind,
        draw(st.sampled_from(["ab", "c'd"])),
        draw(FIELDS),
        draw(st.dictionaries(st.tuples(TIMES, states), FIELDS, max_size=3)),
        draw(TIMES) if observed else 0,
        observed,
    )


@_FEWER
@given(data=st.data(), seed=st.integers(0, 1000))
@pytest.mark.parametrize("kind", ["actor", "job", "tune_trial"])
def test_entities_merge_as_in_the_record(
    kind: Kind, data: st.DataObject, seed: int, warehouse: Warehouse
) -> None:
    parts = data.draw(st.lists(entities(kind), min_size=1, max_size=6))
    rng, session = random.Random(seed), new_session()
    again = [*parts, *rng.choices(parts, k=2)]
    for batch in _batches(list(range(len(again))), rng):
        merged = [(again[at], None) for at in batch]
        warehouse.insert("raw_entities", rows_sql.entity_rows(session, "here", merged, 1))
        maybe_merge(warehouse, "raw_entities", rng)
    expected = [
        reduce(merge_entities, [copy.deepcopy(part) for part in parts if part.id == identifier])
        for identifier in sorted({part.id for part in parts})
    ]
    names = ["id", *(name for name, _ in ENTITY_COLUMNS[kind])]
    table = rows.entity_table(kind, expected).select(names).to_pylist()
    wanted = sorted((tuple(row.values()) for row in table), key=repr)
    assert_same(names, in_warehouse(warehouse, f"{kind}_rows", session, names), wanted)


@_FEWER
@given(seed=st.integers(0, 2**32))
def test_spans_edges_and_annotations_are_sets(seed: int, warehouse: Warehouse) -> None:
    rng, session = random.Random(seed), new_session()
    task = rng.choice(["", f"{rng.randrange(2**64):016x}" + "ab" * 16])
    texts = ["", "a", "b'", "a\0b", '{"calls": 1}']
    made: dict[str, list[Any]] = {
        "raw_spans": [
            Span(task, rng.randrange(2), rng.choice(texts), 1, 2, rng.choice(texts)) for _ in range(9)
        ],
        "raw_edges": [
            Edge(
                task or "ab" * 24,
                0,
                rng.choice(texts),
                "cd" * 24,
                1,
                rng.choice([None, 0, 5]),
                1,
                rng.randrange(2),
            )
            for _ in range(9)
        ],
        "raw_annotations": [
            Annotation(
                task, 0, "counter", "n", rng.choice(texts), rng.choice([None, float("nan"), -1.5, 1e300]), 4
            )
            for _ in range(9)
        ],
    }
    tables = {
        "raw_spans": rows.span_table,
        "raw_edges": rows.edge_table,
        "raw_annotations": rows.annotation_table,
    }
    for name, items in made.items():
        for batch in (*_batches(list(range(9)), rng), [0, 1]):
            table = tables[name]([items[at] for at in batch])
            table = table.append_column("session", pa.array([session] * len(batch)))
            warehouse.insert(name, table)
            maybe_merge(warehouse, name, rng)
        columns = tables[name]([]).schema.names
        expected = {repr(tuple(row.values())) for row in tables[name](items).to_pylist()}
        view = name.removeprefix("raw_").removesuffix("s") + "_rows"
        assert [repr(row) for row in in_warehouse(warehouse, view, session, columns)] == sorted(expected)
