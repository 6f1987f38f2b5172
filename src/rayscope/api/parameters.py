"""Parameters shared by many routes."""

from __future__ import annotations

from dataclasses import fields
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

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

#: Services of the server that handles a request, see :func:`provide`. Routes are created only once, on
#: import, so they cannot refer to services directly.
CurrentCatalog = Annotated[Catalog, provide(Catalog)]
CurrentRecords = Annotated[SessionReader, provide(SessionReader)]
CurrentSecrets = Annotated[Secrets, provide(Secrets)]
CurrentSettings = Annotated[Settings, provide(Settings)]
Session = Annotated[str | None, Query(description="Session name (default: the newest).")]
Text = Annotated[str | None, Query(max_length=500)]
AttemptNumber = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Number of an attempt")]
ProfileId = Annotated[str | None, Query(max_length=100, description="ID of a profile")]
Nanoseconds = Annotated[int | None, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=pages.MAX_LIMIT)]
Cursor = Annotated[str | None, Query(max_length=4000)]
By = Annotated[str, Query(max_length=20, description="worker, actor, function, node or path")]
Levels = Annotated[int, Query(ge=1, le=MAX_LEVELS, description="Depth of lanes by call path")]
Sort = Annotated[str, Query(max_length=60)]


def node_ids(records: SessionReader, session: str | None, nodes: str | None) -> str | None:
    """Return the IDs of the nodes in a filter that lists IDs, prefixes of IDs, or names, separated by commas.

    Raises NotFound for an unknown session, and BadQuery for a name that several nodes have.
    """
    if not nodes:
        return None
    chosen = records.resolve(session)
    found: str = records.read(chosen, lambda file: find_nodes(file, nodes))
    return found


def filters_of(shape: type[Any], **kinds: Any) -> Any:
    """A dependency that reads the fields of a dataclass of filters from the query. Accepts names of nodes.

    ``kinds``: the types of the parameters that are neither strings nor times.
    """

    def read(records: SessionReader, session: str | None, **values: Any) -> Any:
        values["node_id"] = node_ids(records, session, values["node_id"])
        return shape(**values)

    kinds |= {"since_ns": Nanoseconds, "until_ns": Nanoseconds}
    types = {"session": Session} | {one.name: kinds.get(one.name, Text) for one in fields(shape)}
    keyword = Parameter.KEYWORD_ONLY
    parameters = [Parameter(name, keyword, default=None, annotation=kind) for name, kind in types.items()]
    service = Parameter("records", keyword, annotation=CurrentRecords)
    read.__signature__ = Signature([service, *parameters])  # type: ignore[attr-defined]
    return Depends(read)


#: Filters that select task attempts, for the list of tasks and the views of attempts.
Filters = Annotated[
    TaskFilters,
    filters_of(
        TaskFilters,
        annotation=Annotated[str | None, Query(max_length=500, description="NAME or NAME=VALUE")],
        only=Annotated[Literal["mine"] | None, Query(description="mine: without functions of libraries")],
    ),
]
