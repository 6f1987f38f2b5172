"""The documented views as Arrow batches, for a whole session or for some of its attempts."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa

from rayscope.storage.schema import ENTITY_VIEWS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import NOT_DRIVER, TASK_ID, edges_of
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.pages import Row, rows_of

#: Number of rows per batch.
BATCH = 50_000
#: Number of attempts and data edges to read at once for the view ``data_edges``. The view joins all of its
#: tables, so it is read in parts.
_EDGES_PART = 50_000
_OF_ATTEMPT = "SEMI JOIN wanted USING (task_id, attempt)"
#: SQL clause for each view that selects the rows of the attempts in ``wanted``. Views of entities, such as
#: nodes, are always complete.
VIEWS: Mapping[str, str] = {
    "tasks": _OF_ATTEMPT,
    "task_states": _OF_ATTEMPT,
    "spans": _OF_ATTEMPT,
    "data_edges": "WHERE producer_task_id IN (SELECT task_id FROM wanted) "
    "OR consumer_task_id IN (SELECT task_id FROM wanted)",
    "phases": _OF_ATTEMPT,
    "annotations": _OF_ATTEMPT,
    "samples": _OF_ATTEMPT,
    "sample_frames": "",
    **{view: "" for view, _ in ENTITY_VIEWS.values()},
    "task_gpu_use": _OF_ATTEMPT,
    "actor_gpu_use": "",
}


class Tables:
    """The views of a session at the time of construction. ``narrowed``: only some attempts are included."""

    def __init__(self, reader: duckdb.DuckDBPyConnection, filters: TaskFilters) -> None:
        self._reader = reader
        self.narrowed = bool(filters.active())
        if self.narrowed:
            where = attempt_filters(filters)
            where.add(NOT_DRIVER)
            reader.execute(
                f"CREATE TEMP TABLE wanted AS SELECT {TASK_ID} AS task_id, attempt FROM attempts{where.sql}",
                where.values,
            )

    def batches(self, view: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return a view's schema and its rows. Read all of the rows before you read anything else."""
        part = VIEWS[view] if self.narrowed else ""
        if view == "data_edges":
            counted = self._reader.execute(
                "SELECT (SELECT count(*) FROM attempts) + (SELECT count(*) FROM edge_rows)"
            ).fetchall()
            parts = 1 + counted[0][0] // _EDGES_PART
            sources = [f"({edges_of(number, parts)})" for number in range(parts)]
        else:
            sources = [view]
        first = self._read(sources[0], part)
        rest = (batch for source in sources[1:] for batch in self._read(source, part))
        return first.schema, itertools.chain(first, rest)

    def _read(self, source: str, part: str) -> pa.RecordBatchReader:
        return self._reader.sql(f"SELECT * FROM {source} {part}").to_arrow_reader(BATCH)

    def drops(self) -> list[Row]:
        """Return the events that Ray lost, as rows with ``source``, ``reason``, ``count``, and others."""
        return rows_of(self._reader.execute("SELECT * FROM drops WHERE count > 0 ORDER BY 1, 2"))


@contextlib.contextmanager
def tables(file: SessionFile, filters: TaskFilters) -> Iterator[Tables]:
    """Provide the views, limited to the attempts that match ``filters``. Raises BadQuery."""
    with file.reader() as reader:
        yield Tables(reader, filters)
