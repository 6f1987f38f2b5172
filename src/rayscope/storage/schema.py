"""The layout of a session's DuckDB file, its version, and the documented views.

``attempts`` has no primary key: the only writer looks up rows before it inserts, so they are unique (see
docs/explanation/decisions/0002). A task ID is split into its first 8 bytes (``task_hi``, random) and the rest
(``task_lo``, the actor or job), which has few distinct values and compresses to nearly nothing.
"""

from __future__ import annotations

from rayscope.model import PHASES, STATES, Kind
from rayscope.model.attempt import CANCELED, SCALARS
from rayscope.storage.sql import execution, gpu_use
from rayscope.storage.sql.execution import (
    CREATED,
    END,
    FUNCTION,
    NAMED_PARENT_ID,
    NOT_DRIVER,
    PARENT_ID,
    START,
    TASK_ID,
    function_name,
)
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.merge import INTEGERS, SUBMITTER
from rayscope.storage.sql.samples import ABOUT_SAMPLES, FRAMES, HAS_SAMPLES, SAMPLE_SUMS

#: Version of the tables below. Records in other formats are rejected. No older format was ever released.
FORMAT = 1

_SUBMITTERS = ("parent_task_id", "caller_task_id")
STATE_COLUMNS = tuple(f"{state.lower()}_ns" for state in STATES)
PHASE_COLUMNS = tuple(f"{phase}_{edge}_ns" for phase in PHASES for edge in ("begin", "end"))

#: The columns of the table ``attempts`` in order, as (column, DuckDB type). :data:`DERIVED_COLUMNS` follow.
#: ``parent_hi`` and ``parent_lo`` identify the caller. If the tracer reported the caller, ``named_parent`` is
#: the parent according to Ray, or '' if unknown. Otherwise it is NULL.
ATTEMPT_COLUMNS: tuple[tuple[str, str], ...] = (
    ("task_hi", "UBIGINT"),
    ("task_lo", "VARCHAR"),
    ("attempt", "INTEGER"),
    ("state", "VARCHAR"),
    ("reported_state", "VARCHAR"),
    ("end_known_by", "VARCHAR"),
    ("path_id", "BIGINT"),
    ("parent_hi", "UBIGINT"),
    ("parent_lo", "VARCHAR"),
    ("named_parent", "VARCHAR"),
    *((name, "BIGINT" if name in INTEGERS else "VARCHAR") for name in SCALARS if name not in _SUBMITTERS),
    *((name, "BIGINT") for name in STATE_COLUMNS),
    *((name, "BIGINT") for name in PHASE_COLUMNS),
    ("error_ns", "BIGINT"),
    ("error_type", "VARCHAR"),
    ("error_message", "VARCHAR"),
    ("returned_ns", "BIGINT"),
    ("return_bytes", "BIGINT"),
    ("output_bytes", "BIGINT"),
    # The function's name, if it differs from Ray's ``func_name``: see storage/function_naming.py.
    ("distinct_name", "VARCHAR"),
)

DERIVED_COLUMNS = tuple((name, "BIGINT") for name in execution.DERIVED)
#: SQL for the state by Ray's own rule.
_STATE = (
    "CASE "
    + " ".join(
        f"WHEN {column} IS NOT NULL THEN '{state}'"
        for state, column in zip(STATES[::-1], STATE_COLUMNS[::-1], strict=True)
    )
    + " END"
)
#: Columns of ``attempts`` that are computed from :data:`rayscope.storage.sql.merge.PART_COLUMNS`.
_COMPUTED_COLUMNS = {
    # Ray reports FINISHED for a task that was canceled while it ran, but the tracer reports the error.
    "state": f"CASE WHEN finished_ns IS NOT NULL AND error_type = '{CANCELED}' THEN 'FAILED' "
    f"ELSE {_STATE} END",
    "reported_state": _STATE,
    "end_known_by": "NULL",
    "parent_hi": f"TRY_CAST('0x' || {SUBMITTER}[:16] AS UBIGINT)",
    "parent_lo": f"{SUBMITTER}[17:]",
    "named_parent": "CASE WHEN caller_task_id IS NOT NULL THEN coalesce(parent_task_id, '') END",
}


def insert_attempts(parts: str, distinct_name: str = "NULL") -> str:
    """SQL statement that inserts the rows of ``parts`` into ``attempts``.

    ``parts``: a table of parts with ``path_id``. ``distinct_name``: SQL for that column.
    """
    made = {**_COMPUTED_COLUMNS, "distinct_name": distinct_name}
    stored = ", ".join(f"{made[name]} AS {name}" if name in made else name for name, _ in ATTEMPT_COLUMNS)
    derived = ", ".join(f"{made} AS {name}" for name, made in execution.DERIVED.items())
    return f"INSERT INTO attempts BY NAME SELECT *, {derived} FROM (SELECT {stored} FROM {parts})"


SPAN_COLUMNS: tuple[tuple[str, str], ...] = (
    ("task_hi", "UBIGINT"),
    ("task_lo", "VARCHAR"),
    ("attempt", "INTEGER"),
    ("name", "VARCHAR"),
    ("begin_ns", "BIGINT"),
    ("end_ns", "BIGINT"),
    ("extra", "VARCHAR"),
)

#: Columns of :class:`rayscope.model.Edge`.
EDGE_COLUMNS: tuple[tuple[str, str], ...] = (
    ("task_hi", "UBIGINT"),
    ("task_lo", "VARCHAR"),
    ("attempt", "INTEGER"),
    ("kind", "VARCHAR"),
    ("object_hi", "UBIGINT"),
    ("object_lo", "VARCHAR"),
    ("object_index", "UINTEGER"),
    ("bytes", "BIGINT"),
    ("begin_ns", "BIGINT"),
    ("end_ns", "BIGINT"),
)

#: Columns of :class:`rayscope.model.Annotation`.
ANNOTATION_COLUMNS: tuple[tuple[str, str], ...] = (
    ("task_hi", "UBIGINT"),
    ("task_lo", "VARCHAR"),
    ("attempt", "INTEGER"),
    ("kind", "VARCHAR"),
    ("name", "VARCHAR"),
    ("value", "VARCHAR"),
    ("number", "DOUBLE"),
    ("time_ns", "BIGINT"),
)

#: Entity kind -> typed columns of its table, which are values of ``Entity.current()``. Each table also has
#: ``id``, and ``doc`` with the complete entity for merging.
ENTITY_COLUMNS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "actor": (
        ("state", "VARCHAR"),
        ("class_name", "VARCHAR"),
        ("name", "VARCHAR"),
        ("ray_namespace", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("node_id", "VARCHAR"),
        ("worker_id", "VARCHAR"),
        ("pid", "BIGINT"),
        ("repr_name", "VARCHAR"),
        ("is_detached", "BOOLEAN"),
        ("num_restarts", "BIGINT"),
        ("max_restarts", "BIGINT"),
        ("required_resources", "VARCHAR"),
        ("placement_group_id", "VARCHAR"),
        ("label_selector", "VARCHAR"),
        ("runtime_env", "VARCHAR"),
        ("call_site", "VARCHAR"),
        ("death_reason", "VARCHAR"),
        ("death_cause", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "node": (
        ("state", "VARCHAR"),
        ("node_ip", "VARCHAR"),
        ("node_name", "VARCHAR"),
        ("hostname", "VARCHAR"),
        ("is_head", "BOOLEAN"),
        ("instance_id", "VARCHAR"),
        ("instance_type", "VARCHAR"),
        ("labels", "VARCHAR"),
        ("resources_total", "VARCHAR"),
        ("death_reason", "VARCHAR"),
        ("death_message", "VARCHAR"),
        ("metrics_export_port", "BIGINT"),
        ("dashboard_agent_port", "BIGINT"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "worker": (
        ("state", "VARCHAR"),
        ("worker_type", "VARCHAR"),
        ("node_id", "VARCHAR"),
        ("pid", "BIGINT"),
        ("ip", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("exit_type", "VARCHAR"),
        ("exit_detail", "VARCHAR"),
        ("launch_ns", "BIGINT"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
        ("tracer", "VARCHAR"),
        ("death_memory_bytes", "BIGINT"),
        ("paused_threads", "BIGINT"),
    ),
    "job": (
        ("state", "VARCHAR"),
        ("type", "VARCHAR"),
        ("submission_id", "VARCHAR"),
        ("entrypoint", "VARCHAR"),
        ("driver_pid", "BIGINT"),
        ("driver_ip", "VARCHAR"),
        ("driver_node_id", "VARCHAR"),
        ("message", "VARCHAR"),
        ("error_type", "VARCHAR"),
        ("exit_code", "BIGINT"),
        ("is_internal", "BOOLEAN"),
        ("alias_of", "VARCHAR"),
        ("runtime_env", "VARCHAR"),
        ("metadata", "VARCHAR"),
        ("versions", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "placement_group": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("strategy", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("creator_actor_id", "VARCHAR"),
        ("is_detached", "BOOLEAN"),
        ("bundles", "VARCHAR"),
        ("stats", "VARCHAR"),
        ("created_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    # Progress is in blocks. ``total`` and ``total_rows`` are Ray Data's estimates until it has finished.
    "dataset": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("progress", "BIGINT"),
        ("total", "BIGINT"),
        ("total_rows", "BIGINT"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    # ``inputs``: JSON list of the IDs of its input operators, NULL without the tracer.
    "dataset_operator": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("dataset_id", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("position", "BIGINT"),
        ("progress", "BIGINT"),
        ("total", "BIGINT"),
        ("total_rows", "BIGINT"),
        ("queued_blocks", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
        ("inputs", "VARCHAR"),
    ),
    # ``config`` and other documents are JSON without secrets, see ray/libraries/serve.py.
    "serve_application": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("message", "VARCHAR"),
        ("route_prefix", "VARCHAR"),
        ("docs_path", "VARCHAR"),
        ("source", "VARCHAR"),
        ("deployed_ns", "BIGINT"),
        ("config", "VARCHAR"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "serve_deployment": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("application", "VARCHAR"),
        ("status_trigger", "VARCHAR"),
        ("message", "VARCHAR"),
        ("target_replicas", "BIGINT"),
        ("is_ingress", "BOOLEAN"),
        ("calls", "VARCHAR"),
        ("required_resources", "VARCHAR"),
        ("config", "VARCHAR"),
        ("autoscaling", "VARCHAR"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "serve_replica": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("application", "VARCHAR"),
        ("deployment", "VARCHAR"),
        ("actor_id", "VARCHAR"),
        ("node_id", "VARCHAR"),
        ("node_ip", "VARCHAR"),
        ("worker_id", "VARCHAR"),
        ("pid", "BIGINT"),
        ("log_file", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "serve_proxy": (
        ("state", "VARCHAR"),
        ("actor_id", "VARCHAR"),
        ("node_ip", "VARCHAR"),
        ("worker_id", "VARCHAR"),
        ("log_file", "VARCHAR"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "serve_controller": (
        ("state", "VARCHAR"),
        ("node_id", "VARCHAR"),
        ("node_ip", "VARCHAR"),
        ("worker_id", "VARCHAR"),
        ("log_file", "VARCHAR"),
        ("proxy_location", "VARCHAR"),
        ("http_options", "VARCHAR"),
        ("grpc_options", "VARCHAR"),
        ("health", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    # The settings are Ray Train's, as JSON.
    "train_run": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("status_detail", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("controller_actor_id", "VARCHAR"),
        ("controller_log_path", "VARCHAR"),
        ("framework_versions", "VARCHAR"),
        ("train_loop_config", "VARCHAR"),
        ("scaling_config", "VARCHAR"),
        ("backend_config", "VARCHAR"),
        ("datasets", "VARCHAR"),
        ("data_config", "VARCHAR"),
        ("run_config", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "train_attempt": (
        ("state", "VARCHAR"),
        ("run_id", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("status_detail", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "train_worker": (
        ("state", "VARCHAR"),
        ("attempt_id", "VARCHAR"),
        ("run_id", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("world_rank", "BIGINT"),
        ("local_rank", "BIGINT"),
        ("node_rank", "BIGINT"),
        ("actor_id", "VARCHAR"),
        ("node_id", "VARCHAR"),
        ("node_ip", "VARCHAR"),
        ("pid", "BIGINT"),
        ("gpu_ids", "VARCHAR"),
        ("resources", "VARCHAR"),
        ("log_path", "VARCHAR"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    "tune_experiment": (
        ("state", "VARCHAR"),
        ("name", "VARCHAR"),
        ("path", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("metric", "VARCHAR"),
        ("mode", "VARCHAR"),
        ("scheduler", "VARCHAR"),
        ("search_algorithm", "VARCHAR"),
        ("num_samples", "BIGINT"),
        ("is_restored", "BOOLEAN"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    # ``parameters``, ``metrics`` (of the last result) and ``actor_ids`` (the actors it ran in) are JSON.
    "tune_trial": (
        ("state", "VARCHAR"),
        ("trial_id", "VARCHAR"),
        ("experiment_id", "VARCHAR"),
        ("name", "VARCHAR"),
        ("job_id", "VARCHAR"),
        ("parameters", "VARCHAR"),
        ("path", "VARCHAR"),
        ("iterations", "BIGINT"),
        ("time_total_s", "DOUBLE"),
        ("metrics", "VARCHAR"),
        ("failures", "BIGINT"),
        ("actor_id", "VARCHAR"),
        ("actor_ids", "VARCHAR"),
        ("error", "VARCHAR"),
        ("end_reason", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("end_known_by", "VARCHAR"),
    ),
    # What Kubernetes reports. It has no state, and does not end with its session.
    "platform_event": (
        ("severity", "VARCHAR"),
        ("reason", "VARCHAR"),
        ("message", "VARCHAR"),
        ("object_kind", "VARCHAR"),
        ("object_name", "VARCHAR"),
        ("namespace", "VARCHAR"),
        ("component", "VARCHAR"),
        ("count", "BIGINT"),
        ("start_ns", "BIGINT"),
        ("last_ns", "BIGINT"),
    ),
    # What a node's operating system knows of the end of a process (see agent/exits.py). It has no state.
    "process_end": (
        ("node_id", "VARCHAR"),
        ("pid", "BIGINT"),
        ("name", "VARCHAR"),
        ("start_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("exit_code", "BIGINT"),
        ("signal", "VARCHAR"),
        ("source", "VARCHAR"),
        ("rss_bytes", "BIGINT"),
        ("memory_available", "BIGINT"),
        ("memory_total", "BIGINT"),
        ("cgroup_limit", "BIGINT"),
        ("cgroup_used", "BIGINT"),
        ("oom_kills", "BIGINT"),
        ("kernel_record", "VARCHAR"),
        ("disk_free", "BIGINT"),
        ("fds", "BIGINT"),
    ),
    # Samples of a GPU over some seconds (see agent/gpus.py). It has no state.
    "gpu_sample": (
        ("node_id", "VARCHAR"),
        ("gpu_index", "BIGINT"),
        ("gpu_uuid", "VARCHAR"),
        ("ray_index", "BIGINT"),
        ("begin_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("problem", "VARCHAR"),
        ("busy_ns", "BIGINT"),
        ("measured_ns", "BIGINT"),
        ("memory_peak_bytes", "BIGINT"),
        ("samples", "VARCHAR"),
        ("looks", "VARCHAR"),
    ),
    # A profile of workers on demand (see views/profiles), with JSON. It has no state.
    "profile": (
        ("filters", "VARCHAR"),
        ("memory", "VARCHAR"),
        ("begin_ns", "BIGINT"),
        ("end_ns", "BIGINT"),
        ("workers", "VARCHAR"),
        ("workers_left_out", "BIGINT"),
        ("stacks", "VARCHAR"),
        ("taken_by", "VARCHAR"),
    ),
}

#: Entity kind -> (name of the documented view, its ID column).
ENTITY_VIEWS: dict[Kind, tuple[str, str]] = {
    "actor": ("actors", "actor_id"),
    "node": ("nodes", "node_id"),
    "worker": ("workers", "worker_id"),
    "job": ("jobs", "job_id"),
    "placement_group": ("placement_groups", "placement_group_id"),
    "dataset": ("datasets", "dataset_id"),
    "dataset_operator": ("dataset_operators", "operator_id"),
    "serve_application": ("serve_applications", "application_id"),
    "serve_deployment": ("serve_deployments", "deployment_id"),
    "serve_replica": ("serve_replicas", "replica_id"),
    "serve_proxy": ("serve_proxies", "node_id"),
    "serve_controller": ("serve_controllers", "actor_id"),
    "train_run": ("train_runs", "run_id"),
    "train_attempt": ("train_attempts", "attempt_id"),
    "train_worker": ("train_workers", "train_worker_id"),
    "tune_experiment": ("tune_experiments", "experiment_id"),
    "tune_trial": ("tune_trials", "tune_trial_id"),
    "platform_event": ("platform_events", "event_uid"),
    "process_end": ("process_ends", "process_end_id"),
    "profile": ("profiles", "profile_id"),
    "gpu_sample": ("gpu_samples", "gpu_sample_id"),
}


def _columns(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)


#: In the name of an actor's method, Ray replaces the class by the actor's repr, unless the user named the
#: task (``protobuf_to_task_state_dict``).
_NAMED_BY_ACTOR = (
    "CASE WHEN actor_repr_name IS NOT NULL AND type = 'ACTOR_TASK' AND name = func_name "
    "THEN actor_repr_name || '.' || split_part(name, '.', -1)"
)
RAY_NAME = f"{_NAMED_BY_ACTOR} ELSE name END"
#: SQL for the displayed name: Ray's name, or the function's distinct name if several functions share Ray's.
SHOWN_NAME = f"{_NAMED_BY_ACTOR} WHEN name = func_name THEN {FUNCTION} ELSE name END"
#: SQL: whether a job is shown. A submission with a driver is shown as the driver's job, and the dashboard's
#: own driver is hidden.
SHOWN_JOB = f"alias_of IS NULL AND NOT {IS_INTERNAL['job']}"
#: Reasons for losses that affect only spans, not tasks. (By default Ray keeps 1,000 spans per task.)
SPAN_LOSSES = ("profile_events_dropped",)
#: The reason of losses of entities beyond the number that a session keeps of their kind.
ENTITY_LIMIT = "entity_limit"
#: Reasons of losses of other things than tasks.
NOT_TASK_LOSSES = (*SPAN_LOSSES, ENTITY_LIMIT)
#: Table -> columns that older records lack, which are added when the record is opened for writing.
ADDED_COLUMNS: dict[str, dict[str, str]] = {
    "dataset_operator_rows": {"inputs": "VARCHAR"},
    "paths": {"full_name": "VARCHAR"},
    "attempts": {
        "distinct_name": "VARCHAR",
        "peak_memory": "BIGINT",
        "start_memory": "BIGINT",
        "memory_scope": "VARCHAR",
    },
    "worker_rows": {"death_memory_bytes": "BIGINT", "paused_threads": "BIGINT"},
    "job_rows": {"versions": "VARCHAR"},
}
TABLES: tuple[str, ...] = (
    "CREATE TABLE IF NOT EXISTS meta (key VARCHAR, value VARCHAR)",
    f"CREATE TABLE IF NOT EXISTS attempts ({_columns(ATTEMPT_COLUMNS + DERIVED_COLUMNS)})",
    f"CREATE TABLE IF NOT EXISTS span_rows ({_columns(SPAN_COLUMNS)})",
    f"CREATE TABLE IF NOT EXISTS edge_rows ({_columns(EDGE_COLUMNS)})",
    f"CREATE TABLE IF NOT EXISTS annotation_rows ({_columns(ANNOTATION_COLUMNS)})",
    "CREATE TABLE IF NOT EXISTS paths (path_id BIGINT, parent_path_id BIGINT, name VARCHAR, depth INTEGER, "
    "full_name VARCHAR)",
    "CREATE TABLE IF NOT EXISTS function_names (full_name VARCHAR, long_name VARCHAR, short_name VARCHAR, "
    "func_name VARCHAR, name VARCHAR)",
    "CREATE TABLE IF NOT EXISTS placed_functions (function_hash VARCHAR, full_name VARCHAR, "
    "long_name VARCHAR, short_name VARCHAR)",
    "CREATE TABLE IF NOT EXISTS drops (source VARCHAR, reason VARCHAR, count BIGINT, observed_ns BIGINT, "
    "event_type VARCHAR DEFAULT '', first_ns BIGINT, last_ns BIGINT)",
    "CREATE TABLE IF NOT EXISTS rollups (name VARCHAR, version VARCHAR, writes BIGINT, last_ns BIGINT, "
    "body BLOB)",
    *(
        f"CREATE TABLE IF NOT EXISTS {kind}_rows (id VARCHAR, doc VARCHAR, {_columns(columns)})"
        for kind, columns in ENTITY_COLUMNS.items()
    ),
    # These come last, because the tables must exist.
    *(
        f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {name} {kind}"
        for table, columns in ADDED_COLUMNS.items()
        for name, kind in columns.items()
    ),
)

TABLE_NAMES = tuple(
    statement.split("(")[0].split()[-1] for statement in TABLES if statement.startswith("CREATE TABLE")
)

_STATE_ROWS = ", ".join(
    f"{{'state': '{state}', 'time_ns': {column}}}"
    for state, column in zip(STATES, STATE_COLUMNS, strict=True)
)


def _entity_view(kind: Kind) -> str:
    view, id_column = ENTITY_VIEWS[kind]
    columns = {name: name for name, _ in ENTITY_COLUMNS[kind] if name != id_column}
    if kind in IS_INTERNAL:
        columns["is_internal"] = f"{IS_INTERNAL[kind]} AS is_internal"
    where = f" WHERE {SHOWN_JOB}" if kind == "job" else ""
    shown = ", ".join(columns.values())
    return f"CREATE OR REPLACE VIEW {view} AS SELECT id AS {id_column}, {shown} FROM {kind}_rows{where}"


_TIMES = execution.times(execution.LAST)
VIEWS: tuple[str, ...] = (
    f"CREATE OR REPLACE VIEW tasks AS SELECT {TASK_ID} AS task_id, attempt, {RAY_NAME} AS name, "
    f"coalesce(func_name, {function_name('attempts')}) AS func_name, type, state, reported_state, "
    f"end_known_by, {NAMED_PARENT_ID} AS parent_task_id, {PARENT_ID} AS caller_task_id, "
    + ", ".join(n for n in SCALARS if n not in {"name", "func_name", "type", *_SUBMITTERS})
    + f", {CREATED} AS created_ns, {START} AS start_ns, {END} AS end_ns, "
    f"{_TIMES['duration']} AS duration_ns, {_TIMES['waiting']} AS waiting_ns, {_TIMES['total']} AS total_ns, "
    + ", ".join((*STATE_COLUMNS, *PHASE_COLUMNS))
    + f", error_type, error_message, path_id FROM attempts WHERE {NOT_DRIVER}",
    f"CREATE OR REPLACE VIEW task_states AS SELECT task_id, attempt, s.state AS state, s.time_ns AS time_ns "
    f"FROM (SELECT {TASK_ID} AS task_id, attempt, unnest([{_STATE_ROWS}]) AS s FROM attempts "
    f"WHERE {NOT_DRIVER}) WHERE s.time_ns IS NOT NULL",
    f"CREATE OR REPLACE VIEW data_edges AS {execution.EDGES}",
    f"CREATE OR REPLACE VIEW phases AS {execution.phases()}",
    f"CREATE OR REPLACE VIEW annotations AS SELECT {TASK_ID} AS task_id, attempt, kind, name, value, "
    "number, time_ns FROM annotation_rows",
    # The view of spans includes the phases of every attempt.
    f"CREATE OR REPLACE VIEW spans AS SELECT {TASK_ID} AS task_id, attempt, name, begin_ns, end_ns, "
    f"end_ns - begin_ns AS duration_ns, extra, {execution.BLOCKED_ON} AS blocked_on "
    f"FROM span_rows WHERE NOT ({ABOUT_SAMPLES}) UNION ALL {execution.still_blocked()} "
    + " ".join(
        f"UNION ALL SELECT {TASK_ID}, attempt, 'task:{phase}', {phase}_begin_ns, {phase}_end_ns, "
        f"{phase}_end_ns - {phase}_begin_ns, NULL, NULL FROM attempts WHERE {phase}_begin_ns IS NOT NULL"
        for phase in PHASES
    ),
    f"CREATE OR REPLACE VIEW samples AS SELECT {TASK_ID} AS task_id, * EXCLUDE (task_hi, task_lo) "
    f"FROM ({SAMPLE_SUMS.format(rows=f'SELECT * FROM span_rows WHERE {HAS_SAMPLES}')})",
    "CREATE OR REPLACE VIEW sample_frames AS SELECT frame_id, nullif(caller_id, 0) AS caller_frame_id, "
    "regexp_extract(text, '^(.*):\\d+ ', 1) AS file, "
    "TRY_CAST(regexp_extract(text, '^.*:(\\d+) ', 1) AS BIGINT) AS line, "
    f"regexp_extract(text, '^.*:\\d+ (.*)$', 1) AS function FROM ({FRAMES})",
    *(_entity_view(kind) for kind in ENTITY_COLUMNS),
    f"CREATE OR REPLACE VIEW task_gpu_use AS SELECT {TASK_ID} AS task_id, * EXCLUDE (task_hi, task_lo) "
    f"FROM ({gpu_use.of_attempts(execution.LAST)})",
    f"CREATE OR REPLACE VIEW actor_gpu_use AS {gpu_use.of_actors(execution.LAST)}",
)
