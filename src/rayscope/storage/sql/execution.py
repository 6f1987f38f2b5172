"""SQL of what Rayscope understands of an execution: which objects moved, who waits for whom, where time went.

Used by the documented views (:mod:`rayscope.storage.schema`) and by queries over a part of the record.
"""

from __future__ import annotations

from rayscope.model import NO_OBJECT
from rayscope.storage.call_paths import DRIVER_PREFIX

#: Later than any time (ns), and more than any sum that is told: what is larger is cut to it.
FOREVER = 2**62


#: The two parts of what drivers' task ids begin with; the rest is the job's id.
DRIVER_HI, DRIVER_LO = int(DRIVER_PREFIX[:16], 16), DRIVER_PREFIX[16:]


def hex_id(prefix: str) -> str:
    """SQL for a task's whole hex id from its two parts; NULL stays NULL."""
    return f"lower(lpad(to_hex({prefix}_hi), 16, '0') || {prefix}_lo)"


TASK_ID = hex_id("task")
#: The task that made the call, and the one that Ray names.
PARENT_ID = hex_id("parent")
NAMED_PARENT_ID = f"CASE WHEN named_parent IS NULL THEN {PARENT_ID} ELSE nullif(named_parent, '') END"


def attempt_key(of: str = "") -> str:
    """SQL of an attempt's number, cheap to join by. Two of 10^7 share one in one of 10^5 records."""
    return f"hash({of}task_hi, {of}task_lo, {of}attempt)"


def is_driver(prefix: str) -> str:
    """SQL of whether a task's id is a driver's, from its two parts."""
    return f"({prefix}_hi = {DRIVER_HI} AND starts_with({prefix}_lo, '{DRIVER_LO}'))"


def total(of: str) -> str:
    """SQL of a sum that fits into 64 bits; of nothing it is 0."""
    return f"least(coalesce(sum({of}), 0), {FOREVER})::BIGINT"


#: When an attempt was submitted, came to a worker (what waits there in a queue does not hold it yet), began
#: to execute, and ended (Ray's ``end_time_ms``: of FINISHED and FAILED the later in its order). Columns that
#: are computed when a row is written: see :data:`DERIVED`.
CREATED, REACHED, EXECUTING, END = "created_at_ns", "reached_at_ns", "executing_at_ns", "ended_at_ns"
START = "running_ns"
#: Drivers run as tasks of their own; lists and counts leave them out.
NOT_DRIVER = "type IS DISTINCT FROM 'DRIVER_TASK'"
#: Rows of a state and how many attempts are in it, in one order.
COUNT_STATES = (
    f"SELECT coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} GROUP BY 1 ORDER BY 1"
)


#: Whether a row of ``span_rows`` is of the user's (``rayscope.span``), whose name may be any.
IS_USERS_SPAN = """coalesce(starts_with(extra, '{"user":'), false)"""
#: What the names of Ray Data's tasks begin with here.
DATA = "Data: "
#: The same for the tasks of Dask on Ray, and the function that runs them all.
DASK, _DASK_TASK = "Dask: ", "dask_task_wrapper"
#: The function in the name of such a task, ``dask:KEY``: the words of the key before its hash, as Dask
#: shows them ("load" of ``dask:load-8d3c3a7f``, "read-csv" of ``dask:('read-csv-8d3c3a7f', 3)``).
_DASK_FUNCTION = r"^dask:[(]*[\x27\x22]?([A-Za-z_]\w*(?:-[A-Za-z]+)*)(?:[-\x27\x22,)]|$)"
#: Ray's function of an attempt, told from others of its name.
FUNCTION = "coalesce(distinct_name, func_name)"
#: The actor that a row of ``attempts`` without a name makes: nobody defines Ray's restarts of actors.
MADE = "CASE WHEN func_name IS NULL AND name IS NULL AND type = 'ACTOR_CREATION_TASK' THEN actor_id END"


def creation_name(actor: str) -> str:
    """SQL of how the creation of an actor is called, by its class; NULL if that is not known."""
    return f"(SELECT class_name || '.__init__' FROM actor_rows WHERE id = {actor})"


def is_of_data(of: str) -> str:
    """SQL of whether a row ``of`` is a task of Ray Data's that has a name. All operators run the same few
    functions (``_map_task``), and name their tasks after themselves.
    """
    return (
        f"(coalesce(starts_with({of}.module_name, 'ray.data.') AND {of}.type = 'NORMAL_TASK', false) "
        f"AND {of}.name IS NOT NULL)"
    )


def is_of_dask(of: str) -> str:
    """SQL of whether a row ``of`` is a task of Dask on Ray: these are named after the keys of its graph."""
    matches = f"regexp_matches({of}.name, '{_DASK_FUNCTION}')"
    return f"coalesce({of}.func_name = '{_DASK_TASK}' AND {matches}, false)"


def rays_name(of: str) -> str:
    """SQL of Ray's function of a row ``of``; NULL of tasks of Ray Data and Dask, which name themselves."""
    return f"CASE WHEN NOT ({is_of_data(of)} OR {is_of_dask(of)}) THEN {of}.func_name END"


def _dask_name(of: str) -> str:
    return f"'{DASK}' || regexp_extract({of}.name, '{_DASK_FUNCTION}', 1)"


def full_name(of: str, *, is_placed: bool = True) -> str:
    """SQL of a name that no other function has, for a row ``of`` of ``attempts`` (or of parts of them); NULL
    if it is unknown. ``is_placed``: use what the tracer reported of lambdas, closures, and wrappers.
    """
    placed = f"(SELECT p.full_name FROM placed_functions p WHERE p.function_hash = {of}.function_hash)"
    return (
        f"CASE WHEN {is_of_data(of)} THEN '{DATA}' || {of}.name WHEN {is_of_dask(of)} THEN {_dask_name(of)} "
        f"WHEN {of}.func_name IS NULL THEN {of}.name "
        f"ELSE coalesce({placed if is_placed else 'NULL'}, "
        # Without the tracer each definition of a lambda is another function.
        f"CASE WHEN {of}.func_name = '<lambda>' THEN '<lambda> (' || {of}.function_hash[:8] || ')' END, "
        f"{of}.module_name || '.' || {of}.func_name, {of}.func_name) END"
    )


def actors_worker(of: str) -> str:
    """SQL of the worker that a call, a row ``of`` of ``attempts``, comes to: its actor's; NULL if unknown."""
    return f"(SELECT any_value(worker_id) FROM actor_rows WHERE id = {of}.actor_id)"


def called_name(of: str) -> str:
    """SQL of the name of a row ``of`` of ``attempts``; NULL if it is unknown.

    That is Ray's function, or ``distinct_name`` where several functions share that. Tasks of Ray Data are
    ``Data: MapBatches(parse)``, and those of Dask on Ray ``Dask: load``.
    """
    # Where no row is of Ray Data, which is the rule, DuckDB takes the other branch as it is, for nothing.
    return (
        f"CASE WHEN starts_with({of}.module_name, 'ray.data.') AND {of}.type = 'NORMAL_TASK' "
        f"AND {of}.name IS NOT NULL THEN '{DATA}' || {of}.name "
        f"WHEN {is_of_dask(of)} THEN {_dask_name(of)} "
        f"ELSE coalesce({of}.distinct_name, {of}.func_name, {of}.name) END"
    )


def function_name(of: str) -> str:
    """SQL of the function of a row ``of`` of ``attempts``, NULL if nobody told it."""
    return (
        f"coalesce({called_name(of)}, "
        f"CASE WHEN {of}.type = 'ACTOR_CREATION_TASK' THEN {creation_name(f'{of}.actor_id')} END)"
    )


#: Whether nobody told when an attempt that was handed to its worker began: a worker reports its tasks once a
#: second, and one that dies takes along what it has not reported. How long it waited and ran is not known.
START_LOST = (
    "(coalesce(running_ns, execute_begin_ns, total_begin_ns) IS NULL AND (state = 'FINISHED' OR "
    "state = 'FAILED' AND (submitted_to_worker_ns IS NOT NULL OR error_type = 'TASK_EXECUTION_EXCEPTION')))"
)

# Objects and the edges that they make.

#: Objects of ``ray.put`` have indices from here on, and the attempt in the first byte of their task's id.
FIRST_PUT = 100_000_001
#: Rows of ``edge_rows`` of what a task was given or got.
TAKEN = "kind IN ('get', 'argument', 'nested', 'fetched')"


def object_id(prefix: str) -> str:
    """SQL for an object's whole hex id: the number behind the task's id is little-endian."""
    index = f"{prefix}_index"
    swapped = (
        f"((({index} & 255) << 24) | (({index} & 65280) << 8) | (({index} >> 8) & 65280) | ({index} >> 24))"
    )
    return f"{hex_id(prefix)} || lower(lpad(to_hex({swapped}), 8, '0'))"


#: A value that was stored before its task's function ended is what a generator yields. Its object's number is
#: one more than its order: the first is that of the generator itself. (One time is told by Python's clock,
#: the other by that of Ray's C++, both of the same machine.)
_YIELDED = "coalesce(a.returned_ns < a.execute_end_ns - 5000, false)"


def _made(of: str) -> str:
    """SQL of the objects that were returned or put, once each: retries make the same one again.

    ``of``: a condition on the object's columns, with ``{}`` for their prefix.
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
    """SQL of the objects that Ray itself put for a call, and who called.

    Ray stores a large argument as an object with a number like that of ``ray.put``. No reference to it
    exists, so an object that was put, got, waited for or passed on is another.
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
    """SQL of one row for each object that a task was given or got, and for each that it returned or put.

    ``taken_if``: which rows of ``edge_rows`` count; ``made_if``: which objects, see :func:`_made`.
    ``by``: ``attempt`` for a row for each attempt that took it, which ``taken_by`` tells then.
    """
    return f"""
WITH made AS ({_made(made_if)}),
by_value AS ({_passed_by_value(taken_if)}),
taken AS (
    SELECT task_hi, task_lo, {by} AS taken_by, object_hi, object_lo, object_index,
        CASE kind WHEN 'get' THEN 'get' ELSE 'argument' END AS taken_as, bool_and(kind = 'nested') AS nested,
        max(bytes) AS bytes, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns,
        count(*) FILTER (kind = 'get') AS gets, sum(end_ns - begin_ns) FILTER (kind = 'get') AS blocked_ns
    FROM edge_rows WHERE {TAKEN} AND {taken_if}
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
    """SQL of where tasks ran (``task_hi``, ``task_lo``, ``node_id``), and drivers. ``which``: a condition on
    ``attempts``.
    """
    return f"""
SELECT task_hi, task_lo, arg_max(node_id, attempt) AS node_id FROM attempts
WHERE node_id IS NOT NULL AND {NOT_DRIVER} AND {which} GROUP BY task_hi, task_lo
UNION ALL
SELECT {2**64 - 1}::UBIGINT, 'ffffffffffffffffffffffff' || id, driver_node_id FROM job_rows
WHERE driver_node_id IS NOT NULL
"""


#: ``task_hi`` of the tasks at both ends of what a CTE ``moved`` has.
ENDS = "SELECT producer_hi FROM moved UNION ALL SELECT consumer_hi FROM moved"
_PLACED = f"""
SELECT {_SHOWN}, p.node_id != c.node_id AS is_remote
FROM moved
LEFT JOIN nodes p ON p.task_hi = producer_hi AND p.task_lo = producer_lo
LEFT JOIN nodes c ON c.task_hi = consumer_hi AND c.task_lo = consumer_lo
"""
#: All edges, with whether the object came from another node.
EDGES = f"""
WITH moved AS ({moved("true", "true")}), nodes AS ({nodes_of()}){_PLACED}"""


def edges_of(part: int, parts: int) -> str:
    """SQL of one of ``parts`` about equal parts of :data:`EDGES`; each needs its share of memory alone."""
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
#: Those of one task ($high, $low): what it made and took, and who took what it made; and a little more.
EDGES_NEAR_TASK = f"SELECT {_SHOWN} FROM ({_NEAR_TASK})"

# Who waits for whom.

#: Spans during which a task waits for others.
BLOCKING_SPANS = ("ray.get", "ray.wait", "await", "placement_group.wait")
#: Whether a row of ``span_rows`` is such a wait; a span of a user's own blocks nobody, whatever its name.
WAITS = (
    f"name IN ({', '.join(map(repr, BLOCKING_SPANS))}) "
    "AND NOT coalesce(starts_with(extra, '{\"user\":'), false)"
)
#: Stretches in which calls of async methods were suspended, other than for object references; and the edges
#: of those that were reported while they last.
AWAITING = "awaiting"
#: Whether a row of ``span_rows`` is such a stretch.
IS_AWAITING = f"name = '{AWAITING}' AND NOT {IS_USERS_SPAN}"
#: Whether a row of ``span_rows`` sums up several calls: its text is ours.
SUMMED = "(starts_with(extra, '{\"calls\":') AND json_valid(extra))"
#: Whether a row of ``span_rows`` is of a wait that a signal ended, such as Ctrl-C: not what it was for.
INTERRUPTED = """coalesce(ends_with(extra, '"interrupted":1}'), false)"""
#: Whether a row of ``span_rows`` is of one call with more objects than it names.
COUNTED = "(starts_with(extra, '{\"objects\":') AND json_valid(extra))"
_HAS_NO_END = """NOT EXISTS (
    SELECT 1 FROM span_rows s
    WHERE s.task_hi = b.task_hi AND s.task_lo = b.task_lo AND s.begin_ns = b.begin_ns)"""
#: Whether a row ``b`` of ``edge_rows`` is of a wait whose end nobody told, though it was told while it
#: lasted: it lasts still, or its task died.
UNTOLD = f"starts_with(b.kind, 'blocked:') AND {_HAS_NO_END}"
#: The same of a wait or a stretch of :data:`AWAITING`.
IS_OPEN = f"(starts_with(b.kind, 'blocked:') OR b.kind = '{AWAITING}') AND {_HAS_NO_END}"

#: Whether the tracer ran in the driver of $job, whose task is $high and $low: it reported that, or a wait.
IS_DRIVER_TRACED = f"""
(EXISTS (SELECT 1 FROM worker_rows
    WHERE worker_type = 'DRIVER' AND job_id = $job AND starts_with(tracer, 'on'))
OR EXISTS (SELECT 1 FROM span_rows WHERE task_hi = $high AND task_lo = $low AND {WAITS})
OR EXISTS (SELECT 1 FROM edge_rows
    WHERE task_hi = $high AND task_lo = $low AND starts_with(kind, 'blocked:')))
"""

#: Whether a row of ``edge_rows`` is of a wait for a placement group; and SQL of the group's ID.
IS_GROUP_WAIT = f"object_index = {NO_OBJECT} AND kind != 'blocked:train.report'"
WAITED_GROUP = f"substr({hex_id('object')}, 1, 36)"
#: The tasks whose values a span of ray.get, ray.wait or await (a row of ``span_rows``) waited for.
BLOCKED_ON = f"""
(SELECT list(DISTINCT {hex_id("object")}) FROM edge_rows e
 WHERE e.task_hi = span_rows.task_hi AND e.task_lo = span_rows.task_lo
    AND e.attempt = span_rows.attempt AND e.begin_ns = span_rows.begin_ns
    AND e.kind IN ('get', 'wait') AND e.object_index < {FIRST_PUT})
"""

#: SQL of the waits (``task_hi``, ``task_lo``, ``attempt``, ``begin_ns``, ``call``) that last at $at. Calls
#: that the tracer summed up say nothing of one time, and spans of a user's own block nobody.
BLOCKED_AT = f"""
SELECT task_hi, task_lo, attempt, begin_ns, name AS call FROM span_rows
WHERE {WAITS} AND NOT coalesce({SUMMED}, false) AND begin_ns <= $at AND end_ns > $at
UNION
SELECT task_hi, task_lo, attempt, begin_ns, split_part(kind, ':', -1) FROM edge_rows b
WHERE {UNTOLD} AND begin_ns <= $at
"""


def still_blocked(where: str = "true") -> str:
    """SQL of what :data:`IS_OPEN`, as rows of the view of spans."""
    return f"""
SELECT {TASK_ID} AS task_id, attempt, split_part(kind, ':', -1) AS name, begin_ns, NULL::BIGINT AS end_ns,
    NULL::BIGINT AS duration_ns, NULL::VARCHAR AS extra,
    list(DISTINCT {hex_id("object")}) FILTER (object_index < {FIRST_PUT}) AS blocked_on
FROM edge_rows b
WHERE {IS_OPEN} AND {where}
GROUP BY task_hi, task_lo, attempt, kind, begin_ns
"""


# Where the time of an attempt went.

#: Column of :func:`with_worker_starts`.
STARTING = "starting_worker_ns"
#: No worker starts faster than this, and one that has started is given its first task within this time, ns.
FASTEST_START_NS, FIRST_TASK_NS = 50_000_000, 250_000_000
#: When an attempt was given to a worker.
_GIVEN = "coalesce(submitted_to_worker_ns, running_ns)"


def with_worker_starts(where: str = "true") -> str:
    """SQL of the rows of ``attempts`` that ``where`` picks, with when the process that each is the first to
    run in began to start (``starting_worker_ns``), if it had to wait for that.
    """
    return f"""
SELECT a.* EXCLUDE (awaited_worker), CASE WHEN w.started_ns BETWEEN
        greatest(pending_node_assignment_ns, {_GIVEN} - {FIRST_TASK_NS}) AND {_GIVEN}
    THEN least(w.started_ns, greatest(pending_node_assignment_ns, w.launched_at_ns)) END AS {STARTING}
FROM (
    SELECT *, CASE WHEN {_GIVEN} - pending_node_assignment_ns > {FASTEST_START_NS} THEN worker_id END
        AS awaited_worker
    FROM attempts WHERE {where}) a
LEFT JOIN (
    SELECT id AS started_worker, start_ns AS started_ns, launch_ns AS launched_at_ns FROM worker_rows
    WHERE launch_ns > 0) w ON w.started_worker = a.awaited_worker"""


#: The phases of an attempt in their order: (name, SQL of its begin). One lasts until the next that is known
#: begins, the last until the attempt ends; so they add up to the whole, whatever is missing.
BEGINS: tuple[tuple[str, str], ...] = (
    ("waiting_args", CREATED),
    ("waiting_node", "pending_node_assignment_ns"),
    # Of rows that :func:`with_worker_starts` gives; in the others there is none.
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
#: The phases that the view gives, in order; ``executing`` is without ``awaiting`` and ``blocked``.
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


#: Those that a row of ``attempts`` tells by itself. (A worker starts before it is given anything.)
RECORDED = tuple((name, begin) for name, begin in BEGINS if begin != STARTING)


def _begun(number: int, begins: tuple[tuple[str, str], ...] = BEGINS) -> str:
    """SQL of when a phase began, no earlier than those before it: clocks of two nodes may differ."""
    _, begin = begins[number]
    known = ", ".join(earlier for _, earlier in begins[: number + 1])
    return f"CASE WHEN {begin} IS NOT NULL THEN greatest({known}) END"


_CREATED = (
    "coalesce(pending_args_avail_ns, pending_node_assignment_ns, submitted_to_worker_ns, running_ns, "
    "finished_ns, failed_ns, total_begin_ns)"
)
#: What the rest of a row of ``attempts`` tells once for all: column -> its SQL.
DERIVED = {
    CREATED: _CREATED,
    REACHED: "coalesce(least(running_ns, getting_and_pinning_args_ns), execute_begin_ns, "
    "CASE WHEN coalesce(failed_ns, finished_ns) IS NOT NULL THEN submitted_to_worker_ns END)",
    EXECUTING: _begun([name for name, _ in RECORDED].index("executing"), RECORDED).replace(CREATED, _CREATED),
    END: "coalesce(failed_ns, finished_ns)",
}


#: The last that a record tells of (ns), for views: queries are told a time instead.
LAST = "(SELECT value::BIGINT FROM meta WHERE key = 'last_ns')"


def ended_at(last: str | int) -> str:
    """SQL of when an attempt ended. One that has not lasts until ``last``, or until its worker was done."""
    return f"coalesce({END}, total_end_ns, {last})"


def all_ended_at(last: str | int) -> str:
    """SQL of when all phases of an attempt ended: no earlier than anything else that is known of it, as the
    clocks of two nodes may differ.
    """
    known = ", ".join(begin for _, begin in RECORDED)
    return f"greatest({ended_at(last)}, {known}, total_end_ns)"


def times(last: str | int) -> dict[str, str]:
    """SQL of the times (ns) of an attempt; docs/reference/glossary.md defines them, and nothing else may.

    ``executing`` still has the time in it that :func:`waited_ns` returns. What never began to run has no
    ``duration`` and no ``executing``; where the begin was lost, ``waiting`` is not known.
    ``last``: until when what has not ended lasts.
    """
    return {
        "total": f"({all_ended_at(last)} - {CREATED})",
        "waiting": f"CASE WHEN NOT {START_LOST} "
        f"THEN coalesce({EXECUTING}, {all_ended_at(last)}) - {CREATED} END",
        "executing": f"({executed_at(last)} - {EXECUTING})",
        "duration": f"CASE WHEN {START} IS NOT NULL THEN greatest(0, {ended_at(last)} - {START}) END",
    }


def executed_at(last: str | int) -> str:
    """SQL of when an attempt's function returned; NULL of what never began to execute."""
    return (
        f"CASE WHEN execute_end_ns IS NOT NULL THEN greatest(execute_end_ns, {EXECUTING}) "
        f"WHEN {EXECUTING} IS NOT NULL THEN {all_ended_at(last)} END"
    )


def phase_begins(last: str | int) -> str:
    """SQL of the columns ``b0`` ... of when the phases of an attempt began, each no earlier than those before
    it, ``b_end``, its end, and ``b_last``, when the last of these phases ended: not known where the begin of
    the attempt was lost. ``last``: until when what has not ended lasts. It needs rows of
    :func:`with_worker_starts`.
    """
    begins = [f"{_begun(number)} AS b{number}" for number in range(len(BEGINS))]
    end = all_ended_at(last)
    return ", ".join([*begins, f"{end} AS b_end", f"CASE WHEN NOT {START_LOST} THEN {end} END AS b_last"])


def phase_durations(since: str | None = None, upto: str | None = None) -> str:
    """SQL of a column for each phase: what of it (ns) lies between ``since`` and ``upto``, or all of it; from
    the columns of :func:`phase_begins`. ``executing`` has the time in it that :func:`waited_ns` returns.
    """
    durations: dict[str, list[str]] = {}
    for number, (name, _) in enumerate(BEGINS):
        later = [*(f"b{later}" for later in range(number + 1, len(BEGINS))), "b_last"]
        begin, end = f"b{number}", f"coalesce({', '.join(later)})"
        lasted = f"{end} - {begin}"
        if since and upto:  # (greatest() takes no notice of a NULL.)
            lasted = (
                f"CASE WHEN {begin} IS NOT NULL AND {end} IS NOT NULL THEN "
                f"greatest(0, least({end}, {upto}) - greatest({begin}, {since})) END"
            )
        durations.setdefault(name, []).append(f"coalesce({lasted}, 0)")
    return ", ".join(f"{' + '.join(parts)} AS {name}" for name, parts in durations.items())


def waited_ns(of: str, ended: str | None = None, inside: tuple[str, str] | None = None) -> str:
    """SQL of how long attempts did not run between their begin and their end: ``key`` (:func:`attempt_key`),
    ``blocked`` and ``awaiting``, ns.

    Waits may overlap (``asyncio.gather``): what counts is the union, and of calls that were summed up the
    sum. Most attempts wait once; only the waits of the others are put in order.

    ``of`` narrows whose waits are looked at. ``ended``: SQL of attempts with ``ended``, until when those of
    their waits lasted that are :data:`IS_OPEN`; without it these do not count. ``inside``: SQL of two times;
    what lies between them counts, of summed calls their share by time.
    """
    key, clipped, touching = attempt_key(), "begin_ns, end_ns", ""
    told = f"least(greatest(0, TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT)), {FOREVER})"
    if inside:
        since, upto = inside
        clipped = f"greatest(begin_ns, {since}) AS begin_ns, least(end_ns, {upto}) AS end_ns"
        touching = f" AND end_ns >= {since} AND begin_ns <= {upto}"
        within = f"(least(end_ns, {upto}) - greatest(begin_ns, {since}))"
        told = (
            f"CASE WHEN begin_ns >= {since} AND end_ns <= {upto} THEN {told} "
            f"ELSE ({told} * ({within} / (end_ns - begin_ns)))::BIGINT END"
        )
    waits = f"""
    SELECT {key} AS key, name = '{AWAITING}' AS awaits, {clipped}, coalesce({SUMMED}, false) AS is_sum,
        CASE WHEN is_sum THEN {told} END AS summed
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
    """SQL of ``blocked`` and ``awaiting`` of an attempt from its row ``of`` of :func:`waited_ns`, if it has
    one: together they are no longer than ``executing``, which has both in it.
    """
    blocked = f"least({executing}, coalesce({of}blocked, 0))"
    awaiting = f"least({executing} - {blocked}, coalesce({of}awaiting, 0))"
    return f"{blocked} AS blocked, {awaiting} AS awaiting"


def phases(where: str = NOT_DRIVER, of: str = "true", parents: str = "true", last: str | int = LAST) -> str:
    """SQL of the times and phases (ns) of the attempts that ``where`` picks, and where they ran.

    ``of`` and ``parents`` narrow what is looked at besides: spans, and the attempts of submitters. ``last``:
    until when what has not ended lasts. Where the begin of an attempt was lost, the phases from its last
    reported state on are not known: NULL.
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
    """SQL of the function, type, state and times of each of ``attempts``."""
    of_attempt = ", ".join(f"{sql} AS {name}" for name, sql in times(int(last_ns)).items())
    return (
        f"SELECT {function_name('attempts')} AS func_name, type, "
        f"coalesce(state, 'NIL') AS state, {of_attempt} FROM attempts"
    )
