"""Queries which objects moved, who waited for whom, and where time went, for one task and by function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from rayscope.cluster.recording.schemas import Tracing
from rayscope.cluster.tasks import schemas
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import execution
from rayscope.storage.sql.execution import NOT_DRIVER, SCHEDULING_PHASES
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.pages import rows_of
from rayscope.storage.sql.samples import TRACES_ALL

_TOP = 100
_OF = "task_hi = $high AND task_lo = $low"
_OF_PARENT = f"task_hi IN (SELECT parent_hi FROM attempts WHERE {_OF})"


class LargestEdges(NamedTuple):
    """The largest edges of a task, the number of all its edges, and the total bytes of those that count as
    its data.
    """

    rows: list[schemas.EdgeItem]
    total: int
    bytes: int


class TaskFlow(NamedTuple):
    """The flow of a task: its largest objects, annotations, the scheduling phases (ns) of each attempt, and
    ``waits_for``: the tasks whose values it awaits.
    """

    data_in: LargestEdges
    data_out: LargestEdges
    annotations: list[schemas.AnnotationItem]
    scheduling: list[schemas.SchedulingItem]
    waits_for: list[schemas.AwaitedTask]


def of_task(reader: duckdb.DuckDBPyConnection, high: int, low: str, last_ns: int) -> TaskFlow:
    """The flow of one task."""
    task_id = f"{high:016x}{low}"
    key: dict[str, int | str] = {"high": high, "low": low, "task": task_id}
    ins = _largest(reader, "consumer_task_id = $task AND kind IN ('argument', 'get')", "NOT nested", key)
    # An object of the task that several tasks used counts once.
    outs = _largest(reader, "producer_task_id = $task", "nth = 1 OR by_value", key)
    _name(reader, ins.rows + outs.rows)
    notes = rows_of(
        reader.execute(
            "SELECT attempt, kind, name, value, number, time_ns FROM annotation_rows "
            "WHERE task_hi = ? AND task_lo = ? ORDER BY time_ns DESC LIMIT 1000",
            [high, low],
        )
    )
    lasted = rows_of(
        reader.execute(
            f"SELECT * FROM ({execution.phases(_OF, _OF, _OF_PARENT, int(last_ns))}) ORDER BY attempt",
            {"high": high, "low": low},
        )
    )
    return TaskFlow(ins, outs, notes[::-1], lasted, _missing_arguments(reader, high, low))


def _missing_arguments(reader: duckdb.DuckDBPyConnection, high: int, low: str) -> list[schemas.AwaitedTask]:
    """The tasks whose values a pending task still lacks as arguments."""
    return rows_of(
        reader.execute(
            f"""
SELECT {execution.TASK_ID} AS task_id, any_value({SHOWN_NAME}) AS name, arg_max(state, attempt) AS state
FROM attempts
WHERE (task_hi, task_lo) IN (
    SELECT (e.object_hi, e.object_lo)
    FROM edge_rows e JOIN attempts w ON w.task_hi = e.task_hi AND w.task_lo = e.task_lo
    WHERE w.task_hi = $high AND w.task_lo = $low AND w.state = 'PENDING_ARGS_AVAIL' AND e.kind = 'argument'
        AND e.object_index < {execution.FIRST_PUT})
GROUP BY task_hi, task_lo HAVING arg_max(coalesce({execution.END}, -1), attempt) = -1
ORDER BY name, task_id LIMIT {_TOP}""",
            {"high": high, "low": low},
        )
    )


def _largest(
    reader: duckdb.DuckDBPyConnection, where: str, counted: str, key: Mapping[str, str | int]
) -> LargestEdges:
    """A task's largest edges, the number of edges, and the total bytes of those selected by ``counted``."""
    found = rows_of(
        reader.execute(
            f"SELECT *, count(*) OVER () AS total, least(coalesce("
            f"sum(bytes) FILTER ({counted}) OVER (), 0), {execution.FOREVER})::BIGINT AS whole "
            "FROM (SELECT *, row_number() OVER (PARTITION BY object_id ORDER BY bytes DESC NULLS LAST) "
            f"AS nth FROM ({execution.EDGES_NEAR_TASK}) WHERE {where}) "
            f"ORDER BY bytes DESC NULLS LAST, object_id, kind LIMIT {_TOP}",
            dict(key),
        )
    )
    total, whole = (found[0]["total"], found[0]["whole"] or 0) if found else (0, 0)
    for row in found:
        del row["total"], row["whole"], row["nth"]
    return LargestEdges(found, total, whole)


def _name(reader: duckdb.DuckDBPyConnection, edges: list[schemas.EdgeItem]) -> None:
    """Add ``producer_name``, ``consumer_name``, and ``is_remote``: whether the two ran on different nodes."""
    ids = {id for row in edges for id in (row["producer_task_id"], row["consumer_task_id"]) if id}
    found = reader.execute(
        f"SELECT {execution.TASK_ID} AS id, any_value({SHOWN_NAME}), arg_max(node_id, attempt) FROM attempts "
        f"WHERE {NOT_DRIVER} AND task_hi IN (SELECT unnest(?::UBIGINT[])) GROUP BY id",
        [[int(task_id[:16], 16) for task_id in ids]],
    ).fetchall()
    known = {task_id: (name, node) for task_id, name, node in found}
    drivers = reader.execute("SELECT id, driver_node_id FROM job_rows").fetchall()
    known |= {DRIVER_PREFIX + job_id: ("driver", node) for job_id, node in drivers}

    def name_and_node(task_id: str) -> tuple[str | None, str | None]:
        name, node = known.get(task_id, (None, None))
        return name or ("driver" if task_id.startswith(DRIVER_PREFIX) else None), node

    for row in edges:
        row["producer_name"], producer_node = name_and_node(row["producer_task_id"] or "")
        row["consumer_name"], consumer_node = name_and_node(row["consumer_task_id"] or "")
        is_known = producer_node is not None and consumer_node is not None
        row["is_remote"] = producer_node != consumer_node if is_known else None


def scheduling(
    file: SessionFile,
    last_ns: int,
    job_id: str | None = None,
    limit: int = 200,
    *,
    since_ns: int | None = None,
    until_ns: int | None = None,
) -> list[schemas.FunctionSchedulingItem]:
    """For each function: its attempts, the sums of their times and phases (ns), and how many ran on the node
    that submitted them.

    docs/reference/glossary.md defines the times. ``cpu_ns`` is None if it is unknown for all attempts.
    ``local`` and ``spilled`` count attempts for which both nodes are known. ``since_ns`` and ``until_ns``:
    only attempts that were in flight between them.
    """
    times = (*SCHEDULING_PHASES, "total", "waiting", "duration")
    sums = ", ".join(f"{execution.total(f'{name}_ns')} AS {name}_ns" for name in times)
    given = {
        "job": (job_id or None, "job_id = $job"),
        "since": (since_ns, f"coalesce({execution.END}, {execution.FOREVER}) >= $since"),
        "until": (until_ns, f"{execution.CREATED} <= $until"),
    }
    conditions = [condition for value, condition in given.values() if value is not None]
    where = " AND ".join([NOT_DRIVER, *conditions])
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"SELECT func_name, any_value(type) AS type, count(*) AS attempts, {sums}, "
                f"CASE WHEN count(cpu_ns) > 0 THEN {execution.total('cpu_ns')} END AS cpu_ns, "
                "count(*) FILTER (is_local) AS local, count(*) FILTER (NOT is_local) AS spilled "
                f"FROM ({execution.phases(where, last=int(last_ns))}) "
                "GROUP BY func_name ORDER BY total_ns DESC, func_name NULLS LAST "
                f"LIMIT {int(limit)}",
                {name: value for name, (value, _) in given.items() if value is not None},
            )
        )


_CLASSES_WITHOUT_EVENTS = 10
#: If more rows than this name tasks, only a sample of tasks is examined: those whose IDs begin with the
#: lowest numbers. The first half of a task ID is random.
_NAMED_AT_ONCE = 1_000_000


def _without_events(reader: duckdb.DuckDBPyConnection) -> list[tuple[str | None, int]]:
    """The number of tasks that spans and objects refer to but that have no recorded attempt, by actor class.

    Ray's own actors do not count, because Ray disables their events. User threads do not count either: they
    have artificial task IDs, which belong to no known actor or function.
    """
    counted = reader.execute("SELECT (SELECT count(*) FROM span_rows) + (SELECT count(*) FROM edge_rows)")
    (rows,) = counted.fetchone() or (0,)
    one_in = 1 + rows // _NAMED_AT_ONCE
    below = (2**64 - 1) // one_in

    def named(columns: str, where: str) -> str:
        of_object = columns.replace("task", "object")
        return (
            f"SELECT {columns} FROM span_rows WHERE {where} UNION ALL SELECT {columns} FROM edge_rows "
            f"WHERE {where} UNION ALL SELECT {of_object} FROM edge_rows "
            f"WHERE {where.replace('task', 'object')} AND object_index < {execution.FIRST_PUT}"
        )

    # First compare only the numeric part of the IDs: usually, no task is missing.
    missing = f"""
        SELECT DISTINCT task_hi FROM ({named("task_hi", f"task_hi <= {below}")})
        WHERE task_hi NOT IN (SELECT task_hi FROM attempts WHERE task_hi <= {below}) AND task_hi IS NOT NULL
    """
    if reader.execute(f"{missing} LIMIT 1").fetchone() is None:
        return []
    ids = named("task_hi, task_lo", "task_hi IN (SELECT hi FROM missing)")
    by_class = f"""
        WITH missing(hi) AS ({missing})
        SELECT (SELECT class_name FROM actor_rows WHERE id = task_lo) AS class_name,
            (count(*) * {one_in})::BIGINT AS tasks
        FROM (SELECT DISTINCT task_hi, task_lo FROM ({ids}))
        WHERE NOT {execution.is_driver("task")}
            AND (starts_with(task_lo, '{"f" * 24}')
                OR task_lo IN (SELECT id FROM actor_rows WHERE NOT {IS_INTERNAL["actor"]}))
        GROUP BY class_name ORDER BY tasks DESC, class_name
    """
    return reader.execute(by_class).fetchall()


def tracing(file: SessionFile) -> Tracing:
    """The numbers of traced and untraced workers among those that ran tasks, and other states of tracers.

    A worker that only others reported (it was killed before it could send anything) counts as neither.
    ``tasks_without_events``: tasks that ran but are not recorded, because ``enable_task_events`` is off for
    them. Tasks that neither received nor created an object are not included. In large records, the number is
    estimated from a sample.
    """
    with file.reader() as reader:
        found = reader.execute(
            "SELECT count(*) FILTER (tracer LIKE 'on%'), count(*) FILTER (tracer IS NULL) FROM worker_rows "
            "WHERE id IN (SELECT DISTINCT worker_id FROM attempts "
            f"WHERE {NOT_DRIVER} AND execute_begin_ns IS NOT NULL)"
        ).fetchone()
        said = reader.execute(
            f"SELECT tracer, count(*) FROM worker_rows WHERE tracer IS NOT NULL AND NOT {TRACES_ALL} "
            "GROUP BY tracer ORDER BY count(*) DESC LIMIT 10"
        ).fetchall()
        summed = reader.execute(
            "SELECT least(coalesce(sum(TRY_CAST(json_extract(extra, '$.calls') AS BIGINT)), 0), "
            f"{execution.FOREVER})::BIGINT FROM span_rows WHERE {execution.SUMMED}"
        ).fetchone()
        without = _without_events(reader)
    traced, untraced = found or (0, 0)
    return {
        "traced": traced,
        "untraced": untraced,
        "said": [{"text": text, "workers": count} for text, count in said],
        "summed_calls": summed[0] if summed else 0,
        "tasks_without_events": sum(tasks for _, tasks in without),
        "without_events": [
            {"class_name": name, "tasks": tasks} for name, tasks in without[:_CLASSES_WITHOUT_EVENTS]
        ],
    }
