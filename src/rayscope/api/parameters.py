"""Parameters shared by many routes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query

from rayscope.api.provide import provide
from rayscope.api.security import Secrets
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
from rayscope.storage.sql import pages
from rayscope.storage.sql.call_lanes import MAX_LEVELS
from rayscope.storage.sql.entities import find_nodes
from rayscope.storage.sql.filters import TaskFilters

#: The server's own services, see :func:`provide`. Routes are created once, on import.
CurrentCatalog = Annotated[Catalog, provide(Catalog)]
CurrentRecords = Annotated[SessionReader, provide(SessionReader)]
CurrentSecrets = Annotated[Secrets, provide(Secrets)]
CurrentSettings = Annotated[Settings, provide(Settings)]
Session = Annotated[str | None, Query(description="Session name (default: the newest).")]
Text = Annotated[str | None, Query(max_length=500)]
Nanoseconds = Annotated[int | None, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=pages.MAX_LIMIT)]
Cursor = Annotated[str | None, Query(max_length=4000)]
By = Annotated[str, Query(max_length=20, description="worker, actor, function, node or path")]
Levels = Annotated[int, Query(ge=1, le=MAX_LEVELS, description="Depth of lanes by call path")]
Sort = Annotated[str, Query(max_length=60)]


def node_ids(records: SessionReader, session: str | None, nodes: str | None) -> str | None:
    """Return the IDs of the nodes in a filter: IDs, prefixes of IDs, or names, joined by commas.

    Raises NotFound for an unknown session, and BadQuery for a name of several nodes.
    """
    if not nodes:
        return None
    chosen = records.resolve(session)
    found: str = records.read(chosen, lambda file: find_nodes(file, nodes))
    return found


def _task_filters(
    records: CurrentRecords,
    session: Session = None,
    job_id: Text = None,
    name: Text = None,
    func_name: Text = None,
    state: Text = None,
    type: Text = None,
    node_id: Text = None,
    worker_id: Text = None,
    actor_id: Text = None,
    parent_task_id: Text = None,
    caller_task_id: Text = None,
    placement_group_id: Text = None,
    error_type: Text = None,
    annotation: Annotated[str | None, Query(max_length=500, description="NAME or NAME=VALUE")] = None,
    q: Text = None,
    only: Annotated[Literal["mine"] | None, Query(description="mine: without functions of libraries")] = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
) -> TaskFilters:
    return TaskFilters(
        job_id=job_id,
        name=name,
        func_name=func_name,
        state=state,
        type=type,
        node_id=node_ids(records, session, node_id),
        worker_id=worker_id,
        actor_id=actor_id,
        parent_task_id=parent_task_id,
        caller_task_id=caller_task_id,
        placement_group_id=placement_group_id,
        error_type=error_type,
        annotation=annotation,
        q=q,
        only=only,
        since_ns=since_ns,
        until_ns=until_ns,
    )


#: Selects task attempts: the filters of the list of tasks and of the views of attempts.
Filters = Annotated[TaskFilters, Depends(_task_filters)]
