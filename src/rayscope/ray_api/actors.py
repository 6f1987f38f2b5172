"""Actors in the form of Ray's dashboard."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from rayscope.ray_api.fields import ACTORS, sql_of
from rayscope.storage.sql.pages import Where

#: Maximum number of actors in an answer: as many dead ones as Ray keeps. The newest are returned.
_MAX_ACTORS = 100_000
_ROWS_PER_PIECE = 500
#: Where Ray writes why an actor died, as paths in its death cause.
_REASONS = (
    "actor_died_error_context.error_message",
    "runtime_env_failed_context.error_message",
    "actor_unschedulable_context.error_message",
    "creation_task_failure_context.formatted_exception_string",
)
_CAUSE = sql_of(ACTORS, "death_cause")
_REASON = ", ".join(f"{_CAUSE}->>'$.{path}'" for path in _REASONS)
_START, _END = (f"coalesce({column} // 1000000, 0)" for column in ("start_ns", "end_ns"))
#: The fields, in the order of Ray, and the SQL for each.
_FIELDS = {
    "actorId": "id",
    "jobId": "coalesce(job_id, '')",
    "address": "{'nodeId': coalesce(node_id, ''), 'workerId': coalesce(worker_id, ''), "
    "'ipAddress': coalesce((SELECT any_value(node_ip) FROM node_rows n WHERE n.id = a.node_id), '')}",
    "name": "coalesce(name, '')",
    "className": "coalesce(class_name, '')",
    "state": "state",
    "numRestarts": "coalesce(num_restarts, 0)::VARCHAR",
    "timestamp": f"greatest({_START}, {_END})::DOUBLE",
    "pid": "coalesce(pid, 0)",
    "startTime": _START,
    "endTime": _END,
    "reprName": "coalesce(repr_name, '')",
    "placementGroupId": "placement_group_id",
    "callSite": "call_site",
    "labelSelector": sql_of(ACTORS, "label_selector"),
    "actorClass": "coalesce(class_name, '')",
    "exitDetail": f"coalesce({_REASON}, '-')",
    "requiredResources": sql_of(ACTORS, "required_resources"),
    "gpus": "[]",
    "processStats": "NULL",
    "mem": "[]",
    "tpus": "[]",
}


def read_actors(
    reader: duckdb.DuckDBPyConnection,
    *,
    ids: list[str] | None = None,
    node_id: str | None = None,
    limit: int = _MAX_ACTORS,
) -> Iterator[bytes]:
    """An object with the actors by ID as JSON, some at a time."""
    where = Where([ACTORS.where], [])
    if ids is not None:
        where.add("list_contains(?, id)", ids)
    if node_id is not None:
        where.add("node_id = ?", node_id)
    columns = ", ".join(f"'{name}': {sql}" for name, sql in _FIELDS.items())
    reader.execute(
        f"SELECT to_json(id)::VARCHAR || ':' || to_json({{{columns}}})::VARCHAR FROM actor_rows a{where.sql} "
        f"ORDER BY start_ns DESC NULLS FIRST, id LIMIT {int(limit)}",
        where.values,
    )
    before = "{"
    while rows := reader.fetchmany(_ROWS_PER_PIECE):
        yield (before + ",".join(row for (row,) in rows)).encode()
        before = ","
    yield b"{}" if before == "{" else b"}"
