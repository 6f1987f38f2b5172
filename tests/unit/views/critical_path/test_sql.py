"""The critical path of records made at random, read in slices of time, against a plain look at all of it."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.story import DRIVER, JOB, MS
from tests.tables import insert_attempts

from rayscope.model import Attempt, Edge, Span
from rayscope.storage import rows
from rayscope.storage.schema import TABLES
from rayscope.storage.sql.execution import AWAITING
from rayscope.views.critical_path import sql
from rayscope.views.critical_path.compute import SLACK_NS, walk
from rayscope.views.critical_path.sql import PathAttempt, PathReader, PathWait

#: The states of an attempt in their order, and the phases that begin with them.
STATES = ("PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT", "SUBMITTED_TO_WORKER", "RUNNING")
PHASES = ("waiting_args", "waiting_node", "queued", "executing")
LAST_NS = 3_000 * MS


class Plain:
    """Reads the path by searching the whole record for each question."""

    def __init__(self, attempts: list[Attempt], spans: list[Span], edges: list[Edge]) -> None:
        self.attempts, self.spans, self.edges = attempts, spans, edges
        #: The job as a reader of the same record returns it.
        self.job: Any = None

    @staticmethod
    def _end(of: Attempt) -> int | None:
        return of.states.get("FAILED", of.states.get("FINISHED"))

    def _ended(self, of: Attempt) -> int:
        end = self._end(of)
        return LAST_NS if end is None else end

    def _reached(self, of: Attempt) -> int | None:
        submitted = of.states.get("SUBMITTED_TO_WORKER")
        return of.states.get("RUNNING", submitted if self._end(of) is not None else None)

    def _by_itself(self, of: Attempt) -> bool:
        return "FINISHED" in of.states or not self.job.ended or self._ended(of) < self.job.driver.end_ns

    def _last(self, attempts: list[Attempt]) -> PathAttempt | None:
        def order(of: Attempt) -> tuple[int, int, int]:
            reached = self._reached(of)
            return self._ended(of), -(LAST_NS if reached is None else reached), -of.states[STATES[0]]

        return self._shown(max(attempts, key=order, default=None))

    def _shown(self, of: Attempt | None) -> PathAttempt | None:
        if of is None:
            return None
        begins = [(phase, of.states[s]) for phase, s in zip(PHASES, STATES, strict=True) if s in of.states]
        return PathAttempt(
            of.task_id,
            of.attempt,
            of.func_name or "",
            begins,
            self._ended(of),
            of.parent_task_id,
            of.worker_id,
        )

    def running(self, task_id: str, at_ns: int) -> PathAttempt | None:
        if task_id == DRIVER:
            driver: PathAttempt = self.job.driver
            return driver
        found = [one for one in self.attempts if one.task_id == task_id]
        return self._shown(max(found, key=lambda o: (o.states[STATES[0]] <= at_ns, o.attempt), default=None))

    def retried(self, attempt: PathAttempt) -> PathAttempt | None:
        found = [o for o in self.attempts if o.task_id == attempt.task_id and o.attempt < attempt.attempt]
        return self._shown(max(found, key=lambda one: one.attempt, default=None))

    def argument(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        made = {e.object_task for e in self.edges if e.kind == "argument" and e.task_id == attempt.task_id}
        found = [o for o in self.attempts if o.task_id in made and self._ended(o) <= before_ns]
        return self._shown(max(found, key=self._ended, default=None))

    def before(self, attempt: PathAttempt, before_ns: int) -> PathAttempt | None:
        if attempt.worker_id is None:
            return None
        found = []
        suspended = {span.task_id for span in self.spans if span.name == AWAITING}
        for one in [one for one in self.attempts if one.worker_id == attempt.worker_id]:
            if (one.task_id, one.attempt) == (attempt.task_id, attempt.attempt) or one.task_id in suspended:
                continue
            end, reached = self._end(one), self._reached(one)
            if (
                end is not None
                and end <= before_ns + SLACK_NS
                and reached is not None
                and reached < before_ns
            ):
                found.append(one)
        return self._shown(max(found, key=self._ended, default=None))

    def wait(self, attempt: PathAttempt, before_ns: int) -> PathWait | None:
        found = [
            PathWait(span.begin_ns, span.end_ns, None)
            for span in self.spans
            if (span.task_id, span.attempt) == (attempt.task_id, attempt.attempt) and span.name != AWAITING
        ]
        if attempt is self.job.driver and not self.job.traced:
            found = [
                PathWait(one.states[STATES[0]], self._ended(one), (one.task_id, one.attempt))
                for one in self.attempts
                if one.parent_task_id == DRIVER and self._end(one) is not None and self._by_itself(one)
            ]
        found = [one for one in found if one.end_ns <= before_ns and one.begin_ns < before_ns]
        return max(found, key=lambda one: (one.end_ns, -one.begin_ns), default=None)

    def awaited(self, attempt: PathAttempt, wait: PathWait, before_ns: int) -> PathAttempt | None:
        if wait.awaited is not None:
            return self._last([o for o in self.attempts if (o.task_id, o.attempt) == wait.awaited])
        of = (attempt.task_id, attempt.attempt, "get", wait.begin_ns)
        named = {e.object_task for e in self.edges if (e.task_id, e.attempt, e.kind, e.begin_ns) == of}
        if not named:
            return self._child(attempt.task_id, wait)
        end = wait.end_ns + SLACK_NS
        return self._last(
            [o for o in self.attempts if o.task_id in named and self._ended(o) <= end and self._by_itself(o)]
        )

    def _child(self, parent: str, wait: PathWait) -> PathAttempt | None:
        """The child that ended last, for a wait that names no task and lasted until then."""
        ended = [o for o in self.attempts if o.parent_task_id == parent and self._end(o) is not None]
        found = []
        for slack in (0, SLACK_NS):
            last = self._last([one for one in ended if self._ended(one) <= wait.end_ns + slack])
            if last and last.end_ns > wait.begin_ns and last.begins[0][1] < wait.end_ns:
                found.append(last)
        return max(found, key=lambda one: one.end_ns, default=None)


@st.composite
def records(draw: st.DrawFn) -> Plain:
    """Up to 20 attempts of tasks on three workers, some retried, some that wait for others, of any times."""
    attempts: list[Attempt] = []
    spans: list[Span] = []
    edges: list[Edge] = []
    ids = [f"{number:016x}" + "f" * 24 + JOB for number in range(1, draw(st.integers(1, 12)) + 1)]
    steps = st.integers(0, 30).map(lambda number: number * 7 * MS)
    for task_id in ids:
        now = draw(st.integers(0, 200)) * 7 * MS
        parent = draw(st.just(DRIVER) | st.sampled_from(ids))
        for number in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            one = Attempt(task_id, number, func_name=task_id[:16], type="NORMAL_TASK", job_id=JOB)
            one.parent_task_id = parent
            for state in STATES[: draw(st.integers(1, len(STATES)))]:
                one.states[state] = now
                now += draw(steps)
            if "RUNNING" in one.states:
                one.worker_id = draw(st.sampled_from(["a" * 56, "b" * 56, "c" * 56]))
            attempts.append(one)
            if not draw(st.integers(0, 5)):
                break  # it runs still
            # No two end at once, so that one is the last.
            end = now + len(attempts)
            one.states[draw(st.sampled_from(["FINISHED", "FAILED"]))] = end
            for begin, length in draw(st.lists(st.tuples(steps, steps), max_size=3)):
                begin += one.states.get("RUNNING", now) + len(spans)
                name = draw(st.sampled_from(["ray.get", "ray.get", AWAITING]))
                spans.append(Span(task_id, number, name, begin, begin + length))
                if name == AWAITING:
                    continue
                for of in draw(st.lists(st.sampled_from(ids), max_size=3, unique=True)):
                    edges.append(Edge(task_id, number, "get", of, 1, 1, begin, begin + length))
        for of in draw(st.lists(st.sampled_from(ids), max_size=2, unique=True)):
            edges.append(Edge(task_id, -1, "argument", of, 1, 1, now, now))
    for begin, length in draw(st.lists(st.tuples(st.integers(0, 200), steps), max_size=4)):
        begin = begin * 7 * MS + len(spans)
        spans.append(Span(DRIVER, 0, "ray.get", begin, begin + length))
        for of in draw(st.lists(st.sampled_from(ids), max_size=3, unique=True)):
            edges.append(Edge(DRIVER, 0, "get", of, 1, 1, begin, begin + length))
    return Plain(attempts, spans, edges)


def connect(of: Plain) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in TABLES:
        connection.execute(statement)
    insert_attempts(connection, of.attempts)
    for table, content, insert in (
        ("spans", rows.span_table(of.spans), "INSERT INTO span_rows FROM spans"),
        ("edges", rows.edge_table(of.edges), "INSERT INTO edge_rows FROM edges"),
    ):
        connection.register(table, content)
        connection.execute(insert)
    return connection


@pytest.mark.parametrize("slice_attempts", [3, 100_000])
@given(record=records())
def test_a_path_read_in_slices_is_that_of_the_whole_record(slice_attempts: int, record: Plain) -> None:
    with connect(record) as connection, patch.object(sql, "SLICE_ATTEMPTS", slice_attempts):
        reader = record.job = PathReader(connection, LAST_NS, JOB, live=True)
        found = walk(reader, reader.driver, reader.begin_ns)
    assert found == walk(record, reader.driver, reader.begin_ns)
