"""The fields of Ray's state API, each with the SQL that computes it from a session's record.

The names, and which fields are shown in lists or can be filtered, are those of ``ray/util/state/common.py``.
Fields that are not recorded are NULL if Ray's client accepts that. Otherwise they are missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from rayscope.cluster.events.sql import EVENTS, MESSAGE_CHARS
from rayscope.cluster.objects.sql import IS_CREATOR
from rayscope.model import CUT_OFF, STATES
from rayscope.storage.schema import RAY_NAME, SHOWN_JOB
from rayscope.storage.sql.execution import END, FIRST_PUT, NAMED_PARENT_ID, TASK_ID

#: Marks of a field: ``F`` can be filtered, ``D`` is shown only in details.
Marks = Literal["", "F", "D", "FD"]
_NOTHING = "NULL::VARCHAR"


class Field(NamedTuple):
    """A field.

    Attributes:
        sql: computes the value. JSON is embedded as it is.
        kind: type of the values that a filter compares it with.
        since: the first version of Ray (major, minor) that has the field.
    """

    name: str
    sql: str
    marks: Marks = ""
    kind: type = str
    since: tuple[int, int] = (0, 0)


class Resource(NamedTuple):
    """A resource of Ray's state API.

    Attributes:
        rows: SQL for a table expression with the rows.
        where: condition on rows. Ray's client refuses a whole list if a row lacks a name, type or state.
        order: columns that identify a row. Lists are sorted by them, as in Ray.
        at_source: fields that Ray filters where it counts the total.
    """

    rows: str
    where: str
    order: tuple[str, ...]
    fields: tuple[Field, ...]
    at_source: frozenset[str] = frozenset()


def _ms(column: str) -> str:
    """SQL for a time of a task in ms, with the rounding errors of Ray's ``time_ns // 1e6``."""
    return f"(({column}::DOUBLE - {column}::DOUBLE % 1e6) / 1e6)::BIGINT"


def _whole_ms(column: str, unknown: str = "0") -> str:
    """SQL for a time of an entity in ms."""
    return f"coalesce({column} // 1000000, {unknown})"


def _json(column: str, empty: str = "{}") -> str:
    """SQL for a JSON document in a column. A document that was cut counts as missing."""
    return f"coalesce(TRY_CAST({column} AS JSON), '{empty}'::JSON)"


def _without_nulls(struct: str) -> str:
    return f"json_merge_patch('{{}}'::JSON, to_json({struct}))"


#: Ray declares a task failed whose worker, node or job ends first. The record says so in a state of its own.
_STATE = (
    f"CASE WHEN end_known_by IS NULL THEN coalesce(reported_state, 'NIL') "
    f"WHEN state = '{CUT_OFF}' THEN 'FAILED' ELSE state END"
)
_IS_FAILED = f"({_STATE}) = 'FAILED'"
_LOST = "'Rayscope: no end was reported before the end of its ' || end_known_by || '.'"
_EVENTS = ", ".join(f"{{'state': '{state}', 'created_ms': {_ms(f'{state.lower()}_ns')}}}" for state in STATES)
_LOG_INFO = ", ".join(
    f"'{name}': {name}"
    for name in ("stdout_file", "stderr_file", "stdout_start", "stdout_end", "stderr_start", "stderr_end")
)

#: Whether the definition of an attempt was reported. As in Ray, others, such as restarts of actors, are not
#: listed.
_IS_DEFINED = "(name IS NOT NULL OR type = 'DRIVER_TASK') AND type IS NOT NULL"
TASKS = Resource(
    "attempts",
    _IS_DEFINED,
    ("task_hi", "task_lo", "attempt"),
    (
        Field("task_id", TASK_ID, "F"),
        Field("attempt_number", "attempt", "F", int),
        Field("name", f"coalesce({RAY_NAME}, '')", "F"),
        Field("state", _STATE, "F"),
        Field("job_id", "coalesce(job_id, '')", "F"),
        Field("actor_id", "actor_id", "F"),
        Field("type", "type", "F"),
        Field("func_or_class_name", "coalesce(func_name, name, '')", "F"),
        Field("parent_task_id", f"coalesce({NAMED_PARENT_ID}, '{'f' * 48}')", "F"),
        Field("node_id", "node_id", "F"),
        Field("worker_id", "worker_id", "F"),
        Field("worker_pid", "worker_pid", "F", int),
        Field(
            "error_type",
            f"CASE WHEN {_IS_FAILED} THEN coalesce(error_type, CASE WHEN state = '{CUT_OFF}' "
            "THEN 'WORKER_DIED' END) END",
            "F",
        ),
        Field("language", "language", "FD"),
        Field("required_resources", _json("required_resources"), "D"),
        Field("runtime_env_info", "{'serialized_runtime_env': coalesce(runtime_env, '{}')}", "D"),
        Field("placement_group_id", "placement_group_id", "FD"),
        Field("events", f"[step FOR step IN [{_EVENTS}] IF step.created_ms IS NOT NULL]", "D"),
        Field("profiling_data", "'{}'::JSON", "D"),
        Field("creation_time_ms", _ms("pending_args_avail_ns"), "D"),
        Field("start_time_ms", _ms("running_ns"), "D"),
        Field("end_time_ms", _ms(END), "D"),
        Field(
            "task_log_info",
            f"CASE WHEN stdout_file IS NOT NULL THEN {_without_nulls(f'{{{_LOG_INFO}}}')} END",
            "D",
        ),
        Field(
            "error_message",
            f"CASE WHEN {_IS_FAILED} THEN coalesce(error_message, CASE WHEN state = '{CUT_OFF}' "
            f"THEN {_LOST} END) END",
            "D",
        ),
        Field("is_debugger_paused", _NOTHING, "FD", bool),
        Field("call_site", "call_site", "D"),
        Field("label_selector", _json("label_selector"), "D"),
        Field("fallback_strategy", _NOTHING, "D", since=(2, 55)),
    ),
    frozenset({"actor_id", "job_id", "task_id", "name", "state"}),
)

ACTORS = Resource(
    "actor_rows",
    "state IS NOT NULL",
    ("id",),
    (
        Field("actor_id", "id", "F"),
        Field("class_name", "coalesce(class_name, '')", "F"),
        Field("state", "state", "F"),
        Field("job_id", "coalesce(job_id, '')", "F"),
        Field("name", "coalesce(name, '')", "F"),
        Field("node_id", "node_id", "F"),
        Field("pid", "coalesce(pid, 0)", "F", int),
        Field("ray_namespace", "ray_namespace", "F"),
        Field("serialized_runtime_env", "coalesce(runtime_env, '{}')", "D"),
        Field("required_resources", _json("required_resources"), "D"),
        Field("death_cause", "TRY_CAST(death_cause AS JSON)", "D"),
        Field("is_detached", "coalesce(is_detached, false)", "D"),
        Field("placement_group_id", "placement_group_id", "FD"),
        Field("repr_name", "coalesce(repr_name, '')", "FD"),
        # Ray writes numbers of 64 bits as strings.
        Field("num_restarts", "coalesce(num_restarts, 0)::VARCHAR", "D"),
        Field("call_site", "call_site", "D"),
        Field("label_selector", _json("label_selector"), "D"),
        Field("fallback_strategy", _NOTHING, "D", since=(2, 55)),
    ),
)

_DEATHS = {
    "EXPECTED_TERMINATION": "Expected termination",
    "UNEXPECTED_TERMINATION": "Unexpected termination",
    "AUTOSCALER_DRAIN_PREEMPTED": "Terminated due to preemption",
    "AUTOSCALER_DRAIN_IDLE": "Terminated due to idle (no Ray activity)",
}
_DEATH = " ".join(f"WHEN '{reason}' THEN '{text}'" for reason, text in _DEATHS.items())

NODES = Resource(
    "node_rows",
    "state IS NOT NULL",
    ("id",),
    (
        Field("node_id", "id", "F"),
        Field("node_ip", "coalesce(node_ip, '')", "F"),
        Field("is_head_node", "coalesce(is_head, false)", "F", bool),
        Field("state", "state", "F"),
        Field(
            "state_message",
            f"nullif(concat_ws(': ', CASE death_reason {_DEATH} END, nullif(death_message, '')), '')",
        ),
        Field("node_name", "coalesce(node_name, '')", "F"),
        Field("resources_total", _json("resources_total")),
        Field("labels", _json("labels")),
        Field("start_time_ms", _whole_ms("start_ns"), "D"),
        Field("end_time_ms", _whole_ms("end_ns"), "D"),
    ),
)

WORKERS = Resource(
    "worker_rows",
    "true",
    ("id",),
    (
        Field("worker_id", "id", "F"),
        Field("is_alive", "state IS DISTINCT FROM 'DEAD'", "F", bool),
        Field("worker_type", "coalesce(worker_type, 'WORKER')", "F"),
        Field("exit_type", "exit_type", "F"),
        Field("node_id", "coalesce(node_id, '')", "F"),
        Field("ip", "coalesce(ip, '')", "F"),
        Field("pid", "coalesce(pid, 0)", "F", int),
        Field("exit_detail", "exit_detail", "D"),
        Field("worker_launch_time_ms", _whole_ms("launch_ns", "-1"), "D"),
        Field("worker_launched_time_ms", _whole_ms("(doc->0->>'launched_ns')::BIGINT", "-1"), "D"),
        Field("start_time_ms", _whole_ms("start_ns"), "D"),
        Field("end_time_ms", _whole_ms("end_ns"), "D"),
        Field("debugger_port", _NOTHING, "FD", int),
        Field("num_paused_threads", "paused_threads", "FD", int),
    ),
)

_BUNDLES = """
[{'bundle_id': {'placement_group_id': id, 'bundle_index': bundle->'index'},
    'unit_resources': bundle->'resources', 'node_id': bundle->'node_id'}
FOR bundle IN TRY_CAST(bundles AS JSON[])]"""
_STATS = {
    "creation_request_received_ns": "->>",
    "scheduling_started_time_ns": "->>",
    "scheduling_latency_us": "->>",
    "end_to_end_creation_latency_us": "->>",
    "scheduling_attempt": "->",
    "scheduling_state": "->>",
    "highest_retry_delay_ms": "->",
}
_STAT = ", ".join(f"'{name}': TRY_CAST(stats AS JSON){arrow}'{name}'" for name, arrow in _STATS.items())

PLACEMENT_GROUPS = Resource(
    "placement_group_rows",
    "state IS NOT NULL",
    ("id",),
    (
        Field("placement_group_id", "id", "F"),
        Field("name", "coalesce(name, '')", "F"),
        Field("creator_job_id", "coalesce(job_id, '')", "F"),
        Field("state", "state", "F"),
        Field("bundles", _BUNDLES, "D"),
        Field("is_detached", "coalesce(is_detached, false)", "FD", bool),
        Field("stats", f"CASE WHEN stats IS NOT NULL THEN {_without_nulls(f'{{{_STAT}}}')} END", "D"),
        Field("topology_strategy", _NOTHING, "D", since=(2, 57)),
        Field("topology_assignments", _NOTHING, "D", since=(2, 57)),
    ),
)

#: A submission without a driver is stored under its submission ID. If a submission had several drivers, Ray
#: lists it with the last one.
_JOBS = f"""
(SELECT *, nullif(id, coalesce(submission_id, '')) AS job, submission_id IS NOT NULL AS is_submission
FROM job_rows WHERE {SHOWN_JOB}
QUALIFY row_number() OVER (PARTITION BY coalesce(submission_id, id) ORDER BY id DESC) = 1)"""
#: Ray has no word for a job whose outcome nobody reported.
_STATUS = f"CASE state WHEN 'FINISHED' THEN 'SUCCEEDED' WHEN '{CUT_OFF}' THEN 'FAILED' ELSE state END"

JOBS = Resource(
    _JOBS,
    "state IS NOT NULL",
    ("coalesce(job, '')", "id"),
    (
        Field("type", "CASE WHEN is_submission THEN 'SUBMISSION' ELSE 'DRIVER' END", "F"),
        Field("job_id", "job", "F"),
        Field("submission_id", "submission_id", "F"),
        Field(
            "driver_info",
            "CASE WHEN job IS NOT NULL THEN {'id': job, 'node_ip_address': coalesce(driver_ip, ''), "
            "'pid': coalesce(driver_pid::VARCHAR, '')} END",
        ),
        Field("status", _STATUS, "F"),
        Field("entrypoint", "coalesce(entrypoint, '')"),
        Field(
            "message",
            f"coalesce(message, CASE WHEN state = '{CUT_OFF}' "
            "THEN 'Rayscope: the cluster ended while this job was running. Its outcome is unknown.' END)",
        ),
        Field("error_type", "error_type"),
        Field("start_time", "coalesce(start_ns // 1000000, CASE WHEN NOT is_submission THEN 0 END)", "D"),
        Field("end_time", "coalesce(end_ns // 1000000, CASE WHEN NOT is_submission THEN 0 END)", "D"),
        Field("metadata", _json("CASE WHEN is_submission THEN metadata END"), "D"),
        Field("runtime_env", _json("runtime_env"), "D"),
        Field("driver_agent_http_address", _NOTHING, "D"),
        Field("driver_node_id", "CASE WHEN is_submission THEN driver_node_id END", "D"),
        Field("driver_exit_code", "exit_code", "D"),
    ),
)

#: An environment that a task or an actor used on a node was built there.
_RUNTIME_ENVS = """
(SELECT runtime_env, node_id, bool_or(is_built) AS is_built, any_value(error) AS error FROM (
    SELECT runtime_env, node_id, true AS is_built, NULL AS error FROM actor_rows WHERE pid IS NOT NULL
    UNION ALL SELECT runtime_env, node_id, error_type IS DISTINCT FROM 'RUNTIME_ENV_SETUP_FAILED',
        CASE WHEN error_type = 'RUNTIME_ENV_SETUP_FAILED' THEN error_message END
    FROM attempts WHERE running_ns IS NOT NULL OR error_type = 'RUNTIME_ENV_SETUP_FAILED')
WHERE json_valid(runtime_env) AND runtime_env != '{}' AND node_id IS NOT NULL GROUP BY ALL)"""

RUNTIME_ENVS = Resource(
    _RUNTIME_ENVS,
    "true",
    ("runtime_env", "node_id"),
    (
        Field("runtime_env", "runtime_env::JSON", "F"),
        Field("success", "is_built", "F", bool),
        Field("creation_time_ms", _NOTHING),
        Field("node_id", "node_id", "F"),
        Field("ref_cnt", _NOTHING, "D"),
        Field("error", "CASE WHEN NOT is_built THEN error END", "FD"),
    ),
)

#: The references in the registered table ``held``, each with the last attempt of the task that created the
#: object.
_OBJECTS = f"""
(SELECT held.*, made.attempt, made.reported_state, number >= {FIRST_PUT} AS is_put
FROM held LEFT JOIN (
    SELECT w.id, max(a.attempt) AS attempt, arg_max(a.reported_state, a.attempt) AS reported_state
    FROM (SELECT DISTINCT id, hi, lo FROM held) w JOIN attempts a ON {IS_CREATOR} GROUP BY w.id
) made USING (id))
"""

OBJECTS = Resource(
    _OBJECTS,
    "type != 'UNKNOWN_STATUS'",
    ("id", "pid", "type"),
    (
        Field("object_id", "id", "F"),
        Field("object_size", "coalesce(size, -1)", "F", int),
        Field(
            "task_status",
            "CASE WHEN type = 'ACTOR_HANDLE' THEN 'NIL' WHEN is_put THEN 'FINISHED' "
            "WHEN starts_with(reported_state, 'RUNNING') THEN 'SUBMITTED_TO_WORKER' "
            "ELSE coalesce(reported_state, 'NIL') END",
            "F",
        ),
        Field("attempt_number", "CASE WHEN is_put THEN 1 ELSE coalesce(attempt, 0) + 1 END", "F", int),
        Field("reference_type", "type", "F"),
        Field("call_site", "coalesce(call_site, 'disabled')", "F"),
        Field("type", "CASE WHEN is_driver THEN 'DRIVER' ELSE 'WORKER' END", "F"),
        Field("pid", "pid", "F", int),
        Field("ip", "coalesce((SELECT node_ip FROM node_rows WHERE id = node_id), '')", "F"),
    ),
)

CLUSTER_EVENTS = Resource(
    f"({EVENTS})",
    "time_ns IS NOT NULL",
    ("time_ns DESC", "kind DESC", "event DESC", "id DESC"),
    (
        Field("severity", "severity", "F"),
        Field("time", "strftime(make_timestamp_ns(time_ns), '%Y-%m-%d %H:%M:%S')"),
        Field("source_type", "upper(kind)", "F"),
        Field(
            "message",
            f"concat_ws(': ', event, nullif(title, ''), nullif(left(message, {MESSAGE_CHARS}), ''))",
        ),
        Field("event_id", "concat(kind, ':', id, ':', time_ns)", "F"),
        Field("custom_fields", "{'id': id, 'node_id': node_id, 'job_id': job_id, 'count': count}", "D"),
    ),
)

RESOURCES: Mapping[str, Resource] = {
    "tasks": TASKS,
    "actors": ACTORS,
    "nodes": NODES,
    "workers": WORKERS,
    "placement_groups": PLACEMENT_GROUPS,
    "jobs": JOBS,
    "runtime_envs": RUNTIME_ENVS,
    "objects": OBJECTS,
    "cluster_events": CLUSTER_EVENTS,
}


def sql_of(resource: Resource, name: str) -> str:
    """The SQL of a field."""
    return next(field.sql for field in resource.fields if field.name == name)
