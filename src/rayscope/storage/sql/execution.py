"""SQL that interprets an execution: which objects moved, what waits for what, and where time went.

Used by the documented views (:mod:`rayscope.storage.schema`) and by queries over a part of the record.
"""

from __future__ import annotations

from rayscope.model import NO_OBJECT
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.sql.internal import job_of_driver

#: Later than any time (ns), and larger than any sum. Larger values are clamped to it.
FOREVER = 2**62


#: The two parts of the prefix of drivers' task IDs. The rest is the job's ID.
DRIVER_HI, DRIVER_LO = int(DRIVER_PREFIX[:16], 16), DRIVER_PREFIX[16:]


def hex_id(prefix: str) -> str:
    """SQL for a task's full hex ID, made of its two parts. NULL stays NULL."""
    return f"lower(lpad(to_hex({prefix}_hi), 16, '0') || {prefix}_lo)"


TASK_ID = hex_id("task")
#: SQL for the ID of the caller. ``NAMED_PARENT_ID`` is that of the parent according to Ray.
PARENT_ID = hex_id("parent")
NAMED_PARENT_ID = f"CASE WHEN named_parent IS NULL THEN {PARENT_ID} ELSE nullif(named_parent, '') END"


def attempt_key(of: str = "") -> str:
    """SQL for a number that identifies an attempt, for cheap joins.

    In a record of 10^7 attempts, the probability that any two collide is below 10^-5.
    """
    return f"hash({of}task_hi, {of}task_lo, {of}attempt)"


def is_driver(prefix: str) -> str:
    """SQL that tests whether a task ID, in two parts, belongs to a driver."""
    return f"({prefix}_hi = {DRIVER_HI} AND starts_with({prefix}_lo, '{DRIVER_LO}'))"


def total(of: str) -> str:
    """SQL for a sum that is clamped to 64 bits, or 0 if there are no rows."""
    return f"least(coalesce(sum({of}), 0), {FOREVER})::BIGINT"


# Columns computed when a row is written, see :data:`DERIVED`.
#: When an attempt was submitted.
CREATED = "created_at_ns"
#: When an attempt reached its worker. While it waits in the worker's queue, it does not occupy the worker
#: yet.
REACHED = "reached_at_ns"
#: When an attempt began to execute.
EXECUTING = "executing_at_ns"
#: When an attempt ended. This is Ray's ``end_time_ms``: the time of FAILED if that was reported, otherwise of
#: FINISHED.
END = "ended_at_ns"
START = "running_ns"
#: Ray reports each driver as a task. Lists and counts leave these out.
NOT_DRIVER = "type IS DISTINCT FROM 'DRIVER_TASK'"
#: Query for each state with the number of attempts in it, ordered by state.
COUNT_STATES = (
    f"SELECT coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} GROUP BY 1 ORDER BY 1"
)


#: Whether a row of ``span_rows`` was created by user code (``rayscope.span``), so that its name can be
#: anything.
IS_USERS_SPAN = """coalesce(starts_with(extra, '{"user":'), false)"""
#: Prefix of the names that we give to Ray Data's tasks.
DATA = "Data: "
#: Prefix of the names that we give to tasks of Dask on Ray.
DASK = "Dask: "
#: The function that runs all tasks of Dask on Ray.
_DASK_TASK = "dask_task_wrapper"
#: Extracts the function from the name ``dask:KEY`` of a task of Dask on Ray. It consists of the words before
#: the key's hash, as in Dask's UI: "load" in ``dask:load-8d3c3a7f``, "read-csv" in
#: ``dask:('read-csv-8d3c3a7f', 3)``.
_DASK_FUNCTION = r"^dask:[(]*[\x27\x22]?([A-Za-z_]\w*(?:-[A-Za-z]+)*)(?:[-\x27\x22,)]|$)"
#: SQL for the name of an attempt's function. It is distinct even if several functions have the same name in
#: Ray.
FUNCTION = "coalesce(distinct_name, func_name)"
#: The ID of the actor that a row of ``attempts`` without a name creates. Ray reports no definition, and so no
#: name, for restarts of actors.
CREATED_ACTOR = (
    "CASE WHEN func_name IS NULL AND name IS NULL AND type = 'ACTOR_CREATION_TASK' THEN actor_id END"
)


def creation_name(actor: str) -> str:
    """SQL for the name of an actor's creation task, made of the actor's class, or NULL if the class is
    unknown.
    """
    return f"(SELECT class_name || '.__init__' FROM actor_rows WHERE id = {actor})"


def is_of_data(of: str) -> str:
    """SQL that tests whether a row ``of`` is a named task of Ray Data.

    All operators run the same few functions (``_map_task``), but name their tasks after themselves.
    """
    return (
        f"(coalesce(starts_with({of}.module_name, 'ray.data.') AND {of}.type = 'NORMAL_TASK', false) "
        f"AND {of}.name IS NOT NULL)"
    )


def is_of_dask(of: str) -> str:
    """SQL that tests whether a row ``of`` is a task of Dask on Ray.

    Such tasks are named after keys of the Dask graph.
    """
    matches = f"regexp_matches({of}.name, '{_DASK_FUNCTION}')"
    return f"coalesce({of}.func_name = '{_DASK_TASK}' AND {matches}, false)"


def rays_name(of: str) -> str:
    """SQL for the function name that Ray reports for a row ``of``.

    NULL for tasks of Ray Data and Dask, because we name these ourselves.
    """
    return f"CASE WHEN NOT ({is_of_data(of)} OR {is_of_dask(of)}) THEN {of}.func_name END"


def _dask_name(of: str) -> str:
    return f"'{DASK}' || regexp_extract({of}.name, '{_DASK_FUNCTION}', 1)"


def full_name(of: str, *, is_placed: bool = True) -> str:
    """SQL for a unique name of the function of a row ``of`` of ``attempts`` or of parts, or NULL if unknown.

    ``is_placed``: whether to use the tracer's descriptions of lambdas, closures, and wrappers.
    """
    placed = f"(SELECT p.full_name FROM placed_functions p WHERE p.function_hash = {of}.function_hash)"
    return (
        f"CASE WHEN {is_of_data(of)} THEN '{DATA}' || {of}.name WHEN {is_of_dask(of)} THEN {_dask_name(of)} "
        f"WHEN {of}.func_name IS NULL THEN {of}.name "
        f"ELSE coalesce({placed if is_placed else 'NULL'}, "
        # Without the tracer, each definition of a lambda counts as a separate function.
        f"CASE WHEN {of}.func_name = '<lambda>' THEN '<lambda> (' || {of}.function_hash[:8] || ')' END, "
        f"{of}.module_name || '.' || {of}.func_name, {of}.func_name) END"
    )


def actors_worker(of: str) -> str:
    """SQL for the worker of the actor whose method a row ``of`` of ``attempts`` calls, or NULL if unknown."""
    return f"(SELECT any_value(worker_id) FROM actor_rows WHERE id = {of}.actor_id)"


def called_name(of: str) -> str:
    """SQL for the name of the function that a row ``of`` of ``attempts`` calls, or NULL if unknown.

    This is the name that Ray reports, or ``distinct_name`` if several functions share that name. Tasks of Ray
    Data are named ``Data: MapBatches(parse)``, and tasks of Dask on Ray ``Dask: load``.
    """
    # Usually there are no rows of Ray Data, and DuckDB then skips the first branch.
    return (
        f"CASE WHEN starts_with({of}.module_name, 'ray.data.') AND {of}.type = 'NORMAL_TASK' "
        f"AND {of}.name IS NOT NULL THEN '{DATA}' || {of}.name "
        f"WHEN {is_of_dask(of)} THEN {_dask_name(of)} "
        f"ELSE coalesce({of}.distinct_name, {of}.func_name, {of}.name) END"
    )


def function_name(of: str) -> str:
    """SQL for the name of the function of a row ``of`` of ``attempts``, or NULL if it was not reported.

    Like :func:`called_name`, but also names restarts of actors, after the actor's class.
    """
    return (
        f"coalesce({called_name(of)}, "
        f"CASE WHEN {of}.type = 'ACTOR_CREATION_TASK' THEN {creation_name(f'{of}.actor_id')} END)"
    )


#: Whether an attempt was sent to its worker, but its start is unknown. A worker reports its tasks once a
#: second, and when it dies, unreported events are lost. The attempt's waiting and execution times are then
#: unknown.
START_LOST = (
    "(coalesce(running_ns, execute_begin_ns, total_begin_ns) IS NULL AND (state = 'FINISHED' OR "
    "state = 'FAILED' AND (submitted_to_worker_ns IS NOT NULL OR error_type = 'TASK_EXECUTION_EXCEPTION')))"
)

# Objects and the edges between tasks.

#: Indices of objects created by ``ray.put`` start here. The first byte of the task ID in such an object's ID
#: is the number of the attempt.
FIRST_PUT = 100_000_001
#: SQL condition for rows of ``edge_rows``: the task received the object in its arguments, or fetched it.
CONSUMING_KINDS = "kind IN ('get', 'argument', 'nested', 'fetched')"


def object_id(prefix: str) -> str:
    """SQL for an object's full hex ID: the task's ID and the index in little-endian order."""
    index = f"{prefix}_index"
    swapped = (
        f"((({index} & 255) << 24) | (({index} & 65280) << 8) | (({index} >> 8) & 65280) | ({index} >> 24))"
    )
    return f"{hex_id(prefix)} || lower(lpad(to_hex({swapped}), 8, '0'))"


#: Whether a value was yielded by a generator, that is, stored before its task's function ended. The index of
#: its object is one more than its order, because the first object is the generator itself. The 5 µs allow for
#: the two clocks that the times come from, Python's and that of Ray's C++ code on the same machine.
_YIELDED = "coalesce(a.returned_ns < a.execute_end_ns - 5000, false)"


def _created_objects(of: str) -> str:
    """SQL for the objects that were returned or put, one row per object, although retries create an object
    again.

    ``of``: a condition on the object's columns, with ``{}`` in place of their prefix.
    """
    return f"""
SELECT object_hi, object_lo, object_index, any_value(task_hi) AS task_hi, any_value(task_lo) AS task_lo,
    max(attempt) AS attempt, arg_max(bytes, attempt) AS bytes, arg_max(time_ns, attempt) AS time_ns,
    any_value(kind) AS kind
FROM (
    SELECT a.task_hi, a.task_lo, a.attempt, a.task_hi AS object_hi, a.task_lo AS object_lo,
        (CASE WHEN {_YIELDED} THEN 2 ELSE 1 END)::UINTEGER AS object_index,
        a.return_bytes AS bytes, a.returned_ns AS time_ns, 'return' AS kind
    FROM attempts a WHERE a.return_bytes IS NOT NULL AND {of.format("a.task")}
    UNION ALL
    SELECT e.task_hi, e.task_lo, e.attempt, e.object_hi, e.object_lo,
        (e.object_index + CASE WHEN {_YIELDED} THEN 1 ELSE 0 END)::UINTEGER, e.bytes, e.begin_ns, 'return'
    FROM edge_rows e
    LEFT JOIN attempts a ON a.task_hi = e.task_hi AND a.task_lo = e.task_lo AND a.attempt = e.attempt
    WHERE (e.kind = 'return' OR (e.kind = 'last_return' AND NOT {_YIELDED})) AND {of.format("e.object")}
    UNION ALL
    SELECT task_hi, task_lo, attempt, object_hi, object_lo, object_index, bytes, end_ns, 'put'
    FROM edge_rows WHERE kind = 'put' AND {of.format("object")}
)
GROUP BY object_hi, object_lo, object_index
"""


def _passed_by_value(taken_if: str) -> str:
    """SQL for the objects that Ray itself put for a call, with the caller.

    Ray stores a large argument as an object with an index like that of ``ray.put``. User code has no
    reference to it, so any object that was put, got, waited for or passed on was not created in this way.
    """
    puts = f"kind = 'fetched' AND object_index >= {FIRST_PUT} AND {taken_if}"
    return f"""
SELECT f.*, c.caller.hi AS caller_hi, c.caller.lo AS caller_lo
FROM (SELECT DISTINCT task_hi, task_lo, object_hi, object_lo, object_index FROM edge_rows WHERE {puts}) f
LEFT JOIN (
    SELECT task_hi, task_lo, arg_min({{'hi': parent_hi, 'lo': parent_lo}}, attempt) AS caller FROM attempts
    WHERE parent_hi IS NOT NULL AND task_hi IN (SELECT task_hi FROM edge_rows WHERE {puts})
    GROUP BY task_hi, task_lo) c USING (task_hi, task_lo)
WHERE NOT EXISTS (
    SELECT 1 FROM edge_rows r
    WHERE r.kind != 'fetched' AND r.object_index >= {FIRST_PUT} AND r.object_hi = f.object_hi
        AND r.object_lo = f.object_lo AND r.object_index = f.object_index)
"""


def moved(taken_if: str, made_if: str, by: str = "NULL::INTEGER") -> str:
    """SQL for one row per object that a task received or got, and one per object that it returned or put.

    ``taken_if``: condition on rows of ``edge_rows``. ``made_if``: condition on objects, see
    :func:`_created_objects`. With ``by="attempt"``, there is a row for each attempt that took the object, and
    ``taken_by`` is the attempt.
    """
    return f"""
WITH made AS ({_created_objects(made_if)}),
by_value AS ({_passed_by_value(taken_if)}),
taken AS (
    SELECT task_hi, task_lo, {by} AS taken_by, object_hi, object_lo, object_index,
        CASE kind WHEN 'get' THEN 'get' ELSE 'argument' END AS taken_as, bool_and(kind = 'nested') AS nested,
        max(bytes) AS bytes, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns,
        count(*) FILTER (kind = 'get') AS gets, sum(end_ns - begin_ns) FILTER (kind = 'get') AS blocked_ns
    FROM edge_rows WHERE {CONSUMING_KINDS} AND {taken_if}
    GROUP BY task_hi, task_lo, taken_by, object_hi, object_lo, object_index, taken_as)
SELECT CASE WHEN made.task_hi IS NOT NULL THEN made.task_hi
        WHEN taken.object_index < {FIRST_PUT} THEN taken.object_hi ELSE by_value.caller_hi END AS producer_hi,
    CASE WHEN made.task_hi IS NOT NULL THEN made.task_lo
        WHEN taken.object_index < {FIRST_PUT} THEN taken.object_lo ELSE by_value.caller_lo END AS producer_lo,
    taken.task_hi AS consumer_hi, taken.task_lo AS consumer_lo,
    taken.object_hi AS object_hi, taken.object_lo AS object_lo, taken.object_index AS object_index,
    coalesce(taken.bytes, made.bytes) AS bytes, taken.taken_as AS kind, taken.nested AS nested,
    by_value.task_hi IS NOT NULL AS by_value, taken.begin_ns AS begin_ns, taken.end_ns AS end_ns,
    taken.gets AS gets, taken.blocked_ns::BIGINT AS blocked_ns, taken.taken_by AS taken_by
FROM taken LEFT JOIN made USING (object_hi, object_lo, object_index)
LEFT JOIN by_value ON by_value.task_hi = taken.task_hi AND by_value.task_lo = taken.task_lo
    AND by_value.object_hi = taken.object_hi AND by_value.object_lo = taken.object_lo
    AND by_value.object_index = taken.object_index
UNION ALL
SELECT made.task_hi, made.task_lo,
    CASE made.kind WHEN 'put' THEN made.task_hi ELSE a.parent_hi END,
    CASE made.kind WHEN 'put' THEN made.task_lo ELSE a.parent_lo END,
    made.object_hi, made.object_lo, made.object_index, made.bytes, made.kind, false,
    false, made.time_ns, made.time_ns, 0, NULL, NULL
FROM made LEFT JOIN attempts a ON made.kind = 'return' AND a.task_hi = made.task_hi
    AND a.task_lo = made.task_lo AND a.attempt = made.attempt
"""


_SHOWN = (
    f"{hex_id('producer')} AS producer_task_id, {hex_id('consumer')} AS consumer_task_id, "
    f"{object_id('object')} AS object_id, bytes, kind, nested, by_value, begin_ns, end_ns, gets, blocked_ns"
)


def nodes_of(which: str = "true") -> str:
    """SQL for the nodes on which tasks and drivers ran (``task_hi``, ``task_lo``, ``node_id``).

    ``which``: condition on ``attempts``.
    """
    return f"""
SELECT task_hi, task_lo, arg_max(node_id, attempt) AS node_id FROM attempts
WHERE node_id IS NOT NULL AND {NOT_DRIVER} AND {which} GROUP BY task_hi, task_lo
UNION ALL
SELECT {2**64 - 1}::UBIGINT, 'ffffffffffffffffffffffff' || id, driver_node_id FROM job_rows
WHERE driver_node_id IS NOT NULL
"""


#: Query for the ``task_hi`` of the tasks at both ends of the rows of a CTE ``moved``.
ENDS = "SELECT producer_hi FROM moved UNION ALL SELECT consumer_hi FROM moved"
_PLACED = f"""
SELECT {_SHOWN}, p.node_id != c.node_id AS is_remote
FROM moved
LEFT JOIN nodes p ON p.task_hi = producer_hi AND p.task_lo = producer_lo
LEFT JOIN nodes c ON c.task_hi = consumer_hi AND c.task_lo = consumer_lo
"""
#: Query for all data edges, with whether the object came from another node.
EDGES = f"""
WITH moved AS ({moved("true", "true")}), nodes AS ({nodes_of()}){_PLACED}"""


def edges_of(part: int, parts: int) -> str:
    """SQL for one of ``parts`` roughly equal parts of the rows of :data:`EDGES`. Reading in parts limits the
    memory needed.
    """
    of = f"_hi % {int(parts)} = {int(part)}"
    return f"""
WITH moved AS MATERIALIZED ({moved("object" + of, "{}" + of)}),
nodes AS ({nodes_of(f"task_hi IN ({ENDS})")}){_PLACED}"""


_OF_TASK = "task_hi = $high AND task_lo = $low"
_PUT_BY_TASK = f"FROM edge_rows WHERE kind = 'put' AND {_OF_TASK}"
_BY_VALUE_OF_TASK = (
    f"kind = 'fetched' AND object_index >= {FIRST_PUT} AND (task_hi, task_lo) IN "
    "(SELECT (task_hi, task_lo) FROM attempts WHERE parent_hi = $high AND parent_lo = $low)"
)
_TAKEN_OF_TASK = (
    f"(({_OF_TASK}) OR (object_hi = $high AND object_lo = $low) OR ({_BY_VALUE_OF_TASK}) OR "
    f"(object_index >= {FIRST_PUT} AND object_hi IN (SELECT object_hi {_PUT_BY_TASK})))"
)
_NEAR_TASK = moved(
    _TAKEN_OF_TASK,
    f"{{}}_hi IN (SELECT $high::UBIGINT UNION ALL SELECT object_hi {_PUT_BY_TASK} "
    f"UNION ALL SELECT object_hi FROM edge_rows WHERE {_OF_TASK})",
)
#: Query for the edges near one task ($high, $low): objects that it created or received, and the tasks that
#: received its objects. It returns a few other edges, too.
EDGES_NEAR_TASK = f"SELECT {_SHOWN} FROM ({_NEAR_TASK})"

# Waits.

#: Names of the spans in which a task waits for other tasks.
BLOCKING_SPANS = ("ray.get", "ray.wait", "await", "placement_group.wait")
#: Whether a row of ``span_rows`` is one of :data:`BLOCKING_SPANS`. Spans created by user code never are,
#: whatever their name.
WAITS = (
    f"name IN ({', '.join(map(repr, BLOCKING_SPANS))}) "
    "AND NOT coalesce(starts_with(extra, '{\"user\":'), false)"
)
#: Name of the spans in which calls of async methods were suspended for anything but object references. It is
#: also the kind of the edges that report such a span before its end.
AWAITING = "awaiting"
#: Whether a row of ``span_rows`` is a suspension (:data:`AWAITING`).
IS_AWAITING = f"name = '{AWAITING}' AND NOT {IS_USERS_SPAN}"
#: Whether a row of ``span_rows`` is the sum of several calls. The tracer writes ``extra`` in this form.
SUMMED = "(starts_with(extra, '{\"calls\":') AND json_valid(extra))"
#: Whether a row of ``span_rows`` is a wait that was ended by a signal such as Ctrl-C.
INTERRUPTED = """coalesce(ends_with(extra, '"interrupted":1}'), false)"""
#: Whether a row of ``span_rows`` is a call that involved more objects than the tracer lists.
COUNTED = "(starts_with(extra, '{\"objects\":') AND json_valid(extra))"
_HAS_NO_END = """NOT EXISTS (
    SELECT 1 FROM span_rows s
    WHERE s.task_hi = b.task_hi AND s.task_lo = b.task_lo AND s.begin_ns = b.begin_ns)"""
#: Whether a row ``b`` of ``edge_rows`` is a wait that was reported while it lasted, but whose end was never
#: reported: either it still lasts, or its task died.
IS_OPEN_WAIT = f"starts_with(b.kind, 'blocked:') AND {_HAS_NO_END}"
#: Like :data:`IS_OPEN_WAIT`, but for both waits and suspensions (:data:`AWAITING`).
IS_OPEN = f"(starts_with(b.kind, 'blocked:') OR b.kind = '{AWAITING}') AND {_HAS_NO_END}"

#: Whether the tracer ran in the driver of $job, whose task is $high and $low. It did if it reported that it
#: was on, or reported any wait.
IS_DRIVER_TRACED = f"""
(EXISTS (SELECT 1 FROM worker_rows
    WHERE worker_type = 'DRIVER' AND coalesce(job_id, {job_of_driver()}) = $job AND starts_with(tracer, 'on'))
OR EXISTS (SELECT 1 FROM span_rows WHERE task_hi = $high AND task_lo = $low AND {WAITS})
OR EXISTS (SELECT 1 FROM edge_rows
    WHERE task_hi = $high AND task_lo = $low AND starts_with(kind, 'blocked:')))
"""

#: Whether a row of ``edge_rows`` is a wait for a placement group. ``WAITED_GROUP`` is SQL for the group's ID.
IS_GROUP_WAIT = f"object_index = {NO_OBJECT} AND kind != 'blocked:train.report'"
WAITED_GROUP = f"substr({hex_id('object')}, 1, 36)"
#: The IDs of the tasks whose return values a row of ``span_rows`` (ray.get, ray.wait or await) waited for.
BLOCKED_ON = f"""
(SELECT list(DISTINCT {hex_id("object")}) FROM edge_rows e
 WHERE e.task_hi = span_rows.task_hi AND e.task_lo = span_rows.task_lo
    AND e.attempt = span_rows.attempt AND e.begin_ns = span_rows.begin_ns
    AND e.kind IN ('get', 'wait') AND e.object_index < {FIRST_PUT})
"""

#: SQL for the waits in progress at $at (``task_hi``, ``task_lo``, ``attempt``, ``begin_ns``, ``call``). It
#: leaves out calls that were added up, which have no exact times, and spans of user code, which do not block.
BLOCKED_AT = f"""
SELECT task_hi, task_lo, attempt, begin_ns, name AS call FROM span_rows
WHERE {WAITS} AND NOT coalesce({SUMMED}, false) AND begin_ns <= $at AND end_ns > $at
UNION
SELECT task_hi, task_lo, attempt, begin_ns, split_part(kind, ':', -1) FROM edge_rows b
WHERE {IS_OPEN_WAIT} AND begin_ns <= $at
"""


def still_blocked(where: str = "true") -> str:
    """SQL for the waits that are :data:`IS_OPEN`, as rows of the view ``spans``."""
    return f"""
SELECT {TASK_ID} AS task_id, attempt, split_part(kind, ':', -1) AS name, begin_ns, NULL::BIGINT AS end_ns,
    NULL::BIGINT AS duration_ns, NULL::VARCHAR AS extra,
    list(DISTINCT {hex_id("object")}) FILTER (object_index < {FIRST_PUT}) AS blocked_on
FROM edge_rows b
WHERE {IS_OPEN} AND {where}
GROUP BY task_hi, task_lo, attempt, kind, begin_ns
"""


# Where the time of an attempt went.

#: Column that :func:`with_worker_starts` adds.
STARTING = "starting_worker_ns"
#: Starting a worker is assumed to take at least this long, in ns.
FASTEST_START_NS = 50_000_000
#: A worker that has started is assumed to get its first task within this time, in ns.
FIRST_TASK_NS = 250_000_000
#: When an attempt was assigned to a worker.
_ASSIGNED = "coalesce(submitted_to_worker_ns, running_ns)"


def with_worker_starts(where: str = "true") -> str:
    """SQL for the rows of ``attempts`` selected by ``where``, with the column ``starting_worker_ns``.

    It is when the worker's process began to start. Only the first attempt in a process has it, and only if it
    waited for the start.
    """
    return f"""
SELECT a.* EXCLUDE (awaited_worker), CASE WHEN w.started_ns BETWEEN
        greatest(pending_node_assignment_ns, {_ASSIGNED} - {FIRST_TASK_NS}) AND {_ASSIGNED}
    THEN least(w.started_ns, greatest(pending_node_assignment_ns, w.launched_at_ns)) END AS {STARTING}
FROM (
    SELECT *, CASE WHEN {_ASSIGNED} - pending_node_assignment_ns > {FASTEST_START_NS} THEN worker_id END
        AS awaited_worker
    FROM attempts WHERE {where}) a
LEFT JOIN (
    SELECT id AS started_worker, start_ns AS started_ns, launch_ns AS launched_at_ns FROM worker_rows
    WHERE launch_ns > 0) w ON w.started_worker = a.awaited_worker"""


#: The phases of an attempt in order: (name, SQL for its begin). A phase lasts until the next known one
#: begins, and the last one until the attempt ends. So they add up to the total even if some are unknown.
BEGINS: tuple[tuple[str, str], ...] = (
    ("waiting_args", CREATED),
    ("waiting_node", "pending_node_assignment_ns"),
    # Only rows of :func:`with_worker_starts` have this column.
    ("starting_worker", STARTING),
    ("queued", "submitted_to_worker_ns"),
    (
        "fetching",
        "coalesce(pending_actor_task_args_fetch_ns, getting_and_pinning_args_ns, pending_args_fetch_ns)",
    ),
    # An actor's task that has its arguments waits for its turn.
    ("queued", "pending_actor_task_ordering_or_concurrency_ns"),
    ("loading", "CASE WHEN deserialize_begin_ns IS NOT NULL THEN running_ns END"),
    (
        "fetching",
        "CASE WHEN execute_begin_ns IS NOT NULL THEN coalesce(deserialize_begin_ns, running_ns) END",
    ),
    ("executing", "coalesce(execute_begin_ns, running_ns)"),
    ("storing", "execute_end_ns"),
)
#: The phases in the view ``phases``, in order. There, ``executing`` excludes ``awaiting`` and ``blocked``.
SCHEDULING_PHASES = (
    "waiting_args",
    "waiting_node",
    "starting_worker",
    "queued",
    "loading",
    "fetching",
    "executing",
    "awaiting",
    "blocked",
    "storing",
)


#: The phases whose begin is in a row of ``attempts`` itself, that is, all but the worker's start.
RECORDED = tuple((name, begin) for name, begin in BEGINS if begin != STARTING)


def _phase_begin(number: int, begins: tuple[tuple[str, str], ...] = BEGINS) -> str:
    """SQL for when a phase began. It is never before the previous phases, although the clocks of two nodes
    may differ.
    """
    _, begin = begins[number]
    known = ", ".join(earlier for _, earlier in begins[: number + 1])
    return f"CASE WHEN {begin} IS NOT NULL THEN greatest({known}) END"


_CREATED = (
    "coalesce(pending_args_avail_ns, pending_node_assignment_ns, submitted_to_worker_ns, running_ns, "
    "finished_ns, failed_ns, total_begin_ns)"
)
#: Column -> SQL that computes it from the rest of a row of ``attempts`` when the row is written.
DERIVED = {
    CREATED: _CREATED,
    REACHED: "coalesce(least(running_ns, getting_and_pinning_args_ns), execute_begin_ns, "
    "CASE WHEN coalesce(failed_ns, finished_ns) IS NOT NULL THEN submitted_to_worker_ns END)",
    EXECUTING: _phase_begin([name for name, _ in RECORDED].index("executing"), RECORDED).replace(
        CREATED, _CREATED
    ),
    END: "coalesce(failed_ns, finished_ns)",
}


#: SQL for the last time in a record (ns). The views use it, while queries get a time as a parameter.
LAST = "(SELECT value::BIGINT FROM meta WHERE key = 'last_ns')"


def ended_at(last: str | int) -> str:
    """SQL for when an attempt ended. An attempt without a reported end lasts until its worker was done with
    it, or until ``last``.
    """
    return f"coalesce({END}, total_end_ns, {last})"


def all_ended_at(last: str | int) -> str:
    """SQL for when all phases of an attempt ended. It is never before the attempt's other times, although
    clocks differ.
    """
    known = ", ".join(begin for _, begin in RECORDED)
    return f"greatest({ended_at(last)}, {known}, total_end_ns)"


def times(last: str | int) -> dict[str, str]:
    """SQL for an attempt's times (ns), as defined in docs/reference/glossary.md.

    Here, ``executing`` includes the time returned by :func:`waited_ns`. Attempts that never ran have no
    ``duration`` or ``executing``. If an attempt's start was lost, ``waiting`` is unknown. ``last``: when
    attempts that have not ended count as ended.
    """
    return {
        "total": f"({all_ended_at(last)} - {CREATED})",
        "waiting": f"CASE WHEN NOT {START_LOST} "
        f"THEN coalesce({EXECUTING}, {all_ended_at(last)}) - {CREATED} END",
        "executing": f"({executed_at(last)} - {EXECUTING})",
        "duration": f"CASE WHEN {START} IS NOT NULL THEN greatest(0, {ended_at(last)} - {START}) END",
    }


def executed_at(last: str | int) -> str:
    """SQL for when an attempt's function returned, or NULL if it never began to execute."""
    return (
        f"CASE WHEN execute_end_ns IS NOT NULL THEN greatest(execute_end_ns, {EXECUTING}) "
        f"WHEN {EXECUTING} IS NOT NULL THEN {all_ended_at(last)} END"
    )


def phase_begins(last: str | int) -> str:
    """SQL for when an attempt's phases began: columns ``b0``, ``b1``, ..., each no earlier than the previous
    one.

    ``b_end`` is the attempt's end, and ``b_last`` the end of the last phase, which is unknown if the
    attempt's start was lost. ``last``: when attempts that have not ended count as ended. Needs rows of
    :func:`with_worker_starts`.
    """
    begins = [f"{_phase_begin(number)} AS b{number}" for number in range(len(BEGINS))]
    end = all_ended_at(last)
    return ", ".join([*begins, f"{end} AS b_end", f"CASE WHEN NOT {START_LOST} THEN {end} END AS b_last"])


def phase_durations(since: str | None = None, upto: str | None = None) -> str:
    """SQL for one column per phase with its duration (ns), computed from the columns of :func:`phase_begins`.

    With ``since`` and ``upto``, only the time between them counts. ``executing`` includes the time returned
    by :func:`waited_ns`.
    """
    durations: dict[str, list[str]] = {}
    for number, (name, _) in enumerate(BEGINS):
        later = [*(f"b{later}" for later in range(number + 1, len(BEGINS))), "b_last"]
        begin, end = f"b{number}", f"coalesce({', '.join(later)})"
        lasted = f"{end} - {begin}"
        if since and upto:  # test for NULL, because greatest() ignores it
            lasted = (
                f"CASE WHEN {begin} IS NOT NULL AND {end} IS NOT NULL THEN "
                f"greatest(0, least({end}, {upto}) - greatest({begin}, {since})) END"
            )
        durations.setdefault(name, []).append(f"coalesce({lasted}, 0)")
    return ", ".join(f"{' + '.join(parts)} AS {name}" for name, parts in durations.items())


def waited_ns(of: str, ended: str | None = None, inside: tuple[str, str] | None = None) -> str:
    """SQL for how long attempts waited while running: ``key`` (:func:`attempt_key`), ``blocked`` and
    ``awaiting`` (ns).

    Waits may overlap (``asyncio.gather``), so the union of the waits counts, plus the totals that were
    reported for several calls at once. Most attempts wait only once. To save time, only the waits of the
    others are sorted.

    Args:
        of: condition on the waits to read.
        ended: SQL for rows of attempts with their end, ``ended``. Waits that are :data:`IS_OPEN` last until
            then. Without it, open waits are ignored.
        inside: SQL for two times. Only the waiting between them counts. Calls that were added up count in
            proportion to their overlap.
    """
    key, clipped, touching = attempt_key(), "begin_ns, end_ns", ""
    summed = f"least(greatest(0, TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT)), {FOREVER})"
    if inside:
        since, upto = inside
        clipped = f"greatest(begin_ns, {since}) AS begin_ns, least(end_ns, {upto}) AS end_ns"
        touching = f" AND end_ns >= {since} AND begin_ns <= {upto}"
        within = f"(least(end_ns, {upto}) - greatest(begin_ns, {since}))"
        summed = (
            f"CASE WHEN begin_ns >= {since} AND end_ns <= {upto} THEN {summed} "
            f"ELSE ({summed} * ({within} / (end_ns - begin_ns)))::BIGINT END"
        )
    waits = f"""
    SELECT {key} AS key, name = '{AWAITING}' AS awaits, {clipped}, coalesce({SUMMED}, false) AS is_sum,
        CASE WHEN is_sum THEN {summed} END AS summed
    FROM span_rows WHERE (({WAITS}) OR ({IS_AWAITING})) AND {of}{touching}"""
    if ended:
        waits += f"""
    UNION ALL
    SELECT {key}, awaits, {clipped}, false, NULL
    FROM (
        SELECT b.*, e.ended AS end_ns
        FROM (SELECT DISTINCT task_hi, task_lo, attempt, begin_ns, kind = '{AWAITING}' AS awaits
            FROM edge_rows b WHERE {IS_OPEN} AND {of}) b
        JOIN ({ended}) e ON e.task_hi = b.task_hi AND e.task_lo = b.task_lo AND e.attempt = b.attempt)
    WHERE end_ns IS NOT NULL{touching}"""
    fresh = "coalesce(summed, greatest(0, end_ns - greatest(begin_ns, coalesce({}, 0))))"
    return f"""
WITH waits AS MATERIALIZED ({waits}),
first AS MATERIALIZED (
    SELECT key, count(*) AS n, any_value(awaits) AS awaits, any_value({fresh.format("NULL")}) AS waited
    FROM waits GROUP BY key)
SELECT key, CASE WHEN awaits THEN 0 ELSE waited END AS blocked,
    CASE WHEN awaits THEN waited ELSE 0 END AS awaiting
FROM first WHERE n = 1
UNION ALL
SELECT key, {total(f"CASE WHEN NOT awaits THEN {fresh.format('reached')} END")},
    {total(f"CASE WHEN awaits THEN {fresh.format('reached')} END")}
FROM (
    SELECT *, max(CASE WHEN NOT is_sum THEN end_ns END) OVER (
        PARTITION BY key, awaits ORDER BY begin_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM waits WHERE key IN (SELECT key FROM first WHERE n > 1)
) GROUP BY key
"""


def waited_columns(of: str = "b.", executing: str = "executing") -> str:
    """SQL for an attempt's ``blocked`` and ``awaiting``, from its row ``of`` of :func:`waited_ns` if there is
    one.

    Together they are at most ``executing``, which includes both.
    """
    blocked = f"least({executing}, coalesce({of}blocked, 0))"
    awaiting = f"least({executing} - {blocked}, coalesce({of}awaiting, 0))"
    return f"{blocked} AS blocked, {awaiting} AS awaiting"


def phases(where: str = NOT_DRIVER, of: str = "true", parents: str = "true", last: str | int = LAST) -> str:
    """SQL for the times and phases (ns) of the attempts selected by ``where``, and where they ran.

    If an attempt's start was lost, the phases from its last reported state on are unknown (NULL).

    Args:
        where: condition on attempts.
        of: condition on the spans to read.
        parents: condition on the submitters' attempts to read.
        last: when attempts that have not ended count as ended.
    """

    def known(phase: str) -> str:
        return f"CASE WHEN l.b_last IS NULL THEN nullif(l.{phase}, 0) ELSE l.{phase} END AS {phase}_ns"

    ended = f"SELECT task_hi, task_lo, attempt, {ended_at(last)} AS ended FROM attempts WHERE {where}"
    of_attempt = times(last)
    return f"""
WITH begun AS (
    SELECT *, {phase_begins(last)}, {of_attempt["duration"]} AS duration,
        {of_attempt["waiting"]} AS waiting, {function_name("attempts")} AS func
    FROM ({with_worker_starts(where)}) AS attempts),
lasted AS (
    SELECT l.*, {waited_columns(executing="l.executing")}
    FROM (SELECT *, {phase_durations()} FROM begun) l
    LEFT JOIN ({waited_ns(of, ended)}) b ON b.key = {attempt_key("l.")}),
submitters AS (
    SELECT task_hi, task_lo, arg_max(node_id, attempt) AS node_id FROM attempts
    WHERE node_id IS NOT NULL AND {parents} GROUP BY task_hi, task_lo)
SELECT {hex_id("l.task")} AS task_id, l.attempt AS attempt, l.func AS func_name, l.type AS type,
    l.state AS state, l.job_id AS job_id,
    {", ".join(map(known, SCHEDULING_PHASES[: SCHEDULING_PHASES.index("executing")]))},
    CASE WHEN l.b_last IS NOT NULL THEN l.executing - l.awaiting - l.blocked END AS executing_ns,
    CASE WHEN l.b_last IS NOT NULL THEN l.awaiting END AS awaiting_ns,
    CASE WHEN l.b_last IS NOT NULL THEN l.blocked END AS blocked_ns,
    {known("storing")},
    l.b_end - l.b0 AS total_ns, l.cpu_ns AS cpu_ns, l.waiting AS waiting_ns,
    l.duration AS duration_ns, coalesce(l.node_id, w.node_id) AS node_id,
    coalesce(s.node_id, j.driver_node_id) AS submitter_node_id,
    coalesce(l.node_id, w.node_id) = coalesce(s.node_id, j.driver_node_id) AS is_local
FROM lasted l
LEFT JOIN worker_rows w ON l.node_id IS NULL AND w.id = l.worker_id
LEFT JOIN submitters s ON s.task_hi = l.parent_hi AND s.task_lo = l.parent_lo
LEFT JOIN job_rows j ON starts_with(l.parent_lo, 'ffffffffffffffffffffffff') AND j.id = l.job_id
"""


def with_times(last_ns: int) -> str:
    """SQL for the function, type, state, peak memory and times of each row of ``attempts``."""
    of_attempt = ", ".join(f"{sql} AS {name}" for name, sql in times(int(last_ns)).items())
    return (
        f"SELECT {function_name('attempts')} AS func_name, type, "
        f"coalesce(state, 'NIL') AS state, peak_memory, {of_attempt} FROM attempts"
    )
