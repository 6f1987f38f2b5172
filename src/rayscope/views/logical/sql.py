"""Calls and data passed between functions: sums over attempts and over objects that moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import NamedTuple

import duckdb

from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.data_edges import data_edges
from rayscope.storage.sql.execution import (
    FUNCTION,
    NOT_DRIVER,
    TASK_ID,
    attempt_key,
    called_name,
    ended_at,
    is_driver,
    times,
    waited_columns,
    waited_ns,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.function_names import (
    IS_ACTOR,
    UNFOLDED,
    Unfolded,
    box_of,
    class_of,
    shown_id,
    tasks_named,
    with_function,
)
from rayscope.storage.sql.pages import Row, Where, rows_of
from rayscope.views.logical.sums_sql import called, sums_of_attempts

#: Maximum number of classes and functions in ``expand``.
MAX_EXPANDED = 10
#: Maximum number of instances to show per class: those with the most attempts.
MAX_INSTANCES = 50
#: Maximum number of calls to show per function: the longest ones.
MAX_CALLS = 50
#: Classes whose instances call each other are unfolded by default, up to this number of instances in total.
MAX_UNASKED = 30
#: If a graph has more functions and edges than this, such classes stay folded.
MAX_UNASKED_ROWS = 200
#: With more attempts than this, quantiles are estimated (from a sample if classes are unfolded).
EXACT_QUANTILES = 100_000
#: Up to this many attempts, data edges are read in parallel with the sums. With more attempts, that would
#: need too much memory.
_MAX_PARALLEL_ATTEMPTS = 1_000_000
#: If a session has more attempts than this, its rollup does not unfold classes, which would need too much
#: memory.
ROLLUP_UNASKED = 1_000_000
_KEY = "task_hi, task_lo, attempt"
_PICKED = (
    f"{_KEY}, func_name, distinct_name, name, module_name, type, state, path_id, parent_hi, parent_lo, "
    "actor_id, output_bytes"
)


def _called(where: Where, last: int, is_exact: bool, is_unfolded: bool, spans: str) -> str:
    """Return SQL for sums by function, and by caller and function.

    The parameters are :class:`Unfolded` and those of ``where``. ``spans`` is an SQL condition for the waits
    to read. The caller of an attempt comes from its call path, if that is known. The parent is looked up only
    for other attempts, and for callers whose instances are separate.
    """
    estimated = () if is_exact else ("reservoir_quantile", ", 8192")
    wanted = f"{class_of('up.name')} IN (SELECT unnest(unfolded) FROM asked)" if is_unfolded else "false"
    ended = f"SELECT {_KEY}, ended FROM picked"
    of_attempt = times(last)
    box = caller_box = "NULL::VARCHAR"
    if is_unfolded:
        box = box_of("n.func", "n.actor_id", shown_id("n.task"))
        caller_box = box_of("coalesce(c.func, n.up)", "c.actor_id", shown_id("n.parent"))
    return f"""
WITH {UNFOLDED}),
picked AS (
    SELECT {_PICKED}, {ended_at(last)} AS ended, {of_attempt["duration"]} AS duration,
        {of_attempt["total"]} AS total,
        coalesce({of_attempt["executing"]}, 0) AS executing
    FROM attempts{where.sql}),
named AS ({with_function("picked", "p.*")}),
placed AS (
    SELECT n.*, up.name AS up, coalesce({is_driver("parent")}, false) AS of_driver,
        up.name IS NULL OR {wanted} AS look_up
    FROM named n
    LEFT JOIN paths own ON own.path_id = n.path_id
    LEFT JOIN paths up ON up.path_id = own.parent_path_id),
callers AS ({tasks_named("task_hi IN (SELECT parent_hi FROM placed WHERE look_up AND NOT of_driver)")}),
called AS (
    SELECT n.*, {box} AS box,
        CASE WHEN of_driver THEN 'driver' WHEN coalesce(n.up, c.func) IS NULL THEN 'unknown' ELSE 'function'
            END AS caller_kind,
        CASE WHEN of_driver THEN right(parent_lo, 8) ELSE coalesce(n.up, c.func) END AS caller,
        CASE WHEN NOT of_driver THEN {caller_box} END AS caller_box,
        {waited_columns()}
    FROM placed n
    LEFT JOIN callers c ON n.look_up AND c.task_hi = n.parent_hi AND c.task_lo = n.parent_lo
    LEFT JOIN ({waited_ns(spans, ended)}) b ON b.key = {attempt_key("n.")})
{sums_of_attempts("called", IS_ACTOR, *estimated)}"""


def _states(where: Where, is_unfolded: bool) -> str:
    """Return SQL that counts the attempts of each function by state.

    The parameters are :class:`Unfolded` and those of ``where``.
    """
    box = box_of("func", "actor_id", "task") if is_unfolded else "NULL::VARCHAR"
    return f"""
WITH {UNFOLDED}),
picked AS (
    SELECT func_name, distinct_name, name, module_name, type, actor_id,
        {shown_id("task") if is_unfolded else "NULL"} AS task,
        coalesce(state, 'NIL') AS state, count(*) AS attempts
    FROM attempts{where.sql} GROUP BY ALL),
named AS ({with_function("picked", "p.actor_id, p.task, p.state, p.attempts")})
SELECT func, {box} AS box, state, sum(attempts)::BIGINT FROM named GROUP BY ALL ORDER BY state
"""


class LogicalRows(NamedTuple):
    """The arguments of ``rayscope.views.logical.compute.logical_graph``, and how exact they are."""

    functions: list[Row]
    calls: list[Row]
    data: list[Row]
    methods: set[str]
    instances: dict[str, int]
    is_estimated: bool
    sampled: int
    #: Labels of shown actors by ID: the actor's name, or else the result of its ``__repr__``. Rollups that
    #: were written by older versions have no labels.
    names: dict[str, str] = {}  # noqa: RUF012 - a default that is never modified


def logical_rows(
    file: SessionFile,
    filters: TaskFilters,
    *,
    last_ns: int,
    expand: Sequence[str] = (),
    fold: Sequence[str] = (),
    unasked: int = EXACT_QUANTILES,
) -> LogicalRows:
    """Return sums by function, by caller and function, and by the two ends of data edges.

    ``filters`` select the attempts. A data edge counts if one of its ends is among them. Running attempts
    last until ``last_ns``. Classes whose instances call each other are unfolded even if they are not in
    ``expand``, unless they are in ``fold`` or there are more than ``unasked`` attempts. Times are in ns, and
    sizes in bytes. Raises BadQuery.
    """
    if len(expand) > MAX_EXPANDED:
        raise BadQuery(
            f"At most {MAX_EXPANDED} classes and functions can be expanded at once.",
            "Use fewer `expand` parameters.",
            what="expanded",
            limit=MAX_EXPANDED,
        )
    where = attempts_where(filters)
    is_filtered = bool(filters.active())
    unfolded = list(dict.fromkeys(expand))
    with ThreadPoolExecutor(1, "rayscope-data") as executor, file.reader() as reader:
        attempt_count, waits = (
            (reader.execute(f"SELECT count(*) FROM {of}", values).fetchone() or (0,))[0]
            for of, values in ((f"attempts{where.sql}", where.values), ("span_rows", []))
        )
        is_exact = attempt_count <= EXACT_QUANTILES
        # If most attempts match, looking up their waits would take longer than reading all waits.
        spans = "task_hi IN (SELECT task_hi FROM picked)" if is_filtered and attempt_count < waits else "true"
        unfolded = _without_methods(reader, unfolded)
        instances = instances_of(reader, where)
        own = set(_recursive(reader, instances) if attempt_count <= unasked else ()) - {*expand, *fold}
        unfolded += sorted(own)
        actors = _largest_instances(reader, where, unfolded)
        tasks = _longest(reader, where, unfolded, last_ns)
        unfolding = Unfolded(unfolded, actors, tasks, [int(task[:16], 16) for task in tasks])
        mine = where if is_filtered else None
        # The sums use only one core most of the time.
        is_parallel = attempt_count <= _MAX_PARALLEL_ATTEMPTS
        moving = executor.submit(data_edges, file, mine, attempt_count, unfolding) if is_parallel else None
        if is_exact or unfolded:
            values = [*unfolding, *where.values]
            sum_rows = rows_of(
                reader.execute(_called(where, int(last_ns), is_exact, bool(unfolded), spans), values)
            )
            counted = reader.execute(_states(where, bool(unfolded)), [*unfolding, *where.values]).fetchall()
        else:
            sum_rows, counted = called(reader, where, int(last_ns), spans)
        share, data = moving.result() if moving else data_edges(file, mine, attempt_count, unfolding)
        methods = _methods(reader, sum_rows, data)
        names = _names(reader, actors)
    if own and len(sum_rows) + len(data) > MAX_UNASKED_ROWS:
        return logical_rows(file, filters, last_ns=last_ns, expand=expand, fold=[*fold, *own])
    rows = with_states(sum_rows, counted)
    return LogicalRows(*rows, data, methods, instances, not is_exact, share, names)


def _without_methods(reader: duckdb.DuckDBPyConnection, names: list[str]) -> list[str]:
    """Remove methods from the names. In the graph, a method's calls belong to the instances of its class."""
    if not any("." in name for name in names):
        return names
    methods = reader.execute(
        f"SELECT DISTINCT func FROM ({_METHODS}) WHERE func IN (SELECT unnest(?::VARCHAR[]))", [names]
    ).fetchall()
    return [name for name in names if (name,) not in methods]


def with_states(
    rows: list[Row], counted: Iterable[tuple[str | None, str | None, str, int]]
) -> tuple[list[Row], list[Row]]:
    """Return (functions with their attempts by state, calls). ``rows`` contains both kinds."""
    states: dict[tuple[str | None, str | None], dict[str, int]] = {}
    for func, box, state, number in counted:
        states.setdefault((func, box), {})[state] = number
    functions: list[Row] = []
    calls: list[Row] = []
    for row in rows:
        if row.pop("is_node"):
            functions.append({**row, "states": states.get((row["func"], row["box"]), {})})
        else:
            calls.append(row)
    return functions, calls


def attempts_where(filters: TaskFilters) -> Where:
    """Return the condition for the attempts that the graph counts. Raises BadQuery."""
    where = attempt_filters(filters)
    if filters.type == "DRIVER_TASK":
        where.add(NOT_DRIVER)  # drivers call tasks, and nothing calls drivers
    return where


def _by_actor(where: Where) -> str:
    """Return SQL that counts the matching attempts of each actor. The parameters are those of ``where``."""
    return (
        "WITH picked AS (SELECT func_name, distinct_name, name, module_name, type, actor_id, "
        "count(*) AS attempts "
        f"FROM attempts{where.sql} AND {IS_ACTOR} AND actor_id IS NOT NULL GROUP BY ALL), "
        f"named AS ({with_function('picked', 'p.actor_id, p.attempts')}) "
        f"SELECT {class_of('func')} AS class, actor_id, sum(attempts) AS attempts FROM named "
        "WHERE class IS NOT NULL GROUP BY class, actor_id"
    )


def instances_of(reader: duckdb.DuckDBPyConnection, where: Where) -> dict[str, int]:
    """Return the number of actors with matching attempts, by class."""
    by_class = f"SELECT class, count(*) FROM ({_by_actor(where)}) GROUP BY class"
    return dict(reader.execute(by_class, where.values).fetchall())


def _largest_instances(reader: duckdb.DuckDBPyConnection, where: Where, classes: list[str]) -> list[str]:
    """Return the actors of ``classes`` to show: those with the most attempts."""
    if not classes:
        return []
    found = reader.execute(
        f"SELECT actor_id FROM ({_by_actor(where)}) WHERE list_contains(?, class) "
        "QUALIFY row_number() OVER (PARTITION BY class ORDER BY attempts DESC, actor_id) "
        f"<= {MAX_INSTANCES}",
        [*where.values, classes],
    ).fetchall()
    return [actor for (actor,) in found]


def _recursive(reader: duckdb.DuckDBPyConnection, instances: Mapping[str, int]) -> list[str]:
    """Return the classes with several instances that call each other.

    Those with the fewest instances come first, up to :data:`MAX_UNASKED` instances in total.
    """
    name, caller = class_of("own.name"), class_of("up.name")
    found = reader.execute(
        f"SELECT DISTINCT {name} FROM paths own JOIN paths up ON up.path_id = own.parent_path_id "
        f"WHERE {name} = {caller}"
    ).fetchall()
    classes = sorted((instances.get(cls, 0), cls) for (cls,) in found)
    together = accumulate(number for number, _ in classes)
    return [
        cls
        for (number, cls), total in zip(classes, together, strict=True)
        if number > 1 and total <= MAX_UNASKED
    ][:MAX_EXPANDED]


def _names(reader: duckdb.DuckDBPyConnection, actors: list[str]) -> dict[str, str]:
    """Return the labels of actors by ID. Actors without a label are left out."""
    if not actors:
        return {}
    return dict(
        reader.execute(
            "SELECT actor_id, coalesce(max(nullif(a.name, '')), max(nullif(actor_repr_name, ''))) AS told "
            "FROM attempts LEFT JOIN actor_rows a ON a.id = actor_id "
            "WHERE actor_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY actor_id HAVING told IS NOT NULL",
            [actors],
        ).fetchall()
    )


def _longest(
    reader: duckdb.DuckDBPyConnection, where: Where, functions: Sequence[str], last_ns: int
) -> list[str]:
    """Return, for each of ``functions``, the tasks with the longest matching attempts."""
    took = times(int(last_ns))["duration"]
    return [
        task
        for function in functions
        for (task,) in reader.execute(
            f"SELECT {TASK_ID} AS task FROM attempts{where.sql} AND {called_name('attempts')} = ? "
            f"ORDER BY {took} DESC NULLS LAST, task LIMIT {MAX_CALLS}",
            [*where.values, function],
        ).fetchall()
    ]


#: SQL for the functions that actors executed.
_METHODS = f"SELECT {FUNCTION} AS func FROM attempts WHERE {IS_ACTOR}"


def _methods(reader: duckdb.DuckDBPyConnection, rows: list[Row], data: list[Row]) -> set[str]:
    """Return which functions are methods of actors, including callers and ends of edges without attempts."""
    known = {row["func"] for row in rows}
    method_names = {row["func"] for row in rows if row["is_method"] and row["func"]}
    named = {row["caller"] for row in rows if row["caller_kind"] == "function"}
    for name in ("producer", "consumer"):
        named |= {row[name] for row in data if row[f"{name}_kind"] == "function"}
    unknown_names = sorted(name for name in named - known if "." in name)
    if not unknown_names:
        return method_names
    others = reader.execute(
        f"SELECT DISTINCT func FROM ({_METHODS}) WHERE func IN (SELECT unnest(?::VARCHAR[]))", [unknown_names]
    ).fetchall()
    # Ray does not name restarts of actors, so these are not found above.
    restarted = {name for name in unknown_names if name.endswith(".__init__")}
    return method_names | {name for (name,) in others} | restarted
