"""The arithmetic of insights, over records made at random: a part is at most its whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
from hypothesis import given
from tests.story import JOB
from tests.unit.views.critical_path.test_sql import LAST_NS, Plain, connect, records

from rayscope.insights import detect, gains
from rayscope.insights.finding import Facts
from rayscope.insights.replay import read
from rayscope.views.critical_path import compute
from rayscope.views.critical_path.read import is_driver, ns_by_task, read_path
from rayscope.views.critical_path.sql import Extent


class File:
    """A stand-in for SessionFile with one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        yield self._connection


def go_on(_: float) -> None:
    """No wait times out."""


@given(record=records())
def test_costs_savings_and_causes_are_parts_of_the_job(record: Plain) -> None:
    with connect(record) as connection:
        file: Any = File(connection)
        recorded = read.read(file, JOB, LAST_NS)
        extent = Extent(recorded.has_ended, *recorded.extent_ns)
        path = read_path(file, extent.end_ns, JOB, live=True, extent=extent).path
        base = gains.baseline(recorded, go_on)
        facts = Facts(recorded, path_ns=ns_by_task(path))
        findings, _ = detect.detect(facts, base, detect.load(), go_on)
    whole = facts.duration_ns
    assert sum(cause.total_ns for cause in compute.causes(path, is_driver)) == path.end_ns - path.begin_ns
    assert max(1, path.end_ns - path.begin_ns) == max(1, base.recorded_ns) == whole
    for finding in findings:
        assert 0 <= finding["cost_ns"] <= whole
        assert 0 <= finding["share"] <= 1
        saving = finding["saving_ns"]
        assert saving is None or 0 <= finding["saving_low_ns"] <= saving <= finding["saving_high_ns"] <= whole
        assert finding["on_path_ns"] is None or 0 <= finding["on_path_ns"] <= whole
    if not base.replayed.is_stuck:
        functions, _, options = gains.gains(base, go_on, facts.origin)
        for gain in [*functions, *options]:
            assert gain["saving_low_ns"] <= gain["saving_ns"] <= gain["saving_high_ns"] <= whole
