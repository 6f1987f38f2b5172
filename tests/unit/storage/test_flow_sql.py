"""Where the time of attempts went, and which objects moved, from the rows of a record."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import insert_attempts

from rayscope.model import PHASES, STATES, Attempt, Edge, RecordBatch, Span
from rayscope.storage import rows
from rayscope.storage.schema import TABLES
from rayscope.storage.sql import execution

TASK = "aa" * 24
DRIVER = "ff" * 20 + "01000000"
SECOND = 10**9

times = st.integers(1, 10**6)
intervals = st.tuples(times, times).map(lambda pair: (min(pair), max(pair)))


@st.composite
def attempts(draw: st.DrawFn) -> tuple[Attempt, list[Span]]:
    """Any states and phases, in any order of time, as skewed clocks may report them; and any waits."""
    task_id = f"{draw(st.integers(1, 2**180)):048x}"
    attempt = Attempt(task_id, parent_task_id=DRIVER, type="NORMAL_TASK")
    attempt.states = draw(st.dictionaries(st.sampled_from(STATES), times, min_size=1))
    attempt.phases = draw(st.dictionaries(st.sampled_from(PHASES), intervals))
    waits = draw(st.lists(intervals, max_size=4))
    names = st.sampled_from(["ray.get", "awaiting"])
    return attempt, [Span(attempt.task_id, 0, draw(names), *wait) for wait in waits]


def connect(stored: list[Attempt], spans: list[Span]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in TABLES:
        connection.execute(statement)
    insert_attempts(connection, stored)
    insert(connection, "span_rows", rows.span_table(spans))
    return connection


def insert(connection: duckdb.DuckDBPyConnection, table: str, content: pa.Table) -> None:
    connection.register("fresh", content)
    connection.execute(f"INSERT INTO {table} SELECT * FROM fresh")


@given(st.lists(attempts(), min_size=1, max_size=8, unique_by=lambda stories: stories[0].task_id))
def test_phases_are_never_negative_and_add_up_to_the_whole(stories: list[tuple[Attempt, list[Span]]]) -> None:
    connection = connect([one for one, _ in stories], [span for _, spans in stories for span in spans])
    found = connection.execute(
        f"SELECT task_id, {', '.join(f'{phase}_ns' for phase in execution.SCHEDULING_PHASES)}, total_ns "
        f"FROM ({execution.phases()})"
    ).fetchall()
    assert len(found) == len(stories)
    by_id = {one.task_id: one for one, _ in stories}
    for task_id, *parts, total in found:
        is_unknown = None in parts  # its begin was not reported
        parts = [part for part in parts if part is not None]
        assert min(parts, default=0) >= 0
        known = [*by_id[task_id].states.values(), *(by_id[task_id].phases.get("total") or ())]
        if total is not None:
            assert sum(parts) <= total if is_unknown else sum(parts) == total
            assert total <= max([*known, *(t for i in by_id[task_id].phases.values() for t in i)]) - min(
                known
            )


def test_each_phase_of_a_plain_task_and_of_an_actors() -> None:
    states = dict(
        zip(("PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT", "SUBMITTED_TO_WORKER"), (1, 3, 6), strict=True)
    )
    plain = Attempt(TASK, states={**states, "RUNNING": 10, "FINISHED": 110})
    plain.phases = {"deserialize": (12, 14), "execute": (15, 95), "store": (96, 99), "total": (11, 100)}
    called = Attempt("bb" * 24, states={**states, "RUNNING": 30, "FINISHED": 60})
    called.states |= {"PENDING_ACTOR_TASK_ARGS_FETCH": 10, "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY": 15}
    called.phases = {"execute": (32, 50)}
    waits = [
        # Two overlap, one is inside another, one is not a wait.
        *(Span(TASK, 0, name, *at) for name, at in (("ray.get", (20, 40)), ("await", (30, 50)))),
        *(Span(TASK, 0, name, *at) for name, at in (("ray.wait", (32, 35)), ("ray.put", (60, 90)))),
        Span(TASK, 0, "ray.get", 60, 90, '{"calls":9,"blocked_ns":7}'),
        # Suspended once for something else, several times in a sum, and what the user calls so.
        Span(TASK, 0, "awaiting", 50, 55),
        Span(TASK, 0, "awaiting", 56, 90, '{"calls":4,"objects":0,"bytes":0,"blocked_ns":3}'),
        Span(TASK, 0, "awaiting", 20, 90, '{"user":{}}'),
    ]
    found = (
        connect([plain, called], waits)
        .execute(
            f"SELECT {', '.join(f'{phase}_ns' for phase in execution.SCHEDULING_PHASES)}, total_ns "
            f"FROM ({execution.phases()}) ORDER BY task_id"
        )
        .fetchall()
    )
    assert found == [
        (2, 3, 0, 4, 2, 3, 80 - 37 - 8, 8, 37, 15, 109),
        (2, 3, 0, 4 + 15, 0, 5 + 2, 18, 0, 0, 10, 59),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_objects_of_returns_generators_retries_and_puts(
    order: int, start_writer: Callable[..., Any], tmp_path: Path
) -> None:
    put = ("01" + TASK[2:], execution.FIRST_PUT)  # of the second attempt
    value = ("00" + "77" * 23, execution.FIRST_PUT)  # of a thread, with a large argument of a call
    several, generator = "cc" * 24, "dd" * 24
    made = [
        Attempt(
            TASK,
            0,
            parent_task_id=DRIVER,
            node_id="n9",
            returned=(50_000, 10, 10),
            phases={"execute": (1, 40_000)},
        ),
        Attempt(
            TASK, 1, parent_task_id=DRIVER, returned=(90_000, 12, 12), phases={"execute": (60_000, 80_000)}
        ),
        Attempt(
            several,
            parent_task_id=TASK,
            node_id="n2",
            returned=(50_000, 1, 6),
            phases={"execute": (1, 40_000)},
        ),
        Attempt(generator, parent_task_id=TASK, returned=(20_000, 7, 30), phases={"execute": (1, 40_000)}),
    ]
    edges = [
        Edge(several, 0, "return", several, 2, 2, 50, 55),
        Edge(several, 0, "last_return", several, 3, 3, 50, 55),
        Edge(generator, 0, "return", generator, 2, 8, 20, 45),
        Edge(generator, 0, "last_return", generator, 3, 15, 20, 45),  # its end, no value
        Edge(TASK, 1, "put", *put, 100, 70, 71),
        Edge(several, -1, "argument", *put, None, 75, 75),
        Edge(several, 0, "fetched", *put, 100, 76, 77),
        Edge(several, 0, "fetched", *value, 200_000, 76, 77),
        Edge(several, -1, "nested", TASK, 1, None, 75, 75),
        Edge(DRIVER, 0, "get", generator, 3, 8, 100, 130),
        Edge(DRIVER, 0, "get", generator, 3, 8, 140, 141),
        Edge(DRIVER, 0, "wait", TASK, 1, None, 100, 130),
    ]
    recording = start_writer(tmp_path / "data")
    session = "session_2026-01-01_00-00-00_000000_1"
    for edge in edges[::order]:
        recording.submit_records(RecordBatch(session, edges=[edge]), "events")
    for attempt in made[::order]:
        recording.submit_records(RecordBatch(session, attempts=[attempt]), "events")
    recording.submit_records(RecordBatch(session, edges=edges, attempts=made), "events")  # all of it again
    recording.stop()
    with duckdb.connect(str(recording.catalog.path(session)), read_only=True) as connection:
        found = connection.execute(
            "SELECT producer_task_id[:2], consumer_task_id[:2], object_id[:2] || object_id[-8:], kind, nested, "
            "by_value, bytes, gets, blocked_ns, is_remote FROM data_edges ORDER BY ALL"
        ).fetchall()
    assert found == [
        ("aa", "aa", "0101e1f505", "put", False, False, 100, 0, None, False),
        ("aa", "cc", "0001e1f505", "argument", False, True, 200_000, 0, None, True),
        ("aa", "cc", "0101e1f505", "argument", False, False, 100, 0, None, True),
        ("aa", "cc", "aa01000000", "argument", True, False, 12, 0, None, True),
        ("aa", "ff", "aa01000000", "return", False, False, 12, 0, None, None),
        ("cc", "aa", "cc01000000", "return", False, False, 1, 0, None, True),
        ("cc", "aa", "cc02000000", "return", False, False, 2, 0, None, True),
        ("cc", "aa", "cc03000000", "return", False, False, 3, 0, None, True),
        ("dd", "aa", "dd02000000", "return", False, False, 7, 0, None, None),
        ("dd", "aa", "dd03000000", "return", False, False, 8, 0, None, None),
        ("dd", "ff", "dd03000000", "get", False, False, 8, 2, 31, None),
    ]


def test_whether_an_attempt_ran_where_it_was_submitted() -> None:
    def attempt(letter: str, parent: str, **known: Any) -> Attempt:
        return Attempt(letter * 24, parent_task_id=parent, type="NORMAL_TASK", job_id="01000000", **known)

    made = [
        attempt("aa", DRIVER, node_id="n1"),
        attempt("bb", DRIVER, node_id="n2"),
        attempt("cc", "bb" * 24, node_id="n2"),
        attempt("dd", "bb" * 24, node_id="n1"),
        attempt("ee", "bb" * 24, worker_id="w1"),  # of its node only the worker is known
        attempt("0f", "bb" * 24),
        attempt("1f", "12" * 24, node_id="n1"),  # its submitter was not reported
    ]
    connection = connect(made, [])
    connection.execute("INSERT INTO job_rows (id, doc, driver_node_id) VALUES ('01000000', '', 'n1')")
    connection.execute("INSERT INTO worker_rows (id, doc, node_id) VALUES ('w1', '', 'n1')")
    found = connection.execute(
        f"SELECT task_id[:2], is_local FROM ({execution.phases()}) ORDER BY task_id"
    ).fetchall()
    assert dict(found) == {
        "aa": True,
        "bb": False,
        "cc": True,
        "dd": False,
        "ee": False,
        "0f": None,
        "1f": None,
    }


@given(
    st.lists(attempts(), min_size=1, max_size=5, unique_by=lambda stories: stories[0].task_id),
    st.lists(times, max_size=4, unique=True),
)
def test_parts_of_a_time_range_add_up_to_the_whole(
    stories: list[tuple[Attempt, list[Span]]], cuts: list[int]
) -> None:
    connection = connect([one for one, _ in stories], [span for _, spans in stories for span in spans])
    phases = list(dict.fromkeys(name for name, _ in execution.BEGINS))

    def sums(*inside: str) -> tuple[Any, ...]:
        times_ = connection.execute(
            f"SELECT {', '.join(f'sum({phase})' for phase in phases)} FROM (SELECT "
            f"{execution.phase_durations(*inside)} FROM (SELECT {execution.phase_begins('NULL')} "
            f"FROM ({execution.with_worker_starts()})))"
        ).fetchone()
        waits = connection.execute(
            "SELECT coalesce(sum(blocked), 0), coalesce(sum(awaiting), 0) "
            f"FROM ({execution.waited_ns('true', inside=inside or None)})"
        ).fetchone()
        return (*(times_ or ()), *(waits or ()))

    edges = [0, *sorted(cuts), 10**7]
    parts = [sums(str(since), str(upto)) for since, upto in pairwise(edges)]
    assert tuple(map(sum, zip(*parts, strict=True))) == sums()
