"""Attempts merge alike in SQL: in any order, in any grouping, and with repeated parts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import merge_attempts
from tests.tables import insert_attempts

from rayscope.model import PHASES, STATES, Attempt, TaskError
from rayscope.model.attempt import SCALARS
from rayscope.storage import rows
from rayscope.storage.rows import PART_SCHEMA
from rayscope.storage.schema import TABLES
from rayscope.storage.sql.merge import KEY, SINCE, merge

Row = dict[str, Any]
#: Which parts are in a table; or what is merged of several.
Plan = list[int] | tuple["Plan", ...]

#: Some that look alike, and some that other orders than that of code points would put otherwise.
TEXTS = ["", "a", "A", "aa", "\uffee", "\U0001f600", "a\0b", "10", "9"]
TIMES = [0, 1, 2, 10, 2**63 - 1]
#: The same bytes first, the same bytes last, and bytes that no signed integer holds.
TASKS = [f"{1:016x}" + "ab" * 16, f"{1:016x}" + "cd" * 16, "f" * 16 + "ab" * 16]


def make_part(rng: random.Random) -> Attempt:
    """A random part of one of a few attempts. It has few distinct values, so ties are frequent."""
    part = Attempt(rng.choice(TASKS), rng.randrange(2))
    for name in rng.sample(SCALARS, rng.randrange(8)):
        is_integer = pa.types.is_integer(PART_SCHEMA.field(name).type)
        setattr(part, name, rng.choice(TIMES if is_integer else TEXTS))
    part.states = {state: rng.choice(TIMES) for state in rng.sample(STATES, rng.randrange(4))}
    part.phases = {phase: (rng.randrange(2), rng.choice(TIMES)) for phase in PHASES if rng.random() < 0.3}
    if rng.random() < 0.5:
        part.error = TaskError(rng.randrange(2), rng.choice("AB"), rng.choice(["", "a", "b"]))
    if rng.random() < 0.5:
        part.returned = (rng.randrange(2), rng.randrange(2), rng.choice(TIMES))
    return part


@st.composite
def accounts(draw: st.DrawFn) -> tuple[list[Attempt], Plan]:
    """Parts, and the tables in which they come, some more than once, to be merged in groups."""
    rng = random.Random(
        draw(st.integers(0, 2**32))
    )  # many conflicts take more values than are drawn one by one
    parts = [make_part(rng) for _ in range(draw(st.integers(1, 60)))]
    tables = st.integers(1, 30).map(lambda size: [rng.randrange(len(parts)) for _ in range(size)])
    plans = st.recursive(tables, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
    return parts, draw(plans)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def part_table(parts: Sequence[Attempt], since: Sequence[float]) -> pa.Table:
    return rows.part_table(parts).append_column(SINCE, pa.array(since, pa.float64()))


def merged_in_sql(connection: duckdb.DuckDBPyConnection, parts: list[Attempt], plan: Plan) -> list[Row]:
    names: list[str] = []

    def source(of: Plan) -> str:
        if isinstance(of, tuple):
            return f"({merge([source(inner) for inner in of])})"
        names.append(f"part_{len(names)}")
        connection.register(names[-1], part_table([parts[at] for at in of], [100.0 - at for at in of]))
        return names[-1]

    try:
        query = merge([source(plan)])
        return connection.sql(f"FROM ({query}) ORDER BY ALL").to_arrow_table().to_pylist()  # type: ignore[no-any-return]
    finally:
        for name in names:
            connection.unregister(name)


def numbers(plan: Plan) -> set[int]:
    if isinstance(plan, tuple):
        return set().union(*map(numbers, plan))
    return set(plan)


def merged_in_python(parts: list[Attempt], chosen: set[int]) -> list[Row]:
    """The rows of the same parts, each taken once and in the order in which they were made."""
    found: dict[tuple[str, int], tuple[Attempt, list[float]]] = {}
    for at in sorted(chosen):
        part = parts[at]
        into, since = found.setdefault(
            (part.task_id, part.attempt), (Attempt(part.task_id, part.attempt), [])
        )
        merge_attempts(into, part)
        since.append(100.0 - at)
    if not found:
        return []
    table = part_table([one for one, _ in found.values()], [min(since) for _, since in found.values()])
    unknown = dict.fromkeys(PART_SCHEMA.names)
    return sorted((unknown | row for row in table.to_pylist()), key=lambda row: [row[name] for name in KEY])


@given(merge_case=accounts())
def test_parts_merge_alike_in_any_tables_order_and_grouping(
    merge_case: tuple[list[Attempt], Plan], connection: duckdb.DuckDBPyConnection
) -> None:
    parts, plan = merge_case
    assert merged_in_sql(connection, parts, plan) == merged_in_python(parts, numbers(plan))


def test_how_it_failed_is_not_hidden_by_a_bare_account_of_it(connection: duckdb.DuckDBPyConnection) -> None:
    """A worker dies: the task's owner says that it did, the GCS a second later how."""
    task = "ab" * 24
    errors = [
        TaskError(1, "WORKER_DIED", ""),
        TaskError(2, "WORKER_DIED", "killed by the OOM killer"),
        TaskError(3, "WORKER_DIED", "again"),
    ]
    for order in permutations(errors):
        parts = [Attempt(task, error=error) for error in order]
        for plan in ([0, 1, 2], ([0], [1], [2]), ([0], ([1, 2],))):
            (row,) = merged_in_sql(connection, parts, plan)
            assert (row["error_ns"], row["error_type"], row["error_message"]) == errors[1]


def test_the_state_is_the_last_in_rays_own_order(connection: duckdb.DuckDBPyConnection) -> None:
    """As in ``protobuf_to_task_state_dict``, whatever the times say."""
    for statement in TABLES:
        connection.execute(statement)
    pairs = dict(enumerate(product(STATES, STATES)))
    stored = [Attempt(f"{at:048x}", states={one: 9, two: 1}) for at, (one, two) in pairs.items()]
    insert_attempts(connection, [*stored, Attempt(f"{len(stored):048x}")])
    found = connection.execute("SELECT state, reported_state FROM attempts ORDER BY task_lo").fetchall()
    last = [max(pair, key=STATES.index) for pair in pairs.values()]
    assert found == [(state, state) for state in [*last, None]]
