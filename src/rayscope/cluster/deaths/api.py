"""The route for the causes of deaths."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.deaths import schemas, sql
from rayscope.cluster.deaths.find import find_deaths
from rayscope.cluster.logs.files import CurrentLogs
from rayscope.storage.errors import BadQuery

router = Router()

_MAX_ITEMS = 1_000


@router.get("/api/v1/deaths")
def deaths(
    records: CurrentRecords,
    logs: CurrentLogs,
    kind: schemas.Subject,
    entity_id: Annotated[str | None, Query(alias="id", max_length=200, description="Only this one.")] = None,
    class_name: Annotated[
        str | None, Query(max_length=500, description="Only actors of this class, or their workers.")
    ] = None,
    session: Session = None,
    limit: Limit = 20,
) -> Json[schemas.DeathsAnswer]:
    """Why workers, actors, nodes or jobs ended, the newest first."""
    if class_name is not None and (entity_id is not None or kind not in ("worker", "actor")):
        raise BadQuery(
            "class_name chooses among actors or workers.", "Use kind=actor or kind=worker, without id."
        )
    chosen = records.resolve(session)
    ids, total = (
        ([entity_id], 1)
        if entity_id is not None
        else records.read(chosen, lambda file: sql.ended(file, kind, min(limit, _MAX_ITEMS), class_name))
    )
    subjects = [(kind, one) for one in ids]
    items = list(records.read(chosen, lambda file: find_deaths(file, logs, chosen, subjects)).values())
    if entity_id is not None:
        total = len(items)
    return answer({"session": chosen, "total": total, "left_out": total - len(items), "items": items})
