"""One flush of attempts: merges new parts with the record. DuckDB does this column by column.

Used by :mod:`rayscope.storage.session_writer`. The steps use temporary tables of the writer's connection.
``merged`` has one row per attempt, made of the new parts and the stored rows of the same tasks. ``calls``
has, for these attempts and their callers, the columns needed for call paths, and whether to write the row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from rayscope.model.attempt import DEFINITION
from rayscope.storage import function_naming, rows
from rayscope.storage.call_paths import DRIVER_PREFIX, PathIndex
from rayscope.storage.function_naming import PlacedFunction
from rayscope.storage.schema import insert_attempts
from rayscope.storage.sql.execution import NAMED_PARENT_ID, PARENT_ID, TASK_ID, full_name, hex_id, rays_name
from rayscope.storage.sql.merge import KEY, PART_COLUMNS, SINCE, SUBMITTER, merge

#: SQL condition: the attempt is complete. Its definition, its end, and the spans of its execution were
#: reported.
_SETTLED = (
    "name IS NOT NULL AND (failed_ns IS NOT NULL OR (finished_ns IS NOT NULL AND total_begin_ns IS NOT NULL))"
)
_KEY = ", ".join(KEY)
_TASK = "task_hi, task_lo"
#: Converts a row of ``attempts`` to a part.
AS_PARTS = ", ".join(
    {
        "parent_task_id": f"{NAMED_PARENT_ID} AS parent_task_id",
        "caller_task_id": f"CASE WHEN named_parent IS NOT NULL THEN {PARENT_ID} END AS caller_task_id",
    }.get(name, name)
    for name, _ in PART_COLUMNS
)
#: Converts a row of ``attempts`` to a row of ``calls``.
_AS_CALL = (
    f"{_KEY}, {TASK_ID} AS task, {PARENT_ID} AS submitter, {full_name('a')} AS called, "
    f"{rays_name('a')} AS rays_name, a.function_hash AS code, a.rowid AS row, "
    "path_id AS stored_path, false AS is_written"
)
#: SQL for the distinct name of a function, or NULL. It reads rows of ``merged`` with their column ``called``.
_DISTINCT_NAME = (
    "(SELECT n.name FROM function_names n WHERE n.full_name = called AND n.name IS DISTINCT FROM n.func_name)"
)
#: Maximum number of tasks that are remembered because their callees wait for a path.
_MAX_WAITING = 200_000

#: Query for the keys of a table's attempts, with a hash of each attempt's contents.
_CONTENT = f"SELECT {_KEY}, hash(p) AS content FROM (SELECT * EXCLUDE {{1}} FROM {{0}}) p"


class AttemptFlush:
    """The steps of one flush. Call the methods in order and in one transaction.

    ``paths`` receives new call paths. ``waiting`` holds tasks whose own path is unknown, so that their
    callees have no path or possibly a wrong one.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, paths: PathIndex, waiting: set[str]) -> None:
        self._connection = connection
        self._paths = paths
        self._waiting = waiting
        #: Number of rows that the record already has for the tasks in this flush.
        self._stored = 0

    def merge(self, parts: Sequence[pa.Table], called: Mapping[str, str], *, has_callers: bool) -> None:
        """Create ``merged`` from parts and the stored rows of their tasks.

        ``called``: task -> caller, as reported by the tracer since the last flush. ``has_callers``: whether
        the record already has such callers.
        """
        has_any_caller = bool(called or has_callers)
        with contextlib.ExitStack() as stack:
            tables = [
                stack.enter_context(self._registered(f"part_{n}", part)) for n, part in enumerate(parts)
            ]
            stack.enter_context(self._registered("fresh_callers", rows.caller_table(called)))
            self._create(
                "tasks",
                " UNION ".join(f"SELECT {_TASK} FROM {table}" for table in (*tables, "fresh_callers")),
            )
            if has_any_caller:
                self._find_callers(stored_too=has_callers)
            # Find the rows in a separate step, because that reads only two columns.
            self._create(
                "places", f"SELECT attempts.rowid AS row FROM attempts SEMI JOIN tasks USING ({_TASK})"
            )
            self._stored = self._create(
                "stored",
                f"SELECT {AS_PARTS}, a.rowid AS row, path_id FROM attempts a "
                "SEMI JOIN places p ON a.rowid = p.row",
            )
            stored = ["(SELECT * EXCLUDE (row, path_id) FROM stored)"] if self._stored else []
            self._create("merged", merge([*tables, *stored]))
        self._share_definitions()
        if has_any_caller:
            self._execute(
                "UPDATE merged SET caller_task_id = least(caller_task_id, callers.caller) FROM callers "
                "WHERE merged.task_hi = callers.task_hi AND merged.task_lo = callers.task_lo"
            )

    def _find_callers(self, *, stored_too: bool) -> None:
        """Create ``callers`` with the callers of ``tasks`` reported by the tracer."""
        stored = (
            f"UNION ALL SELECT {_TASK}, {hex_id('object')} FROM edge_rows "
            f"SEMI JOIN tasks USING ({_TASK}) WHERE kind = 'caller'"
        )
        self._create(
            "callers",
            f"SELECT {_TASK}, min(caller) AS caller "
            f"FROM (FROM fresh_callers {stored if stored_too else ''}) GROUP BY ALL",
        )

    def _share_definitions(self) -> None:
        """Copy the definition to retries and restarts that lack it, from another attempt of the same task.

        Ray reports no definition for restarts of actors, and that of a retry can be lost.
        """
        if not self._rows("SELECT 1 FROM merged WHERE attempt > 0 AND name IS NULL LIMIT 1"):
            return
        shared = ", ".join(f"{name} = coalesce(merged.{name}, d.definition.{name})" for name in DEFINITION)
        packed = ", ".join(f"{name} := {name}" for name in DEFINITION)
        self._execute(
            f"UPDATE merged SET {shared} FROM (SELECT {_TASK}, arg_min(struct_pack({packed}), attempt) "
            f"AS definition FROM merged WHERE name IS NOT NULL GROUP BY {_TASK}) d "
            "WHERE merged.name IS NULL AND merged.task_hi = d.task_hi AND merged.task_lo = d.task_lo"
        )

    def choose(self, settled_or_before: float | None, max_waiting: int) -> pa.Table | None:
        """Create ``calls``, and choose what to write now. Returns the parts that wait for other parts.

        ``settled_or_before``: new attempts are written only if they are complete or arrived before this time
        (monotonic, s), unless more than ``max_waiting`` would have to wait. With None, everything is written.
        """
        wait = None
        if settled_or_before is not None:
            wait = f"NOT ({_SETTLED}) AND {SINCE} > {settled_or_before!r}"
            ((waiting,),) = self._rows(f"SELECT count(*) FROM merged WHERE {wait}")
            wait = wait if waiting <= max_waiting else None
        self._create(
            "calls",
            f"SELECT m.task_hi, m.task_lo, m.attempt, {TASK_ID} AS task, {SUBMITTER} AS submitter, "
            f"{full_name('m')} AS called, {rays_name('m')} AS rays_name, function_hash AS code, row, "
            "s.path_id AS stored_path, "
            "CASE WHEN type = 'DRIVER_TASK' THEN 0 "
            f"WHEN {SUBMITTER} IS NOT DISTINCT FROM s.submitter "
            "AND NOT coalesce(function_hash IN (SELECT function_hash FROM fresh_places), false) "
            "THEN s.path_id END AS path_id, "
            f"row IS NOT NULL OR NOT ({wait or 'false'}) AS is_written FROM merged m LEFT JOIN "
            f"(SELECT {_KEY}, row, path_id, {SUBMITTER} AS submitter FROM stored) s USING ({_KEY})",
        )
        if self._stored:
            # Skip attempts that have not changed.
            contents = (_CONTENT.format("merged", SINCE), _CONTENT.format("stored", "(row, path_id)"))
            self._execute(
                f"UPDATE calls SET is_written = false FROM ({' INTERSECT '.join(contents)}) same "
                f"WHERE row IS NOT NULL AND {' AND '.join(f'calls.{name} = same.{name}' for name in KEY)}"
            )
        if wait is None:
            return None
        waits = (
            f"SELECT * FROM merged SEMI JOIN (FROM calls WHERE row IS NULL AND NOT is_written) USING ({_KEY})"
        )
        rest: pa.Table = self._connection.sql(waits).to_arrow_table()
        return rest if rest.num_rows else None

    def place_functions(self, placed: Mapping[str, PlacedFunction]) -> None:
        """Store the functions that the tracer distinguished since the last flush. ``placed``: Ray's hash ->
        names.
        """
        function_naming.place(self._connection, placed)

    def name_functions(self) -> None:
        """Name the functions of ``calls``, and rename those of stored attempts that were assigned to a wrong
        function.
        """
        is_late = function_naming.is_late(self._connection)
        if is_late:
            self._execute(
                f"INSERT INTO calls BY NAME SELECT {_AS_CALL} FROM attempts a "
                f"SEMI JOIN fresh_places USING (function_hash) ANTI JOIN calls USING ({_KEY})"
            )
        function_naming.rename(self._connection, is_late=is_late)

    def resolve_paths(self) -> None:
        """Assign a call path to each attempt, and to its callees if their paths change as a result."""
        done: set[tuple[str, int]] = set()
        while True:
            unresolved = self._resolve()
            moved = self._rows(
                "SELECT DISTINCT task, path_id FROM calls "
                "WHERE stored_path IS NOT NULL AND path_id IS DISTINCT FROM stored_path"
            )
            self._paths.forget(task for task, _ in moved)
            ready = {one for one in (*moved, *self._awaited()) if one[1] is not None} - done
            done |= ready
            self._waiting.difference_update(task for task, _ in ready)
            for task in (*unresolved, *(task for task, path in moved if path is None)):
                if len(self._waiting) < _MAX_WAITING:
                    self._waiting.add(task)
            if not ready:
                break
            self._look_again({task for task, _ in ready})

    def _resolve(self) -> set[str]:
        """Assign paths to calls whose caller's path is known. Returns the callers whose paths are unknown."""
        wanted = self._rows(
            "SELECT DISTINCT submitter, called FROM calls WHERE path_id IS NULL AND submitter IS NOT NULL"
        )
        if not wanted:
            return set()
        submitters = {submitter for submitter, _ in wanted if not submitter.startswith(DRIVER_PREFIX)}
        callers = self._callers() if submitters else []
        submitters.difference_update(task for task, *_ in callers)
        unknown = [submitter for submitter in submitters if self._paths.of_task(submitter) is None]
        if unknown:
            with self._registered("others", rows.task_table(unknown)):
                added = f"SELECT {_AS_CALL}, path_id FROM attempts a SEMI JOIN others USING ({_TASK})"
                self._execute(f"INSERT INTO calls BY NAME {added}")
            callers = self._callers()
        found = self._paths.resolve([call for call in wanted if call[1] is not None], callers)
        with self._registered("found", rows.path_table(found)):
            self._execute(
                "UPDATE calls SET path_id = found.path_id FROM found WHERE calls.path_id IS NULL "
                "AND calls.submitter = found.submitter AND calls.called = found.called"
            )
        return {submitter for submitter, _ in wanted} - {submitter for submitter, *_ in found}

    def _callers(self) -> list[tuple[Any, ...]]:
        """The callers of attempts without a path, each with its own caller, its function, and its path."""
        return self._rows(
            "SELECT task, submitter, called, path_id FROM calls SEMI JOIN "
            "(SELECT submitter AS task FROM calls WHERE path_id IS NULL) USING (task) "
            "ORDER BY path_id NULLS LAST, attempt"
        )

    def _awaited(self) -> list[tuple[str, int]]:
        """The tasks in ``calls`` whose callees waited for a path and that now have one, as (task, path)."""
        if not self._waiting:
            return []
        with self._registered("others", rows.task_table(self._waiting)):
            return self._rows(
                f"SELECT DISTINCT task, path_id FROM calls SEMI JOIN others USING ({_TASK}) "
                "WHERE path_id IS NOT NULL"
            )

    def _look_again(self, tasks: Collection[str]) -> None:
        """Clear the paths of these tasks' callees, after adding callees that are already stored to
        ``calls``.
        """
        with self._registered("others", rows.task_table(tasks)):
            self._execute(
                f"INSERT INTO calls BY NAME SELECT {_AS_CALL} FROM attempts a "
                "SEMI JOIN others o ON a.parent_hi = o.task_hi AND a.parent_lo = o.task_lo "
                f"ANTI JOIN calls USING ({_KEY})"
            )
        with self._registered("others", pa.table({"submitter": list(tasks)})):
            self._execute(
                "UPDATE calls SET path_id = NULL FROM others WHERE calls.submitter = others.submitter"
            )

    def write(self) -> int:
        """Write new and changed attempts, and changed paths.

        Returns the number of attempts written.
        """
        is_moved = "NOT is_written AND row IS NOT NULL AND path_id IS DISTINCT FROM stored_path"
        ((written, replaced, moved),) = self._rows(
            "SELECT count(*) FILTER (is_written), count(*) FILTER (is_written AND row IS NOT NULL), "
            f"count(*) FILTER ({is_moved}) FROM calls"
        )
        if moved:
            self._execute(
                f"UPDATE attempts SET path_id = c.path_id FROM (FROM calls WHERE {is_moved}) c "
                "WHERE attempts.rowid = c.row"
            )
        if replaced:
            self._execute("DELETE FROM attempts USING calls c WHERE attempts.rowid = c.row AND c.is_written")
        if written:
            parts = f"(FROM merged JOIN (FROM calls WHERE is_written) USING ({_KEY}))"
            self._execute(insert_attempts(parts, _DISTINCT_NAME))
        return int(written + moved)

    def _create(self, name: str, query: str) -> int:
        """Create a temporary table. Returns its number of rows."""
        ((count,),) = self._rows(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return int(count)

    @contextlib.contextmanager
    def _registered(self, name: str, table: pa.Table) -> Iterator[str]:
        self._connection.register(name, table)
        yield name
        self._connection.unregister(name)

    def _execute(self, sql: str) -> None:
        self._connection.execute(sql)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()
