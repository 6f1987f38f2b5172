"""The views of a warehouse in ClickHouse's SQL: a record's tables and documented views, plus ``session`` and
``cluster``. ``FINAL`` merges the rows of a key.

SQL for the record that is valid in both dialects is reused. (ClickHouse ignores NULL in ``greatest`` and
``least`` since 24.12, like DuckDB.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rayscope.model import PHASES, STATES, Kind
from rayscope.model.attempt import CANCELED, SCALARS
from rayscope.model.entity import CERTAINTY_OF_END, FINAL_STATES, KNOWS_EXIT_CODE
from rayscope.ray.events.samples import FRAMES, MAX_SAMPLES, PROFILE, SAMPLES
from rayscope.storage.inferred_ends import ENDED, NOT_RUNNING
from rayscope.storage.schema import (
    ANNOTATION_COLUMNS,
    ATTEMPT_COLUMNS,
    DERIVED_COLUMNS,
    EDGE_COLUMNS,
    ENTITY_COLUMNS,
    ENTITY_VIEWS,
    PHASE_COLUMNS,
    SPAN_COLUMNS,
    STATE_COLUMNS,
)
from rayscope.storage.sql import execution
from rayscope.storage.sql.execution import CREATED, DATA, DERIVED, END, FIRST_PUT, START
from rayscope.storage.sql.internal import is_rays_namespace
from rayscope.storage.sql.merge import KEY, SCALAR_COLUMNS, SUBMITTER, TOGETHER
from rayscope.storage.sql.samples import ABOUT_SAMPLES, PHASE_NAMES
from rayscope.warehouse.claims import NUMBER_AT
from rayscope.warehouse.schema import BY_NAME, TYPES, UNKNOWN_NS, Layout, group_name, on_cluster

_WHOSE = "session, cluster"
_SUBMITTERS = {"parent_task_id", "caller_task_id"}
_NOT_DRIVER = "ifNull(type != 'DRIVER_TASK', true)"


def _hex_id(prefix: str) -> str:
    """SQL for a task's hex ID from its two parts. NULL stays NULL."""
    return f"lower(concat(leftPad(hex({prefix}_hi), 16, '0'), {prefix}_lo))"


def _high(task_id: str) -> str:
    """SQL for the first part of a hex ID, NULL if it is not hexadecimal."""
    digits = f"leftPad(ifNull(substring({task_id}, 1, 16), ''), 16, '0')"
    return (
        f"if(match(ifNull(substring({task_id}, 1, 16), ''), '^[0-9a-fA-F]+$'), "
        f"reinterpretAsUInt64(reverse(unhex({digits}))), NULL)"
    )


def members(known: str, columns: Sequence[str]) -> Iterator[str]:
    """SQL for the columns of a group, see :func:`rayscope.warehouse.schema.group_name`."""
    group = group_name(known)
    for name in columns:
        unknown = f"{group}.unknown = 1 OR {group}.{name}_unknown = 1"
        yield f"if({unknown}, NULL, {group}.{name}) AS {name}"


def _merged(table: str) -> str:
    """The merged rows of a table, as a subquery. With FINAL in the same query, the engine treats
    ``account.count`` as a separate column that it cannot merge.
    """
    names = ", ".join(column.name for column in BY_NAME[table].columns)
    return f"(SELECT {names}, day FROM {table} FINAL)"


#: Columns of parts, from merged rows of ``raw_attempts``.
_PARTS = ", ".join(
    [
        _WHOSE,
        *KEY,
        *(name for name, _ in SCALAR_COLUMNS),
        *(member for known, columns in TOGETHER.items() for member in members(known, columns)),
        "creation_name, inferred, path",
    ]
)
#: The state by Ray's own rule: the last state that has a time.
_REPORTED = "multiIf(" + ", ".join(
    f"{column} IS NOT NULL, '{state}'"
    for state, column in zip(STATES[::-1], STATE_COLUMNS[::-1], strict=True)
)
#: An inferred end is valid only as long as the reports that it was inferred from have not changed.
_IS_INFERRED = (
    "inferred.known_by != '' AND finished_ns IS NULL "
    f"AND ifNull(failed_ns, {UNKNOWN_NS}) = inferred.failed_ns"
)
_COMPUTED = ", ".join(
    [
        f"{_REPORTED}, NULL) AS reported_state",
        f"{_IS_INFERRED} AS is_inferred",
        f"{SUBMITTER} AS submitter",
        *(
            f"if({_IS_INFERRED}, nullIf(inferred.end_ns, {UNKNOWN_NS}), {definition}) AS {name}"
            if name == END
            else f"{definition} AS {name}"
            for name, definition in DERIVED.items()
        ),
    ]
)
_DERIVED = {
    "state": "multiIf(is_inferred, nullIf(inferred.state, ''), "
    f"ifNull(finished_ns IS NOT NULL AND error_type = '{CANCELED}', false), 'FAILED', reported_state)",
    "end_known_by": "if(is_inferred, inferred.known_by, NULL)",
    "path_id": f"if(path.as_of_ns = {UNKNOWN_NS}, NULL, path.path_id)",
    "parent_hi": _high("submitter"),
    "parent_lo": "substring(submitter, 17)",
    "named_parent": "if(caller_task_id IS NOT NULL, ifNull(parent_task_id, ''), NULL)",
}
#: All columns of attempts but the distinct name, which depends on the session's other functions.
_ATTEMPT_NAMES = [name for name, _ in (*ATTEMPT_COLUMNS, *DERIVED_COLUMNS) if name != "distinct_name"]
_ALL_ATTEMPTS = ", ".join(
    f"{_DERIVED[name]} AS {name}" if name in _DERIVED else name for name in (*_ATTEMPT_NAMES, "creation_name")
)
#: Merged attempts with the columns of the record's table ``attempts``, and ``last_ns``: the time up to which
#: each attempt's state is known.
_ATTEMPTS = f"""
SELECT {_WHOSE}, {_ALL_ATTEMPTS}, nullIf(inferred.as_of_ns, 0) AS last_ns
FROM (SELECT *, {_COMPUTED} FROM (SELECT {_PARTS} FROM {_merged("raw_attempts")}))"""

_PARENT_ID = _hex_id("parent")
_SHOWN_NAME = (
    "if(ifNull(actor_repr_name IS NOT NULL AND type = 'ACTOR_TASK' AND name = func_name, false), "
    "concat(actor_repr_name, '.', splitByChar('.', ifNull(name, ''))[-1]), name)"
)
_FUNCTION = (
    "multiIf(func_name IS NOT NULL, func_name, "
    "ifNull(startsWith(module_name, 'ray.data.') AND type = 'NORMAL_TASK' AND name IS NOT NULL, false), "
    f"concat('{DATA}', name), name IS NOT NULL, name, creation_name)"
)
_TIMES = execution.times("last_ns")
#: Column of the view of tasks -> its expression, None for a column of ``attempts``.
_TASK_COLUMNS: dict[str, str | None] = {
    "task_id": _hex_id("task"),
    "attempt": None,
    "name": _SHOWN_NAME,
    "func_name": _FUNCTION,
    "type": None,
    "state": None,
    "reported_state": None,
    "end_known_by": None,
    "parent_task_id": f"if(named_parent IS NULL, {_PARENT_ID}, nullIf(named_parent, ''))",
    "caller_task_id": _PARENT_ID,
    **dict.fromkeys(n for n in SCALARS if n not in {"name", "func_name", "type", *_SUBMITTERS}),
    "created_ns": CREATED,
    "start_ns": START,
    "end_ns": END,
    "duration_ns": _TIMES["duration"],
    "waiting_ns": _TIMES["waiting"],
    "total_ns": _TIMES["total"],
    **dict.fromkeys((*STATE_COLUMNS, *PHASE_COLUMNS, "error_type", "error_message", "path_id")),
}


def _renamed(columns: dict[str, str | None], rows: str) -> str:
    """Select expressions that are named like other columns.

    This takes a subquery, because in a single query the alias would hide the column.
    """
    made = ", ".join(f"{sql} AS made_{name}" for name, sql in columns.items() if sql is not None)
    shown = ", ".join(name if sql is None else f"made_{name} AS {name}" for name, sql in columns.items())
    return f"SELECT {_WHOSE}, {shown} FROM (SELECT *, {made} FROM ({rows}))"


_STATE_ROWS = ", ".join(f"('{state}', {column})" for state, column in zip(STATES, STATE_COLUMNS, strict=True))
_TASK_STATES = f"""
SELECT {_WHOSE}, task_id, attempt, entry.1 AS state, assumeNotNull(entry.2) AS time_ns
FROM (
    SELECT {_WHOSE}, {_hex_id("task")} AS task_id, attempt,
        arrayJoin(arrayFilter(one -> one.2 IS NOT NULL, [{_STATE_ROWS}])) AS entry
    FROM attempts WHERE {_NOT_DRIVER})"""

_OF_SPAN = "session, task_hi, task_lo, attempt, begin_ns"
#: Tasks whose values a call waited for.
_AWAITED = f"""
SELECT {_OF_SPAN}, groupUniqArray(assumeNotNull({_hex_id("object")})) AS awaited
FROM edge_rows
WHERE kind IN ('get', 'wait') AND object_index < {FIRST_PUT} AND object_hi IS NOT NULL GROUP BY {_OF_SPAN}"""
#: Waits without a reported end.
_STILL_BLOCKED = f"""
SELECT session, min(cluster) AS cluster, {_hex_id("task")} AS task_id, attempt,
    substring(assumeNotNull(kind), 9) AS name, begin_ns, NULL AS end_ns, NULL AS duration_ns, NULL AS extra,
    groupUniqArrayIf(assumeNotNull({_hex_id("object")}),
        ifNull(object_index < {FIRST_PUT}, false)) AS blocked_on
FROM edge_rows AS b
LEFT ANTI JOIN (SELECT session, task_hi, task_lo, begin_ns FROM span_rows) AS s
    ON s.session = b.session AND s.task_hi = b.task_hi AND s.task_lo = b.task_lo AND s.begin_ns = b.begin_ns
WHERE startsWith(kind, 'blocked:')
GROUP BY session, task_hi, task_lo, attempt, kind, begin_ns"""
_SPANS = f"""
SELECT r.session AS session, r.cluster AS cluster, {_hex_id("r.task")} AS task_id, r.attempt AS attempt,
    r.name AS name, r.begin_ns AS begin_ns, r.end_ns AS end_ns, r.end_ns - r.begin_ns AS duration_ns,
    r.extra AS extra, a.awaited AS blocked_on
FROM span_rows AS r LEFT JOIN ({_AWAITED}) AS a
    ON a.session = r.session AND a.task_hi = r.task_hi AND a.task_lo = r.task_lo AND a.attempt = r.attempt
        AND a.begin_ns = r.begin_ns
WHERE NOT ({ABOUT_SAMPLES})
UNION ALL {_STILL_BLOCKED}
""" + " ".join(
    f"UNION ALL SELECT {_WHOSE}, {_hex_id('task')}, attempt, 'task:{phase}', {phase}_begin_ns, "
    f"{phase}_end_ns, {phase}_end_ns - {phase}_begin_ns, NULL, [] FROM attempts "
    f"WHERE {phase}_begin_ns IS NOT NULL"
    for phase in PHASES
)

_SAMPLES = f"""
SELECT {_WHOSE}, {_hex_id("task")} AS task_id, attempt, begin_ns, end_ns, profile_id, hz,
    [{PHASE_NAMES}][entry[1] + 1] AS phase, CAST(entry[2] = 1, 'Bool') AS is_native, entry[3] AS samples,
    entry[4] AS frame_id
FROM (
    SELECT *, nullIf(JSONExtractString(assumeNotNull(extra), 'profile'), '') AS profile_id,
        JSONExtractFloat(assumeNotNull(extra), 'hz') AS hz,
        arrayJoin(JSONExtract(assumeNotNull(extra), 'samples', 'Array(Array(Int64))')) AS entry
    FROM span_rows WHERE isValidJSON(extra) AND (name = '{SAMPLES}' AND startsWith(extra, '{{"hz":')
        OR name = '{PROFILE}' AND startsWith(extra, '{{"profile":')))
WHERE length(entry) >= 4 AND entry[1] >= 0 AND phase != '' AND samples BETWEEN 0 AND {MAX_SAMPLES}
    AND frame_id >= 0"""
_SAMPLE_FRAMES = f"""
SELECT DISTINCT {_WHOSE}, entry.1 AS frame_id, nullIf(entry.2, 0) AS caller_frame_id,
    extract(entry.3, '(?-s)^(.*):[0-9]+ ') AS file,
    toInt64OrNull(extract(entry.3, '(?-s)^.*:([0-9]+) ')) AS line,
    extract(entry.3, '(?-s)^.*:[0-9]+ (.*)$') AS function
FROM (
    SELECT {_WHOSE}, arrayJoin(
            JSONExtract(assumeNotNull(extra), 'frames', 'Array(Tuple(Int64, Int64, String))')) AS entry
    FROM span_rows WHERE name = '{FRAMES}' AND startsWith(extra, '{{"frames":') AND isValidJSON(extra))
WHERE frame_id >= 0 AND entry.2 >= 0"""

# Entities.


def _texts(states: Sequence[str] | frozenset[str] | set[str]) -> str:
    return ", ".join(map(repr, sorted(states)))


def _accounts(kind: Kind) -> str:
    """The claims of each account of an entity, with the account's rank (see :mod:`rayscope.model.entity`)."""
    final = f"state IN ({_texts(FINAL_STATES[kind])})" if FINAL_STATES[kind] else "false"
    certainty = "0"
    if kind == "job":
        known = "".join(f", state = '{state}', {level}" for state, level in CERTAINTY_OF_END.items())
        certainty = f"multiIf(mapContains(said, 'exit_code'), {KNOWS_EXIT_CODE}{known}, 0)"
        certainty = f"if({final}, {certainty}, 0)"
    time = "time_ns" if kind == "job" else f"if({final}, -time_ns, time_ns)"
    rank = f"(toInt8(source), toInt8({final}), toInt8({certainty}), toInt64({time}), state, toInt8(0))"
    observed = (
        "(toInt8(1), toInt8(observed.is_final), toInt8(observed.has_exit), observed.time_ns, "
        "observed.state, toInt8(1))"
    )
    mine = f"FROM {_merged('raw_entities')} WHERE kind = '{kind}'"
    return (
        f"SELECT {_WHOSE}, id, inferred, said, {rank} AS rank {mine} UNION ALL "
        f"SELECT {_WHOSE}, id, inferred, JSONExtract(observed.said, 'Map(String, String)'), {observed} "
        f"{mine} AND source = 0 AND observed.known = 1"
    )


def _value(name: str, duck: str) -> str:
    """SQL for a column's value: from the claim of the highest ranked account that has one."""
    claim = f"argMaxIf(said['{name}'], rank, mapContains(said, '{name}'))"
    shown = f"if(startsWith({claim}, '0'), substring({claim}, {NUMBER_AT}), substring({claim}, 2))"
    if duck == "VARCHAR":
        return f"if({claim} = '', NULL, {shown})"
    if duck == "BOOLEAN":
        return f"CAST(if({shown} = '', NULL, {shown} = 'true'), 'Nullable(Bool)')"
    return f"to{TYPES[duck]}OrNull({shown})"


def _entity_rows(kind: Kind) -> str:
    """Merged entities of a kind, with the columns of the record's table except ``doc``."""
    columns = ENTITY_COLUMNS[kind]
    merged = ", ".join(f"{_value(name, duck)} AS current_{name}" for name, duck in columns)
    over = {*FINAL_STATES[kind], ENDED.get(kind, ""), NOT_RUNNING.get(kind, "")}
    is_open = f"newest.known_by != '' AND ifNull(current_state NOT IN ({_texts(over)}), true)"
    inferred = {
        "state": "newest.state",
        "end_ns": f"nullIf(newest.end_ns, {UNKNOWN_NS})",
        "end_known_by": "newest.known_by",
    }
    current = {name: f"current_{name}" for name, _ in columns}
    if kind == "job":  # the same rule as in `is_unproven_success`
        current["state"] = (
            "if(current_state = 'SUCCEEDED' AND current_submission_id IS NOT NULL "
            "AND current_exit_code IS NULL, 'FINISHED', current_state)"
        )
    shown = ", ".join(
        f"if({is_open}, {inferred[name]}, {value}) AS {name}"
        if kind in ENDED and name in inferred
        else f"{value} AS {name}"
        for name, value in current.items()
    )
    return (
        f"SELECT {_WHOSE}, id, {shown} FROM (SELECT session, min(cluster) AS cluster, id, "
        f"max(inferred) AS newest, {merged} FROM ({_accounts(kind)}) GROUP BY session, id)"
    )


_NAMESPACE = f"ifNull({is_rays_namespace('startsWith')}, false)"
#: The internal jobs of all sessions, by the same rules as in :mod:`rayscope.storage.sql.internal`.
_INTERNAL_JOBS = (
    "SELECT session, id FROM job_rows WHERE is_internal "
    "UNION ALL SELECT session, assumeNotNull(job_id) FROM actor_rows "
    f"WHERE job_id IS NOT NULL AND {_NAMESPACE}"
)


def _of_internal_job(job: str) -> str:
    return f"(session, ifNull({job}, '')) IN ({_INTERNAL_JOBS})"


_INTERNAL_ACTOR = f"({_NAMESPACE} OR {_of_internal_job('job_id')})"
_JOB_OF_WORKER = "coalesce(job_id, if(worker_type = 'DRIVER', substring(id, 1, 8), NULL))"
_IS_INTERNAL: dict[Kind, str] = {
    "job": f"(ifNull(is_internal, false) OR {_of_internal_job('id')})",
    "actor": _INTERNAL_ACTOR,
    "worker": f"({_of_internal_job(_JOB_OF_WORKER)} OR (session, id) IN ("
    "SELECT session, assumeNotNull(worker_id) FROM actor_rows "
    f"WHERE worker_id IS NOT NULL AND {_INTERNAL_ACTOR}))",
}


def _entity_view(kind: Kind) -> str:
    _, id_column = ENTITY_VIEWS[kind]
    rows = f"SELECT * FROM {kind}_rows"
    columns: dict[str, str | None] = {id_column: "id"}
    columns.update(dict.fromkeys(name for name, _ in ENTITY_COLUMNS[kind] if name != id_column))
    if kind in _IS_INTERNAL:
        columns["is_internal"] = f"toBool({_IS_INTERNAL[kind]})"
    shown = _renamed(columns, rows)
    if kind == "job":  # a submission with a driver is shown as the driver's job
        shown += " WHERE alias_of IS NULL AND NOT is_internal"
    return shown


def _set(table: str, columns: Sequence[tuple[str, str]]) -> str:
    return f"SELECT {_WHOSE}, {', '.join(name for name, _ in columns)} FROM {_merged(table)}"


_DROPS = f"""
SELECT {_WHOSE}, source, reason, account.count AS count, account.observed_ns AS observed_ns, event_type,
    nullIf(account.first_ns, {UNKNOWN_NS}) AS first_ns, nullIf(account.last_ns, {UNKNOWN_NS}) AS last_ns
FROM {_merged("raw_drops")}"""
_SESSIONS = f"""
SELECT {_WHOSE}, coalesce(nullIf(label.name, ''), nullIf(account.name, '')) AS name,
    nullIf(account.script, '') AS script, day,
    first_ns, last_ns, nullIf(account.ended_ns, {UNKNOWN_NS}) AS ended_ns,
    nullIf(account.ray_version, '') AS ray_version, account.tasks AS tasks, account.attempts AS attempts,
    account.failed AS failed, account.actors AS actors, account.nodes AS nodes, account.jobs AS jobs,
    account.dropped AS dropped, if(label.set_ns > 0, label.note, account.note) AS note,
    if(label.set_ns > 0, label.tags, account.tags) AS tags, account.loaded_ns AS loaded_ns,
    account.stamp AS stamp
FROM {_merged("raw_sessions")}"""

#: View -> its query. Each depends only on earlier ones.
VIEWS: dict[str, str] = {
    "sessions": _SESSIONS,
    "attempts": f"SELECT {_WHOSE}, {', '.join(_ATTEMPT_NAMES)} FROM ({_ATTEMPTS})",
    "span_rows": _set("raw_spans", SPAN_COLUMNS),
    "edge_rows": _set("raw_edges", EDGE_COLUMNS),
    "annotation_rows": _set("raw_annotations", ANNOTATION_COLUMNS),
    "paths": f"SELECT {_WHOSE}, path_id, parent_path_id, name, depth FROM {_merged('raw_paths')}",
    "drops": _DROPS,
    **{f"{kind}_rows": _entity_rows(kind) for kind in ENTITY_COLUMNS},
    "tasks": _renamed(_TASK_COLUMNS, f"{_ATTEMPTS} WHERE {_NOT_DRIVER}"),
    "task_states": _TASK_STATES,
    "annotations": f"SELECT {_WHOSE}, {_hex_id('task')} AS task_id, attempt, kind, name, value, number, "
    "time_ns FROM annotation_rows",
    "spans": _SPANS,
    "samples": _SAMPLES,
    "sample_frames": _SAMPLE_FRAMES,
    **{view: _entity_view(kind) for kind, (view, _) in ENTITY_VIEWS.items()},
}


def create_views(layout: Layout) -> list[str]:
    """The statements that create all views, replacing older ones."""
    return [
        f"CREATE OR REPLACE VIEW {name}{on_cluster(layout)} AS {query.strip()}"
        for name, query in VIEWS.items()
    ]
