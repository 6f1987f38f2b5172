"""The text columns of a session's tables, and how :mod:`rayscope.archive.anonymise` replaces them.

Each text column is on one of the two lists. A test fails if a new one is on neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Rule(Enum):
    """How the values of a column are replaced."""

    #: Each word of a name, so that parts of names such as ``module.Class.method`` stay equal.
    name = "name"
    #: The whole text: messages, tracebacks, paths, command lines.
    text = "text"
    #: The whole value: the name or the address of a machine.
    host = "host"
    #: Each string in JSON like a name, and each key but Ray's and Rayscope's own.
    json = "json"
    #: The whole text, unless it is a constant of Ray's, such as ``RAY_KILL``.
    constant = "constant"
    #: The name of a metric that is not on any of our charts.
    metric = "metric"
    #: The labels of a series, as a list of pairs.
    labels = "labels"
    #: An entity's JSON, whose fields follow the rules of the table's columns.
    doc = "doc"


_ENTITY = {"doc": Rule.doc}
_IDS = ("id", "state", "job_id", "end_known_by")

#: Table -> column -> rule.
REPLACED_COLUMNS: Mapping[str, Mapping[str, Rule]] = {
    "attempts": {
        "name": Rule.name,
        "func_name": Rule.name,
        "module_name": Rule.name,
        "distinct_name": Rule.name,
        "actor_repr_name": Rule.name,
        "required_resources": Rule.json,
        "label_selector": Rule.json,
        "runtime_env": Rule.json,
        "call_site": Rule.text,
        "stdout_file": Rule.text,
        "stderr_file": Rule.text,
        "error_message": Rule.text,
    },
    "span_rows": {"name": Rule.name, "extra": Rule.json},
    "annotation_rows": {"name": Rule.name, "value": Rule.text},
    "paths": {"name": Rule.name, "full_name": Rule.name},
    "function_names": dict.fromkeys(("full_name", "long_name", "short_name", "func_name", "name"), Rule.name),
    "placed_functions": dict.fromkeys(("full_name", "long_name", "short_name"), Rule.name),
    "drops": {"source": Rule.name},
    "actor_rows": _ENTITY
    | {
        "class_name": Rule.name,
        "name": Rule.name,
        "ray_namespace": Rule.name,
        "repr_name": Rule.name,
        "required_resources": Rule.json,
        "label_selector": Rule.json,
        "runtime_env": Rule.json,
        "call_site": Rule.text,
        "death_reason": Rule.constant,
        "death_cause": Rule.json,
    },
    "node_rows": _ENTITY
    | {
        "node_ip": Rule.host,
        "node_name": Rule.host,
        "hostname": Rule.host,
        "instance_id": Rule.host,
        "labels": Rule.json,
        "resources_total": Rule.json,
        "death_reason": Rule.constant,
        "death_message": Rule.text,
    },
    "worker_rows": _ENTITY | {"ip": Rule.host, "exit_detail": Rule.text, "tracer": Rule.name},
    "job_rows": _ENTITY
    | {
        "id": Rule.name,  # users may choose the ID of a submission
        "alias_of": Rule.name,
        "submission_id": Rule.name,
        "entrypoint": Rule.text,
        "driver_ip": Rule.host,
        "message": Rule.text,
        "error_type": Rule.constant,
        "runtime_env": Rule.json,
        "metadata": Rule.json,
        "versions": Rule.json,
    },
    "placement_group_rows": _ENTITY | {"name": Rule.name, "bundles": Rule.json, "stats": Rule.json},
    "dataset_rows": _ENTITY | {"id": Rule.name, "name": Rule.name},
    "dataset_operator_rows": _ENTITY
    | {"id": Rule.name, "name": Rule.name, "dataset_id": Rule.name, "inputs": Rule.json},
    "serve_application_rows": _ENTITY
    | {
        "id": Rule.name,
        "name": Rule.name,
        "message": Rule.text,
        "route_prefix": Rule.name,
        "docs_path": Rule.name,
        "config": Rule.json,
    },
    "serve_deployment_rows": _ENTITY
    | {
        "id": Rule.name,
        "name": Rule.name,
        "application": Rule.name,
        "message": Rule.text,
        "calls": Rule.json,
        "required_resources": Rule.json,
        "config": Rule.json,
        "autoscaling": Rule.json,
    },
    "serve_replica_rows": _ENTITY
    | {
        "id": Rule.name,
        "name": Rule.name,
        "application": Rule.name,
        "deployment": Rule.name,
        "node_ip": Rule.host,
        "log_file": Rule.text,
    },
    "serve_proxy_rows": _ENTITY | {"node_ip": Rule.host, "log_file": Rule.text},
    "serve_controller_rows": _ENTITY
    | {
        "node_ip": Rule.host,
        "log_file": Rule.text,
        "http_options": Rule.json,
        "grpc_options": Rule.json,
        "health": Rule.json,
    },
    "train_run_rows": _ENTITY
    | {
        "name": Rule.name,
        "status_detail": Rule.text,
        "controller_log_path": Rule.text,
        "framework_versions": Rule.json,
        "train_loop_config": Rule.json,
        "scaling_config": Rule.json,
        "backend_config": Rule.json,
        "datasets": Rule.json,
        "data_config": Rule.json,
        "run_config": Rule.json,
    },
    "train_attempt_rows": _ENTITY | {"status_detail": Rule.text},
    "train_worker_rows": _ENTITY | {"node_ip": Rule.host, "resources": Rule.json, "log_path": Rule.text},
    "tune_experiment_rows": _ENTITY
    | {
        "id": Rule.name,
        "name": Rule.name,
        "path": Rule.text,
        "metric": Rule.name,
        "scheduler": Rule.name,
        "search_algorithm": Rule.name,
    },
    "tune_trial_rows": _ENTITY
    | {
        "id": Rule.name,
        "trial_id": Rule.name,
        "experiment_id": Rule.name,
        "name": Rule.name,
        "parameters": Rule.json,
        "path": Rule.text,
        "metrics": Rule.json,
        "error": Rule.text,
    },
    "platform_event_rows": _ENTITY
    | {"message": Rule.text, "object_name": Rule.name, "namespace": Rule.name, "component": Rule.name},
    "process_end_rows": _ENTITY | {"name": Rule.name, "kernel_record": Rule.text},
    "gpu_sample_rows": _ENTITY,
    "profile_rows": _ENTITY
    | {"filters": Rule.json, "workers": Rule.json, "stacks": Rule.json, "taken_by": Rule.name},
    "metric_series": {"name": Rule.metric, "labels": Rule.labels},
    "metric_families": {"name": Rule.metric, "help": Rule.text},
}

#: Table -> columns with IDs, states, or other words of Ray's and Rayscope's own.
KEPT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "meta": ("key", "value"),
    "attempts": (
        *("task_lo", "state", "reported_state", "end_known_by", "parent_lo", "named_parent", "function_hash"),
        *("type", "language", "job_id", "actor_id", "placement_group_id", "node_id", "worker_id"),
        *("memory_scope", "error_type"),
    ),
    "span_rows": ("task_lo",),
    "edge_rows": ("task_lo", "kind", "object_lo"),
    "annotation_rows": ("task_lo", "kind"),
    "placed_functions": ("function_hash",),
    "drops": ("reason", "event_type"),
    "actor_rows": (*_IDS, "node_id", "worker_id", "placement_group_id"),
    "node_rows": ("id", "state", "instance_type", "end_known_by"),
    "worker_rows": (*_IDS, "worker_type", "node_id", "exit_type"),
    "job_rows": ("state", "type", "driver_node_id", "end_known_by"),
    "placement_group_rows": (*_IDS, "strategy", "creator_actor_id"),
    "dataset_rows": ("state", "job_id", "end_known_by"),
    "dataset_operator_rows": ("state", "job_id", "end_known_by"),
    "serve_application_rows": ("state", "source", "end_known_by"),
    "serve_deployment_rows": ("state", "status_trigger", "end_known_by"),
    "serve_replica_rows": ("state", "actor_id", "node_id", "worker_id", "end_known_by"),
    "serve_proxy_rows": ("id", "state", "actor_id", "worker_id", "end_known_by"),
    "serve_controller_rows": ("id", "state", "node_id", "worker_id", "proxy_location", "end_known_by"),
    "train_run_rows": (*_IDS, "controller_actor_id"),
    "train_attempt_rows": (*_IDS, "run_id"),
    "train_worker_rows": (*_IDS, "attempt_id", "run_id", "actor_id", "node_id", "gpu_ids"),
    "tune_experiment_rows": ("state", "job_id", "mode", "end_known_by"),
    "tune_trial_rows": ("state", "job_id", "actor_id", "actor_ids", "end_reason", "end_known_by"),
    "platform_event_rows": ("id", "severity", "reason", "object_kind"),
    "process_end_rows": ("id", "node_id", "signal", "source"),
    "gpu_sample_rows": ("id", "node_id", "gpu_uuid", "problem", "samples", "looks"),
    "profile_rows": ("id", "memory"),
    "metric_families": ("type", "unit", "collector"),
}

#: Tables that are left out: sums that Rayscope computes again, with names in them; and the logs.
LEFT_OUT = ("rollups", "log_files", "log_stretches")
