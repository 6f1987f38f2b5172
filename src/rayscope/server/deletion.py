"""Deletes sessions locally, in the archive, and in the warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query

from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorAnswer
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.ingest.writer import Writer
from rayscope.metrics.service import Metrics
from rayscope.records.reader import SessionReader
from rayscope.runs.service import Runs
from rayscope.server import schemas
from rayscope.storage.errors import NotFound, StoreError

if TYPE_CHECKING:
    from rayscope.archive.service import ArchiveService
    from rayscope.warehouse.service import WarehouseService


@dataclass
class Deletion:
    """Deletes a session from all places that store parts of it."""

    records: SessionReader
    writer: Writer
    metrics: Metrics
    runs: Runs
    archive: ArchiveService | None
    warehouse: WarehouseService | None

    def delete_here(self, session: str) -> bool:
        """Delete a session from the archive, and with its runs from this server unless it is in use.

        Returns whether it was deleted here. Raises StoreError.
        """
        if self.archive is not None:
            self.archive.remove(session)
        self.metrics.forget(session)
        if is_gone := self.writer.remove_session(session):
            self.runs.forget(session)
        return is_gone

    def delete(self, session: str, *, force: bool) -> None:
        """Delete a session everywhere, with the summaries of its runs. Raises StoreError.

        ``force``: even while it is being recorded.
        """
        try:
            is_live = self.records.is_live(session)
        except NotFound:  # retention has deleted the record, but not the summaries of its runs
            if not self.runs.has(session):
                raise
            is_live = False
        if is_live and not force:
            raise StoreError(
                f"{session} is still being recorded.",
                "Stop its cluster and wait half a minute, or force the deletion (force=true).",
                "session_live",
                status=409,
            )
        if self.warehouse is not None:
            if not self.warehouse.remove(session):
                raise StoreError(
                    f"{session} is not deleted on all servers yet.",
                    "Rayscope retries automatically. Look again in a minute.",
                    "session_in_use",
                    status=409,
                    what="elsewhere",
                )
        elif not self.delete_here(session):
            raise StoreError(
                f"{session} is in use.", "Try again in a few seconds.", "session_in_use", status=409
            )


router = Router()


@router.delete(
    "/api/v1/sessions/{session}",
    dependencies=OPERATOR_ONLY,
    responses={409: {"model": ErrorAnswer}},
)
def delete(
    deletion: Annotated[Deletion, provide(Deletion)],
    session: str,
    force: Annotated[bool, Query(description="Also while it is still recorded.")] = False,
) -> Json[schemas.SessionDeleted]:
    """Delete a session's record, metrics, and kept logs. Events that arrive later start a new record."""
    deletion.delete(session, force=force)
    return answer({"session": session})
