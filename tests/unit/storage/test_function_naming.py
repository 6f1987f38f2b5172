"""Names of functions that share Ray's, and how they change while a record grows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.story import SESSION

from rayscope.cluster.tasks.flow_sql import scheduling
from rayscope.model import Attempt, RecordBatch, Span
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import SessionWriter
from rayscope.storage.sql.filters import TaskFilters
from rayscope.views.logical.compute import logical_graph
from rayscope.views.logical.sql import logical_rows

JOB = "01000000"
DRIVER = DRIVER_PREFIX + JOB


class Growing:
    """A record to which calls of functions are added, each in a flush of its own."""

    def __init__(self, folder: Path) -> None:
        self._writer = SessionWriter(SESSION, lambda: SessionFile(folder / "record.duckdb"))
        self._numbers = itertools.count(1)
        self._now = 0.0

    def call(
        self, func: str, module: str | None, code: str = "", parent: str = DRIVER, type_: str = "NORMAL_TASK"
    ) -> str:
        """A finished call; returns its task's id."""
        number = next(self._numbers)
        task = f"{number:016x}" + "0" * 24 + JOB
        attempt = Attempt(
            task,
            name=func,
            func_name=func,
            module_name=module,
            function_hash=code or None,
            type=type_,
            job_id=JOB,
            parent_task_id=parent,
            actor_id="0" * 23 + "1" + JOB if type_ == "ACTOR_TASK" else None,
            states={
                "PENDING_ARGS_AVAIL": number * 100,
                "RUNNING": number * 100 + 10,
                "FINISHED": number * 100 + 20,
            },
        )
        self._add(RecordBatch(SESSION, attempts=[attempt]))
        return task

    def define(self, code: str, **values: str) -> None:
        """The tracer reports what a function is."""
        extra = msgspec.json.encode({"code": code, **values}).decode()
        self._add(RecordBatch(SESSION, spans=[Span(DRIVER, 0, "definition", 1, 1, extra)]))

    def _add(self, batch: RecordBatch) -> None:
        self._now += 1
        self._writer.add(batch, self._now)
        self._writer.flush(self._now, everything=True)

    @property
    def file(self) -> SessionFile:
        assert self._writer.file is not None
        return self._writer.file

    def names(self) -> dict[str, int]:
        """Function -> attempts, as the list of functions has them."""
        return {row["func_name"]: row["attempts"] for row in scheduling(self.file, 10_000)}

    def paths(self) -> list[str]:
        """The call path of each attempt, in their order."""
        with self.file.reader() as reader:
            paths = {
                path: (parent, name)
                for path, parent, name in reader.execute(
                    "SELECT path_id, parent_path_id, name FROM paths"
                ).fetchall()
            }
            ids = reader.execute("SELECT path_id FROM attempts ORDER BY task_hi").fetchall()
        found = []
        for (path,) in ids:
            names: list[str] = []
            while path:
                path, name = paths[path]
                names.insert(0, name)
            found.append(" > ".join(names))
        return found

    def close(self) -> None:
        """Close the record."""
        self._writer.close()


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path)
    yield made
    made.close()


def test_a_name_gets_longer_when_a_second_function_has_it(growing: Growing) -> None:
    first = growing.call("process", "pk.ingest")
    growing.call("inner", "pk.ingest", parent=first)
    assert growing.names() == {"process": 1, "inner": 1}
    with growing.file.reader() as reader:
        before = reader.execute("SELECT path_id FROM attempts ORDER BY task_hi").fetchall()
    growing.call("process", "pk.report")
    assert growing.names() == {"pk.ingest.process": 1, "pk.report.process": 1, "inner": 1}
    assert growing.paths() == ["pk.ingest.process", "pk.ingest.process > inner", "pk.report.process"]
    with growing.file.reader() as reader:  # addresses of the UI name paths
        assert reader.execute("SELECT path_id FROM attempts ORDER BY task_hi").fetchall()[:2] == before


def test_a_call_without_its_module_is_no_second_function(growing: Growing) -> None:
    """The GCS's task table, which may be read before the events arrive, lacks modules."""
    growing.call("process", None)
    growing.call("process", "pk.ingest")
    assert growing.names() == {"process": 2}
    growing.call("process", "pk.report")
    assert growing.names() == {"process": 1, "pk.ingest.process": 1, "pk.report.process": 1}


def test_the_tracers_first_report_names_the_function(growing: Growing) -> None:
    growing.define("aa", name="clean", module="app", wrapper="wrapper in tools.py")
    growing.define("bb", name="<lambda>", module="app", place="app.py:3", column="9")
    growing.call("wrapper", "app", "aa")
    growing.call("<lambda>", "app", "bb")
    assert growing.names() == {"clean": 1, "<lambda>": 1}
    growing.define("cc", name="<lambda>", module="app", place="app.py:4", column="9")
    growing.call("<lambda>", "app", "cc")
    assert growing.names() == {"clean": 1, "<lambda> (app.py:3)": 1, "<lambda> (app.py:4)": 1}
    growing.define("dd", name="<lambda>", module="app", place="app.py:4", column="30")
    growing.call("<lambda>", "app", "dd")
    assert set(growing.names()) == {
        "clean",
        "<lambda> (app.py:3)",
        "<lambda> (app.py:4:9)",
        "<lambda> (app.py:4:30)",
    }


def test_a_late_report_of_the_tracer_renames_recorded_functions(growing: Growing) -> None:
    caller = growing.call("wrapper", "app", "aa")
    growing.call("inner", "app", parent=caller)
    growing.call("wrapper", "app", "bb")
    assert growing.names() == {"wrapper": 2, "inner": 1}
    growing.define("aa", name="clean", module="app", wrapper="wrapper in tools.py")
    growing.define("bb", name="score", module="app", wrapper="wrapper in tools.py")
    assert growing.names() == {"clean": 1, "score": 1, "inner": 1}
    assert growing.paths() == ["clean", "clean > inner", "score"]


def test_one_place_is_one_function_however_often_it_is_defined(growing: Growing) -> None:
    for code in ("aa", "bb", "cc"):
        growing.define(code, name="work", module="app", place="app.py:7", column="4")
        growing.call("work", "app", code)
    assert growing.names() == {"work": 3}


@pytest.mark.parametrize(
    ("func_name", "calls"), [("process", 3), ("pk.ingest.process", 1), ("pk.report.process", 2)]
)
def test_filters_take_the_shared_name_and_the_distinct_one(
    growing: Growing, func_name: str, calls: int
) -> None:
    growing.call("process", "pk.ingest")
    growing.call("process", "pk.report")
    growing.call("process", "pk.report")
    rows = logical_rows(growing.file, TaskFilters(func_name=func_name), last_ns=10_000)
    assert sum(row["attempts"] for row in rows.functions) == calls


def test_methods_and_functions_with_modules_can_be_expanded(growing: Growing) -> None:
    for module in ("a", "b"):
        growing.call("step", module)
        growing.call("Pool.run", module, type_="ACTOR_TASK")
    rows = logical_rows(
        growing.file, TaskFilters(), last_ns=10_000, expand=["a.step", "b.Pool", "b.Pool.run"]
    )
    graph = logical_graph(
        rows.functions, rows.calls, rows.data, rows.methods, rows.instances, rows.names, unfolded=()
    )
    kinds: dict[str, Any] = {}
    for node in graph.nodes:
        if node.kind != "driver":
            kinds.setdefault(node.kind, set()).add(node.name)
    assert kinds["call"] == {"a.step"}
    assert kinds["method"] == {"a.Pool.run", "b.Pool.run"}
    assert "b.step" in kinds["function"]


def test_a_record_that_is_opened_again_keeps_its_names(tmp_path: Path) -> None:
    first = Growing(tmp_path)
    first.call("process", "pk.ingest")
    first.call("process", "pk.report")
    first.close()
    again = Growing(tmp_path)
    again._numbers = itertools.count(3)
    again.call("process", "pk.report")
    assert again.names() == {"pk.ingest.process": 1, "pk.report.process": 2}
    assert again.paths() == ["pk.ingest.process", "pk.report.process", "pk.report.process"]
    again.close()
